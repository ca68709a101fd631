"""Files of a run: whole or not at all, and a full disk said in the system's words."""

from __future__ import annotations

import errno
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from completiond.train.files import checkpoint_bytes, write_whole


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond 1000 bytes."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def test_it_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", "{}é")
    write_whole(tmp_path / "b.bin", bytes(5000))
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "{}é"
    assert (tmp_path / "b.bin").read_bytes() == bytes(5000)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    write_whole(file, b"the last one")
    with pytest.raises(OSError, match="File too large") as raised:
        write_whole(file, checkpoint_bytes({"net": torch.zeros(1000)}))
    assert raised.value.errno == errno.EFBIG
    assert file.read_bytes() == b"the last one"
    assert list(tmp_path.iterdir()) == [file]


def test_a_checkpoint_is_read_again(tmp_path: Path) -> None:
    write_whole(tmp_path / "checkpoint.pt", checkpoint_bytes({"net": torch.arange(3)}))
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["net"].tolist() == [0, 1, 2]
