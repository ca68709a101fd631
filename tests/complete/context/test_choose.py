"""Which pieces are told, and in which order."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.context.choose import choose, files_of
from completiond.complete.context.piece import Piece, PieceKind, piece_of_lines


def piece(
    text: str, document: str = "b.py", first: int = 0, kind: PieceKind = "similar", score: float = 0.5
) -> Piece:  # fmt: skip
    return Piece(document, first, first + text.count("\n"), text, kind, score)


def chosen(*pieces: Piece, visible: str = "", room: int = 1000) -> list[Piece]:
    return choose(pieces, visible, len, lambda document: document, room)


def test_the_most_relevant_ones_that_fit_are_told() -> None:
    small, large, best = (
        piece("small\n", "c.py", score=0.4),
        piece("x" * 500 + "\n", score=0.5),
        piece("best\n", "d.py"),
    )
    best = piece("best\n", "d.py", kind="definition", score=0.9)
    assert chosen(small, large, best) == [best, large, small]
    assert chosen(small, large, best, room=60) == [best, small]
    assert chosen(small, large, best, room=5) == []


def test_the_same_lines_are_told_once() -> None:
    one, copy, inside = piece("a\nb\nc\n"), piece("a\nb\nc\n", "copy.py", score=0.4), piece("b\n", first=1, score=0.3)
    assert chosen(one, copy, inside, piece("z\n", first=3, score=0.2)) == [one, piece("z\n", first=3, score=0.2)]


def test_what_was_deleted_stands_in_no_line() -> None:
    deleted = piece("gone\n", kind="deleted", score=0.2)
    assert chosen(piece("a\nb\n"), deleted) == [piece("a\nb\n"), deleted]


def test_what_the_prompt_says_already_is_not_told() -> None:
    assert chosen(piece("def f():\n    pass\n"), visible="x\ndef f():\n    pass\ny") == []


def test_what_looks_like_a_secret_is_not_told() -> None:
    assert chosen(piece("password = 'k9Xw2LmQ7vRt4Zp8'\n"), piece("size = 3\n", "c.py")) == [
        piece("size = 3\n", "c.py")
    ]


@given(st.integers(0, 10**6), st.integers(0, 300))
def test_the_room_is_kept_and_the_order_of_the_candidates_is_none(seed: int, room: int) -> None:
    numbers = random.Random(seed)
    pieces = [
        piece(f"{n}" * numbers.randint(1, 60) + "\n", f"{numbers.randint(0, 3)}.py", 10 * n, "similar", n / 20)
        for n in range(numbers.randint(0, 9))
    ]
    told = chosen(*pieces, room=room)
    assert sum(len(one.text) for one in told) + 4 * len({one.document for one in told}) <= room
    numbers.shuffle(pieces)
    assert chosen(*pieces, room=room) == told


def test_documents_keep_their_places_and_lines_their_order() -> None:
    pieces = [piece("2\n", "b.py", 5), piece("1\n", "b.py", 1), piece("3\n", "c.py"), piece("0\n", "a.py")]
    files = files_of(pieces, ["c.py", "gone.py"], lambda document: f"src/{document}")
    assert [(document, file.path, file.text) for document, file in files] == [
        ("c.py", "src/c.py", "3\n"), ("a.py", "src/a.py", "0\n"), ("b.py", "src/b.py", "1\n\n2\n"),
    ]  # fmt: skip


def test_a_piece_of_lines_has_no_blank_ends_and_is_bounded() -> None:
    lines = ["", " ", "a", "", "b", "", ""]
    one = piece_of_lines("b.py", lines, -3, 99, "edit", 0.5)
    assert one is not None
    assert (one.first_line, one.end_line, one.text) == (2, 5, "a\n\nb\n")
    assert piece_of_lines("b.py", lines, 5, 7, "edit", 0.5) is None
    assert piece_of_lines("b.py", ["x" * 5000], 0, 1, "edit", 0.5) is None
    many = piece_of_lines("b.py", ["line"] * 500, 0, 500, "edit", 0.5)
    assert many is not None
    assert many.end_line == many.text.count("\n") == 40
