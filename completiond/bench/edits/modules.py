"""Which files of a project are tests, which are not its authors' work, and which file imports which."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from completiond.bench.edits.source import Import

__all__ = ["imported_paths", "is_foreign", "is_test"]

_FOREIGN_FOLDERS: Final = frozenset(
    {"_vendor", "_vendored", "extern", "externals", "third_party", "thirdparty", "vendor", "vendored"}
)
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testsuite"})
_GENERATED: Final = re.compile(r"auto[- ]?generated|generated (by|from|with)|do not edit", re.IGNORECASE)
_HEAD_CHARS: Final = 1000


def is_foreign(path: str, text: str) -> bool:
    """Say whether a file is generated or copied from another project."""
    return not _FOREIGN_FOLDERS.isdisjoint(PurePosixPath(path).parts) or bool(_GENERATED.search(text[:_HEAD_CHARS]))


def is_test(path: str) -> bool:
    """Say whether a file is part of a test suite."""
    pure = PurePosixPath(path)
    return not _TEST_FOLDERS.isdisjoint(pure.parts[:-1]) or bool(re.fullmatch(r"test_.*|.*_test|conftest", pure.stem))


def imported_paths(path: str, imports: Iterable[Import], paths: Collection[str]) -> tuple[str, ...]:
    """Return the files among ``paths`` that the file ``path`` imports, in the order it names them, each once."""
    found = (f"{base}{end}" for name in _names(path, imports) for base in [name.replace(".", "/")] for end in _ENDS)
    return tuple(dict.fromkeys(other for other in found if other in paths and other != path))


_ENDS: Final = (".py", "/__init__.py")


def _names(path: str, imports: Iterable[Import]) -> Iterator[str]:
    """Names of what may be modules, absolute."""
    package = PurePosixPath(path).parts[:-1]
    for item in imports:
        base = package[: len(package) + 1 - item.level] if item.level else ()
        module = ".".join((*base, *filter(None, [item.module])))
        if module:
            yield module
        yield from (f"{module}.{name}".removeprefix(".") for name in item.names)
