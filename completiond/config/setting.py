"""Each setting as data: its name, its values and the rules for it, read off the fields of ``Config``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Le, MaxLen
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from completiond.config.permission import Reload, Repository
from completiond.config.sections import Config, Section

__all__ = ["Kind", "Name", "Setting", "Value", "all_settings", "section_of"]

Kind = Literal["switch", "number", "choice", "text", "list"]
Value = bool | int | str | tuple[str, ...]
Name = tuple[str, str]
"""Section and key."""


@dataclass(frozen=True)
class Setting:
    """One setting. Bounds are those of a number; ``most_members`` is that of a list."""

    section: str
    key: str
    kind: Kind
    default: Value
    description: str
    choices: tuple[str, ...]
    least: int
    most: int
    most_members: int
    repository: Repository
    reload: Reload
    check: TypeAdapter[Value]

    @property
    def name(self) -> Name:
        """Section and key."""
        return self.section, self.key

    def __str__(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"COMPLETIOND_{self.section}_{self.key}".upper()

    def allowed(self, least: int | None = None) -> str:
        """Its values in words; ``least`` takes the place of the lower bound."""
        if self.kind == "switch":
            return "true or false"
        if self.kind == "number":
            return f"a whole number from {self.least if least is None else least} to {self.most}"
        if self.kind == "choice":
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        return "a string" if self.kind == "text" else f"a list of strings, {self.most_members} at most"


@cache
def all_settings() -> Mapping[Name, Setting]:
    """Every setting by its name, in the order of the fields."""
    found = {}
    for section, field in Config.model_fields.items():
        for key, own in section_of(field).model_fields.items():
            found[section, key] = _setting(section, key, own)
    return MappingProxyType(found)


def section_of(field: FieldInfo) -> type[Section]:
    """The class of a table."""
    found = field.annotation
    assert isinstance(found, type), "a section is a class"
    assert issubclass(found, Section), "a section is one of ours"
    return found


def _setting(section: str, key: str, field: FieldInfo) -> Setting:
    annotation, metadata = field.annotation, field.metadata
    kind: Kind
    choices: tuple[str, ...] = ()
    if annotation is bool:
        kind = "switch"
    elif annotation is int:
        kind = "number"
    elif annotation is str:
        kind = "text"
    elif get_origin(annotation) is Literal:
        kind, choices = "choice", get_args(annotation)
    else:
        assert get_origin(annotation) is tuple, "all other settings are lists of strings"
        kind = "list"
    bounds = {type(one): one for one in metadata}
    least, most, length = bounds.get(Ge), bounds.get(Le), bounds.get(MaxLen)
    # A type that is put together here is none that a checker knows.
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[(annotation, *metadata)] if metadata else annotation)  # type: ignore[arg-type]
    return Setting(
        section=section,
        key=key,
        kind=kind,
        default=field.default,
        description=field.description or "",
        choices=choices,
        least=least.ge if least else 0,
        most=most.le if most else 0,
        most_members=length.max_length if length else 0,
        repository=next((one for one in metadata if isinstance(one, Repository)), Repository.NEVER),
        reload=next((one for one in metadata if isinstance(one, Reload)), Reload.RESTART),
        check=adapter,
    )
