"""JSON schemas of config.toml and of a repository's file, made from the settings' own declarations.

Draft 7, which is what editors' TOML extensions know. The files in ``schema/`` are what this gives.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from completiond.config.permission import Reload, Repository
from completiond.config.repository_rules import MAX_MEMBERS, least_in_repository
from completiond.config.sections import Config
from completiond.config.setting import Setting, all_settings, section_of

__all__ = ["SchemaKind", "schema_json"]

SchemaKind = Literal["config", "repository"]


def schema_json(kind: SchemaKind) -> str:
    """The schema as text that ends in a line feed."""
    return json.dumps(_schema(kind), indent=2, ensure_ascii=False) + "\n"


def _schema(kind: SchemaKind) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    for setting in all_settings().values():
        if kind == "config" or setting.repository is not Repository.NEVER:
            sections.setdefault(setting.section, {})[setting.key] = _of_setting(setting, kind)
    descriptions = {name: section_of(field).__doc__ for name, field in Config.model_fields.items()}
    title = "completiond's config.toml" if kind == "config" else "A repository's .completiond.toml"
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "$schema": {"type": "string"},
            **{
                section: {
                    "type": "object",
                    "description": " ".join((descriptions[section] or "").split()),
                    "additionalProperties": False,
                    "properties": properties,
                }
                for section, properties in sections.items()
            },
        },
    }


def _of_setting(setting: Setting, kind: SchemaKind) -> dict[str, Any]:
    is_repository = kind == "repository"
    found: dict[str, Any] = {"description": _description(setting, is_repository)}
    if not is_repository:
        found["default"] = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    if setting.kind == "switch":
        found["type"] = "boolean"
        if is_repository and setting.repository in (Repository.ON, Repository.OFF):
            found["const"] = setting.repository is Repository.ON
    elif setting.kind == "number":
        least = least_in_repository(setting) if is_repository else setting.least
        found |= {"type": "integer", "minimum": least, "maximum": setting.most}
    elif setting.kind == "choice":
        found |= {"type": "string", "enum": list(setting.choices)}
    elif setting.kind == "text":
        found["type"] = "string"
    else:
        most = MAX_MEMBERS if is_repository else setting.most_members
        found |= {"type": "array", "maxItems": most, "items": {"type": "string"}}
    return found


def _description(setting: Setting, is_repository: bool) -> str:
    if not is_repository:
        later = " Takes effect after `completiond stop`." if setting.reload is Reload.RESTART else ""
        return f"{setting.description}{later}"
    rules = {
        Repository.ADD: "Added to the user's.",
        Repository.LOWER: "Counts where it is less than the user's.",
        Repository.LIMIT: "Counts where it is less than the user's.",
        Repository.OFF: "Can only be turned off.",
        Repository.ON: "Can only be turned on.",
        Repository.TRUSTED: "Needs `completiond trust`.",
    }
    return f"{setting.description} {rules[setting.repository]}"
