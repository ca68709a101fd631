"""How mistakes reach the user: in words, once, and never by a popup on each key."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.config.settings import Settings
from completiond.paths import Paths
from tests.complaints.desk import URI, Desk, desk_in
from tests.e2e.harness import EMPTY

SHOW, LOG = "window/showMessage", "window/logMessage"


def follow(paths: Paths) -> Settings:
    paths.config_dir.mkdir()
    return Settings(paths.config_file, {}, trust_file=paths.trust_file)


async def test_25_a_wrong_setting_is_told_once_with_file_and_line_and_the_last_good_value_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mistake in the settings turns all off without a word, or is told at each key."""
    async with desk_in(monkeypatch, make_settings=follow) as desk:
        file = desk.paths.config_file

        async def answer_with(settings: str) -> str:
            file.write_text(settings)
            desk.editor.notify("workspace/didChangeWatchedFiles", None)
            return await desk.suggestion("total = §\n", "abcdefghij")

        assert await answer_with("[completion]\nmax_tokens = 4\ndeadline_ms = 60000\n") == "abcd"
        for _ in range(3):
            assert await answer_with("[completion]\ndeadline_ms = 60000\nmax_tokens = 'many'\n") == "abcd"
        await desk.status()
        shown = [one["params"]["message"] for one in desk.editor.received if one["method"] == SHOW]
        assert len(shown) == 1
        assert shown[0].startswith(f"completiond: {file}:3: completion.max_tokens must be ")
        assert [line for line in (await desk.status())["problems"] if f"{file}:3" in line]
        assert await answer_with("[completion]\ndeadline_ms = 60000\nmax_tokens = 5\n") == "abcde"
        assert (await desk.status())["problems"] == []


async def test_25_a_fault_is_no_popup_and_the_next_key_is_answered(desk: Desk) -> None:
    """Each key brings up a message about an error that nobody understands."""
    faults = iter(range(100))

    def fail() -> None:
        if next(faults) < 3:
            raise RuntimeError("what the user has written: total")

    desk.target.before_pass = fail
    desk.will_say("a + b")
    place = desk.open("total = §\n")
    for _ in range(3):
        assert await desk.editor.complete(URI, *place) == EMPTY
    assert await desk.ask(place) == "a + b"
    await desk.status()
    assert desk.editor.count(SHOW) == desk.editor.count(LOG) == 0


async def test_25_nothing_on_the_way_to_a_suggestion_is_a_popup(desk: Desk) -> None:
    """Files that are not open, odd parameters and old positions are told to the user as errors."""
    desk.will_say("a + b")
    desk.open("total = §\n")
    assert await desk.editor.complete("file:///p/never-opened.py") == EMPTY
    assert (await desk.editor.complete(URI, 10_000, 10_000))["items"]
    for params in (None, {}, {"textDocument": {"uri": URI}, "position": "here", "context": 3}):
        assert await desk.editor.request("textDocument/inlineCompletion", params) == EMPTY
    assert desk.editor.count(SHOW) == desk.editor.count(LOG) == 0


async def test_a_suggestion_is_for_the_text_in_the_editor_and_not_for_the_file_on_disk(
    desk: Desk, tmp_path: Path
) -> None:
    """Where the file lies on another machine, or is not saved, the answer is for a text that nobody sees."""
    file = tmp_path / "a.py"
    file.write_text("what = 'is on disk'\n")
    assert await desk.suggestion("other = §\nlast\n", "1", file.as_uri()) == "1"
    assert await desk.suggestion("other = §\nlast\n", "1", "file:///no/such/folder/a.py") == "1"
    assert [desk.decoded(prompt) for prompt in desk.target.prompts] == ["other = \nlast\n"]
