"""Each check finds its defect and lets the like of it pass; ``§`` is the cursor."""

from __future__ import annotations

from typing import Final

import pytest

from completiond.bench.places.defects import DEFECTS, find_defects
from tests.bench.places.placing import suggest

BLOCK: Final = "def f(a):\n    for b in a:\n        §\n    return a\n"
BRACES: Final = "function f(a) {\n  if (a) {\n    §\n  }\n  return a;\n}\n"

FOUND: Final = [
    # kind, text around the cursor, suggestion, reference, file
    ("doubled closer", "f(§)\n", "a)", "a", "a.py"),
    ("doubled closer", 'f("§")\n', 'a"', "a", "a.py"),
    ("doubled closer", "f(`§`);\n", "a`);", "a", "a.js"),
    ("doubled closer", BRACES, "a();\n  }", "a();", "a.js"),
    ("doubled closer", "f(() => {\n  §\n});\n", "a);", "a();", "a.js"),
    ("doubled closer", "<p>§</p>\n", "a</p>", "a", "a.html"),
    ("doubled closer", '<input name="§">\n', 'a">', "a", "a.html"),
    ("doubled closer", '<input name="§">\n', 'a"', "a", "a.html"),
    ("left open", "f(§)\n", '"a', "a", "a.py"),
    ("left open", "f(§)\n", "g(a", "a", "a.py"),
    ("left open", "void f() { § }\n", "if (a) {", "a();", "a.cpp"),
    ("left open", '<p>§</p>\n', "<b>a", "a", "a.html"),
    ("repeated suffix line", BLOCK, "b += 1\n    return a", "b += 1", "a.py"),
    ("repeated suffix line", "{\n  §\n  alpha();\n  beta();\n}", "x();\n  alpha();\n  beta();\n  }", "x();", "a.js"),
    ("repeated line above", "first = 1\n§\nx = 2\n", "first = 1", "y = 3", "a.py"),
    ("repeated line above", "x = 2§\n", "\ny = first\ny = first", "\ny = 3", "a.py"),
    ("repeated left", 'raise Error("furnace: §")\n', "furnace: too hot", "too hot", "a.py"),
    ("gap", "    else:§\n", "        return 1", "\n        return 1", "a.py"),
    ("gap", "    else:§\n", "\treturn 1", "\n        return 1", "a.py"),
    ("indentation unit", BLOCK, "if b:\n\t\tb += 1", "b += 1", "a.py"),
    ("indentation unit", BLOCK, "if b:\n          b += 1", "b += 1", "a.py"),
    ("indentation unit", BRACES, "if (b) {\n        b();\n    }", "b();", "a.js"),
    ("indentation unit", "func f() {\n\t§\n}\n", "a()\n    b()", "a()", "a.go"),
    ("indentation unit", "func f() {\n\t§\n}\n", "if a {\n\t\t\tb()\n\t}", "a()", "a.go"),
    ("special token", BLOCK, "b += 1<|endoftext|>", "b += 1", "a.py"),
    ("special token", BLOCK, "<fim_middle>b", "b += 1", "a.py"),
    ("trailing blanks", BLOCK, "b += 1 ", "b += 1", "a.py"),
    ("trailing blanks", BLOCK, "b += 1\t\n        c", "b += 1", "a.py"),
    ("trailing blanks", BLOCK, "b += 1\r\n  \r\n        c", "b += 1", "a.py"),
    ("only blanks", BLOCK, " \n", "b += 1", "a.py"),
    ("mixed line ends", "a\r\n§\r\n", "b\nc", "b", "a.py"),
    ("mixed line ends", "a\n§\n", "b\r\nc", "b", "a.py"),
    ("mixed line ends", "a\n§\n", "b\rc", "b", "a.py"),
    ("past the block", BLOCK, "b += 1\n    a += 1", "b += 1", "a.py"),
    ("past the block", "def f(a):§\n", "\n    return a\ndef g(a):", "\n    return a", "a.py"),
    ("past the block", BRACES, "b();\n  c();", "b();", "a.js"),
    ("fence", BLOCK, "b += 1\n```", "b += 1", "a.py"),
]  # fmt: skip

PASSED: Final = [
    ("doubled closer", "f(§)\n", "g(a)", "a", "a.py"),
    ("doubled closer", "f(§\n", "a)", "b)", "a.py"),
    ("doubled closer", 'f("§")\n', "it's", "a", "a.py"),
    ("doubled closer", 'f("§" + b)\n', 'a" + "c', "a", "a.py"),
    ("doubled closer", "<p>§</p>\n", "<b>a</b>", "a", "a.html"),
    ("left open", "f(§)\n", '")"', "a", "a.py"),
    ("left open", "if (a) §\n}\n", "{", "{", "a.cpp"),
    ("left open", '<p title=§></p>\n', '"a"', '"b"', "a.html"),
    ("repeated suffix line", BLOCK, "b += 1", "b += 1", "a.py"),
    ("repeated suffix line", BRACES, "if (b) {\n      b();\n    }", "b();", "a.js"),
    ("repeated line above", "first = 1\n§\nx = 2\n", "second = 1", "y = 3", "a.py"),
    ("repeated line above", "first = 1\nfirst = 1§\n", "\nsecond = 1", "\ny = 3", "a.py"),
    ("repeated line above", "    }\n§\n", "    }", "}", "a.js"),
    ("repeated left", "kilns = f(§)\n", "kilns", "kiln", "a.py"),
    ("repeated left", "a = a + §\n", "a", "b", "a.py"),
    ("gap", "    else:§\n", " return 1", " return 1", "a.py"),
    ("gap", "x = 1§\n", "  # one", " + 2", "a.py"),
    ("gap", BLOCK, "    b", "b", "a.py"),
    ("indentation unit", BLOCK, "if b:\n            b += 1", "b += 1", "a.py"),
    ("indentation unit", BLOCK, "b = f(a,\n              b)", "b += 1", "a.py"),
    ("indentation unit", BRACES, "if (b) {\n      b();\n    }", "b();", "a.js"),
    ("indentation unit", "func f() {\n\t§\n}\n", "if a {\n\t\tb()\n\t}", "a()", "a.go"),
    ("special token", "if a < b §\n", "|| b > c", "", "a.js"),
    ("special token", "§\n", "<main>", "", "a.html"),
    ("trailing blanks", "f(a, §b)\n", "c, ", "c, ", "a.py"),
    ("trailing blanks", BLOCK, "b += 1\r\n\r\n        c", "b += 1", "a.py"),
    ("only blanks", BLOCK, "b", "b += 1", "a.py"),
    ("mixed line ends", "a\r\n§\r\n", "b\r\nc", "b", "a.py"),
    ("mixed line ends", "a\n§\n", "b\nc", "b", "a.py"),
    ("past the block", BLOCK, "if b:\n            b += 1\n        a += 1", "b += 1", "a.py"),
    ("past the block", "def f(a):\n    §\n", "return a\n\n\nprint(f(1))", "return a\n\n\nprint(f(2))", "a.py"),
    ("past the block", "  if (a) {§\n", "\n    b();\n  } else {\n    c();\n  }", "\n    b();\n  }", "a.js"),
    ("past the block", "class A {\n    §\n};\n", "int a;\npublic:\n    int b;", "int a;", "a.cpp"),
    ("fence", "# ```\n§\n", "```", "", "a.py"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "marked", "text", "reference", "file"), FOUND)
def test_is_found(kind: str, marked: str, text: str, reference: str, file: str) -> None:
    assert kind in find_defects(suggest(marked, text, reference, file))


@pytest.mark.parametrize(("kind", "marked", "text", "reference", "file"), PASSED)
def test_is_let_pass(kind: str, marked: str, text: str, reference: str, file: str) -> None:
    assert kind not in find_defects(suggest(marked, text, reference, file))


def test_every_check_has_both_kinds_of_example() -> None:
    assert {kind for kind, *_ in FOUND} == {kind for kind, *_ in PASSED} == set(DEFECTS)


def test_what_is_sound_has_no_defect() -> None:
    assert find_defects(suggest(BLOCK, "b += 1\n        print(b)", "b += 1")) == ()
    assert find_defects(suggest(BRACES, "b();", "c();", "a.js")) == ()
