"""Load prepared weights into a Decoder.

Names in the file: ``embedding``, ``norm``, ``lm_head`` and, for layer i, ``i.input_norm``, ``i.mlp_norm``, ``i.qkv``,
``i.out``, ``i.gate_up``, ``i.down``, ``i.q_norm``, ``i.k_norm``; products add ``.scale`` (int8) and ``.bias``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from completiond.engine.decoder import Decoder, DecoderWeights, LayerWeights
from completiond.engine.linear import FloatKernels, Int8Kernels, Kernels, Weight
from completiond.engine.shape import DecoderShape

__all__ = ["build_decoder"]


def build_decoder(
    shape: DecoderShape,
    read: Callable[[str], Tensor | None],
    dtype_name: str,
    device: torch.device,
    progress: Callable[[float, str], None],
    kernels: Kernels | None = None,
) -> Decoder:
    """Assemble a decoder from ``read(name)``, which returns a tensor of the prepared layout, or None when it has none.

    ``kernels`` overrides the arithmetic that ``dtype_name`` (int8, float32 or bfloat16) implies, for tests and
    comparisons.
    """
    if kernels is None:
        kernels = Int8Kernels() if dtype_name == "int8" else FloatKernels(getattr(torch, dtype_name))

    def tensor(name: str) -> Tensor:
        found = read(name)
        assert found is not None, name
        return found.to(device)

    def vector(name: str) -> Tensor:
        # A copy: a norm inside the mapped file would keep the pages of its neighbours resident.
        return tensor(name).clone()

    def optional(name: str) -> Tensor | None:
        found = read(name)
        return None if found is None else found.to(device).clone()

    def product(name: str) -> Weight:
        return kernels.pack(tensor(name), optional(f"{name}.scale"), optional(f"{name}.bias"))

    layers = []
    for index in range(shape.num_layers):
        progress(index / shape.num_layers, "loading the weights")
        layers.append(
            LayerWeights(
                input_norm=vector(f"{index}.input_norm"),
                qkv=product(f"{index}.qkv"),
                q_norm=optional(f"{index}.q_norm"),
                k_norm=optional(f"{index}.k_norm"),
                out=product(f"{index}.out"),
                mlp_norm=vector(f"{index}.mlp_norm"),
                gate_up=product(f"{index}.gate_up"),
                down=product(f"{index}.down"),
            )
        )
    embedding = tensor("embedding")
    head: Any = Weight(embedding) if read("lm_head") is None else product("lm_head")
    weights = DecoderWeights(embedding, tuple(layers), vector("norm"), head)
    return Decoder(shape, weights, kernels, device, dtype_name)
