"""Settings that change while a process runs: for whom, from when, and what is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from completiond.complete.language import _BY_ENDING
from completiond.config.language_names import KNOWN_LANGUAGES, SHORT_NAMES
from completiond.config.permission import Reload
from completiond.config.setting import all_settings
from completiond.config.settings import Settings

LATER_S = 1.0


class Process:
    """The settings of one process, with a clock that is moved by hand."""

    def __init__(self, tmp_path: Path, **environment: str) -> None:
        self.file = tmp_path / "config.toml"
        self.now_s = 0.0
        self.said: list[str] = []
        self.environment = environment
        self._settings: Settings | None = None

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = Settings(
                self.file, self.environment, {("model", "threads"): 2}, clock=lambda: self.now_s,
                report=lambda problem: self.said.append(str(problem).replace(f"{self.file.parent}/", "")),
            )  # fmt: skip
        return self._settings

    def write(self, text: str) -> None:
        self.file.write_text(text)
        self.now_s += LATER_S

    @property
    def max_tokens(self) -> int:
        return self.settings.of_file("editor", "/a.py").completion.max_tokens


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_a_change_counts_for_the_next_request(process: Process) -> None:
    assert process.max_tokens == 64
    process.write("[completion]\nmax_tokens = 7\n")
    assert process.max_tokens == 7
    process.write("[completion]\nmax_tokens = 8\n")
    assert process.max_tokens == 8
    process.file.unlink()
    process.now_s += LATER_S
    assert process.max_tokens == 64
    assert process.said == []


def test_files_are_looked_at_again_after_a_moment_or_when_told_to(process: Process) -> None:
    assert process.max_tokens == 64
    process.file.write_text("[completion]\nmax_tokens = 7\n")
    assert process.max_tokens == 64, "not a moment has passed"
    process.settings.look(now=True)
    assert process.max_tokens == 7


def test_a_file_that_is_replaced_by_one_of_the_same_size_and_time_is_noticed(process: Process, tmp_path: Path) -> None:
    process.write("[completion]\nmax_tokens = 7\n")
    assert process.max_tokens == 7
    new = tmp_path / "new"
    new.write_text("[completion]\nmax_tokens = 8\n")
    times = process.file.stat()
    os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
    new.replace(process.file)
    process.now_s += LATER_S
    assert process.max_tokens == 8


def test_the_last_good_value_stays_and_a_mistake_is_told_once(process: Process) -> None:
    process.write("[completion]\nmax_tokens = 7\ndeadline_ms = 5\n")
    assert process.max_tokens == 7
    process.write("[completion]\nmax_tokens = 'x'\ndeadline_ms = 6\n")
    assert process.max_tokens == 7
    assert process.settings.config.completion.deadline_ms == 6
    process.write("# a line more\n[completion]\nmax_tokens = 'x'\ndeadline_ms = 9\n")
    assert process.max_tokens == 7
    assert process.settings.config.completion.deadline_ms == 9
    (said,) = process.said
    assert said.startswith("config.toml:2: completion.max_tokens must be ")
    (standing,) = process.settings.problems()
    assert standing.origin.line == 3

    process.write("[completion]\nmax_tokens = 9\n")
    assert (process.max_tokens, process.settings.problems()) == (9, [])
    process.write("[completion]\nmax_tokens = 'x'\n")
    assert process.max_tokens == 9
    assert len(process.said) == 2, "it had been away"


@pytest.mark.parametrize("by", ["file", "editor", "environment", "repository"])
def test_a_language_that_is_probably_misspelled_is_told_once_and_counts(by: str, tmp_path: Path) -> None:
    names = ["Python", "pyhton", "javascriptt", "klingon", "typescirpt"]
    environment = {"COMPLETIOND_COMPLETION_DISABLED_LANGUAGES": ",".join(names)} if by == "environment" else {}
    process = Process(tmp_path, **environment)
    table = {"completion": {"disabled_languages": names}}
    text = f"[completion]\ndisabled_languages = {names}\n"
    if by == "repository":
        (tmp_path / "repo").mkdir()
        (tmp_path / "repo" / ".completiond.toml").write_text(text)
    if by == "file":
        process.write(text)
    if by == "editor":
        process.settings.set_client("editor", "initializationOptions", table)
    for _ in range(2):
        found = process.settings.of_file("editor", str(tmp_path / "repo" / "a.py"))
        assert found.completion.disabled_languages == tuple(names)
    (said,) = process.said
    assert said.endswith(
        'completion.disabled_languages may have misspelled "pyhton" (python?), "javascriptt" (javascript?),'
        ' "typescirpt" (typescript?). It counts as it is.'
    )
    if by == "file":
        process.write(f"# a line more\n{text}")
        process.settings.look()
        assert process.said == [said]
        process.write("[completion]\ndisabled_languages = ['python', 'klingon']\n")
        process.settings.look()
        assert process.settings.problems() == []


def test_every_language_that_we_name_ourselves_is_known() -> None:
    assert {*_BY_ENDING.values()} <= KNOWN_LANGUAGES
    assert {name for names in SHORT_NAMES.values() for name in names.split("/")} <= KNOWN_LANGUAGES
    assert not KNOWN_LANGUAGES & {*SHORT_NAMES}, "an editor gives it"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("js", "javascript"), ("ts", "typescript"), ("tsx", "typescriptreact"), ("py", "python"), ("golang", "go"),
     ("C++", "cpp"), ("C#", "csharp/cs"), ("yml", "yaml"), ("Docker", "dockerfile"), ("rs", "rust")],
)  # fmt: skip
def test_what_no_editor_calls_a_language_is_told_with_what_was_meant(process: Process, name: str, meant: str) -> None:
    process.write(f"[completion]\ndisabled_languages = ['{name}', 'cs', 'sh', 'bash', 'tex', 'objc']\n")
    assert name in process.settings.config.completion.disabled_languages
    (said,) = process.said
    assert said.endswith(f'disabled_languages may have misspelled "{name}" ({meant}?). It counts as it is.')


@pytest.mark.parametrize("by", ["file", "repository"])
@pytest.mark.parametrize(
    ("globs", "said"),
    [
        (["!.env"], '"!.env" takes nothing back, since no pattern before it in the list excludes anything.'),
        (["!a", "*", "!b"], '"!a" takes nothing back, since no pattern before it in the list excludes anything.'),
        (["*", "!.env", "!x.py"], '"!.env" takes nothing back, since what looks like a secret is always left out.'),
        (["*.sql", "!schema.sql", "~$doc.txt"], ""),
    ],
)
def test_a_pattern_that_takes_nothing_back_is_told_and_stays(
    tmp_path: Path, by: str, globs: list[str], said: str
) -> None:
    process = Process(tmp_path)
    if by == "repository":
        if globs[-1].startswith("~"):
            globs = globs[:-1]
        (tmp_path / ".completiond.toml").write_text(f"[exclude]\nglobs = {globs}\n")
        process.settings.of_file("editor", str(tmp_path / "a.py"))
    else:
        process.write(f"[exclude]\nglobs = {globs}\n")
        assert process.settings.config.exclude.globs == tuple(globs)
    assert [one.partition("exclude.globs: ")[2] for one in process.said] == [said] * bool(said)
    assert all(problem.is_doubt for problem in process.settings.problems())


def test_only_the_home_of_somebody_unknown_is_doubted(process: Process) -> None:
    process.write("[exclude]\nglobs = ['~/x', '~/', '~nobody-of-this-name/x', '!~/x/y']\n")
    assert len(process.settings.config.exclude.globs) == 4
    (said,) = process.said
    assert said.endswith(
        'globs: "~nobody-of-this-name/x" is no folder of a user known here; write the path from /, or ~/ for your own.'
    )


@pytest.mark.parametrize("content", [b"[completion", b"\xff", b"#" * 2_000_000])
def test_of_a_file_that_cannot_be_read_all_stays(process: Process, content: bytes) -> None:
    process.write("[completion]\nmax_tokens = 7\n")
    assert process.max_tokens == 7
    process.file.write_bytes(content)
    process.now_s += LATER_S
    for _ in range(2):
        assert process.max_tokens == 7
    assert len(process.said) == 1


def test_the_order_is_defaults_file_editor_environment_command_line(tmp_path: Path) -> None:
    process = Process(tmp_path, COMPLETIOND_PROMPT_PREFIX_TOKENS="30", COMPLETIOND_MODEL_THREADS="1")
    process.write(
        "[prompt]\nprefix_tokens = 20\nsuffix_tokens = 20\nmax_read_ms = 20\n[model]\nthreads = 3\n"
        "[completion]\nmax_tokens = 20\ndeadline_ms = 20\n"
    )
    settings = process.settings
    settings.set_client("editor", "didChangeConfiguration", {"prompt": {"suffix_tokens": 26}})
    options = {"prompt": {"prefix_tokens": 25, "suffix_tokens": 25}, "completion": {"max_tokens": 25}}
    settings.set_client("editor", "initializationOptions", options)
    found = settings.explain("editor", "/a.py")
    expected = {
        ("prompt", "prefix_tokens"): (30, "COMPLETIOND_PROMPT_PREFIX_TOKENS"),
        ("prompt", "suffix_tokens"): (26, "didChangeConfiguration of the editor"),
        ("prompt", "max_read_ms"): (20, f"{process.file}:4"),
        ("completion", "max_tokens"): (25, "initializationOptions of the editor"),
        ("completion", "deadline_ms"): (20, f"{process.file}:9"),
        ("model", "threads"): (2, "command line"),
        ("model", "device"): ("auto", "default"),
    }
    assert {name: (found[name], str(found.origins[name])) for name in expected} == expected
    assert settings.of_file("another", "/a.py").prompt.suffix_tokens == 20, "its own"


@pytest.mark.parametrize("setting", all_settings().values(), ids=str)
def test_what_cannot_change_stays_and_is_told_once(tmp_path: Path, setting: object) -> None:
    (one,) = (one for one in all_settings().values() if one is setting)
    process = Process(tmp_path)
    if str(one) == "model.threads":
        process.settings.set_client("editor", "initializationOptions", None)  # given on the command line, see above
        return
    before = process.settings.config
    value = {
        "switch": "false",
        "number": str(one.most),
        "text": "'http://127.0.0.1:1/v1'" if str(one) == "engine.remote" else "'127.0.0.1:80'",
        "list": "['*.x']",
        "choice": f"'{one.choices[-1:]}'",
    }
    text = f"'{one.choices[-1]}'" if one.kind == "choice" else value[one.kind]
    process.write(f"[{one.section}]\n{one.key} = {text}\n")
    for _ in range(2):
        process.now_s += LATER_S
        after = process.settings.of_file("editor", "/a.py")
    if one.reload is Reload.LIVE:
        assert after != before
        assert process.said == []
    else:
        assert after == before
        (said,) = process.said
        assert said.startswith(f"config.toml:2: {one} = ")
        assert said.endswith(" takes effect after `completiond stop`.")
    process.write("")
    assert process.settings.of_file("editor", "/a.py") == before
    assert process.settings.problems() == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"completiond": {"completion": {"max_tokens": 7}}}, ""),
        ({"completion": {"max_tokens": 7}}, ""),
        ({"completion": {"max_tokens": 7}, "editor": {}}, ": editor is no section of settings."),
        (
            {"completion": {"max_tokens": 7}, "model": {"name": "x"}},
            ": model.name is the same for all editors of a daemon",
        ),
        ({"completion": {"max_tokens": 7, "deadline_ms": True}}, ": completion.deadline_ms must be a whole number"),
        ({"completion": {"max_tokens": 7, "deadline_ms": 1.0}}, ": completion.deadline_ms must be a whole number"),
    ],
)
def test_an_editor_s_settings_are_its_own(process: Process, options: object, said: str) -> None:
    process.settings.set_client("editor", "initializationOptions", options)
    assert process.max_tokens == 7
    assert process.settings.of_file("another", "/a.py").completion.max_tokens == 64
    assert [one.startswith(f"initializationOptions of the editor{said}") for one in process.said] == [True] * bool(said)


@pytest.mark.parametrize("options", [None, {}, [], {"completiond": None}, {"completiond": {}}, {"completiond": []}])
def test_an_editor_may_have_no_settings_or_none_any_more(process: Process, options: object) -> None:
    process.settings.set_client("editor", "didChangeConfiguration", {"completion": {"max_tokens": 7}})
    process.settings.set_client("editor", "didChangeConfiguration", options)
    assert (process.max_tokens, process.said) == (64, [])


@pytest.mark.parametrize("options", [3, "x", [1], {"completiond": "x"}, {"completion": {"max_tokens": {"a": [None]}}}])
def test_an_editor_s_last_good_settings_stay(process: Process, options: object) -> None:
    process.settings.set_client("editor", "didChangeConfiguration", {"completion": {"max_tokens": 7}})
    process.settings.set_client("editor", "didChangeConfiguration", options)
    assert process.max_tokens == 7
    assert len(process.said) == 1


def test_an_editor_hears_what_concerns_it_once(process: Process) -> None:
    process.write("[completion]\nmax_tokens = 'x'\n")
    heard: dict[str, list[str]] = {"one": [], "two": []}
    settings = process.settings
    for client_id, messages in heard.items():
        settings.listen(client_id, lambda problems, messages=messages: messages.extend(map(str, problems)))  # type: ignore[misc]
    assert [len(messages) for messages in heard.values()] == [1, 1]
    settings.set_client("one", "initializationOptions", {"prompt": 3})
    assert [len(messages) for messages in heard.values()] == [2, 1]
    for _ in range(3):
        process.write(process.file.read_text() + "\n")
        settings.look()
    assert [len(messages) for messages in heard.values()] == [2, 1]
    settings.forget_client("one")
    process.write("[oops\n")
    settings.look()
    assert [len(messages) for messages in heard.values()] == [2, 2]
    assert len(settings.problems()) == 1


def test_looking_costs_one_look_at_the_file(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = process.settings
    assert process.max_tokens == 64
    process.now_s += LATER_S
    reads = []
    monkeypatch.setattr("completiond.config.settings.read_toml", lambda *arguments: reads.append(arguments))
    for _ in range(1000):
        settings.of_file("editor", "/a.py")
    assert reads == [], "the file has not changed"
