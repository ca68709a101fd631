"""Where an answer ends, decided on its text while it is being written, so that no pass is spent past the end.

Rules, in the order they are looked at: ``line`` (there is text to the right of the cursor: one line), ``suffix`` (the
answer begins to repeat what follows the cursor), ``block`` (a line left of the cursor's block), ``repeat`` (the same
line over and over). End tokens and the length cap are the engine's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Place", "Verdict", "check", "finish"]

OPENERS = (":", "{", "(", "[")
_CLOSER = re.compile(r"\s*(?:[}\])]|end\b)")
"""A closer on a block's border belongs to the answer, unless the text below already has one."""
TELLING_WORD_CHARS = 5
"""A line with fewer word characters (``}``, ``else:``) occurs everywhere: it counts as a repetition only with the
next one.
"""
MAX_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules need of the text around the cursor; line ends are ``\\n``."""

    left: str
    """The cursor's line up to the cursor."""
    right: str
    """The cursor's line from the cursor, without its end and trailing blanks."""
    next_lines: tuple[str, ...]
    """The first non-blank lines after the cursor's line, two at most, trailing blanks removed."""

    @classmethod
    def of(cls, prefix: str, suffix: str) -> Place:
        """Look at both sides of the cursor."""
        right, _, below = suffix.partition("\n")
        lines = (line.rstrip() for line in below[:4096].split("\n"))
        following = [line for line in lines if line][:2]
        return cls(prefix[prefix.rfind("\n") + 1 :], right.rstrip(), tuple(following))

    @property
    def single_line(self) -> bool:
        """Text to the right means that the answer fills a gap in this line."""
        return bool(self.right.strip())

    @property
    def indent(self) -> int:
        """Width of the cursor line's indentation, in characters."""
        return _indent(self.left)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``end``: the answer is ``text[:end]`` for ``reason``, or None to go on. ``safe``: ``text[:safe]`` will not be
    taken back.
    """

    end: int | None
    reason: str
    safe: int


def check(text: str, place: Place) -> Verdict:
    """Judge the answer so far."""
    if place.single_line:
        return _check_line(text, place)
    lines = (place.left + text).split("\n")
    starts = _line_starts(lines, len(place.left))
    complete = lines[:-1]
    for index, line in enumerate(lines):
        done = index < len(complete)
        if done and _repeats_suffix(complete[index:], place):
            return Verdict(_before(starts, index), "suffix", 0)
        if index and line.strip() and _leaves_block(lines, index, place):
            if not _CLOSER.match(line):
                return Verdict(_before(starts, index), "block", 0)
            if done:
                keep = not any(_CLOSER.match(below) for below in place.next_lines[:1])
                return Verdict(starts[index] + len(line) if keep else _before(starts, index), "block", 0)
        if done and _repeated(complete, index):
            return Verdict(_before(starts, index - MAX_REPEATS + 2), "repeat", 0)
    return Verdict(None, "", _safe_length(lines, starts, place))


def finish(text: str, place: Place, reason: str) -> str:
    """What is shown of an answer that ended for ``reason``: no half line at the cap, no repeated suffix, no trailing
    blanks.
    """
    if place.single_line:
        text = text.partition("\n")[0]
        return text[: len(text) - _overlap(text, place.right)]
    if reason == "length" and "\n" in text:
        text = text[: text.rfind("\n")]
    verdict = check(text + "\n", place)
    if verdict.end is not None:
        text = text[: verdict.end]
    return text.rstrip() if text.strip() else ""


def _check_line(text: str, place: Place) -> Verdict:
    right = place.right.strip()
    if len(right) >= TELLING_WORD_CHARS and (found := text.find(right)) >= 0:
        return Verdict(found, "suffix", 0)
    if (newline := text.find("\n")) >= 0:
        return Verdict(newline, "line", 0)
    return Verdict(None, "", len(text) - _longest_overlap(text, place.right))


def _line_starts(lines: list[str], left_chars: int) -> list[int]:
    """Offset in the answer of each of ``lines``; the first, which began before the cursor, is at 0."""
    starts, offset = [0], -left_chars
    for line in lines[:-1]:
        offset += len(line) + 1
        starts.append(offset)
    return starts


def _before(starts: list[int], index: int) -> int:
    """End of the answer that leaves out line ``index`` and the line end before it."""
    return max(0, starts[index] - 1)


def _repeats_suffix(lines: list[str], place: Place) -> bool:
    """Whether ``lines`` begin with the text that follows the cursor's line."""
    if not place.next_lines or lines[0].rstrip() != place.next_lines[0]:
        return False
    if sum(char.isalnum() for char in lines[0]) >= TELLING_WORD_CHARS:
        return True
    following = [line.rstrip() for line in lines[1:] if line.strip()]
    return bool(following) and place.next_lines[1:2] == (following[0],)


def _leaves_block(lines: list[str], index: int, place: Place) -> bool:
    """Whether line ``index`` is outside the block the cursor is in, or the block the answer's first line opens."""
    indent = _indent(lines[index])
    if place.left.strip() and lines[0].rstrip().endswith(OPENERS):
        return indent <= place.indent
    if place.indent == 0 and indent == 0 and not lines[index - 1].strip():
        # Between top-level definitions a blank line is the only border.
        return any(previous.strip() for previous in lines[:index])
    return indent < place.indent


def _repeated(lines: list[str], index: int) -> bool:
    recent = lines[index - MAX_REPEATS + 1 : index + 1]
    return len(recent) == MAX_REPEATS and bool(recent[0].strip()) and all(a == b for a, b in pairwise(recent))


def _safe_length(lines: list[str], starts: list[int], place: Place) -> int:
    """All but the last three lines is final; a single line is, unless it may still turn out to repeat the one below."""
    if len(lines) > MAX_REPEATS:
        return _before(starts, len(lines) - MAX_REPEATS)
    first = lines[0]
    may_repeat = any(below.startswith(first.rstrip()) for below in place.next_lines[:1])
    if may_repeat or (len(lines) == 1 and not first.strip()):
        return 0
    return len(first.rstrip()) - len(place.left) if len(first.rstrip()) > len(place.left) else 0


def _overlap(text: str, right: str) -> int:
    """Length of the longest end of ``text`` that begins ``right``, unless the text needs it to close its own
    brackets.
    """
    size = _longest_overlap(text, right)
    return 0 if _balance(text[: len(text) - size]) > 0 else size


def _longest_overlap(text: str, right: str) -> int:
    right = right.lstrip() if not text.endswith(" ") else right
    return next((size for size in range(min(len(text), len(right)), 0, -1) if text.endswith(right[:size])), 0)


def _balance(text: str) -> int:
    return sum((char in "([{") - (char in ")]}") for char in text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
