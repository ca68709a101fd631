"""What the model writes, in the form of the place it goes to; ``§`` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.place import Place
from completiond.complete.shape import Shape
from tests.complete.showing import place_of


def shaped(text: str, written: str, size: int = 1) -> str:
    return in_pieces(place_of(text), [written[start : start + size] for start in range(0, len(written), size)])


def in_pieces(place: Place, pieces: list[str]) -> str:
    shape = Shape(place)
    return "".join(shape.push(piece) for piece in pieces) + shape.flush()


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        pytest.param("def f():\n    §", "    return 1", "return 1", id="a margin that is there"),
        pytest.param("x = §", " 1", "1", id="a blank that is there"),
        pytest.param("x =§", " 1", " 1", id="a blank that is not there"),
        pytest.param("a\n§", "b\r\nc\r\n", "b\nc\n", id="line ends"),
        pytest.param(
            "for {\n\t\t§\n", "\tif a {\n\t\t\t\tb()\n\t\t\t}\n", "if a {\n\t\t\tb()\n\t\t}\n", id="a step too deep"
        ),
        pytest.param(
            "for {\n\t\t§\n", "\ta()\n\t\t\tb()\n\n\t\t\tc()\n", "a()\n\t\tb()\n\n\t\tc()\n", id="statements too deep"
        ),
        pytest.param(
            "def f():\n  if x:\n        §\n",
            "    if y:\n            z\n        w\n",
            "if y:\n            z\n        w\n",
            id="blanks too many on the first line only",
        ),
        pytest.param(
            "if x:\n    §\n", "    if y:\n        z\n    w\n", "if y:\n        z\n    w\n", id="the margin once more"
        ),
        pytest.param('E = New("alpha: §")\n', "alpha: no queen", "no queen", id="what stands left of the cursor"),
        pytest.param('E = New("alpha: §")\n', "alp", "alp", id="a beginning of what stands left of the cursor"),
        pytest.param('E = New("alpha: §")\n', "alphabet", "alphabet", id="another word"),
        pytest.param(
            "class A {\n  f() {\n§\n  }\n}\n", "  return 1;\n", "    return 1;\n", id="no deeper than the block's head"
        ),
        pytest.param("class A {\n  f() {\n§\n", "  }\n", "  }\n", id="the end of the block"),
        pytest.param("def f():\n§", "g()\n", "g()\n", id="outside of the block"),
        pytest.param("total§", "total + 1", "total + 1", id="a word that goes on"),
        pytest.param("x = 1§", "1", "1", id="too short to be called a repetition"),
    ],
)
def test_a_text_is_brought_into_the_form_of_its_place(text: str, written: str, expected: str, size: int) -> None:
    assert shaped(text, written, size) == expected


def test_the_margin_of_a_line_that_was_not_begun_begins_it() -> None:
    assert shaped("    if a:\n        b\n    else:§\n", '        return "c"\n', 100) == '\n        return "c"\n'
    assert shaped("    if a:\n        b\n    else:§\n", '         return "c"\n', 100) == '\n        return "c"\n'
    assert shaped("    if a:\n        b\n    else:§\n", '         return "c"\n', 8) == '\n        return "c"\n'
    assert shaped("  if a:\n    b\n  else:§\n", "  c\n", 100) == "\n    c\n"
    assert shaped("for {\n\tif a {§\n", "\tc\n", 100) == "\n\t\tc\n"
    assert shaped("    else:§\n", " x = 1", 100) == " x = 1"
    assert shaped("    else:§\n        y = 1\n", "        x = 1", 100) == "        x = 1"


@given(
    st.sampled_from(["x\n    §", "f(§)", "def f():§", "a: bcdef §\n", "\t§\n\t\tx", "§"]),
    st.lists(st.sampled_from(["\n", "    ", "\t", " ", "bcdef ", "if x:", "a: ", "y", "}", "\r"]), max_size=12),
)
def test_how_a_text_is_cut_into_pieces_changes_nothing_but_blanks_at_first(text: str, pieces: list[str]) -> None:
    place = place_of(text)
    whole = in_pieces(place, ["".join(pieces)])

    assert in_pieces(place, pieces).split() == whole.split()
    assert in_pieces(place, pieces).lstrip() == whole.lstrip()


def test_of_a_long_line_only_its_end_is_looked_for() -> None:
    left = "x = [" + "1234, " * 2000

    assert shaped(left + "§5678]\n", "1234, 1234, 1234, 5", 100) == "5"
    assert shaped(left + "§5678]\n", left, 100_000) == left
