"""What a program asks an answer to end at, besides where the rules of stops.py end it."""

from __future__ import annotations

from dataclasses import dataclass

from completiond.complete.verdict import Verdict

__all__ = ["NO_LIMITS", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """``stop``: strings, with line ends ``\\n``, that the answer ends before. ``min_indent``: it ends before a line,
    not its first, that begins with fewer blanks and tabs. ``max_write_ms``: behind the end of its first line it goes on
    for so long, counted from its first token; 0: no matter. ``max_tokens``: None: what the settings say; 0: the prompt
    is only read.
    """

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    min_indent: int = 0
    max_write_ms: float = 0.0

    def narrow(self, verdict: Verdict, text: str, begin: int) -> Verdict:
        """``verdict`` of other rules on ``text``, of which what is behind ``begin`` is new, or ours if that ends it
        earlier.
        """
        if not self.stop and not self.min_indent:
            return verdict
        ours = self._judge(text, begin)
        safe = min(verdict.safe, ours.safe)
        if ours.end is None or (verdict.end is not None and verdict.end <= ours.end):
            return Verdict(verdict.end, verdict.reason, safe, verdict.fallback)
        end = ours.end if verdict.fallback is None else min(ours.end, verdict.fallback)
        return Verdict(end, ours.reason, min(safe, end))

    def is_time_over(self, text: str, wrote_ms: float) -> bool:
        """Whether it ends now, ``wrote_ms`` after its first token."""
        return 0.0 < self.max_write_ms < wrote_ms and "\n" in text

    def word_at(self, text: str, end: int) -> str:
        """Which of ``stop`` stands at ``end``."""
        return next((word for word in self.stop if text.startswith(word, end)), "")

    def _judge(self, text: str, begin: int) -> Verdict:
        longest = max(map(len, self.stop), default=0)
        found = [text.find(word, max(0, begin - longest + 1)) for word in self.stop]
        stopped = min((place for place in found if place >= 0), default=None)
        outdented, unsure = self._outdented(text, begin)
        if outdented is not None and (stopped is None or outdented < stopped):
            return Verdict(outdented, "indent", outdented)
        if stopped is not None:
            return Verdict(stopped, "stop", stopped)
        return Verdict(None, "", min(unsure, self._begun(text)))

    def _outdented(self, text: str, begin: int) -> tuple[int | None, int]:
        """Where the first line begins that is not deep enough; and how far no such line can begin."""
        newline = text.rfind("\n", 0, begin) if self.min_indent else -1
        newline = newline if newline >= 0 or not self.min_indent else text.find("\n", begin)
        while newline >= 0:
            line = text[newline + 1 :].partition("\n")[0]
            depth = len(line) - len(line.lstrip(" \t"))
            is_decided = depth < len(line) or text.find("\n", newline + 1) >= 0
            if depth < self.min_indent:
                return (newline + 1, newline + 1) if is_decided else (None, newline + 1)
            newline = text.find("\n", newline + 1)
        return None, len(text)

    def _begun(self, text: str) -> int:
        """Where the longest end of ``text`` begins that one of the strings may begin with."""
        for size in range(min(max(map(len, self.stop), default=1) - 1, len(text)), 0, -1):
            if any(word.startswith(text[-size:]) for word in self.stop):
                return len(text) - size
        return len(text)


NO_LIMITS = Limits()
