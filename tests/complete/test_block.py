"""Where answers at a line's end and on blank lines end; ``§`` is the cursor."""

from __future__ import annotations

import pytest

from completiond.complete.below import is_one_too_many
from completiond.complete.place import Place
from completiond.complete.stops import check
from tests.complete.showing import place_of, reason, shown

PYTHON = [
    pytest.param(
        "def area(r):\n    §\n\n\ndef main():\n    print(area(1))\n",
        "square = r * r\n\n    return square * pi\n\n\ndef main():\n",
        "square = r * r\n\n    return square * pi",
        "block",
        id="body on an indented blank line, blank line inside",
    ),
    pytest.param(
        "import os\n\n\ndef area(r):§\n\n\nx = 1\n",
        "\n    return r * r\n\n\ndef other():\n    pass\n",
        "\n    return r * r",
        "block",
        id="body behind its head",
    ),
    pytest.param(
        "def area(r):\n§",
        "    if r:\n        return 1\n    return 2\n\n\nx\n",
        "    if r:\n        return 1\n    return 2",
        "block",
        id="body on an unindented blank line",
    ),
    pytest.param(
        "def f(a):\n    if a:\n        x = 1\n    else:\n        §\n        y = x\n    return x\n",
        "x = 2\n    else:\n        x = 3\n        y = x\n",
        "x = 2",
        "block",
        id="a second last branch",
    ),
    pytest.param("def area(r):\n§", "def other():\n    pass\n", "", "block", id="no body but another head"),
    pytest.param("def area(r):\n    §\n", "def area(r):\n        return 1\n", "", "repeat", id="the head over again"),
    pytest.param("def area(r):§\n    return 1\n", "\n    return 2\n", "", "line", id="a head that has its body"),
    pytest.param(
        "    def f(self):\n        return self.§\n\n    def g(self):\n",
        "value\n\n    def g(self):\n",
        "value",
        "block",
        id="last statement of a body",
    ),
    pytest.param(
        "    x = compute(§\n    y = x + 1\n", "1, 2)\n    z = 3\n", "1, 2)", "line", id="statement among statements"
    ),
    pytest.param("    # Nothing is§\n    x = 1\n", " shown.\n    y = 2\n", " shown.", "line", id="comment above code"),
    pytest.param(
        "    while lo < hi:\n        mid = 1\n        §\n            lo = mid\n",
        "if key < x:\n            lo = mid + 1\n            break\n        hi = mid\n    return lo\nx\n",
        "if key < x:",
        "line",
        id="missing head of a body that is there",
    ),
    pytest.param(
        "x = [\n    1,\n    §\n]\n", "2,\n    3,\n]\nprint(x)\n", "2,\n    3,", "block", id="closing bracket is there"
    ),
    pytest.param("x = [\n    1,\n    §", "2,\n]\nprint(x)\n", "2,\n]", "block", id="closing bracket is missing"),
    pytest.param(
        "x = foo(§\n\ny = 2\n",
        "\n    a,\n    b,\n)\nz = 3\n",
        "\n    a,\n    b,\n)",
        "block",
        id="call over several lines",
    ),
    pytest.param(
        "import os\n§\n\nmain()\n",
        "import re\nimport sys\n\n\ndef f():\n",
        "import re\nimport sys",
        "block",
        id="top level, up to the blank line",
    ),
    pytest.param(
        "§",
        "class A:\n    x = 1\n\n    def f(self):\n        pass\n\n\nclass B:\n",
        "class A:\n    x = 1\n\n    def f(self):\n        pass",
        "block",
        id="empty file, one definition",
    ),
    pytest.param(
        "    def __init__(self):\n        §\n        self.b = 2\n        self.c = 3\n",
        "self.a = 1\n        self.b = 2\n        self.c = 3\n",
        "self.a = 1",
        "suffix",
        id="the next line over again",
    ),
    pytest.param(
        "    try:\n        §\n    except KeyError:\n        pass\n",
        "f()\n    except ValueError:\n        raise\n",
        "f()",
        "block",
        id="try with an except below",
    ),
    pytest.param("def f():\n    §\n", "x = 1\n" + "    x = 1\n" * 5, "x = 1", "repeat", id="one line for ever"),
    pytest.param(
        "def f():\n    §\n",
        "a = 1\n    b = 2\n" + "    b = 2\n" * 5,
        "a = 1\n    b = 2",
        "repeat",
        id="at last one line for ever",
    ),
    pytest.param("x = 1\n§\n", "y = 2\n```\n\nThis code sets y.\n", "y = 2", "block", id="Markdown around the code"),
    pytest.param("    y = 1\n    §\n", "\n\nx = 1\n", "", "block", id="outside of the block from the beginning"),
    pytest.param(
        "class A:\n    §\n",
        "x = 1\n\n    def f(self):\n        return 1\n",
        "x = 1",
        "block",
        id="members of a class up to the blank line",
    ),
    pytest.param(
        "class A:\n    x = 1\n§\n",
        "    def f(self):\n        return 1\ny = 2\n",
        "    def f(self):\n        return 1",
        "block",
        id="method on an unindented line",
    ),
    pytest.param(
        "x = foo(a,§\ny = 2\n",
        "\n        b)\nz = 3\n",
        "\n        b)",
        "block",
        id="call that goes on in the next line",
    ),
    pytest.param("    return 1§\n    y = 2\n", "\n    z = 3\n", "", "line", id="nothing missing"),
]

BRACES = [
    pytest.param(
        "  for {\n    if a {\n      b();\n    }\n    §\n  }\n  c();\n",
        "if d {\n      e();\n    }\n    f();\n  }\n",
        "if d {\n      e();\n    }\n    f();",
        "block",
        id="a brace of its own and the one below",
    ),
    pytest.param(
        "export class A {\n  §\n}\n",
        "a = 1;\n  b = 2;\n\n  c() {\n    return 1;\n  }\n}\n",
        "a = 1;\n  b = 2;",
        "block",
        id="members up to the blank line",
    ),
    pytest.param(
        "impl<T> A<T> for B {\n    §\n}\n",
        "fn a() {\n        b();\n\n        c();\n    }\n\n    fn d() {}\n}\n",
        "fn a() {\n        b();\n\n        c();\n    }",
        "block",
        id="one method",
    ),
    pytest.param(
        "function area(r) {\n  §\n}\n\nconsole.log(1)\n",
        "return r * r;\n}\n\nfunction b() {\n",
        "return r * r;",
        "block",
        id="JavaScript body, brace is there",
    ),
    pytest.param(
        "function area(r) {\n  §\n\nfunction b() {\n}\n",
        "return r * r;\n}\n\nfunction b() {\n",
        "return r * r;\n}",
        "block",
        id="JavaScript body, brace is missing",
    ),
    pytest.param(
        "function area(r) {\n§\n}\n",
        "  return r * r;\n}\n",
        "  return r * r;",
        "block",
        id="JavaScript body on an unindented line",
    ),
    pytest.param(
        "if (x) {§\n}\n", "\n  y();\n}\nz();\n", "\n  y();", "block", id="body behind its head, brace is there"
    ),
    pytest.param(
        "if (x) {§", "\n  y();\n}\nz();\n", "\n  y();\n}", "block", id="body behind its head, brace is missing"
    ),
    pytest.param(
        "if (x) {§",
        "\n  y();\n} else {\n  z();\n}\nw();\n",
        "\n  y();\n} else {\n  z();\n}",
        "block",
        id="both branches",
    ),
    pytest.param(
        "function f() {\n  if (a) {\n    §\n}\n", "b();\n  }\n}\n", "b();\n  }", "block", id="inner brace is missing"
    ),
    pytest.param(
        "function f() {\n  if (!m) retu§\n\n  var x = m[1]\n}\n",
        "rn null;\n\n  return {\n    a: 1\n  };\n}\n",
        "rn null;",
        "line",
        id="statement among statements",
    ),
    pytest.param(
        "  f() {\n    let a = 1;\n    §\n    g(a);\n  }\n",
        "h(a);\n  }\n\n  k() {\n",
        "h(a);",
        "block",
        id="a brace that would close a block that goes on",
    ),
    pytest.param("  if (a) {\n    b();\n  §\n", "}\n}\n", "}", "block", id="only the brace is missing"),
    pytest.param("  if (a) {\n    b();\n  §\n  }\n", "}\n}\n", "", "block", id="not even the brace is missing"),
    pytest.param(
        "describe('a', () => {\n  it('b', () => {\n    §\n  });\n});\n",
        "expect(1).toBe(1);\n  });\n\n  it('c', () => {\n",
        "expect(1).toBe(1);",
        "block",
        id="TypeScript call back, closers are there",
    ),
    pytest.param(
        "func (c *C) run() error {\n\tif err := c.a(); err != nil {\n\t\t§\n\t}\n\treturn nil\n}\n",
        "return err\n\t}\n\treturn c.b()\n}\n",
        "return err",
        "block",
        id="Go with tabs",
    ),
    pytest.param(
        "switch x {§",
        "\ncase 1:\n\treturn a\ndefault:\n\treturn b\n}\n\nfunc f() {\n",
        "\ncase 1:\n\treturn a\ndefault:\n\treturn b\n}",
        "block",
        id="Go labels as far left as their switch",
    ),
    pytest.param(
        "\tswitch x {\n\tcase 1:\n\t\t§\n\tdefault:\n\t\treturn 2\n\t}\n",
        "return 1\n\t}\n\treturn 3\n}\n",
        "return 1",
        "block",
        id="Go, a switch that has a case below",
    ),
    pytest.param(
        "case 1: {\n\t§\ndefault:\n", "f()\n}\ncase 2:\n", "f()\n}", "block", id="a case with a brace of its own"
    ),
    pytest.param(
        "if (a) {\n  §\nelse {\n  c();\n}\n", "b();\n}\nelse {\n", "b();\n}", "block", id="brace above an else"
    ),
    pytest.param("switch x {§", "\ncatch()\n", "", "block", id="no label"),
    pytest.param(
        "fn area(r: f64) -> f64 {\n    §\n}\n", "PI * r * r\n}\n\n#[test]\n", "PI * r * r", "block", id="Rust"
    ),
    pytest.param(
        "match x {\n    Some(y) => §\n    None => 0,\n}\n", "y,\n    None => 1,\n}\n", "y,", "line", id="Rust, one arm"
    ),
    pytest.param(
        "      n = fread(b, 1, 9, f);\n\n      §\n      use(b);\n",
        "if (n == 0)\n\t  {\n\t    break;\n\t  }\n    }\n",
        "if (n == 0)\n\t  {\n\t    break;\n\t  }",
        "block",
        id="C, GNU style, tabs of eight columns",
    ),
    pytest.param(
        "int f(void)\n§\n",
        "{\n  return 1;\n}\n\nint g(void)\n",
        "{\n  return 1;\n}",
        "block",
        id="C, brace on its own line",
    ),
    pytest.param(
        "    if (fe§\n        done = true;\n    }\n",
        "of(in)) {\n        done = true;\n",
        "of(in)) {",
        "line",
        id="C head",
    ),
]

MARKUP = [
    pytest.param(
        '[\n  {"name": "a", "n": 1},\n  §\n  {"name": "d", "n": 4},\n  {"name": "e", "n": 5}\n]\n',
        '{"name": "b", "n": 2},\n  {"name": "c", "n": 3},\n  {"name": "d", "n": 4},\n',
        '{"name": "b", "n": 2},',
        "suffix",
        id="rows that are alike",
    ),
    pytest.param("  x();\n  §\n", "y();\n  }\n", "y();", "block", id="a brace that nothing opened"),
    pytest.param(
        "x = [\n  [\n    §\n  ]\n]\n",
        "[\n      1\n    ]\n  ]\n",
        "[\n      1\n    ]",
        "block",
        id="list in a list in a list",
    ),
    pytest.param(
        "<ul>\n  §\n</ul>\n", "<li>a</li>\n  <li>b</li>\n</ul>\n", "<li>a</li>\n  <li>b</li>", "block", id="HTML"
    ),
    pytest.param("<ul>§\n</ul>\n", "\n  <li>a</li>\n</ul>\n", "\n  <li>a</li>", "suffix", id="HTML behind its tag"),
    pytest.param(
        "<ul>\n  §", "<li>a</li>\n</ul>\n<p>\n", "<li>a</li>\n</ul>", "block", id="HTML, closing tag is missing"
    ),
    pytest.param(
        "<ul>\n  <li>a</li>\n  <§\n</ul>\n", "/ul>\n", "", "suffix", id="HTML, the closing tag is the next line"
    ),
    pytest.param(
        "<div>\n  <div>\n    a\n  <§\n</div>\n", "/div>\n", "/div>", "eos", id="HTML, an inner tag of the same name"
    ),
    pytest.param("if a\n  §\nelse\n  2\nend\n", "1\nend\n\nx\n", "1", "block", id="Ruby, a branch is below"),
    pytest.param(
        "on:\n  push:\n§\n",
        "jobs:\n  test:\n    runs-on: x\n\nname: y\n",
        "jobs:\n  test:\n    runs-on: x",
        "block",
        id="YAML, next key",
    ),
    pytest.param(
        "steps:§\nname: x\n",
        "\n- uses: a\n  with: b\n- uses: c\nother: d\n",
        "\n- uses: a\n  with: b\n- uses: c",
        "block",
        id="YAML list as far left as its key",
    ),
    pytest.param("  - name: §\n    run: y\n", "Test\n    run: z\n", "Test", "line", id="YAML, one value"),
    pytest.param('{\n  "a": 1,\n  §\n}\n', '"b": 2\n}\n', '"b": 2', "block", id="JSON"),
    pytest.param(
        '{\n  "a": 1,\n  §\n}\n', '"b": 2,\n}\n', '"b": 2', "block", id="JSON, no comma before the last bracket"
    ),
    pytest.param(
        '{\n  "a": [\n    "x",\n    §\n  ],\n  "b": 1\n}\n', '"y",\n  ],\n', '"y"', "block", id="nor in JSON's lists"
    ),
    pytest.param('{\n  §\n  "a": 1\n}\n', '"b": 2,\n  "c": 3,\n', '"b": 2,\n  "c": 3,', "eos", id="JSON above a line"),
    pytest.param('x = {\n  "a": 1,\n  §\n}\n', '"b": 2,\n}\n', '"b": 2,', "block", id="a comma of Python stays"),
    pytest.param('[project]\nx = [\n  "a",\n  §\n]\n', '"b",\n]\n', '"b",', "block", id="a comma of TOML stays"),
    pytest.param(
        '  "files": [\n    §\n  ],\n  "x": 1\n',
        '"a",\n    "b"\n  ],\n  "y": 2\n',
        '"a",\n    "b"',
        "block",
        id="JSON list",
    ),
    pytest.param("if true; then\n  §\nfi\n", "echo 1\nfi\necho 2\n", "echo 1", "block", id="shell, fi is there"),
    pytest.param("def f\n  §", "1\nend\n\ndef g\n", "1\nend", "block", id="Ruby, end is missing"),
    pytest.param(
        "```python\n§\n```\n", "x = 1\n```\n\nText.\n", "x = 1\n```", "block", id="Markdown may close its fence"
    ),
]


@pytest.mark.parametrize(("text", "answer", "expected", "why"), [*PYTHON, *BRACES, *MARKUP])
def test_an_answer_ends_with_its_block(text: str, answer: str, expected: str, why: str) -> None:
    assert (shown(text, answer), reason(text, answer)) == (expected, why)


def test_the_end_of_a_word_is_waited_for_only_where_it_matters() -> None:
    place = place_of("def f():§\n")

    assert check("\n    return 1\nd", place).end is None  # "done" would close a block of a shell
    assert check("\n    return 1\nde", place).end == len("\n    return 1")
    assert check("\n}", place_of("if (x) {§\n}\n")).end == 0


@pytest.mark.parametrize(
    ("head", "line", "is_too_many"),
    [
        ("else:", "else:", True),
        ("else:", "elif b:", True),
        ("else:", "finally:", False),
        ("finally:", "except E:", True),
        ("if a:", "else:", False),
        ("elif a:", "else:", False),
        ("} else if (a) {", "} else {", False),
        ("} else {", "} else {", True),
    ],
)
def test_a_branch_behind_the_last_one(head: str, line: str, is_too_many: bool) -> None:
    place = Place.of(f"f()\n  {head}\n    ", "\n")

    assert is_one_too_many(f"  {line}", place) is is_too_many
