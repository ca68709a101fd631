"""The VS Code extension's settings are those that an editor may set, with the same values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from completiond.config.permission import Reload
from completiond.config.setting import Setting, all_settings

MANIFEST = Path(__file__).parents[2] / "editors" / "vscode" / "package.json"
OWN = {"completiond.path", "completiond.streaming"}
"""What only concerns the extension."""


def property_of(setting: Setting) -> dict[str, Any]:
    """What the manifest says of one setting."""
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    found: dict[str, Any] = {"scope": "window", "default": default, "description": setting.description}
    if setting.kind == "switch":
        found["type"] = "boolean"
    elif setting.kind == "number":
        found |= {"type": "integer", "minimum": setting.least, "maximum": setting.most}
    elif setting.kind == "choice":
        found |= {"type": "string", "enum": list(setting.choices)}
    elif setting.kind == "text":
        found["type"] = "string"
    else:
        found |= {"type": "array", "maxItems": setting.most_members, "items": {"type": "string"}}
    return found


def wanted() -> dict[str, Any]:
    """All of them, in the order of the settings."""
    return {
        f"completiond.{setting}": property_of(setting)
        for setting in all_settings().values()
        if setting.reload is not Reload.RESTART
    }


def test_the_manifest_has_every_setting_that_an_editor_may_set_and_no_other() -> None:
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    assert {name: value for name, value in properties.items() if name not in OWN} == wanted()
    assert properties.keys() >= OWN


def test_a_folder_that_is_not_trusted_changes_no_setting() -> None:
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    restricted = manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert set(restricted) == set(manifest["contributes"]["configuration"]["properties"]) - {"completiond.streaming"}
