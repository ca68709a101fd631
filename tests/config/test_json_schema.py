"""The schemas that are shipped for editors."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from completiond.config.json_schema import SchemaKind, schema_json
from completiond.config.setting import all_settings


def shipped(kind: SchemaKind) -> str:
    return resources.files("completiond").joinpath(f"config/schema/{kind}.schema.json").read_text("utf-8")


@pytest.mark.parametrize("kind", ["config", "repository"])
def test_what_is_shipped_is_what_the_code_says(kind: SchemaKind) -> None:
    option = " --repository" if kind == "repository" else ""
    file = f"completiond/config/schema/{kind}.schema.json"
    assert shipped(kind) == schema_json(kind), f"write it anew: completiond config schema{option} > {file}"


def settings_in(kind: SchemaKind) -> dict[str, dict[str, Any]]:
    sections = json.loads(shipped(kind))["properties"]
    return {
        f"{section}.{key}": values
        for section, table in sections.items() if section != "$schema"
        for key, values in table["properties"].items()
    }  # fmt: skip


def test_every_setting_is_described_with_its_bounds_and_default() -> None:
    found = settings_in("config")
    assert set(found) == set(map(str, all_settings().values()))
    for setting in all_settings().values():
        schema = found[str(setting)]
        assert schema["description"].startswith(setting.description)
        assert setting.description.endswith(".")
        default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        assert schema["default"] == default
        if setting.kind == "number":
            assert (schema["minimum"], schema["maximum"]) == (setting.least, setting.most)
        assert schema.get("enum", []) == list(setting.choices)


def test_that_of_a_repository_has_what_a_repository_may_set() -> None:
    found = settings_in("repository")
    assert not {name for name in found if name.startswith("model.")}
    assert found["completion.enabled"]["const"] is False
    assert found["exclude.gitignore"]["const"] is True
    assert found["prompt.max_read_ms"]["minimum"] == 1
