"""An answer line by line, as the rules for blocks look at it."""

from __future__ import annotations

import re
from itertools import accumulate

from completiond.complete.below import is_clause
from completiond.complete.layout import brackets, closes, indent_columns
from completiond.complete.place import Place

__all__ = ["AnswerLines"]


class AnswerLines:
    """The lines of ``text``, the first of them with what stands left of the cursor.

    ``ends[i]`` is where line ``i - 1`` ends in the text: the answer without line ``i`` and all after it. ``first`` is
    the first line that is not blank; ``len(lines)`` when there is none.
    """

    def __init__(self, text: str, place: Place) -> None:
        self.lines = (place.left + text).split("\n")
        self.first = next((index for index, line in enumerate(self.lines) if line.strip()), len(self.lines))
        offsets = accumulate((len(line) + 1 for line in self.lines), initial=-1 - len(place.left))
        self.ends = [max(0, end) for end in offsets]
        self._above = place.above
        self._num_left = len(place.left)

    def is_done(self, index: int) -> bool:
        """Whether line ``index`` is complete."""
        return index + 1 < len(self.lines)

    def has_text(self, index: int) -> bool:
        """Whether line ``index`` has more than what stands left of the cursor."""
        return bool(self.lines[index][self._num_left if index == 0 else 0 :].strip())

    def before(self, index: int) -> int | None:
        """The last line of the answer before line ``index`` that is not blank."""
        return next((other for other in range(index - 1, self.first - 1, -1) if self.lines[other].strip()), None)

    def has_remarks_only(self, begin: int, end: int) -> bool:
        """Whether lines ``[begin, end)`` are a documentation string, or comments, and there are some."""
        text = "\n".join(self.lines[begin:end]).strip()
        is_string = re.fullmatch(r'"""(?:(?!""").)*"""|\'\'\'(?:(?!\'\'\').)*\'\'\'', text, re.DOTALL) is not None
        return is_string or (bool(text) and all(line.lstrip().startswith(("#", "//")) for line in text.split("\n")))

    def above(self, index: int) -> str:
        """The text of the line above line ``index``, whoever wrote it; blank ones do not count."""
        before = self.before(index)
        return self._above if before is None else self.lines[before]

    @property
    def statement_end(self) -> int | None:
        """Where the first statement ends, with all its branches, if a line that is not part of it has begun."""
        indent = indent_columns(self.lines[self.first])
        for index in range(self.first + 1, len(self.lines)):
            line = self.lines[index]
            if not line.strip() or indent_columns(line) > indent or is_clause(line) or closes(line):
                continue
            if not brackets("\n".join(self.lines[self.first : index]))[1]:
                return self.ends[index]
        return None
