"""Where an answer ends that may have several lines: with the block it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from completiond.complete.answer_lines import AnswerLines
from completiond.complete.below import (
    CLAUSES,
    cannot_precede,
    doubles_tag,
    goes_on_with_branch,
    is_clause,
    is_misplaced_clause,
    is_one_too_many,
    is_tag_end,
    repeats_below,
)
from completiond.complete.layout import (
    CLOSERS,
    OPENERS,
    brackets,
    closes,
    indent_columns,
    is_telling,
    may_close,
    opens,
    without_comment,
)
from completiond.complete.place import Place
from completiond.complete.verdict import Verdict

__all__ = ["check_block", "without_bare_head"]

LABELS = ("case", "default", "private", "protected", "public")
"""Words that begin a line inside braces and yet often stand as far left as the line that opened them."""
MAX_REPEATS = 3
MAX_LINES_AHEAD = 8
"""Chosen: so many lines are written to see whether they come to the text below, behind a place that may be the end."""

_PYTHON_HEAD = re.compile(
    r"\s*(?:async|case|class|def|elif|else|except|finally|for|if|match|try|while|with)\b.*:$", re.DOTALL
)

_CLASS_HEAD = re.compile(
    r"(?:[\w@<>()]+\s+)*(?:class|enum|extension|impl|interface|module|namespace|object|protocol|record|struct|trait)\b"
)
_FUNCTION_HEAD = re.compile(r"\s*(?:(?:async\s+)?def\b|class\b|\))")
"""The last line of a head of several lines begins with its bracket."""


def check_block(text: str, place: Place) -> Verdict:
    """Judge an answer at the end of a line or on a blank one, line by line; the reasons are those of stops.py.

    Where a line says that the answer has come to its end, it may be looked further: what comes to the text below ends
    there, and all of it was the answer. What does not is cut where the first doubt arose.
    """
    answer = AnswerLines(text, place)
    doubt: _Border | None = None
    for index, line in enumerate(answer.lines):
        if not line.strip():
            continue
        if (begin := _meeting(answer, index, place)) is not None:
            is_remark = doubt is not None and doubt.reason == "line" and answer.has_remarks_only(doubt.index + 1, begin)
            return Verdict(doubt.end if doubt is not None and is_remark else answer.ends[begin], "suffix", 0)
        border = _border(answer, index, place)
        doubt = doubt or border
        is_far = doubt is not None and answer.is_done(index) and index - doubt.index >= MAX_LINES_AHEAD
        if doubt is not None and (is_far or (border is not None and border.is_last)):
            return Verdict(min(doubt.end, _cautious_end(answer, place, doubt.end)), doubt.reason, 0)
    safe = _safe_end(answer.lines, answer.ends, place)
    fallback = _cautious_end(answer, place, len(text) if doubt is None else doubt.end)
    return Verdict(None, "", len(text[: min(safe, fallback)].rstrip()), fallback if fallback < len(text) else None)


def without_bare_head(text: str, place: Place) -> str:
    """``text`` without a last line, not its only one, that begins a block which nothing follows."""
    kept, newline, last = text.rstrip().rpartition("\n")
    is_head = _PYTHON_HEAD.match(without_comment(last)) or without_comment(last).endswith(OPENERS)
    is_bare = is_head and place.indent_below <= indent_columns(last)
    return without_bare_head(kept, place) if newline and kept.strip() and is_bare else text


@dataclass(frozen=True, slots=True)
class _Border:
    """Where the answer ends because of line ``index``, unless ``is_last`` is False and the text below is met behind."""

    end: int
    reason: str
    index: int
    is_last: bool


def _border(answer: AnswerLines, index: int, place: Place) -> _Border | None:
    """What line ``index``, which is not blank, says about the answer's end."""
    lines, ends, first = answer.lines, answer.ends, answer.first
    line, done = lines[index], answer.is_done(index)
    if done and place.is_one_line and answer.has_text(index):
        return _Border(ends[index + 1], "line", index, True)
    if is_misplaced_clause(line, answer.above(index)):
        return _Border(ends[index], "block", index, True)
    if index == first and done and doubles_tag(line, place):
        return _Border(ends[index], "suffix", index, True)
    if index > first and done and cannot_precede(line, place):
        return _Border(ends[index], "suffix", index, False)
    if done and opens(line) and place.indent_below > indent_columns(line) >= indent_columns(lines[first]):
        return _Border(ends[index + 1], "line", index, index == first and bool(place.left.strip()))
    if done and index == first and _goes_on_below(line, place):
        return _Border(ends[index + 1], "line", index, True)
    if (index > 0 or not place.left.strip()) and _leaves_block(lines, index, first, place):
        if _may_go_on(line, lines[first], place):
            function = _function_indent(lines[first], place)
            is_doubtful = place.indent_below > function or indent_columns(line) <= function
            return _Border(ends[index], "block", index, False) if is_doubtful else None
        if not may_close(line, done) or not _closer_belongs(lines, index, first, place):
            return _Border(ends[index], "block", index, True)
        if done and not line.rstrip().endswith(OPENERS):
            return _Border(ends[index + 1], "block", index, True)
    if done and _is_repeated(lines, index, first, place):
        is_third = index > first and lines[index] == lines[index - 1]
        return _Border(ends[index - MAX_REPEATS + 2 if is_third else index], "repeat", index, True)
    return None


def _meeting(answer: AnswerLines, index: int, place: Place) -> int | None:
    """The first of the lines that repeat the text below, if line ``index`` proves it."""
    if not answer.is_done(index):
        return None
    before = answer.before(index)
    for begin in (index,) if before is None else (before, index):
        lines, above = answer.lines[begin : index + 1], answer.above(begin)
        if repeats_below(lines, above, place, may_differ=begin > answer.first):
            return begin
    return None


def _cautious_end(answer: AnswerLines, place: Place, end: int) -> int:
    """Where an answer ends that stands amid the statements of a block and never came to the next of them: with its own
    first one, if that is before ``end``.
    """
    if answer.first == len(answer.lines) or not place.next_lines:
        return end
    indent = indent_columns(answer.lines[answer.first])
    below = place.next_lines[0]
    if indent == 0 or place.indent_below != indent or is_clause(below) or closes(below):
        return end
    return min(end, answer.statement_end or end)


def _function_indent(first_line: str, place: Place) -> int:
    """Columns before the head of the function the answer is in, where blocks are made by indentation, or -1."""
    indent = indent_columns(first_line)
    heads = [line for line in place.enclosing if indent_columns(line) < indent and line.endswith(":")]
    return next((indent_columns(line) for line in heads if _FUNCTION_HEAD.match(line)), -1)


def _may_go_on(line: str, first_line: str, place: Place) -> bool:
    """Whether ``line``, outside of the block, may yet be the answer's, as what follows the block in its function, or
    encloses the text below.
    """
    indent, function = indent_columns(line), _function_indent(first_line, place)
    if function < 0 or indent == 0 or closes(line) or is_one_too_many(line, place):
        return False
    if _is_among_members(indent_columns(first_line), place):
        return False
    return indent > function or (place.indent_below > 0 and _FUNCTION_HEAD.match(line) is None)


def _goes_on_below(line: str, place: Place) -> bool:
    """Whether the text below is what would follow ``line``, where nothing is missing behind it."""
    if not place.left.strip() or opens(line) or place.indent_below < indent_columns(line):
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
    if indent == floor and index > first and not lines[index - 1].strip() and _is_among_members(indent, place):
        return True  # between members a blank line is the only border
    return line.strip()[0] in CLOSERS and not brackets("".join(lines[:index]))[1]


def _is_among_members(indent: int, place: Place) -> bool:
    """Whether lines with ``indent`` are definitions of a file or a class, not the statements of a function."""
    head = next((line for line in place.enclosing if indent_columns(line) < indent), None)
    return indent == 0 or (head is not None and _CLASS_HEAD.match(head.lstrip()) is not None)


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
    if below > indent or (below == indent and (closes(place.next_lines[0]) or goes_on_with_branch(place))):
        return False
    return index == first or indent < _floor(lines[first], place)


def _is_repeated(lines: Sequence[str], index: int, first: int, place: Place) -> bool:
    """Whether line ``index`` is the line above once more, the one that opened the block, or the third of its kind."""
    if index == first:
        is_as_deep = indent_columns(lines[index]) == indent_columns(place.above)
        is_same = lines[index].strip() == place.above.strip() and is_telling(place.above)
        return is_same and (opens(place.above) or is_as_deep)
    is_same = lines[index].rstrip() == place.above and is_telling(place.above) and not closes(place.above)
    if is_same and all(
        indent_columns(line) >= indent_columns(place.above) for line in lines[first:index] if line.strip()
    ):
        return True
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
    if any(below.lstrip().startswith(word) and is_tag_end(below) for below in place.next_lines[:1]):
        return True
    if any(clause.startswith(word) for clause in CLAUSES) and is_misplaced_clause(
        _with_word(line, "else"), place.above
    ):
        return True
    return not place.left.strip() and (
        place.above.strip().startswith(word) or "```".startswith(word) or may_close(line, done=False)
    )


def _with_word(line: str, word: str) -> str:
    return line[: len(line) - len(line.lstrip())] + word


def _may_be_label(line: str) -> bool:
    word = re.match(r"\w*", line)
    assert word is not None, "an empty match is a match"
    return any(label == word[0] or (line == word[0] and label.startswith(line)) for label in LABELS)
