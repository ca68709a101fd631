"""What the shift benchmark types, asks and counts, on a small model."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.bench.human_eval import Hole
from completiond.bench.shift import KINDS, NUM_KEYS, ShiftRun, measure_shift, shift_json
from completiond.complete.completer import Completer
from completiond.errors import UsageError
from tests.complete.test_completer import CONFIG
from tests.fake_model import babble, fake_model
from tests.train.conftest import open_small
from tests.train.small import VOCAB, make_model

HOLE = Hole("one", "def f(values):\n    ", "return max(values) + 12", "\n\n" + "# the text behind the cursor\n" * 3)


@pytest.fixture(scope="module")
def completer(tmp_path_factory: pytest.TempPathFactory) -> Completer:
    folder: Path = tmp_path_factory.mktemp("shift")
    return open_small(make_model(folder / "small"), folder / "prepared")


def test_each_kind_of_place_is_typed_at_both_ways(completer: Completer) -> None:
    runs = list(measure_shift([HOLE], completer, 8))
    assert [run.kind for run in runs] == list(KINDS)
    for run in runs:
        assert HOLE.expected.endswith(run.wanted)
        assert run.moved_tokens > 50
        assert len(run.moved_ms) == len(run.exact_ms) == NUM_KEYS
    at_word, inside = (HOLE.expected[: -len(run.wanted)] for run in runs)
    assert not at_word[-1].isalnum()
    assert inside[-1].isalnum()


def test_a_line_without_such_places_is_left_out(completer: Completer) -> None:
    assert list(measure_shift([Hole("short", "", "x", "")], completer, 8)) == []


def test_a_model_that_cannot_is_refused() -> None:
    model, _ = fake_model(babble(VOCAB))
    with pytest.raises(UsageError, match="cannot be moved"):
        list(measure_shift([HOLE], Completer(model, CONFIG), 8))


def test_the_figures() -> None:
    runs = [
        ShiftRun(KINDS[0], "a b", "a b", "a b", 20, (1.0, 2.0, 3.0), (10.0, 20.0, 30.0)),
        ShiftRun(KINDS[0], "a c\nd", "a b\nd", "a b", 30, (4.0, 5.0, 6.0), (40.0, 50.0, 60.0)),
    ]
    assert shift_json(runs) == [
        {
            "kind": KINDS[0], "places": 2, "same": 1, "moved_right": 0.5, "exact_right": 1.0, "moved_ms": 3.5,
            "exact_ms": 35.0, "moved_tokens": 25.0,
        }
    ]  # fmt: skip
