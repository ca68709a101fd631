"""A fill that any code model gets right, by which ``completiond doctor`` sees whether one fills at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from completiond.complete.completer_protocol import AnyCompleter

__all__ = ["SAMPLE", "filled", "is_right"]

SAMPLE = "`return ` in a function `add(a, b)`"
"""What is asked, in words."""


def filled(completer: AnyCompleter) -> str:
    """What it writes there. Raises what its ``run`` does."""
    from completiond.complete.request import Completion, CompletionRequest

    request = CompletionRequest("def add(a, b):\n    return ", "\n\n\nprint(add(1, 2))\n", "doctor.py", max_tokens=16)
    *_, answer = completer.run(request, time.perf_counter())
    assert isinstance(answer, Completion), "the last item of a run"
    return answer.text


def is_right(text: str) -> bool:
    """Whether that is the sum."""
    return "a+b" in text.replace(" ", "")
