"""What ``completiond doctor`` says of memory."""

from __future__ import annotations

from dataclasses import replace

from completiond.commands.doctor import _memory
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
