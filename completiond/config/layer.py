"""One layer of settings: the values that one place sets, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from completiond.config.doubt import doubt_about
from completiond.config.problem import Origin, Problem
from completiond.config.setting import Name, Setting, Value, all_settings
from completiond.config.toml_file import TomlFile
from completiond.config.value import checked

__all__ = ["EMPTY", "Layer", "layer_of_file", "layer_of_table", "suggestion"]

MAX_PROBLEMS = 20
"""Of one place; there may be a few thousand misspelled keys in a file that is none of settings."""
MAX_NAME_CHARS = 60

Allow = Callable[[Setting, Any], Value]
"""What a layer makes of a value; raises ValueError that says why nothing."""


@dataclass(frozen=True)
class Layer:
    """What one place sets. It never changes."""

    values: Mapping[Name, tuple[Value, Origin]] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()

    def keeping(self, before: Layer) -> Layer:
        """With the values that were right before, where they are wrong now: the last good ones stay."""
        wrong = {name for problem in self.problems for name in all_settings() if _is_about(problem, name)}
        kept = {name: before.values[name] for name in wrong if name in before.values and name not in self.values}
        return Layer({**self.values, **kept}, self.problems) if kept else self


EMPTY = Layer()


def layer_of_file(file: TomlFile, allow: Allow = checked, before: Layer = EMPTY) -> Layer:
    """What a file says; ``before`` is what it said when it was last right. Of a file that cannot be read all stays."""
    if file.problem is not None:
        return Layer(before.values, (file.problem,))
    return layer_of_table(file.values, file.at, allow).keeping(before)


def layer_of_table(table: Mapping[str, Any], at: Callable[..., Origin], allow: Allow = checked) -> Layer:
    """What a table of tables says; ``at`` tells where a section, or a section's key, stands."""
    values: dict[Name, tuple[Value, Origin]] = {}
    problems: list[Problem] = []
    for name, value, wrong in _entries(table):
        origin = at(*name)
        if not wrong:
            setting = all_settings()[name[0], name[1]]
            try:
                values[setting.name] = (allow(setting, value), origin)
            except ValueError as error:
                wrong = f"{error}."
            else:
                if doubt := doubt_about(setting, values[setting.name][0]):
                    problems.append(Problem(origin, doubt, is_doubt=True))
                continue
        problems.append(Problem(origin, wrong))
    if len(problems) > MAX_PROBLEMS:
        more = Problem(problems[0].origin.at(None), f"{len(problems) - MAX_PROBLEMS} more problems.")
        problems[MAX_PROBLEMS:] = [more]
    return Layer(values, tuple(problems))


def suggestion(section: str, key: str = "") -> str:
    """A sentence that names the setting which was probably meant; empty if none is near."""
    settings = all_settings()
    if not key:
        found = get_close_matches(section, {name for name, _ in settings}, 1)
        return f" Did you mean [{found[0]}]?" if found else ""
    elsewhere = [str(setting) for setting in settings.values() if setting.key == key]
    near = get_close_matches(key, [name for own, name in settings if own == section], 1)
    found = elsewhere or [f"{section}.{name}" for name in near]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _entries(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """Name, value and, where there is no such setting, what to say of that."""
    settings, num_unknown = all_settings(), 0
    sections = {section for section, _ in settings}
    for section, content in table.items():
        if section == "$schema":  # how some editors find the schema
            continue
        if section not in sections:
            num_unknown += 1
            hint = suggestion(section) or suggestion("", section) if num_unknown <= MAX_PROBLEMS else ""
            yield (section,), content, f"{_cut(section)} is no section of settings.{hint}"
        elif not isinstance(content, Mapping):
            yield (section,), content, f"{section} must be a table of settings: [{section}]."
        else:
            for key, value in content.items():
                wrong = ""
                if (section, key) not in settings:
                    num_unknown += 1
                    hint = suggestion(section, key) if num_unknown <= MAX_PROBLEMS else ""  # others are only counted
                    wrong = f"{section}.{_cut(key)} is not a setting.{hint}"
                yield (section, key), value, wrong


def _cut(name: str) -> str:
    text = name if name.isprintable() else ascii(name)
    return text if len(text) <= MAX_NAME_CHARS else text[:MAX_NAME_CHARS] + "…"


def _is_about(problem: Problem, name: Name) -> bool:
    return problem.message.startswith((f"{name[0]}.{name[1]} ", f"{name[0]}.{name[1]}:"))
