"""Names of languages as editors give them (LSP 3.17 "TextDocumentItem"), by a file's ending, where no editor does."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from completiond.complete.request import BLANK, OFF, CompletionRequest
from completiond.complete.surroundings import surroundings_of
from completiond.config import Config

__all__ = ["language_of", "why_off"]

_BY_ENDING: Final = MappingProxyType({
    "bat": "bat", "c": "c", "cc": "cpp", "clj": "clojure", "cpp": "cpp", "cs": "csharp", "css": "css", "cxx": "cpp",
    "dart": "dart", "diff": "diff", "ex": "elixir", "exs": "elixir", "erl": "erlang", "fs": "fsharp", "go": "go",
    "groovy": "groovy", "h": "c", "hpp": "cpp", "hs": "haskell", "htm": "html", "html": "html", "ini": "ini",
    "java": "java", "jl": "julia", "js": "javascript", "json": "json", "jsx": "javascriptreact", "kt": "kotlin",
    "less": "less", "lua": "lua", "m": "objective-c", "md": "markdown", "mk": "makefile", "mm": "objective-cpp",
    "php": "php", "pl": "perl", "ps1": "powershell", "py": "python", "pyi": "python", "r": "r", "rb": "ruby",
    "rs": "rust", "rst": "restructuredtext", "scala": "scala", "scss": "scss", "sh": "shellscript", "sql": "sql",
    "swift": "swift", "tex": "latex", "toml": "toml", "ts": "typescript", "tsx": "typescriptreact", "txt": "plaintext",
    "vb": "vb", "vue": "vue", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig",
})  # fmt: skip


def language_of(request: CompletionRequest) -> str:
    """The language's name; empty for an ending that is not known."""
    name = request.path.rpartition("/")[2]
    return request.language_id or _BY_ENDING.get(name.rpartition(".")[2].lower(), "")


def why_off(request: CompletionRequest, settings: Config) -> str | None:
    """The stop reason of an answer where the settings want none, or there is nothing to go by; None where they want
    one.
    """
    wanted = settings.completion
    if not wanted.enabled:
        return f"{OFF}completion.enabled"
    if wanted.disabled_languages and language_of(request).lower() in map(str.lower, wanted.disabled_languages):
        return f"{OFF}completion.disabled_languages"
    if not request.prefix.strip() and not request.suffix.strip() and not settings.prompt.context_tokens:
        return BLANK
    if wanted.in_comments and wanted.in_strings:
        return None
    surroundings = surroundings_of(request.prefix, request.suffix, language_of(request), request.path)
    if surroundings == "comment" and not wanted.in_comments:
        return f"{OFF}completion.in_comments"
    return f"{OFF}completion.in_strings" if surroundings == "string" and not wanted.in_strings else None
