"""EAGLE heads with random weights, in files under the names of SafeAILab's layout."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from completiond.engine.linear import FloatKernels, Kernels, pack_weight
from completiond.spec.eagle_checkpoint import HeadTarget

__all__ = ["CPU", "FLOAT", "Sizes", "Tensors", "config_of", "eagle1", "eagle3", "head_target", "randoms", "write"]

FLOAT = FloatKernels(torch.float32)
CPU = torch.device("cpu")

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Sizes:
    """Of a head and its target, no two of them alike where they could be mixed up."""

    hidden: int = 16
    inner: int = 28
    heads: int = 4
    kv_heads: int = 2
    dim: int = 6
    vocab: int = 40
    draft_vocab: int = 12
    num_layers: int = 9
    num_features: int = 3
    max_positions: int = 512


def randoms(generator: torch.Generator, *shape: int, scale: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=generator).mul_(scale * shape[-1] ** -0.5)


def layer(sizes: Sizes, width: int, generator: torch.Generator, scale: float) -> Tensors:
    def product(rows: int, columns: int) -> Tensor:
        return randoms(generator, rows, columns, scale=scale)

    return {
        "midlayer.self_attn.q_proj.weight": product(sizes.heads * sizes.dim, width),
        "midlayer.self_attn.k_proj.weight": product(sizes.kv_heads * sizes.dim, width),
        "midlayer.self_attn.v_proj.weight": product(sizes.kv_heads * sizes.dim, width),
        "midlayer.self_attn.o_proj.weight": product(sizes.hidden, sizes.heads * sizes.dim),
        "midlayer.mlp.gate_proj.weight": product(sizes.inner, sizes.hidden),
        "midlayer.mlp.up_proj.weight": product(sizes.inner, sizes.hidden),
        "midlayer.mlp.down_proj.weight": product(sizes.hidden, sizes.inner),
        "midlayer.post_attention_layernorm.weight": norm(generator, sizes.hidden),
    }


def norm(generator: torch.Generator, width: int) -> Tensor:
    return 1.0 + 0.3 * torch.randn(width, generator=generator)


def eagle3(sizes: Sizes, seed: int = 0, reduced: bool = True) -> Tensors:
    """``reduced``: with a draft vocabulary; else the head's is the target's, and nothing says so."""
    generator = torch.Generator().manual_seed(seed)
    width = sizes.hidden
    tensors = {
        "fc.weight": randoms(generator, width, sizes.num_features * width),
        **layer(sizes, 2 * width, generator, scale=1.5),
        "midlayer.hidden_norm.weight": norm(generator, width),
        "midlayer.input_layernorm.weight": norm(generator, width),
        "norm.weight": norm(generator, width),
        "lm_head.weight": randoms(generator, sizes.draft_vocab if reduced else sizes.vocab, width, scale=3.0),
    }
    if reduced:
        ids = torch.randperm(sizes.vocab, generator=generator)[: sizes.draft_vocab].sort().values
        tensors["d2t"] = ids - torch.arange(sizes.draft_vocab)
        tensors["t2d"] = torch.zeros(sizes.vocab, dtype=torch.bool)
        tensors["t2d"][ids] = True
    return tensors


def eagle1(sizes: Sizes, seed: int = 0, bias: bool = True) -> Tensors:
    """Weaker weights than EAGLE-3's: without norms, what is fed back would grow step by step, and so would errors."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        "embed_tokens.weight": randoms(generator, sizes.vocab, sizes.hidden, scale=3.0),
        "fc.weight": randoms(generator, sizes.hidden, 2 * sizes.hidden, scale=0.8),
        **layer(sizes, sizes.hidden, generator, scale=0.9),
    }
    if bias:
        tensors["fc.bias"] = 0.5 * torch.randn(sizes.hidden, generator=generator)
    return {name.replace("midlayer.", "layers.0."): tensor for name, tensor in tensors.items()}


def config_of(sizes: Sizes, **more: Any) -> dict[str, Any]:
    """Sizes as SafeAILab and SpecForge write them."""
    return {
        "hidden_act": "silu",
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.inner,
        "num_hidden_layers": 1,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.dim,
        "vocab_size": sizes.vocab,
        "draft_vocab_size": sizes.draft_vocab,
        "max_position_embeddings": sizes.max_positions,
        "rms_norm_eps": 1e-5,
        "rope_theta": 5000.0,
        **more,
    }


def write(folder: Path, tensors: Tensors, config: object, file: str = "model.safetensors") -> Path:
    """``config`` None: no config.json."""
    folder.mkdir(exist_ok=True, parents=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if file.endswith(".safetensors"):
        save_file(tensors, folder / file)
    else:
        torch.save(tensors, folder / file)
    return folder


def head_target(sizes: Sizes, kernels: Kernels = FLOAT, seed: int = 7) -> HeadTarget:
    """What a head borrows, with random weights."""
    generator = torch.Generator().manual_seed(seed)
    embedding = randoms(generator, sizes.vocab, sizes.hidden, scale=2.0)
    lm_head = randoms(generator, sizes.vocab, sizes.hidden, scale=3.0)
    packed = pack_weight(kernels, lm_head, CPU)
    return HeadTarget(sizes.hidden, sizes.num_layers, sizes.vocab, embedding, packed, kernels, CPU)
