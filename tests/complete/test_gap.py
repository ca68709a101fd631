"""Where answers in the middle of a line end; ``§`` is the cursor."""

from __future__ import annotations

import pytest

from completiond.complete.place import Place
from completiond.complete.stops import check, finish
from tests.complete.showing import place_of, reason, shown


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
        # The items that stand behind the bracket.
        ("return max(min(a, §), 0)", "b, 0", "b"),
        ("return max(min(a, §), 0)", "b, 0)\n", "b"),
        ("return max(min(a, §), 0, 1)", "b, 0, 1\n", "b"),
        ("return max(min(a, §), 0, 1)", "b, 0\n", "b, 0"),
        ("return max(min(a, §), 0)", "10", "10"),
        # A model that ends by itself has filled the gap.
        ("x = §y + z", "a * ", "a * "),
        ("for (const §of seen) {", "item ", "item "),
        # Nothing stands before a whole line.
        ("§    orders = []", "    return", ""),
        ("    §orders = []", "return", ""),
        ("§}", "    b()\n", ""),
        ("    §});", "b()\n", ""),
        # What the line to the right ends with is not written twice.
        ('raise KeyError(f"no item §{}")', 'found")\n', "found"),
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
    assert shown("foo('§')", "alpha, be", then="length") == "alpha, be"


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("f([§]);", '"alpha", "beta", "ga', '"alpha", "beta"'),
        ("f(§)", "a, g(b, c", "a"),
        ("f(§)", "g(b, c", ""),
    ],
)
def test_a_gap_cut_by_the_length_cap_leaves_nothing_open(text: str, answer: str, expected: str) -> None:
    assert shown(text, answer, then="length") == expected


def test_a_line_that_opens_a_block_does_not_stand_before_a_closing_bracket() -> None:
    assert shown("void f() { § }", "if (a) {\n  b();\n") == ""
    assert shown("f(§)", "() => {\n  b();\n") == ""
    assert shown("f(§)", "() => {}\n") == "() => {}"


def test_an_auto_closed_bracket_costs_no_extra_pass() -> None:
    assert check("a, b)", place_of("foo(§)")).end == len("a, b")


@pytest.mark.parametrize(
    ("left", "answer", "right"),
    [('x = "bad ', "bad", 'path"'), ("return ", "return", " value"), ("if not a and not a ", "not a ", ":")],
)
def test_words_that_stand_before_the_cursor_are_not_said_again(left: str, answer: str, right: str) -> None:
    assert finish(answer, Place.of(left, right), "eos") == ""


@pytest.mark.parametrize(
    ("left", "answer", "right"),
    [("static long ", "long", " x;"), ("abad ", "bad", " x"), ("i", "i", " + 1"), ("[1, ", "1", "]")],
)
def test_what_only_looks_like_it_is_kept(left: str, answer: str, right: str) -> None:
    assert finish(answer, Place.of(left, right), "eos") == answer
