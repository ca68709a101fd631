"""What is known of the place an answer goes to; ``§`` is the cursor."""

from __future__ import annotations

import pytest

from tests.complete.showing import place_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    §", True),
        ("def f():\n§", False),
        ("    if x:\n    §", False),
        ("    x = 1\n    §", True),
        ("        x = 1\n    §", True),
        ("    x = 1\n§", False),
        ("x = 1\n§", True),
        ("§", True),
        ("<ul>\n§", False),
        ("return §", True),
        ("return\t§", True),
        ("return§", False),
        ("foo(§", False),
    ],
)
def test_blanks_are_dropped_where_the_user_typed_them_already(text: str, expected: bool) -> None:
    assert place_of(text).drops_margin is expected
