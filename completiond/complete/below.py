"""What the text below the cursor says of an answer's line: whether it stands there already, and what may stand above.

The model sees that text too, so an answer that is complete goes on with it, word for word or nearly so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from completiond.complete.layout import brackets, closes, indent_columns, is_telling, opens, without_comment
from completiond.complete.place import Place

__all__ = [
    "CLAUSES",
    "cannot_precede",
    "doubles_tag",
    "goes_on_with_branch",
    "is_clause",
    "is_misplaced_clause",
    "is_one_too_many",
    "is_tag_end",
    "repeats_below",
]

MIN_LIKENESS = 0.6
MIN_LIKENESS_OF_TWO = 0.7
"""Chosen on HumanEval's holes, not derived: two lines with as many of their tokens in common may be one line, or two in
a row if nothing else says so.
"""

CLAUSES = ("else", "elif", "elsif", "elseif", "except", "finally", "catch", "rescue", "ensure")
"""Words that begin a branch of the statement before them."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_LEAVES = re.compile(r"\s*(?:return|raise|throw|break|continue)\b(?!.*\s(?:if|unless)\s(?!.*\selse\s))")
"""What no statement of the same block can follow; Ruby's and Perl's postfix conditions are another matter."""
_CLAUSE = re.compile(rf"\s*\}}?\s*(?:{'|'.join(CLAUSES)})\b")
_LAST_CLAUSE = re.compile(r"\s*\}?\s*(?:else(?!\s*if\b)|finally|ensure)\b")
_HEAD = re.compile(r"\s*(?:if|elif|else|elsif|unless|for|while|try|except|catch|case|when|begin|do)\b")
_CASE = re.compile(r"\s*(?:case|default|when)\b")
_TAG_END = re.compile(r"\s*</([\w:.-]*)>$")
_LABEL = re.compile(r"\s*(?:case\b.*|default\s*|\w+\s*):")


def repeats_below(lines: Sequence[str], above: str, place: Place, may_differ: bool = True) -> bool:
    """Whether ``lines``, all complete, begin with the text that follows the cursor's line, which may stand below
    ``above``.

    One line must be telling to prove it, or the next must be the same too. Where the next one is, the first may differ
    in a name or a number: the model has written its own version of both. So it may where ``above`` is a branch whose
    statements the text below can only be. Unless they ``may_differ``: rows of a table are alike and not the same.
    """
    below = place.next_lines
    if not below or not _may_stand_below(above, place.indent_below):
        return False
    following = [line for line in lines[1:] if line.strip()][:1]
    is_second = bool(following) and len(below) > 1 and _is_same(following[0], below[1])
    is_second = is_second and (is_telling(below[1]) or indent_columns(following[0]) == indent_columns(below[1]))
    if _is_same(lines[0], below[0]):
        is_as_deep = indent_columns(lines[0]) == place.indent_below
        is_proof = is_telling(lines[0]) or (closes(lines[0]) and is_as_deep)
        return is_second or (is_proof and (is_as_deep or opens(above)))
    if not may_differ:
        return False
    if (is_second and is_telling(below[1])) or (is_clause(above) and opens(above)):
        return _likeness(lines[0], below[0]) >= MIN_LIKENESS
    pairs = list(zip((lines[0], *following), below, strict=False))
    return len(pairs) == 2 and min(_likeness(*pair) for pair in pairs) >= MIN_LIKENESS_OF_TWO


def _may_stand_below(above: str, indent: int) -> bool:
    """Whether a line with ``indent`` may follow the line ``above``: deeper where that opens a block, else not."""
    if without_comment(above).endswith(":"):
        return indent > indent_columns(above)
    return indent <= indent_columns(above) or opens(above) or not above.strip()


def cannot_precede(line: str, place: Place) -> bool:
    """Whether the text below could not stand behind ``line``, the beginning of a line: it would never be reached, or
    be a branch behind the last one.
    """
    if not place.next_lines or indent_columns(line) != place.indent_below:
        return False
    below = place.next_lines[0]
    if _LEAVES.match(line):
        return not (is_clause(below) or closes(below) or _LABEL.match(below))
    return bool(_LAST_CLAUSE.match(line)) and is_clause(below)


def is_clause(line: str) -> bool:
    """Whether ``line`` is a branch of the statement before it."""
    return _CLAUSE.match(line) is not None


def goes_on_with_branch(place: Place) -> bool:
    """Whether the text below is the next branch of a statement that the cursor is in, or its next case, where no
    bracket has to be closed before it.
    """
    below = place.next_lines[0]
    head = next((head for head in place.enclosing if indent_columns(head) == place.indent_below), "")
    is_case = _CASE.match(below) is not None and _CASE.match(head) is not None
    return (is_clause(below) or is_case) and not brackets(without_comment(head))[1]


def is_tag_end(line: str) -> bool:
    """Whether ``line`` is nothing but a closing tag."""
    return _TAG_END.match(line) is not None


def doubles_tag(line: str, place: Place) -> bool:
    """Whether ``line`` is the closing tag below once more, however deep, and no tag of that name is open as deep as it
    is.
    """
    tag = _TAG_END.match(line.rstrip())
    if tag is None or not place.next_lines or line.strip() != place.next_lines[0].strip():
        return False
    heads = [head.lstrip() for head in place.enclosing if indent_columns(head) == indent_columns(line)]
    return not any(re.match(rf"<{re.escape(tag[1])}\b", head) and f"</{tag[1]}" not in head for head in heads)


def is_one_too_many(line: str, place: Place) -> bool:
    """Whether ``line`` is a branch of the statement the cursor is in, which has had its last one: ``else`` behind
    ``else``, or anything behind ``finally``.
    """
    indent = indent_columns(line)
    head = next((head for head in place.enclosing if indent_columns(head) == indent), "")
    if not is_clause(line) or not _LAST_CLAUSE.match(head) or not without_comment(head).endswith((":", "{")):
        return False
    return "finally" in head or "finally" not in line


def is_misplaced_clause(line: str, above: str) -> bool:
    """Whether ``line`` is a branch of nothing: the line ``above`` it opens a block, or is a whole statement."""
    if not is_clause(line) or line.lstrip().startswith("}") or above.lstrip().startswith("}"):
        return False
    indent, above_indent = indent_columns(line), indent_columns(above)
    if without_comment(above).endswith((":", "{")):
        return indent > above_indent
    return indent == above_indent and _HEAD.match(above) is None


def _is_same(line: str, other: str) -> bool:
    return "".join(line.split()) == "".join(other.split())


def _likeness(line: str, other: str) -> float:
    return SequenceMatcher(None, _TOKEN.findall(line), _TOKEN.findall(other), False).ratio()
