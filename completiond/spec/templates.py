"""The templates of one answer: what stood at the cursor, the line above, the place that was copied from last."""

from __future__ import annotations

from collections.abc import Sequence

from completiond.spec.draft_text import DraftText
from completiond.spec.lookup import Copy
from completiond.spec.parts import split_parts
from completiond.spec.spelling import Spelling
from completiond.spec.template import Continuation, Template, swap_parts

__all__ = ["Templates"]

SUFFIX_TOKENS = 40
LINE_TOKENS = 80
SOURCE_TOKENS = 128
CONTEXT_TOKENS = 4
"""Decoded with what is written: at a text's beginning some vocabularies lose a blank."""
MAX_UNDECODED = 8


class Templates:
    """Kept up with the answer. ``replaced``: what is rewritten; ``sibling``: the line above with the same indentation,
    else the one below; ``analogous``: that line with the user's last replacements made; ``copied``: where a copy was
    right.
    """

    def __init__(
        self, text: DraftText, spelling: Spelling, context_ids: Sequence[int], suffix_ids: Sequence[int]
    ) -> None:
        self._spelling = spelling
        self._context_ids = list(context_ids[-LINE_TOKENS:])
        self._num_undecoded = 0
        self._by_name: dict[str, Template] = {}
        behind = spelling.decode(suffix_ids[:SUFFIX_TOKENS])
        if (run := text.replaced) is not None:
            replaced = spelling.decode(text.index.tokens(run, run.start, SOURCE_TOKENS))
            self._add("replaced", replaced + behind)
            parts = split_parts(replaced)
            rewritten = swap_parts(parts, text.analogies)
            if rewritten != parts:
                self._add("rewritten", "".join(rewritten) + behind)
        *above, typed = spelling.decode(self._context_ids).split("\n")
        if len(context_ids) > LINE_TOKENS:
            above = above[1:]  # the first may be cut
        sibling = _sibling(above, typed) or _sibling(behind.split("\n")[1:2], typed)
        if sibling:
            self._add("sibling", sibling + behind, typed)
            parts = split_parts(sibling)
            analogous = swap_parts(parts, text.analogies)
            if analogous != parts:
                self._add("analogous", "".join(analogous) + behind, typed)

    def continuations(self) -> list[Continuation]:
        """What may come next."""
        return [one for template in self._by_name.values() for one in template.continuations()]

    def write(self, token_ids: Sequence[int], copied: Copy | None) -> None:
        """The answer goes on with ``token_ids``, for which ``copied`` was right, if given."""
        text = self._text_of(token_ids)
        for name, template in list(self._by_name.items()):
            template.write(text)
            if template.is_lost:
                del self._by_name[name]
        if "\n" in text:
            # The first line may be cut.
            *above, line = self._spelling.decode(self._context_ids).split("\n")[1:] or [""]
            sibling = _sibling(above, line) if line.strip() else _last(above)
            if sibling:
                self._add("sibling", sibling + "\n", line)
        if copied is not None:
            self._add("copied", self._spelling.decode(copied.tokens(SOURCE_TOKENS)), text)

    def _text_of(self, token_ids: Sequence[int]) -> str:
        """What ``token_ids``, at least one, add to the text. A character comes with its last token."""
        before = self._context_ids[-CONTEXT_TOKENS - self._num_undecoded : len(self._context_ids) - self._num_undecoded]
        self._context_ids = [*self._context_ids, *token_ids][-LINE_TOKENS:]
        ids = [*before, *self._context_ids[-self._num_undecoded - len(token_ids) :]]
        text = self._spelling.decode(ids)[len(self._spelling.decode(before)) :]
        if text.endswith("\ufffd") and self._num_undecoded + len(token_ids) <= MAX_UNDECODED:
            self._num_undecoded += len(token_ids)
            return ""
        self._num_undecoded = 0
        return text

    def _add(self, name: str, source: str, written: str = "") -> None:
        self._by_name[name] = Template(name, source, written)


def _sibling(lines: Sequence[str], line: str) -> str:
    """The last of ``lines`` with the indentation of ``line``."""
    return _last([one for one in lines if _indent(one) == _indent(line)])


def _last(lines: Sequence[str]) -> str:
    return next((line for line in reversed(lines) if line.strip()), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
