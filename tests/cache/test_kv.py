"""Which tokens a cache stands for: extending, rolling back, and what a new prompt can use again."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from completiond.cache.kv import KVCache, SequenceCache

IDS = st.lists(st.integers(0, 2), max_size=12)


def cache_with(token_ids: list[int]) -> SequenceCache:
    cache = SequenceCache(capacity_tokens=64)
    cache.extend(token_ids)
    return cache


def test_a_new_cache_is_empty() -> None:
    cache = SequenceCache(capacity_tokens=5)

    assert cache.num_tokens == 0
    assert cache.token_ids == []
    assert cache.capacity_tokens == 5


@given(held=IDS, more=IDS, keep=st.integers(0, 24))
def test_rollback_keeps_the_first_tokens(held: list[int], more: list[int], keep: int) -> None:
    cache = cache_with(held)
    cache.extend(more)

    cache.rollback(keep)

    assert cache.token_ids == [*held, *more][:keep]
    assert cache.num_tokens == min(keep, len(held) + len(more))


@given(held=IDS, prompt=IDS.filter(bool))
def test_reuse_keeps_the_common_beginning_and_leaves_a_token_to_compute(held: list[int], prompt: list[int]) -> None:
    cache = cache_with(held)

    reused = cache.reuse(prompt)

    assert cache.token_ids == prompt[:reused] == held[:reused]
    assert reused < len(prompt)
    at_the_end = reused in (len(held), len(prompt) - 1)
    assert at_the_end or held[reused] != prompt[reused]


def test_a_longer_sequence_is_cut_to_a_prompt_that_it_begins_with() -> None:
    assert cache_with([1, 2, 3, 4]).reuse([1, 2, 3]) == 2


def test_buffers_have_a_row_for_every_token_and_count_their_memory() -> None:
    cache = KVCache(num_layers=2, num_kv_heads=3, head_dim=4, capacity_tokens=10, dtype=torch.float16)

    assert cache.keys.shape == cache.values.shape == (2, 3, 10, 4)
    assert cache.size_bytes == 2 * 2 * 3 * 10 * 4 * 2


def test_rows_are_rounded_up_but_the_capacity_is_what_was_asked_for() -> None:
    cache = KVCache(num_layers=1, num_kv_heads=1, head_dim=2, capacity_tokens=10, row_multiple=8)

    assert cache.keys.shape[2] == 16
    assert cache.capacity_tokens == 10


def test_unwritten_rows_are_finite_so_that_a_masked_row_adds_nothing() -> None:
    cache = KVCache(num_layers=1, num_kv_heads=1, head_dim=8, capacity_tokens=100)

    assert not cache.keys.any()
    assert not cache.values.any()


def test_rolling_back_does_not_move_or_erase_rows() -> None:
    cache = KVCache(num_layers=1, num_kv_heads=1, head_dim=1, capacity_tokens=4)
    cache.keys[0, 0, :3, 0] = torch.tensor([1.0, 2.0, 3.0])
    cache.extend([7, 8, 9])

    cache.rollback(1)

    assert cache.token_ids == [7]
    assert cache.keys[0, 0, :, 0].tolist() == [1.0, 2.0, 3.0, 0.0]
