"""docs/configuration.md says of each setting what the code does, and its examples are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from completiond.config import Problem, load_config
from completiond.config.permission import Reload, Repository
from completiond.config.problem import shown
from completiond.config.repository_files import RepositoryFiles
from completiond.config.setting import Setting, all_settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
WORDS = {
    Repository.NEVER: "", Repository.ADD: "adds", Repository.LOWER: "lowers", Repository.LIMIT: "lowers",
    Repository.OFF: "turns off", Repository.ON: "turns on", Repository.TRUSTED: "if trusted",
}  # fmt: skip


def row(setting: Setting) -> str:
    when = "request" if setting.reload is Reload.LIVE else "daemon"
    cells = (f"`{setting}`", f"`{shown(setting.default)}`", setting.allowed(), when, WORDS[setting.repository])
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("setting", all_settings().values(), ids=str)
def test_each_setting_has_its_row_and_its_meaning(setting: Setting) -> None:
    assert f"\n{row(setting)}\n" in TEXT
    assert f"\n- `{setting}`: {setting.description}\n" in TEXT


def test_there_are_no_rows_of_other_settings() -> None:
    assert len(re.findall(r"^\| `\w+\.\w+` \|", TEXT, re.MULTILINE)) == len(all_settings())


def examples(text: str) -> list[str]:
    return re.findall(r"```toml\n(.*?)```", text, re.DOTALL)


def test_the_examples_are_right(tmp_path: Path) -> None:
    repository, users = examples(TEXT)
    problems: list[Problem] = []
    file = tmp_path / "config.toml"
    for text in (users, repository, *examples((ROOT / "README.md").read_text(encoding="utf-8"))):
        file.write_text(text)
        load_config(file, {}, problems.append)
    (tmp_path / ".completiond.toml").write_text(repository)
    (found,) = RepositoryFiles().of(str(tmp_path / "a.py"))
    assert problems == list(found.layer.problems) == []
    assert len(found.layer.values) == 3
