"""Where an answer ends that may have several lines: with the block it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from completiond.complete.layout import CLOSERS, OPENERS, brackets, closes, indent_columns, is_telling, may_close, opens
from completiond.complete.place import Place
from completiond.complete.verdict import Verdict

__all__ = ["check_block"]

LABELS = ("case", "default", "private", "protected", "public")
"""Words that begin a line inside braces and yet often stand as far left as the line that opened them."""
MAX_REPEATS = 3

_PYTHON_HEAD = re.compile(
    r"\s*(?:async|case|class|def|elif|else|except|finally|for|if|match|try|while|with)\b.*:$", re.DOTALL
)


def check_block(text: str, place: Place) -> Verdict:
    """Judge an answer at the end of a line or on a blank one, line by line; the reasons are those of stops.py."""
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
            if not may_close(lines[index], done) or not _closer_belongs(lines, index, first, place):
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
    if is_telling(lines[0]) or closes(lines[0]):
        return True
    following = [line.rstrip() for line in lines[1:] if line.strip()]
    return bool(following) and place.next_lines[1:2] == (following[0],)


def _goes_on_below(line: str, place: Place) -> bool:
    """Whether the text below the cursor is the rest of what the answer's first line begins or stands in."""
    if opens(line):
        return place.indent_below > indent_columns(line)
    if not place.left.strip() or place.indent_below < indent_columns(line):
        return False
    # A closer just as far left closes what this line opens: a tag, say.
    return place.indent_below > indent_columns(line) or not closes(place.next_lines[0])


def _leaves_block(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether line ``index`` is outside the block the cursor is in, or the block the answer's first line opens."""
    line = lines[index]
    indent, floor = indent_columns(line), _floor(lines[first], place)
    if line.strip() == "```" and index + 1 < len(lines):
        # Instruction-tuned models close the fence they believe to be writing in.
        return not place.has_fences and not any(other.lstrip().startswith("```") for other in lines[:index])
    if indent < floor:
        in_braces = index > 0 and lines[0].rstrip().endswith("{")
        return not (in_braces and indent == floor - 1 and _may_be_label(line.strip()))
    if floor == 0 and indent == 0 and index > first and not lines[index - 1].strip():
        return True  # between top-level definitions a blank line is the only border
    return line.strip()[0] in CLOSERS and not brackets("".join(lines[:index]))[1]


def _floor(first_line: str, place: Place) -> int:
    """The least indentation inside the block."""
    indent = indent_columns(first_line)
    if place.left.strip():
        return indent + opens(first_line)
    entered = indent_columns(place.above) + 1 if _PYTHON_HEAD.match(place.above) else 0
    return max(indent, entered, indent_columns(place.left))


def _closer_belongs(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether a closer on the block's border is the answer's: the text below neither has it nor stays in the block."""
    indent, below = indent_columns(lines[index]), place.indent_below
    if below > indent or (below == indent and closes(place.next_lines[0])):
        return False
    return index == first or indent < _floor(lines[first], place)


def _is_repeated(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether line ``index`` is the line that opened the block once more, or the third of its kind."""
    if index == first:
        return opens(place.above) and is_telling(place.above) and lines[index].strip() == place.above.strip()
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
        place.above.strip().startswith(word) or "```".startswith(word) or may_close(line, done=False)
    )


def _may_be_label(line: str) -> bool:
    word = re.match(r"\w*", line)
    assert word is not None, "an empty match is a match"
    return any(label == word[0] or (line == word[0] and label.startswith(line)) for label in LABELS)
