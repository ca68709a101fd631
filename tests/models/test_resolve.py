from __future__ import annotations

import os
from pathlib import Path

import pytest

from completiond.errors import ModelCorruptError, ModelError, ModelMissingError, UnknownModelError, UsageError
from completiond.models.catalog import ModelEntry
from completiond.models.fetch import pull
from completiond.models.model_name import HubRepo, LocalModel, parse_model_name
from completiond.models.resolve import model_state, resolve, verify
from completiond.paths import Paths
from tests.models.wheelhouse import gguf_parts, make_entry, make_paths, sha256, use_catalogue

DATA = b"".join(gguf_parts())


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_paths(tmp_path)


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> ModelEntry:
    tiny = make_entry(DATA)
    use_catalogue(monkeypatch, tiny)
    return tiny


@pytest.fixture
def file(paths: Paths, entry: ModelEntry) -> Path:
    path = entry.path(paths.models_dir)
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    return path


def test_a_file_put_there_by_hand_is_measured_once(
    paths: Paths, file: Path, entry: ModelEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve("tiny", paths) == file
    monkeypatch.setattr("completiond.models.file_digest.measure_sha256", None)  # would fail if called
    assert resolve("tiny", paths) == file
    assert model_state(entry, paths).kind == "ready"


def test_a_truncated_file_is_refused_with_the_reason(paths: Paths, file: Path) -> None:
    assert verify("tiny", paths) == file
    os.truncate(file, 40_000)
    for check in (resolve, verify):
        with pytest.raises(ModelCorruptError) as caught:
            check("tiny", paths)
        assert "is corrupt: truncated at 40,000 of 60,000 bytes." in caught.value.message
        assert caught.value.advice == "Run `completiond model pull tiny` to replace it."


def test_an_altered_file_is_refused_without_hashing_it_twice(
    paths: Paths, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("tiny", paths)
    altered = DATA[:-1] + bytes([DATA[-1] ^ 1])
    file.write_bytes(altered)
    with pytest.raises(ModelCorruptError, match=f"its SHA-256 is {sha256(altered)} instead of {sha256(DATA)}"):
        resolve("tiny", paths)
    monkeypatch.setattr("completiond.models.file_digest.measure_sha256", None)
    with pytest.raises(ModelCorruptError, match="instead of"):
        resolve("tiny", paths)


def test_verify_sees_an_alteration_that_keeps_size_and_time(paths: Paths, file: Path) -> None:
    resolve("tiny", paths)
    info = file.stat()
    file.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    with pytest.raises(ModelCorruptError, match="instead of"):
        verify("tiny", paths)
    with pytest.raises(ModelCorruptError, match="instead of"):
        resolve("tiny", paths)


def test_a_touched_file_is_measured_again_and_accepted(paths: Paths, file: Path) -> None:
    resolve("tiny", paths)
    file.touch()
    assert resolve("tiny", paths) == file


@pytest.mark.parametrize("record", ["", "{", "[]", '{"size_bytes": 1}', "\x00"])
def test_a_broken_record_counts_as_none(paths: Paths, file: Path, record: str) -> None:
    file.with_name(f".{file.name}.digest.json").write_text(record)
    assert resolve("tiny", paths) == file


def test_a_model_that_cannot_be_read_is_no_traceback(paths: Paths, file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "odd").mkdir()
    with pytest.raises(ModelError):
        resolve("tiny", paths)


def test_unknown_names_list_the_known_ones(paths: Paths) -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve("qwen2.5-codr", paths)
    assert caught.value.exit_status == 2
    assert caught.value.advice.startswith("Did you mean qwen2.5-coder-0.5b?")
    assert "smollm2-135m" in caught.value.advice


@pytest.mark.parametrize("name", ["", "..", "a/b/c", "../x/../..", "own er/name", "owner/..", "owner/-x", "x\n/y"])
def test_odd_names_are_unknown(paths: Paths, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for call in (resolve, pull):
        with pytest.raises(UnknownModelError):
            call(name, paths)


def test_a_hub_id_is_one_only_when_no_such_folder_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_model_name("owner/name") == HubRepo("owner/name")
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert parse_model_name("owner/name") == LocalModel(tmp_path / "owner" / "name")


def test_a_hub_id_that_was_never_pulled_is_missing(paths: Paths) -> None:
    with pytest.raises(ModelMissingError, match="completiond model pull owner/name"):
        resolve("owner/name", paths)


def test_local_files_and_folders(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(UnknownModelError, match="is not a model"):
        resolve(str(folder), paths)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert resolve("./mine", paths) == folder
    assert pull("./mine", paths) == folder
    with pytest.raises(UsageError, match="No digest is known"):
        verify("./mine", paths)
    (tmp_path / "m.gguf").write_bytes(DATA)
    assert resolve("m.gguf", paths) == tmp_path / "m.gguf"
    (tmp_path / "m.gguf").write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ModelCorruptError, match="not a GGUF file"):
        resolve("m.gguf", paths)
    with pytest.raises(UnknownModelError, match="There is no file or folder"):
        resolve("gone.gguf", paths)


def test_a_folder_with_one_gguf_file_means_that_file(paths: Paths, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.gguf").write_bytes(DATA)
    assert resolve(str(folder), paths) == folder / "a.gguf"
    (folder / "b.gguf").write_bytes(DATA)
    with pytest.raises(UnknownModelError, match=r"holds 2 \.gguf files"):
        resolve(str(folder), paths)
