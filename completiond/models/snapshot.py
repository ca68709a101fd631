"""A whole repository of the model hub on this machine, with a list of what it has to contain."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from completiond.models.disk import flush_to_disk, folder_bytes, require_space
from completiond.models.file_digest import FileSpec, file_problem, measure_sha256, size_problem
from completiond.models.hub_source import require_hub, run_hub_child
from completiond.models.progress import Progress
from completiond.models.source import SourceFailedError

__all__ = ["fetch_snapshot", "read_manifest", "snapshot_problem"]

# Data only: no pickles, no code.
_ALLOWED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.gguf")
_MANIFEST = ".completiond-manifest.json"


def fetch_snapshot(repo_id: str, staging: Path, progress: Progress) -> Path:
    """Download ``repo_id`` under ``staging``, check it, and return the folder, complete with its manifest.

    Large files are checked against the hub's SHA-256, small ones against its size. Raises SourceFailedError with the
    reason, DiskFullError before the download when it will not fit, or OSError when this machine cannot store it.
    """
    require_hub()
    folder = staging / "hub"
    folder.mkdir(exist_ok=True)
    plan: list[tuple[str, int, str | None]] = []
    total_bytes = 0

    def read_plan(line: str) -> None:
        nonlocal total_bytes
        if not line.startswith("plan "):
            return
        plan.extend((name, size or 0, sha256) for name, size, sha256 in json.loads(line.removeprefix("plan ")))
        total_bytes = sum(size for _, size, _ in plan)
        require_space(staging, max(0, total_bytes - folder_bytes(folder)), f"Pulling {repo_id}")

    run_hub_child(
        ["snapshot", repo_id, str(folder), *_ALLOWED],
        folder,
        on_line=read_plan,
        on_bytes=lambda count: progress.bytes_done(min(count, total_bytes), total_bytes),
    )
    progress.step("checking the files")
    specs = []
    for name, size_bytes, sha256 in plan:
        file = folder / name
        spec = FileSpec(name, size_bytes, sha256 or measure_sha256(file))
        if problem := file_problem(file, spec, reread=sha256 is not None):
            shutil.rmtree(folder)
            raise SourceFailedError(f"{name} is wrong: {problem}")
        flush_to_disk(file)
        specs.append(spec)
    if not specs:
        raise SourceFailedError("it holds no file of the kinds a model is made of")
    for leftover in folder.rglob("*.part"):  # of an earlier revision
        leftover.unlink()
    manifest = folder / _MANIFEST
    manifest.write_text(json.dumps([asdict(spec) for spec in specs], indent=1), encoding="utf-8")
    flush_to_disk(manifest)
    return folder


def read_manifest(folder: Path) -> tuple[FileSpec, ...] | None:
    """What a pulled ``folder`` has to contain, or None when none was pulled there."""
    try:
        return tuple(FileSpec(**item) for item in json.loads((folder / _MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def snapshot_problem(folder: Path, specs: tuple[FileSpec, ...], *, reread: bool) -> str | None:
    """Why ``folder`` is not what was pulled, or None. ``reread`` reads every byte again."""
    for spec in specs:
        file = folder / spec.name
        if not file.exists():
            return f"{spec.name} is gone"
        # all sizes first would be cheaper still, but a model has few files
        if problem := size_problem(file.stat().st_size, spec) or file_problem(file, spec, reread=reread):
            return f"{spec.name}: {problem}"
    return None
