"""Tree-sitter's parsers, by the ending of a file's name."""

from __future__ import annotations

from typing import Final

from tree_sitter import Language, Parser, Tree

__all__ = ["MAX_PARSED_BYTES", "Grammars", "grammar_of"]

MAX_PARSED_BYTES: Final = 500_000
"""Parsing takes some 0.2 s per MB, in which no key is answered: larger files are generated ones, mostly."""

_ENDINGS: Final = {
    "py": "python", "pyi": "python",
    "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx",
    "go": "go", "rs": "rust", "java": "java",
    "c": "c",
    # C headers are C++ as far as their declarations go.
    "h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hh": "cpp", "hpp": "cpp", "hxx": "cpp",
}  # fmt: skip


def grammar_of(path: str) -> str:
    """The grammar's name for a file, "" where there is none."""
    name = path.rpartition("/")[2]
    return _ENDINGS.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


class Grammars:
    """Each is loaded when it is first needed. Not thread-safe."""

    def __init__(self) -> None:
        self._parsers: dict[str, Parser] = {}

    def parse(self, grammar: str, text: bytes) -> Tree | None:
        """The tree of a UTF-8 text, errors and all; None where it is too large, or the grammar is ""."""
        if not grammar or len(text) > MAX_PARSED_BYTES:
            return None
        if grammar not in self._parsers:
            self._parsers[grammar] = Parser(Language(_load(grammar)))
        return self._parsers[grammar].parse(text)


def _load(grammar: str) -> object:
    # Each is a shared library of its own, and most users need one or two of them.
    if grammar == "python":
        import tree_sitter_python

        return tree_sitter_python.language()
    if grammar == "javascript":
        import tree_sitter_javascript

        return tree_sitter_javascript.language()
    if grammar in ("typescript", "tsx"):
        import tree_sitter_typescript

        is_tsx = grammar == "tsx"
        return tree_sitter_typescript.language_tsx() if is_tsx else tree_sitter_typescript.language_typescript()
    if grammar == "go":
        import tree_sitter_go

        return tree_sitter_go.language()
    if grammar == "rust":
        import tree_sitter_rust

        return tree_sitter_rust.language()
    if grammar == "java":
        import tree_sitter_java

        return tree_sitter_java.language()
    if grammar == "c":
        import tree_sitter_c

        return tree_sitter_c.language()
    import tree_sitter_cpp

    return tree_sitter_cpp.language()
