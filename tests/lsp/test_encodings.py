"""Line ends and position encodings are the client's own affair: whatever they are, the suggestion is the same."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from completiond.complete.completer import Completer
from completiond.engine.load import LoadedModel
from tests.complaints.desk import PATIENT, ScriptedTarget, bytes_of, served
from tests.e2e.harness import Editor, until
from tests.fake_model import EOS, fake_tokenizer

ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
LINE_ENDS = ("\n", "\r\n")
URI = "file:///p/a.py"
WORDS = [
    *("x", "def f():", "if y:", "return x", "f(", ")", "}", " ", "    ", "= ", "'", '"', "#"),
    *("é", "e\u0301", "n\u0303o", "漢字", "かな", "🙂", "👩\u200d💻", "𝔘", "שלום", "مرحبا", "\u200f", "\ufeff"),
    *("\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"),
]
"""Letters of one to four bytes, of one and two units; marks that belong to the letter before; what ends no line."""

lines = st.lists(st.sampled_from(WORDS), max_size=5).map("".join)
texts = st.lists(lines, max_size=4).map("\n".join)


def cursor_behind(before: str, encoding: str) -> dict[str, int]:
    """The position as LSP counts, by the plainest way there is. Lines end at ``\\n``."""
    *above, line = before.split("\n")
    codec, unit_bytes = ENCODINGS[encoding]
    return {"line": len(above), "character": len(line.encode(codec)) // unit_bytes}


async def suggest(editor: Editor, encoding: str, line_end: str, before: str, typed: str, after: str) -> str:
    """Open a document, type ``typed``, and ask: what is suggested. The range has to be empty, and at the cursor."""
    start, cursor = cursor_behind(before, encoding), cursor_behind(before + typed, encoding)
    editor.open(URI, (before + after).replace("\n", line_end))
    editor.insert(URI, start["line"], start["character"], typed.replace("\n", line_end))
    items: list[dict[str, Any]] = (await editor.complete(URI, cursor["line"], cursor["character"]))["items"]
    for item in items:
        assert item["range"] == {"start": cursor, "end": cursor}
    assert len(items) <= 1
    return "".join(item["insertText"] for item in items)


async def suggest_to_all(
    monkeypatch: pytest.MonkeyPatch, before: str, typed: str, after: str, written: str
) -> tuple[dict[tuple[str, str], str], ScriptedTarget]:
    """What clients with every encoding, and files with either line end, are suggested."""
    target = ScriptedTarget()
    target.answer_ids = bytes_of(written)
    completer = Completer(LoadedModel(target, fake_tokenizer(), {"eos_token_id": EOS}), PATIENT)
    found = {}
    async with AsyncExitStack() as stack:
        paths, service = await stack.enter_async_context(served(monkeypatch, completer))
        await until(lambda: service.state.phase == "ready")
        for encoding in ENCODINGS:
            editor = await stack.enter_async_context(Editor.on_socket(paths))
            assert (await editor.initialize([encoding]))["positionEncoding"] == encoding
            for line_end in LINE_ENDS:
                found[encoding, line_end] = await suggest(editor, encoding, line_end, before, typed, after)
    return found, target


@settings(deadline=None, max_examples=40)
@given(before=texts, typed=texts, after=texts, written=texts)
@example(before="# 🙂é\nif x:\n", typed="    ", after="\n\ny", written="    s = '🙂'\n    t = 1\nz")
@example(before="s = f('שלום🙂", typed="e\u0301", after="')\nb\n", written=", 漢')\n")
def test_every_client_gets_the_same_suggestion(before: str, typed: str, after: str, written: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        found, target = asyncio.run(suggest_to_all(monkeypatch, before, typed, after, written))

    plain = found["utf-8", "\n"]
    has_line_ends = "\n" in before + typed + after
    for (_, line_end), text in found.items():
        assert text == (plain.replace("\n", line_end) if has_line_ends else plain)
    # The model read the same for all; in an empty file it is not asked.
    assert len(set(target.prompts)) == bool((before + typed + after).strip())


def test_the_suggestions_that_are_compared_are_some() -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        found, _ = asyncio.run(suggest_to_all(monkeypatch, "# 🙂\nif x:\n", "    ", "\n", "s = '漢'\n    t = 1\n"))

    assert {key: text for key, text in found.items() if key[1] == "\n"} == {
        (encoding, "\n"): "s = '漢'\n    t = 1" for encoding in ENCODINGS
    }
