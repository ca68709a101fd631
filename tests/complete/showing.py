"""What a user sees of an answer that is written letter by letter; ``§`` is the cursor."""

from __future__ import annotations

from completiond.complete.place import Place
from completiond.complete.stops import check, finish


def place_of(text: str) -> Place:
    prefix, suffix = text.split("§")
    return Place.of(prefix, suffix)


def write(place: Place, answer: str, then: str = "eos") -> tuple[str, str]:
    """What is shown of an answer, written letter by letter, and why it ended: ``then`` if no rule ended it.

    On the way, whatever was called safe has to be part of what is shown.
    """
    safe, reason = "", then
    for length in range(1, len(answer) + 1):
        verdict = check(answer[:length], place)
        if verdict.end is not None:
            answer, reason = answer[: verdict.end], verdict.reason
            break
        safe = max(safe, answer[: verdict.safe], key=len)
    shown = finish(answer, place, reason)
    assert shown.startswith(safe), "text was taken back"
    assert answer.startswith(shown)
    return shown, reason


def shown(text: str, answer: str, then: str = "eos") -> str:
    return write(place_of(text), answer, then)[0]


def reason(text: str, answer: str, then: str = "eos") -> str:
    return write(place_of(text), answer, then)[1]
