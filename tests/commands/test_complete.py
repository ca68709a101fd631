"""``completiond complete`` as a user runs it: real process, real daemon, real default model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.reasons import REASONS
from completiond.lock import holder_pid
from completiond.paths import Paths

pytestmark = pytest.mark.model

SOURCE = '''"""Shapes."""

import math


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2

    def scale(self, factor):
        self.radius *= factor


class Square:
    def __init__(self, side):
        self.side = side

    def area(self):
        return
'''
KEYS = {
    "text", "tokens", "token_ids", "prompt_tokens", "cached_tokens", "ttft_ms", "ms_per_token", "passes", "drafted",
    "accepted", "by_drafter", "stop_reason", "model", "device",
}  # fmt: skip

OFF_CODE = "off: completion.disabled_languages"
GLOB_CODE = "excluded: repository_glob"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def paths(default_model: Path, model_paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("c")
    return Paths(model_paths.cache_dir, folder / "config", Path(f"/tmp/cpd-{os.getpid()}"), folder / "state")


@pytest.fixture(scope="module")
def run(paths: Paths) -> Iterator[Run]:
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "completiond", *arguments],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={
                **os.environ,
                "COMPLETIOND_CACHE_DIR": str(paths.cache_dir),
                "COMPLETIOND_CONFIG_DIR": str(paths.config_dir),
                "COMPLETIOND_RUNTIME_DIR": str(paths.runtime_dir),
                **environment,
            },
        )

    yield run
    run("stop")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def parsed(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_the_second_call_finds_a_hot_model(run: Run, file: Path, paths: Paths) -> None:
    first = parsed(
        run("complete", str(file), "--at", r"self\.side = side\n\n    def area\(self\):\n        return", "--json")
    )
    assert set(first) >= KEYS
    assert "self.side ** 2" in first["text"]
    assert first["tokens"] == len(first["token_ids"]) > 3
    pid = holder_pid(paths.lock)
    assert pid

    second = parsed(run("complete", str(file), "--line", "22", "--col", "14", "--json"))
    assert second["text"] == first["text"]
    assert second["cached_tokens"] == second["prompt_tokens"] - 1, "the same prompt is not read again"
    assert holder_pid(paths.lock) == pid


def test_drafters_and_streaming_do_not_change_the_answer(run: Run, file: Path) -> None:
    place = ("complete", str(file), "--at", "class Square:\n", "--temperature", "0.8")
    plain = parsed(run(*place, "--seed", "7", "--drafter", "none", "--json"))
    drafted = parsed(run(*place, "--seed", "7", "--drafter", "ngram", "--json"))
    assert drafted["token_ids"] == plain["token_ids"]
    assert plain["drafted"] == 0
    streamed = run(*place, "--seed", "7", "--stream")
    assert streamed.stdout.rstrip("\n") == plain["text"]
    lines = run(*place, "--seed", "7", "--stream", "--json").stdout.splitlines()
    assert "".join(json.loads(line)["chunk"] for line in lines[:-1]) == plain["text"]
    assert json.loads(lines[-1])["token_ids"] == plain["token_ids"]


def test_max_tokens_ends_it(run: Run, file: Path) -> None:
    answer = parsed(run("complete", str(file), "--at", "class Square:\n", "--max-tokens", "2", "--json"))
    assert answer["tokens"] <= 2
    assert answer["passes"] <= 2


def test_a_killed_daemon_is_replaced(run: Run, file: Path, paths: Paths) -> None:
    place = ("complete", str(file), "--line", "22", "--json")
    before = parsed(run(*place))
    pid = holder_pid(paths.lock)
    assert pid
    os.kill(pid, signal.SIGKILL)
    after = parsed(run(*place))
    assert after["token_ids"] == before["token_ids"]
    assert holder_pid(paths.lock) not in (None, pid)


def test_another_model_than_the_daemon_s_is_refused(run: Run, file: Path, tiny_model: Path) -> None:
    parsed(run("complete", str(file), "--line", "22", "--json"))
    result = run("complete", str(file), "--line", "22", "--model", "smollm2-135m")
    assert result.returncode == 1
    assert "completiond stop" in result.stderr


def test_standalone_needs_no_daemon(run: Run, file: Path, tiny_model: Path, tmp_path: Path) -> None:
    runtime = tmp_path / "r"
    answer = parsed(
        run("complete", str(file), "--line", "22", "--json", "--standalone", "--model", "smollm2-135m",
            COMPLETIOND_RUNTIME_DIR=str(runtime))
    )  # fmt: skip
    assert answer["model"] == "smollm2-135m"
    assert not (runtime / "daemon.sock").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["missing.py", "--line", "1"], "There is no file missing.py"),
        (["{file}", "--line", "99"], "--line 99 is outside"),
        (["{file}", "--line", "0"], "--line 0 is outside"),
        (["{file}", "--line", "1", "--col", "500"], "--col 500 is outside line 1"),
        (["{file}"], "Where in the file?"),
        (["{file}", "--at", "(unclosed"], "not a regular expression"),
        (["{file}", "--at", "nowhere to be found"], "matches nowhere"),
        (["{file}", "--line", "1", "--model", "qwen2.5-codr"], "qwen2.5-codr"),
        (["{file}", "--line", "1", "--drafter", "magic"], "--drafter magic is not known"),
        (["{file}", "--line", "1", "--temperature", "-1"], "temperature is -1.0"),
        (["{binary}", "--line", "1"], "is not UTF-8"),
        (["/dev/zero", "--line", "1"], "/dev/zero is not a regular file"),
        (["{file}", "--at", "def", "--line", "1"], "both name a place"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], complaint: str, run: Run, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe")
    names = {"file": str(file), "binary": str(tmp_path / "binary")}
    result = run("complete", *(argument.format(**names) for argument in arguments))
    assert result.returncode == 2
    assert complaint in result.stderr
    assert result.stderr.startswith("completiond: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_bad_settings_name_the_file_and_the_key_and_cost_no_answer(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[model]\nnme = 'x'\n")
    (file.parent / ".completiond.toml").write_text("[model]\nname = 'x'\n")
    result = run("complete", str(file), "--line", "1", COMPLETIOND_CONFIG_DIR=str(tmp_path))
    assert result.returncode == 0
    first, second = result.stderr.splitlines()[:2]
    assert first.endswith("config.toml:2: model.nme is not a setting. Did you mean model.name?")
    assert second.endswith(".completiond.toml:2: model.name cannot be set by a repository, and is ignored.")
    result = run("complete", str(file), "--line", "1", COMPLETIOND_COMPLETION_MAX_TOKENS="many")
    assert result.returncode == 0
    assert "COMPLETIOND_COMPLETION_MAX_TOKENS" in result.stderr


@pytest.mark.parametrize("options", [(), ("--standalone",)])
def test_a_repository_can_turn_answers_off(run: Run, file: Path, options: tuple[str, ...]) -> None:
    settings = file.parent / ".completiond.toml"
    settings.write_text("[completion]\ndisabled_languages = ['python']\n")
    result = run("complete", str(file), "--line", "1", *options)
    assert (result.returncode, result.stdout.strip()) == (0, "")
    assert result.stderr == f"no suggestion ({OFF_CODE}): {REASONS[OFF_CODE]}\n"
    settings.write_text("[exclude]\nglobs = ['*.py']\n")
    result = run("complete", str(file), "--line", "1", *options)
    assert (result.returncode, result.stdout.strip()) == (0, "")
    assert result.stderr == f"no suggestion ({GLOB_CODE}): {REASONS[GLOB_CODE]}\n"


def test_a_setting_in_the_environment_that_the_daemon_lacks_is_told(run: Run, file: Path) -> None:
    place = ("complete", str(file), "--line", "21")
    quiet = run(*place)
    assert "does not count" not in quiet.stderr
    done = run(*place, COMPLETIOND_COMPLETION_MAX_TOKENS="3")
    assert done.returncode == 0
    assert done.stdout == quiet.stdout
    assert "COMPLETIOND_COMPLETION_MAX_TOKENS=3 does not count: the daemon was started without it" in done.stderr


def test_a_misspelled_setting_in_the_environment_is_told(run: Run, file: Path) -> None:
    result = run("complete", str(file), "--line", "1", COMPLETIOND_MODEL_NMAE="x")
    assert result.returncode == 0
    assert "COMPLETIOND_MODEL_NMAE is not a setting. Did you mean COMPLETIOND_MODEL_NAME?" in result.stderr


def test_a_full_output_is_one_clear_line(run: Run, file: Path) -> None:
    command = [sys.executable, "-m", "completiond", "model", "path", "qwen2.5-coder-0.5b"]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "completiond: No space left on device.\n"


def test_without_a_model_the_message_says_what_to_do(run: Run, file: Path, tmp_path: Path) -> None:
    result = run("complete", str(file), "--line", "22", COMPLETIOND_CACHE_DIR=str(tmp_path / "empty"))
    assert result.returncode == 1
    assert "completiond model pull" in result.stderr
    assert result.stderr.count("\n") == 1


def test_columns_are_utf16_units(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    path = tmp_path / "emoji.py"
    path.write_text('x = "🎉🎉"; y = \n', encoding="utf-8")
    inside = run("complete", str(path), "--line", "1", "--col", "99")
    assert "which has 16 columns" in inside.stderr
