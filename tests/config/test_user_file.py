"""What a user's config.toml and environment do, and what is said of mistakes in them."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from completiond.config import Config, ExcludeConfig, Problem, load_config
from completiond.config.load import MAX_USER_FILE_BYTES
from completiond.config.setting import all_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(file: Path, environment: dict[str, str] | None = None) -> tuple[Config, list[str]]:
    """The settings, and what is said of them, without the folder."""
    problems: list[Problem] = []
    config = load_config(file, environment or {}, problems.append)
    return config, [str(problem).replace(f"{file.parent}/", "") for problem in problems]


def test_without_a_file_there_are_the_defaults(file: Path) -> None:
    assert load(file) == (Config(), [])
    assert Config().exclude == ExcludeConfig(globs=(), gitignore=True)


def test_a_file_is_followed(file: Path) -> None:
    file.write_text(
        '"$schema" = "config.schema.json"\n[exclude]\nglobs = ["*.sql", "!schema.sql", "[a,b].txt"]\n'
        "gitignore = false\n[completion]\nmax_tokens = 7\n"
    )
    config, said = load(file)
    assert config.exclude == ExcludeConfig(globs=("*.sql", "!schema.sql", "[a,b].txt"), gitignore=False)
    assert config.completion.max_tokens == 7
    assert said == []


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_accepted(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[completion]\r\nmax_tokens = 7\r\n[prompt]\r\nprefix_tokens = 1\r\n")
    config, (said,) = load(file)
    assert config.completion.max_tokens == 7
    assert said.startswith("config.toml:4: prompt.prefix_tokens must be a whole number from 16 to 65536 (found 1).")


@pytest.mark.parametrize(
    ("value", "globs"),
    [("*.sql", ("*.sql",)), ("*.sql,/legal/", ("*.sql", "/legal/")), (" a , b,,", ("a", "b")), ("", ())],
)
def test_the_environment_divides_lists_by_commas_and_wins(file: Path, value: str, globs: tuple[str, ...]) -> None:
    file.write_text('[exclude]\nglobs = ["from the file"]\n')
    environment = {"COMPLETIOND_EXCLUDE_GLOBS": value, "COMPLETIOND_EXCLUDE_GITIGNORE": "false"}
    config, said = load(file, environment)
    assert (config.exclude, said) == (ExcludeConfig(globs=globs, gitignore=False), [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[prompt]\nmax_read_ms = true", "2: prompt.max_read_ms must be a whole number from 0 to 600000 (found true)."),
        ('[cache]\n\nmemory_mb = "1"', '3: cache.memory_mb must be a whole number from 0 to 65536 (found "1").'),
        ("[cache]\nmemory_mb = 1.0", "2: cache.memory_mb must be a whole number from 0 to 65536 (found 1.0)."),
        ("[cache]\nmemory_mb = -1", "2: cache.memory_mb must be a whole number from 0 to 65536 (found -1)."),
        ('[exclude]\ngitignore = "no"', '2: exclude.gitignore must be true or false (found "no").'),
        ("[exclude]\ngitignore = 0", "2: exclude.gitignore must be true or false (found 0)."),
        ('[exclude]\nglobs = "a"', '2: exclude.globs must be a list of strings, 1000 at most (found "a").'),
        ('[exclude]\nglobs = ["a", 3]', '2: exclude.globs must be a list of strings, 1000 at most (found ["a", 3]).'),
        ("[model]\nname = 3", "2: model.name must be a string (found 3)."),
        ('[model]\nname = "a\\u0000b"', '2: model.name may not hold control characters (found "a\\u0000b").'),
        ("[model]\nname = ' '", "2: model.name: an empty name is that of no model; leave it out for the default."),
        ('[model]\ndevice = "gpu"', '2: model.device must be one of "auto", "cpu", "cuda" (found "gpu").'),
        ("[model]\ndevice = 1979-05-27", '2: model.device must be one of "auto", "cpu", "cuda" (found "1979-05-27").'),
        ("[model]\nnme = 'x'", "2: model.nme is not a setting. Did you mean model.name?"),
        ("[exclude]\nglob = ['a']", "2: exclude.glob is not a setting. Did you mean exclude.globs?"),
        ("[prompt]\nmax_tokens = 3", "2: prompt.max_tokens is not a setting. Did you mean completion.max_tokens?"),
        ("[prompt]\nzzz = 3", "2: prompt.zzz is not a setting."),
        ("[promt]\nprefix_tokens = 20", "1: promt is no section of settings. Did you mean [prompt]?"),
        ("max_tokens = 3", "1: max_tokens is no section of settings. Did you mean completion.max_tokens?"),
        ("model = 3", "1: model must be a table of settings: [model]."),
        ("[[model]]\nname = 'x'", "1: model must be a table of settings: [model]."),
        ("prompt.prefix_tokens = 1", "1: prompt.prefix_tokens must be a whole number from 16 to 65536 (found 1)."),
        ("cache = { memory_mb = -1 }", "1: cache.memory_mb must be a whole number from 0 to 65536 (found -1)."),
        ("[ 'cache' ]\n\"memory_mb\" = -1", "2: cache.memory_mb must be a whole number from 0 to 65536 (found -1)."),
        (
            "[model] # [prompt]\nname = '''\n[prompt]\n'''\n[prompt]\nprefix_tokens = 1",
            "2: model.name may not hold control characters (found \"[prompt]\\n\").",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_what_is_allowed(file: Path, text: str, said: str) -> None:
    tomllib.loads(text)
    file.write_text(text + "\n")
    config, all_said = load(file)
    assert all_said[0] == f"config.toml:{said}"
    assert config == Config(), "the default stands in for it"


def test_one_wrong_key_does_not_lose_the_others(file: Path) -> None:
    file.write_text("[completion]\nmax_tokens = 'many'\ndeadline_ms = 900\n[prompt]\nsuffix_tokens = 9\nx = 1\n")
    config, said = load(file)
    assert (config.completion.max_tokens, config.completion.deadline_ms, config.prompt.suffix_tokens) == (64, 900, 9)
    assert [one.split(" ")[0] for one in said] == ["config.toml:2:", "config.toml:6:"]


@pytest.mark.parametrize("pattern", ["", "# note", "/", "!", "[a", "../up", "a/./b", "[[:nonsense:]]"])
def test_a_pattern_that_cannot_match_is_named_with_its_place(file: Path, pattern: str) -> None:
    file.write_text(f"[exclude]\nglobs = ['*.ok', '{pattern}']\n")
    config, (said,) = load(file)
    assert said.startswith(f"config.toml:2: exclude.globs: Exclusion {pattern!r}")
    assert config.exclude.globs == ()


@pytest.mark.parametrize("name", ["exclude.globs", "spec.workspace"])
@pytest.mark.parametrize(("patterns", "more"), [(["", "/"], ""), (["", "[", "/", "!", "a/../b"], " And 2 more.")])
def test_all_wrong_patterns_of_a_list_are_told(file: Path, name: str, patterns: list[str], more: str) -> None:
    section, _, key = name.partition(".")
    file.write_text(f"[{section}]\n{key} = {['*.ok', *patterns]}\n")
    _, (said,) = load(file)
    assert said.startswith(f"config.toml:2: {name}: ")
    assert all(repr(pattern) in said for pattern in patterns[:3])
    assert not any(repr(pattern) in said for pattern in ["*.ok", *patterns[3:]])
    assert said.endswith(more or ".")
    assert ".." not in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[prompt]\nprefix_tokens = \n", "config.toml:2 is not TOML: Invalid value"),
        (b"[prompt", "config.toml is not TOML: Expected ']' at the end of a table declaration (at end of document);"),
        (b"a = 1\na = 2\n", "config.toml:2 is not TOML: "),
        (b"[prompt]\n# \xff\n", "config.toml:2 is not text in UTF-8"),
        (b"\xff\xfe[\x00", "config.toml:1 is not text in UTF-8"),
        (b"a = " + b"[" * 5000, "config.toml:1 has more than 16 brackets in each other"),
        (b"a." * 5000 + b"a = 1", "config.toml:1 has a key of more than 16 parts"),
        (b"a = " + b"1" * 5000, "config.toml is not TOML: "),
        (b'a = "' + b'\\"' * 300_000, "config.toml is not TOML: "),
        (b"#" * (MAX_USER_FILE_BYTES + 1), f"config.toml is larger than {MAX_USER_FILE_BYTES} bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_the_rest_stays(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    config, (one,) = load(file, {"COMPLETIOND_COMPLETION_MAX_TOKENS": "9"})
    assert one.startswith(said)
    assert one.endswith("; nothing of the file is used")
    assert config.completion.max_tokens == 9


def test_what_is_no_regular_file_is_not_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert load(file) == (Config(), ["config.toml is not a regular file; nothing of the file is used"])
    file.unlink()
    file.mkdir()
    assert load(file) == (Config(), ["config.toml is not a regular file; nothing of the file is used"])


def test_the_user_s_own_file_may_be_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("[completion]\nmax_tokens = 7\n")
    file.symlink_to(tmp_path / "dotfiles.toml")
    assert load(file)[0].completion.max_tokens == 7
    (tmp_path / "dotfiles.toml").unlink()
    said = "config.toml is a symbolic link to a file that is not there; nothing of the file is used"
    assert load(file) == (Config(), [said])


def test_thousands_of_mistakes_are_told_in_a_few_lines(file: Path) -> None:
    file.write_text("[prompt]\n" + "".join(f"key_{i} = 1\n" for i in range(3000)))
    _, said = load(file)
    assert len(said) == 21
    assert said[-1] == "config.toml: 2980 more problems."


def test_names_that_would_move_the_cursor_are_escaped(file: Path) -> None:
    file.write_text('[prompt]\n"\\u001b[2J" = 1\n')
    _, (said,) = load(file)
    assert said == "config.toml:1: prompt.'\\x1b[2J' is not a setting."


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("COMPLETIOND_MODEL_NMAE", "x", "COMPLETIOND_MODEL_NMAE is not a setting. Did you mean COMPLETIOND_MODEL_NAME"),
        (
            "COMPLETIOND_COMPLETION_MAX_TOKENS", "many",
            "COMPLETIOND_COMPLETION_MAX_TOKENS: completion.max_tokens must be a whole number from 1 to 4096",
        ),
        (
            "COMPLETIOND_EXCLUDE_GITIGNORE", "perhaps",
            'COMPLETIOND_EXCLUDE_GITIGNORE: exclude.gitignore must be true or false (found "perhaps").',
        ),
        ("COMPLETIOND_EXCLUDE_GLOBS", "*.sql, ../up", "COMPLETIOND_EXCLUDE_GLOBS: exclude.globs: Exclusion '../up'"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_environment_is_told_with_its_variable(
    file: Path, variable: str, value: str, said: str
) -> None:
    file.write_text("[completion]\nmax_tokens = 7\n")
    config, (one,) = load(file, {variable: value})
    assert one.startswith(said)
    assert config == Config.model_validate({"completion": {"max_tokens": 7}})


@pytest.mark.parametrize("variable", ["FOO", "ZZZ", "DEBUG", "TOKEN_X"])
def test_nothing_far_fetched_is_proposed_for_a_variable(file: Path, variable: str) -> None:
    assert load(file, {f"COMPLETIOND_{variable}": "1"})[1] == [f"COMPLETIOND_{variable} is not a setting."]


@pytest.mark.parametrize("setting", all_settings().values(), ids=str)
def test_every_setting_can_be_set_in_the_environment(file: Path, setting: object) -> None:
    (one,) = (one for one in all_settings().values() if one is setting)
    some = "http://127.0.0.1:1/v1" if str(one) == "engine.remote" else "127.0.0.1:80"
    text = {"switch": "no", "number": str(one.most), "text": some, "list": "a,b"}.get(one.kind) or one.choices[-1]
    config, said = load(file, {one.variable: f"{text}"})
    found = getattr(getattr(config, one.section), one.key)
    expected = {"switch": False, "number": one.most, "list": ("a", "b")}.get(one.kind, text)
    assert (found, said) == (expected, [])
