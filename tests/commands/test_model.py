from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
import typer
from typer.testing import CliRunner

import completiond
from completiond.commands.errors import reports_errors
from completiond.commands.model import app
from completiond.errors import ConfigError, DaemonError
from completiond.models.catalog import ModelEntry
from completiond.models.file_digest import FileSpec
from completiond.models.progress import Progress
from completiond.models.source import SourceFailedError

DATA = b"GGUF and a little more"


@dataclass(frozen=True)
class MadeUpSource:
    """Gives ``content``, or fails."""

    content: bytes | None = DATA
    label: str = "a made-up source"

    def bytes_needed(self, spec: FileSpec, staging: Path) -> int:
        return 0

    def fetch(self, spec: FileSpec, staging: Path, progress: Progress) -> Path:
        if self.content is None:
            raise SourceFailedError("it is made up")
        (staging / spec.name).write_bytes(self.content)
        return staging / spec.name


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "xdg").mkdir(mode=0o700)
    monkeypatch.setenv("PYTHONPATH", str(Path(completiond.__file__).parents[1]))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "xdg"))
    for kind in ("CACHE", "CONFIG", "RUNTIME"):
        monkeypatch.setenv(f"COMPLETIOND_{kind}_DIR", str(tmp_path / kind.lower()))
    for name in [name for name in os.environ if name.startswith("COMPLETIOND_MODEL_")]:
        monkeypatch.delenv(name)
    return tmp_path


def use_catalogue(monkeypatch: pytest.MonkeyPatch, source: MadeUpSource, name: str = "tiny") -> None:
    spec = FileSpec(f"{name}.gguf", len(DATA), hashlib.sha256(DATA).hexdigest())
    entry = ModelEntry(name, "a made-up model", "Apache-2.0", False, spec, (source,))
    monkeypatch.setattr("completiond.models.catalog.CATALOGUE", MappingProxyType({name: entry}))


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def states() -> dict[str, str]:
    code, out, _ = run("list", "--json")
    assert code == 0
    return {row["name"]: row["state"] for row in json.loads(out)}


def test_a_model_from_missing_to_ready_to_corrupt_and_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, MadeUpSource())
    file = home / "cache" / "models" / "tiny" / "tiny.gguf"
    assert states() == {"tiny": "missing"}
    code, out, err = run("path", "tiny")
    assert (code, out) == (1, "")
    assert err == "completiond: tiny is not on this machine. Run `completiond model pull tiny`.\n"

    code, out, err = run("pull", "tiny")
    assert (code, out) == (0, f"tiny is ready: {file}\n")
    assert err == "source: a made-up source\n"
    assert states() == {"tiny": "ready"}
    assert run("path", "tiny") == (0, f"{file}\n", "")
    assert run("verify", "tiny") == (0, f"tiny is whole: {file}\n", "")

    file.write_bytes(DATA[:10])
    assert states() == {"tiny": "corrupt"}
    code, out, err = run("verify", "tiny")
    assert (code, out) == (1, "")
    assert err == (
        f"completiond: {file} is corrupt: truncated at 10 of 22 bytes. "
        "Run `completiond model pull tiny` to replace it.\n"
    )
    assert run("pull", "tiny")[0] == 0
    assert states() == {"tiny": "ready"}


def test_an_unfinished_pull_is_listed_as_partial(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, MadeUpSource())
    staging = home / "cache" / "models" / "tiny.partial"
    staging.mkdir(parents=True)
    (staging / "tiny.gguf").write_bytes(b"GGUF")
    assert states() == {"tiny": "partial"}
    assert "its download was interrupted" in run("path", "tiny")[2]


def test_the_table_shows_every_model(home: Path) -> None:
    code, out, _ = run("list")
    assert code == 0
    for text in ("qwen2.5-coder-0.5b", "491.4 MB", "FIM", "smollm2-135m", "prefix-only", "missing", "Apache-2.0"):
        assert text in out


def test_without_a_name_the_configured_model_is_meant(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, MadeUpSource(), "other")
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text('[model]\nname = "other"\n')
    assert run("pull")[:2] == (0, f"other is ready: {home / 'cache' / 'models' / 'other' / 'other.gguf'}\n")
    assert run("path")[0] == 0
    assert run("verify")[0] == 0


def test_exit_statuses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, MadeUpSource(None))
    for verb in ("pull", "path", "verify"):
        code, out, err = run(verb, "tini")
        assert (code, out) == (2, "")
        assert err.startswith("completiond: No model is called 'tini'. Did you mean tiny?")
        assert err.count("\n") == 1
    code, out, err = run("pull", "tiny")
    assert (code, out) == (1, "")
    assert "No source gave tiny: a made-up source: it is made up." in err.splitlines()[-1]
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text("[model]\nnome = 1\n")
    _, _, err = run("pull")
    assert err.startswith(f"completiond: {home}/config/config.toml:2: model.nome is not a setting.")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ConfigError("Bad\nvalue.", "Mend it."), 2, "completiond: Bad value. Mend it.\n"),
        (DaemonError("Gone."), 1, "completiond: Gone.\n"),
        (KeyboardInterrupt(), 130, "completiond: interrupted.\n"),
    ],
)
def test_reports_errors(error: BaseException, code: int, text: str) -> None:
    program = typer.Typer()

    @program.command()
    @reports_errors
    def fail_now() -> None:
        raise error

    result = CliRunner().invoke(program)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", text)


def test_reports_errors_lets_bugs_through() -> None:
    @reports_errors
    def buggy() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        buggy()


HEEDS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""Python ignores the signal where its parent did, as in tests that a shell started in the background."""
PROGRAM = "from completiond.commands.model import app; app(prog_name='completiond model')"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["path"], 1, "completiond: qwen2.5-coder-0.5b is not on this machine."),
        (["path", "no-such"], 2, "completiond: No model is called 'no-such'."),
        (["path", "./gone"], 2, "completiond: There is no file or folder "),
    ],
)
def test_the_real_program(home: Path, arguments: list[str], code: int, text: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False, cwd=home
    )
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith(text)
    assert result.stderr.count("\n") == 1


def test_ctrl_c_stops_a_pull_with_one_clear_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", url)
        with subprocess.Popen(
            [sys.executable, "-c", HEEDS_CTRL_C + PROGRAM, "pull", "smollm2-135m"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            connection, _ = silent.accept()  # pip is asking
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            with connection:
                connection.settimeout(5)
                while connection.recv(4096):  # and is gone with the program
                    pass
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == (
        "completiond: interrupted. What has arrived is kept: `completiond model pull smollm2-135m` goes on from there."
    )
    assert "Traceback" not in err
