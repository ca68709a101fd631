"""Where weights come from, before they are prepared: one interface over GGUF files and Hugging Face folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from completiond.errors import ModelCorruptError, ModelUnsupportedError

__all__ = ["FolderSource", "WeightSource", "open_source"]


class WeightSource(Protocol):
    """A model's configuration and tensors under Hugging Face names."""

    path: Path

    @property
    def config(self) -> dict[str, Any]:
        """The model's ``config.json``, or what it would be."""

    @property
    def num_weights(self) -> int:
        """Numbers in all tensors."""

    def tensor(self, name: str) -> Tensor | None:
        """One tensor, dequantised if need be, or None when the model has none of that name."""

    def save_tokenizer(self, file: Path) -> None:
        """Write a ``tokenizer.json``."""


def open_source(path: Path) -> WeightSource:
    """A source for a ``.gguf`` file or for a folder with ``config.json`` and safetensors.

    Raises ModelUnsupportedError for anything else, ModelCorruptError for a file that cannot be read.
    """
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        if (path / "config.json").is_file():
            return FolderSource(path)
        if len(files) != 1:
            raise ModelUnsupportedError(
                f"{path} has no config.json and {len(files)} .gguf files.",
                "Name a folder with config.json and safetensors, or one .gguf file.",
            )
        path = files[0]
    if path.suffix != ".gguf":
        raise ModelUnsupportedError(f"{path.name} is neither a folder nor a .gguf file.", "Name one of these.")
    from completiond.engine.gguf_source import GGUFSource

    return GGUFSource(path)


class FolderSource:
    """A folder in the Hugging Face layout. Only safetensors are read, never pickles."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._config: dict[str, Any] = json.loads((path / "config.json").read_text(encoding="utf-8"))
            self._files = self._index()
        except (OSError, ValueError, SafetensorError) as error:
            raise ModelCorruptError(f"{path} cannot be read: {error}.", "Fetch the model again.") from error

    def _index(self) -> dict[str, Path]:
        """Tensor name -> file."""
        files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise ModelUnsupportedError(
                f"{self.path} has no .safetensors file.", "Pickled weights are not loaded; convert them to safetensors."
            )
        index = {}
        for file in files:
            with safe_open(file, framework="pt") as tensors:
                index.update(dict.fromkeys(tensors.keys(), file))
        return index

    @property
    def config(self) -> dict[str, Any]:
        """See WeightSource.config."""
        return self._config

    @property
    def num_weights(self) -> int:
        """See WeightSource.num_weights."""
        total = 0
        for name, file in self._files.items():
            with safe_open(file, framework="pt") as tensors:
                total += math.prod(tensors.get_slice(name).get_shape())
        return total

    def tensor(self, name: str) -> Tensor | None:
        """See WeightSource.tensor."""
        if name not in self._files:
            return None
        with safe_open(self._files[name], framework="pt") as tensors:
            tensor: Tensor = tensors.get_tensor(name)
        return tensor

    def save_tokenizer(self, file: Path) -> None:
        """See WeightSource.save_tokenizer."""
        own = self.path / "tokenizer.json"
        if own.is_file():
            file.write_bytes(own.read_bytes())
            return
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.path, trust_remote_code=False)
        tokenizer.backend_tokenizer.save(str(file))


def count_bytes(tensors: dict[str, Tensor]) -> int:
    """Size of all tensors together, in bytes."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def as_dtype(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A contiguous copy in ``dtype`` that shares nothing with a memory-mapped file."""
    return tensor.to(dtype, copy=True).contiguous()
