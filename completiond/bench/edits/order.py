"""The order in which a person would make the hunks: definitions before uses, else file by file from top to bottom."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from completiond.bench.edits.hunks import FileDiff, Hunk
from completiond.bench.edits.modules import imported_paths, is_test
from completiond.bench.edits.tokens import COMMON_NAMES, Token

__all__ = ["order_hunks"]

_Place = tuple[int, int]
"""A hunk: number of the diff, number of the hunk in it."""


def order_hunks(diffs: Sequence[FileDiff], seed: str) -> list[_Place]:
    """Each hunk once.

    One that adds or changes a def, a class or an import comes before those whose added lines name it (where two wait
    for each other, the upper one is first). Else a file comes after those it imports, files that do not depend on each
    other are in an order drawn with ``seed``, and tests are last.
    """
    ranks = _file_ranks(diffs, random.Random(seed))
    keys = {
        (file, number): (ranks[file], number) for file, diff in enumerate(diffs) for number in range(len(diff.hunks))
    }
    followers = _followers(diffs, keys)
    num_waiting_for: dict[_Place, int] = defaultdict(int)
    for later in followers.values():
        for place in later:
            num_waiting_for[place] += 1
    ready = [(key, place) for place, key in keys.items() if not num_waiting_for[place]]
    heapq.heapify(ready)
    blocked = {place: key for place, key in keys.items() if num_waiting_for[place]}
    ordered = []
    while ready or blocked:
        if ready:
            place = heapq.heappop(ready)[1]
        else:
            place = min(blocked, key=blocked.__getitem__)
            del blocked[place]
        ordered.append(place)
        for later_place in followers.get(place, ()):
            num_waiting_for[later_place] -= 1
            if not num_waiting_for[later_place] and later_place in blocked:
                heapq.heappush(ready, (blocked.pop(later_place), later_place))
    return ordered


def _file_ranks(diffs: Sequence[FileDiff], randomness: random.Random) -> list[int]:
    """The place of each file: first what is not a test, a file after those it imports where that is possible."""
    drawn = list(range(len(diffs)))
    randomness.shuffle(drawn)
    drawn.sort(key=lambda file: is_test(diffs[file].path))
    numbers = {diff.path: file for file, diff in enumerate(diffs)}
    order: dict[int, None] = {}
    visiting: set[int] = set()

    def visit(file: int) -> None:
        if file in visiting:
            return
        visiting.add(file)
        for path in imported_paths(diffs[file].path, diffs[file].old.imports, numbers):
            if is_test(path) == is_test(diffs[file].path):
                visit(numbers[path])
        order[file] = None

    for file in drawn:
        visit(file)
    return [position for _, position in sorted(zip(order, range(len(order)), strict=True))]


def _followers(diffs: Sequence[FileDiff], keys: Mapping[_Place, tuple[int, int]]) -> Mapping[_Place, list[_Place]]:
    """For each hunk those that have to come after it."""
    uses: dict[str, list[_Place]] = defaultdict(list)
    for place in keys:
        diff = diffs[place[0]]
        for name in _names(diff.new_tokens(diff.hunks[place[1]])):
            uses[name].append(place)
    later: dict[_Place, set[_Place]] = {}
    for place in keys:
        diff = diffs[place[0]]
        everywhere, here = _defined_names(diff, diff.hunks[place[1]])
        later[place] = {user for name in here for user in uses[name] if user[0] == place[0]} - {place}
        for name in everywhere - here:
            later[place] |= {user for user in uses[name] if is_test(diffs[user[0]].path) or not is_test(diff.path)}
    return {
        place: sorted(
            user for user in users if user != place and (place not in later[user] or keys[place] < keys[user])
        )
        for place, users in later.items()
    }


def _names(tokens: Iterable[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind == "name"}


def _defined_names(diff: FileDiff, hunk: Hunk) -> tuple[set[str], set[str]]:
    """Names that the added lines define for all files, and for this file only. Old imports do not count."""
    tokens = diff.new_tokens(hunk)
    defined = set(diff.resigned_by(hunk))
    for word, name in pairwise(tokens):
        if word.kind == "keyword" and word.text in ("def", "class") and not name.text.startswith("__"):
            defined.add(name.text)
    lines = range(hunk.new_start, hunk.new_end)
    imported = _names(
        token for line in lines if line in diff.new.import_lines for token in diff.new.tokens(line, line + 1)
    )
    return defined - COMMON_NAMES, imported - _names(diff.old_tokens(hunk)) | defined & COMMON_NAMES
