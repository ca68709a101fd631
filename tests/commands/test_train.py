"""``completiond train``: what it refuses, what Ctrl-C leaves, and a run from end to end on a small model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from completiond.cli import app as whole_app
from completiond.commands.train import app
from completiond.train.loss import unrolled_loss
from completiond.train.plan import HeadKind, TrainPlan
from tests.train.small import Clock, code, make_model, make_repositories, small_plan, write


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its name has a point in it, as that of the default model has."""
    return make_model(tmp_path_factory.mktemp("models") / "small-0.5b")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("COMPLETIOND_")]:
        monkeypatch.delenv(name)
    for kind in ("CACHE", "CONFIG", "RUNTIME"):
        monkeypatch.setenv(f"COMPLETIOND_{kind}_DIR", str(tmp_path / kind.lower()))
    monkeypatch.setenv("COMPLETIOND_MODEL_DEVICE", "cpu")
    monkeypatch.setenv("COMPLETIOND_MODEL_THREADS", "1")
    monkeypatch.setattr(os, "nice", lambda increment: increment)
    return tmp_path


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """The command sets how many torch uses, for the whole process. A small model is fastest with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a few batches, whatever is asked for; each look at the clock takes a second."""
    clock = Clock()
    monkeypatch.setattr("completiond.train.trainer.time", SimpleNamespace(monotonic=clock, perf_counter=clock))
    monkeypatch.setattr("completiond.train.trainer.faster_type", lambda: None)
    monkeypatch.setattr("completiond.train.run.time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr("completiond.train.card.TOKENS", 8)

    def plan(
        kind: HeadKind, folder: Path, hours: float, draft_vocab_size: int, max_tokens: int, start: Path | None
    ) -> TrainPlan:
        assert (hours, draft_vocab_size, max_tokens, start) == (0.5, 300, 20_000, None)
        return small_plan(kind, folder)

    monkeypatch.setattr("completiond.commands.train.TrainPlan", plan)


SIZES = ("--hours", "0.5", "--draft-vocab", "300", "--max-tokens", "20000")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.stderr
    return result.exit_code, result.stdout, result.stderr


def refused(*arguments: str | Path) -> str:
    """The one line that says why."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("completiond: ")
    return err


@pytest.mark.parametrize("kind", ["eagle", "medusa"])
def test_help(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = run(kind, "--help")
    assert (code, err) == (0, "")
    for option in ("--data", "--model", "--out", "--hours", "--resume", "--max-tokens", "--draft-vocab"):
        assert option in out


def test_it_is_a_command_of_the_program() -> None:
    result = CliRunner().invoke(whole_app, ["train", "--help"])
    assert result.exit_code == 0
    assert "eagle" in result.stdout
    assert "medusa" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "--data"),
        (["--data", ".", "--hours", "0"], "--hours"),
        (["--data", ".", "--draft-vocab", "5"], "--draft-vocab"),
        (["--data", ".", "--max-tokens", "5"], "--max-tokens"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], text: str) -> None:
    code, out, err = run("eagle", *arguments)
    assert (code, out) == (2, "")
    assert text in err


def test_bad_paths_are_named(home: Path, model: Path) -> None:
    write(home, {"file.py": code(1), "a/x.py": code(2), "b/x.py": code(3)})
    for name in ("missing", "file.py"):
        err = refused("eagle", "--model", model, "--data", home / "a", "--data", home / name)
        assert err == f"completiond: {home / name} is not a folder. Give folders of source code.\n"
    assert not (home / "cache" / "heads").exists()


def test_a_head_to_go_on_from(home: Path, model: Path) -> None:
    make_repositories(home / "code")
    command = ("eagle", "--model", model, "--data", home / "code", "--from")
    assert "No head is shipped for this model. Leave out --from." in refused(*command, "shipped")
    assert "has its own vocabulary. Leave out --draft-vocab." in refused(*command, home, "--draft-vocab", "300")
    code, _, err = run(*command, home / "code")
    assert code == 1
    assert f"{home / 'code'} holds no drafting head" in err


@pytest.mark.parametrize("kind", ["eagle", "medusa"])
def test_one_repository_is_not_enough(home: Path, model: Path, kind: str) -> None:
    write(home / "only", {"setup.py": code(1), "inner/x.py": code(2)})
    err = refused(kind, "--model", model, "--data", home / "only")
    assert "There is one repository with code, and one has to be held out" in err


def test_a_model_that_is_not_there(home: Path) -> None:
    make_repositories(home / "code")
    assert "No model is called 'no-such'" in refused("eagle", "--model", "no-such", "--data", home / "code")
    code, out, err = run("eagle", "--data", home / "code")
    assert (code, out) == (1, "")
    assert err == (
        "completiond: qwen2.5-coder-0.5b is not on this machine. Run `completiond model pull qwen2.5-coder-0.5b`.\n"
    )


def test_an_existing_run_is_not_overwritten(home: Path, model: Path, short_work: None) -> None:
    make_repositories(home / "code")
    own, default = home / "own", home / "cache" / "heads" / "small-0.5b-medusa"
    places: dict[Path, list[str | Path]] = {own: ["--out", own], default: []}
    for folder, arguments in places.items():
        (folder / "work").mkdir(parents=True)
        err = refused("medusa", "--model", model, "--data", home / "code", *SIZES, *arguments)
        assert err == f"completiond: {folder} holds a run already. Go on with it by --resume, or give another --out.\n"


def test_a_bad_setting_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLETIOND_MODEL_NOME", "x")
    assert "COMPLETIOND_MODEL_NOME is not a setting." in refused("eagle", "--data", home)


def test_no_room_is_one_line(home: Path, model: Path, short_work: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repositories(home / "code")
    monkeypatch.setattr("completiond.train.plan.free_bytes", lambda folder: 1000)
    code, out, err = run("eagle", "--model", model, "--data", home / "code", *SIZES)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("completiond: Features of ")
    assert "1.0 kB are free." in err


def test_from_source_code_to_a_head_through_ctrl_c(
    home: Path, model: Path, short_work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repositories(home / "code", ("[bat]", "bee", "cat"))
    monkeypatch.chdir(home)
    command = ("eagle", "--model", model, "--data", home / "code", "--out", "my/head", *SIZES)
    folder, calls = home / "my" / "head", []

    def interrupted(*arguments: Any) -> Tensor:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return unrolled_loss(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("completiond.train.trainer.unrolled_loss", interrupted)
        code, out, err = run(*command)
    assert (code, out) == (130, "")
    assert err.splitlines()[0] == "2 repositories to learn from; held out to measure on: [bat]"
    assert err.splitlines()[-1] == "completiond: interrupted. What was done is kept: add --resume to go on."
    assert (folder / "work" / "features" / "000000.safetensors").is_file()
    assert (folder / "work" / "checkpoint.pt").is_file()
    assert not (folder / "model.safetensors").exists()
    assert "holds a run already" in refused(*command)

    code, out, err = run(*command, "--resume")
    assert code == 0
    assert "going on after 0 minutes of training" in err
    assert "counting tokens" not in err
    assert out.startswith("# EAGLE-3 head for ")
    assert out == (folder / "card.md").read_text() + (
        f'\nThe head is in {folder}. To use it, set in config.toml under [spec]: eagle_head = "{folder}"\n'
    )
    assert "Held out: [bat].\n\nTrained on: " in out
    assert (folder / "model.safetensors").is_file()
