"""Settings of exclusions, from the file and from the environment, and what is said of bad ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from completiond.config import ExcludeConfig, load_config
from completiond.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_by_default_what_git_ignores_is_excluded_and_no_more(file: Path) -> None:
    assert load_config(file, {}).exclude == ExcludeConfig(globs=(), gitignore=True)


def test_patterns_in_the_file_are_a_list_in_their_order(file: Path) -> None:
    file.write_text('[exclude]\nglobs = ["*.sql", "!schema.sql", "/legal/", "[a,b].txt"]\ngitignore = false\n')

    exclude = load_config(file, {}).exclude
    assert exclude.globs == ("*.sql", "!schema.sql", "/legal/", "[a,b].txt")
    assert exclude.gitignore is False


@pytest.mark.parametrize(
    ("value", "globs"),
    [("*.sql", ("*.sql",)), ("*.sql,/legal/", ("*.sql", "/legal/")), (" a , b,,", ("a", "b")), ("", ())],
)
def test_the_environment_divides_patterns_by_commas_and_wins(file: Path, value: str, globs: tuple[str, ...]) -> None:
    file.write_text('[exclude]\nglobs = ["from the file"]\n')
    environment = {"COMPLETIOND_EXCLUDE_GLOBS": value, "COMPLETIOND_EXCLUDE_GITIGNORE": "false"}

    assert load_config(file, environment).exclude == ExcludeConfig(globs=globs, gitignore=False)


@pytest.mark.parametrize("pattern", ["", "# note", "/", "!", "[a", "../up", "a/./b", "[[:nonsense:]]"])
def test_a_pattern_that_cannot_match_is_named_with_its_place(file: Path, pattern: str) -> None:
    text = f"[exclude]\nglobs = ['*.ok', '{pattern}']\n"
    assert tomllib.loads(text)["exclude"]["globs"][1] == pattern
    file.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(file, {})
    assert f"{file}: exclude.globs: Exclusion {pattern!r}" in caught.value.message
    assert caught.value.exit_status == 2


def test_a_bad_pattern_in_the_environment_is_named_with_its_variable(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"^COMPLETIOND_EXCLUDE_GLOBS: Exclusion '\.\./up'"):
        load_config(file, {"COMPLETIOND_EXCLUDE_GLOBS": "*.sql, ../up"})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[exclude]\nglob = ['a']", "exclude.glob"),
        ("[exclude]\nglobs = 3", "exclude.globs"),
        ("[exclude]\nglobs = ['a', 3]", "exclude.globs.1"),
        ("[exclude]\ngitignore = 'perhaps'", "exclude.gitignore"),
    ],
)
def test_other_mistakes_name_their_key_and_what_was_found(file: Path, text: str, place: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(file, {})
    assert caught.value.message.startswith(f"{file}: {place}: ")
    assert "(found " in caught.value.message
