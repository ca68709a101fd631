"""The acceptance that ``completiond speedup`` reckons with: as asked for, as a running daemon counted, or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from completiond.client import STATUS_TIMEOUT_S, connect
from completiond.errors import DaemonUnreachableError
from completiond.paths import Paths
from completiond.spec.acceptance import MIN_TRIED, AcceptanceCounts
from completiond.spec.speedup import constant_acceptance

__all__ = ["DRAFTER", "Acceptance", "Counted", "ask_daemon", "choose_acceptance"]

DRAFTER: Final = "ngram"
"""The drafter that is reckoned for, by the name under which its guesses are counted."""
DEFAULT_ACCEPTANCE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Chances by depth up to the longest draft, the name of their column, and in words where they come from."""

    by_depth: tuple[float, ...]
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the daemon has counted of DRAFTER's guesses, by rising temperature; ``unless`` says why it is not enough,
    should that be so.
    """

    counts: tuple[AcceptanceCounts, ...]
    unless: str


def ask_daemon(paths: Paths, model: str) -> Counted:
    """The counts of the daemon, if it runs ``model``. It offers them under ``acceptance`` in its status: a list of
    objects with ``source``, ``temperature``, and ``tried`` and ``accepted`` by depth.
    """
    try:
        with connect(paths, start=False, check_version=False) as client:
            status: dict[str, Any] = client.call("completiond/status", timeout_s=STATUS_TIMEOUT_S)
    except DaemonUnreachableError:
        return Counted((), "no daemon is running")
    if status.get("acceptance") is None:
        return Counted((), "the daemon offers no counts")
    if status.get("model") != model:
        return Counted((), f"the daemon runs {status.get('model')}")
    try:
        counts = _parsed(status["acceptance"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return Counted((), "the daemon's counts are of a form that this version cannot read")
    return Counted(counts, f"the daemon has counted fewer than {MIN_TRIED} guesses")


def choose_acceptance(option: float | None, counted: Counted, max_length: int) -> Acceptance:
    """``option`` if given, else the counts of the lowest temperature that has enough, else DEFAULT_ACCEPTANCE."""
    if option is not None:
        return Acceptance(constant_acceptance(option, max_length), f"a = {option}", "as asked for")
    for one in counted.counts:
        if one.enough:
            origin = f"counted by the daemon at temperature {one.temperature:g}, {one.tried[0]} first guesses"
            return Acceptance(one.acceptances(max_length), "as counted", origin)
    by_depth = constant_acceptance(DEFAULT_ACCEPTANCE, max_length)
    return Acceptance(by_depth, f"a = {DEFAULT_ACCEPTANCE}", f"an assumption, since {counted.unless}")


def _parsed(entries: Sequence[Mapping[str, Any]]) -> tuple[AcceptanceCounts, ...]:
    """DRAFTER's entries, those of the same temperature added up."""
    merged: dict[float, AcceptanceCounts] = {}
    for entry in entries:
        if entry["source"] == DRAFTER:
            temperature = float(entry["temperature"])
            one = AcceptanceCounts(DRAFTER, temperature, tuple(entry["tried"]), tuple(entry["accepted"]))
            merged[temperature] = one.plus(merged.get(temperature, AcceptanceCounts(DRAFTER, temperature)))
    return tuple(merged[temperature] for temperature in sorted(merged))
