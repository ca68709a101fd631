"""What is on this machine of one model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from completiond.models.catalog import ModelEntry
from completiond.models.disk import folder_bytes
from completiond.models.file_digest import file_problem
from completiond.models.model_name import HubRepo
from completiond.models.snapshot import read_manifest, snapshot_problem

__all__ = ["ModelState", "inspect_model", "staging_folder"]


@dataclass(frozen=True, slots=True)
class ModelState:
    """``partial`` means that a pull was interrupted and goes on from there. ``reason`` says why a file is corrupt."""

    kind: Literal["ready", "missing", "partial", "corrupt"]
    path: Path
    reason: str = ""


def staging_folder(model: ModelEntry | HubRepo, models_dir: Path) -> Path:
    """Where a pull collects what arrives: beside the target, so that it can be renamed into place."""
    folder = model.folder(models_dir)
    return folder.with_name(f"{folder.name}.partial")


def inspect_model(
    model: ModelEntry | HubRepo,
    models_dir: Path,
    *,
    reread: bool = False,
    on_bytes: Callable[[int], None] = lambda done_bytes: None,
) -> ModelState:
    """Look at the model's files: sizes, and digests as recorded for untouched files.

    A file that was never measured, or was touched since, is read once; with ``reread`` every file is. Raises OSError
    when a file cannot be read.
    """
    if isinstance(model, ModelEntry):
        path = model.path(models_dir)
        present = path.exists()
        reason = file_problem(path, model.file, reread=reread, on_bytes=on_bytes) if present else None
    else:
        path = model.folder(models_dir)
        specs = read_manifest(path)
        present = path.exists()
        reason = snapshot_problem(path, specs, reread=reread) if specs else "its list of files is gone"
    if present:
        return ModelState("corrupt", path, reason) if reason else ModelState("ready", path)
    return ModelState("partial" if folder_bytes(staging_folder(model, models_dir)) else "missing", path)
