"""Keys and values of a drafting head's one layer: rows of the text it follows, then rows of what it drafts."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["HeadCache"]


class HeadCache:
    """Row p is position p of the text. Rows from ``first`` on hold something; a draft's own lie behind the text's.

    ``keys`` and ``values``: [kv_heads, capacity, head_dim].
    """

    def __init__(
        self, num_kv_heads: int, head_dim: int, capacity_tokens: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.keys = torch.zeros(num_kv_heads, capacity_tokens, head_dim, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.first = 0

    @property
    def capacity_tokens(self) -> int:
        """Rows there are."""
        return self.keys.shape[1]

    def write(self, start: int, keys: Tensor, values: Tensor) -> None:
        """Rows ``start`` and behind, [M, kv_heads, head_dim]."""
        self.keys[:, start : start + keys.shape[0]] = keys.transpose(0, 1)
        self.values[:, start : start + values.shape[0]] = values.transpose(0, 1)

    def read(self, start: int, end: int) -> Tensor:
        """Those rows' keys, then values: [end - start, 2 * kv_heads * head_dim]."""
        rows = torch.stack((self.keys[:, start:end], self.values[:, start:end]))
        return rows.permute(2, 0, 1, 3).flatten(1)

    def put(self, start: int, rows: Tensor) -> None:
        """What ``read`` gave, at ``start`` and behind."""
        keys, values = rows.view(rows.shape[0], 2, self.keys.shape[0], -1).unbind(1)
        self.write(start, keys, values)
