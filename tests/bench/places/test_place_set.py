"""The set keeps to its own rules, and what its authors wrote passes them all."""

from __future__ import annotations

import ast
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from completiond.bench.places.marked_place import Kind, MarkedPlace
from completiond.bench.places.outcome import judge
from completiond.bench.places.place_set import LANGUAGES, places_of, read_places

PLACES = list(read_places())
SOURCE = 'def f(cone):\n    return cone.melts_at("six")\n'
MARK = "[[place]]\nkind = 'call arguments'\nafter = 'melts_at('\nreference = '\"six\"'\nmust = ['six']\n"


def test_eight_languages_have_eight_places_or_more_each() -> None:
    counts = Counter(place.language for place in PLACES)
    assert len(PLACES) >= 64
    assert tuple(counts) == LANGUAGES
    assert len(LANGUAGES) == 8
    assert min(counts.values()) >= 8
    files = {(place.language, place.file) for place in PLACES}
    assert all(2 <= count <= 4 for count in Counter(language for language, _ in files).values())


def test_every_kind_of_place_occurs() -> None:
    assert {place.kind for place in PLACES} == set(get_args(Kind))


def test_no_place_is_there_twice() -> None:
    assert len({(place.file, len(place.prefix)) for place in PLACES}) == len(PLACES)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_place_lies_in_its_file_and_the_reference_is_good_there(place: MarkedPlace) -> None:
    file = resources.files("completiond.bench.places") / "files" / place.language / place.file
    whole = place.prefix + place.reference + place.suffix
    assert whole.replace("\r\n", "\n") == file.read_text("utf-8")
    assert place.prefix.count("\n") + 1 == place.line
    assert place.reference.strip()
    outcome = judge(place, place.reference)
    assert outcome.good
    assert outcome.defects == ()


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_nonsense_is_good_nowhere(place: MarkedPlace) -> None:
    assert not place.accepts("zzz")
    assert not place.accepts("\n")


def test_layouts_that_are_not_the_usual_ones() -> None:
    by_file = {place.file: place for place in PLACES}
    assert [name for name, place in by_file.items() if "\r\n" in place.prefix] == ["seedBank.js", "MarshSurvey.java"]
    for name, place in by_file.items():
        text = place.prefix + place.reference + place.suffix
        assert text.count("\r\n") in (0, text.count("\n")), name
        margins = {line[0] for line in text.splitlines() if line[:1] in ("\t", " ")}
        assert len(margins) == 1, name
        tabs = name.endswith(".go") or name in ("ferry_deck.py", "ice_core.hpp", "foray.html")
        assert margins == {"\t" if tabs else " "}, name
        assert not [line for line in text.splitlines() if line != line.rstrip()], name


def test_python_files_are_programs() -> None:
    for place in PLACES:
        if place.language == "python":
            ast.parse(place.prefix + place.reference + place.suffix)


def written(folder: Path, marks: str) -> list[MarkedPlace]:
    (folder / "kiln.py").write_text(SOURCE)
    (folder / "kiln.py.toml").write_text(marks)
    return list(places_of("python", folder))


def test_a_place_is_found_by_the_text_around_its_cursor(tmp_path: Path) -> None:
    (place,) = written(tmp_path, MARK)
    assert (place.prefix, place.suffix) == ("def f(cone):\n    return cone.melts_at(", ")\n")
    assert (place.name, place.kind) == ("python/kiln.py:2", "call arguments")


def test_line_ends_are_those_of_the_list(tmp_path: Path) -> None:
    (place,) = written(tmp_path, "line_ends = 'crlf'\n" + MARK)
    assert (place.prefix, place.suffix) == ("def f(cone):\r\n    return cone.melts_at(", ")\r\n")


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (MARK.replace("six", "seven"), "0 places"),
        (MARK.replace("'melts_at('", "''").replace("'\"six\"'", "'cone'"), "2 places"),
        (MARK.replace("must", "shall"), "shall"),
        (MARK.replace("call arguments", "anywhere"), "anywhere"),
        (MARK.replace("['six']", "['(six']"), "pattern"),
        (MARK.replace("['six']", "[]"), "must"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(marks: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        written(tmp_path, marks)
