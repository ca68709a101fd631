"""Where a person would begin and divide edits."""

from __future__ import annotations

from textwrap import dedent

from completiond.bench.edits.cuts import MAX_ADDED_LINES
from completiond.bench.edits.hunks import diff_texts
from tests.bench.edits.replay import one


def test_an_insertion_begins_at_its_definition_and_not_inside_the_one_below() -> None:
    method = "    @property\n    def {}(self):\n        print(self)\n        return 1\n"
    first, middle, last = map(method.format, "abc")
    result = one(f"class A:\n{first}\n{last}", f"class A:\n{first}\n{middle}\n{last}")
    assert result.kinds == [("block", middle.strip())]
    assert result.events[0].prefix == f"class A:\n{first}\n    "


def test_long_insertions_are_divided_before_definitions() -> None:
    functions = [f"def f{number}():\n" + f"    step({number})\n" * 14 for number in range(5)]
    old = "x = 1\n\n\ny = 2\n"
    result = one(old, old.replace("\n\n\n", "\n\n\n" + "\n\n".join(functions) + "\n\n"))
    assert [event.expected.count("\n") + 1 for event in result.events] == [32, 32, 15]
    assert [event.expected.startswith("def f") for event in result.events] == [True] * 3
    assert result.events[1].prefix.count("def f") == 2, "what was typed first is there, the rest is not"
    assert result.events[1].suffix.count("def f") == 0


def test_insertions_without_any_boundary_are_divided_all_the_same() -> None:
    table = "".join(f"    {number},\n" for number in range(100))
    result = one("x = [\n]\n", f"x = [\n{table}]\n")
    assert [event.expected.count("\n") + 1 for event in result.events] == [40, 40, 20]
    assert MAX_ADDED_LINES == 40


def test_lines_inserted_beside_changed_ones_are_an_insertion() -> None:
    old = "def f(a):\n    return a\n"
    new = "def f(a, b):\n    if a is None:\n        a = b\n    print(a)\n    assert a\n    return a\n"
    assert [kind for kind, _ in one(old, new).kinds] == ["replace", "block"]
    new = "import sys\n\nprint(sys)\nprint(1)\nprint(2)\ndef f(a, b):\n    return a\n"
    assert [kind for kind, _ in one(old, new).kinds] == ["block", "replace"]


def test_line_ends_stay_as_they_are() -> None:
    old, new = "a = 1\r\nb = 2\r\n", "a = 1\r\nc = call(3)\r\nb = 2\r\n"
    assert one(old, new).kinds == [("short", "c = call(3)")]
    assert one("a = 1\nb = 2", "a = 1\nb = 2\nc = f(3)\n").events[-1].prefix == "a = 1\nb = 2\n"


def test_a_form_feed_ends_no_line() -> None:
    old, new = "a = 1\n\x0c\nb = 2\n", "a = 1\n\x0c\nb = 2\nc = f(3)\n"
    assert one(old, new).kinds == [("short", "c = f(3)")]


def test_what_cannot_be_compared() -> None:
    fine = "x = 1\n"
    assert diff_texts("a.py", fine, "x = 2\n") is not None
    for other in ("x = (\n", "x =\n", "print 1\n", "x = 1\ry = 2\n", "x = 1\x00\n", "  x = 1\n y = 2\n"):
        assert diff_texts("a.py", fine, other) is None, repr(other)
        assert diff_texts("a.py", other, fine) is None, repr(other)


def test_a_rewritten_file_stays_old() -> None:
    old = "".join(f"a{number} = {number}\n" for number in range(201))
    assert diff_texts("a.py", old, "".join(f"b{number} = {-number}\n" for number in range(199))) is not None
    assert diff_texts("a.py", old, "".join(f"b{number} = {-number}\n" for number in range(200))) is None


def test_formatted_strings_count_as_one_token_on_every_python() -> None:
    diff = diff_texts("a.py", "x = 1\n", dedent('x = f"{a!r:>{width}} {b[0]}" + rf"""{c}\n{d}""" + g\n'))
    assert diff is not None
    shapes = [token.shape for token in diff.new.tokens(0, 2)]
    assert shapes == ["name", "=", "string", "+", "text", "text", "+", "name"]
