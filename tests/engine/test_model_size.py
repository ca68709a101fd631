"""What is reckoned from a model's shape, against what the loaded objects occupy."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.load import load_model
from completiond.engine.model_size import ModelSize
from completiond.engine.transformers_model import TransformersModel
from tests.engine.random_models import ARCHITECTURES, make_folder
from tests.train.small import make_model


def tensors_of(held: object) -> list[Tensor]:
    """All tensors in a structure of dataclasses and tuples."""
    if isinstance(held, Tensor):
        return [held]
    parts: list[object] = list(held) if isinstance(held, tuple) else []
    if is_dataclass(held):
        parts = [getattr(held, field.name) for field in fields(held)]
    return [tensor for part in parts for tensor in tensors_of(part)]


def bytes_of(held: object) -> int:
    """Each tensor once, however often it is used."""
    return sum({id(t): t.numel() * t.element_size() for t in tensors_of(held)}.values())


def load(folder: Path, dtype: str, scratch: Path) -> tuple[Decoder, list[ModelSize]]:
    sizes: list[ModelSize] = []
    settings = ModelConfig.model_validate({"device": "cpu", "dtype": dtype})
    target = load_model(folder, settings, scratch, lambda share, what: None, sizes.append).target
    assert isinstance(target, Decoder)
    return target, sizes


@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_weights_and_cache_are_as_reckoned(architecture: str, dtype: str, tmp_path: Path) -> None:
    target, sizes = load(make_folder(tmp_path / "model", architecture), dtype, tmp_path / "prepared")
    found = bytes_of(target.weights)

    # To the byte; in a build of torch without packed products, int8 ones have no zero points.
    assert sizes[-1].weights == pytest.approx(found, rel=0.06)
    for tokens in (64, 500, 512):
        assert sizes[-1].cache(tokens) == target.new_cache(tokens).size_bytes


@pytest.mark.model
def test_so_are_those_of_a_real_model(default_completer: Completer) -> None:
    target = default_completer.target
    size = ModelSize.of_decoder(target.shape, "int8", torch.device("cpu"))
    assert size.weights == pytest.approx(bytes_of(target.weights), rel=0.01)
    assert size.cache(2048) == default_completer.kv.size_bytes  # type: ignore[attr-defined]


def test_the_size_is_told_before_weights_are_read_and_before_they_are_loaded(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "qwen2")
    _, sizes = load(folder, "int8", tmp_path / "prepared")
    assert [size.preparing > 0 for size in sizes] == [True, False]
    _, sizes = load(folder, "int8", tmp_path / "prepared")
    assert [size.preparing for size in sizes] == [0], "prepared before"
    _, sizes = load(folder, "float32", tmp_path / "prepared")
    assert [size.preparing > 0 for size in sizes] == [True], "converted each time"


def test_what_the_check_raises_passes_and_nothing_is_prepared_then(tmp_path: Path) -> None:
    def refuse(size: ModelSize) -> None:
        raise ValueError("too large")  # of the kind that damaged weights raise

    folder, scratch = make_folder(tmp_path / "model", "qwen2"), tmp_path / "prepared"
    settings = ModelConfig(device="cpu")
    with pytest.raises(ValueError, match="too large"):
        load_model(folder, settings, scratch, lambda share, what: None, refuse)
    assert not scratch.exists()
    load(folder, "int8", scratch)
    with pytest.raises(ValueError, match="too large"):
        load_model(folder, settings, scratch, lambda share, what: None, refuse)
    assert next(scratch.glob("*/model.safetensors")).is_file(), "not taken for damage"


def test_a_model_of_another_architecture_is_reckoned_by_its_number_of_weights(tmp_path: Path) -> None:
    sizes: list[ModelSize] = []
    settings = ModelConfig(device="cpu")
    folder = make_folder(tmp_path / "model", "gpt2")
    target = load_model(folder, settings, tmp_path / "prepared", lambda share, what: None, sizes.append).target
    assert isinstance(target, TransformersModel)
    parameters = sum(p.numel() * p.element_size() for p in target._model.parameters())
    assert sizes[0].weights == pytest.approx(parameters, rel=0.01)


PREPARE = """
import re, resource, sys
from pathlib import Path
import torch
from completiond.engine.load import PREPARING_BYTES_PER_WEIGHT
from completiond.engine.model_size import ModelSize
from completiond.engine.out_of_memory import is_out_of_memory
from completiond.engine.prepare import prepare
from completiond.engine.shape import DecoderShape
from completiond.engine.source import open_source
folder, prepared, share = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
torch.set_num_threads(1)
source = open_source(folder)
shape = DecoderShape.from_config(source.config)
size = ModelSize.of_decoder(shape, "int8", torch.device("cpu"), PREPARING_BYTES_PER_WEIGHT)
used = int(re.search(r"VmData:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
# What is mapped counts too, though the kernel can take it back: of a file for each tensor, two at a time.
mapped = 2 * max(file.stat().st_size for file in folder.glob("*.safetensors"))
limit = used + mapped + int(share * size.preparing)
resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
try:
    prepare(source, "int8", prepared, lambda *_: None)
    print("prepared")
except Exception as error:
    if not is_out_of_memory(error):
        raise
    print("out of memory")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not say what a process has")
@pytest.mark.parametrize(("share", "outcome"), [(1.0, "prepared"), (0.3, "out of memory")])
def test_converting_takes_what_was_reckoned_and_not_a_fraction_of_it(
    share: float, outcome: str, tmp_path: Path
) -> None:
    """A real process, which is given a share of it by the kernel."""
    folder, prepared = make_model(tmp_path / "model", intermediate_size=32768), tmp_path / "prepared" / "model"
    for name, tensor in load_file(folder / "model.safetensors").items():
        save_file({name: tensor}, folder / f"{name}.safetensors")
    (folder / "model.safetensors").unlink()
    child = subprocess.run(
        [sys.executable, "-c", PREPARE, str(folder), str(prepared), str(share)],
        # The C library then gives back at once what is freed, as it does with the tensors of larger models.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}, capture_output=True, text=True,
    )  # fmt: skip
    assert child.stdout == f"{outcome}\n", child.stderr
    assert prepared.exists() == (outcome == "prepared")
    assert not list(prepared.parent.glob("*.partial"))
