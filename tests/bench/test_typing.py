"""Someone types at the real server with the real model."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from completiond.bench.typing import CACHES_OFF, run_typing, typing_table
from completiond.bench.typist import Piece

pytestmark = pytest.mark.model

PIECE = Piece("def add(first, second):\n    ret", "urn first + second", "\n\n\nprint(add(1, 2))\n")


ONE_KEY = Piece("DAYS = ['Monday', 'Tuesday', '", "W", "")


def environment(folder: Path) -> dict[str, str]:
    return {"COMPLETIOND_CONFIG_DIR": str(folder), "COMPLETIOND_COMPLETION_MAX_TOKENS": "8"}


@pytest.mark.parametrize("streams", [False, True])
async def test_only_who_asks_for_it_is_told_on_the_way(streams: bool, tmp_path: Path) -> None:
    figures = await run_typing([ONE_KEY], "test", environment(tmp_path), lambda step: None, streams=streams)
    assert len(figures.first_ms) == figures.counters["answered"] == 1
    assert (len(figures.cold_token_ms), figures.token_ms, figures.through_ms) == (int(streams), [], [])
    if streams:
        assert 0.0 < figures.cold_token_ms[0] <= figures.first_ms[0]


async def test_what_is_typed_and_taken_is_the_text(tmp_path: Path) -> None:
    said: list[str] = []
    figures = await run_typing([PIECE], "test", environment(tmp_path), said.append, streams=True)
    assert said == ["test: piece 1 of 1"]
    assert figures.typed_chars + figures.accepted_chars == len(PIECE.text)
    assert figures.keys >= figures.typed_chars > 0
    assert len(figures.answers_ms) + len(figures.first_ms) <= figures.keys
    assert figures.counters["requests"] == figures.keys
    shown = io.StringIO()
    Console(width=80, file=shown).print(typing_table([figures] * 3))
    assert "to the answer, ms, p95" in shown.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown.getvalue(), "it fits into a terminal"


async def test_with_caches_off_nothing_is_served_from_them(tmp_path: Path) -> None:
    figures = await run_typing([PIECE], "off", {**CACHES_OFF, **environment(tmp_path)}, lambda step: None)
    assert figures.counters["cached"] == 0
    assert figures.work["passes"] > 0
