"""From a model's name to the file or folder to load, without any network."""

from __future__ import annotations

from pathlib import Path

from completiond.errors import ModelCorruptError, ModelError, ModelMissingError, UnknownModelError, UsageError
from completiond.models.catalog import ModelEntry
from completiond.models.installed import ModelState, inspect_model
from completiond.models.model_name import HubRepo, LocalModel, parse_model_name
from completiond.models.progress import SILENT, Progress
from completiond.paths import Paths

__all__ = ["model_state", "resolve", "usable_path", "verify"]

_GGUF_MAGIC = b"GGUF"


def resolve(name: str, paths: Paths) -> Path:
    """The .gguf file or the folder to load for ``name``: a catalogue name, a folder, a .gguf file or a hub id.

    Cheap: sizes, and digests recorded earlier; a file that nobody measured yet is read once. Raises UnknownModelError,
    ModelMissingError (with what to run), or ModelCorruptError with the reason.
    """
    model = parse_model_name(name)
    if isinstance(model, LocalModel):
        return usable_path(model.path)
    return usable_path(_ready(name, model_state(model, paths)))


def verify(name: str, paths: Paths, progress: Progress = SILENT) -> Path:
    """Read every byte of the model, compare the SHA-256, and remember the result for later starts.

    Raises UnknownModelError, ModelMissingError, ModelCorruptError with the reason, or UsageError for a file or folder
    of the user's own, of which no digest is known.
    """
    model = parse_model_name(name)
    if isinstance(model, LocalModel):
        raise UsageError(f"No digest is known for {model.path}.", "Only models that were pulled can be verified.")
    return usable_path(_ready(name, model_state(model, paths, progress, reread=True)))


def usable_path(path: Path) -> Path:
    """Make sure that ``path`` looks like a model; for a folder with just one .gguf file, that file.

    Raises UnknownModelError for a folder that is none, ModelCorruptError for a file that is not GGUF.
    """
    if path.is_dir():
        if (path / "config.json").is_file() and any(path.glob("*.safetensors")):
            return path
        files = sorted(path.glob("*.gguf"))
        if len(files) > 1:
            raise UnknownModelError(
                f"{path} holds {len(files)} .gguf files.", f"Name one of them by its path, such as {files[0]}."
            )
        if not files:
            raise UnknownModelError(
                f"{path} is not a model.", "It needs config.json and *.safetensors files, or one .gguf file."
            )
        path = files[0]
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_GGUF_MAGIC))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", "Correct its permissions.") from error
    if magic != _GGUF_MAGIC:
        raise ModelCorruptError(f"{path} is not a GGUF file.", "Download it again.")
    return path


def model_state(
    model: ModelEntry | HubRepo, paths: Paths, progress: Progress = SILENT, *, reread: bool = False
) -> ModelState:
    """What is on this machine of ``model``; ``reread`` reads every byte. Raises ModelError for unreadable files."""
    total_bytes = model.file.size_bytes if isinstance(model, ModelEntry) else 0
    try:
        return inspect_model(
            model, paths.models_dir, reread=reread, on_bytes=lambda count: progress.bytes_done(count, total_bytes)
        )
    except OSError as error:
        raise ModelError(
            f"{error.filename} cannot be read: {error.strerror}.", "Correct its permissions, or the disk."
        ) from error


def _ready(name: str, state: ModelState) -> Path:
    if state.kind == "corrupt":
        raise ModelCorruptError(
            f"{state.path} is corrupt: {state.reason}.", f"Run `completiond model pull {name}` to replace it."
        )
    if state.kind != "ready":
        begun = ": its download was interrupted" if state.kind == "partial" else ""
        raise ModelMissingError(f"{name} is not on this machine{begun}.", f"Run `completiond model pull {name}`.")
    return state.path
