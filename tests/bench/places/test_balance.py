"""Brackets, quotes and tags are counted as the language does, not in strings and comments."""

from __future__ import annotations

import pytest

from completiond.bench.places.balance import balance_of, open_strings_of


@pytest.mark.parametrize(
    ("text", "extension", "extra_closers", "unclosed"),
    [
        ("f(a[1])", ".py", 0, 0),
        ("f(a[1]))", ".py", 1, 0),
        ("f(a[1]", ".py", 0, 1),
        ("f(a[1)", ".py", 0, 1),
        ("f(a])", ".py", 1, 0),
        ("f(')') # )", ".py", 0, 0),
        ("'''\n)\n'''", ".py", 0, 0),
        ("f('it\\'s )')", ".py", 0, 0),
        ("f(`${a}\n)`) // )\n/* ) */", ".ts", 0, 0),
        ("f(`\\`) + g('`')", ".go", 0, 0),
        ("fn f<'a>(x: &'a str) -> char { ')' }", ".rs", 0, 0),
        ('let s = "one)\ntwo)";', ".rs", 0, 0),
        ("char c = '\\''; int x[2];", ".cpp", 0, 0),
        ('String s = """\n  ) "quoted"\n  """;', ".java", 0, 0),
        ("a { content: '}'; } /* } */", ".css", 0, 0),
        ("a { color: red; } }", ".css", 1, 0),
        ('<ul><li a="1>2">x<br></li></ul>', ".html", 0, 0),
        ("<!-- </p> --><!DOCTYPE html><p>x</p>", ".html", 0, 0),
        ("<p>x</p></p>", ".html", 1, 0),
        ("<ul><li>x</ul>", ".html", 0, 1),
        ('<input name="a">>', ".html", 1, 0),
    ],
)
def test_what_has_no_partner(text: str, extension: str, extra_closers: int, unclosed: int) -> None:
    balance = balance_of(text, extension)
    assert (balance.extra_closers, balance.unclosed) == (extra_closers, unclosed)


@pytest.mark.parametrize(
    ("text", "extension", "count"),
    [
        ('f("a', ".py", 1),
        ('f("a"', ".py", 0),
        ("f(`wasn't\n", ".js", 1),
        ("// isn't\nf(", ".js", 0),
        ("fn f<'a>(", ".rs", 0),
        ('<p title="it is', ".html", 1),
        ('<p title="it is"', ".html", 0),
        ("<p>isn't", ".html", 0),
    ],
)
def test_strings_that_are_open_where_a_text_breaks_off(text: str, extension: str, count: int) -> None:
    assert open_strings_of(text, extension) == count


def test_other_languages_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\.cob"):
        balance_of("", ".cob")
