"""Suggestions that say what stands there already."""

from __future__ import annotations

import pytest

from tests.complaints.desk import Desk


@pytest.mark.parametrize(
    ("text", "written", "outcome"),
    [
        ("total = add(first, §second)\n", "third, second)\n", "total = add(first, third, second)\n"),
        ("const limit = §;\n", "10;\n", "const limit = 10;\n"),
        ("while (§x > 0) {\n", "y && x > 0) {\n", "while (y && x > 0) {\n"),
        ('  "§": "^24.1.0",\n', 'typescript": "^5.1",\n', '  "typescript": "^24.1.0",\n'),
    ],
)
async def test_01_a_fill_does_not_repeat_what_stands_to_the_right(
    desk: Desk, text: str, written: str, outcome: str
) -> None:
    """The suggestion ends in the rest of the line, which is then there twice."""
    assert await desk.outcome(text, written) == outcome


@pytest.mark.parametrize(
    ("text", "written", "outcome"),
    [
        (
            "def f(self):\n    §\n    self.b = 2\n    self.c = 3\n",
            "self.a = 1\n    self.b = 2\n    self.c = 3\n",
            "def f(self):\n    self.a = 1\n    self.b = 2\n    self.c = 3\n",
        ),
        ("f(x) {\n  §\n}\n", "return x;\n}\n\ng() {\n", "f(x) {\n  return x;\n}\n"),
        ("<ul>\n  §\n</ul>\n", "<li>a</li>\n</ul>\n<p>\n", "<ul>\n  <li>a</li>\n</ul>\n"),
        ("def g():\n    §\n    return total\n", "return total", "def g():\n    \n    return total\n"),
    ],
)
async def test_01_a_fill_does_not_repeat_the_lines_below(desk: Desk, text: str, written: str, outcome: str) -> None:
    """The suggestion goes on into the lines that follow the cursor."""
    assert await desk.outcome(text, written) == outcome


@pytest.mark.parametrize(
    ("text", "written", "outcome"),
    [
        ("print(§)\n", '"a")\n', 'print("a")\n'),
        ("print(§)\n", '"a"\n', 'print("a")\n'),
        ("x = [§]\n", "1, [2]]\n", "x = [1, [2]]\n"),
        ("x = {§}\n", "'a': {}}\n", "x = {'a': {}}\n"),
        ('print("§")\n', 'hello")\n', 'print("hello")\n'),
        ("total = sum((§)\n", "x for x in y)) + 1\n", "total = sum((x for x in y))\n"),
    ],
)
async def test_02_between_brackets_that_the_editor_closed_something_is_shown(
    desk: Desk, text: str, written: str, outcome: str
) -> None:
    """Where the editor has closed a bracket or a quote by itself, there is no suggestion, or one too many of them."""
    assert await desk.outcome(text, written) == outcome
