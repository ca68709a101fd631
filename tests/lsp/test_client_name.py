"""What an editor calls itself."""

from __future__ import annotations

from typing import Any

import pytest

from completiond.lsp.client_name import MAX_CHARS, UNNAMED, client_name


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ({"name": "Neovim", "version": "0.12"}, "Neovim"),
        ({"name": " A\x1b[31m\n "}, "A[31m"),
        ({"name": "x" * 500}, "x" * MAX_CHARS),
        ({"name": "\n"}, UNNAMED),
        ({"name": 3}, UNNAMED),
        ({}, UNNAMED),
        ("Neovim", UNNAMED),
        (None, UNNAMED),
    ],
)
def test_the_name_is_short_and_printable(info: Any, name: str) -> None:
    assert client_name({"clientInfo": info}) == name


@pytest.mark.parametrize("params", [None, [], {}])
def test_who_tells_nothing_has_no_name(params: Any) -> None:
    assert client_name(params) == UNNAMED
