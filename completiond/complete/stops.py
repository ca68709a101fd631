"""Where an answer ends, decided on its text while it is being written, so that no pass is spent past the end.

In the middle of a line an answer is one line: it ends (``suffix``) where it writes what already stands right of the
cursor, or (``line``) at its line's end. At the end of a line or on a blank one, rules are looked at line by line:

``suffix``  the answer begins to repeat what follows the cursor;
``line``    its first line is all that is missing, because the block it belongs to, or opens, goes on below the cursor;
``block``   a line lies outside the block the cursor is in;
``repeat``  the line above or the same line over and over.

End tokens and the length cap are the engine's. The rules see text, not a language: indentation and brackets are what
languages share. A line that a rule may still refuse stays out of ``safe``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["Place", "Verdict", "check", "finish"]

OPENING, CLOSERS = "([{", ")]}"
OPENERS = (":", *OPENING)
"""Ends of a line that opens a block."""
OPEN_ENDS = (*OPENERS, ">", "=", "\\")
"""Ends of a line after which the next may be deeper; ``>`` ends an HTML tag."""
LABELS = ("case", "default", "private", "protected", "public")
"""Words that begin a line inside braces and yet often stand as far left as the line that opened them."""
MAX_REPEATS = 3
TAB_COLUMNS = 8
TELLING_CHARS = 5
"""A shorter text (``}``, ``else``) occurs everywhere: it proves a repetition only together with what follows it."""

_CLOSER = re.compile(r"\s*(?:[}\])]|</|(?:end|fi|done|esac)\b\s*[),;]*$)")
_CLOSER_WORDS = ("</", "end", "fi", "done", "esac")
_PYTHON_HEAD = re.compile(
    r"\s*(?:async|case|class|def|elif|else|except|finally|for|if|match|try|while|with)\b.*:$", re.DOTALL
)
_MARGIN = re.compile(r"[ \t]*(?:-(?:[ \t]+|$))*")
"""Indentation; the dash of a YAML list item belongs to it."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules need of the text around the cursor; line ends are ``\\n``."""

    left: str
    """The cursor's line up to the cursor."""
    right: str
    """The cursor's line from the cursor, without its end and trailing blanks."""
    above: str
    """The last non-blank line above the cursor's line, trailing blanks removed."""
    next_lines: tuple[str, ...]
    """The first non-blank lines after the cursor's line, two at most, trailing blanks removed."""
    has_fences: bool
    """The text itself is Markdown, or quotes it: a code fence is nothing unusual."""

    @classmethod
    def of(cls, prefix: str, suffix: str) -> Place:
        """Look at both sides of the cursor."""
        before, _, left = prefix.rpartition("\n")
        above = before.rstrip().rpartition("\n")[2]
        right, _, below = suffix.partition("\n")
        lines = (line.rstrip() for line in below[:4096].split("\n"))
        following = [line for line in lines if line][:2]
        return cls(left, right.rstrip(), above, tuple(following), "```" in prefix or "```" in suffix)

    @property
    def single_line(self) -> bool:
        """Text to the right means that the answer fills a gap in this line."""
        return bool(self.right.strip())

    @property
    def drops_margin(self) -> bool:
        """Whether blanks at the answer's beginning are too many: the user, or the editor, has typed them."""
        if self.left.strip():
            return self.left[-1] in " \t"
        left, above = _indent(self.left), _indent(self.above)
        return left > above or (not self.above.endswith(OPEN_ENDS) and (left > 0 or above == 0))

    @property
    def closes(self) -> bool:
        """Whether the text to the right begins by closing a bracket or a string: often the editor put that there."""
        closer = self.right.lstrip()[:1]
        return closer in tuple(CLOSERS) or (closer in tuple("\"'`") and self.left.count(closer) % 2 == 1)

    @property
    def indent_below(self) -> int:
        """Columns before the text of the next line, or -1 when there is none."""
        return _indent(self.next_lines[0]) if self.next_lines else -1


@dataclass(frozen=True, slots=True)
class Verdict:
    """``end``: the answer is ``text[:end]`` for ``reason``, or None to go on. ``text[:safe]`` is never taken back."""

    end: int | None
    reason: str
    safe: int


def check(text: str, place: Place) -> Verdict:
    """Judge the answer so far."""
    return _check_line(text, place) if place.single_line else _check_block(text, place)


def finish(text: str, place: Place, reason: str) -> str:
    """What is shown of an answer that ended for ``reason``, already cut where a rule said.

    Nothing that stands below, no blanks at the end; at the length cap neither half a line nor a block barely begun.
    """
    if reason == "length" and not place.single_line:
        text = _whole(text)
    if reason in ("eos", "length"):
        verdict = check(text + "\n", place)
        # In mid-line, a model that ends by itself knows better than "the line's end was not met".
        if verdict.end is not None and not (place.single_line and verdict.reason == "line"):
            text = text[: verdict.end]
    if not text.strip():
        return ""
    return text if place.single_line and not place.right.startswith((" ", "\t")) else text.rstrip()


def _whole(text: str) -> str:
    """Without the line that the length cap cut and beginnings of blocks before it, unless that is all there is."""
    kept = text.rpartition("\n")[0].rstrip()
    while kept.endswith(OPENERS):
        kept = kept.rpartition("\n")[0].rstrip()
    return kept or text


def _check_line(text: str, place: Place) -> Verdict:
    line, newline, _ = text.partition("\n")
    if place.closes:
        if (end := _where_closed(line, place)) is not None:
            return Verdict(end, "suffix", 0)
        return Verdict(len(line), "line", 0) if newline else Verdict(None, "", len(line.rstrip()))
    if not newline:
        return Verdict(None, "", 0)
    if (end := _where_met(line, place.right.strip())) is not None:
        return Verdict(end, "suffix", 0)
    # A line that passes by the words to its right was not written to stand before them.
    return Verdict(0 if any(char.isalnum() for char in place.right) else len(line), "line", 0)


def _where_closed(line: str, place: Place) -> int | None:
    """Where the answer writes the bracket or quote that stands right of the cursor already."""
    closer = place.right.lstrip()[0]
    if closer not in CLOSERS:
        found = re.search(rf"(?<!\\){re.escape(closer)}", line)
        return found.start() if found else None
    # What the line's left part opens and its right part does not close is the answer's to close.
    missing = [CLOSERS[OPENING.index(char)] for char in reversed(_brackets(place.left)[1])]
    del missing[max(0, len(missing) - len(_brackets(place.right)[0])) :]
    depth = 0
    for index, char in enumerate(line):
        depth += (char in OPENING) - (char in CLOSERS)
        if depth < 0:
            depth = 0
            if missing[:1] == [char]:
                del missing[0]
            elif char == closer:
                return index
    return None


def _where_met(line: str, right: str) -> int | None:
    """Where a complete line of the answer comes to what stands right of the cursor, or to the beginning of it."""
    least = min(len(right), TELLING_CHARS)
    for size in range(min(len(line), len(right)), least - 1, -1):
        if line.endswith(right[:size]):
            return len(line) - size
    found = line.rfind(right) if len(right) >= TELLING_CHARS else -1
    return found if found >= 0 else None


def _check_block(text: str, place: Place) -> Verdict:
    lines = (place.left + text).split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    # ends[i] is where line i - 1 ends in the answer: the answer without line i and all after it.
    ends = [max(0, end) for end in accumulate((len(line) + 1 for line in lines), initial=-1 - len(place.left))]
    for index in range(first, len(lines)):
        done = index + 1 < len(lines)
        if not lines[index].strip():
            continue
        if done and _repeats_suffix(lines[index:-1], place):
            return Verdict(ends[index], "suffix", 0)
        if done and index == first and _goes_on_below(lines[index], place):
            return Verdict(ends[index + 1], "line", 0)
        if (index > 0 or not place.left.strip()) and _leaves_block(lines, index, first, place):
            if not _may_close(lines[index], done) or not _closer_belongs(lines, index, first, place):
                return Verdict(ends[index], "block", 0)
            if done and not lines[index].rstrip().endswith(OPENERS):
                return Verdict(ends[index + 1], "block", 0)
        if done and _is_repeated(lines, index, first, place):
            return Verdict(ends[index if index == first else index - MAX_REPEATS + 2], "repeat", 0)
    return Verdict(None, "", len(text[: _safe_end(lines, ends, place)].rstrip()))


def _repeats_suffix(lines: Sequence[str], place: Place) -> bool:
    """Whether ``lines`` begin with the text that follows the cursor's line."""
    if not place.next_lines or lines[0].rstrip() != place.next_lines[0]:
        return False
    if _is_telling(lines[0]) or _CLOSER.match(lines[0]):
        return True
    following = [line.rstrip() for line in lines[1:] if line.strip()]
    return bool(following) and place.next_lines[1:2] == (following[0],)


def _goes_on_below(line: str, place: Place) -> bool:
    """Whether the text below the cursor is the rest of what the answer's first line begins or stands in."""
    if _opens(line):
        return place.indent_below > _indent(line)
    if not place.left.strip() or place.indent_below < _indent(line):
        return False
    # A closer just as far left closes what this line opens: a tag, say.
    return place.indent_below > _indent(line) or not _CLOSER.match(place.next_lines[0])


def _leaves_block(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether line ``index`` is outside the block the cursor is in, or the block the answer's first line opens."""
    line = lines[index]
    indent, floor = _indent(line), _floor(lines[first], place)
    if line.strip() == "```" and index + 1 < len(lines):
        # Instruction-tuned models close the fence they believe to be writing in.
        return not place.has_fences and not any(other.lstrip().startswith("```") for other in lines[:index])
    if indent < floor:
        in_braces = index > 0 and lines[0].rstrip().endswith("{")
        return not (in_braces and indent == floor - 1 and _may_be_label(line.strip()))
    if floor == 0 and indent == 0 and index > first and not lines[index - 1].strip():
        return True  # between top-level definitions a blank line is the only border
    return line.strip()[0] in CLOSERS and not _brackets("".join(lines[:index]))[1]


def _floor(first_line: str, place: Place) -> int:
    """The least indentation inside the block."""
    indent = _indent(first_line)
    if place.left.strip():
        return indent + _opens(first_line)
    entered = _indent(place.above) + 1 if _PYTHON_HEAD.match(place.above) else 0
    return max(indent, entered, _indent(place.left))


def _may_close(line: str, done: bool) -> bool:
    """Whether a line closes a block, or may do so once it is complete."""
    word = line.strip()
    return _CLOSER.match(line) is not None or (not done and any(closer.startswith(word) for closer in _CLOSER_WORDS))


def _closer_belongs(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether a closer on the block's border is the answer's: the text below neither has it nor stays in the block."""
    indent, below = _indent(lines[index]), place.indent_below
    if below > indent or (below == indent and _CLOSER.match(place.next_lines[0])):
        return False
    return index == first or indent < _floor(lines[first], place)


def _is_repeated(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether line ``index`` is the line that opened the block once more, or the third of its kind."""
    if index == first:
        return _opens(place.above) and _is_telling(place.above) and lines[index].strip() == place.above.strip()
    recent = lines[max(0, index - MAX_REPEATS + 1) : index + 1]
    return len(recent) == MAX_REPEATS and len(set(recent)) == 1


def _safe_end(lines: Sequence[str], ends: Sequence[int], place: Place) -> int:
    """End of the text that no rule will take back: complete lines, and a first line as it grows."""
    last = len(lines) - 1
    if last == 0:
        return 0 if _may_be_dropped(lines[0].rstrip(), place) else ends[1]
    while last > 0 and _may_go(lines, last - 1, place):
        last -= 1
    return ends[last]


def _may_go(lines: Sequence[str], last: int, place: Place) -> bool:
    """Whether line ``last``, the last complete one, may yet be taken back because of what comes after it."""
    line = lines[last].rstrip()
    repeats = line in place.next_lines[:1] or (last > 0 and lines[last] == lines[last - 1])
    return not line or repeats or line.endswith(OPENERS)


def _may_be_dropped(line: str, place: Place) -> bool:
    """Whether a rule may still refuse the first line when it is complete."""
    if any(below.startswith(line) for below in place.next_lines[:1]):
        return True
    word = line.strip()
    return not place.left.strip() and (
        place.above.strip().startswith(word) or "```".startswith(word) or _may_close(line, done=False)
    )


def _may_be_label(line: str) -> bool:
    word = re.match(r"\w*", line)
    assert word is not None, "an empty match is a match"
    return any(label == word[0] or (line == word[0] and label.startswith(line)) for label in LABELS)


def _is_telling(line: str) -> bool:
    return sum(char.isalnum() for char in line) >= TELLING_CHARS


def _opens(line: str) -> bool:
    """Whether the next line belongs inside this one."""
    return line.rstrip().endswith(OPENERS) or bool(_brackets(line)[1])


def _brackets(text: str) -> tuple[str, str]:
    """Closing brackets of ``text`` that nothing in it opened, and opening ones that nothing in it closed."""
    closing, opening = "", ""
    for char in text:
        if char in OPENING:
            opening += char
        elif char in CLOSERS and opening:
            opening = opening[:-1]
        elif char in CLOSERS:
            closing += char
    return closing, opening


def _indent(line: str) -> int:
    """Columns before a line's text."""
    margin = _MARGIN.match(line)
    assert margin is not None, "an empty match is a match"
    return len(margin[0].expandtabs(TAB_COLUMNS)) + margin[0].endswith("-")
