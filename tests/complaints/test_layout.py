"""Blanks, tabs, line ends and positions."""

from __future__ import annotations

import pytest

from completiond.lsp.text import num_units
from tests.complaints.desk import URI, Desk, cursor_in, desk_in

ENCODINGS = ["utf-8", "utf-16", "utf-32"]


@pytest.mark.parametrize(
    ("text", "written", "suggestion"),
    [
        # The model repeats the margin that stands there.
        ("if x:\n    §\n", "    y = 1\n    z = 2\n", "y = 1\n    z = 2"),
        ("class A:\n    def f(self):\n        §\n", "        return 1\n", "return 1"),
        # It writes blanks where the file has tabs.
        ("for {\n\tif a {§\n", "\n        b()\n    }\n", "\n\t\tb()\n\t}"),
        ("def f():\n\tif a:\n\t\t§\n", "b()\n        c()\n", "b()\n\t\tc()"),
        # It leaves the block.
        ("def f():\n    if a:\n        §\n\n\ndef g():\n    pass\n", "b()\n\n\nclass C:\n    pass\n", "b()"),
        # A margin of three stays one.
        ("if x:\n   a\n   §\n", "b\n   c\n", "b\n   c"),
    ],
)
async def test_05_lines_stand_where_the_file_has_them(desk: Desk, text: str, written: str, suggestion: str) -> None:
    """What is suggested is indented by other blanks than the file, worst of all where a line has nothing else."""
    assert await desk.suggestion(text, written) == suggestion


@pytest.mark.parametrize("text", ["total = §\n", "x = f(a, §)\n", "return §;\n", "if a:\n    §\n", "if a:\n\t§\n"])
async def test_06_a_blank_before_the_cursor_is_not_doubled(desk: Desk, text: str) -> None:
    """The first character that is suggested is a blank too many."""
    assert await desk.suggestion(text, " value") == "value"


async def test_06_a_blank_that_is_missing_is_suggested(desk: Desk) -> None:
    """Where blanks at the front are always dropped, one is missing."""
    assert await desk.suggestion("total =§\n", " value") == " value"


@pytest.mark.parametrize("margin", ["\t", "\t\t", "    ", "  "])
async def test_07_behind_a_margin_a_suggestion_begins_with_its_text(desk: Desk, margin: str) -> None:
    """Behind a margin, a suggestion that begins with a tab cannot be accepted by that key."""
    for written in (f"{margin}value = 1\n", "value = 1\n", f"  {margin}value = 1\n"):
        assert await desk.suggestion(f"if x:\n{margin}§\n", written) == "value = 1"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("def f():\n    §\n\n\nx = 1\n", "a = 1\n    b = 2\n\n\ny"),
        ("if (x) {§\n}\n", "\n  y();\n}\nz();\n"),
        ("# é\n\nprint(§)\nb\n", "a, b)\n"),
    ],
)
async def test_08_a_file_with_crlf_gets_the_same_suggestion(desk: Desk, text: str, written: str) -> None:
    """In files with CRLF suggestions are worse, and break the line ends."""
    with_lf = await desk.suggestion(text, written)
    with_crlf = await desk.suggestion(text.replace("\n", "\r\n"), written, "file:///p/crlf.py")
    assert with_lf
    assert with_crlf == with_lf.replace("\n", "\r\n")
    assert len(desk.target.prompts) == 1, "the model read one and the same"


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_09_text_that_is_not_ascii_breaks_no_position(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """Near characters outside of ASCII, or within one, the server fails or answers for another place."""
    text = "s = '\U0001f600é́漢‏עִ👩‍💻'\n"
    offered = {"capabilities": {"general": {"positionEncodings": [encoding]}}}
    async with desk_in(monkeypatch, initialize=offered) as desk:
        assert desk.encoding == encoding
        desk.will_say("x")
        desk.open(text)
        for character in range(1, num_units(text, desk.encoding) + 3):  # nothing is put before a whole line
            (item,) = (await desk.editor.complete(URI, 0, character))["items"]
            start = item["range"]["start"]
            assert item["range"]["end"] == start
            valid = {num_units(text[:length], desk.encoding) for length in range(len(text))}
            assert start["line"] == 0
            assert start["character"] == max(one for one in valid if one <= character)
        assert desk.editor.count("window/showMessage") == desk.editor.count("window/logMessage") == 0


async def test_11_every_item_has_a_range_of_no_length_within_the_document(desk: Desk) -> None:
    """An item without a range, or with one that lies elsewhere, is an error in the editor."""
    desk.will_say("first = 1\nsecond = 2\n")
    for text in ("§\na", "a\n§", "if x:\n    §\n", "f(§)\n", "a\r\n§\r\n"):
        place = desk.open(text)
        (item,) = (await desk.editor.complete(URI, *place))["items"]
        here = dict(zip(("line", "character"), cursor_in(text), strict=True))
        assert item == {"insertText": item["insertText"], "range": {"start": here, "end": here}}
    place = desk.open("a\nbc\n")
    (item,) = (await desk.editor.complete(URI, 7, 9))["items"]
    assert item["range"]["start"] == {"line": 2, "character": 0}
