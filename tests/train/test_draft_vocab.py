"""The tokens that a head can guess."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from completiond.train.draft_vocab import DraftVocab, count_tokens

COUNTS = Counter({7: 50, 2: 30, 9: 10, 4: 6, 11: 4})


def test_tokens_are_counted_over_all_runs() -> None:
    assert count_tokens([[1, 2, 2], (), [2, 3]]) == {1: 1, 2: 3, 3: 1}


def test_the_commonest_are_taken() -> None:
    vocab = DraftVocab.most_frequent(COUNTS, 3, (), 12)
    assert vocab.token_ids.tolist() == [2, 7, 9]
    assert vocab.token_ids.dtype is torch.int64
    assert vocab.coverage == pytest.approx(0.9)


def test_some_are_taken_always_within_the_size() -> None:
    vocab = DraftVocab.most_frequent(COUNTS, 3, (0, 11), 12)
    assert vocab.token_ids.tolist() == [0, 7, 11]
    assert vocab.coverage == pytest.approx(0.54)


def test_where_fewer_were_counted_ids_fill_up_in_order() -> None:
    vocab = DraftVocab.most_frequent(COUNTS, 8, (5,), 12)
    assert vocab.token_ids.tolist() == [0, 1, 2, 4, 5, 7, 9, 11]
    assert vocab.coverage == 1.0


def test_it_is_no_larger_than_the_targets() -> None:
    assert DraftVocab.most_frequent(COUNTS, 100, (), 12).token_ids.tolist() == list(range(12))


def test_of_nothing_counted() -> None:
    vocab = DraftVocab.most_frequent(Counter(), 2, (), 12)
    assert (vocab.token_ids.tolist(), vocab.coverage) == ([0, 1], 0.0)


def test_its_three_forms_agree() -> None:
    vocab = DraftVocab.most_frequent(COUNTS, 4, (0,), 12)
    ids = vocab.token_ids
    assert (torch.arange(4) + vocab.d2t).tolist() == ids.tolist()
    assert vocab.t2d(12).nonzero()[:, 0].tolist() == ids.tolist()
    assert vocab.t2d(12).shape == (12,)
    back = vocab.from_target(12)
    assert back[ids].tolist() == [0, 1, 2, 3]
    assert ((back >= 0) == vocab.t2d(12)).all()
    assert set(back[~vocab.t2d(12)].tolist()) == {-1}
