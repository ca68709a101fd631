"""Where an answer ends that fills a gap in a line."""

from __future__ import annotations

import re

from completiond.complete.layout import CLOSERS, OPENING, TELLING_CHARS, brackets
from completiond.complete.place import Place
from completiond.complete.verdict import Verdict

__all__ = ["check_gap", "says_again", "whole_items"]

_WORDS = re.compile(r"\w+(?: \w+)*")
_ITEMS_BEHIND = re.compile(r"\s*[)\]}](,[^()\[\]{}]*[^()\[\]{}\s])\s*[)\]}]")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")


def check_gap(text: str, place: Place) -> Verdict:
    """Judge an answer that stands in the middle of a line: it is one line (``line``), and ends earlier (``suffix``)
    where it writes what already stands right of the cursor.
    """
    line, newline, _ = text.partition("\n")
    if place.closes_bracket and not place.left.strip():
        return Verdict(0, "line", 0)  # nothing is glued to a bracket that stands in its own line
    if place.closes:
        tail = _behind_closer(place)
        if (end := _where_closed(line, place)) is not None:
            return Verdict(len(line[:end].removesuffix(tail)), "suffix", 0)
        if newline:  # what it left open would be closed by what stands to the right for something else
            kept = whole_items(line, place)
            is_said = tail != "" and kept.endswith(tail)
            return Verdict(len(kept.removesuffix(tail)), "suffix" if is_said else "line", 0)
        return Verdict(None, "", min(_items_end(line, place), len(line) - _num_begun(line, tail)))
    if not newline:
        return Verdict(None, "", 0)
    if (end := _where_met(line, place.right.strip())) is not None:
        return Verdict(end, "suffix", 0)
    # A line that passes by the words to its right was not written to stand before them.
    if any(char.isalnum() for char in place.right):
        return Verdict(0, "line", 0)
    return Verdict(len(line.rstrip()) - _num_common_end(line.rstrip(), place.right.rstrip()), "line", 0)


def _behind_closer(place: Place) -> str:
    """What stands right of the cursor between two closing brackets, if that is items: ``, 0`` in ``), 0)``. An answer
    that ends with it has said it once more.
    """
    found = _ITEMS_BEHIND.match(place.right)
    return found[1] if found else ""


def _num_begun(line: str, tail: str) -> int:
    """Characters at the end of ``line`` that ``tail`` begins with."""
    return next((size for size in range(min(len(line), len(tail)), 0, -1) if line.endswith(tail[:size])), 0)


def _num_common_end(line: str, right: str) -> int:
    """Characters that both end with."""
    pairs = enumerate(zip(reversed(line), reversed(right), strict=False))
    return next((count for count, (one, other) in pairs if one != other), min(len(line), len(right)))


def says_again(text: str, place: Place) -> bool:
    """Whether an answer in the middle of a line is only the words that stand before it: ``a bad |name`` wants no
    second ``bad``. C has a ``long long``.
    """
    words = text.strip()
    if not place.left[-1:].isspace() or words == "long" or not _WORDS.fullmatch(words):
        return False
    left = place.left.rstrip()
    return left.endswith(words) and not re.search(r"\w", left[: -len(words)][-1:])


def whole_items(line: str, place: Place) -> str:
    """What is kept of an answer that was cut short before a closing bracket or quote: nothing that is left open."""
    return line if not place.closes or _is_whole(line, place) else line[: _items_end(line, place)]


def _items_end(line: str, place: Place) -> int:
    """Where the last item ends that something follows, or a string as far as it goes."""
    if not place.closes_bracket:
        return len(line.rstrip())
    ends = (match.start() for match in re.finditer(r"\s*[,;]", line))
    return max((end for end in ends if _is_whole(line[:end], place)), default=0)


def _is_whole(line: str, place: Place) -> bool:
    """Whether ``line`` closes what it opens, and leaves no string open that it began."""
    if not place.closes_bracket:
        return True
    code = re.sub(_STRING, "", line)
    return not any(quote in code for quote in '"`') and not brackets(code)[1]


def _where_closed(line: str, place: Place) -> int | None:
    """Where the answer writes the bracket or quote that stands right of the cursor already."""
    closer = place.right.lstrip()[0]
    if closer not in CLOSERS:
        found = re.search(rf"(?<!\\){re.escape(closer)}", line)
        return found.start() if found else None
    # What the line's left part opens and its right part does not close is the answer's to close.
    missing = [CLOSERS[OPENING.index(char)] for char in reversed(brackets(place.left)[1])]
    del missing[max(0, len(missing) - len(brackets(place.right)[0])) :]
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
