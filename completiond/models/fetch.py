"""Bring a model to this machine: one pull at a time, whole and checked, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

from completiond.errors import SourceUnreachableError
from completiond.models.catalog import ModelEntry
from completiond.models.disk import disk_errors, exclusive, flush_to_disk, folder_bytes, require_space
from completiond.models.file_digest import record_sha256
from completiond.models.installed import inspect_model, staging_folder
from completiond.models.model_name import HubRepo, LocalModel, parse_model_name
from completiond.models.progress import SILENT, Progress
from completiond.models.resolve import resolve, usable_path
from completiond.models.snapshot import fetch_snapshot
from completiond.models.source import SourceFailedError
from completiond.paths import Paths

__all__ = ["pull"]


def pull(name: str, paths: Paths, progress: Progress = SILENT) -> Path:
    """Download the model ``name`` unless it is here and whole, and return the file or folder to load.

    What an interrupted pull left is used; a corrupt file is replaced. Of two pulls at once the second waits. Raises
    UnknownModelError, DiskFullError, SourceUnreachableError (naming each source and why it failed) or FetchError.
    """
    model = parse_model_name(name)
    if isinstance(model, LocalModel):
        progress.step(f"{model.path} is on this machine: nothing to pull")
        return resolve(name, paths)
    models_dir = paths.models_dir
    staging = staging_folder(model, models_dir)

    def missing_bytes() -> int:
        total_bytes = model.file.size_bytes if isinstance(model, ModelEntry) else 0
        return max(0, total_bytes - folder_bytes(staging))

    with (
        disk_errors(models_dir, f"Pulling {name}", missing_bytes),
        exclusive(
            staging.with_suffix(".lock"), lambda: progress.step(f"another pull of {name} is running: waiting for it")
        ),
    ):
        state = inspect_model(model, models_dir, reread=True)
        if state.kind == "ready":
            shutil.rmtree(staging, ignore_errors=True)  # the user may have put the file there by hand meanwhile
            return usable_path(state.path)
        if state.kind == "corrupt":
            progress.step(f"{state.path} is corrupt ({state.reason}): replacing it")
        staging.mkdir(parents=True, exist_ok=True)
        try:
            if isinstance(model, ModelEntry):
                _pull_file(model, models_dir, staging, progress)
            else:
                _pull_repo(model, models_dir, staging, progress)
        finally:
            if not folder_bytes(staging):  # nothing arrived, or all of it is in place
                shutil.rmtree(staging, ignore_errors=True)
    return usable_path(state.path)


def _pull_file(entry: ModelEntry, models_dir: Path, staging: Path, progress: Progress) -> None:
    target = entry.path(models_dir)
    failures = []
    for source in entry.sources:
        # A full disk is no fault of the source: it ends the pull, before anything is asked of the network.
        require_space(models_dir, source.bytes_needed(entry.file, staging), f"Pulling {entry.name}")
        progress.step(f"source: {source.label}")
        try:
            file = source.fetch(entry.file, staging, progress)
        except SourceFailedError as error:
            progress.step(f"{source.label} failed: {error.message}")
            failures.append(f"{source.label}: {error.message}")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        flush_to_disk(file)
        file.replace(target)
        flush_to_disk(target.parent)
        shutil.rmtree(staging)
        record_sha256(target, entry.file.sha256)
        return
    raise _no_source(
        entry.name, failures, f"put the file at {target} by hand and run `completiond model verify {entry.name}`"
    )


def _pull_repo(repo: HubRepo, models_dir: Path, staging: Path, progress: Progress) -> None:
    target = repo.folder(models_dir)
    label = f"model hub ({repo.repo_id})"
    progress.step(f"source: {label}")
    try:
        folder = fetch_snapshot(repo.repo_id, staging, progress)
    except SourceFailedError as error:
        raise _no_source(
            repo.repo_id, [f"{label}: {error.message}"], "download the repository by hand and give its folder instead"
        ) from error
    if target.exists():
        shutil.rmtree(target)
    folder.replace(target)
    flush_to_disk(target.parent)
    shutil.rmtree(staging)


def _no_source(name: str, failures: list[str], by_hand: str) -> SourceUnreachableError:
    return SourceUnreachableError(
        f"No source gave {name}: {'; '.join(failures)}.",
        f"Check the network and the proxy (HTTPS_PROXY), or set PIP_INDEX_URL or HF_ENDPOINT to a mirror, or {by_hand}."
        " What has arrived is kept.",
    )
