"""What the model suggests at each place, and what is to be said of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from completiond.bench.places.defects import find_defects
from completiond.bench.places.marked_place import MarkedPlace
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.engine.sampling_params import SamplingParams

__all__ = ["Outcome", "judge", "run_places"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``text`` is empty where nothing was suggested; then it is not good and has no defects. ``stop_reason``: see
    ``Completion``.
    """

    place: MarkedPlace
    text: str
    stop_reason: str
    good: bool
    defects: tuple[str, ...]


def run_places(places: Iterable[MarkedPlace], completer: Completer) -> Iterator[Outcome]:
    """Ask at each as an editor would, at temperature 0."""
    for place in places:
        request = CompletionRequest(place.prefix, place.suffix, sampling=SamplingParams(temperature=0.0))
        *_, completion = completer.run(request, time.perf_counter())
        assert isinstance(completion, Completion)
        yield judge(place, completion.text, completion.stop_reason)


def judge(place: MarkedPlace, text: str, stop_reason: str = "") -> Outcome:
    """Look at one suggestion."""
    if not text:
        return Outcome(place, text, stop_reason, False, ())
    return Outcome(place, text, stop_reason, place.accepts(text), find_defects(place.with_text(text)))
