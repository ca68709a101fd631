"""One line of an ignore file, by git's rules."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

__all__ = ["Rule"]

MAX_DOUBLE_STARS = 2
"""In one rule, but for the last part of its path. The time for a path grows with its length to this power, and a
repository is not always a friend's."""

_CLASSES = {
    "[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:blank:]": " \t", "[:digit:]": "0-9", "[:lower:]": "a-z",
    "[:space:]": " \t\n\r\f\v", "[:upper:]": "A-Z", "[:xdigit:]": "0-9A-Fa-f",
}  # fmt: skip
_CLASS = re.compile(r"\[:\w*:\]")
_SET = re.compile(r"\\.|\[[!^]?\]?(?:\[:\w*:\]|[^\]])*\]")
"""An escaped character, or a set in brackets."""
_STAR = re.compile(r"\[\^/\]\*((?:\\.|\[\^?\]?(?:\\.|[^\]])*\]|[^\[\\/*+?()])+?)(?=\[\^/\]\*)")
"""In a regular expression that pathspec made: a star, and what stands between it and another star in the same name."""
_MANY_STARS = re.compile(r"(?<![^/])\*{3,}(?![^/])")
_NAME_THEN_STARS = re.compile(r"(/?[^*?\[\\]*[^*?\[\\/])\*{2,}(?:/(.*))?", re.DOTALL)
"""``name**`` and ``name**/rest``, in which nothing before the stars is special."""
_TRAILING_SPACES = re.compile(r"((?:[^\\]|\\.)*?) *", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    regex: re.Pattern[str]
    excludes: bool
    """False for a rule with ``!``."""
    folders_only: bool
    name_only: bool
    """The pattern has no slash, so that it matches names at any depth."""

    @classmethod
    def parse(cls, line: str) -> Rule | None:
        """None for a comment or a blank line. Raises ValueError that says what is wrong with a rule."""
        if line.startswith("#"):
            return None
        trimmed = _TRAILING_SPACES.fullmatch(line)
        line = trimmed[1] if trimmed else line
        # The slash at the end is handled here: pathspec's ``dir/`` also matches what is inside.
        pattern = line.removesuffix("/")
        bare = _MANY_STARS.sub("**", pattern.removeprefix("!"))
        pattern = "!" + bare if pattern.startswith("!") else bare
        if not line or not bare:
            return None
        if bare.split("/")[:-1].count("**") > MAX_DOUBLE_STARS:
            raise ValueError(f"more than {MAX_DOUBLE_STARS} times **")
        try:
            source, excludes = _source_of(pattern)
            regex = re.compile(_safe_source(source)) if source is not None else None
        except (ValueError, re.error) as error:
            raise ValueError(str(error)) from None
        if regex is None or excludes is None:
            raise ValueError("not a pattern that can match")
        return cls(regex, excludes, line.endswith("/"), "/" not in bare)

    def matches(self, relative: str, is_folder: bool) -> bool:
        """Whether the pattern matches this very path, relative to the rule's folder; not one of its parents."""
        if self.folders_only and not is_folder:
            return False
        found = self.regex.search(relative.rpartition("/")[2] if self.name_only else relative)
        return found is not None and not found.groupdict().get("ps_d")


def _source_of(pattern: str) -> tuple[str | None, bool | None]:
    """A regular expression, and whether it excludes.

    git compares what stands before the first special character by itself and matches only what follows. So the stars
    of ``name**/rest`` stand at the start of what is matched and mean folders, against its documentation.
    """
    bare = pattern.removeprefix("!")
    found = _NAME_THEN_STARS.fullmatch(bare)
    if found is None or "/" not in bare:
        return _made_by_pathspec(pattern)
    name, rest = f"^{re.escape(found[1].removeprefix('/'))}", found[2]
    source, _ = _made_by_pathspec(f"/{'**' if rest is None else rest}")
    if source == ".":  # nothing but stars
        return name, bare == pattern
    if source is None or not source.startswith("^"):
        raise ValueError("not a pattern that can match")
    # The name's end can be the folder's end, so that a star can also stand for no character.
    return name + "(?:(?s:.)*/)?" + source[1:].replace("[^/]+", "[^/]*"), bare == pattern


def _made_by_pathspec(pattern: str) -> tuple[str | None, bool | None]:
    source, excludes = GitIgnoreSpecPattern.pattern_to_regex(_SET.sub(_plain_set, pattern))
    return source, excludes


def _plain_set(found: re.Match[str]) -> str:
    """What pathspec does not know of sets, ``[[:digit:]]``, in words that it knows."""
    text = found[0]
    if text.startswith("\\"):
        return text
    if "\\" in text or any(name not in _CLASSES for name in _CLASS.findall(text)):
        raise ValueError(f"a set that is not supported: {text}")
    return _CLASS.sub(lambda name: _CLASSES[name[0]], text)


def _safe_source(source: str) -> str:
    """A regular expression in which sets do not match slashes and hold nothing that Python warns of.

    Of several stars in a name all but the last match the first place they can and stay there, which finds the same:
    trying all places takes years for ``*a*a*a*a*a*a*b``.
    """
    source = re.sub(r"(?<!\\)\[(\^?)\[", r"[\1\\[", re.sub(r"(?<!\\)\[\^(?![\]/])", "[^/", source))
    return _STAR.sub(r"(?>[^/]*?\1)", re.sub(r"([-&~|])\1", r"\1\\\1", source))
