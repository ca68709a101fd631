"""The default model's suggestions at all places: whatever it writes, these defects are never shown."""

from __future__ import annotations

import pytest

from completiond.bench.places.outcome import run_places
from completiond.bench.places.place_set import read_places
from completiond.complete.completer import Completer

NEVER = {"doubled closer", "repeated suffix line", "indentation unit", "special token", "fence", "mixed line ends"}


@pytest.mark.model
def test_no_suggestion_of_the_default_model_has_a_defect_that_rules_prevent(default_completer: Completer) -> None:
    outcomes = list(run_places(read_places(), default_completer))

    assert {one.place.name: (one.text, one.defects) for one in outcomes if NEVER.intersection(one.defects)} == {}
    assert sum(bool(one.text) for one in outcomes) > len(outcomes) / 2
