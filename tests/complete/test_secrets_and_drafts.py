"""A secret in a file that may be read is drafted from nowhere, whatever is done to it; the same line without one is.

No secret stands in this file: values are put together at run time, so that scanners stay quiet.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.complete.drafting import Daemon, change, config, drafting_daemon, span
from tests.e2e.harness import Editor

SECRET = 'aws_access_id = "' + "AKIA" + "J7Q2MZ5X8RW4T9KD" + '"'
INNOCENT = 'aws_access_id = "' + "read_from_the_system" + '"'
A, B = "file:///p/a.py", "file:///p/b.py"
TARGET = "def connect():\n    "
HEAD, TAIL = "def find(registry):\n", "    return registry\n"
PLACE = (1, 4)

Scenario = Callable[[Daemon, Editor, str], Awaitable[int]]


@pytest.fixture
async def secret_daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async with drafting_daemon(monkeypatch, SECRET, config()) as one:
        yield one


@pytest.fixture
async def innocent_daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async with drafting_daemon(monkeypatch, INNOCENT, config()) as one:
        yield one


async def ask_beside(daemon: Daemon, editor: Editor) -> int:
    editor.open(B, TARGET)
    return await daemon.accepted(editor, B, PLACE)


async def open_beside(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, f"{HEAD}    {line}\n{TAIL}")
    return await ask_beside(daemon, editor)


async def pasted(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, HEAD + TAIL)
    change(editor, A, {"range": span((1, 0), (1, 0)), "text": f"    {line}\n"})
    return await ask_beside(daemon, editor)


async def pasted_with_much_else(daemon: Daemon, editor: Editor, line: str) -> int:
    around = [f"    call_{number}()\n" for number in range(150)]
    editor.open(A, HEAD + TAIL)
    change(editor, A, {"range": span((1, 0), (1, 0)), "text": "".join([*around, f"    {line}\n", *around])})
    return await ask_beside(daemon, editor)


async def replaced_as_a_whole(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, HEAD + TAIL)
    change(editor, A, {"text": f"{HEAD}    {line}\n{TAIL}"})
    return await ask_beside(daemon, editor)


async def typed(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, HEAD + "    \n" + TAIL)
    for offset, character in enumerate(line):
        editor.insert(A, 1, 4 + offset, character, 2 + offset)
    return await ask_beside(daemon, editor)


async def edited_above(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, f"{HEAD}    {line}\n{TAIL}")
    for number in range(40):  # at places far from each other, until the file is indexed afresh
        change(editor, A, {"range": span((0, 0), (0, 0)), "text": f"# note {number}\n" + "\n" * 30})
    return await ask_beside(daemon, editor)


async def shortened_and_left(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, f"{HEAD}    {line}\n{TAIL}" + "\n" * 50 + "end\n")
    end = 4 + len(line)
    for back in range(3):  # the quotation mark and two characters of what it ends
        change(editor, A, {"range": span((1, end - back - 1), (1, end - back)), "text": ""})
    editor.insert(A, 45, 0, "elsewhere")
    return await ask_beside(daemon, editor)


async def split_by_a_line_end(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, f"{HEAD}    {line}\n{TAIL}")
    editor.insert(A, 1, 4 + len(line) - 4, "\n")
    return await ask_beside(daemon, editor)


async def deleted_at_the_cursor(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(B, f"{HEAD}    {line}\n{TAIL}")
    change(editor, B, {"range": span((1, 4), (1, 4 + len(line))), "text": ""})
    return await daemon.accepted(editor, B, PLACE)


async def replaced_at_the_cursor(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(B, f"{HEAD}    {line}\n{TAIL}")
    change(editor, B, {"range": span((1, 4), (1, 4 + len(line))), "text": "first = 1\n    "})
    return await daemon.accepted(editor, B, (2, 4))


async def deleted_elsewhere(daemon: Daemon, editor: Editor, line: str) -> int:
    editor.open(A, f"{HEAD}    {line}\n{TAIL}")
    change(editor, A, {"range": span((1, 0), (2, 0)), "text": ""})
    return await ask_beside(daemon, editor)


SCENARIOS: list[Scenario] = [
    open_beside, pasted, pasted_with_much_else, replaced_as_a_whole, typed, edited_above, shortened_and_left,
    split_by_a_line_end, deleted_at_the_cursor, replaced_at_the_cursor, deleted_elsewhere,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_secret_is_not_drafted(secret_daemon: Daemon, scenario: Scenario) -> None:
    async with Editor.on_socket(secret_daemon.paths) as editor:
        await editor.initialize()
        # What is accepted is repetition within the answer itself, and a word that stands elsewhere in the file.
        assert await scenario(secret_daemon, editor, SECRET) <= 4


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_line_like_it_without_a_secret_is(innocent_daemon: Daemon, scenario: Scenario) -> None:
    async with Editor.on_socket(innocent_daemon.paths) as editor:
        await editor.initialize()
        assert await scenario(innocent_daemon, editor, INNOCENT) > len(INNOCENT) // 2
