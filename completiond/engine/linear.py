"""Matrix products of the decoder: int8 x int8 with float32 results, and plain floating point.

Int8 activations carry one scale per row, so a row's result depends on that row alone: integer sums are exact in any
order, and a block of M tokens gives bit for bit what the same tokens give one by one. That is what makes speculation
on a CPU lossless to the last bit. (Per-tensor activation scales, as in ``quantized.linear_dynamic``, do not have this
property.)

The decoder does not know which arithmetic it runs: it asks a Kernels object to normalise an input and to multiply by
a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

__all__ = [
    "FloatKernels",
    "Int8Kernels",
    "Kernels",
    "Rows",
    "Weight",
    "has_packed_int8",
    "pack_weight",
    "quantize_weight",
]

ZERO_POINT = 128
"""Activations are uint8 around 128: the packed operator's signed form falls back to a slow reference kernel."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The input of a product. Int8: uint8 ``values`` [M, K] around 128, float32 ``scale`` [M, 1]. Float: no scale."""

    values: Tensor
    scale: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Weight:
    """One linear layer, ready to multiply: ``data`` as the kernels packed it, float32 ``scale`` [N] if int8, ``bias``
    [N].
    """

    data: Tensor
    scale: Tensor | None = None
    bias: Tensor | None = None
    zero_points: Tensor | None = None


class Kernels(Protocol):
    """Arithmetic of one dtype on one device. All outputs are in ``dtype``."""

    dtype: torch.dtype
    int8: bool
    """Whether weights are int8 with a scale per output channel."""

    def pack(self, data: Tensor, scale: Tensor | None, bias: Tensor | None) -> Weight:
        """Bring a stored weight [N, K] into the layout the product wants. May copy; ``data`` can be freed after."""

    def rows(self, x: Tensor) -> Rows:
        """Make ``x`` [M, K] an input of ``linear``."""

    def normed_rows(self, x: Tensor, weight: Tensor, eps: float) -> Rows:
        """The same after a root-mean-square norm with ``weight`` [K]."""

    def linear(self, rows: Rows, weight: Weight) -> Tensor:
        """rows W^T + bias, [M, N]."""

    def linear_add(self, rows: Rows, weight: Weight, residual: Tensor) -> Tensor:
        """Residual + rows W^T for a weight without bias, [M, N]. May overwrite ``residual``."""


def quantize_weight(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8, one scale per output channel: float [N, K] -> int8 [N, K] and float32 [N]."""
    weight = weight.float()
    scale = weight.abs().amax(-1).clamp_min_(1e-12) / 127.0
    return (weight / scale[:, None]).round_().to(torch.int8), scale


def pack_weight(kernels: Kernels, weight: Tensor, device: torch.device) -> Weight:
    """A floating-point weight [N, K] without bias in the form that ``kernels`` multiply by."""
    if kernels.int8:
        return kernels.pack(*quantize_weight(weight), None)
    return kernels.pack(weight.to(device, kernels.dtype), None, None)


def has_packed_int8() -> bool:
    """Whether this build of torch has the prepacked oneDNN operator."""
    return hasattr(torch.ops.onednn, "qlinear_prepack") and hasattr(torch.ops.onednn, "qlinear_pointwise")


class Int8Kernels:
    """Int8 weights per output channel, uint8 activations per row, float32 between products."""

    dtype = torch.float32
    int8 = True

    def __init__(self, packed: bool | None = None) -> None:
        """``packed`` False takes ``torch._int_mm``: the same numbers, bit for bit, on a build or machine without
        oneDNN.
        """
        self.packed = has_packed_int8() if packed is None else packed

    def pack(self, data: Tensor, scale: Tensor | None, bias: Tensor | None) -> Weight:
        """See Kernels.pack: int8 [N, K] and its scale."""
        assert data.dtype is torch.int8, "an int8 weight"
        assert scale is not None, "with one scale per output channel"
        if self.packed:
            layout: Any = torch.ops.onednn.qlinear_prepack(data, None)
            return Weight(layout, scale.clone(), bias, torch.zeros(data.shape[0], dtype=torch.int64))
        return Weight(data.clone().t(), scale.clone(), bias)

    def rows(self, x: Tensor) -> Rows:
        """See Kernels.rows. Rounds to nearest (ties up) by truncating v + 128.5, which lies in [1.5, 255.5]."""
        scale = x.abs().amax(-1, keepdim=True).clamp_min_(1e-12).mul_(1.0 / 127.0)
        return Rows(x.div(scale).add_(ZERO_POINT + 0.5).to(torch.uint8), scale)

    def normed_rows(self, x: Tensor, weight: Tensor, eps: float) -> Rows:
        """See Kernels.normed_rows. The codes do not depend on a row's factor, so 1/rms goes into the scale."""
        mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().mul_(1.0 / x.shape[-1])
        rows = self.rows(x * weight)
        assert rows.scale is not None
        rows.scale.mul_(mean_square.add_(eps).rsqrt_())
        return rows

    def linear(self, rows: Rows, weight: Weight) -> Tensor:
        """See Kernels.linear."""
        product = self._product(rows, weight)
        return product if weight.bias is None else product.add_(weight.bias)

    def linear_add(self, rows: Rows, weight: Weight, residual: Tensor) -> Tensor:
        """See Kernels.linear_add."""
        return residual.add_(self._product(rows, weight))

    def _product(self, rows: Rows, weight: Weight) -> Tensor:
        """Integer product times the scales of output channels and rows: float32 [M, N]."""
        assert rows.scale is not None, "int8 rows carry a scale"
        if self.packed:
            product: Tensor = torch.ops.onednn.qlinear_pointwise(
                rows.values, 1.0, ZERO_POINT, weight.data, weight.scale, weight.zero_points,
                None, 1.0, 0, torch.float32, "none", [], "",
            )  # fmt: skip
            return product.mul_(rows.scale)
        signed = rows.values.to(torch.int16).sub_(ZERO_POINT).to(torch.int8)
        assert weight.scale is not None, "an int8 weight carries scales"
        product = torch._int_mm(signed, weight.data).float()
        return product.mul_(weight.scale).mul_(rows.scale)


class FloatKernels:
    """float32 on a CPU (the reference), bfloat16 on a GPU. Norms are computed in float32."""

    int8 = False

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def pack(self, data: Tensor, scale: Tensor | None, bias: Tensor | None) -> Weight:
        """See Kernels.pack: a floating-point [N, K]."""
        assert scale is None, "a floating-point weight has no scale"
        return Weight(data, None, bias)

    def rows(self, x: Tensor) -> Rows:
        """See Kernels.rows."""
        return Rows(x)

    def normed_rows(self, x: Tensor, weight: Tensor, eps: float) -> Rows:
        """See Kernels.normed_rows."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        return Rows(wide.to(self.dtype) * weight)

    def linear(self, rows: Rows, weight: Weight) -> Tensor:
        """See Kernels.linear."""
        return functional.linear(rows.values, weight.data, weight.bias)

    def linear_add(self, rows: Rows, weight: Weight, residual: Tensor) -> Tensor:
        """See Kernels.linear_add."""
        return residual.add_(functional.linear(rows.values, weight.data))
