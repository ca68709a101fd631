"""What ``completiond doctor`` says of memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from completiond.commands.doctor import Finding, _attempt, _memory
from completiond.complete.completer import Completer
from completiond.complete.memory_need import MemoryNeed
from completiond.complete.memory_plan import MemoryPlan
from completiond.config import Config
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


def test_a_check_for_which_memory_runs_out_fails_and_the_next_is_made() -> None:
    def allocate_all() -> Finding:
        torch.empty(1 << 58, dtype=torch.uint8)
        raise AssertionError("there is no such machine")

    (found,) = _attempt("lossless", allocate_all)
    assert (found.passed, found.name) == (False, "lossless")
    assert "memory ran out" in found.detail
    with pytest.raises(ZeroDivisionError):
        list(_attempt("lossless", lambda: 1 // 0))  # type: ignore[arg-type,return-value]
