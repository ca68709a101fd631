"""An answer as a server writes it: portions to pieces, pieces to the stop rules, and what it took."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from completiond.complete.answer import Answer
from completiond.complete.pieces import Pieces
from completiond.engine.portion import Portion

__all__ = ["PortionTimes", "RemoteWriting"]

SOURCE: Final = "model"
"""Whose text it is; what the server has drafted it does not say."""


class PortionTimes:
    """When portions of one answer came. ``arrived`` is when its request did, by ``time.perf_counter``."""

    def __init__(self, arrived: float) -> None:
        self._arrived = arrived
        self._first = self._last = 0.0
        self.num_portions = 0

    def note(self) -> None:
        """One comes now."""
        self._last = time.perf_counter()
        self._first = self._first or self._last
        self.num_portions += 1

    @property
    def ttft_ms(self) -> float:
        """From the request's arrival to the first portion; 0.0 without any."""
        return (self._first - self._arrived) * 1e3 if self.num_portions else 0.0

    @property
    def wrote_ms(self) -> float:
        """From the first portion to now; 0.0 before it."""
        return (time.perf_counter() - self._first) * 1e3 if self.num_portions else 0.0

    @property
    def ms_per_portion(self) -> float:
        """Mean over those after the first; 0.0 without any. A portion is a token, or some of them."""
        later = self.num_portions - 1
        return (self._last - self._first) * 1e3 / later if later > 0 else 0.0


class RemoteWriting:
    """Feeds ``answer``. Whatever the server does, no more than ``max_chars`` are taken."""

    def __init__(self, answer: Answer, ends: Iterable[str], max_chars: int, ends_answers: bool) -> None:
        """``ends``: texts that end an answer. ``ends_answers``: the server has made whole lines of one that was to
        become too long.
        """
        self._answer = answer
        self._pieces = Pieces(ends)
        self._room = max_chars
        self._ends_answers = ends_answers

    def take(self, portion: Portion) -> str | None:
        """A reason means that the answer ends here."""
        reason = self._push(self._pieces.push(portion.text))
        if reason is None and (portion.finish or self._pieces.is_over):
            return self.end(portion.finish)
        return reason

    def end(self, finish: str = "") -> str:
        """The server has ended; why the answer does."""
        is_cut = finish == "length" and not self._ends_answers and not self._pieces.is_over
        return self._push(self._pieces.flush()) or ("length" if is_cut else "eos")

    def _push(self, pieces: Iterable[str]) -> str | None:
        reason = None
        for piece in pieces:
            reason = self._answer.push_text(piece[: self._room])
            self._room -= len(piece)
            if reason is None and self._room <= 0:
                reason = "length"
            if reason is not None:
                break
        self._answer.attribute(0, SOURCE)
        return reason
