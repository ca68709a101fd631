"""Load an EAGLE head for a target: from a checkpoint's tensors to weights that the head multiplies by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from completiond.engine.linear import Kernels, Weight, pack_weight
from completiond.errors import ModelUnsupportedError
from completiond.spec.eagle_head import EagleHead, EagleWeights
from completiond.spec.eagle_layouts import expected_tensors, our_names, read_shape
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.head_file import HeadFile, take

__all__ = ["HeadTarget", "load_eagle"]


@dataclass(frozen=True, slots=True)
class HeadTarget:
    """What a head has to fit, and borrows: the target's sizes, its embedding [vocab_size, hidden_size] and its product
    with the vocabulary.
    """

    hidden_size: int
    num_layers: int
    vocab_size: int
    embedding: Tensor
    lm_head: Weight
    kernels: Kernels
    device: torch.device


def load_eagle(folder: Path, target: HeadTarget) -> EagleHead:
    """The head in ``folder``, whatever published layout it has (eagle_layouts.py), strictly.

    Raises ModelUnsupportedError that names what is missing, left over, of another shape, or does not fit the target,
    and ModelCorruptError for a file that cannot be read.
    """
    file = HeadFile.read(folder)
    names = our_names(file)
    shape = read_shape(file, names, target.hidden_size, target.num_layers)
    tensors = take(folder, names, expected_tensors(shape, names))
    _check_fit(folder, shape, tensors, target)
    return EagleHead(shape, _weights(shape, tensors, target), target.kernels, target.device)


def _check_fit(folder: Path, shape: EagleShape, tensors: Mapping[str, Tensor], target: HeadTarget) -> None:
    def refuse(what: str) -> None:
        raise ModelUnsupportedError(f"{folder} is not a head for this model: {what}.", "Use the head's own model.")

    if shape.target_hidden_size != target.hidden_size:
        refuse(f"it reads states of width {shape.target_hidden_size}, the model's are {target.hidden_size}")
    if shape.vocab_size > target.vocab_size:
        refuse(f"its vocabulary has {shape.vocab_size} tokens, the model's {target.vocab_size}")
    borrows = "embed_tokens.weight" not in tensors or shape.version == 1
    if borrows and shape.hidden_size != target.hidden_size:
        refuse(
            f"its width is {shape.hidden_size}, the model's {target.hidden_size}, and it has no embedding of its own"
        )
    if shape.version == 1 and shape.vocab_size != target.vocab_size:
        refuse(f"its vocabulary has {shape.vocab_size} tokens, the model's {target.vocab_size}")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() == (name in ("d2t", "t2d")):
            refuse(f"the tensor {name} is {tensor.dtype}")
    if "d2t" in tensors:
        ids = tensors["d2t"].long() + torch.arange(shape.draft_vocab_size)
        if not bool((ids[1:] > ids[:-1]).all()) or not 0 <= int(ids[0]) <= int(ids[-1]) < shape.vocab_size:
            refuse("d2t does not lead to ascending ids of its vocabulary")
        if "t2d" in tensors and not torch.equal(tensors["t2d"].nonzero()[:, 0], ids):
            refuse("d2t and t2d do not say the same")


def _weights(shape: EagleShape, tensors: Mapping[str, Tensor], target: HeadTarget) -> EagleWeights:
    kernels, device = target.kernels, target.device

    def vector(name: str) -> Tensor:
        return tensors[name].to(device, kernels.dtype)

    def product(*names: str) -> Weight:
        return pack_weight(kernels, torch.cat([tensors[f"midlayer.{name}.weight"].float() for name in names]), device)

    modern = shape.version == 3
    norms = ["input_norm"] if shape.norm_before_fc else []
    if shape.fc_norms:
        norms = [f"fc_norm.{index}" for index in range(len(shape.feature_layers))]
    own_embedding = tensors.get("embed_tokens.weight")
    d2t = tensors.get("d2t")
    return EagleWeights(
        embedding=target.embedding if own_embedding is None else own_embedding.to(device),
        fc=tensors["fc.weight"].to(device, kernels.dtype),
        fc_bias=vector("fc.bias") if "fc.bias" in tensors else None,
        fc_norms=tuple(vector(f"{name}.weight") for name in norms),
        input_norm=vector("midlayer.input_layernorm.weight") if modern else None,
        hidden_norm=vector("midlayer.hidden_norm.weight") if modern else None,
        qkv=product("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out=product("self_attn.o_proj"),
        mlp_norm=vector("midlayer.post_attention_layernorm.weight"),
        gate_up=product("mlp.gate_proj", "mlp.up_proj"),
        down=product("mlp.down_proj"),
        norm=vector("norm.weight") if modern else None,
        lm_head=pack_weight(kernels, tensors["lm_head.weight"].float(), device) if modern else target.lm_head,
        token_ids=None if d2t is None else (d2t.long() + torch.arange(d2t.numel())),
    )
