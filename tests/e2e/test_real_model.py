"""The whole product: an LSP client on the shim, the daemon it starts, and the real default model."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from completiond.client import connect
from completiond.complete.completer import Completer
from completiond.complete.service import RETRY_AFTER_S
from completiond.errors import DaemonUnreachableError
from completiond.lsp.inline import PARTIAL
from completiond.paths import Paths
from completiond.spec.drafter_names import DRAFTERS
from tests.e2e.editors.test_language_client import language_client
from tests.e2e.harness import EMPTY, Editor, RpcError, inline_params, kill_daemon

pytestmark = pytest.mark.model

SHIM = [sys.executable, "-m", "completiond", "lsp"]
LOAD_TIMEOUT_S = 120.0
SOURCE = "def add(first, second):\n    return \n\n\nprint(add(1, 2))\n"
WARM_START_BUDGET_S = 10.0
INITIALIZE_BUDGET_S = 0.5
IDLE_AFTER_S = 8.0
IDLE_S = 12.0


@pytest.fixture
def paths(fresh_paths: Paths, default_completer: Completer) -> Iterator[Paths]:
    """``default_completer`` has prepared the weights, so that the daemon's start is a warm one."""
    yield fresh_paths
    kill_daemon(fresh_paths)


def status(paths: Paths) -> dict[str, Any]:
    with connect(paths, start=False) as client:
        values: dict[str, Any] = client.call("completiond/status")
    return values


async def until_loaded(paths: Paths) -> dict[str, Any]:
    async with asyncio.timeout(LOAD_TIMEOUT_S):
        while True:
            try:
                values = await asyncio.to_thread(status, paths)
            except DaemonUnreachableError:  # not listening yet
                values = {"phase": "starting"}
            if values["phase"] not in ("starting", "loading"):
                return values
            await asyncio.sleep(0.02)


def params(uri: str, line: int, character: int) -> types.InlineCompletionParams:
    return types.InlineCompletionParams(
        context=types.InlineCompletionContext(trigger_kind=types.InlineCompletionTriggerKind.Automatic),
        text_document=types.TextDocumentIdentifier(uri=uri),
        position=types.Position(line, character),
    )


async def test_an_editor_gets_a_completion_of_a_real_file(
    paths: Paths, fresh_environment: dict[str, str], tmp_path: Path
) -> None:
    uri = (tmp_path / "add.py").as_uri()
    async with language_client(*SHIM, env=fresh_environment) as client:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, SOURCE)))
        early = await client.text_document_inline_completion_async(params(uri, 1, 11))
        assert isinstance(early, types.InlineCompletionList)
        assert not early.items, "empty until the model is there"
        await until_loaded(paths)
        answer = await client.text_document_inline_completion_async(params(uri, 1, 11))
        assert isinstance(answer, types.InlineCompletionList)
        assert [item.insert_text for item in answer.items] == ["first + second"]
        here = types.Position(1, 11)
        assert answer.items[0].range == types.Range(here, here)

        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(version=2, uri=uri),
                content_changes=[
                    types.TextDocumentContentChangePartial(
                        range=types.Range(types.Position(0, 4), types.Position(0, 7)), text="multiply"
                    )
                ],
            )
        )
        answer = await client.text_document_inline_completion_async(params(uri, 1, 11))
        assert isinstance(answer, types.InlineCompletionList)
        assert [item.insert_text for item in answer.items] == ["first * second"]


async def test_a_suggestion_that_is_typed_along_or_come_back_to_takes_no_pass(
    paths: Paths, fresh_environment: dict[str, str], tmp_path: Path
) -> None:
    uri = (tmp_path / "add.py").as_uri()

    def text(answer: Any) -> list[str]:
        return [item["insertText"] for item in answer["items"]]

    async with Editor.on_program(*SHIM, env=fresh_environment) as editor:
        await editor.initialize()
        await until_loaded(paths)
        editor.open(uri, SOURCE)
        assert text(await editor.complete(uri, 1, 11)) == ["first + second"]
        for number, key in enumerate("first"):
            editor.insert(uri, 1, 11 + number, key, version=2 + number)
            assert text(await editor.complete(uri, 1, 12 + number)) == ["first + second"[number + 1 :]]
        cut = {"range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 16}}, "text": ""}
        document = {"uri": uri, "version": 9}
        editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [cut]})
        assert text(await editor.complete(uri, 1, 11)) == ["first + second"]
        values = await asyncio.to_thread(status, paths)
        assert values["counters"]["cached"] == 6
        editor.insert(uri, 0, 0, "\n", version=10)
        assert len(text(await editor.complete(uri, 2, 11))) == 1
        values = await asyncio.to_thread(status, paths)
        assert values["counters"]["cached"] == 6, "another text"


async def test_every_drafter_runs_on_the_default_model_and_changes_nothing(
    paths: Paths, fresh_environment: dict[str, str]
) -> None:
    """What each needs comes with it; the configured one is what ``auto`` stands for."""
    lines = "".join(f"        self.field_{name} = field_{name}\n" for name in "abcdef")
    question = {"prefix": f"class Record:\n    def fill(self):\n{lines}        self.", "suffix": "\n", "maxTokens": 24}
    texts, drafted = {}, {}
    async with Editor.on_program(*SHIM, env={**fresh_environment, "COMPLETIOND_SPEC_DRAFTER": "medusa"}) as editor:
        await editor.initialize()
        await until_loaded(paths)
        for name in DRAFTERS:
            answer = await editor.request("completiond/complete", {**question, "drafter": name})
            texts[name], drafted[name] = answer["text"], answer["by_drafter"].keys()
    assert texts["none"]
    assert set(texts.values()) == {texts["none"]}
    assert drafted["none"] == set()
    assert drafted["ngram"] == {"ngram"}
    for name in ("eagle", "medusa", "draft"):
        assert drafted[name] <= {name}, "one with steps of its own is asked only while it pays"
    assert drafted["auto"] <= {"medusa"}


async def test_a_suggestion_grows_where_the_client_can_show_it(
    paths: Paths, fresh_environment: dict[str, str], tmp_path: Path
) -> None:
    uri = (tmp_path / "days.py").as_uri()
    source = "DAYS = ['Monday', 'Tuesday', "
    async with Editor.on_program(*SHIM, env=fresh_environment) as editor:
        await editor.initialize(experimental={"completiond": {"partialInlineCompletion": True}})
        await until_loaded(paths)
        editor.open(uri, source)
        (item,) = (await editor.complete(uri, 0, len(source)))["items"]
        texts = [one["params"]["insertText"] for one in editor.received if one["method"] == PARTIAL]
    assert len(texts) > 1
    assert "Wednesday" in item["insertText"]
    for earlier, later in itertools.pairwise([*texts, item["insertText"]]):
        assert later.startswith(earlier), "what was shown is never taken back"


async def computed_at_each_key(
    paths: Paths, environment: dict[str, str], folder: Path, line: int, keys: str
) -> list[int]:
    """Tokens that were read or checked for each of ``keys``, typed at ``line`` of two files of 60 lines in turn."""
    uris = [(folder / name).as_uri() for name in ("one.py", "two.py")]
    computed: list[int] = []
    async with Editor.on_program(*SHIM, env=environment) as editor:
        await editor.initialize()
        await until_loaded(paths)
        for uri, name in zip(uris, ("left", "right"), strict=True):
            editor.open(uri, "".join(f"{name}_{number} = {number} * {number}\n" for number in range(60)))
        for column, key in enumerate(keys):
            for uri in uris:
                before = (await asyncio.to_thread(status, paths))["work"]["computed_tokens"]
                editor.insert(uri, line, column, key, version=2 + column)
                await editor.complete(uri, line, column + 1)
                computed.append((await asyncio.to_thread(status, paths))["work"]["computed_tokens"] - before)
    assert min(computed[:2]) > 500, "the first time, all of it is read"
    return computed[2:]


@pytest.mark.parametrize(("memory_mb", "is_kept"), [(256, True), (0, False)])
async def test_who_comes_back_to_a_file_does_not_wait_for_it_to_be_read_again(
    memory_mb: int, is_kept: bool, paths: Paths, fresh_environment: dict[str, str], tmp_path: Path
) -> None:
    settings = {"RESULTS": "false", "AHEAD": "false", "MEMORY_MB": str(memory_mb)}
    environment = fresh_environment | {f"COMPLETIOND_CACHE_{key}": value for key, value in settings.items()}
    later = await computed_at_each_key(paths, environment, tmp_path, 60, "xx")
    assert (max(later) < 200) is is_kept


async def test_in_two_files_that_are_typed_in_turn_a_key_reads_only_what_is_new(
    paths: Paths, fresh_environment: dict[str, str], tmp_path: Path
) -> None:
    """What lies behind each cursor, 30 lines, is moved, whichever file was typed in before."""
    settings = {"CACHE_RESULTS": "false", "CACHE_AHEAD": "false", "CACHE_SUFFIX": "shift", "COMPLETION_MAX_TOKENS": "8"}
    environment = fresh_environment | {f"COMPLETIOND_{key}": value for key, value in settings.items()}
    later = await computed_at_each_key(paths, environment, tmp_path, 30, "total")
    assert max(later) < 100, "with what was read and checked to write the answer"


def activity(pid: int) -> tuple[int, int]:
    """Times that threads of a process were put to sleep, and nanoseconds of CPU time."""
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    switches = [
        int(line.split()[1])
        for task in tasks
        for line in (task / "status").read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    ]
    return sum(switches), sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


async def test_an_idle_daemon_sleeps(paths: Paths, fresh_environment: dict[str, str], tmp_path: Path) -> None:
    uri = (tmp_path / "add.py").as_uri()
    async with Editor.on_program(*SHIM, env=fresh_environment) as editor:
        await editor.initialize()
        values = await until_loaded(paths)
        editor.open(uri, SOURCE)
        assert (await editor.complete(uri, 1, 11))["items"]
        await asyncio.sleep(IDLE_AFTER_S)  # what would follow is written ahead meanwhile
        before = await asyncio.to_thread(status, paths)
        switches, cpu_ns = activity(values["pid"])
        await asyncio.sleep(IDLE_S)
        now_switches, now_cpu_ns = activity(values["pid"])
        after = await asyncio.to_thread(status, paths)
    assert after["work"] == before["work"], "no pass"
    assert (now_switches - switches) / IDLE_S < 5
    assert (now_cpu_ns - cpu_ns) / 1e6 < 50 * IDLE_S / 60


async def test_start_up_times(paths: Paths, fresh_environment: dict[str, str]) -> None:
    started_s = time.monotonic()
    async with Editor.on_program(*SHIM, env=fresh_environment) as editor:
        await editor.initialize()
        assert time.monotonic() - started_s <= INITIALIZE_BUDGET_S, "while the daemon starts and the model loads"
        values = await until_loaded(paths)
        assert time.monotonic() - started_s <= WARM_START_BUDGET_S
        assert values["phase"] == "ready"
        assert values["dtype"] == "int8"
        assert values["rss_mb"] <= 2500


@pytest.fixture
def broken(tmp_path: Path, tiny_model: Path) -> Path:
    """The tiny model's file in a cache folder of its own, truncated."""
    folder = tmp_path / "cache" / "models" / tiny_model.parent.name
    folder.mkdir(parents=True)
    file = folder / tiny_model.name
    file.write_bytes(tiny_model.read_bytes()[:1_000_000])
    return file


async def test_a_corrupt_model_is_told_and_a_repaired_one_picked_up(
    paths: Paths, fresh_environment: dict[str, str], tmp_path: Path, tiny_model: Path, broken: Path
) -> None:
    environment = {
        **fresh_environment,
        "COMPLETIOND_CACHE_DIR": str(tmp_path / "cache"),
        "COMPLETIOND_MODEL_NAME": "smollm2-135m",
    }
    async with Editor.on_program(*SHIM, env=environment) as editor:
        await editor.initialize()
        values = await until_loaded(paths)
        assert values["phase"] == "failed"
        assert "completiond model pull smollm2-135m" in values["detail"]
        editor.open("file:///a.py", SOURCE)
        assert await editor.complete("file:///a.py", 1, 11) == EMPTY

        shutil.copyfile(tiny_model, broken)
        await asyncio.sleep(RETRY_AFTER_S)
        assert await editor.complete("file:///a.py", 1, 11) == EMPTY, "this one starts the next attempt"
        assert (await until_loaded(paths))["phase"] == "ready"
        answer = await editor.complete("file:///a.py", 1, 11)
        assert answer["items"][0]["insertText"]


@pytest.fixture
async def ready(paths: Paths, fresh_environment: dict[str, str]) -> AsyncIterator[Paths]:
    """A daemon of its own, with the default model loaded."""
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "completiond", "serve", env=fresh_environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until_loaded(paths)
        yield paths
    finally:
        daemon.terminate()
        await daemon.wait()


LONG = "def sort_by_length(words):\n    "


async def test_a_newer_request_gets_the_answer_and_the_older_null_at_once(ready: Paths) -> None:
    async with Editor.on_socket(ready) as editor:
        await editor.initialize()
        editor.open("file:///a.py", LONG)
        editor.open("file:///b.py", SOURCE)
        older, newer = editor.ask("file:///a.py", 1, 4), editor.ask("file:///a.py", 1, 4)
        other = editor.ask("file:///b.py", 1, 11)
        started_s = time.monotonic()
        assert await older is None
        superseded_s = time.monotonic() - started_s
        answer = await newer
        assert answer["items"][0]["insertText"]
        assert superseded_s < time.monotonic() - started_s, "it did not wait for the newer one"
        assert (await other)["items"][0]["insertText"] == "first + second", "another document is another request"


async def test_a_cancelled_request_frees_the_engine(ready: Paths) -> None:
    async with Editor.on_socket(ready) as editor:
        await editor.initialize()
        editor.open("file:///a.py", LONG)
        editor.open("file:///b.py", SOURCE)
        message, answer = editor.prepare("textDocument/inlineCompletion", inline_params("file:///a.py", 1, 4))
        editor.send(message)
        await asyncio.sleep(0.1)  # the engine is at work on it
        editor.notify("$/cancelRequest", {"id": message["id"]})
        with pytest.raises(RpcError) as error:
            await answer
        assert error.value.code == -32800
        assert (await editor.complete("file:///b.py", 1, 11))["items"][0]["insertText"] == "first + second"
    counters = (await asyncio.to_thread(status, ready))["counters"]
    assert counters["cancelled"] == 1


async def test_two_editors_share_the_model_and_one_may_leave(ready: Paths) -> None:
    async with Editor.on_socket(ready) as staying:
        await staying.initialize(["utf-16"])
        staying.open("file:///a.py", SOURCE)
        async with Editor.on_socket(ready) as leaving:
            await leaving.initialize(["utf-8"])
            leaving.open("file:///a.py", LONG)
            abandoned = leaving.ask("file:///a.py", 1, 4)
            mine = staying.ask("file:///a.py", 1, 11)
            leaving.writer.close()
            with pytest.raises(ConnectionError):
                await abandoned
        assert (await mine)["items"][0]["insertText"] == "first + second"
        assert (await staying.complete("file:///a.py", 1, 11))["items"], "and again"


async def test_line_ends_and_wide_characters_in_every_encoding(ready: Paths) -> None:
    text = "# 漢字 🎉 \u2028 \x0c\r\n" + SOURCE.replace("\n", "\r\n")
    answers = []
    for encoding in ("utf-8", "utf-16", "utf-32"):
        async with Editor.on_socket(ready) as editor:
            await editor.initialize([encoding])
            editor.open("file:///a.py", text)
            answers.append((await editor.complete("file:///a.py", 2, 11))["items"])
    assert answers[0][0]["insertText"] == "first + second"
    assert answers[0] == answers[1] == answers[2]
