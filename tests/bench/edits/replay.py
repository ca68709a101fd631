"""Two releases made in a test, and an editor that replays the events between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent

from completiond.bench.edits.event import EditEvent, apply_changes
from completiond.bench.edits.session import EditSession

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Replay:
    """What came out: the events, and the project after the last of them and what follows it."""

    events: list[EditEvent]
    final_texts: dict[str, str]

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(event.kind, event.expected) for event in self.events]


def replay(old: Texts, new: Texts, seed: int = 0) -> Replay:
    """Make every change in an editor that starts with the old release, and check each event against it."""
    return replay_session(EditSession.compare("demo", "demo 1 -> 2", old, new), seed)


def replay_session(session: EditSession, seed: int = 0) -> Replay:
    """See replay."""
    texts = dict(session.old_texts)
    events: list[EditEvent] = []
    steps = session.events(seed)
    while True:
        try:
            event = next(steps)
        except StopIteration as end:
            apply_changes(texts, end.value)
            return Replay(events, texts)
        assert event.index == len(events)
        before = dict(texts)
        apply_changes(texts, event.changes)
        assert {change.path for change in event.changes} >= {path for path in texts if texts[path] != before[path]}
        assert event.prefix + event.suffix == texts[event.path]
        assert all(texts[path] == text for path, text in event.open_files.items())
        if event.deleted:
            last = event.changes[-1]
            assert (last.path, last.start_chars, last.text) == (event.path, event.offset_chars, "")
            assert last.end_chars - last.start_chars == len(event.deleted)
        events.append(event)


def one(old: str, new: str) -> Replay:
    """A project of one file; both texts may be indented."""
    result = replay({"demo/a.py": dedent(old)}, {"demo/a.py": dedent(new)})
    assert result.final_texts == {"demo/a.py": dedent(new)}
    return result
