"""Two models may draft for each other when their token ids mean the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE

from completiond.errors import ModelUnsupportedError
from completiond.spec.same_vocabulary import check_same_vocabulary

WORDS = [f"word{index}" for index in range(100)]
CONTROLS = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


def tokenizer(words: Sequence[str], controls: Sequence[str] = CONTROLS) -> Tokenizer:
    """``words`` and behind them ``controls``, ids in order; an empty string leaves an id without a token."""
    listed = [*words, *controls]
    made = Tokenizer(BPE({token: index for index, token in enumerate(listed) if token}, []))
    made.add_special_tokens([AddedToken(token, special=True) for token in controls if token])
    return made


def check(target: Tokenizer, draft: Tokenizer, target_size: int | None = None, draft_size: int | None = None) -> None:
    sizes = (target_size or target.get_vocab_size(), draft_size or draft.get_vocab_size())
    check_same_vocabulary(target, sizes[0], draft, sizes[1], ("big", "small"))


def refusal(target: Tokenizer, draft: Tokenizer, target_size: int | None = None, draft_size: int | None = None) -> str:
    with pytest.raises(ModelUnsupportedError) as caught:
        check(target, draft, target_size, draft_size)
    assert caught.value.message.startswith("small cannot draft for big:")
    assert "same vocabulary" in caught.value.advice
    return caught.value.message


def test_the_same_vocabulary_passes() -> None:
    check(tokenizer(WORDS), tokenizer(WORDS))


@pytest.mark.parametrize(("target_size", "draft_size"), [(128, 160), (160, 128), (104, 128), (128, 104)])
def test_vocabularies_padded_to_different_sizes_pass(target_size: int, draft_size: int) -> None:
    check(tokenizer(WORDS), tokenizer(WORDS), target_size, draft_size)


@pytest.mark.parametrize("filler", ["[PAD{}]", "<|unused_{}|>", "<unused{}>", "<|reserved_special_token_{}|>"])
def test_padding_that_has_names_passes(filler: str) -> None:
    named = tokenizer(WORDS, [*CONTROLS, *(filler.format(index) for index in range(104, 160))])
    check(named, tokenizer(WORDS), 160, 160)
    check(tokenizer(WORDS), named, 160, 160)
    check(named, tokenizer(WORDS, [*CONTROLS, "<think>"]), 160, 160)


def test_a_few_tokens_that_one_of_both_lacks_pass() -> None:
    more = tokenizer(WORDS, [*CONTROLS, "<tool_response>", "</tool_response>", "<think>", "</think>"])
    check(more, tokenizer(WORDS), 128, 128)
    check(tokenizer(WORDS), more, 128, 128)


def test_many_tokens_that_one_of_both_lacks_are_refused() -> None:
    few, many = tokenizer([]), tokenizer([], [*CONTROLS, *(f"<|tool{index}|>" for index in range(30))])
    message = refusal(many, few, 64, 64)
    assert "30 of 64 ids" in message
    assert "the first is 4, '<|tool0|>' in big and nothing in small" in message
    assert "the first is 4, nothing in big and '<|tool0|>' in small" in refusal(few, many, 64, 64)


def test_tokens_behind_the_shared_range_do_not_count() -> None:
    longer = tokenizer(WORDS, [*CONTROLS, *(f"<|tool{index}|>" for index in range(300))])
    check(longer, tokenizer(WORDS))
    check(tokenizer(WORDS), longer)


def test_tokens_behind_the_model_s_own_size_do_not_count() -> None:
    check(tokenizer(WORDS, [*CONTROLS, "<|one|>"]), tokenizer(WORDS, [*CONTROLS, "<|other|>"]), 104, 104)


def test_a_swapped_token_is_refused_by_name() -> None:
    swapped = [*WORDS]
    swapped[41], swapped[57] = swapped[57], swapped[41]
    assert "token 41 is 'word41' in big and 'word57' in small" in refusal(tokenizer(WORDS), tokenizer(swapped))


def test_one_different_token_is_refused_by_name() -> None:
    other = [*WORDS[:99], "other\n"]
    message = refusal(tokenizer(WORDS), tokenizer(other))
    assert r"token 99 is 'word99' in big and 'other\n' in small" in message
    assert "\n" not in message


def test_another_special_token_is_refused() -> None:
    other = [CONTROLS[0], "<fim_prefix>", *CONTROLS[2:]]
    assert "token 101 is '<|fim_prefix|>' in big and '<fim_prefix>' in small" in refusal(
        tokenizer(WORDS), tokenizer(WORDS, other)
    )


@pytest.mark.parametrize("moved", CONTROLS)
def test_a_special_token_at_another_id_is_refused_even_where_the_other_has_none(moved: str) -> None:
    at = 100 + CONTROLS.index(moved)
    later = tokenizer(WORDS, [*(control if control != moved else "" for control in CONTROLS), "", "", moved])
    assert later.token_to_id(moved) == 106
    expected = f"{moved!r} is token {at} in big and 106 in small"
    assert expected in refusal(tokenizer(WORDS), later, 128, 128)
    # also where it lies behind what both have
    assert expected in refusal(tokenizer(WORDS), later, 104, 128)


def test_a_vocabulary_of_another_kind_is_refused() -> None:
    assert "token 0 is 'word0' in big and 'Ġa0' in small" in refusal(
        tokenizer(WORDS), tokenizer([f"Ġa{index}" for index in range(100)])
    )
