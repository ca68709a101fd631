"""A target model without weights: its logits are a function of the tokens so far, and it watches how it is used.

``FakeTarget`` counts its passes and holds the decode loop to the cache's contract: the ids a cache claims to hold are
those it was fed. ``fake_model`` puts it together with a byte-level tokenizer, so that a whole ``Completer`` runs on it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from torch import Tensor

from completiond.cache.kv import SequenceCache
from completiond.engine.load import LoadedModel
from completiond.engine.target import Pass
from completiond.spec.tree import ancestors_of

__all__ = [
    "EOS",
    "FIM_QWEN",
    "MIDDLE",
    "FakeCache",
    "FakeTarget",
    "Script",
    "babble",
    "bytes_of",
    "fake_model",
    "fake_tokenizer",
    "says",
]

Script = Callable[[Sequence[int]], Tensor]
"""The logits, float32 [vocab_size], that follow a sequence of ids."""

FIM_QWEN = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
EOS = 256
MIDDLE = 259
PADDED_VOCAB_SIZE = 272

_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
_BYTE_IDS = {char: index for index, char in enumerate(_BYTES)}


class FakeCache(SequenceCache):
    """Its rows are the ids themselves, so that a row's owner can be checked."""

    def __init__(self, capacity_tokens: int) -> None:
        super().__init__(capacity_tokens)
        self.rows: list[int] = []
        self.tree: list[int] = []

    def accept(self, path: Sequence[int], token_ids: Sequence[int]) -> None:
        assert [self.tree[node] for node in path] == list(token_ids), "the nodes that were computed"
        self.rows[self.num_tokens :] = token_ids
        self.extend(token_ids)

    def assert_consistent(self) -> None:
        """What the cache claims to hold is what was written there."""
        assert self.token_ids == self.rows[: self.num_tokens]


class FakeTarget:
    """A TargetModel. ``before_pass`` is called at the beginning of each pass, for tests that have to hold one up."""

    device = torch.device("cpu")
    dtype_name = "fake"
    exact = True
    trees = True

    def __init__(self, script: Script, vocab_size: int, max_positions: int = 4096) -> None:
        self.script = script
        self.vocab_size = vocab_size
        self.max_positions = max_positions
        self.pass_sizes: list[int] = []
        self.before_pass: Callable[[], None] = lambda: None

    @property
    def num_passes(self) -> int:
        return len(self.pass_sizes)

    def new_cache(self, capacity_tokens: int) -> FakeCache:
        return FakeCache(capacity_tokens)

    def forward(
        self,
        token_ids: Sequence[int],
        kv: FakeCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        self.before_pass()
        kv.assert_consistent()
        assert token_ids, "an empty pass"
        assert 0 <= num_logits <= len(token_ids)
        assert all(0 <= token_id < self.vocab_size for token_id in token_ids)
        if kv.num_tokens + len(token_ids) > kv.capacity_tokens:
            raise ValueError(f"{len(token_ids)} tokens do not fit behind {kv.num_tokens} of {kv.capacity_tokens}")
        self.pass_sizes.append(len(token_ids))
        start, num_chain = kv.num_tokens, len(token_ids) - len(parents)
        assert num_chain > 0, "a tree hangs below something"
        tree = list(token_ids[num_chain:])
        kv.rows[start:] = token_ids[:num_chain]
        kv.extend(token_ids[:num_chain])
        kv.tree = tree
        seen = [kv.token_ids[: start + i + 1] for i in range(num_chain)]
        seen += [
            [*kv.token_ids, *(tree[i] for i in (*ancestors_of(node, parents), node))] for node in range(len(parents))
        ]
        rows = [self.script(ids) for ids in seen[len(seen) - num_logits :]]
        features = None
        if feature_layers:  # what a hidden state is to a real model: something of the tokens so far
            features = torch.tensor([[float(ids[-1]), float(len(ids))] * len(feature_layers) for ids in seen])
        return Pass(torch.stack(rows) if rows else torch.empty(0, self.vocab_size), features)


def babble(vocab_size: int, seed: int = 0, memory: int = 2, favoured: Sequence[int] | None = None) -> Script:
    """Text without sense that depends on the last ``memory`` tokens: short memories go round in circles.

    Only ``favoured`` ids are likely; None means all.
    """
    likely = torch.full((vocab_size,), -30.0)
    likely[list(range(vocab_size) if favoured is None else favoured)] = 0.0

    def script(ids: Sequence[int]) -> Tensor:
        numbers = random.Random(repr((seed, *ids[-memory:])))
        return likely + torch.tensor([numbers.gauss(0.0, 3.0) for _ in range(vocab_size)])

    return script


def says(answer: Sequence[int], after: int = MIDDLE, then: int = EOS, vocab_size: int = PADDED_VOCAB_SIZE) -> Script:
    """Write ``answer`` behind the last token ``after``, token by token, and ``then`` for ever."""

    def script(ids: Sequence[int]) -> Tensor:
        done = list(reversed(ids)).index(after)
        logits = torch.zeros(vocab_size)
        logits[answer[done] if done < len(answer) else then] = 50.0
        return logits

    return script


def bytes_of(text: str) -> list[int]:
    """Ids of a text in ``fake_tokenizer``: one for each byte of its UTF-8 form."""
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    return [_BYTE_IDS[char] for piece, _ in pieces for char in piece]


def fake_tokenizer(markers: Sequence[str] = FIM_QWEN) -> Tokenizer:
    """One token a byte (ids 0 to 255), an end token (EOS) and ``markers`` as control tokens from 257 on."""
    tokenizer = Tokenizer(BPE(dict(_BYTE_IDS), []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in ("<|endoftext|>", *markers)])
    return tokenizer


def fake_model(script: Script, markers: Sequence[str] = FIM_QWEN) -> tuple[LoadedModel, FakeTarget]:
    """What ``load_model`` would return, and its target once more by its own type."""
    target = FakeTarget(script, PADDED_VOCAB_SIZE)
    return LoadedModel(target, fake_tokenizer(markers), {"eos_token_id": EOS}), target
