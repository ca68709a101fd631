"""Finished answers: what is found again, what is not, and that it is what a plain list of them would say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.cache.results import ResultCache

TEXT = "return value\n    other"


@pytest.fixture
def cache() -> ResultCache[str]:
    cache: ResultCache[str] = ResultCache()
    cache.put("a.py", "def f():\n    ", TEXT, "first")
    return cache


@pytest.mark.parametrize("typed", [0, 1, 6, 7, 13, len(TEXT) - 1])
def test_typing_along_finds_the_rest(cache: ResultCache[str], typed: int) -> None:
    assert cache.find("a.py", "def f():\n    " + TEXT[:typed]) == ("first", typed)


@pytest.mark.parametrize(
    ("group", "prefix"),
    [
        ("b.py", "def f():\n    "),
        ("a.py", "def f():\n   "),
        ("a.py", "def g():\n    "),
        ("a.py", "def g():\n    ret"),
        ("a.py", "def f():\n    rex"),
        ("a.py", "def f():\n    " + TEXT),
        ("a.py", "def f():\n    " + TEXT + "s"),
    ],
)
def test_another_text_is_not_found(cache: ResultCache[str], group: str, prefix: str) -> None:
    assert cache.find(group, prefix) is None


def test_going_back_finds_it_again(cache: ResultCache[str]) -> None:
    for typed in (7, 9, 3, 0):
        assert cache.find("a.py", "def f():\n    " + TEXT[:typed]) == ("first", typed)


def test_blanks_are_not_worth_showing(cache: ResultCache[str]) -> None:
    cache.put("a.py", "x", "y \n ", "blank end")
    assert cache.find("a.py", "x") == ("blank end", 0)
    assert cache.find("a.py", "xy") is None


def test_no_suggestion_is_an_answer_at_its_own_place(cache: ResultCache[str]) -> None:
    cache.put("a.py", "z", "", "nothing")
    assert cache.find("a.py", "z") == ("nothing", 0)
    assert cache.find("a.py", "zz") is None


def test_the_one_that_is_being_typed_does_not_change(cache: ResultCache[str]) -> None:
    assert cache.find("a.py", "def f():\n    ret") == ("first", 3)
    cache.put("a.py", "def f():\n    re", "turn other", "second")
    assert cache.find("a.py", "def f():\n    ret") == ("second", 1), "the newest is what is shown"
    assert cache.find("a.py", "def f():\n    return v") == ("first", 8)
    assert cache.find("a.py", "def f():\n    ret") == ("first", 3), "and now the other one is"


def test_a_newer_answer_at_the_same_place_replaces_the_older(cache: ResultCache[str]) -> None:
    cache.put("a.py", "def f():\n    ", "pass", "second")
    assert len(cache) == 1
    assert cache.find("a.py", "def f():\n    ") == ("second", 0)
    assert cache.find("a.py", "def f():\n    r") is None


def test_what_is_forgotten_is_gone(cache: ResultCache[str]) -> None:
    cache.put("b.py", "x", "y", "other")
    cache.forget("a.py")
    cache.forget("a.py")
    assert (len(cache), cache.groups) == (1, ["b.py"])
    assert cache.find("a.py", "def f():\n    ") is None
    assert cache.find("b.py", "x") == ("other", 0)


def test_the_longest_unused_goes_first() -> None:
    cache: ResultCache[int] = ResultCache(max_entries=3)
    for number in range(3):
        cache.put(number, "x", "abc", number)
    assert cache.find(0, "x") == (0, 0)
    cache.put(3, "x", "abc", 3)
    assert len(cache) == 3
    assert cache.find(1, "x") is None
    assert [cache.find(number, "xa") for number in (0, 2, 3)] == [(0, 1), (2, 1), (3, 1)]


class Listed:
    """The oracle: everything, in the order of its last use, with whole texts."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str, int]] = []

    def put(self, group: str, prefix: str, text: str, value: int) -> None:
        self.entries = [entry for entry in self.entries if entry[:2] != (group, prefix)]
        self.entries.append((group, prefix, text, value))

    def find(self, group: str, prefix: str) -> tuple[int, int] | None:
        for entry in reversed(self.entries):
            whole = entry[1] + entry[2]
            typed = len(prefix) - len(entry[1])
            if entry[0] != group or not prefix.startswith(entry[1]) or not whole.startswith(prefix):
                continue
            if typed == 0 or whole[len(prefix) :].strip():
                self.entries.remove(entry)
                self.entries.append(entry)
                return entry[3], typed
        return None


words = st.text("ab \n", max_size=5)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("pq"), words, words), max_size=40))
def test_it_says_what_a_list_would(moves: list[tuple[bool, str, str, str]]) -> None:
    cache: ResultCache[int] = ResultCache()
    listed = Listed()
    for number, (is_put, group, prefix, text) in enumerate(moves):
        if is_put:
            cache.put(group, prefix, text, number)
            listed.put(group, prefix, text, number)
        else:
            assert cache.find(group, prefix + text) == listed.find(group, prefix + text)
    assert len(cache) == len(listed.entries)
