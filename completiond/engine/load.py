"""From a model's name to a target model ready to run: where the device, the dtype and the decoder are chosen."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from completiond.config import ModelConfig
from completiond.engine.model_size import ModelSize
from completiond.engine.out_of_memory import is_out_of_memory
from completiond.engine.prepare import fuse, prepare, prepared_folder, read_config
from completiond.engine.shape import DecoderShape
from completiond.engine.source import WeightSource, open_source
from completiond.engine.target import TargetModel
from completiond.engine.transformers_model import TransformersModel
from completiond.engine.weights import build_decoder
from completiond.errors import ConfigError, ModelCorruptError, ModelError, ModelUnsupportedError
from completiond.models.disk import exclusive

__all__ = ["LoadedModel", "choose_device", "choose_threads", "load_model"]

Progress = Callable[[float, str], None]
log = logging.getLogger(__name__)

PREPARING_BYTES_PER_WEIGHT = 12
"""In float32 as it is read, joined with its neighbours, and divided by its scale."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A target with its tokenizer file's content and the ``config.json`` it came with."""

    target: TargetModel[Any]
    tokenizer: Tokenizer
    config: dict[str, Any]


def choose_device(name: str) -> torch.device:
    """``auto`` is a GPU when there is one. Raises ConfigError when CUDA is asked for and missing."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ConfigError("model.device is cuda, but torch sees no CUDA device.", "Use auto or cpu.")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def choose_threads(asked: int) -> int:
    """CPU threads for torch: ``asked``, or the largest power of two up to 8 that the machine has.

    Elementwise kernels split long rows between threads; with a power of two no split falls inside a vector register,
    so that a row's bits stay independent of its pass (attention.py). Batch-one decoding is bound by memory before 8
    threads.
    """
    if asked:
        return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 << min(3, cores.bit_length() - 1)


def choose_dtype(name: str, device: torch.device) -> str:
    """``auto`` is int8 on a CPU and bfloat16 on a GPU. Raises ConfigError for int8 on a GPU."""
    if name == "auto":
        return "int8" if device.type == "cpu" else "bfloat16"
    if name == "int8" and device.type != "cpu":
        raise ConfigError("model.dtype int8 runs on a CPU only.", "Use bfloat16 or float32 on a GPU.")
    return name


def load_model(
    path: Path,
    settings: ModelConfig,
    prepared_root: Path,
    progress: Progress,
    check_size: Callable[[ModelSize], None] = lambda size: None,
) -> LoadedModel:
    """Load the model at ``path`` (a ``.gguf`` file or a folder), preparing its weights first if that was never done.

    ``progress`` is told the share done, 0.0 to 1.0, and what is being done. ``check_size`` is called before weights are
    read, and once more between preparing and loading them; what it raises passes. Raises the ModelError, DiskFullError
    or ConfigError that says what is wrong.
    """
    device = choose_device(settings.device)
    dtype_name = choose_dtype(settings.dtype, device)
    folder = prepared_folder(prepared_root, path, dtype_name)
    if not (folder / "model.safetensors").is_file():
        source = open_source(path)
        try:
            shape = DecoderShape.from_config(source.config)
        except ModelUnsupportedError as error:
            log.warning("%s Running it through transformers.", error)
            dtype_name = "float32" if dtype_name == "int8" else dtype_name
            check_size(ModelSize.of_other(source.num_weights, dtype_name, device))
            return _load_other(source, device, dtype_name, prepared_root, progress)
        if isinstance(source.path, Path) and source.path.is_dir() and dtype_name != "int8":
            copies = 2 * getattr(torch, dtype_name).itemsize
            check_size(ModelSize.of_decoder(shape, dtype_name, device, copies))
            return _load_unprepared(source, shape, dtype_name, device, prepared_root, progress)
        check_size(ModelSize.of_decoder(shape, dtype_name, device, PREPARING_BYTES_PER_WEIGHT))
        _prepare_once(source, dtype_name, folder, lambda share, what: progress(0.7 * share, what))
    with _removed_if_damaged(folder), safe_open(folder / "model.safetensors", framework="pt") as stored:
        shape = DecoderShape(**json.loads(stored.metadata()["shape"]))
    check_size(ModelSize.of_decoder(shape, dtype_name, device))
    with _removed_if_damaged(folder):
        return _load_prepared(folder, shape, dtype_name, device, lambda share, what: progress(0.7 + 0.3 * share, what))


@contextmanager
def _removed_if_damaged(folder: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, AssertionError) as error:
        if is_out_of_memory(error):
            raise
        # The prepared weights are a cache: throw a broken one away, and make it again at the next start.
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelCorruptError(
            f"The prepared weights in {folder} were damaged ({error}); they have been removed.", "Try again."
        ) from error


def _prepare_once(source: WeightSource, dtype_name: str, folder: Path, progress: Progress) -> None:
    """Prepare ``folder`` unless another process has just done so: of several, one works and the others wait."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.with_name(f"{folder.name}.lock"), lambda: progress(0.0, "waiting for another process")):
            for stale in folder.parent.glob(f"{folder.name}.*.partial"):
                shutil.rmtree(stale, ignore_errors=True)
            if not (folder / "model.safetensors").is_file():
                prepare(source, dtype_name, folder, progress)
    except OSError as error:
        if is_out_of_memory(error):
            raise
        raise ModelError(
            f"The prepared weights cannot be written to {folder.parent}: {error.strerror}.",
            "Make that folder writable, or set COMPLETIOND_CACHE_DIR to one that is.",
        ) from error


def _load_prepared(
    folder: Path, shape: DecoderShape, dtype_name: str, device: torch.device, progress: Progress
) -> LoadedModel:
    with safe_open(folder / "model.safetensors", framework="pt") as stored:
        names = set(stored.keys())
        target = build_decoder(
            shape, lambda name: stored.get_tensor(name) if name in names else None, dtype_name, device, progress
        )
    return LoadedModel(target, _read_tokenizer(folder / "tokenizer.json"), read_config(folder))


def _read_tokenizer(file: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"{file.name}: {error}") from error


def _load_unprepared(
    source: WeightSource, shape: DecoderShape, dtype_name: str, device: torch.device, scratch: Path, progress: Progress
) -> LoadedModel:
    """Floating-point weights of a folder: fused in memory, a second copy on disk would gain nothing."""
    tensors = dict(fuse(source, shape, dtype_name, progress))
    target = build_decoder(shape, tensors.get, dtype_name, device, progress)
    return LoadedModel(target, _tokenizer(source, scratch), source.config)


def _load_other(
    source: WeightSource, device: torch.device, dtype_name: str, scratch: Path, progress: Progress
) -> LoadedModel:
    progress(0.1, "loading through transformers")
    target = TransformersModel(source.path, device, dtype_name)
    return LoadedModel(target, _tokenizer(source, scratch), source.config)


def _tokenizer(source: WeightSource, scratch: Path) -> Tokenizer:
    scratch.mkdir(parents=True, exist_ok=True)
    file = scratch / f"{source.path.stem}.{os.getpid()}.tokenizer.json"
    try:
        source.save_tokenizer(file)
        return Tokenizer.from_file(str(file))
    finally:
        file.unlink(missing_ok=True)
