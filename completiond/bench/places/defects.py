"""What is wrong with a suggestion wherever it stands: each check is told the suggestion in its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from completiond.bench.places.balance import Balance, balance_of, open_strings_of
from completiond.bench.places.suggestion import Suggestion
from completiond.complete.layout import brackets, closes, indent_columns, is_telling, opens

__all__ = ["DEFECTS", "find_defects"]

_SPECIAL_TOKEN: Final = re.compile(
    r"<[|｜][^<>\n]*[|｜]>|<(?:fim_\w+|file_sep|repo_name|reponame|PRE|SUF|MID|EOT|endoftext)>|\[/?(?:INST|PREFIX|SUFFIX)\]"
)
_GOES_ON: Final = re.compile(r"\s*(?:elif|else|except|finally)\b")
"""A line that goes on where the block of the line it stands under ended."""
_LABEL: Final = re.compile(r"\s*(?:case\b.*|default|public|private|protected)\s*:")
"""A line that stands farther left than the block it is in."""


def has_doubled_closer(one: Suggestion) -> bool:
    """A bracket, quote or tag is closed that stands closed right of the cursor or below it."""
    more_strings, now, wanted = _balances(one)
    return more_strings < 0 or (more_strings == 0 and now.extra_closers > wanted.extra_closers)


def leaves_open(one: Suggestion) -> bool:
    """A bracket, quote or tag is opened that nothing closes."""
    more_strings, now, wanted = _balances(one)
    return more_strings > 0 or (more_strings == 0 and now.unclosed > wanted.unclosed)


def _balances(one: Suggestion) -> tuple[int, Balance, Balance]:
    """How many more strings are open behind it than behind the reference, and the whole file with both."""
    open_strings, wanted_strings = (
        open_strings_of(one.prefix + text, one.extension) for text in (one.text, one.reference)
    )
    now, wanted = (balance_of(one.prefix + text + one.suffix, one.extension) for text in (one.text, one.reference))
    return open_strings - wanted_strings, now, wanted


def repeats_suffix_line(one: Suggestion) -> bool:
    """Its last telling lines are those below the cursor's line."""
    lines = [line.strip() for line in one.lines if line]
    while lines and not is_telling(lines[-1]):
        del lines[-1]
    below = [line.strip() for line in one.place.next_lines]
    return any(lines[-count:] == below[:count] for count in range(1, len(below) + 1) if len(lines) >= count)


def repeats_line_above(one: Suggestion) -> bool:
    """A telling line is the one above it once more."""
    lines = [line.strip() for line in (one.above, *one.lines) if line.strip()]
    return any(above == line and is_telling(line) for above, line in pairwise(lines))


def repeats_left(one: Suggestion) -> bool:
    """It begins with what stands left of the cursor."""
    left = one.place.left.strip()
    starts = (one.text[:length].rstrip() for length in range(1, min(len(one.text), len(left)) + 1))
    return any(is_telling(start) and left.endswith(start) for start in starts)


def has_gap(one: Suggestion) -> bool:
    """It begins with several blanks behind other text, as if it were a line of its own; not before a comment."""
    return bool(one.place.left.strip()) and re.match(r"(?:[ ]{2,}|[ ]*\t)\s*[^\s#/]", one.text) is not None


def has_wrong_indentation_unit(one: Suggestion) -> bool:
    """A line is indented by tabs where the file has spaces, or the other way round, or by another number of them."""
    file = f"{one.prefix}{one.reference}{one.suffix}".splitlines()
    tabs = any(line.startswith("\t") for line in file)
    unit = indent_columns("\t") if tabs else min((indent_columns(line) for line in file if line[:1] == " "), default=4)
    heads = ("{", ":") if one.extension == ".py" else ("{",)
    before, above = one.above, ""
    for line in filter(None, one.new_lines):
        margin = line[: len(line) - len(line.lstrip())]
        if (" " if tabs else "\t") in margin and not line.lstrip().startswith("*"):
            return True
        above += before
        # Inside brackets, lines may be aligned with what stands above them.
        if indent_columns(margin) % unit and not brackets(above)[1]:
            return True
        deeper = indent_columns(margin) - indent_columns(before)
        if before.endswith(heads) and deeper > 0 and deeper != unit:
            return True
        before = line
    return False


def has_special_token(one: Suggestion) -> bool:
    """It spells a control token of some model."""
    return _SPECIAL_TOKEN.search(one.text) is not None


def has_trailing_blanks(one: Suggestion) -> bool:
    """A line of its own ends with blanks; not those before the text right of the cursor."""
    lines = re.split(r"\r?\n", one.text)
    return any(line[-1:] in (" ", "\t") for line in (lines[:-1] if one.place.right else lines))


def is_blank(one: Suggestion) -> bool:
    """It is nothing but blanks and line ends."""
    return bool(one.text) and not one.text.strip()


def mixes_line_ends(one: Suggestion) -> bool:
    """Its line ends are not those of the file."""
    wanted = "\r\n" if "\r\n" in one.prefix + one.suffix else "\n"
    return any(end != wanted for end in re.findall(r"\r\n|\r|\n", one.text))


def passes_block_end(one: Suggestion) -> bool:
    """A line stands farther left than the block that the cursor is in, or that its line opens."""
    head, left = one.head, one.place.left
    indent = indent_columns(head if left.strip() else left)
    within = indent + opens(head) if left.strip() else indent
    floor = min([within, *(indent_columns(line) for line in one.reference_new_lines if line)])
    return any(
        indent_columns(line) < floor
        and not _LABEL.match(line)
        and not (indent_columns(line) == indent < within and (closes(line) or _GOES_ON.match(line)))
        for line in filter(None, one.new_lines)
    )


def has_fence(one: Suggestion) -> bool:
    """A line is a Markdown fence, in a file that has none."""
    return not one.place.has_fences and any(line.lstrip().startswith("```") for line in one.lines)


DEFECTS: Final[Mapping[str, Callable[[Suggestion], bool]]] = {
    "doubled closer": has_doubled_closer,
    "left open": leaves_open,
    "repeated suffix line": repeats_suffix_line,
    "repeated line above": repeats_line_above,
    "repeated left": repeats_left,
    "gap": has_gap,
    "indentation unit": has_wrong_indentation_unit,
    "special token": has_special_token,
    "trailing blanks": has_trailing_blanks,
    "only blanks": is_blank,
    "mixed line ends": mixes_line_ends,
    "past the block": passes_block_end,
    "fence": has_fence,
}
"""All checks, by the kind of defect."""


def find_defects(one: Suggestion) -> tuple[str, ...]:
    """The kinds of defects it has, in the order of ``DEFECTS``."""
    return tuple(kind for kind, has_it in DEFECTS.items() if has_it(one))
