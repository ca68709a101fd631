"""Downloads by the real pip from a folder, and from the real package index."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from completiond.bench.edits.catalogue import HISTORIES, History, Release
from completiond.bench.edits.event import EDIT_KINDS
from completiond.bench.edits.events import generate_events
from completiond.bench.edits.releases import read_release
from completiond.bench.edits.session import EditSession
from completiond.bench.edits.summary import summarise
from completiond.errors import FetchError, SourceUnreachableError, UsageError
from completiond.paths import Paths
from tests.bench.edits.replay import replay_session
from tests.models.wheelhouse import make_paths, unused_url, use_index, use_index_url

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0"}


def make_release(index: Path, project: str, version: str, texts: Mapping[str, str]) -> Release:
    index.mkdir(exist_ok=True)
    info = f"{project}-{version}.dist-info"
    wheel = index / f"{project}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return Release(project, version, hashlib.sha256(wheel.read_bytes()).hexdigest())


def test_a_release_is_downloaded_once_and_nothing_of_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"tiny/__init__.py": "raise SystemExit('imported')\n"}
    release = make_release(tmp_path / "index", "tiny", "1.0", texts)
    use_index(monkeypatch, tmp_path / "index")
    steps: list[str] = []
    assert read_release(release, make_paths(tmp_path), steps.append) == texts
    use_index(monkeypatch, tmp_path / "nowhere")
    assert read_release(release, make_paths(tmp_path), steps.append) == texts
    assert steps == ["downloading tiny==1.0"]
    kept = [path.name for path in (tmp_path / "cache").rglob("*")]
    assert sorted(kept) == ["bench", "releases", "tiny-1.0.whl"], "nothing else is left"


def test_a_wrong_sha256_is_refused_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = make_release(tmp_path / "index", "tiny", "1.0", {"tiny/a.py": "x = 1\n"})
    use_index(monkeypatch, tmp_path / "index")
    expected = Release("tiny", "1.0", "0" * 64)
    with pytest.raises(FetchError, match=f"its SHA-256 is {release.sha256} instead of {'0' * 64}"):
        read_release(expected, make_paths(tmp_path))
    assert not list((tmp_path / "cache").rglob("*.whl"))


def test_a_kept_file_that_was_changed_is_downloaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"tiny/a.py": "x = 1\n"}
    release = make_release(tmp_path / "index", "tiny", "1.0", texts)
    use_index(monkeypatch, tmp_path / "index")
    kept = tmp_path / "cache" / "bench" / "releases" / "tiny-1.0.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"cut short")
    assert read_release(release, make_paths(tmp_path)) == texts
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == release.sha256


def test_offline_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_index_url(monkeypatch, unused_url())
    with pytest.raises(SourceUnreachableError) as caught:
        read_release(Release("tiny", "1.0", "0" * 64), make_paths(tmp_path))
    assert "tiny==1.0: Could not fetch URL" in caught.value.message
    assert "PIP_INDEX_URL" in caught.value.advice


def test_a_folder_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(FetchError, match=r"Downloading tiny==1\.0 stopped"):
        read_release(Release("tiny", "1.0", "0" * 64), make_paths(tmp_path))


@pytest.fixture
def small_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """Two projects, of two and of three releases."""
    histories = []
    for project, num_releases in (("tiny", 2), ("other", 3)):
        releases = []
        for version in range(1, num_releases + 1):
            names = "".join(f"import m{number}\n" for number in range(version))
            calls = "".join(f"call_{number}(m{number})\n\n\nx{number} = {version}\n" for number in range(4))
            releases.append(
                make_release(tmp_path / "index", project, f"{version}.0", {f"{project}/a.py": f"{names}\n\n{calls}"})
            )
        histories.append(History(project, "MIT", tuple(releases)))
    use_index(monkeypatch, tmp_path / "index")
    monkeypatch.setattr("completiond.bench.edits.events.HISTORIES", tuple(histories))
    return make_paths(tmp_path)


def test_each_release_and_the_one_after_it_are_a_session(small_catalogue: Paths) -> None:
    events = list(generate_events(small_catalogue))
    assert list(dict.fromkeys(event.session for event in events)) == [
        "tiny 1.0 -> 2.0",
        "other 1.0 -> 2.0",
        "other 2.0 -> 3.0",
    ]
    assert events == list(generate_events(small_catalogue))
    assert {event.project for event in generate_events(small_catalogue, projects=["other"])} == {"other"}
    with pytest.raises(UsageError, match="No edits of unheard-of"):
        generate_events(small_catalogue, projects=["tiny", "unheard-of"])


def test_a_limit_takes_from_all_classes_and_leaves_out_no_change(small_catalogue: Paths) -> None:
    everything = list(generate_events(small_catalogue))
    assert Counter(event.kind for event in everything) == {"import": 3, "replace": 12}
    few = list(generate_events(small_catalogue, seed=1, limit=4))
    assert Counter(event.kind for event in few) == {"import": 2, "replace": 2}
    assert {event.project for event in few} == {"tiny", "other"}
    assert few == list(generate_events(small_catalogue, seed=1, limit=4))
    positions = {(event.session, event.index): number for number, event in enumerate(everything)}
    before = -1
    for event in few:
        position = positions[event.session, event.index]
        whole = everything[position]
        assert (event.prefix, event.suffix, event.expected) == (whole.prefix, whole.suffix, whole.expected)
        skipped = [item for item in everything[before + 1 : position + 1] if item.session == event.session]
        assert event.changes == tuple(change for item in skipped for change in item.changes)
        before = position
    assert len(list(generate_events(small_catalogue, limit=1000))) == 15


def test_the_summary_counts_every_class(small_catalogue: Paths) -> None:
    summary = summarise(generate_events(small_catalogue))
    assert [item.kind for item in summary.kinds] == list(EDIT_KINDS)
    by_kind = {item.kind: item for item in summary.kinds}
    assert (by_kind["import"].count, by_kind["import"].median_chars) == (3, len("import m1"))
    assert (by_kind["block"].count, by_kind["block"].p90_chars) == (0, 0)
    assert summary.num_by_project == {"other": 10, "tiny": 5}
    assert summary.as_json()["events"] == 15


def test_the_catalogue_is_permissive_and_in_order() -> None:
    assert {history.licence for history in HISTORIES} <= PERMISSIVE
    assert len({history.project for history in HISTORIES}) == len(HISTORIES) >= 5
    for history in HISTORIES:
        assert len(history.releases) >= 2
        for old, new in pairwise(history.releases):
            assert tuple(map(int, old.version.split("."))) < tuple(map(int, new.version.split(".")))
        assert {release.project for release in history.releases} == {history.project}


def test_real_releases_are_replayed_to_the_last_character(model_paths: Paths) -> None:
    history = next(history for history in HISTORIES if history.project == "httpx")
    old, new = (read_release(release, model_paths) for release in history.releases)
    session = EditSession.compare("httpx", "httpx", old, new)
    result = replay_session(session)
    changed = {diff.path for diff in session.diffs}
    assert changed == {path for path in old.keys() & new.keys() if old[path] != new[path]}
    assert result.final_texts == {path: new[path] if path in changed else text for path, text in old.items()}
    assert len(result.events) > 80
    kinds = Counter(event.kind for event in result.events)
    assert {"rename", "signature", "import", "block", "replace", "short"} <= kinds.keys()


def test_the_command_ends_with_a_line_of_json(model_paths: Paths) -> None:
    command = [sys.executable, "-m", "completiond.bench.edits", "--json", "--project", "httpx", "--limit", "30"]
    environment = {**os.environ, "COMPLETIOND_CACHE_DIR": str(model_paths.cache_dir), "COLUMNS": "100"}
    process = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    result = json.loads(process.stdout)
    assert result["events"] == 30
    assert result["projects"] == {"httpx": 30}
    assert "test_copy" in process.stderr
