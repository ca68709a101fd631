"""Layers laid over each other: the settings in effect, and where each is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from completiond.config.layer import Layer
from completiond.config.problem import Origin
from completiond.config.sections import Config
from completiond.config.setting import Name, Value, all_settings

__all__ = ["Resolved", "config_of", "resolve"]

_DEFAULT = Origin("default")


@dataclass(frozen=True)
class Resolved:
    """The settings in effect somewhere. Every setting has an origin."""

    config: Config
    origins: Mapping[Name, Origin]

    def __getitem__(self, name: Name) -> Value:
        value: Value = getattr(getattr(self.config, name[0]), name[1])
        return value


def resolve(layers: Iterable[Layer]) -> Resolved:
    """``layers``: the weakest first. Their values have been checked."""
    values: dict[Name, Value] = {}
    origins = dict.fromkeys(all_settings(), _DEFAULT)
    for layer in layers:
        for name, (value, origin) in layer.values.items():
            values[name], origins[name] = value, origin
    config = config_of(values)
    return Resolved(config.with_model(config.model.name), origins)


def config_of(values: Mapping[Name, Value]) -> Config:
    """The defaults with these values, which have been checked."""
    tables: dict[str, dict[str, Value]] = {}
    for (section, key), value in values.items():
        tables.setdefault(section, {})[key] = value
    return Config.model_validate(tables)
