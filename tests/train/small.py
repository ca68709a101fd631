"""A small model on disk, small repositories, and a target that follows a rule."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from completiond.engine.target import Pass
from completiond.train.plan import HeadKind, TrainPlan
from completiond.train.samples import Sample
from tests.fake_model import EOS, PADDED_VOCAB_SIZE, FakeCache, fake_tokenizer

HIDDEN = 64
LAYERS = 6
VOCAB = PADDED_VOCAB_SIZE


class Clock:
    """A second passes whenever it is asked, so that what is done in a given time is always the same."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def make_model(folder: Path, tied: bool = True, intermediate_size: int = 96, max_positions: int = 512) -> Path:
    """A Hugging Face folder with random weights, whose tokenizer has bytes and fill-in-the-middle tokens."""
    generator = torch.Generator().manual_seed(5)

    def product(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, generator=generator) / math.sqrt(columns)

    def norm() -> Tensor:
        return 1.0 + 0.1 * torch.randn(HIDDEN, generator=generator)

    tensors = {
        "model.embed_tokens.weight": torch.randn(VOCAB, HIDDEN, generator=generator),
        "model.norm.weight": norm(),
    }
    if not tied:
        tensors["lm_head.weight"] = torch.randn(VOCAB, HIDDEN, generator=generator)
    for index in range(LAYERS):
        layer = f"model.layers.{index}"
        for name, rows, columns in (
            ("self_attn.q_proj", HIDDEN, HIDDEN), ("self_attn.k_proj", HIDDEN // 2, HIDDEN),
            ("self_attn.v_proj", HIDDEN // 2, HIDDEN), ("self_attn.o_proj", HIDDEN, HIDDEN),
            ("mlp.gate_proj", intermediate_size, HIDDEN), ("mlp.up_proj", intermediate_size, HIDDEN),
            ("mlp.down_proj", HIDDEN, intermediate_size),
        ):  # fmt: skip
            tensors[f"{layer}.{name}.weight"] = product(rows, columns)
        tensors[f"{layer}.input_layernorm.weight"] = norm()
        tensors[f"{layer}.post_attention_layernorm.weight"] = norm()
    folder.mkdir(parents=True)
    save_file(tensors, folder / "model.safetensors")
    fake_tokenizer().save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": intermediate_size,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "vocab_size": VOCAB, "max_position_embeddings": max_positions, "tie_word_embeddings": tied, "eos_token_id": EOS,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def code(seed: int, num_lines: int = 60) -> str:
    """Some code that no other seed gives."""
    numbers = random.Random(seed)
    lines = [f"{'    ' * numbers.randrange(3)}part_{numbers.randrange(99)} = {numbers.randrange(999)}\n"]
    lines += [f"{'    ' * numbers.randrange(3)}item_{numbers.randrange(99)} += {seed}\n" for _ in range(num_lines - 1)]
    return "".join(lines)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Files by their path in ``folder``."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def make_repositories(folder: Path, names: Sequence[str] = ("ant", "bee", "cat")) -> Path:
    """Repositories of six files each, every one of several hundred bytes."""
    for index, name in enumerate(names):
        write(folder / name, {f"file_{number}.py": code(100 * index + number, 150) for number in range(6)})
    return folder


def small_plan(kind: HeadKind, folder: Path, hours: float = 0.003) -> TrainPlan:
    """A plan for ``make_model``."""
    return TrainPlan(
        kind, folder, hours, num_tokens=128, draft_vocab_size=128, intermediate_size=48, num_held_out_shards=1,
        max_tokens=8192,
    )  # fmt: skip


RULE_VOCAB = 24
RULE_HIDDEN = 32
CYCLE = (3, 11, 6, 14, 4, 9, 13, 5, 10, 7, 12, 8)


class RuleTarget:
    """A TargetModel that is always right: tokens of CYCLE follow each other, others repeat themselves.

    Its state behind the final norm is the embedding of the next token, every other one that of the token itself.
    """

    device = torch.device("cpu")
    dtype_name = "rule"
    exact = True
    trees = False
    max_positions = 512
    vocab_size = RULE_VOCAB

    def __init__(self) -> None:
        self.embedding = torch.randn(RULE_VOCAB, RULE_HIDDEN, generator=torch.Generator().manual_seed(2))
        self.num_passes = 0
        self.interrupt_at: int | None = None

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
        if self.num_passes == self.interrupt_at:
            raise KeyboardInterrupt
        self.num_passes += 1
        assert kv.num_tokens == 0, "each sample is read from its beginning"
        kv.extend(token_ids)
        own = self.embedding[list(token_ids)]
        following = self.embedding[[self.follower(token_id) for token_id in token_ids]]
        features = torch.cat([following if layer < 0 else (layer + 1) * own for layer in feature_layers], -1)
        return Pass(torch.empty(0, self.vocab_size), features)

    def choose(self, states: Tensor) -> Tensor:
        """Its likeliest next tokens int64 [N] for states [N, hidden_size]."""
        return (states @ self.embedding.T).argmax(-1)

    @staticmethod
    def follower(token_id: int) -> int:
        return CYCLE[(CYCLE.index(token_id) + 1) % len(CYCLE)] if token_id in CYCLE else token_id


def rule_samples(count: int, length: int, first: int = 0) -> list[Sample]:
    """Texts of the rule, each of which begins somewhere else."""
    return [
        Sample(tuple(CYCLE[(number + place) % len(CYCLE)] for place in range(length)), 0)
        for number in range(first, first + count)
    ]
