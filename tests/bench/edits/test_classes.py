"""Each class of edits, on releases small enough to see why."""

from __future__ import annotations

import pytest

from tests.bench.edits.replay import one, replay


def test_the_second_and_later_places_of_a_rename() -> None:
    old = "def load(path):\n    return read(path)\n\n\nx = load(1)\n\ny = [load(2)]\n"
    result = one(old, old.replace("load", "fetch"))
    assert result.kinds == [("replace", "fetch"), ("rename", "fetch"), ("rename", "fetch")]
    assert [event.deleted for event in result.events] == ["load"] * 3
    second = result.events[1]
    assert second.prefix.endswith("\nx = ")
    assert second.suffix == "(1)\n\ny = [load(2)]\n", "the name below is still the old one"


def test_two_places_are_no_rename() -> None:
    old = "x = load(1)\n\ny = [load(2)]\n"
    assert one(old, old.replace("load", "fetch")).kinds == [("replace", "fetch")] * 2


def test_neighbouring_lines_are_renamed_one_by_one_and_comments_follow() -> None:
    old = "a = load(1)\nb = load(2)\n\n# load is slow\nc = load(3)\n"
    result = one(old, old.replace("load", "fetch"))
    assert result.kinds == [("replace", "fetch"), *[("rename", "fetch")] * 3]


def test_names_in_comments_alone_are_no_rename() -> None:
    old = "# load\na = 1\n# load\nb = 2\n# load\nc = 3\n"
    assert {kind for kind, _ in one(old, old.replace("load", "fetch")).kinds} == {"replace"}


def test_a_changed_call_of_a_function_whose_arguments_changed() -> None:
    defining = "def send(data):\n    return data\n"
    calling = "from demo.a import send\n\nsend(1)\n\n\ndef main():\n    return [send(2)]\n"
    result = replay(
        {"demo/a.py": defining, "demo/b.py": calling},
        {
            "demo/a.py": defining.replace("(data)", "(data, limit)"),
            "demo/b.py": calling.replace("(1)", "(1, 5)").replace("(2)", "(2, limit=9)"),
        },
    )
    assert result.kinds == [("replace", ", limit"), ("signature", ", 5"), ("signature", ", limit=9")]


def test_arguments_on_lines_of_their_own_and_constructors() -> None:
    old = """
        class Box:
            def __init__(
                self,
                width,
            ):
                self.width = width


        box = Box(1)
    """
    new = old.replace("        width,\n", "        width,\n                height,\n").replace("Box(1)", "Box(1, 2)")
    assert one(old, new).kinds == [("entry", "height,"), ("signature", ", 2")]


def test_a_call_that_stays_the_same_in_a_changed_line_does_not_count() -> None:
    old = "def send(data):\n    return data\n\n\nx = [send(1), 2]\n"
    new = old.replace("(data)", "(data, limit=0)").replace("2]", "3]")
    assert one(old, new).kinds == [("replace", ", limit=0"), ("replace", "3")]


def test_an_annotation_changes_no_call() -> None:
    old = "def send(data):\n    return data\n\n\nsend(1)\n"
    new = "def send(data: int) -> int:\n    return data\n\n\nsend(2)\n"
    assert one(old, new).kinds == [("replace", ": int) -> int"), ("replace", "2")]


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ('codes = {\n    "ok": 200,\n}\n', '"gone": 410,'),
        ("RED = 1\nBLUE = 2\n", "GREEN = 3"),
        ('__all__ = [\n    "a",\n    "c",\n]\n', '"b",'),
        ("class Point:\n    x: int\n    z: int\n", "y: int"),
        ("call(\n    one=one,\n)\n", "two=two,"),
        ("def f(self):\n    self.x = x\n", "self.y = y"),
    ],
)
def test_a_new_line_of_a_table(old: str, expected: str) -> None:
    lines = old.splitlines(keepends=True)
    indent = lines[1][: len(lines[1]) - len(lines[1].lstrip())]
    new = "".join([*lines[:2], f"{indent}{expected}\n", *lines[2:]]) if indent else f"{old}{expected}\n"
    assert one(old, new).kinds == [("entry", expected)]


@pytest.mark.parametrize(
    ("old", "line"),
    [
        ("a = f(1)\n", "b = 2\n"),  # another shape
        ("call()\n", "call()\n"),  # not of a table
        ('"""One.\n\nTwo.\n"""\n', None),  # lines of prose are strings, but no entries
    ],
)
def test_other_single_lines_are_short(old: str, line: str | None) -> None:
    new = f"{old}{line}" if line else old.replace("Two.\n", "Two.\nThree.\n")
    assert [kind for kind, _ in one(old, new).kinds] == ["short"]


TEST = """
def test_{name}():
    box = Box({width})
    assert box.width == {width}
    assert box.height == 0
"""


def test_a_test_like_one_above_it() -> None:
    old = "from demo import Box\n\n" + TEST.format(name="small", width=1)
    result = one(old, old + "\n" + TEST.format(name="large", width=100))
    assert result.kinds == [("test_copy", TEST.format(name="large", width=100).strip())]


def test_inserted_tests_are_typed_one_by_one_and_may_copy_each_other() -> None:
    old = "from demo import Box\n"
    new = old + "\n" + TEST.format(name="small", width=1) + "\n@slow" + TEST.format(name="large", width=100)
    kinds = one(old, new).kinds
    assert [kind for kind, _ in kinds] == ["block", "test_copy"]
    assert kinds[1][1].startswith("@slow\ndef test_large")


def test_a_test_unlike_those_above_it_or_like_one_below_it_is_a_block() -> None:
    above = "def test_other():\n    with raises(TypeError):\n        Box(None)\n"
    below = TEST.format(name="small", width=1)
    old = f"{above}\n{below}"
    result = one(old, f"{above}\n{TEST.format(name='large', width=100)}\n{below}")
    assert [kind for kind, _ in result.kinds] == ["block"]


def test_imports() -> None:
    old = "import os\nfrom demo.a import (\n    a,\n    c,\n)\n\nprint(os, a, c)\n"
    new = "import os\nimport sys\nfrom demo.a import (\n    a,\n    b,\n    c,\n)\n\nprint(os, a, c)\n"
    assert one(old, new).kinds == [("import", "import sys"), ("import", "b,")]
    assert one("import os\n", "import os, sys\n").kinds == [("import", ", sys")]


def test_block_and_short_differ_in_the_number_of_lines() -> None:
    old = "def f(x):\n    return x\n"
    for num_lines, kind in [(1, "short"), (3, "short"), (4, "block"), (40, "block")]:
        body = "".join(f"    x = x * {line} + f(x)\n" for line in range(num_lines))
        result = one(old, f"def f(x):\n{body}    return x\n")
        assert result.kinds == [(kind, body.strip())]
        assert result.events[0].prefix == "def f(x):\n    ", "behind the indentation"
        assert result.events[0].suffix == "\n    return x\n", "on a line of its own"


def test_a_replacement_leaves_the_cursor_where_typing_differs() -> None:
    event = one("x = alpha(1, two)\n", "x = alpha(1, [2, 3], two)\n").events[0]
    assert (event.prefix, event.deleted, event.expected, event.suffix) == ("x = alpha(1, ", "", "[2, 3], ", "two)\n")
    event = one("x = alphabet\n", "x = alphabeta\n").events[0]
    assert (event.prefix, event.deleted, event.expected) == ("x = ", "alphabet", "alphabeta"), "no word is divided"


def test_what_has_nothing_to_complete_is_made_without_an_event() -> None:
    old = "x = ['a',\n     'b']\nz = 2\ny = 1\n"
    new = 'x = [\n    "a",\n    "b",\n]\nz = 2\n'
    assert one(old, new).kinds == [], "quotes, line ends, a last comma, a deletion"
    long = "".join(f"old_{line}()\n" for line in range(11)), "".join(f"x{line} = {line}\n" for line in range(11))
    assert one(*long).kinds == [], "too long a replacement"
    assert one(f"x = [\n    {'1, ' * 1500}\n]\n", f"x = [\n    {'2, ' * 1500}\n]\n").kinds == [], "too long a line"


def test_a_move_is_no_event() -> None:
    first = "def first():\n    one()\n    two()\n    three()\n"
    second = "def second():\n    return 2\n\n\ndef third():\n    return 3\n"
    result = one(f"{first}\n\n{second}", f"{second}\n\n{first}")
    assert result.kinds == []
    result = replay(
        {"demo/a.py": f"{first}\n\n{second}", "demo/b.py": "x = 1\n"},
        {"demo/a.py": second, "demo/b.py": f"x = 1\n\n\n{first}"},
    )
    assert result.kinds == []
