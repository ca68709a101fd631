"""Files of a run: whole or not at all, and a full disk said in the system's words."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import torch

from completiond.train.files import checkpoint_bytes, write_whole


def test_it_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", "{}é")
    write_whole(tmp_path / "b.bin", bytes(5000))
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "{}é"
    assert (tmp_path / "b.bin").read_bytes() == bytes(5000)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    write_whole(file, b"the last one")
    (tmp_path / "checkpoint.pt.partial").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised:
        write_whole(file, checkpoint_bytes({"net": torch.zeros(1000)}))
    assert raised.value.errno == errno.ENOSPC
    assert file.read_bytes() == b"the last one"
    assert list(tmp_path.iterdir()) == [file]


def test_a_checkpoint_is_read_again(tmp_path: Path) -> None:
    write_whole(tmp_path / "checkpoint.pt", checkpoint_bytes({"net": torch.arange(3)}))
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["net"].tolist() == [0, 1, 2]
