"""What the commands say of a remote engine: the server's model, where it is, and never the key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from completiond.cli import app
from completiond.engine.remote_key import KEY_VARIABLE
from tests.remote_server import KEY, Reply, Server, serving, writes


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server(reply=writes("a + b\n"))) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    for name in [name for name in os.environ if name.startswith("COMPLETIOND_")]:
        monkeypatch.delenv(name)
    for name in ("CACHE", "CONFIG", "RUNTIME", "STATE"):
        monkeypatch.setenv(f"COMPLETIOND_{name}_DIR", str(tmp_path))
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.chdir(tmp_path)
    return CliRunner()


def configure(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(f"[engine]\n{text}\n")


def test_doctor(server: Server, run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, f"remote = '{server.base_url}'")
    done = run.invoke(app, ["doctor"])
    where = server.base_url.removeprefix("http://").removesuffix("/v1")
    assert done.exit_code == 0, done.output
    assert f"the model at {where}" in done.output
    assert f"{where} has big-coder, asked with a key in" in done.output
    assert "suffix; `return ` in a function `add(a, b)` is completed with 'a + b'" in done.output
    assert "lossless" not in done.output
    assert KEY not in done.output


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401), "refuses the key"),
        (Reply(status=400), "set engine.remote_format"),
        (writes("2"), "a server may ignore what comes behind the cursor"),
    ],
)
def test_doctor_says_what_to_do(server: Server, run: CliRunner, tmp_path: Path, reply: Reply, words: str) -> None:
    server.reply = reply
    configure(tmp_path, f"remote = '{server.base_url}'")
    done = run.invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert words in done.output
    assert KEY not in done.output


def test_doctor_without_the_server(run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, f"remote = 'unix:{tmp_path}/none'")
    done = run.invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert f"The server at {tmp_path}/none does not answer." in done.output


def test_complete_in_this_process(server: Server, run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, f"remote = '{server.base_url}'")
    (tmp_path / "a.py").write_text("def add(a, b):\n    return ")
    done = run.invoke(app, ["complete", "a.py", "--at", "return ", "--standalone", "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert (answer["text"], answer["model"]) == ("a + b", "big-coder")


def test_who_names_a_model_wants_it_on_this_machine(server: Server, run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, f"remote = '{server.base_url}'")
    (tmp_path / "a.py").write_text("x = ")
    done = run.invoke(app, ["complete", "a.py", "--line", "1", "--standalone", "--model", str(tmp_path / "none.gguf")])
    assert done.exit_code != 0
    assert "none.gguf" in done.output
    assert not server.asked


def test_config_shows_where_it_is_and_no_key(run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, "remote = 'http://big.example/v1'\nremote_key_file = '/home/me/key'")
    done = run.invoke(app, ["config", "show", "--origin"])
    assert 'remote = "http://big.example/v1"' in done.output
    assert KEY not in done.output
    assert run.invoke(app, ["config", "check"]).exit_code == 0


def test_an_address_with_a_password_is_a_mistake_that_is_not_repeated(run: CliRunner, tmp_path: Path) -> None:
    configure(tmp_path, "remote = 'http://me:hunter2@big.example/v1'")
    done = run.invoke(app, ["config", "check"])
    assert done.exit_code == 1
    assert "engine.remote: may not hold a name or a password" in done.output
    assert "hunter2" not in done.output
