"""Settings that change while a daemon serves: what the next answer is like. Only the model is a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.request import Completion
from completiond.config.settings import Settings
from completiond.config.trust import TrustStore
from completiond.paths import Paths
from tests.complete.drafting import Daemon, config, drafting_daemon
from tests.e2e.harness import EMPTY, Editor, until

ANSWER = "result = registry.lookup_by_identifier(identifier)"
SOURCE = f"def find(registry, identifier):\n    {ANSWER}\n    return result\n"
TARGET = "def get(registry, identifier):\n    "
PLACE = (1, 4)
MANY = len(ANSWER) // 2
WATCHED = "workspace/didChangeWatchedFiles"


class Desk:
    """An editor in a repository, and the files of settings."""

    def __init__(self, daemon: Daemon, editor: Editor, root: Path) -> None:
        self.daemon, self.editor, self.root = daemon, editor, root
        self.uri = (root / "target.py").as_uri()
        daemon.paths.config_dir.mkdir()

    def user(self, text: str) -> None:
        """Change the user's file, and say so: nothing here depends on what time it is."""
        self.daemon.paths.config_file.write_text(text)
        self.editor.notify(WATCHED, {"changes": []})

    def repository(self, text: str, folder: str = "") -> Path:
        file = self.root / folder / ".completiond.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        self.editor.notify(WATCHED, {"changes": []})
        return file

    async def text(self, uri: str = "") -> str:
        items = (await self.editor.complete(uri or self.uri, *PLACE))["items"]
        return "".join(item["insertText"] for item in items)

    async def accepted(self) -> int:
        return await self.daemon.accepted(self.editor, self.uri, PLACE)

    @property
    def last(self) -> Completion:
        return self.daemon.service.completions[-1]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def make_settings(paths: Paths) -> Settings:
    patient = {"COMPLETIOND_COMPLETION_DEADLINE_MS": "60000"}  # busy machines are slow
    return Settings(paths.config_file, patient, trust_file=paths.trust_file)


@pytest.fixture
async def daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async with drafting_daemon(monkeypatch, ANSWER, config(), make_settings) as one:
        yield one


@pytest.fixture
async def desk(daemon: Daemon, root: Path) -> AsyncIterator[Desk]:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.request("initialize", {"capabilities": {}, "rootUri": root.as_uri()})
        editor.notify("initialized", {})
        one = Desk(daemon, editor, root)
        editor.open(one.uri, TARGET)
        yield one


OFF = "[cache]\nresults = false\nahead = false\n"


async def test_a_limit_counts_for_the_next_answer(desk: Desk) -> None:
    assert await desk.text() == ANSWER
    desk.user("[completion]\nmax_tokens = 6\n")
    assert await desk.text() == ANSWER[:6]
    desk.repository("[completion]\nmax_tokens = 3\n")
    assert await desk.text() == ANSWER[:3]
    desk.repository("[completion]\nmax_tokens = 10\n")
    assert await desk.text() == ANSWER[:6]
    desk.user("")
    assert await desk.text() == ANSWER[:10]
    desk.repository("")
    assert await desk.text() == ANSWER


async def test_a_smaller_prompt_is_read_for_the_next_answer(desk: Desk) -> None:
    await desk.text()
    whole = desk.last.prompt_tokens
    desk.repository("[prompt]\nprefix_tokens = 16\n")
    await desk.text()
    assert desk.last.prompt_tokens < whole


async def test_the_drafter_is_another_for_the_next_answer(desk: Desk) -> None:
    desk.user(OFF)
    desk.editor.open((desk.root / "source.py").as_uri(), SOURCE)
    assert await desk.accepted() > MANY
    desk.user(f"{OFF}[spec]\ndrafter = 'none'\n")
    assert await desk.accepted() == 0
    desk.user(OFF)
    assert await desk.accepted() > MANY


async def test_a_drafter_that_cannot_be_had_is_told_once_and_the_one_before_goes_on(desk: Desk) -> None:
    desk.user(f"{OFF}[spec]\ndrafter = 'ngram'\n")
    desk.editor.open((desk.root / "source.py").as_uri(), SOURCE)
    assert await desk.accepted() > MANY
    desk.user(f"{OFF}[spec]\ndrafter = 'eagle'\n")
    for _ in range(3):
        assert await desk.accepted() > MANY
        (problem,) = (await desk.editor.request("completiond/status"))["problems"]
    assert f'{desk.daemon.paths.config_file}:5: spec.drafter = "eagle" cannot be used: ' in problem
    assert "completiond train eagle" in problem, "it says what to do"
    told = await desk.editor.wait_for("window/showMessage")
    assert told == {"type": 2, "message": f"completiond: {problem}"}
    desk.user(f"{OFF}# another change\n[spec]\ndrafter = 'eagle'\n")
    assert await desk.accepted() > MANY
    desk.user(f"{OFF}[spec]\ndrafter = 'none'\n")
    assert await desk.accepted() == 0
    assert (await desk.editor.request("completiond/status"))["problems"] == []
    assert desk.editor.count("window/showMessage") == 1


async def test_an_editor_s_drafter_that_cannot_be_had_concerns_no_other(desk: Desk) -> None:
    async with Editor.on_socket(desk.daemon.paths) as other:
        options = {"spec": {"drafter": "medusa"}}
        params = {"capabilities": {}, "rootUri": desk.root.as_uri(), "initializationOptions": options}
        await other.request("initialize", params)
        other.notify("initialized", {})
        other.open(desk.uri, TARGET)
        assert (await other.complete(desk.uri, *PLACE))["items"]
        told = await other.wait_for("window/showMessage")
        assert 'spec.drafter = "medusa" cannot be used' in told["message"]
    assert await desk.text() == ANSWER
    assert desk.editor.count("window/showMessage") == 0


async def test_answers_are_turned_off_and_on(desk: Desk) -> None:
    assert await desk.text() == ANSWER
    for change in (desk.user, desk.repository):
        change("[completion]\nenabled = false\n")
        assert await desk.text() == ""
        assert (desk.last.stop_reason, desk.last.passes) == ("off: completion.enabled", 0)
        change("")
        assert await desk.text() == ANSWER


async def test_a_language_is_turned_off_by_its_name_or_by_the_file_s_ending(desk: Desk) -> None:
    desk.user("[completion]\ndisabled_languages = ['markdown', 'sql']\n")
    assert await desk.text() == ANSWER
    for name, language in (("a.py", "markdown"), ("a.md", ""), ("b", "sql")):
        uri = (desk.root / name).as_uri()
        document = {"uri": uri, "languageId": language, "version": 1, "text": TARGET}
        desk.editor.notify("textDocument/didOpen", {"textDocument": document})
        assert await desk.text(uri) == "", name
        assert desk.last.stop_reason == "off: completion.disabled_languages"
    params = {"path": str(desk.root / "a.sql"), "prefix": TARGET}
    answer: dict[str, Any] = await desk.editor.request("completiond/complete", params)
    assert (answer["text"], answer["stop_reason"]) == ("", "off: completion.disabled_languages")


@pytest.mark.parametrize("by", ["user", "repository"])
async def test_what_comes_to_be_excluded_is_gone_at_once(desk: Desk, by: str) -> None:
    desk.user(OFF)
    uri = (desk.root / "legal" / "contract.py").as_uri()
    few = await desk.accepted()
    desk.editor.open(uri, SOURCE)
    assert await desk.accepted() > MANY
    await desk.text(uri)
    assert desk.last.passes

    exclude = "[exclude]\nglobs = ['/legal/']\n"
    desk.user(OFF + exclude) if by == "user" else desk.repository(exclude)
    assert await desk.text(uri) == ""
    reason = "config_glob" if by == "user" else "repository_glob"
    assert desk.last.stop_reason == f"excluded: {reason}"
    assert await desk.accepted() <= few + 2, "nothing of it is drafted"
    assert (await desk.editor.request("completiond/status"))["dictionary"]["excluded_documents"] == 1

    desk.user(OFF) if by == "user" else desk.repository("")
    await desk.text(uri)
    assert desk.last.passes


async def test_kept_answers_end_with_a_change_of_exclusions(desk: Desk) -> None:
    async def served_from() -> str:
        assert await desk.text() == ANSWER
        return desk.last.served_from

    assert [await served_from() for _ in range(2)] == ["engine", "cache"]
    desk.user("[exclude]\nglobs = ['other.py']\n")
    assert [await served_from() for _ in range(2)] == ["engine", "cache"]
    assert desk.last.cached_tokens == 0 or desk.last.served_from == "cache", "what was read is read again"
    desk.repository("[exclude]\nglobs = ['other.py']\n")
    assert [await served_from() for _ in range(2)] == ["engine", "cache"]
    desk.repository("# not a change of exclusions\n[exclude]\nglobs = ['other.py']\n")
    assert await served_from() == "cache"
    desk.user(OFF)
    assert [await served_from() for _ in range(2)] == ["engine", "engine"]


async def test_an_editor_s_settings_do_not_concern_another(desk: Desk) -> None:
    async with Editor.on_socket(desk.daemon.paths) as other:
        options = {"completion": {"max_tokens": 4}, "exclude": {"globs": ["target.py"]}}
        await other.request("initialize", {"capabilities": {}, "rootUri": desk.root.as_uri()})
        other.open(desk.uri, TARGET)
        assert (await other.complete(desk.uri, *PLACE))["items"]
        change = {"settings": {"completiond": options}}
        other.notify("workspace/didChangeConfiguration", change)
        assert await other.complete(desk.uri, *PLACE) == EMPTY
        assert await desk.text() == ANSWER
        del options["exclude"]
        other.notify("workspace/didChangeConfiguration", change)
        (item,) = (await other.complete(desk.uri, *PLACE))["items"]
        assert item["insertText"] == ANSWER[:4]


async def test_an_editor_s_own_exclusions_cost_nobody_else_kept_answers(desk: Desk) -> None:
    assert await desk.text() == ANSWER
    for options in (None, {"completion": {"max_tokens": 9}}, {"exclude": {"globs": ["*.py"]}}):
        async with Editor.on_socket(desk.daemon.paths) as other:
            await other.request("initialize", {"capabilities": {}, "initializationOptions": options})
            other.open(desk.uri, TARGET)
            await other.complete(desk.uri, *PLACE)
        assert await desk.text() == ANSWER
        assert desk.last.served_from == "cache"


async def test_initialization_options_count_from_the_first_request(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    async with (
        drafting_daemon(monkeypatch, ANSWER, config(), make_settings) as daemon,
        Editor.on_socket(daemon.paths) as editor,
    ):
        options = {"exclude": {"globs": ["target.py"]}}
        params = {"capabilities": {}, "rootUri": root.as_uri(), "initializationOptions": options}
        await editor.request("initialize", params)
        editor.open((root / "target.py").as_uri(), TARGET)
        assert await editor.complete((root / "target.py").as_uri(), *PLACE) == EMPTY


async def test_a_trusted_repository_s_files_are_drafted_from_unopened(desk: Desk) -> None:
    desk.user(OFF)
    (desk.root / "source.py").write_text(SOURCE)
    (desk.root / "more.py").write_text("print()\n" * 20)
    few = await desk.accepted()
    file = desk.repository("[spec]\nworkspace = ['source.py', 'more.py']\n")
    assert await desk.accepted() <= few + 2, "it is not trusted"
    trust = TrustStore(desk.daemon.paths.trust_file)
    trust.trust(str(desk.root), file.read_bytes())
    desk.editor.notify(WATCHED, None)
    await desk.accepted()
    await until(lambda: desk.daemon.service.dictionary.documents == 3)
    assert await desk.accepted() > MANY
    trust.revoke(str(desk.root))
    desk.editor.notify(WATCHED, None)
    await desk.accepted()
    await until(lambda: desk.daemon.service.dictionary.documents == 1)
    assert await desk.accepted() <= few + 2
