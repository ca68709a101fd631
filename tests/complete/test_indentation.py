"""What a file indents its lines with, and what becomes of a model's blanks there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.indentation import as_indented, indent_unit
from tests.complete.test_shape import shaped


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("def f():\n    a\n    if b:\n        c\n", "    "),
        ("a:\n  b:\n    c\n", "  "),
        ("for {\n\ta()\n\t\tb()\n}\n", "\t"),
        ("a\nb\n", ""),
        ("a {\n\tb\n    c\n}\n", ""),
        ("/*\n * a\n */\nint f() {\n    b();\n}\n", "    "),
        ("x = [\n    1,\n]\n", "    "),
        ("", ""),
    ],
)
def test_the_unit_is_what_one_more_step_takes(text: str, unit: str) -> None:
    assert indent_unit(text.split("\n")) == unit


def test_blanks_that_align_something_behind_tabs_stay() -> None:
    assert as_indented("\t   ", "\t") == "\t   "
    assert as_indented("     ", "\t") == "\t "
    assert as_indented("\t\t", "  ") == "    "
    assert as_indented("\t ", "") == "\t "


def test_a_model_s_blanks_become_the_file_s() -> None:
    assert shaped("for {\n\tif a {§\n", "\n        b()\n    }\n") == "\n\t\tb()\n\t}\n"
    assert shaped("for {\n  if a {§\n  }\n}\n", "\n\t\tb()\n") == "\n    b()\n"
    assert shaped("def f():\n§\n\n\ndef g():\n\treturn 1\n", "    if x:\n        y\n") == "\tif x:\n\t\ty\n"


LINES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["x = 1", "if y:", "}", "z {", ""])), min_size=1, max_size=8
)


def _text(lines: list[tuple[int, str]], unit: str) -> str:
    return "\n".join(unit * depth + text if text else "" for depth, text in lines)


@settings(deadline=None)
@given(before=LINES, answer=LINES, depth=st.integers(1, 3))
def test_files_of_tabs_and_of_blanks_get_the_same_suggestion(
    before: list[tuple[int, str]], answer: list[tuple[int, str]], depth: int
) -> None:
    file = [(0, "a {"), (1, "b"), *before]
    written = "first\n" + _text(answer, "    ")

    def suggestion(unit: str, text: str) -> str:
        return shaped(f"{_text(file, unit)}\n{unit * depth}§\n", text, 100)

    with_tabs = suggestion("\t", written)

    assert with_tabs == suggestion("\t", written.replace("    ", "\t"))
    assert with_tabs.replace("\t", "    ") == suggestion("    ", written)
