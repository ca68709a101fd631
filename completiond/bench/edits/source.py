"""One version of a Python file, read once: lines, tokens, imports and the arguments of its functions."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from completiond.bench.edits.tokens import Token, tokens_by_line

__all__ = ["Import", "Signature", "Source", "parse_source"]


@dataclass(frozen=True, slots=True)
class Import:
    """``from ..module import names``: ``level`` counts the dots. ``import module`` has no names."""

    level: int
    module: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called: by what name (of its class, for a constructor) and with which arguments.

    Annotations are left out: they change no call. The header is on the lines from ``start`` up to ``end``.
    """

    called: str
    arguments: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is Python. Lines are counted from 0, everywhere. Only some lines' tokens are kept: they are many."""

    text: str
    lines: tuple[str, ...]
    tokens_by_line: Mapping[int, tuple[Token, ...]]
    imports: tuple[Import, ...]
    import_lines: frozenset[int]
    signatures: Mapping[str, Signature]

    def tokens(self, start: int, end: int) -> list[Token]:
        """The tokens on the lines from ``start`` up to ``end``."""
        return [token for line in range(start, end) for token in self.tokens_by_line.get(line, ())]


def parse_source(text: str, lines: tuple[str, ...], token_lines: Container[int]) -> Source | None:
    """Read ``text``, whose lines are ``lines``; None when this Python cannot."""
    tokens = tokens_by_line(lines, token_lines)
    if tokens is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's authors' concern, like invalid escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    imports, import_lines, signatures = list[Import](), set[int](), dict[str, Signature]()
    for node, scope, class_name in _statements(tree, "", ""):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += _imports(node)
            import_lines.update(range(node.lineno - 1, node.end_lineno or node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            called = class_name if node.name == "__init__" else node.name
            end = max(node.lineno, node.body[0].lineno - 1)
            signatures[f"{scope}{node.name}"] = Signature(called, _arguments(node.args), node.lineno - 1, end)
    return Source(text, lines, tokens, tuple(imports), frozenset(import_lines), signatures)


def _imports(node: ast.Import | ast.ImportFrom) -> list[Import]:
    if isinstance(node, ast.ImportFrom):
        return [Import(node.level, node.module or "", tuple(alias.name for alias in node.names))]
    return [Import(0, alias.name, ()) for alias in node.names]


def _statements(node: ast.AST, scope: str, class_name: str) -> Iterator[tuple[ast.stmt, str, str]]:
    """All statements, with the dotted names of the definitions around them and the name of the class next to them."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            if isinstance(child, ast.stmt):
                yield child, scope, class_name
            if isinstance(child, ast.ClassDef):
                yield from _statements(child, f"{scope}{child.name}.", child.name)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _statements(child, f"{scope}{child.name}.", "")
            else:
                yield from _statements(child, scope, class_name)


def _arguments(arguments: ast.arguments) -> str:
    """The arguments as source text without their annotations."""

    def bare(argument: ast.arg | None) -> ast.arg | None:
        return None if argument is None else ast.arg(argument.arg)

    return ast.unparse(
        ast.arguments(
            posonlyargs=[ast.arg(item.arg) for item in arguments.posonlyargs],
            args=[ast.arg(item.arg) for item in arguments.args],
            vararg=bare(arguments.vararg),
            kwonlyargs=[ast.arg(item.arg) for item in arguments.kwonlyargs],
            kw_defaults=arguments.kw_defaults,
            kwarg=bare(arguments.kwarg),
            defaults=arguments.defaults,
        )
    )
