"""Medusa heads as a trainable network (arXiv 2401.10774): residual blocks before the target's own vocabulary product.

A head with a product of its own has as many parameters as a third of a small model; here all heads share the target's,
and only a block each is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from torch import Tensor, nn
from torch.nn.functional import silu

from completiond.train.unrolled import Inputs, Unrolled

__all__ = ["MedusaNet"]


class _Block(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, hidden_size)
        nn.init.zeros_(self.linear.weight)  # begins as the identity: as the target's own guess of the next token
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return x + silu(self.linear(x))


class MedusaNet(nn.Module):
    """``num_heads`` heads of ``num_layers`` blocks; ``rows`` float32 [draft_vocab, hidden_size] of the target."""

    def __init__(self, hidden_size: int, num_heads: int, num_layers: int, rows: Tensor) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            [nn.Sequential(*(_Block(hidden_size) for _ in range(num_layers))) for _ in range(num_heads)]
        )
        self.lm_head = nn.Linear(hidden_size, rows.shape[0], bias=False)
        self.lm_head.weight.data.copy_(rows)

    def unroll(self, inputs: Inputs, num_steps: int) -> Iterator[Unrolled]:
        """See HeadNet.unroll: step j is head j, and all read the same state."""
        states = inputs.last[:, : inputs.ids.shape[1] - num_steps]
        for step, head in enumerate(self.heads[:num_steps]):
            yield Unrolled(step, cast(Tensor, self.lm_head(head(states))))
