"""What a repository's .completiond.toml can do, and above all what it cannot."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.config.narrow import narrow
from completiond.config.permission import Repository
from completiond.config.repository_exclusions import RepositoryExclusions
from completiond.config.repository_file import MAX_FILE_BYTES, RepositoryFile
from completiond.config.repository_files import RepositoryFiles
from completiond.config.repository_rules import allowed_trusted, allowed_untrusted, narrowed
from completiond.config.resolve import Resolved, config_of, resolve
from completiond.config.sections import Config
from completiond.config.setting import Setting, Value, all_settings
from completiond.config.settings import Settings
from completiond.config.trust import TrustStore
from completiond.config.value import checked
from completiond.exclude.exclusions import Exclusions
from completiond.exclude.guard import Guard

ANY_REPOSITORY_MAY = {
    "prompt.prefix_tokens", "prompt.suffix_tokens", "prompt.context_tokens", "prompt.max_read_ms", "completion.enabled",
    "completion.disabled_languages", "completion.max_tokens", "completion.multiline", "completion.in_comments",
    "completion.in_strings", "completion.alternatives", "cache.results", "cache.ahead", "exclude.globs",
    "exclude.gitignore",
}  # fmt: skip
A_TRUSTED_ONE_MAY = ANY_REPOSITORY_MAY | {"completion.deadline_ms", "spec.workspace"}
NAMES = [str(setting) for setting in all_settings().values()]


class Folder:
    """A repository with settings of a user, and a file in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "repo"
        (self.root / ".git").mkdir(parents=True)
        (self.root / "src").mkdir()
        self.user_file = tmp_path / "config" / "config.toml"
        self.trust_file = tmp_path / "state" / "trust.json"
        self.now_s = 0.0
        self.said: list[str] = []

    def settings(self, user: str = "") -> Settings:
        self.user_file.parent.mkdir(exist_ok=True)
        self.user_file.write_text(user)
        return Settings(
            self.user_file, {}, trust_file=self.trust_file, clock=lambda: self.now_s,
            report=lambda problem: self.said.append(str(problem).replace(f"{self.root}/", "")),
        )  # fmt: skip

    def write(self, text: str | bytes, folder: str = "") -> Path:
        file = self.root / folder / ".completiond.toml"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def look(self, settings: Settings, path: str = "src/a.py") -> Config:
        self.now_s += 1.0
        return settings.of_file("", str(self.root / path))


@pytest.fixture
def repo(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def other_values(setting: Setting) -> list[Any]:
    """Some that a user might set, and that are not the default."""
    if setting.kind == "switch":
        return [not setting.default]
    if setting.kind == "number":
        return [value for value in (setting.least, setting.least + 1, setting.most) if value != setting.default]
    if setting.kind == "choice":
        return [choice for choice in setting.choices if choice != setting.default]
    return [["*.py"]] if setting.kind == "list" else ["/etc", "some/model", "http://127.0.0.1:1"]


def toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


# What cannot be reached


@pytest.mark.parametrize("name", sorted(set(NAMES) - A_TRUSTED_ONE_MAY))
@pytest.mark.parametrize("is_trusted", [False, True], ids=["unknown", "trusted"])
def test_a_repository_cannot_set(repo: Folder, name: str, is_trusted: bool) -> None:
    section, key = name.split(".")
    for value in other_values(all_settings()[section, key]):
        repo.said.clear()
        file = repo.write(f"\n[{section}]\n{key} = {toml(value)}\n")
        if is_trusted:
            TrustStore(repo.trust_file).trust(str(repo.root), file.read_bytes())
        settings = repo.settings()
        for _ in range(3):
            assert repo.look(settings) == Config()
        assert repo.said == [f".completiond.toml:3: {name} cannot be set by a repository, and is ignored."], "once"


def test_what_any_repository_may_set_is_this_and_a_new_setting_is_not_in_it() -> None:
    by_rule = {str(one): one.repository for one in all_settings().values()}
    open_to_all = {name for name, rule in by_rule.items() if rule not in (Repository.NEVER, Repository.TRUSTED)}
    assert open_to_all == ANY_REPOSITORY_MAY
    assert {name for name, rule in by_rule.items() if rule is Repository.TRUSTED} == A_TRUSTED_ONE_MAY - open_to_all


@pytest.mark.parametrize("text", [
    "[server]\nsocket = '/tmp/x'", "[engine]\nremote = 'http://x/v1'", "socket = '/tmp/x'", "[model.extra]\nname = 'x'",
    "[model]\nname.sub = 'x'", "model.name = 'x'", "model = { name = 'x' }", "[[model]]\nname = 'x'",
    "[exclude]\nsecrets = false", "[exclude]\ngitignore = false", "[exclude]\nglobs = ['!.env', '!*.pem']",
    "[completion]\nenabled = true", "[prompt]\nmax_read_ms = 0", "[prompt]\nprefix_tokens = 65536",
])  # fmt: skip
def test_no_spelling_reaches_further(repo: Folder, text: str) -> None:
    repo.write(text + "\n")
    settings = repo.settings("[exclude]\nglobs = ['*.pem']\n[prompt]\nmax_read_ms = 100\n")
    assert repo.look(settings) == repo.settings("[exclude]\nglobs = ['*.pem']\n[prompt]\nmax_read_ms = 100\n").config


# What can be narrowed


def test_budgets_are_lowered_and_never_raised(repo: Folder) -> None:
    repo.write(
        "[prompt]\nprefix_tokens = 100\nsuffix_tokens = 1000\nmax_read_ms = 50\n[completion]\nmax_tokens = 128\n"
    )
    config = repo.look(repo.settings())
    assert (config.prompt.prefix_tokens, config.prompt.suffix_tokens, config.prompt.max_read_ms) == (100, 256, 50)
    assert config.completion.max_tokens == 64
    assert repo.look(repo.settings("[prompt]\nmax_read_ms = 0\n")).prompt.max_read_ms == 50, "0 is no limit"
    assert repo.look(repo.settings("[prompt]\nprefix_tokens = 60\n")).prompt.prefix_tokens == 60
    assert repo.said == []


def test_features_and_languages_are_turned_off(repo: Folder) -> None:
    repo.write(
        "[completion]\nenabled = false\ndisabled_languages = ['markdown']\n[cache]\nresults = false\nahead = false\n"
        "[exclude]\ngitignore = true\n"
    )
    settings = repo.settings("[completion]\ndisabled_languages = ['sql']\n[exclude]\ngitignore = false\n")
    config = repo.look(settings)
    assert (config.completion.enabled, config.cache.results, config.cache.ahead) == (False, False, False)
    assert config.completion.disabled_languages == ("sql", "markdown")
    assert config.exclude.gitignore
    assert settings.config.completion.enabled, "elsewhere nothing has changed"


def test_of_nested_files_the_nearer_counts_and_what_is_off_stays_off(repo: Folder) -> None:
    repo.write("[completion]\nmax_tokens = 10\n[cache]\nahead = false\n")
    repo.write("[completion]\nmax_tokens = 20\n[cache]\nahead = true\n", "src/deep")
    settings = repo.settings()
    assert repo.look(settings, "src/a.py").completion.max_tokens == 10
    deep = repo.look(settings, "src/deep/er/a.py")
    assert (deep.completion.max_tokens, deep.cache.ahead) == (20, False)
    assert repo.said == [
        "src/deep/.completiond.toml:4: cache.ahead can only be set to false by a repository (found true)."
    ]


def test_it_applies_below_its_folder_only(repo: Folder, tmp_path: Path) -> None:
    repo.write("[completion]\nmax_tokens = 10\n", "src")
    settings = repo.settings()
    for path in ("a.py", "source/a.py", "src/../a.py"):
        assert repo.look(settings, path).completion.max_tokens == 64, path
    for path in ("src/a.py", "other/../src/a.py", "src/new/one.py"):
        assert repo.look(settings, path).completion.max_tokens == 10, path
    for path in ("untitled:1", "", "src/a.py"):
        assert settings.of_file("", path).completion.max_tokens == 64, "no absolute path"


def test_a_file_outside_the_repository_and_the_workspace_counts_for_its_own_folder_only(
    repo: Folder, tmp_path: Path
) -> None:
    (tmp_path / ".completiond.toml").write_text("[completion]\nmax_tokens = 10\n")
    settings = repo.settings()
    assert repo.look(settings, "src/a.py").completion.max_tokens == 64, "above the repository"
    repo.now_s += 1.0
    assert settings.of_file("", str(repo.root / "a.py"), [str(tmp_path)]).completion.max_tokens == 10, "a workspace"
    repo.now_s += 1.0
    (tmp_path / "loose" / "deep").mkdir(parents=True)
    assert settings.of_file("", str(tmp_path / "a.py")).completion.max_tokens == 10
    assert settings.of_file("", str(tmp_path / "loose" / "a.py")).completion.max_tokens == 64


def test_a_link_is_narrowed_by_both_ends(repo: Folder, tmp_path: Path) -> None:
    repo.write("[completion]\nmax_tokens = 10\n", "src")
    (repo.root / "src" / "a.py").write_text("")
    (repo.root / "link.py").symlink_to(repo.root / "src" / "a.py")
    (repo.root / "folder").symlink_to(repo.root / "src")
    settings = repo.settings()
    for path in ("link.py", "folder/a.py", "folder/new.py"):
        assert repo.look(settings, path).completion.max_tokens == 10, path


def test_paths_that_no_file_can_have_are_in_no_repository(repo: Folder) -> None:
    repo.write("[completion]\nmax_tokens = 10\n")
    settings = repo.settings()
    for path in ("/" + "x" * 5000, "/" + "a/" * 3000 + "b", "/nul\0/a.py", "/", "//", "/.completiond.toml"):
        assert settings.of_file("", path) == Config(), path
    assert repo.look(settings, "x" * 5000).completion.max_tokens == 10
    assert repo.said == []


# Files that are not files of settings


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[completion", " is not TOML: "),
        (b"[completion]\nmax_tokens = \xff\n", ":2 is not text in UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), f" is larger than {MAX_FILE_BYTES} bytes"),
        (b"a" + b".a" * 30000 + b" = 1", ":1 has a key of more than 16 parts"),
        (b"x = " + b"{a=" * 20000, ":1 has more than 16 brackets"),
        (b"x = " + b"[" * 60000, ":1 has more than 16 brackets"),
        (b'x = "' + b'\\"' * 30000, " is not TOML: "),
        (b"x = 0x" + b"f" * 60000 + b"\n[completion]\nmax_tokens = 'a'", ":1: x is no section of settings."),
        (b"[completion]\nmax_tokens = 0x" + b"f" * 60000, ":2: completion.max_tokens must be a whole number from 1"),
    ],
)
def test_a_file_that_is_none_changes_nothing_and_is_told(repo: Folder, content: bytes, said: str) -> None:
    repo.write(content)
    assert repo.look(repo.settings()) == Config()
    assert repo.said[0].startswith(f".completiond.toml{said}")


def test_neither_links_nor_pipes_nor_folders_are_read(repo: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text("[completion]\nmax_tokens = 10\n")
    file = repo.root / ".completiond.toml"
    makes: list[Callable[[], None]] = [
        lambda: file.symlink_to(tmp_path / "outside.toml"),
        lambda: file.symlink_to(tmp_path / "gone.toml"),
        lambda: file.symlink_to("/dev/zero"),
        lambda: os.mkfifo(file),
        lambda: file.mkdir(),
    ]
    for make in makes:
        make()
        repo.said.clear()
        assert repo.look(repo.settings()) == Config()
        assert len(repo.said) == 1
        assert "link" in repo.said[0] or "not a regular file" in repo.said[0]
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


def test_a_file_that_becomes_wrong_narrows_as_it_did(repo: Folder) -> None:
    file = repo.write("[completion]\nmax_tokens = 10\n[exclude]\nglobs = ['legal/']\n")
    settings = repo.settings()
    excluded = RepositoryExclusions(settings.repository)
    assert repo.look(settings).completion.max_tokens == 10
    for text in ("[completion", "[completion]\nmax_tokens = 'x'\n[exclude]\nglobs = 3\n"):
        file.write_text(text)
        assert repo.look(settings).completion.max_tokens == 10, text
        assert excluded.why(repo.root / "legal" / "a.py") == "repository_glob", text
    file.unlink()
    assert repo.look(settings).completion.max_tokens == 64
    assert excluded.why(repo.root / "legal" / "a.py") is None


# Exclusions


def test_patterns_exclude_below_their_folder_by_the_rules_of_gitignore(repo: Folder) -> None:
    repo.write("[exclude]\nglobs = ['*.sql', '!schema.sql', '/legal/', 'gen/**/x.py']\n")
    repo.write("[exclude]\nglobs = ['!*.sql', 'secret.py']\n", "src")
    why = RepositoryExclusions(RepositoryFiles()).why
    root = repo.root
    for path in (
        "a.sql",
        "src/b.sql",
        "legal/a.py",
        "legal/deep/a.py",
        "gen/a/b/x.py",
        "src/secret.py",
        "src/d/secret.py",
    ):
        assert why(root / path) == "repository_glob", path
    for path in ("schema.sql", "src/legal/a.py", "secret.py", "gen/y.py", "a.py"):
        assert why(root / path) is None, path


def test_a_repository_can_have_git_s_rules_followed_though_the_user_does_not(repo: Folder) -> None:
    (repo.root / ".gitignore").write_text("out/\n")
    why = RepositoryExclusions(RepositoryFiles()).why
    assert why(repo.root / "out" / "a.py") is None
    repo.write("[exclude]\ngitignore = true\n")
    why = RepositoryExclusions(RepositoryFiles()).why
    assert why(repo.root / "out" / "a.py") == "gitignore"
    assert why(repo.root / "in" / "a.py") is None


@pytest.mark.parametrize("pattern", ["[a", "~/x", "!~/x", "a/**/b/**/c/**/d"])
def test_a_pattern_that_is_none_is_told(repo: Folder, pattern: str) -> None:
    repo.write(f"[exclude]\nglobs = ['{pattern}']\n")
    repo.look(repo.settings())
    assert repo.said[0].startswith(".completiond.toml:2: exclude.globs: ")
    assert repr(pattern) in repo.said[0]


def test_all_wrong_patterns_are_told_at_once(repo: Folder) -> None:
    repo.write("[exclude]\nglobs = ['~/x', '[a', '*.ok', '!~/y']\n")
    repo.look(repo.settings())
    (said,) = repo.said
    assert said.startswith(".completiond.toml:2: exclude.globs: Exclusion '[a': ")
    assert said.endswith(". '~/x' names no file in the repository. '!~/y' names no file in the repository.")


# No file whatever

VALUES = st.one_of(
    st.booleans(), st.integers(-2, 70000), st.floats(allow_nan=False), st.text(max_size=5), st.none(),
    st.lists(st.one_of(st.text(max_size=4), st.integers()), max_size=4),
)  # fmt: skip


@pytest.mark.parametrize("allow", [allowed_untrusted, allowed_trusted])
@given(name=st.sampled_from(sorted(all_settings())), users=VALUES, repositorys=VALUES)
def test_no_value_widens(allow: Any, name: tuple[str, str], users: Any, repositorys: Any) -> None:
    setting = all_settings()[name]
    try:
        users, repositorys = checked(setting, users), allow(setting, repositorys)
    except ValueError:
        return
    assert is_no_wider(setting, narrowed(setting, users, repositorys), users)


def is_no_wider(setting: Setting, value: Value, users: Value) -> bool:
    """Written out, setting by setting, from what they mean."""
    if str(setting) in (
        "prompt.prefix_tokens",
        "prompt.suffix_tokens",
        "prompt.context_tokens",
        "completion.max_tokens",
    ):
        return isinstance(value, int) and isinstance(users, int) and value <= users
    if str(setting) == "prompt.max_read_ms":
        return isinstance(value, int) and isinstance(users, int) and (not users or 0 < value <= users)
    if str(setting) in ("completion.enabled", "cache.results", "cache.ahead"):
        return value is False or users is True
    if str(setting) == "exclude.gitignore":
        return value is True or users is False
    if str(setting) in ("completion.disabled_languages", "exclude.globs"):
        return isinstance(value, tuple) and isinstance(users, tuple) and set(value) >= set(users)
    return str(setting) in A_TRUSTED_ONE_MAY or value == users


@st.composite
def repository_texts(draw: st.DrawFn) -> str:
    """TOML that is near to being settings."""
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        section, key = draw(st.sampled_from([*sorted(all_settings()), ("exclude", "glob"), ("x", "y")]))
        value = draw(
            st.sampled_from(["true", "false", "0", "1", "20", "3000", "'a'", "['*.py']", "['!*']", "[]", "{}"])
        )
        lines.append(f"{section}.{key} = {value}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


@given(texts=st.lists(repository_texts(), min_size=1, max_size=3), is_trusted=st.booleans())
def test_no_files_widen(tmp_path_factory: pytest.TempPathFactory, texts: list[str], is_trusted: bool) -> None:
    folder = Folder(tmp_path_factory.mktemp("any"))
    for depth, text in enumerate(texts):
        file = folder.write(text, "src/" * depth)
        if is_trusted:
            TrustStore(folder.trust_file).trust(str(file.parent), file.read_bytes())
    settings = folder.settings("[exclude]\nglobs = ['mine.py']\n[completion]\ndisabled_languages = ['sql']\n")
    user = settings.config
    narrow_config = folder.look(settings, "src/" * len(texts) + "a.py")
    for name, setting in all_settings().items():
        value, users = (getattr(getattr(config, name[0]), name[1]) for config in (narrow_config, user))
        assert is_no_wider(setting, value, users), setting
    guard = Guard(Exclusions(user.exclude.globs, user.exclude.gitignore))
    guard.of_repository = RepositoryExclusions(settings.repository).why
    for hidden in ("mine.py", ".env", "id_rsa", ".git/config"):
        assert guard.why("", str(folder.root / "src" / hidden)), hidden


def test_what_is_from_the_repository_is_said_to_be(repo: Folder) -> None:
    repo.write("[completion]\nmax_tokens = 10\n[prompt]\nprefix_tokens = 5000\n")
    files = RepositoryFiles().of(str(repo.root / "a.py"))
    users = resolve(())
    found = narrow(users, files)
    assert isinstance(found, Resolved)
    assert str(found.origins["completion", "max_tokens"]) == f"{repo.root}/.completiond.toml:2"
    assert str(found.origins["prompt", "prefix_tokens"]) == "default", "it changed nothing"
    assert narrow(users, ()).config == config_of({})
    assert isinstance(files[0], RepositoryFile)
