"""Medusa heads (arXiv 2401.10774): small networks that guess several tokens from one hidden state of the target.

Head k, counted from 0, reads the state behind the target's final norm at position p and guesses token p + 2 + k; token
p + 1 is the target's own and known by then. A head is some residual blocks, x + SiLU(W x + b), and a product with the
vocabulary, which may be one for all heads, or the target's own. The first blocks read the same state and are one
product.

Layouts of the files, each read strictly (i: head, j: block):

- the authors' ``medusa_lm_head``: ``i.j.linear.weight`` and ``.bias``, and ``i.J.weight`` behind the J blocks;
- the same behind ``medusa_head.``, among the tensors of the whole model;
- vLLM's: ``blocks.i.layers.j.weight``, ``.bias`` if ``medusa_fc_bias``, ``lm_heads.i.weight`` (of one head only where
  ``original_lm_head`` is set), and ``token_map`` where ``truncated_vocab_size`` is less than ``vocab_size``;
- ours for small targets, with ``"shared_lm_head": true``: the first without ``i.J.weight``, for the target's own
  product, of whose rows ``token_ids`` may name the ones to use.

How many heads and blocks there are is seen from the tensors: a published configuration is wrong about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import silu

from completiond.engine.linear import Kernels, Weight, pack_weight
from completiond.engine.target import NORMED
from completiond.errors import ModelUnsupportedError
from completiond.spec.head_file import ADVICE, HeadFile, take

__all__ = ["MedusaHeads", "MedusaWeights", "load_medusa"]

FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt", "model.safetensors", "pytorch_model.bin")
MODEL_PREFIX = "medusa_head."


@dataclass(frozen=True, slots=True)
class MedusaWeights:
    """``first``: block 0 of all heads, one below the other, [heads * hidden_size, hidden_size]; ``later[j - 1][i]``:
    block j of head i. ``lm_heads``: of each head, or one for all. ``token_ids`` int64 [draft_vocab]: the target's id of
    each draft id; None when they are the same.
    """

    first: Weight
    later: tuple[tuple[Weight, ...], ...]
    lm_heads: tuple[Weight, ...]
    token_ids: Tensor | None


class MedusaHeads:
    """Stateless."""

    feature_layers: tuple[int, ...] = (NORMED,)

    def __init__(
        self, num_heads: int, hidden_size: int, draft_vocab_size: int, weights: MedusaWeights, kernels: Kernels,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.num_heads = num_heads
        self.hidden_size = hidden_size
        self.draft_vocab_size = draft_vocab_size
        self.weights = weights
        self.kernels = kernels
        self.device = device

    @torch.inference_mode()
    def logits(self, state: Tensor, num_heads: int | None = None) -> Tensor:
        """Over the draft vocabulary, float32 [num_heads, draft_vocab]: row k is head k's; default: of all heads.

        ``state`` float32 [1, hidden_size]: the target's, behind its final norm.
        """
        kernels, weights = self.kernels, self.weights
        count = self.num_heads if num_heads is None else min(num_heads, self.num_heads)
        state = state.to(self.device, kernels.dtype)
        inner = kernels.linear(kernels.rows(state), weights.first).view(self.num_heads, self.hidden_size)
        states = state + silu(inner[:count])
        for blocks in weights.later:
            states = states + silu(self._each(states, blocks))
        if len(weights.lm_heads) == 1:  # read from memory once
            return kernels.linear(kernels.rows(states), weights.lm_heads[0]).float()
        return self._each(states, weights.lm_heads).float()

    def target_ids(self, draft_ids: Tensor) -> Tensor:
        """The target's ids of draft ids, int64 of any shape."""
        return draft_ids if self.weights.token_ids is None else self.weights.token_ids[draft_ids]

    def _each(self, states: Tensor, weights: tuple[Weight, ...]) -> Tensor:
        """Row i times weight i, for as many rows as there are."""
        kernels = self.kernels
        count = states.shape[0]
        rows = [kernels.linear(kernels.rows(states[i : i + 1]), weights[i]) for i in range(count)]
        return torch.cat(rows)


def load_medusa(
    folder: Path,
    hidden_size: int,
    vocab_size: int,
    kernels: Kernels,
    device: torch.device,
    target_lm_head_rows: Callable[[Tensor | None], Weight],
) -> MedusaHeads:
    """The heads in ``folder`` for a target of ``hidden_size`` and ``vocab_size``, with the target's ``kernels``.

    ``target_lm_head_rows`` is asked once, by shared heads only: the target's product with the vocabulary, or with those
    of its rows that it is given, int64 [draft_vocab] on the CPU, packed for ``kernels``. Raises ModelUnsupportedError
    that names the first tensor or setting that is missing, left over, of another shape or type or does not fit the
    target; ModelCorruptError when a file cannot be read.
    """
    file = HeadFile.read(folder, *FILES)
    _check_config(file, hidden_size, vocab_size)
    layout = _Layout.of(file)
    found = {name: tensor for name, tensor in file.tensors.items() if name.startswith(layout.prefix)}
    num_heads, num_blocks = layout.count(found)
    has_bias = layout.has_bias(file, found)
    draft_ids = _read_draft_ids(file, layout, found, vocab_size)
    draft_vocab_size = vocab_size if draft_ids is None else draft_ids.numel()
    lm_head_names = layout.lm_head_names(file, num_heads, num_blocks)
    # A product for a reduced vocabulary may be stored whole.
    whole = any(name in found and found[name].shape == (vocab_size, hidden_size) for name in lm_head_names)

    shapes: dict[str, tuple[int, ...]] = {}
    for head in range(num_heads):
        for index in range(num_blocks):
            shapes[layout.block(head, index, "weight")] = (hidden_size, hidden_size)
            if has_bias:
                shapes[layout.block(head, index, "bias")] = (hidden_size,)
    for name in lm_head_names:
        shapes[name] = (vocab_size if whole else draft_vocab_size, hidden_size)
    if draft_ids is not None:
        shapes[layout.token_ids] = (draft_vocab_size,)
    tensors = take(folder, found, shapes)
    for name, tensor in tensors.items():
        if name != layout.token_ids and not tensor.is_floating_point():
            raise ModelUnsupportedError(f"{folder}: the tensor {name} is {tensor.dtype}, not floating point.", ADVICE)

    def block(index: int, heads: range) -> Weight:
        weight = torch.cat([tensors[layout.block(head, index, "weight")] for head in heads])
        bias = torch.cat([tensors[layout.block(head, index, "bias")] for head in heads]) if has_bias else None
        return _pack(weight, bias, kernels, device)

    def lm_head(name: str) -> Weight:
        rows = tensors[name]
        return _pack(rows[draft_ids] if whole and draft_ids is not None else rows, None, kernels, device)

    weights = MedusaWeights(
        first=block(0, range(num_heads)),
        later=tuple(
            tuple(block(index, range(head, head + 1)) for head in range(num_heads)) for index in range(1, num_blocks)
        ),
        lm_heads=tuple(map(lm_head, lm_head_names)) or (target_lm_head_rows(draft_ids),),
        token_ids=None if draft_ids is None else draft_ids.to(device),
    )
    return MedusaHeads(num_heads, hidden_size, draft_vocab_size, weights, kernels, device)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How tensors are called. ``prefix`` begins the names of all that are not the base model's."""

    prefix: str
    is_vllm: bool

    @classmethod
    def of(cls, file: HeadFile) -> _Layout:
        """The one that the names speak for."""
        is_vllm = any(name.startswith(("blocks.", "lm_heads.")) for name in file.tensors)
        in_model = any(name.startswith(MODEL_PREFIX) for name in file.tensors)
        return cls(MODEL_PREFIX if in_model else "", is_vllm and not in_model)

    @property
    def token_ids(self) -> str:
        """Name of the reduced vocabulary."""
        return "token_map" if self.is_vllm else f"{self.prefix}token_ids"

    def block(self, head: int | str, index: int | str, kind: str) -> str:
        """Name of a block's ``weight`` or ``bias``."""
        return f"blocks.{head}.layers.{index}.{kind}" if self.is_vllm else f"{self.prefix}{head}.{index}.linear.{kind}"

    def count(self, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
        """Numbers of heads and blocks that the names speak of; a gap among them is a missing tensor later."""
        pattern = re.compile(self.block(r"(\d+)", r"(\d+)", "(?:weight|bias)"))
        places = [match.groups() for name in tensors if (match := pattern.fullmatch(name))]
        most = max(1, len(tensors))  # an index beyond leaves a gap anyway
        num_heads = max((int(head) + 1 for head, _ in places), default=1)
        num_blocks = max((int(index) + 1 for _, index in places), default=1)
        return min(num_heads, most), min(num_blocks, most)

    def has_bias(self, file: HeadFile, tensors: Mapping[str, Tensor]) -> bool:
        """The authors' blocks always have one; vLLM's if the configuration says so, or the file if that is silent."""
        return not self.is_vllm or file.switch("medusa_fc_bias", any(name.endswith(".bias") for name in tensors))

    def lm_head_names(self, file: HeadFile, num_heads: int, num_blocks: int) -> list[str]:
        """Of each head, of one for all, or none where the target's own is used."""
        if self.is_vllm:
            return [f"lm_heads.{head}.weight" for head in range(1 if file.switch("original_lm_head") else num_heads)]
        if file.switch("shared_lm_head"):
            return []
        return [f"{self.prefix}{head}.{num_blocks}.weight" for head in range(num_heads)]


def _check_config(file: HeadFile, hidden_size: int, vocab_size: int) -> None:
    for key, expected in (("hidden_size", hidden_size), ("vocab_size", vocab_size)):
        if key in file.config and (found := file.number(key)) != expected:
            raise ModelUnsupportedError(f"{file.folder}: {key} is {found}, but the model's is {expected}.", ADVICE)
    if file.config.get("logit_scale", 1.0) != 1.0:  # vLLM multiplies logits by it
        raise ModelUnsupportedError(f"{file.folder}: config.json sets logit_scale.", ADVICE)


def _read_draft_ids(file: HeadFile, layout: _Layout, tensors: Mapping[str, Tensor], vocab_size: int) -> Tensor | None:
    """The reduced vocabulary, int64 [draft_vocab], if the file has one: ids of the target's, each once."""
    name, size = layout.token_ids, None
    if layout.is_vllm:
        said = file.config.get("truncated_vocab_size")  # null: not reduced
        size = vocab_size if said is None else file.number("truncated_vocab_size")
        if size == vocab_size:
            return None
        if name not in tensors:
            raise ModelUnsupportedError(f"{file.folder}: the tensor {name} is missing.", ADVICE)
    elif name not in tensors or not file.switch("shared_lm_head"):
        return None
    ids = tensors[name]
    if ids.dtype is not torch.int64 or ids.dim() != 1 or size not in (None, ids.numel()):
        found, wanted = f"{ids.dtype} {list(ids.shape)}", "draft_vocab" if size is None else size
        raise ModelUnsupportedError(f"{file.folder}: the tensor {name} is {found}, not int64 [{wanted}].", ADVICE)
    values = ids.tolist()
    if not values or min(values) < 0 or max(values) >= vocab_size or len(set(values)) < len(values):
        raise ModelUnsupportedError(
            f"{file.folder}: the tensor {name} does not hold ids below {vocab_size}, each once.", ADVICE
        )
    return ids


def _pack(weight: Tensor, bias: Tensor | None, kernels: Kernels, device: torch.device) -> Weight:
    """A stored weight [N, K] of any floating-point type, for ``kernels``."""
    return replace(pack_weight(kernels, weight, device), bias=None if bias is None else bias.to(device, kernels.dtype))
