"""Where an answer ends, decided on its text while it is being written, so that few passes are spent past the end.

In the middle of a line an answer is one line: it ends (``suffix``) where it writes what already stands right of the
cursor, or (``line``) at its line's end. At the end of a line or on a blank one, rules are looked at line by line:

``suffix``  the answer comes to the text below the cursor, word for word or nearly (below.py): all before was missing;
``line``    its first line is all that is missing, because the block it belongs to, or opens, goes on below the cursor,
            or because it closes a bracket that nothing has opened (surplus.py);
``block``   a line lies outside the block the cursor is in;
``repeat``  the line above or the same line over and over, or in a line the same phrase (loops.py).

Where a line says that the answer may have ended but it could still come to the text below, some lines more are written
to see whether it does. One that never does, amid the statements of a block, ends with its first statement. Answer adds
``unsure``: the model does not know how to go on (confidence.py).

End tokens and the length cap are the engine's. The rules see text, not a language: indentation, brackets and some words
that languages share. A line that a rule may still refuse stays out of ``safe``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from completiond.complete.block import check_block, without_bare_head
from completiond.complete.gap import check_gap, says_again, whole_items
from completiond.complete.layout import OPENERS
from completiond.complete.loops import find_loop
from completiond.complete.place import Place
from completiond.complete.surplus import surplus_end
from completiond.complete.verdict import Verdict

__all__ = ["check", "finish"]

CUT_SHORT: Final = frozenset({"length", "time"})
"""Reasons that have nothing to do with the text."""


def check(text: str, place: Place) -> Verdict:
    """Judge the answer so far."""
    verdict = check_gap(text, place) if place.single_line else _check_lines(text, place)
    loop = find_loop(text) if verdict.end is None else None
    if loop is None:
        return verdict
    if place.single_line:
        end = check_gap(text[: loop.end], place).safe
    else:
        end = len(text[: loop.end if verdict.fallback is None else min(loop.end, verdict.fallback)].rstrip())
    return Verdict(end, "repeat", 0) if loop.is_over else replace(verdict, safe=min(verdict.safe, end))


def _check_lines(text: str, place: Place) -> Verdict:
    """Judge an answer at the end of a line or on a blank one."""
    if (end := surplus_end(text.partition("\n")[0], place)) is None:
        verdict = check_block(text, place)
        return replace(verdict, safe=len(_without_comma(text[: verdict.safe]))) if place.ends_json else verdict
    verdict = check_block(text[:end] + "\n", place)
    return Verdict(end, "line", 0) if verdict.end is None else verdict


def finish(text: str, place: Place, reason: str) -> str:
    """What is shown of an answer that ended for ``reason``, already cut where a rule said.

    Nothing that stands below, no blanks at the end; at the length cap neither half a line nor a block barely begun.
    """
    if reason in CUT_SHORT:
        text = whole_items(text, place) if place.single_line else _whole_lines(text)
    if reason == "eos" or reason in CUT_SHORT:
        verdict = check(text + "\n", place)
        # In mid-line, a model that ends by itself knows better than "the line's end was not met", unless it was to
        # stand before a whole line.
        is_trusted = place.single_line and verdict.reason == "line" and bool(place.left.strip())
        if verdict.end is not None and not is_trusted:
            text = text[: verdict.end]
        elif verdict.fallback is not None and reason in CUT_SHORT:
            text = text[: verdict.fallback]
    text = without_bare_head(text, place)
    if place.ends_json and not place.single_line:
        text = _without_comma(text)
    if not text.strip() or (place.single_line and says_again(text, place)):
        return ""
    return text if place.single_line and not place.right.startswith((" ", "\t")) else text.rstrip()


def _without_comma(text: str) -> str:
    """Without a comma at the end."""
    return text.rstrip().removesuffix(",")


def _whole_lines(text: str) -> str:
    """Without the line that the length cap cut and beginnings of blocks before it, unless that is all there is."""
    kept = text.rpartition("\n")[0].rstrip()
    while kept.endswith(OPENERS):
        kept = kept.rpartition("\n")[0].rstrip()
    return kept or text
