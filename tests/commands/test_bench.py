"""The benchmarks as commands: a table for people, one last line of JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from completiond.cli import app

pytestmark = pytest.mark.model


def test_engine(tiny_model: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "engine", "--json", "--model", "smollm2-135m", "--context", "64"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert list(figures["pass_ms"]) == ["1", "2", "4", "8", "16", "32", "64", "256"]
    assert all(pass_ms > 0 for pass_ms in figures["pass_ms"].values())
    for key in ("prefill_tokens_per_s", "plain_ms_per_token", "rss_mb"):
        assert figures[key] > 0
    assert (figures["device"], figures["dtype"], figures["model"]) == ("cpu", "int8", "smollm2-135m")


def test_engine_context_that_does_not_fit(tiny_model: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "engine", "--model", "smollm2-135m", "--context", "99999"])
    assert result.exit_code == 2
    assert "--context 99999 leaves no room" in result.stderr


def test_lossless(tiny_model: Path) -> None:
    arguments = ["bench", "lossless", "--model", "smollm2-135m", "--prompts", "2", "--tokens", "12"]
    arguments += ["--drafter", "ngram", "--drafter", "lookahead"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    table, last = result.stdout.rstrip("\n").rsplit("\n", 1)
    assert "prefix-only" in table
    figures = json.loads(last)
    assert figures["equal"] == figures["compared"] == 8
    assert figures["max_logit_difference"] == 0
    assert figures["exact"] is True
