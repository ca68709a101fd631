"""Where the drafting heads of a model are: named in the settings, or shipped with completiond."""

from __future__ import annotations

import json
from pathlib import Path

from completiond.errors import UsageError

__all__ = ["find_head", "measured_acceptances", "shipped_heads"]

HEADS_FOLDER = Path(__file__).parents[1] / "models" / "heads"


def shipped_heads(folder: Path = HEADS_FOLDER) -> list[Path]:
    """The heads that come with completiond, one folder each."""
    return sorted(file.parent for file in folder.glob("*/config.json"))


def find_head(kind: str, configured: str, model_file: Path | None, folder: Path = HEADS_FOLDER) -> Path | None:
    """The head of ``kind`` (eagle or medusa) for the model in ``model_file``: ``configured``, else a shipped one that
    was trained on this very file; None when there is none.

    Raises UsageError when ``configured`` is no folder.
    """
    if configured:
        path = Path(configured).expanduser()
        if not path.is_dir():
            setting = {"eagle": "spec.eagle_head", "medusa": "spec.medusa_heads"}[kind]
            raise UsageError(f"{setting} is {configured}, which is no folder.", "Correct or remove it.")
        return path
    if model_file is None or not model_file.is_file():
        return None
    for head in shipped_heads(folder):
        about = json.loads((head / "config.json").read_text(encoding="utf-8")).get("completiond", {})
        if about.get("kind") == kind and about.get("model_bytes") == model_file.stat().st_size:
            return head
    return None


def measured_acceptances(head: Path) -> tuple[float, ...]:
    """What share of its guesses was right on held-out text when it was trained, by depth; empty where nobody says."""
    about = json.loads((head / "config.json").read_text(encoding="utf-8")).get("completiond", {})
    return tuple(float(share) for share in about.get("acceptances", ()))
