"""``completiond config`` and ``completiond trust``, as programs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from completiond.config.json_schema import schema_json
from completiond.config.setting import all_settings
from completiond.config.settings import Settings
from completiond.paths import Paths
from tests.e2e.harness import daemon_in_process, environment, temporary_paths
from tests.fakes import FakeService

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "config.toml"


@pytest.fixture
def run(tmp_path: Path, repo: Path, config_file: Path) -> Run:
    folders = {f"COMPLETIOND_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "STATE", "RUNTIME")}
    others = {name: value for name, value in os.environ.items() if not name.startswith("COMPLETIOND_")}

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "completiond", *map(str, arguments)]
        return subprocess.run(
            command, env={**others, **folders, **environment}, cwd=repo, capture_output=True, text=True, timeout=120
        )

    return run


def test_show_prints_a_file_that_says_the_same(run: Run, config_file: Path) -> None:
    config_file.write_text('[exclude]\nglobs = ["a,b"]\n[completion]\nmax_tokens = 7\n')
    done = run("config", "show", COMPLETIOND_MODEL_NAME="x")
    assert (done.returncode, done.stderr) == (0, "")
    found = tomllib.loads(done.stdout)
    assert [(section, key) for section, table in found.items() for key in table] == list(all_settings())
    assert (found["exclude"]["globs"], found["completion"]["max_tokens"], found["model"]["name"]) == (["a,b"], 7, "x")


def test_show_says_where_each_value_is_from(run: Run, config_file: Path, repo: Path) -> None:
    config_file.write_text("[completion]\nmax_tokens = 50\n")
    repo.joinpath(".completiond.toml").write_text("[completion]\nmax_tokens = 7\n[exclude]\nglobs = ['x/']\n")
    environment = {"COMPLETIOND_PROMPT_PREFIX_TOKENS": "99"}
    lines = run("config", "show", "--origin", **environment).stdout.splitlines()
    assert f"max_tokens = 50  # {config_file}:2" in lines
    assert "prefix_tokens = 99  # COMPLETIOND_PROMPT_PREFIX_TOKENS" in lines
    assert 'device = "auto"  # default' in lines
    for place in (repo, repo / "new.py", Path()):
        lines = run("config", "show", "--origin", place).stdout.splitlines()
        assert f"max_tokens = 7  # {repo}/.completiond.toml:2" in lines
        assert lines[-1] == f'# besides, {repo}/.completiond.toml excludes ["x/"]'
    found = json.loads(run("config", "show", "--json", repo, **environment).stdout)
    assert found["completion"]["max_tokens"] == {"value": 7, "origin": f"{repo}/.completiond.toml:2"}
    assert found["repository_exclusions"] == [{"value": ["x/"], "origin": f"{repo}/.completiond.toml"}]


def test_check_says_what_is_wrong_and_with_what_status(run: Run, config_file: Path, repo: Path) -> None:
    done = run("config", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "The settings are right.\n", "")
    config_file.write_text("[completion]\nmax_tokens = true\n")
    repo.joinpath(".completiond.toml").write_text("[model]\nname = 'x'\n")
    done = run("config", "check", COMPLETIOND_MODEL_NMAE="x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"completiond: {config_file}:2: completion.max_tokens must be a whole number from 1 to 4096 (found true).",
        "completiond: COMPLETIOND_MODEL_NMAE is not a setting. Did you mean COMPLETIOND_MODEL_NAME?",
        f"completiond: {repo}/.completiond.toml:2: model.name cannot be set by a repository, and is ignored.",
    ]


def test_check_tells_of_a_likely_misspelling_and_train_goes_on(run: Run, config_file: Path) -> None:
    config_file.write_text("[completion]\ndisabled_languages = ['pyhton']\n")
    done = run("config", "check")
    assert (done.returncode, done.stdout) == (0, "Nothing is wrong for certain.\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"completiond: {config_file}:2: completion.disabled_languages may have misspelled")
    told, refused = run("train", "eagle", "--data", "x", "--model", "nowhere.gguf").stderr.splitlines()
    assert told == line
    assert "nowhere.gguf" in refused, "it went on to look for the model"


def test_show_of_a_place_that_cannot_be_says_so(run: Run, repo: Path) -> None:
    done = run("config", "show", repo / "nowhere" / "new.py")
    assert done.returncode == 2
    assert "There is no folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_path_and_schema_print_that_and_nothing_else(run: Run, config_file: Path) -> None:
    assert run("config", "path").stdout == f"{config_file}\n"
    assert run("config", "schema").stdout == schema_json("config")
    assert run("config", "schema", "--repository").stdout == schema_json("repository")


def test_trust_lists_and_revokes(run: Run, repo: Path) -> None:
    assert run("trust", "--list").stdout == ""
    done = run("trust")
    assert done.returncode == 2
    assert done.stderr == (
        f"completiond: There is no settings file {repo}/.completiond.toml. Name the folder that has one.\n"
    )
    file = repo / ".completiond.toml"
    file.write_text("[completion]\ndeadline_ms = 900\n")
    assert "needs your trust" in run("config", "check").stderr
    done = run("trust", repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{file} is trusted as it is now:\n  completion.deadline_ms = 900\n"
        "  All else in it narrows what you set, or is ignored: see `completiond config show --origin`.\n"
    )
    assert run("config", "check").returncode == 0
    assert f"deadline_ms = 900  # {file}:2" in run("config", "show", "--origin", repo).stdout
    assert run("trust", "--list").stdout == f"{repo}\n"
    file.write_text("[completion]\ndeadline_ms = 901\n")
    assert run("trust", "--list").stdout == f"{repo}  (changed or gone since: not trusted)\n"
    assert "deadline_ms = 0  # default" in run("config", "show", "--origin", repo).stdout
    assert run("trust", "--revoke").stdout == f"{repo} is trusted no more.\n"
    assert run("trust", "--revoke").returncode == run("trust", "--list", "--revoke").returncode == 2


@pytest.mark.parametrize("text", ["[oops", None])
def test_what_is_no_settings_file_is_not_trusted(run: Run, repo: Path, tmp_path: Path, text: str | None) -> None:
    file = repo / ".completiond.toml"
    if text is None:
        (tmp_path / "other.toml").write_text("[completion]\ndeadline_ms = 900\n")
        file.symlink_to(tmp_path / "other.toml")
    else:
        file.write_text(text)
    done = run("trust")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not TOML" in done.stderr or "is a symbolic link" in done.stderr
    assert done.stderr.endswith("; nothing of the file is used. Correct it first.\n")
    assert run("trust", "--list").stdout == ""


def test_trust_prints_what_will_count_and_tells_the_rest(run: Run, repo: Path) -> None:
    file = repo / ".completiond.toml"
    file.write_text("[spec]\nworkspace = ['**/*.py', '/../../etc/*']\n[completion]\ndeadline_ms = 900\n")
    done = run("trust", ".completiond.toml")
    assert done.returncode == 0
    first, opened, rest = done.stdout.splitlines()
    assert (first, opened) == (f"{file} is trusted as it is now:", "  completion.deadline_ms = 900")
    assert rest.startswith("  All else in it narrows what you set")
    assert done.stderr.startswith(f"completiond: {file}:2: spec.workspace: '/../../etc/*' names no files")

    file.write_text("[completion]\nmax_tokens = 9\n")
    first, rest = run("trust").stdout.splitlines()
    assert first == f"{file} is trusted as it is now, though nothing that counts in it needs trust."
    assert rest.startswith("  All in it narrows what you set")
    file.unlink()
    assert run("trust", "--revoke", file).stdout == f"{repo} is trusted no more.\n"


def test_wrong_settings_are_told_by_any_command_that_reads_them_and_it_goes_on(run: Run, config_file: Path) -> None:
    config_file.write_text("[model]\nname = 'no such model'\nnme = 1\n")
    done = run("model", "path")
    assert done.stderr.splitlines()[0].startswith(f"completiond: {config_file}:3: model.nme is not a setting.")
    assert "no such model" in done.stderr.splitlines()[1]
    assert "Traceback" not in done.stderr


async def show(paths: Paths, *options: str) -> tuple[list[str], list[str]]:
    """The lines of ``config show`` on both outputs, beside a daemon of this process."""
    command = (sys.executable, "-m", "completiond", "config", "show", *options)
    pipe = asyncio.subprocess.PIPE
    env = environment(paths)
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=env, cwd=paths.state_dir)
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err
    return out.decode().splitlines(), err.decode().splitlines()


async def test_show_says_where_a_daemon_kept_another_value() -> None:
    with temporary_paths() as paths:
        for folder in (paths.config_dir, paths.state_dir):
            folder.mkdir()
        paths.config_file.write_text("[completion]\nmax_tokens = 7\n[spec]\ndraft_width = 2\ndrafter = 'lookahead'\n")
        settings = Settings(paths.config_file, {}, trust_file=paths.trust_file)
        async with daemon_in_process(paths, FakeService(), settings):
            lines, told = await show(paths)
            assert not any("daemon" in line for line in (*lines, *told))

            paths.config_file.write_text("[completion]\nmax_tokens = 0\n[spec]\ndrafter = 'eagle'\n")
            settings.look(now=True)
            settings.refuse(("spec", "drafter"), {"eagle": "There is no head."})
            lines, told = await show(paths, "--origin")
            assert "max_tokens = 64  # default; the daemon that runs has 7" in lines
            assert "draft_width = 1  # default; the daemon that runs has 2" in lines
            assert sum("the daemon that runs has" in line for line in lines) == 2
            assert tomllib.loads("\n".join(lines))["completion"]["max_tokens"] == 64
            wrong, *others = told
            assert wrong.startswith(f"completiond: {paths.config_file}:2: completion.max_tokens must be")
            assert len(others) == 2
            daemon = f"completiond: the daemon that runs says: {paths.config_file}"
            assert any(one.startswith(f"{daemon}: spec.draft_width = 1 takes effect after") for one in others)
            assert any(one.startswith(f'{daemon}:4: spec.drafter = "eagle" cannot be used') for one in others)
            found = json.loads((await show(paths, "--json"))[0][0])
            assert found["completion"]["max_tokens"] == {"value": 64, "origin": "default", "daemon": 7}
            assert found["spec"]["drafter"] == {"value": "eagle", "origin": f"{paths.config_file}:4"}

            # A repository narrows the daemon's value as it narrows the file's.
            repository = paths.state_dir / "repository"
            repository.mkdir()
            (repository / ".completiond.toml").write_text("[completion]\nmax_tokens = 5\n")
            lines, _ = await show(paths, str(repository))
            assert "max_tokens = 5" in lines
