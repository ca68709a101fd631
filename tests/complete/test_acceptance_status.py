"""From completions to the counts in ``completiond/status``: all of the daemon but the model's weights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from completiond.commands.speedup_acceptance import ask_daemon
from completiond.complete.completer import Completer
from completiond.complete.service import LocalService
from completiond.config import Config, ModelConfig
from completiond.paths import Paths
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy
from tests.e2e.harness import Editor, daemon_in_process, temporary_paths, until
from tests.fake_model import bytes_of, fake_model, says

CONFIG = Config(model=ModelConfig(name="fake", context_tokens=512))
LINE = "    total += values[index]\n"
PREFIX = f"def f():\n{LINE}    pass\n    "
ANSWER = LINE.strip() + "\n    other"


@pytest.fixture
async def paths(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Paths]:
    """Where a daemon serves whose model writes ANSWER."""
    completer = Completer(fake_model(says(bytes_of(ANSWER)))[0], CONFIG)
    # Fixed costs: what is checked must not depend on how busy this machine is.
    completer.policy = MeasuredPolicy(PassCosts({1: 10.0, 4: 11.0, 32: 20.0}), refresh_costs=False)
    monkeypatch.setattr("completiond.complete.open_completer.open_completer", lambda *_: completer)
    with temporary_paths() as paths:
        service = LocalService(CONFIG, paths)
        async with daemon_in_process(paths, service):
            await until(lambda: service.state.phase == "ready")
            yield paths


async def complete(client: Editor, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await client.request("completiond/complete", {"prefix": PREFIX, "suffix": "\n", **more})
    return answer


async def test_status_counts_the_guesses_of_all_answers(paths: Paths) -> None:
    async with Editor.on_socket(paths) as client:
        assert (await client.request("completiond/status"))["acceptance"] == []
        answers = [await complete(client, drafter="ngram", temperature=heat) for heat in (0, 0.8, 0)]
        await complete(client, drafter="none")
        entries = (await client.request("completiond/status"))["acceptance"]

    assert [(entry["source"], entry["temperature"]) for entry in entries] == [("ngram", 0.0), ("ngram", 0.8)]
    assert all(entry.keys() == {"source", "temperature", "tried", "accepted"} for entry in entries)
    assert sum(sum(entry["accepted"]) for entry in entries) == sum(answer["accepted"] for answer in answers) > 0
    for entry in entries:
        assert len(entry["tried"]) == len(entry["accepted"])
        assert all(0 <= hits <= tried for hits, tried in zip(entry["accepted"], entry["tried"], strict=True))
        # A depth is only reached through a right guess at the one before.
        assert all(tried <= hits for tried, hits in zip(entry["tried"][1:], entry["accepted"][:-1], strict=True))


async def test_the_counts_are_those_that_speedup_reads(paths: Paths) -> None:
    before = await asyncio.to_thread(ask_daemon, paths, "fake")
    async with Editor.on_socket(paths) as client:
        for _ in range(30):
            await complete(client, drafter="ngram")
        (entry,) = (await client.request("completiond/status"))["acceptance"]

    (counts,) = (await asyncio.to_thread(ask_daemon, paths, "fake")).counts

    assert before.counts == ()
    assert (list(counts.tried), list(counts.accepted)) == (entry["tried"], entry["accepted"])
    assert counts.enough
    assert (await asyncio.to_thread(ask_daemon, paths, "another")).unless == "the daemon runs fake"
