"""Read the file of a drafting head, strictly: a tensor that is missing, left over or of another shape is an error.

A head that is read wrongly still drafts, only badly, and nobody would notice; so nothing is guessed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from completiond.errors import ModelCorruptError, ModelUnsupportedError

__all__ = ["HeadFile", "take"]

ADVICE = "Give a folder with a head of a published layout, see docs/tuning.md."


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A head's ``config.json`` (empty when there is none) and tensors, under the names they have in the file."""

    folder: Path
    config: dict[str, Any]
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, folder: Path, *names: str) -> HeadFile:
        """The first of the files ``names`` that is in ``folder``; default: both usual ones.

        Raises ModelUnsupportedError when none is there, ModelCorruptError when one cannot be read. Pickles are read as
        tensors only, never as code.
        """
        for name in names or ("model.safetensors", "pytorch_model.bin"):
            if (file := folder / name).is_file():
                return cls(folder, _read_config(folder), _read_tensors(file))
        wanted = " or ".join(names or ("model.safetensors", "pytorch_model.bin"))
        raise ModelUnsupportedError(f"{folder} holds no drafting head: {wanted} is missing.", ADVICE)

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number of the configuration, ``default`` where it says nothing or null.

        Raises ModelUnsupportedError when it is no number above 0, or missing without a default.
        """
        value = self._said(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._refused(key, value)
        return value

    def decimal(self, key: str, default: float) -> float:
        """A number above 0; else as ``number``."""
        value = self._said(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 < value < float("inf"):
            raise self._refused(key, value)
        return float(value)

    def switch(self, key: str, default: bool = False) -> bool:
        """True or false; else as ``number``."""
        value = self._said(key, default)
        if not isinstance(value, bool):
            raise self._refused(key, value)
        return value

    def table(self, key: str) -> dict[str, Any]:
        """A part of the configuration, empty where it says nothing; else as ``number``."""
        value = self._said(key, {})
        if not isinstance(value, dict):
            raise self._refused(key, value)
        return value

    def _said(self, key: str, default: object) -> Any:
        value = self.config.get(key)
        return default if value is None else value

    def _refused(self, key: str, value: object) -> ModelUnsupportedError:
        said = f"config.json does not say {key}" if value is None else f"config.json says {key} is {value!r}"
        return ModelUnsupportedError(f"{self.folder}: {said}.", ADVICE)


def take(folder: Path, tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Exactly the tensors that ``shapes`` names. Raises ModelUnsupportedError that names the first that is wrong."""
    for name, shape in shapes.items():
        if name not in tensors:
            raise ModelUnsupportedError(f"{folder}: the tensor {name} is missing.", ADVICE)
        if tuple(tensors[name].shape) != shape:
            found = list(tensors[name].shape)
            raise ModelUnsupportedError(f"{folder}: the tensor {name} is {found}, not {list(shape)}.", ADVICE)
    if extra := sorted(set(tensors) - set(shapes)):
        raise ModelUnsupportedError(f"{folder}: the tensor {extra[0]} belongs to no layout that is known.", ADVICE)
    return dict(tensors)


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    if not file.is_file():
        return {}
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelCorruptError(f"{file} cannot be read: {error}.", "Fetch the head again.") from None
    if not isinstance(config, dict):
        raise ModelCorruptError(f"{file} is not a JSON object.", "Fetch the head again.")
    return config


def _read_tensors(file: Path) -> dict[str, Tensor]:
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes make the unpickler fail in any way
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelCorruptError(f"{file} cannot be read: {reason}.", "Fetch the head again.") from None
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise ModelCorruptError(f"{file} is not a table of tensors.", "Fetch the head again.")
    return {str(name): value for name, value in loaded.items()}
