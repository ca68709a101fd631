"""Fill-in-the-middle families are known by a vocabulary's tokens, never by a model's name."""

from __future__ import annotations

from itertools import combinations

import pytest

from completiond.complete.families import FAMILIES, FimFamily, find_family
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import fake_tokenizer


def tokenizer_with(contents: list[str]) -> TextTokenizer:
    raw = fake_tokenizer(contents)
    return TextTokenizer(raw, {}, raw.get_vocab_size())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_is_known_by_its_tokens(family: FimFamily) -> None:
    tokenizer = tokenizer_with(list(family.required))

    found = find_family(tokenizer.control_id)

    assert found is not None
    assert found.family is family
    ids = (found.prefix_id, found.suffix_id, found.middle_id)
    assert ids == (
        tokenizer.control_id(family.prefix),
        tokenizer.control_id(family.suffix),
        tokenizer.control_id(family.middle) if family.middle else None,
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_that_lacks_a_token_is_not_used(family: FimFamily) -> None:
    for kept in combinations(family.required, len(family.required) - 1):
        found = find_family(tokenizer_with(list(kept)).control_id)
        assert found is None or found.family is not family


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_a_prompt_begins_with_is_there_as_a_whole_or_not_at_all(family: FimFamily) -> None:
    whole = find_family(tokenizer_with([*family.required, *family.begin]).control_id)
    part = find_family(tokenizer_with([*family.required, *family.begin[1:]]).control_id)

    assert whole is not None
    assert part is not None
    assert len(whole.begin_ids) == len(family.begin)
    assert part.begin_ids == ()


def test_a_vocabulary_without_markers_continues_a_prefix() -> None:
    assert find_family(tokenizer_with(["<|im_start|>", "<|im_end|>"]).control_id) is None


def test_no_two_families_need_the_same_tokens() -> None:
    assert len({frozenset(family.required) for family in FAMILIES}) == len(FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(len(set(family.required)) == len(family.required) for family in FAMILIES)


def test_a_family_with_marks_comes_before_one_that_needs_less() -> None:
    for place, family in enumerate(FAMILIES):
        assert not any(set(earlier.required) < set(family.required) for earlier in FAMILIES[:place])
