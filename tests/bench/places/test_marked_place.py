"""What is good at a place."""

from __future__ import annotations

import re

import pytest

from completiond.bench.places.marked_place import MarkedPlace

PLACE = MarkedPlace(
    "go", "kiln.go", 3, "call arguments", "heat(", ")\n", "cone, 6",
    must=(re.compile(r"^cone, \d$"), re.compile("^six\n")), may_not=(re.compile("7"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("cone, 6", True),
        ("six\nmore", True),
        ("six\r\nmore", True),
        ("cone, 7", False),
        ("a cone, 6", False),
        ("", False),
    ],
)
def test_one_has_to_be_found_and_none_may_be(text: str, good: bool) -> None:
    assert PLACE.accepts(text) is good


@pytest.mark.parametrize("text", ["six\nmore", "six\r\nmore"])
def test_a_single_line_is_one_line(text: str) -> None:
    one_line = MarkedPlace(
        "go", "kiln.go", 3, "call arguments", "heat(", ")\n", "six", (re.compile("six"),), single_line=True
    )
    assert one_line.accepts("six")
    assert not one_line.accepts(text)
