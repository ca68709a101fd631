"""From key to ghost text in VS Code, beside the daemon's own time for the same requests."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from completiond.client import connect
from completiond.paths import Paths
from tests.e2e.editors.vscode_driver import Seen, VSCode

__all__ = ["Times", "measure"]

_RECORD: Final = """() => {
  window.cdKeys = [];
  window.cdBusy = [{ ms: 0, is: false }];
  addEventListener('keydown', () => cdKeys.push(performance.now()), true);
  const look = () => {
    const is = document.querySelector(".statusbar [id*='completiond'] .codicon-loading") !== null;
    if (cdBusy.at(-1).is !== is) cdBusy.push({ ms: performance.now(), is });
    requestAnimationFrame(look);
  };
  look();
}"""
"""Note when keys come, and when the item in the status bar is busy: from 300 ms after a request to its answer's end."""
_IS_QUIET: Final = """(quietMs) => {
  const last = cdSeen.at(-1);
  const since = Math.max(last.ms, cdKeys.at(-1), cdBusy.at(-1).ms);
  return !cdBusy.at(-1).is && performance.now() - since > (last.text ? quietMs : 3 * quietMs);
}"""
_QUIET_MS: Final = 800


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds from keys on, in the browser; ``server`` has the daemon's, from a request to its answer's end."""

    along: list[float] = field(default_factory=list)
    """To the ghost text, of keys that were its next character."""
    first: list[float] = field(default_factory=list)
    """To the first ghost text, of all other keys."""
    last: list[float] = field(default_factory=list)
    """To the last change of it. The daemon may write on for a while, to see that no more is to be shown."""
    end: list[float] = field(default_factory=list)
    """To the answer's end, of those that took long enough to be shown as busy; ``server`` is about the same."""
    server: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        rows = (
            ("typed along: to the ghost text", self.along),
            ("other keys: to the first ghost text", self.first),
            ("other keys: to the last ghost text", self.last),
            ("answers over 300 ms: from the key to their end", self.end),
            ("the same: the daemon, from request to end", self.server),
            ("the same: the difference", [end - own for end, own in zip(self.end, self.server, strict=True)]),
        )
        return "\n".join(
            ["milliseconds: number, median (p90, max)", *(f"  {title:48} {_summary(values)}" for title, values in rows)]
        )


def measure(code: VSCode, paths: Paths, line: int, keys: str) -> Times:
    """Type ``keys`` at the begin of a ``line`` (from 1), each in a quiet moment."""
    times = Times()
    code.page.evaluate(_RECORD)
    for column, key in enumerate(keys, start=1):
        before = code.ghost
        code.watch()
        code.type(key)
        code.wait_for(lambda: code.page.evaluate(_IS_QUIET, _QUIET_MS) or None, "a quiet moment")
        key_ms = float(code.page.evaluate("() => cdKeys.at(-1)"))
        if not (shown := _shown_ms(code.seen, key_ms, before)):
            continue
        if before.startswith(key):  # the rest is on the screen already
            times.along.append(shown[0])
            continue
        times.first.append(shown[0])
        times.last.append(shown[-1])
        ended_ms = float(code.page.evaluate("() => cdBusy.at(-1).ms"))
        if ended_ms > key_ms:
            times.end.append(ended_ms - key_ms)
            times.server.append(_took_ms(paths, line, column))
    return times


def _shown_ms(seen: Iterable[Seen], key_ms: float, before: str) -> list[float]:
    """When there was ghost text that was not there ``before``, in ms from the key on."""
    return [one.ms - key_ms for one in seen if one.ms > key_ms and one.text and one.text != before]


def _took_ms(paths: Paths, line: int, column: int) -> float:
    """The daemon's time for the newest request at a place; ``column`` from 0. Raises StopIteration: there is none."""
    with connect(paths, start=False) as client:
        recent = client.call("completiond/status", {"why": True})["recent"]
    return float(next(one["took_ms"] for one in recent if (one["line"], one["column"]) == (line, column)))


def _summary(values: Sequence[float]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    p90 = ordered[min(len(ordered) - 1, round(0.9 * len(ordered)))]
    return f"{len(ordered):2}: {statistics.median(ordered):5.0f} ({p90:.0f}, {ordered[-1]:.0f})"
