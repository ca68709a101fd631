"""A daemon on the test's event loop whose model writes what a test wants, and the editor of somebody who looks at it.

The whole way but the model: sockets, LSP, the service with its thread. All that the model reads is kept. ``§`` is the
cursor.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.complete.service import LocalService
from completiond.config import CacheConfig, CompletionConfig, Config, ModelConfig, PromptConfig
from completiond.config.settings import Settings
from completiond.engine.load import LoadedModel
from completiond.lsp.text import PositionEncoding, num_units
from completiond.paths import Paths
from tests.e2e.harness import Editor, daemon_in_process, temporary_paths, until
from tests.fake_model import EOS, FIM_QWEN, MIDDLE, PADDED_VOCAB_SIZE, FakeCache, FakeTarget, fake_tokenizer, says
from tests.fake_model import bytes_of as bytes_of

__all__ = ["PATIENT", "URI", "Desk", "ScriptedTarget", "bytes_of", "cursor_in", "desk_in", "served"]

URI = "file:///p/a.py"
PATIENT = Config(
    model=ModelConfig(name="fake", context_tokens=2048),
    prompt=PromptConfig(max_read_ms=0),
    completion=CompletionConfig(max_tokens=200, deadline_ms=60_000),
    cache=CacheConfig(ahead=False),
)
"""What is answered must not depend on how busy this machine is."""


class ScriptedTarget(FakeTarget):
    """Writes ``answer_ids`` behind the last token ``after``. ``read`` is what it was fed, with all that it had read
    before.
    """

    def __init__(self) -> None:
        self.answer_ids: list[int] = []
        self.after = MIDDLE
        self.read: list[tuple[int, ...]] = []
        super().__init__(self._write, PADDED_VOCAB_SIZE)

    def _write(self, ids: Sequence[int]) -> Tensor:
        return says(self.answer_ids, self.after)(ids)

    def forward(
        self,
        token_ids: Sequence[int],
        kv: FakeCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Any:
        self.read.append((*kv.token_ids, *token_ids))
        return super().forward(token_ids, kv, num_logits, feature_layers, parents)

    @property
    def prompts(self) -> list[tuple[int, ...]]:
        """What it read up to the places where it began to write, each once, in order."""
        found = [ids[: len(ids) - ids[::-1].index(self.after)] for ids in self.read if self.after in ids]
        return list(dict.fromkeys(found))


class Desk:
    """One daemon, its parts, and an editor. ``answer`` is what the model writes from now on."""

    def __init__(
        self, paths: Paths, service: LocalService, completer: Completer, target: ScriptedTarget, editor: Editor
    ) -> None:
        self.paths, self.service, self.completer, self.target = paths, service, completer, target
        self.editor = editor
        self.encoding: PositionEncoding = "utf-16"

    def will_say(self, answer: str | Sequence[int]) -> None:
        """What the model writes from now on: a text, or token ids."""
        self.target.answer_ids = bytes_of(answer) if isinstance(answer, str) else list(answer)

    def open(self, text: str, uri: str = URI) -> tuple[int, int]:
        """Open a document, or open it anew, and return the cursor's position in it."""
        self.editor.open(uri, text.replace("§", ""))
        return cursor_in(text, self.encoding)

    async def ask(self, place: tuple[int, int], uri: str = URI) -> str:
        """The text that is suggested there; "" for none. Its range has to be empty, and at the cursor."""
        items = (await self.editor.complete(uri, *place))["items"]
        if not items:
            return ""
        (item,) = items
        assert item["range"]["start"] == item["range"]["end"], "the item covers text"
        assert item["range"]["start"] == {"line": place[0], "character": place[1]}, "the item stands elsewhere"
        text: str = item["insertText"]
        assert text, "an item without a text"
        return text

    async def suggestion(self, text: str, answer: str | Sequence[int], uri: str = URI) -> str:
        """What is suggested in ``text`` if the model writes ``answer``."""
        self.will_say(answer)
        return await self.ask(self.open(text, uri), uri)

    async def outcome(self, text: str, answer: str | Sequence[int]) -> str:
        """``text`` with the suggestion accepted."""
        return text.replace("§", await self.suggestion(text, answer))

    async def status(self) -> Any:
        return await self.editor.request("completiond/status", {"why": True})

    def decoded(self, ids: Sequence[int]) -> str:
        """The text of what the model read; control tokens are left out."""
        return self.completer.tokenizer.decode(ids)


def cursor_in(text: str, encoding: PositionEncoding = "utf-16") -> tuple[int, int]:
    """Where ``§`` is, as LSP counts."""
    before = text.partition("§")[0]
    lines = re.split("\r\n|\n|\r", before)
    return len(lines) - 1, num_units(lines[-1], encoding)


@asynccontextmanager
async def served(
    monkeypatch: pytest.MonkeyPatch,
    completer: Completer,
    make_settings: Callable[[Paths], Settings] | None = None,
    before_load: Callable[[], None] = lambda: None,
) -> AsyncIterator[tuple[Paths, LocalService]]:
    """A daemon that listens; ``before_load`` is called on the engine's thread, before the model is there."""

    def open_completer(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        progress(0.5, "reading weights")
        before_load()
        return completer

    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_completer)
    with temporary_paths() as paths:
        settings = make_settings(paths) if make_settings is not None else None
        service = LocalService(settings.config if settings else completer.config, paths, settings)
        async with daemon_in_process(paths, service, settings):
            yield paths, service


@asynccontextmanager
async def desk_in(
    monkeypatch: pytest.MonkeyPatch,
    config: Config = PATIENT,
    make_settings: Callable[[Paths], Settings] | None = None,
    markers: Sequence[str] = FIM_QWEN,
    initialize: dict[str, Any] | None = None,
) -> AsyncIterator[Desk]:
    """``initialize``: the parameters of that request."""
    target = ScriptedTarget()
    completer = Completer(LoadedModel(target, fake_tokenizer(markers), {"eos_token_id": EOS}), config)
    async with served(monkeypatch, completer, make_settings) as (paths, service), Editor.on_socket(paths) as editor:
        desk = Desk(paths, service, completer, target, editor)
        answer = await editor.request("initialize", {"capabilities": {}, **(initialize or {})})
        desk.encoding = answer["capabilities"]["positionEncoding"]
        editor.notify("initialized", {})
        await until(lambda: service.state.phase == "ready")
        yield desk
