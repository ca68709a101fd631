"""Closing brackets that nothing opened; ``§`` is the cursor."""

from __future__ import annotations

import pytest

from tests.complete.showing import shown

AMONG_OTHERS = "def total(xs):\n    return sum(xs)\n\n\n"


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        (f"{AMONG_OTHERS}def f():\n    return §\n\n\nprint(1)\n", "total([1, 2]))  # 15\n", "total([1, 2])"),
        (f"{AMONG_OTHERS}§\n", "print(total([1])))\nx = 1\n", "print(total([1]))"),
        ("f(a);\nlet x = g(b§\n", "));\n", ")"),
        ("run(() => {\n  §\n});\n", "f(g(1)));\n", "f(g(1))"),
        ("x = 'it is ('\ny = §\n", 'f("(")) + 1\n', 'f("(")'),
        ("total = (  # of (all\n    1)\ny = §\n", "f(1))\n", "f(1)"),
    ],
)
def test_an_answer_ends_before_a_bracket_that_nothing_opened(text: str, answer: str, expected: str) -> None:
    assert shown(text, answer) == expected


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x = f(\n    a,\n    §\n", "g(b))"),
        ("x = f(a +  # why :)\n      §\n", "g(b))"),
        ("x = f(g(\n    a)\n    + §\n", "h(b))"),
        ("run(() => {\n  f(1);\n§\n", "}, g(2))"),
        ("x = [f(\n    1 + §\n", "(2))]"),
        ("case $x in\n  §\n", "start) run ;;"),
        ("§\n", "a) the (first) of them"),
        ("x = §\n", '"f(x))" + y'),
        ("x = 1  # §\n", "f(x))"),
        ("§\n", "# f(x)) is not f(x)"),
        ("y = §\n", "x.replace(/\\)/g, '')"),
        ("y = §\n", "x.split(/[)]/)"),
        ("    (define (f x)\n  §\n", "(g (h x)))"),
    ],
)
def test_what_a_bracket_may_close_is_left_alone(text: str, answer: str) -> None:
    assert shown(text, answer) == answer
