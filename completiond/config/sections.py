"""The settings: one frozen, validated object. What can be said of a setting is said here, and only here: the JSON
schemas, ``completiond config``, the rules for repositories and docs/configuration.md follow from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from completiond.config.http_address import HttpAddress
from completiond.config.permission import Reload, Repository
from completiond.config.problem import told_together
from completiond.errors import UsageError
from completiond.spec.drafter_names import DrafterChoice

__all__ = [
    "ApiConfig",
    "CacheConfig",
    "CompletionConfig",
    "Config",
    "EngineConfig",
    "ExcludeConfig",
    "ModelConfig",
    "PromptConfig",
    "Section",
    "SpecConfig",
    "absolute_if_path",
]

MAX_MEMBERS = 1000
"""Of a list."""


def _as_tuple(value: object) -> object:
    """TOML and JSON have lists; ours do not change."""
    return tuple(value) if isinstance(value, list) else value


def _can_match(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if patterns:
        from completiond.exclude.exclusions import Exclusions  # late: few have any

        wrong = []
        for pattern in patterns:
            try:
                Exclusions([pattern])
            except UsageError as error:
                wrong.append(str(error))
        if wrong:
            raise ValueError(told_together(wrong))
    return patterns


def _is_name(name: str) -> str:
    if not name.strip():
        raise ValueError("an empty name is that of no model; leave it out for the default")
    return name


def _is_inside(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if patterns:
        from completiond.exclude.ignore_rule import Rule  # late: few have any

        wrong = []
        for pattern in patterns:
            try:
                rule = Rule.parse(pattern)
            except ValueError as error:
                wrong.append(f"{pattern!r}: {error}")
                continue
            if rule is None or not rule.excludes or pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
                wrong.append(f"{pattern!r} names no files in the editor's folders; write it as 'src/**/*.py'")
        if wrong:
            raise ValueError(told_together(wrong))
    return patterns


def _is_address(text: str) -> str:
    if text:
        from completiond.engine.remote_address import RemoteAddress  # late: few have any

        RemoteAddress.parse(text)
    return text


def _is_loopback(address: str) -> str:
    if address:
        HttpAddress.parse(address)
    return address


Strings = Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(max_length=MAX_MEMBERS)]


class Section(BaseModel):
    """Settings that belong together: a table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelConfig(Section):
    """Which weights, and how to run them."""

    name: Annotated[str, AfterValidator(_is_name)] = Field(
        "qwen2.5-coder-0.5b",
        description="A catalogue name, a folder, a .gguf file, or a hub id (owner/name).",
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="What runs the model; auto: a GPU if there is.")
    dtype: Literal["auto", "int8", "float32", "bfloat16"] = Field(
        "auto", description="The numbers to compute with; auto: int8 on a CPU, bfloat16 on a GPU."
    )
    threads: int = Field(0, ge=0, le=256, description="CPU threads; 0 chooses a power of two up to 8.")
    context_tokens: int = Field(2048, ge=128, le=131072, description="Size of the key/value cache, in tokens.")
    idle_release_s: int = Field(
        1800,
        ge=0,
        le=604800,
        description="Give the model's memory back when nothing was edited or asked for so many seconds;"
        " the next edit or request loads it again; 0: never.",
    )


class EngineConfig(Section):
    """What computes, if not this machine: a server that speaks OpenAI's completions."""

    remote: Annotated[str, AfterValidator(_is_address)] = Field(
        "",
        description="Base URL of a server (http://host:port/v1), or unix:/path/to.sock; what is asked is sent there."
        " Empty: a model on this machine.",
    )
    remote_model: str = Field("", description="The model's name there; empty: the first that it lists.")
    remote_format: Literal[
        "suffix", "prefix", "codegemma", "qwen", "starcoder", "santacoder", "deepseek", "pre-suf-mid", "glm",
        "codegeex", "code", "prefix-suffix-middle", "seed", "codestral",
    ] = Field(
        "suffix",
        description="How it is asked. suffix: the text on both sides of the cursor in two fields; prefix: the text"
        " before it only; else one text in the template of this family.",
    )  # fmt: skip
    remote_key_file: str = Field(
        "",
        description="A file with the server's API key, which only you may read; the environment variable"
        " COMPLETIOND_ENGINE_REMOTE_KEY wins over it.",
    )
    timeout_ms: int = Field(
        10000, ge=100, le=600000, description="Longest wait for the next piece of an answer, in milliseconds."
    )


class PromptConfig(Section):
    """How much the model reads: of the file around the cursor, and of others."""

    prefix_tokens: Annotated[int, Repository.LOWER, Reload.LIVE] = Field(
        768, ge=16, le=65536, description="Most tokens of text before the cursor."
    )
    suffix_tokens: Annotated[int, Repository.LOWER, Reload.LIVE] = Field(
        256, ge=0, le=65536, description="Most tokens of text behind the cursor."
    )
    context_tokens: Annotated[int, Repository.LOWER, Reload.LIVE] = Field(
        0,
        ge=0,
        le=65536,
        description="Most tokens of what other open files have to say: definitions of what is used, similar lines,"
        " recent edits; 0: nothing.",
    )
    max_read_ms: Annotated[int, Repository.LIMIT, Reload.LIVE] = Field(
        2000,
        ge=0,
        le=600000,
        description="In editors, read less at first where all would take longer than this, in milliseconds, and the"
        " rest in a quiet moment; 0: all.",
    )


class CompletionConfig(Section):
    """Where answers are given, and how long one may be."""

    enabled: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="Whether there are suggestions at all."
    )
    disabled_languages: Annotated[Strings, Repository.ADD, Reload.LIVE] = Field(
        (), description='Languages without suggestions, by their names in LSP: "markdown", "plaintext".'
    )
    max_tokens: Annotated[int, Repository.LOWER, Reload.LIVE] = Field(
        64, ge=1, le=4096, description="Longest answer, in tokens."
    )
    multiline: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="Whether an answer at the end of a line or on a blank one may have several lines."
    )
    in_comments: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="Whether there are suggestions inside of comments."
    )
    in_strings: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="Whether there are suggestions inside of strings."
    )
    alternatives: Annotated[int, Repository.LOWER, Reload.LIVE] = Field(
        3, ge=1, le=8, description="Most suggestions at a place, for who asks for them by a command of the editor."
    )
    min_confidence: Annotated[int, Reload.LIVE] = Field(
        0,
        ge=0,
        le=99,
        description="Say nothing where the model is less sure of the first line, in percent: the geometric mean of the"
        " probabilities of its tokens; 0: always say it.",
    )
    healing: Annotated[bool, Reload.LIVE] = Field(
        True, description="Take half a word before the cursor back, and have the answer begin with it."
    )
    deadline_ms: Annotated[int, Repository.TRUSTED, Reload.LIVE] = Field(
        0,
        ge=0,
        le=60000,
        description="Answer editors with whole lines after so many milliseconds, the rest follows; 0: by the measured"
        " speed.",
    )


class SpecConfig(Section):
    """Speculative decoding: where drafts are from. It changes how long an answer takes, never the answer."""

    drafter: Annotated[DrafterChoice, Reload.LIVE] = Field(
        "auto",
        description="Where guesses come from. auto: copies, or a head that was loaded at the start and pays; none:"
        " plain decoding, one token a pass.",
    )
    max_draft_tokens: int = Field(31, ge=1, le=63, description="Longest draft that is checked in one pass, in tokens.")
    draft_width: int = Field(1, ge=1, le=8, description="Guesses below each token: above 1, heads draft trees.")
    eagle_head: str = Field(
        "", description="Folder of an EAGLE head; empty: the one that comes with the model, if any."
    )
    medusa_heads: str = Field("", description="Folder of Medusa heads; empty: those that come with the model, if any.")
    draft_model: str = Field("", description="A smaller model, named as in model.name; empty: half the model's layers.")
    workspace: Annotated[Strings, AfterValidator(_is_inside), Repository.TRUSTED, Reload.LIVE] = Field(
        (), description="Files to draft from without their being open: as in a .gitignore, in the editor's folders."
    )


class CacheConfig(Section):
    """What is kept between requests."""

    results: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="Serve what is typed along, or asked for again, from finished answers."
    )
    ahead: Annotated[bool, Repository.OFF, Reload.LIVE] = Field(
        True, description="While nothing is asked for, write what would follow an accepted answer."
    )
    suffix: Literal["auto", "shift", "exact"] = Field(
        "auto",
        description="While typing, move what was read of the text behind the cursor (shift), or read it again (exact);"
        " auto: shift on a CPU.",
    )
    memory_mb: int = Field(
        256,
        ge=0,
        le=65536,
        description="Memory for what was read of other texts, in MiB, to go on there without reading them again. Where"
        " it is twice the cache of a context or more, the text before last stays as it was (not on a GPU): two can be"
        " typed in turn.",
    )


class ExcludeConfig(Section):
    """Files that are never read. Those that look like secrets (.env, keys) are always left out."""

    globs: Annotated[Strings, AfterValidator(_can_match), Repository.ADD, Reload.LIVE] = Field(
        (), description="Patterns as in a .gitignore, relative to the workspace's folders."
    )
    gitignore: Annotated[bool, Repository.ON, Reload.LIVE] = Field(
        True, description="Leave out what a .gitignore names."
    )


class ApiConfig(Section):
    """How other programs than editors reach the daemon, besides its own socket."""

    http: Annotated[str, AfterValidator(_is_loopback)] = Field(
        "",
        description="Serve HTTP at this address of this machine too, such as 127.0.0.1:8012, for who knows the token;"
        " empty: only on the daemon's own socket.",
    )


class Config(Section):
    """All settings. Derived values are computed where they are used, never stored here."""

    model: ModelConfig = ModelConfig()
    engine: EngineConfig = EngineConfig()
    prompt: PromptConfig = PromptConfig()
    completion: CompletionConfig = CompletionConfig()
    spec: SpecConfig = SpecConfig()
    cache: CacheConfig = CacheConfig()
    exclude: ExcludeConfig = ExcludeConfig()
    api: ApiConfig = ApiConfig()

    def with_model(self, name: str | None) -> Config:
        """A copy with another model, or this object when ``name`` is None."""
        if name is None:
            return self
        name = absolute_if_path(name)
        return self.model_copy(update={"model": self.model.model_copy(update={"name": name})})


def absolute_if_path(name: str) -> str:
    """A model's name, made absolute if it is a file or folder here: a daemon runs in another folder."""
    return str(Path(name).absolute()) if name.startswith((".", "/")) or name.endswith(".gguf") else name
