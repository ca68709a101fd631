"""Preparing and loading weights: once, atomically, with errors that say what to do."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer

from completiond.config import ModelConfig
from completiond.engine.load import choose_device, choose_dtype, choose_threads, load_model
from completiond.engine.out_of_memory import is_out_of_memory
from completiond.errors import ConfigError, ModelCorruptError, ModelUnsupportedError
from tests.engine.random_models import make_folder
from tests.train.small import make_model

LOAD = """
import resource, signal, sys
from pathlib import Path
from completiond.config import ModelConfig
from completiond.engine.load import load_model
from completiond.errors import CompletiondError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    load_model(Path(sys.argv[1]), ModelConfig(device="cpu"), Path(sys.argv[2]), lambda share, what: None)
except CompletiondError as error:
    print(type(error).__name__, error)
"""


LIMITED = """
import resource, sys
from pathlib import Path
from completiond.config import ModelConfig
from completiond.engine.load import load_model
from completiond.engine.out_of_memory import is_out_of_memory
def limit(size):
    if not size.preparing:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20), resource.RLIM_INFINITY))
try:
    load_model(Path(sys.argv[1]), ModelConfig(device="cpu"), Path(sys.argv[2]), lambda *_: None, limit)
except Exception as error:
    print(type(error).__name__, is_out_of_memory(error))
"""


def load(path: Path, scratch: Path) -> list[float]:
    target = load_model(path, ModelConfig(device="cpu"), scratch, lambda share, what: None).target
    logits: list[float] = target.forward([1, 2, 3], target.new_cache(8), 1).logits[0].tolist()
    return logits


def test_weights_are_prepared_once_and_loaded_the_same(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    first = load(folder, scratch)
    prepared = next(scratch.glob("*/model.safetensors"))
    stamp = prepared.stat().st_mtime_ns
    assert load(folder, scratch) == first
    assert prepared.stat().st_mtime_ns == stamp
    assert not list(scratch.glob("*.partial"))


def test_a_changed_model_is_prepared_again(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    first = load(folder, scratch)
    make_folder(folder, "llama")
    assert load(folder, scratch) != first
    assert len(list(scratch.glob("*/model.safetensors"))) == 2


def test_damaged_prepared_weights_are_removed_and_made_again(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    first = load(folder, scratch)
    prepared = next(scratch.glob("*/model.safetensors"))
    content = prepared.read_bytes()
    prepared.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelCorruptError, match="damaged"):
        load(folder, scratch)
    assert load(folder, scratch) == first


def test_a_damaged_tokenizer_is_made_again_too(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    first = load(folder, scratch)
    next(scratch.glob("*/tokenizer.json")).write_text("{")
    with pytest.raises(ModelCorruptError, match="damaged"):
        load(folder, scratch)
    assert load(folder, scratch) == first


def test_several_processes_prepare_at_once(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    command = LOAD.replace("20_000, 20_000", "resource.RLIM_INFINITY, resource.RLIM_INFINITY")
    children = [
        subprocess.Popen([sys.executable, "-c", command, str(folder), str(scratch)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [child.communicate()[0] for child in children] == ["", "", ""]
    assert len(list(scratch.glob("*/model.safetensors"))) == 1
    assert load(folder, scratch)


def test_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    result = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), str(scratch)], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("DiskFullError No room for the prepared weights"), result.stdout + result.stderr
    assert "COMPLETIOND_CACHE_DIR" in result.stdout
    assert [path for path in scratch.iterdir() if path.is_dir()] == []
    assert load(folder, scratch), "with room again it works"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the kernel does not say how large a process is")
def test_memory_that_runs_out_is_an_error_of_its_own(tmp_path: Path) -> None:
    """A real process with too little address space to map the prepared file."""
    folder, scratch = make_model(tmp_path / "model", intermediate_size=4096), tmp_path / "prepared"
    command = [sys.executable, "-c", LIMITED, str(folder), str(scratch)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    kind, is_out_of_memory = result.stdout.split()
    assert (kind != "ModelCorruptError", is_out_of_memory) == (True, "True")
    assert len(list(scratch.glob("*/model.safetensors"))) == 1


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_memory_that_runs_out_is_not_taken_for_damage(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    first = load(folder, scratch)

    def from_file(file: str) -> Tokenizer:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("completiond.engine.load.Tokenizer", SimpleNamespace(from_file=from_file))
        with pytest.raises(ValueError, match=r"tokenizer\.json") as caught:
            load(folder, scratch)
    assert is_out_of_memory(caught.value)
    assert list(scratch.glob("*/model.safetensors")), "still there"
    assert load(folder, scratch) == first


def test_pickles_are_never_read(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "qwen2")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    with pytest.raises(ModelUnsupportedError, match=r"no .safetensors"):
        load(folder, tmp_path / "prepared")


def test_missing_tensors_are_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "qwen2")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 4}))
    with pytest.raises(ModelCorruptError, match=r"model\.layers\.3\.input_layernorm\.weight"):
        load(folder, tmp_path / "prepared")


def test_truncated_safetensors_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "qwen2")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ModelCorruptError, match="cannot be read"):
        load(folder, tmp_path / "prepared")


def test_choices() -> None:
    assert choose_device("cpu").type == "cpu"
    if not torch.cuda.is_available():
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ConfigError, match="no CUDA device"):
            choose_device("cuda")
    assert choose_dtype("auto", torch.device("cpu")) == "int8"
    assert choose_dtype("auto", torch.device("cuda")) == "bfloat16"
    with pytest.raises(ConfigError, match="int8"):
        choose_dtype("int8", torch.device("cuda"))
    assert choose_threads(3) == 3
    assert choose_threads(0) in (1, 2, 4, 8)
