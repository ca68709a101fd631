"""What a file indents its lines with, and other blanks brought into that form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

__all__ = ["DEFAULT_UNIT", "as_indented", "indent_unit", "margin_of"]

MODEL_TAB_COLUMNS = 4
"""So many blanks stand for a tab where a model indents by blanks in a file of tabs."""
DEFAULT_UNIT = "    "


def margin_of(line: str) -> str:
    """The blanks that ``line`` begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def indent_unit(lines: Iterable[str]) -> str:
    """A tab, or the blanks that one more step takes most often; "" where lines are indented by both, or none is."""
    margins = [margin_of(line) for line in lines if line.strip(" \t\n")]
    indented = [margin for margin in margins if margin]
    if not indented or len({margin[0] for margin in indented}) > 1:
        return ""
    if indented[0][0] == "\t":
        return "\t"
    steps = Counter(len(deep) - len(less) for less, deep in pairwise(margins) if len(deep) > len(less) + 1)
    return " " * steps.most_common(1)[0][0] if steps else DEFAULT_UNIT


def as_indented(margin: str, unit: str) -> str:
    """``margin`` in a file whose unit is ``unit``; blanks behind its tabs align something and stay."""
    if unit == "\t" and margin.startswith(" "):
        tabs, rest = divmod(len(margin) - len(margin.lstrip(" ")), MODEL_TAB_COLUMNS)
        return "\t" * tabs + " " * rest + margin.lstrip(" ")
    if unit and unit != "\t":
        return margin.replace("\t", unit)
    return margin
