"""Where an answer should have ended, for one who knows what was in the hole."""

from __future__ import annotations

from completiond.bench.fim.hole import FimHole
from completiond.bench.fim.similarity import similarity

__all__ = ["cut_to_reference", "has_reference_lines"]


def cut_to_reference(text: str, hole: FimHole) -> str:
    """The beginning of ``text`` that ends where the reference does.

    It has as many lines that are not blank as the reference has, together with what stands right of the hole. If
    something stands there, the last line is cut where ``text`` writes that too; where it does so more than once, or may
    not mean to, the way that leaves most like the reference's last line is taken.
    """
    lines = text.split("\n")
    kept: list[str] = []
    missing = _num_lines(hole)
    for line in lines:
        if missing == 0:
            break
        kept.append(line)
        missing -= bool(line.strip())
    if missing == 0 and hole.right.strip():
        kept[-1] = _cut_line(kept[-1], hole.expected.rpartition("\n")[2], hole.right.rstrip())
    return "\n".join(kept)


def has_reference_lines(text: str, hole: FimHole) -> bool:
    """Whether ``cut_to_reference`` has all it needs: longer texts that begin with this one are cut to the same."""
    return sum(bool(line.strip()) for line in text.split("\n")[:-1]) >= _num_lines(hole)


def _num_lines(hole: FimHole) -> int:
    return sum(bool(line.strip()) for line in (hole.expected + hole.right).split("\n"))


def _cut_line(line: str, expected: str, right: str) -> str:
    ends = [place for place in range(len(line)) if line.startswith(right, place)]
    return max((line, *(line[:end] for end in ends)), key=lambda cut: similarity(cut, expected))
