"""One frozen, validated object from the user's file and the environment.

Order, later wins: defaults, ``config.toml`` in the configuration folder, ``COMPLETIOND_<SECTION>_<KEY>`` variables,
command line.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from completiond.errors import ConfigError, UsageError
from completiond.spec.drafter_names import DrafterChoice

__all__ = [
    "CacheConfig",
    "CompletionConfig",
    "Config",
    "ExcludeConfig",
    "ModelConfig",
    "PromptConfig",
    "SpecConfig",
    "load_config",
]

ENVIRONMENT_PREFIX = "COMPLETIOND_"


def _divided(value: object) -> object:
    """An environment variable has several values divided by commas."""
    parts = map(str.strip, value.split(",")) if isinstance(value, str) else None
    return value if parts is None else tuple(part for part in parts if part)


Globs = Annotated[tuple[str, ...], BeforeValidator(_divided)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelConfig(_Section):
    """``[model]``: which weights, and how to run them."""

    name: str = Field(
        "qwen2.5-coder-0.5b", description="A catalogue name, a folder, a .gguf file, or a hub id (owner/name)."
    )
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "int8", "float32", "bfloat16"] = Field(
        "auto", description="auto: int8 on a CPU, bfloat16 on a GPU."
    )
    threads: int = Field(0, ge=0, le=256, description="CPU threads; 0 lets torch choose.")
    context_tokens: int = Field(2048, ge=128, le=131072, description="Size of the key/value cache, in tokens.")


class PromptConfig(_Section):
    """``[prompt]``: how much of the file around the cursor the model reads."""

    prefix_tokens: int = Field(768, ge=16, le=65536)
    suffix_tokens: int = Field(256, ge=0, le=65536)
    max_read_ms: int = Field(
        2000,
        ge=0,
        le=600000,
        description="Read less at first where all would take longer than this, and the rest in a quiet moment; 0: all.",
    )


class CompletionConfig(_Section):
    """``[completion]``: how long an answer may be."""

    max_tokens: int = Field(64, ge=1, le=4096)
    deadline_ms: int = Field(
        0, ge=0, le=60000, description="Answer editors with whole lines after so long; 0: by the measured speed."
    )


class SpecConfig(_Section):
    """``[spec]``: speculative decoding."""

    drafter: DrafterChoice = Field("auto", description="none decodes plainly, one token a pass.")
    eagle_head: str = Field(
        "", description="Folder of an EAGLE head; empty: the one that comes with the model, if any."
    )
    draft_width: int = Field(1, ge=1, le=8, description="Guesses below each token: above 1, heads draft trees.")
    medusa_heads: str = Field("", description="Folder of Medusa heads; empty: those that come with the model, if any.")
    draft_model: str = Field("", description="A smaller model, named as in model.name; empty: half the model's layers.")
    max_draft_tokens: int = Field(31, ge=1, le=63)
    workspace: Globs = Field(
        (), description="Files to draft from without their being open: as in a .gitignore, in the editor's folders."
    )

    @field_validator("workspace")
    @classmethod
    def _is_inside(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from completiond.exclude.ignore_rule import Rule  # late: few have any

            for pattern in value:
                try:
                    rule = Rule.parse(pattern)
                except ValueError as error:
                    raise ValueError(f"{pattern!r}: {error}") from None
                if rule is None or not rule.excludes or pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
                    raise ValueError(f"{pattern!r} names no files in the editor's folders; write it as 'src/**/*.py'")
        return value


class CacheConfig(_Section):
    """``[cache]``: what is kept between requests."""

    results: bool = Field(True, description="Serve what is typed along, or asked for again, from finished answers.")
    ahead: bool = Field(True, description="While nothing is asked for, write what would follow an accepted answer.")
    suffix: Literal["auto", "shift", "exact"] = Field(
        "auto",
        description="While typing, move what was read of the text behind the cursor (shift), or read it again (exact);"
        " auto: shift on a CPU.",
    )
    memory_mb: int = Field(
        256,
        ge=0,
        le=65536,
        description="Memory for what was read of other texts, to go on there without reading them again.",
    )


class ExcludeConfig(_Section):
    """``[exclude]``: files that are never read. Those that look like secrets (``.env``, keys) are always left out."""

    globs: Globs = Field((), description="Patterns as in a .gitignore, relative to the workspace's folders.")
    gitignore: bool = Field(True, description="Leave out what a .gitignore names.")

    @field_validator("globs")
    @classmethod
    def _can_match(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from completiond.exclude.exclusions import Exclusions  # late: few have any

            try:
                Exclusions(value)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return value


class Config(_Section):
    """All settings. Derived values are computed where they are used, never stored here."""

    model: ModelConfig = ModelConfig()
    prompt: PromptConfig = PromptConfig()
    completion: CompletionConfig = CompletionConfig()
    spec: SpecConfig = SpecConfig()
    cache: CacheConfig = CacheConfig()
    exclude: ExcludeConfig = ExcludeConfig()

    def with_model(self, name: str | None) -> Config:
        """A copy with another model, or this object when ``name`` is None."""
        if name is None:
            return self
        name = absolute_if_path(name)
        return self.model_copy(update={"model": self.model.model_copy(update={"name": name})})


def _strangers(environment: Mapping[str, str]) -> set[str]:
    """Variables with our prefix that nothing reads: a misspelled setting must not be ignored."""
    known = {f"{ENVIRONMENT_PREFIX}{name}" for name in ("CACHE_DIR", "CONFIG_DIR", "RUNTIME_DIR", "SERVE_COMMAND")}
    for section, field in Config.model_fields.items():
        known |= {f"{ENVIRONMENT_PREFIX}{section}_{key}".upper() for key in type(field.default).model_fields}
    return {name for name in environment if name.startswith(ENVIRONMENT_PREFIX)} - known


def absolute_if_path(name: str) -> str:
    """A model's name, made absolute if it is a file or folder here: a daemon runs in another folder."""
    return str(Path(name).absolute()) if name.startswith((".", "/")) or name.endswith(".gguf") else name


def load_config(file: Path, environment: Mapping[str, str] = os.environ) -> Config:
    """Read and validate the settings; a missing ``file`` means defaults.

    Raises ConfigError that names the file or variable and the key, for an unreadable file, an unknown key or a bad
    value.
    """
    values: dict[str, dict[str, Any]] = {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: {error}.", "Correct the file, or move it away to use the defaults.") from error
    if unknown := sorted(set(environment) & _strangers(environment)):
        raise ConfigError(f"{unknown[0]} is not a setting.", "Correct or unset it; README.md lists the settings.")
    origins: dict[tuple[str, ...], str] = {}
    for section in Config.model_fields:
        for key in Config.model_fields[section].default.__class__.model_fields:
            variable = f"{ENVIRONMENT_PREFIX}{section}_{key}".upper()
            if variable in environment and isinstance(values.setdefault(section, {}), dict):
                values[section][key] = environment[variable]
                origins[section, key] = variable
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(str(part) for part in first["loc"])
        origin = origins.get(place[:2], f"{file}: {'.'.join(place)}")
        ours = first["type"] == "value_error"  # it says itself what was found
        message = str(first["ctx"]["error"]) if ours else f"{first['msg']} (found {first['input']!r})."
        raise ConfigError(f"{origin}: {message}", "README.md lists the settings and their values.") from None
    return config.with_model(config.model.name)
