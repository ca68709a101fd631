"""Where the key of a remote engine is from, and that it is shown nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.engine.remote_key import KEY_VARIABLE, read_key
from completiond.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text("  sk-file\n")
    file.chmod(0o600)
    return file


def test_the_environment_comes_before_the_file(file: Path) -> None:
    assert read_key(str(file), {}) == "sk-file"
    assert read_key(str(file), {KEY_VARIABLE: "sk-env"}) == "sk-env"
    assert read_key("", {KEY_VARIABLE: "sk-env"}) == "sk-env"
    assert read_key("", {}) == ""


def test_the_home_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(file.parent))
    assert read_key("~/key", {}) == "sk-file"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_that_others_may_read_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(ConfigError, match="Others may read") as it:
        read_key(str(file), {})
    assert it.value.advice == f"chmod 600 {file}"


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"a\nb", b"h\xc3\xbc", b"x" * 9000, b"\xff\xfe"])
def test_what_is_no_key_is_not_shown(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError) as it:
        read_key(str(file), {})
    assert content.decode("latin-1").strip() not in str(it.value) or not content.strip()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_key(str(tmp_path / "none"), {})
    with pytest.raises(ConfigError, match="whole path"):
        read_key("key", {})
