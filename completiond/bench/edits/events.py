"""The edits of all releases in the catalogue, as one stream of requests."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice, pairwise, zip_longest

from completiond.bench.edits.catalogue import HISTORIES
from completiond.bench.edits.event import DocumentChange, EditEvent
from completiond.bench.edits.releases import read_release
from completiond.bench.edits.session import EditSession
from completiond.errors import UsageError
from completiond.paths import Paths

__all__ = ["generate_events"]

_EventId = tuple[str, int]


def generate_events(
    paths: Paths,
    seed: int = 0,
    limit: int | None = None,
    projects: Collection[str] | None = None,
    whole_lines: bool = False,
    on_step: Callable[[str], None] = lambda text: None,
) -> Iterator[EditEvent]:
    """Yield the edits between the catalogue's releases, session by session, each in the order a person might have made
    them: the same for the same arguments.

    ``limit`` chooses so many, with ``seed``, from all classes alike and within each from all projects alike; the edits
    between them are made all the same, in ``EditEvent.changes``. ``projects`` leaves out all others. Releases that are
    not kept yet are downloaded first, of which ``on_step`` is told.

    Raises UsageError for a project the catalogue does not have, and FetchError.
    """
    known = {history.project for history in HISTORIES}
    if unknown := sorted(set(projects or ()) - known):
        raise UsageError(f"No edits of {', '.join(unknown)}.", f"There are those of {', '.join(sorted(known))}.")
    sessions = _sessions(paths, known if projects is None else projects, on_step)
    if limit is None:
        return chain.from_iterable(session.events(seed, whole_lines) for session in sessions)
    compared = list(sessions)
    chosen = _choose((event for session in compared for event in session.events(seed, whole_lines)), limit, seed)
    return chain.from_iterable(_only(chosen, session.events(seed, whole_lines)) for session in compared)


def _sessions(paths: Paths, projects: Collection[str], on_step: Callable[[str], None]) -> Iterator[EditSession]:
    for history in HISTORIES:
        if history.project in projects:
            texts = ((release, read_release(release, paths, on_step)) for release in history.releases)
            for (old, old_texts), (new, new_texts) in pairwise(texts):
                name = f"{history.project} {old.version} -> {new.version}"
                yield EditSession.compare(history.project, name, old_texts, new_texts)


def _choose(events: Iterable[EditEvent], limit: int, seed: int) -> frozenset[_EventId]:
    """Deal from the classes in turn, and within a class from the projects in turn."""
    found: dict[str, dict[str, list[_EventId]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        found[event.kind][event.project].append((event.session, event.index))
    randomness = random.Random(seed)
    for by_project in found.values():
        for ids in by_project.values():
            randomness.shuffle(ids)
    kinds = (_in_turn(by_project.values()) for _, by_project in sorted(found.items()))
    return frozenset(islice(_in_turn(kinds), limit))


def _in_turn(groups: Iterable[Iterable[_EventId]]) -> Iterator[_EventId]:
    """One of each group, then the next of each, until all are empty."""
    return (item for round_ in zip_longest(*groups) for item in round_ if item is not None)


def _only(chosen: Collection[_EventId], events: Iterable[EditEvent]) -> Iterator[EditEvent]:
    """The chosen events, each with the changes since the chosen one before it."""
    changes: tuple[DocumentChange, ...] = ()
    for event in events:
        changes += event.changes
        if (event.session, event.index) in chosen:
            yield replace(event, changes=changes)
            changes = ()
