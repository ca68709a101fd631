"""First guesses at a draft's chances: their order is what a drafter ranks by before anything was counted."""

from __future__ import annotations

import pytest

from completiond.spec.acceptance_guess import acceptance_guess

SOURCES = ("prompt", "near", "file", "open", "edit")
ORIGINS = (*SOURCES, "prompt, cut", "file, renamed", "sibling, agrees", "replaced, replaces", "")


@pytest.mark.parametrize("origin", ORIGINS)
def test_every_guess_is_a_chance(origin: str) -> None:
    for match in (*range(20), 64, 10_000):
        for depth in (0, 1, 2, 7, 100):
            assert 0.0 < acceptance_guess(origin, match, depth) < 1.0


@pytest.mark.parametrize("origin", [*SOURCES, "prompt, cut", "file, renamed"])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_copy_is_trusted_the_more_the_longer_its_match(origin: str, depth: int) -> None:
    guesses = [acceptance_guess(origin, match, depth) for match in range(1, 65)]

    assert guesses == sorted(guesses)
    assert guesses[0] < guesses[-1]


@pytest.mark.parametrize("match", [1, 2, 4, 8, 16])
def test_the_prompt_is_trusted_more_than_other_text(match: int) -> None:
    for found in ("", ", cut", ", renamed"):
        assert acceptance_guess(f"prompt{found}", match, 0) > acceptance_guess(f"file{found}", match, 0)


@pytest.mark.parametrize("match", [1, 3, 5, 9])
def test_behind_a_replaced_part_a_template_is_hardly_trusted(match: int) -> None:
    replaced = acceptance_guess("replaced, replaces", match, 0)

    assert replaced < min(acceptance_guess(origin, length, 0) for origin in ORIGINS[:-2] for length in range(20))


@pytest.mark.parametrize("origin", ORIGINS)
def test_behind_a_right_guess_the_next_is_likelier(origin: str) -> None:
    for match in range(20):
        assert acceptance_guess(origin, match, 1) > acceptance_guess(origin, match, 0)
