"""The benchmark asks the product's completer, and adds up what it says."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from completiond.bench.places.outcome import Outcome, judge, run_places
from completiond.bench.places.place_set import read_places
from completiond.bench.places.report import outcome_json, outcome_panel, places_json, places_table
from completiond.complete.completer import Completer
from tests.complete.test_completer import completer_for

PYTHON = {place.reference: place for place in read_places(["python"])}
BRACKETS = PYTHON["minute, celsius"]
CRLF = next(place for place in read_places(["javascript"]) if "\r\n" in place.reference)


def printed(view: object) -> str:
    file = io.StringIO()
    Console(width=120, file=file).print(view)
    return file.getvalue()


def outcomes(answer: str) -> list[Outcome]:
    return list(run_places([BRACKETS], completer_for(answer)[0]))


def test_what_the_model_says_is_judged() -> None:
    assert outcomes("minute, celsius") == [Outcome(BRACKETS, "minute, celsius", "eos", True, ())]
    assert outcomes("celsius")[0].good is False
    assert outcomes("minute, f(celsius")[0].defects == ("left open",)
    assert outcomes("") == [Outcome(BRACKETS, "", "empty", False, ())]


def test_good_and_faulty_are_counted_apart() -> None:
    some = [judge(BRACKETS, text) for text in ("minute, celsius", "minute, celsius ", "celsius)", "")]
    some += [judge(CRLF, CRLF.reference), judge(CRLF, CRLF.reference.replace("\r\n", "\n"))]
    python, javascript, both = places_json(some)
    assert python == {
        "language": "python", "places": 4, "answered": 3, "good": 1, "faulty": 1,
        "defects": {"doubled closer": 1},
    }  # fmt: skip
    assert javascript["defects"] == {"mixed line ends": 1}
    assert (javascript["good"], javascript["faulty"]) == (2, 1)
    assert (both["language"], both["places"], both["good"], both["faulty"]) == ("all", 6, 3, 2)
    table = printed(places_table(some, "a title"))
    assert "a title" in table
    assert "mixed line ends 1" in table


def test_a_suggestion_is_shown_in_its_place() -> None:
    shown = printed(outcome_panel(judge(BRACKETS, "celsius)")))
    assert "self.readings.append((celsius)))" in shown
    assert f"{BRACKETS.name} · between brackets · not good · doubled closer" in shown
    assert "append((¦))" in printed(outcome_panel(judge(BRACKETS, "")))
    assert "\r" not in printed(outcome_panel(judge(CRLF, CRLF.reference)))
    assert outcome_json(judge(BRACKETS, "celsius)"))["defects"] == ["doubled closer"]


@pytest.mark.model
def test_the_default_model_gets_some_right(default_completer: Completer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places where the text around the cursor all but says what is missing."""
    monkeypatch.setattr(default_completer, "reading", None, raising=False)  # all of it is read, however slow it is
    references = ("minute, celsius", "this.riseMetres = riseMetres;", "return Season::summer;", "turn += 360;", "seats")
    some = [place for place in read_places() if place.reference in references]
    assert len(some) == len(references)
    found = list(run_places(some, default_completer))
    assert [one.place.name for one in found if not one.good or one.defects] == []
    assert all(one.place.accepts(one.text) for one in found)
