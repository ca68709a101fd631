"""Fill-in-the-middle families are known by a vocabulary's tokens, never by a model's name."""

from __future__ import annotations

from itertools import combinations

import pytest

from completiond.complete.families import FAMILIES, FimFamily, find_family
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import fake_tokenizer


def markers(family: FimFamily) -> list[str]:
    return [marker for marker in (family.prefix, family.suffix, family.middle) if marker]


def tokenizer_with(contents: list[str]) -> TextTokenizer:
    raw = fake_tokenizer(contents)
    return TextTokenizer(raw, {}, raw.get_vocab_size())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_is_known_by_its_tokens(family: FimFamily) -> None:
    tokenizer = tokenizer_with(markers(family))

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
    for kept in combinations(markers(family), len(markers(family)) - 1):
        assert find_family(tokenizer_with(list(kept)).control_id) is None


def test_a_vocabulary_without_markers_continues_a_prefix() -> None:
    assert find_family(tokenizer_with(["<|im_start|>", "<|im_end|>"]).control_id) is None


def test_no_two_families_share_a_spelling() -> None:
    spelled = [tuple(markers(family)) for family in FAMILIES]

    assert len(set(spelled)) == len(FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(len(set(one)) == len(one) for one in spelled)
