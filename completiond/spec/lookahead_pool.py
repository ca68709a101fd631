"""The n-gram pool of Lookahead decoding: what followed a token, from the text and from the window's guesses.

Fu et al., "Break the sequential dependency of LLM inference using Lookahead decoding", arXiv 2402.02057, section 3.2.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

__all__ = ["MAX_KEYS", "NGramPool", "merge_paths"]

MAX_KEYS = 8192
"""First tokens that are remembered; with seven continuations of four tokens each that is some 20 MB."""


class NGramPool:
    """For each first token of an n-gram its most recent distinct continuations.

    Bounded twice: ``per_key`` continuations of a token, and ``max_keys`` tokens; what was not used for longest goes.
    """

    def __init__(self, ngram_tokens: int, per_key: int, max_keys: int = MAX_KEYS) -> None:
        """``ngram_tokens`` is the length of an n-gram, its first token included.

        Raises ValueError unless that is at least 2 and the bounds are at least 1.
        """
        if ngram_tokens < 2 or per_key < 1 or max_keys < 1:
            raise ValueError(f"n-grams of {ngram_tokens}, {per_key} for each of {max_keys} tokens: too few")
        self.ngram_tokens = ngram_tokens
        self._per_key = per_key
        self._max_keys = max_keys
        self._continuations: OrderedDict[int, OrderedDict[tuple[int, ...], None]] = OrderedDict()

    @property
    def num_keys(self) -> int:
        """First tokens that are known, ``max_keys`` at most."""
        return len(self._continuations)

    @property
    def num_ngrams(self) -> int:
        """N-grams that are known, ``per_key`` times ``max_keys`` at most."""
        return sum(map(len, self._continuations.values()))

    def clear(self) -> None:
        """Forget all."""
        self._continuations.clear()

    def add(self, ngram: Sequence[int]) -> None:
        """Remember ``ngram``, or that it was seen again. Raises ValueError for one of another length."""
        if len(ngram) != self.ngram_tokens:
            raise ValueError(f"an n-gram of {len(ngram)} tokens in a pool of {self.ngram_tokens}")
        known = self._continuations.get(ngram[0])
        if known is None:
            known = self._continuations[ngram[0]] = OrderedDict()
            if len(self._continuations) > self._max_keys:
                self._continuations.popitem(last=False)
        else:
            self._continuations.move_to_end(ngram[0])
        continuation = tuple(ngram[1:])
        known[continuation] = None
        known.move_to_end(continuation)
        if len(known) > self._per_key:
            known.popitem(last=False)

    def add_run(self, token_ids: Sequence[int]) -> None:
        """Remember every n-gram of ``token_ids``, in order, so that the last ones are the most recent."""
        for start in range(len(token_ids) - self.ngram_tokens + 1):
            self.add(token_ids[start : start + self.ngram_tokens])

    def continuations(self, token_id: int) -> list[tuple[int, ...]]:
        """What followed ``token_id``, the most recent first, each of ``ngram_tokens`` - 1 tokens. Counts as a use."""
        known = self._continuations.get(token_id)
        if known is None:
            return []
        self._continuations.move_to_end(token_id)
        return list(reversed(known))


def merge_paths(paths: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Token ids and parents (spec/tree.py) of the tree of all ``paths``; a beginning that several share is in it once.

    Of siblings, the one of the earlier path comes first.
    """
    token_ids: list[int] = []
    parents: list[int] = []
    nodes: dict[tuple[int, int], int] = {}
    for path in paths:
        at = -1
        for token_id in path:
            node = nodes.setdefault((at, token_id), len(token_ids))
            if node == len(token_ids):
                token_ids.append(token_id)
                parents.append(at)
            at = node
    return token_ids, parents
