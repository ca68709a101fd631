"""Lines that are like those around the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.context.grammars import Grammars
from completiond.complete.context.similar import jaccard, similar
from completiond.complete.context.source import WINDOW_LINES, Source
from tests.complete.context.projects import HOSTILE

GRAMMARS = Grammars()
NOISE = [f"noise_{n} = other_{n}" for n in range(100)]
LIKE = [
    "connection = connect(address, timeout)", "reply = connection.send(request)", "if reply.status != OK:",
    "    raise ServerError(reply)",
]  # fmt: skip
BEFORE = ["connection = connect(address, timeout)", "reply = connection.send(request)", "if reply."]


def source(lines: list[str], name: str = "b.py") -> Source:
    return Source(name, name, 1, lines, GRAMMARS)


def test_the_lines_that_are_most_alike_are_found() -> None:
    (piece,) = similar(BEFORE, [""], [source([*NOISE[:50], "", *LIKE, "", *NOISE[:9]]), source(NOISE, "c.py")])
    assert piece.document == "b.py"
    assert "raise ServerError(reply)" in piece.text
    assert piece.kind == "similar"
    assert piece.end_line - piece.first_line <= WINDOW_LINES
    assert 0.2 <= piece.score <= 1.0


def test_a_piece_has_the_lines_that_it_says() -> None:
    lines = [*NOISE[:33], "", "", *LIKE]
    (piece,) = similar(BEFORE, [""], [source(lines)])
    assert piece.text == "".join(f"{line}\n" for line in lines[piece.first_line : piece.end_line])


def test_where_the_cursor_stands_alone_nothing_is_like_it() -> None:
    assert similar(["x = "], [""], [source(["x = "] * 30)]) == []


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_does_harm(text: str) -> None:
    similar(BEFORE, [""], [source(text.split("\n"))])
    similar(text.split("\n"), text.split("\n"), [source(LIKE)])


@given(st.frozensets(st.text(max_size=2)), st.frozensets(st.text(max_size=2)))
def test_the_index_is_that_of_jaccard(a: frozenset[str], b: frozenset[str]) -> None:
    assert jaccard(a, b) == (len(a & b) / len(a | b) if a & b else 0.0) == jaccard(b, a)
