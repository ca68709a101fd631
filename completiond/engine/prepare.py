"""Turn a weight source into what the decoder loads: fused, and quantised when the dtype is int8.

The result is one safetensors file and a ``tokenizer.json`` in the cache folder, written once per model, dtype and
format, and renamed into place when complete. Packing for the machine's kernels happens at load: its layout belongs to
the CPU.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from completiond.engine.linear import quantize_weight
from completiond.engine.shape import DecoderShape
from completiond.engine.source import WeightSource, as_dtype
from completiond.errors import DiskFullError, ModelCorruptError

__all__ = ["FORMAT", "fuse", "prepare", "prepared_folder"]

FORMAT = 1
"""Counts changes of the prepared layout; files of another format are ignored."""

Progress = Callable[[float, str], None]
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def prepared_folder(root: Path, path: Path, dtype_name: str) -> Path:
    """Where the prepared weights of the model at ``path`` lie: named after the file, its size and its time."""
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    stamp = [str(path.resolve())]
    for file in files:
        info = file.stat()
        stamp.append(f"{file.name}:{info.st_size}:{info.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(stamp).encode()).hexdigest()[:12]
    return root / f"{path.stem}-{digest}-{dtype_name}-{FORMAT}"


def prepare(source: WeightSource, dtype_name: str, folder: Path, progress: Progress) -> None:
    """Write the prepared weights of ``source`` to ``folder``.

    Raises DiskFullError when there is no room, ModelUnsupportedError or ModelCorruptError when the source is at
    fault. Nothing is left at ``folder`` unless all went well.
    """
    shape = DecoderShape.from_config(source.config)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        tensors = dict(fuse(source, shape, dtype_name, progress))
        progress(0.9, "writing the prepared weights")
        save_file(tensors, staging / "model.safetensors", {"shape": json.dumps(shape.to_json())})
        (staging / "config.json").write_text(json.dumps(source.config, indent=1), encoding="utf-8")
        source.save_tokenizer(staging / "tokenizer.json")
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(staging, folder)  # noqa: PTH104
    except (OSError, SafetensorError) as error:
        if _error_number(error) in _FULL:
            raise DiskFullError(
                f"No room for the prepared weights in {folder.parent}.",
                "Free some space, or set COMPLETIOND_CACHE_DIR to a larger disk.",
            ) from error
        raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def fuse(
    source: WeightSource, shape: DecoderShape, dtype_name: str, progress: Progress
) -> Iterator[tuple[str, Tensor]]:
    """Yield (name, tensor) of the prepared layout; see weights.py for the names. Peak memory is one layer beyond the
    result.
    """

    def need(name: str) -> Tensor:
        tensor = source.tensor(name)
        if tensor is None:
            raise ModelCorruptError(f"{source.path} has no tensor {name}.", "Fetch the model again.")
        return tensor

    def product(name: str, *parts: str) -> Iterator[tuple[str, Tensor]]:
        weight = torch.cat([need(f"{part}.weight") for part in parts])
        if dtype_name == "int8":
            yield name, (pair := quantize_weight(weight))[0]
            yield f"{name}.scale", pair[1]
        else:
            yield name, as_dtype(weight, getattr(torch, dtype_name))
        biases = [source.tensor(f"{part}.bias") for part in parts]
        if all(bias is not None for bias in biases):
            yield f"{name}.bias", as_dtype(torch.cat(biases), norm_dtype)  # type: ignore[arg-type]

    norm_dtype = torch.float32 if dtype_name == "int8" else getattr(torch, dtype_name)
    embedding = need("model.embed_tokens.weight")
    # Rows are only looked up, so half precision in a mapped file costs no resident memory and 2^-11 of accuracy.
    yield "embedding", as_dtype(embedding, torch.float16 if dtype_name == "int8" else norm_dtype)
    del embedding
    for index in range(shape.num_layers):
        progress(0.05 + 0.8 * index / shape.num_layers, "converting the weights")
        layer = f"model.layers.{index}"
        attention = f"{layer}.self_attn"
        yield f"{index}.input_norm", as_dtype(need(f"{layer}.input_layernorm.weight"), norm_dtype)
        yield f"{index}.mlp_norm", as_dtype(need(f"{layer}.post_attention_layernorm.weight"), norm_dtype)
        yield from product(f"{index}.qkv", *(f"{attention}.{part}_proj" for part in "qkv"))
        if shape.qk_norm:
            yield f"{index}.q_norm", as_dtype(need(f"{attention}.q_norm.weight"), norm_dtype)
            yield f"{index}.k_norm", as_dtype(need(f"{attention}.k_norm.weight"), norm_dtype)
        yield from product(f"{index}.out", f"{attention}.o_proj")
        yield from product(f"{index}.gate_up", f"{layer}.mlp.gate_proj", f"{layer}.mlp.up_proj")
        yield from product(f"{index}.down", f"{layer}.mlp.down_proj")
    yield "norm", as_dtype(need("model.norm.weight"), norm_dtype)
    if dtype_name == "int8" or not shape.tied_embeddings:
        yield from product("lm_head", "model.embed_tokens" if shape.tied_embeddings else "lm_head")


def _error_number(error: OSError | SafetensorError) -> int | None:
    """The system's error number; safetensors writes it into its message only."""
    if isinstance(error, OSError):
        return error.errno
    found = re.search(r"os error (\d+)", str(error))
    return int(found[1]) if found else None


def read_config(folder: Path) -> dict[str, Any]:
    """The ``config.json`` beside prepared weights."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config
