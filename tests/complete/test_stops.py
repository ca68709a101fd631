"""Where answers end, on places and answers as they occur; ``§`` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from completiond.complete.place import Place
from completiond.complete.stops import check, finish


def place_of(text: str) -> Place:
    prefix, suffix = text.split("§")
    return Place.of(prefix, suffix)


def write(place: Place, answer: str, then: str = "eos") -> tuple[str, str]:
    """What is shown of an answer, written letter by letter, and why it ended: ``then`` if no rule ended it.

    On the way, whatever was called safe has to be part of what is shown.
    """
    safe, reason = "", then
    for length in range(1, len(answer) + 1):
        verdict = check(answer[:length], place)
        if verdict.end is not None:
            answer, reason = answer[: verdict.end], verdict.reason
            break
        safe = max(safe, answer[: verdict.safe], key=len)
    shown = finish(answer, place, reason)
    assert shown.startswith(safe), "text was taken back"
    assert answer.startswith(shown)
    return shown, reason


def shown(text: str, answer: str, then: str = "eos") -> str:
    return write(place_of(text), answer, then)[0]


def reason(text: str, answer: str, then: str = "eos") -> str:
    return write(place_of(text), answer, then)[1]


# In the middle of a line


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        # The editor closed the bracket or the quote; the model closes it again and goes on.
        ("foo(§)", "a, b)\nbar()\n", "a, b"),
        ("foo(§)", "g(x))\n", "g(x)"),
        ("foo(§)", "g(x)\n", "g(x)"),
        ("foo(§)", "a, b", "a, b"),
        ("def foo(§)", "self, x):\n    return x", "self, x"),
        ("def foo(§):", "self, x):\n    return x", "self, x"),
        ("x = [§]", "1, 2, [3]]\n", "1, 2, [3]"),
        ("x = {§}", "'a': {}}\n", "'a': {}"),
        ('print("§")', 'hello")\n', "hello"),
        ('print("§")', "hello", "hello"),
        ('print("§")', 'say \\"hi\\"")\n', 'say \\"hi\\"'),
        ("require('§')", "./read')\nconst b = 1\n", "./read"),
        ("import x from `§`", "a`;\n", "a"),
        ("if (§) {", "x > f(1)) {\n  return\n", "x > f(1)"),
        ("return int((§) & 0xf)", "self.x >> 48) & 0xf)\n", "self.x >> 48"),
        ('f"{§}"', 'name!r}"\n', "name!r"),
        ('print(§"abc")', 'f"x", "abc")\n', 'f"x", '),
        ('"""§"""', 'Say why."""\n', "Say why."),
        # Brackets that the left part opens and the right part does not close are the answer's.
        ("foo(bar(§)", "x), y)\n", "x), y"),
        ("total = sum((§)", "x for x in y)) + 1\n", "x for x in y)"),
        ("foo(a[§)", "0], b)\n", "0], b"),
        ("{ [name§ } : result)", "} : result)\n", ""),
        # The model writes what stands to the right again.
        ("const limit = §;", "10;\n", "10"),
        ("x = § if y else z", "1 if y else z\n", "1"),
        ("def fnmatch(§pat):", "name, pat):\n", "name, "),
        ("    the f§wing conditions:", "ollowing conditions:\n", "ollo"),
        ("return §value", "other_value + value\n", "other_value + "),
        ("foo(a, §limit)  # why", "x, limit)\n", "x, "),
        ("foo(a, §bcdef)", "x, bcdef) + c\n", "x, "),
        ("while (§x > 0) {", "y && x > 0) {\n", "y && "),
        ('  "§": "^24.1.0",', 'typescript": "^5.1",\n', "typescript"),
        # A model that ends by itself has filled the gap.
        ("x = §y + z", "a * ", "a * "),
        ("for (const §of seen) {", "item ", "item "),
        # A line that has nothing to do with the words to the right replaces them: it is not shown.
        ("self.col§ = colno", "umn = STRING.match(self.doc)\n    return 1\n", ""),
        ("    Patterns are§ shell style:", " case-insensitive.\n", ""),
        ("        se§ead = 0", "lf._framesize = self._file.read(4)[0]\n", ""),
        # The left part ends in a blank, the answer begins with one.
        ("x = §;", "5;\n", "5"),
        # Nothing but blanks is nothing.
        ("foo(§)", "  ", ""),
        ("foo(§)", "\n    a,\n    b\n", ""),
        ("foo(a,§b)", " ", ""),
    ],
)
def test_a_gap_in_a_line_is_filled_with_one_line(text: str, answer: str, expected: str) -> None:
    assert shown(text, answer) == expected


def test_blanks_before_the_text_to_the_right_are_not_doubled() -> None:
    assert shown("x = 1§ if y else z", " + 2 ") == " + 2"
    assert shown("foo(§b)", "a, ") == "a, "


def test_a_gap_says_why_it_ended() -> None:
    assert reason("foo(§)", "a)\n") == "suffix"
    assert reason("x = §;", "f();\n") == "suffix"
    assert reason("foo(§)", "a\n") == "line"
    assert reason("foo(§)", "a", then="length") == "length"


def test_a_gap_cut_by_the_length_cap_keeps_its_half_line() -> None:
    assert shown("foo(§)", "alpha, be", then="length") == "alpha, be"
    assert shown("x = §total;", "count + to", then="length") == "count + to"


def test_an_auto_closed_bracket_costs_no_extra_pass() -> None:
    assert check("a, b)", place_of("foo(§)")).end == len("a, b")


# At a line's end and on blank lines

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
        "if key < x:\n            lo = mid + 1\n",
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


def test_an_answer_that_ends_by_itself_is_shown_whole() -> None:
    assert shown("def f():\n    §\n", "a = 1\n    b = 2") == "a = 1\n    b = 2"


def test_a_last_line_that_stands_below_is_not_shown_even_if_the_answer_ends_there() -> None:
    text = "def f():\n    §\n    return total\n"

    assert shown(text, "x = 1\n    return total") == "x = 1"


@pytest.mark.parametrize("answer", ["", " ", "\n", "\n\n   \n", "\t"])
def test_nothing_but_blanks_is_nothing(answer: str) -> None:
    for text in ("def f():\n    §\n", "x = §", "foo(§)", "foo(a,§b)"):
        assert shown(text, answer) == ""


def test_blanks_at_the_end_are_not_shown() -> None:
    assert shown("def f():\n    §\n", "return 1  \n    \n") == "return 1"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("alpha = 1\n    beta = alp", "alpha = 1"),
        ("alpha = bet", "alpha = bet"),
        ("\n    alpha = bet", "\n    alpha = bet"),
        ("alpha = 1\n    if alpha:\n        be", "alpha = 1"),
        ("if alpha:\n        be", "if alpha:\n        be"),
        ("alpha = 1\n", "alpha = 1"),
    ],
)
def test_the_length_cap_leaves_neither_half_a_line_nor_an_empty_block(answer: str, expected: str) -> None:
    assert shown("def f():\n    §\n", answer, then="length") == expected


# Blanks at the beginning


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


# Streaming

FRAGMENTS = st.sampled_from(
    [
        *(
            "\n",
            "\n",
            "\n\n",
            "    ",
            "  ",
            "\t",
            " ",
            "}",
            "{",
            ")",
            "(",
            "]",
            "[",
            ":",
            '"',
            "'",
            "```",
            "- ",
            "</a>",
        ),
        *("return x", "if x:", "x = 1", "else:", "} else {", "end", "case 1:", "foo(a, b)", "value", "v", "# note"),
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=12).map("".join)


@settings(deadline=None, max_examples=400)
@given(prefix=TEXTS, suffix=TEXTS, answer=TEXTS, then=st.sampled_from(["eos", "length"]))
@example(prefix="x\n", suffix="\n}\nnext", answer="}\n\n\n\n\nnext\n", then="eos")
@example(prefix="x\n", suffix="\n", answer="a\n\n\n\n\nb", then="length")
@example(prefix="x\n", suffix="\n", answer="a\nif x:\nb", then="length")
def test_what_was_called_safe_is_never_taken_back(prefix: str, suffix: str, answer: str, then: str) -> None:
    write(Place.of(prefix, suffix), answer, then)  # asserts it


def safe_part(text: str, answer: str) -> str:
    verdict = check(answer, place_of(text))
    assert verdict.end is None
    return answer[: verdict.safe]


def test_a_first_line_is_shown_as_it_grows_and_the_others_when_they_are_complete() -> None:
    text = "def f():\n    §\n"

    assert safe_part(text, "tot") == "tot"
    assert safe_part(text, "total = 1\n    ret") == "total = 1"
    assert safe_part(text, "total = 1\n    return total\n") == "total = 1\n    return total"


def test_a_line_that_may_turn_out_to_be_the_next_one_waits() -> None:
    text = "def f():\n    §\n    return total\n"

    assert safe_part(text, "return to") == ""
    assert safe_part(text, "return top") == "return top"


def test_a_gap_is_shown_as_it_grows_only_before_a_closing_bracket_or_quote() -> None:
    assert safe_part("foo(§)", "a, b") == "a, b"
    assert safe_part('"§"', "hello") == "hello"
    assert safe_part("x = §total", "count + ") == ""
