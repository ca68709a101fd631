"""Places in released source files where another file of the package decides what is right.

The arguments of a call of what it defines, two at least or by name, and a member of what it defines, or of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Final, Literal

__all__ = ["CallPlace", "call_places", "evenly"]

MIN_REST_CHARS: Final = 4
MAX_REST_CHARS: Final = 100
"""Of the line behind the cursor: ``a)`` is hardly missed, and a long line is hardly met by anyone."""
NUM_OTHERS: Final = 3
"""Files open besides the one that decides."""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The cursor is behind the opening bracket of a call of ``name``, or the dot behind it; ``expected`` was written
    there up to the line's end, where ``suffix`` begins. ``files``: path and text of other files that are open, the
    deciding one last.
    """

    kind: Literal["arguments", "member"]
    path: str
    name: str
    prefix: str
    expected: str
    suffix: str
    files: tuple[tuple[str, str], ...]


def call_places(sources: Mapping[str, str]) -> Iterator[CallPlace]:
    """One for each name that a file imports from another one of ``sources``, by their paths, and uses so."""
    paths = sorted(path for path in sources if "test" not in path)
    for path in paths:
        try:
            tree = ast.parse(sources[path])
        except (SyntaxError, ValueError, RecursionError):
            continue
        imported = dict(_imported(tree, path, sources))
        uses = [one for one in ast.walk(tree) if isinstance(one, ast.Call | ast.Attribute)]
        for use in sorted(uses, key=lambda use: (use.lineno, use.col_offset)):
            name = _name(use)
            if name not in imported or (place := _place(use, name, path, imported[name], paths, sources)) is None:
                continue
            del imported[name]
            yield place


def evenly(groups: list[list[CallPlace]], limit: int) -> list[CallPlace]:
    """At most ``limit`` places, of all groups alike and spread over each."""
    per_group = -(-limit // max(1, len(groups)))
    spread = []
    for group in groups:
        count = min(per_group, len(group))
        spread.append([group[index * len(group) // count] for index in range(count)])
    return [place for row in zip_longest(*spread) for place in row if place is not None][:limit]


def _imported(tree: ast.Module, path: str, sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names, and the files that define them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        folder = PurePosixPath(path)
        for _ in range(node.level):
            folder = folder.parent
        parts = node.module.split(".") if node.module else []
        module = PurePosixPath(*parts) if not node.level else folder.joinpath(*parts)
        file = f"{module}.py"
        for alias in node.names:
            text = sources.get(file, "")
            if f"{module / alias.name}.py" in sources:
                yield alias.asname or alias.name, f"{module / alias.name}.py"
            elif file != path and (f"def {alias.name}(" in text or f"class {alias.name}" in text):
                yield alias.asname or alias.name, file


def _name(use: ast.Call | ast.Attribute) -> str:
    """``f`` of ``f(``, and ``A`` of ``A.f``."""
    of = use.value if isinstance(use, ast.Attribute) else use.func
    return of.id if isinstance(of, ast.Name) else ""


def _place(
    use: ast.Call | ast.Attribute, name: str, path: str, deciding: str, paths: list[str], sources: Mapping[str, str]
) -> CallPlace | None:
    of, kind = (use.value, "member") if isinstance(use, ast.Attribute) else (use.func, "arguments")
    if isinstance(use, ast.Call) and len(use.args) < 2 and not use.keywords:
        return None  # the one variable at hand, most often
    if of.end_lineno != use.end_lineno or of.end_col_offset is None:
        return None
    lines = sources[path].split("\n")
    line = lines[use.lineno - 1]
    column = of.end_col_offset + 1
    rest = line[column:]
    if line[column - 1 : column] not in ("(", ".") or not MIN_REST_CHARS <= len(rest) <= MAX_REST_CHARS:
        return None
    if not line.isascii() or "#" in rest:
        return None
    before, after = "\n".join(lines[: use.lineno - 1]), "".join(f"\n{one}" for one in lines[use.lineno :])
    here = paths.index(path)
    near = [one for one in (*paths[here + 1 :], *paths[:here]) if one != deciding][:NUM_OTHERS]
    files = tuple((one, sources[one]) for one in (*near, deciding))
    return CallPlace(
        "member" if kind == "member" else "arguments", path, name, f"{before}\n{line[:column]}", rest, after, files
    )
