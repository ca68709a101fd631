"""A daemon on the test's event loop whose model writes one answer, so that what is drafted shows in what is accepted.

The whole way but the model: sockets, LSP, the service with its thread, and a target that writes by script.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.service import LocalService
from completiond.config import CacheConfig, CompletionConfig, Config, ExcludeConfig, ModelConfig, SpecConfig
from completiond.config.settings import Settings
from completiond.daemon import run_daemon
from completiond.paths import Paths
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy
from tests.e2e.harness import Editor, is_listening, temporary_paths, until
from tests.fake_model import bytes_of, fake_model, says

__all__ = ["Daemon", "RecordingService", "change", "config", "drafting_daemon", "span"]


class RecordingService(LocalService):
    """The real service; keeps the completions it gave."""

    def __init__(self, config: Config, paths: Paths, settings: Settings | None = None) -> None:
        super().__init__(config, paths, settings)
        self.completions: list[Completion] = []
        self.client_id = ""

    async def complete(self, request: CompletionRequest) -> Completion:
        self.client_id = request.client_id
        completion = await super().complete(request)
        self.completions.append(completion)
        return completion


@dataclass
class Daemon:
    """``answer`` is what its model writes."""

    paths: Paths
    service: RecordingService
    completer: Completer
    answer: str

    async def accepted(self, editor: Editor, uri: str, place: tuple[int, int]) -> int:
        """Ask for a completion; return how many drafted tokens were accepted. The answer is always the same."""
        answer: Any = await editor.complete(uri, *place)
        completion = self.service.completions[-1]
        assert [item["insertText"] for item in answer["items"]] == [self.answer]
        assert completion.token_ids == tuple(bytes_of(self.answer))
        return completion.accepted


def config(drafter: Literal["auto", "none"] = "auto", exclude: ExcludeConfig | None = None) -> Config:
    return Config(
        model=ModelConfig(name="fake", context_tokens=1024),
        completion=CompletionConfig(max_tokens=100, deadline_ms=60_000),  # busy machines are slow
        spec=SpecConfig(drafter=drafter),
        exclude=exclude or ExcludeConfig(),
        cache=CacheConfig(results=False),  # what is drafted is looked at, time and again at the same places
    )


@asynccontextmanager
async def drafting_daemon(
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    config: Config,
    make_settings: Callable[[Paths], Settings] | None = None,
) -> AsyncIterator[Daemon]:
    """``make_settings``: what the daemon follows; without, ``config`` stays."""
    model, _ = fake_model(says(bytes_of(answer + "\n\n\n")))
    completer = Completer(model, config)
    # Fixed costs: what is checked must not depend on how busy this machine is.
    completer.policy = MeasuredPolicy(PassCosts({1: 10.0, 4: 11.0, 32: 20.0}), refresh_costs=False)

    def open_completer(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        return completer

    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_completer)
    with temporary_paths() as paths:
        settings = make_settings(paths) if make_settings is not None else None
        service = RecordingService(config, paths, settings)
        task = asyncio.create_task(run_daemon(lambda: service, paths, settings))
        await until(lambda: task.done() or (is_listening(paths) and service.state.phase == "ready"))
        try:
            yield Daemon(paths, service, completer, answer)
        finally:
            async with Editor.on_socket(paths) as editor:
                await editor.request("completiond/stop")
            await asyncio.wait_for(task, 20.0)


def change(editor: Editor, uri: str, *changes: dict[str, Any]) -> None:
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": list(changes)}
    )


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, dict[str, int]]:
    (line, character), (end_line, end_character) = start, end
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}}
