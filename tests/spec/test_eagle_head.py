"""The EAGLE head against the same network written out plainly, and against the network it is trained as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, sigmoid

from completiond.engine.linear import FloatKernels, Int8Kernels, Kernels
from completiond.spec.eagle_checkpoint import load_eagle
from completiond.spec.eagle_head import EagleHead
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.head_cache import HeadCache
from completiond.train.draft_vocab import DraftVocab
from completiond.train.eagle_net import EagleNet
from completiond.train.eagle_save import save_head
from completiond.train.unrolled import Inputs
from tests.spec.eagle_files import CPU, FLOAT, Sizes, Tensors, config_of, eagle1, eagle3, head_target, randoms, write

SIZES = Sizes()
EPS, THETA = 1e-5, 5000.0
NUM_ROWS, NUM_STEPS = 7, 3


@dataclass(frozen=True)
class Plain:
    """All entries at once, in float64, as the papers describe it. ``tensors`` under SafeAILab's names."""

    tensors: Tensors
    embedding: Tensor
    lm_head: Tensor
    norm_before_residual: bool = False
    norm_output: bool = False

    def weight(self, name: str) -> Tensor:
        return self.tensors[f"{name}.weight"].double()

    def norm(self, x: Tensor, name: str) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * self.weight(name)

    @property
    def is_eagle3(self) -> bool:
        return "midlayer.hidden_norm.weight" in self.tensors

    def fuse(self, features: Tensor) -> Tensor:
        features = features.double()
        if not self.is_eagle3:
            return features
        if "input_norm.weight" in self.tensors:
            features = self.norm(features, "input_norm")
        if "fc_norm.0.weight" in self.tensors:
            parts = features.chunk(3, -1)
            features = torch.cat([self.norm(part, f"fc_norm.{index}") for index, part in enumerate(parts)], -1)
        return features @ self.weight("fc").T

    def layer(self, token_ids: Sequence[int], states: Tensor, first_position: int = 0) -> Tensor:
        """Row i: ``token_ids[i]`` and ``states[i]`` at position ``first_position`` + i, which sees those before it."""
        tokens = self.embedding.double()[list(token_ids)]
        if self.is_eagle3:
            normed = self.norm(states, "midlayer.hidden_norm")
            residual = normed if self.norm_before_residual else states
            inputs = torch.cat((self.norm(tokens, "midlayer.input_layernorm"), normed), -1)
        else:
            inputs = residual = torch.cat((tokens, states), -1) @ self.weight("fc").T
            if "fc.bias" in self.tensors:
                inputs = residual = residual + self.tensors["fc.bias"].double()
        hidden = residual + self.attention(inputs, first_position) @ self.weight("midlayer.self_attn.o_proj").T
        inner = self.norm(hidden, "midlayer.post_attention_layernorm")
        gate = inner @ self.weight("midlayer.mlp.gate_proj").T
        up = inner @ self.weight("midlayer.mlp.up_proj").T
        hidden = hidden + (gate * sigmoid(gate) * up) @ self.weight("midlayer.mlp.down_proj").T
        return self.norm(hidden, "norm") if self.norm_output else hidden

    def attention(self, inputs: Tensor, first_position: int) -> Tensor:
        count, dim = inputs.shape[0], SIZES.dim
        positions = torch.arange(first_position, first_position + count, dtype=torch.float64)
        angles = positions[:, None] * THETA ** -(torch.arange(dim // 2, dtype=torch.float64) * 2 / dim)

        def heads(name: str, turned: bool) -> Tensor:
            x = (inputs @ self.weight(f"midlayer.self_attn.{name}_proj").T).view(count, -1, dim)
            if not turned:
                return x
            pairs = torch.complex(x[..., : dim // 2], x[..., dim // 2 :])
            pairs = pairs * torch.polar(torch.ones_like(angles), angles)[:, None]
            return torch.cat((pairs.real, pairs.imag), -1)

        q, k, v = heads("q", True), heads("k", True), heads("v", False)
        output = torch.zeros_like(q)
        for row in range(count):
            for head in range(SIZES.heads):
                shared = head // (SIZES.heads // SIZES.kv_heads)
                scores = k[: row + 1, shared] @ q[row, head] / dim**0.5
                output[row, head] = scores.softmax(0) @ v[: row + 1, shared]
        return output.view(count, -1)

    def logits(self, states: Tensor) -> Tensor:
        if self.is_eagle3 and not self.norm_output:
            states = self.norm(states, "norm")
        return states @ self.lm_head.double().T


def with_norms(name: str) -> Tensors:
    generator = torch.Generator().manual_seed(5)
    if name == "input_norm":
        extra = {"input_norm.weight": 1.0 + 0.3 * torch.randn(3 * SIZES.hidden, generator=generator)}
    else:
        extra = {
            f"fc_norm.{index}.weight": 1.0 + 0.3 * torch.randn(SIZES.hidden, generator=generator) for index in range(3)
        }
    return eagle3(SIZES) | extra


OWN_EMBEDDING = {"embed_tokens.weight": randoms(torch.Generator().manual_seed(6), SIZES.vocab, SIZES.hidden)}
VARIANTS: dict[str, tuple[Tensors, dict[str, Any]]] = {
    "EAGLE-3": (eagle3(SIZES), {}),
    "EAGLE-3, own embedding": (eagle3(SIZES) | OWN_EMBEDDING, {}),
    "EAGLE-3, whole vocabulary": (eagle3(SIZES, reduced=False), {"draft_vocab_size": SIZES.vocab}),
    "norm_before_residual": (eagle3(SIZES), {"norm_before_residual": True}),
    "norm_output": (eagle3(SIZES), {"norm_output": True}),
    "both": (eagle3(SIZES), {"norm_output": True, "norm_before_residual": True}),
    "norm_before_fc": (with_norms("input_norm"), {"norm_before_fc": True}),
    "fc_norm": (with_norms("fc_norm"), {"fc_norm": True}),
    "EAGLE-1": (eagle1(SIZES, bias=False), {}),
    "EAGLE-1, bias": (eagle1(SIZES, bias=True), {}),
}


@dataclass
class Pair:
    """A head from a file, and the plain one."""

    head: EagleHead
    plain: Plain
    features: Tensor
    token_ids: list[int]

    @classmethod
    def of(cls, name: str, folder: Path, kernels: Kernels = FLOAT) -> Pair:
        tensors, config = VARIANTS[name]
        head = load_eagle(write(folder, tensors, config_of(SIZES, **config)), head_target(SIZES, kernels))
        ours = {key.replace("layers.0.", "midlayer."): tensor for key, tensor in tensors.items()}
        target = head_target(SIZES)
        plain = Plain(
            ours,
            ours.get("embed_tokens.weight", target.embedding),
            ours.get("lm_head.weight", target.lm_head.data),
            config.get("norm_before_residual", False),
            config.get("norm_output", False),
        )
        generator = torch.Generator().manual_seed(1)
        features = 2.0 * torch.randn(NUM_ROWS, head.shape.feature_width, generator=generator)
        token_ids = torch.randint(SIZES.vocab, (NUM_ROWS + NUM_STEPS,), generator=generator).tolist()
        return cls(head, plain, features, token_ids)

    def enter(self, cache: HeadCache, first: int, end: int) -> Tensor:
        """Rows ``first`` to ``end`` in one block, which see all rows from the cache's first on that are before them."""
        count = end - first
        mask = torch.ones(count, end - cache.first, dtype=torch.bool).tril(first - cache.first)
        states = self.head.fuse(self.features[first:end])
        return self.head.step(
            self.token_ids[first:end], states, cache, first, range(first, end), mask, first_key=cache.first
        )

    def draft(self, cache: HeadCache, state: Tensor) -> Tensor:
        """The states of single steps behind the rows, each fed with the one before."""
        states = []
        for row in range(NUM_ROWS, NUM_ROWS + NUM_STEPS):
            state = self.head.step(self.token_ids[row : row + 1], state, cache, row, [row], None, cache.first)
            states.append(state)
        return torch.cat(states)

    def expected(self, first: int = 0) -> Tensor:
        """States of rows from ``first`` on, then those of the steps."""
        states = self.plain.fuse(self.features[first:])
        for row in range(NUM_ROWS, NUM_ROWS + NUM_STEPS):
            states = torch.cat((states, self.plain.layer(self.token_ids[first:row], states, first)[-1:]))
        return self.plain.layer(self.token_ids[first:], states, first)


@pytest.mark.parametrize("name", VARIANTS)
def test_it_is_the_network_written_out_plainly(name: str, tmp_path: Path) -> None:
    pair = Pair.of(name, tmp_path)
    cache = pair.head.new_cache(NUM_ROWS + NUM_STEPS)

    block = torch.cat((pair.enter(cache, 0, 4), pair.enter(cache, 4, NUM_ROWS)))
    states = torch.cat((block, pair.draft(cache, block[-1:])))

    expected = pair.expected()
    assert (states - expected).abs().max() < 1e-4
    logits = pair.head.logits(states)
    assert logits.dtype is torch.float32
    assert (logits - pair.plain.logits(expected)).abs().max() < 1e-4
    assert logits.std() > 0.5, "no weights that make everything alike"


@pytest.mark.parametrize("name", ["EAGLE-3", "EAGLE-1"])
@pytest.mark.parametrize("blocks", [[1, 1, 1, 1, 1, 1, 1], [2, 5], [6, 1]])
def test_rows_are_the_same_in_blocks_of_any_size(name: str, blocks: list[int], tmp_path: Path) -> None:
    pair = Pair.of(name, tmp_path)
    cache = pair.head.new_cache(NUM_ROWS)
    states, row = [], 0
    for count in blocks:
        states.append(pair.enter(cache, row, row + count))
        row += count

    assert (torch.cat(states) - pair.expected()[:NUM_ROWS]).abs().max() < 1e-4


@pytest.mark.parametrize("name", ["EAGLE-3", "EAGLE-1"])
def test_it_can_begin_behind_the_first_row(name: str, tmp_path: Path) -> None:
    pair = Pair.of(name, tmp_path)
    cache = pair.head.new_cache(NUM_ROWS + NUM_STEPS)
    cache.first = 3
    cache.keys.fill_(9.0)  # something else was there
    cache.values.fill_(9.0)

    block = pair.enter(cache, 3, NUM_ROWS)
    states = torch.cat((block, pair.draft(cache, block[-1:])))

    assert (states - pair.expected(first=3)).abs().max() < 1e-4


@pytest.mark.parametrize(
    "kernels",
    [Int8Kernels(), Int8Kernels(packed=False), FloatKernels(torch.bfloat16)],
    ids=["int8", "int8, not packed", "bfloat16"],
)
@pytest.mark.parametrize("name", VARIANTS)
def test_coarser_kernels_come_close(name: str, kernels: Kernels, tmp_path: Path) -> None:
    pair = Pair.of(name, tmp_path, kernels)
    cache = pair.head.new_cache(NUM_ROWS + NUM_STEPS)
    block = pair.enter(cache, 0, NUM_ROWS)
    # What one step makes of an error is the network's affair: random ones may be chaotic.
    count = NUM_ROWS + 1
    logits = pair.head.logits(torch.cat((block, pair.draft(cache, block[-1:])[:1])))

    expected = pair.plain.logits(pair.expected()[:count]).float()
    assert cosine_similarity(logits, expected, dim=-1).min() > 0.99


def test_a_token_that_its_embedding_lacks_is_read_as_its_last(tmp_path: Path) -> None:
    pair = Pair.of("EAGLE-3, own embedding", tmp_path)
    state = pair.head.fuse(pair.features[:1])

    def after(token_id: int) -> Tensor:
        return pair.head.step([token_id], state, pair.head.new_cache(1), 0, [0], None, 0)

    assert torch.equal(after(SIZES.vocab + 3), after(SIZES.vocab - 1))
    assert not torch.equal(after(0), after(SIZES.vocab - 1))


# What training computes

NET_SHAPE = EagleShape(
    version=3, hidden_size=16, intermediate_size=28, num_heads=4, num_kv_heads=2, head_dim=6, vocab_size=40,
    draft_vocab_size=12, target_hidden_size=16, feature_layers=(2, 4, 6), max_positions=64, rms_eps=1e-5,
    rope_theta=5000.0,
)  # fmt: skip


def random_net(embedding: Tensor) -> EagleNet:
    """Its parameters survive being stored in bfloat16."""
    net = EagleNet(NET_SHAPE, embedding)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in net.parameters():
            values = torch.randn(parameter.shape, generator=generator)
            is_norm = parameter.ndim == 1
            parameter.copy_((1.0 + 0.3 * values if is_norm else 1.5 * parameter.shape[-1] ** -0.5 * values).bfloat16())
    return net


def test_a_saved_head_drafts_as_it_was_trained(tmp_path: Path) -> None:
    target = head_target(SIZES)
    net = random_net(target.embedding)
    generator = torch.Generator().manual_seed(3)
    scale = 2.0 ** torch.randint(-3, 4, (NET_SHAPE.feature_width,), generator=generator)
    vocab = DraftVocab(torch.tensor([0, 3, 4, 9, 12, 20, 21, 22, 30, 33, 38, 39]), 1.0)
    length, num_steps = 14, 3
    ids = torch.randint(SIZES.vocab, (2, length), generator=generator)
    features = torch.randn(2, length, NET_SHAPE.feature_width, generator=generator) * scale

    with torch.no_grad():
        inputs = Inputs(ids, features / scale, torch.zeros(2, length, SIZES.hidden), torch.full((2,), length))
        trained = [unrolled.logits for unrolled in net.unroll(inputs, num_steps)]
    save_head(net, vocab, scale, tmp_path / "head")
    head = load_eagle(tmp_path / "head", target)

    assert head.shape == NET_SHAPE
    assert [head.target_id(index) for index in range(12)] == vocab.token_ids.tolist()
    for sample in range(2):
        text = ids[sample].tolist()
        for place in (0, 1, 4, length - num_steps - 1):
            cache = head.new_cache(length)
            count = place + 1
            states = head.step(
                text[1 : count + 1], head.fuse(features[sample, :count]), cache, 0, range(count),
                torch.ones(count, count, dtype=torch.bool).tril(), 0,
            )  # fmt: skip
            assert (head.logits(states) - trained[0][sample, :count]).abs().max() < 1e-4
            state = states[-1:]
            for step in range(1, num_steps):
                row = place + step
                state = head.step([text[row + 1]], state, cache, row, [row], None, 0)
                assert (head.logits(state) - trained[step][sample, place]).abs().max() < 1e-4


def test_tensors_are_on_the_device_and_in_the_type_of_the_kernels(tmp_path: Path) -> None:
    head = Pair.of("EAGLE-3", tmp_path, FloatKernels(torch.bfloat16)).head
    cache = head.new_cache(5)

    assert (cache.keys.dtype, cache.keys.device) == (torch.bfloat16, CPU)
    assert cache.keys.shape == cache.values.shape == (SIZES.kv_heads, 5, SIZES.dim)
    assert head.fuse(torch.zeros(2, head.shape.feature_width)).dtype is torch.bfloat16
