"""What ``completiond doctor`` says of settings and memory."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from completiond.commands.doctor import _attempt, _findings, _memory
from completiond.commands.finding import Finding
from completiond.complete.completer import Completer
from completiond.complete.memory_need import MemoryNeed
from completiond.complete.memory_plan import MemoryPlan
from completiond.config import Config
from completiond.paths import Paths
from tests.fake_model import fake_model, says


def test_what_is_needed_and_what_was_given_up() -> None:
    completer = Completer(fake_model(says([1]))[0], Config())
    completer.memory = plan = MemoryPlan(Config(), MemoryNeed(700_000_000, 50_000_000, 10_000_000), 900_000_000)
    found = _memory(completer)
    text = "760.0 MB: 700.0 MB weights, 50.0 MB cache, 10.0 MB work; 900.0 MB was available"
    assert (found.passed, found.note, found.detail, found.advice) == (True, False, text, "")

    completer.memory = replace(plan, given_up=("a is 1 instead of 2", "no b"))
    found = _memory(completer)
    assert (found.passed, found.note, found.detail) == (True, True, f"{text}; a is 1 instead of 2; no b")
    assert "Close other programs" in found.advice

    completer.memory = replace(plan, available_bytes=None)
    assert _memory(completer).detail.endswith("an unknown amount was available")


def test_what_is_wrong_with_the_settings_is_noted_and_the_checks_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("[model]\nnme = 1\n")
    (tmp_path / ".completiond.toml").write_text("[model]\nname = 'x'\n")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("COMPLETIOND_")]:
        monkeypatch.delenv(name)
    own, repositorys, settings = itertools.islice(_findings(Paths(*[tmp_path] * 4), None), 3)
    assert own.detail == f"{tmp_path}/config.toml:2: model.nme is not a setting. Did you mean model.name?"
    assert repositorys.detail.startswith(f"{tmp_path}/.completiond.toml:2: model.name cannot be set")
    assert (own.passed, own.note, repositorys.note, settings.note) == (True, True, True, False)
    assert settings.name == "settings"


def test_a_check_for_which_memory_runs_out_fails_and_the_next_is_made() -> None:
    def allocate_all() -> Finding:
        torch.empty(1 << 58, dtype=torch.uint8)
        raise AssertionError("there is no such machine")

    (found,) = _attempt("lossless", allocate_all)
    assert (found.passed, found.name) == (False, "lossless")
    assert "memory ran out" in found.detail
    with pytest.raises(ZeroDivisionError):
        list(_attempt("lossless", lambda: 1 // 0))  # type: ignore[arg-type,return-value]
