"""Attention over the key/value cache whose result for a token does not depend on its company.

``scaled_dot_product_attention`` changes a row's last bits with the number of rows in the call, and int8 rounding
turns that into logits that differ by up to one. So every token is computed in a call of one fixed shape: tokens are
grouped in tiles of TILE neighbours by *absolute* position, a tile always attends to a key length rounded up from its
position to KEY_BLOCK, and the tiles of a pass are the batch dimension of the call, where each entry is computed by
itself. A token's shape and place in its tile are functions of its position alone, so any chunking, rollback or cache
hit gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["KEY_BLOCK", "AttentionPlan", "DensePlan", "TiledPlan"]

TILE = 2
"""Measured: tiles of 2 cost a single token 1.2 times a lone row, and a block as little as tiles of 8 (docs/log.md)."""

KEY_BLOCK = 64
"""Keys are padded to a multiple of this; padding is masked and contributes exact zeros."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring tiles with the same padded key length. ``mask``: float [tiles, 1, TILE * group_size, num_keys]."""

    first_tile: int
    num_tiles: int
    num_keys: int
    mask: Tensor


class AttentionPlan:
    """What all layers of one pass share."""

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Write the pass's rows [M, kv_heads, head_dim] into one layer's cache, ``keys`` and ``values`` [kv_heads,
        capacity, head_dim], and map ``queries`` [M, heads, head_dim] to outputs [M, heads * head_dim].
        """
        raise NotImplementedError


class TiledPlan(AttentionPlan):
    """The exact one, for CPUs."""

    def __init__(
        self, start: int, num_tokens: int, num_kv_heads: int, group_size: int, head_dim: int, tile_tokens: int = TILE
    ) -> None:
        self.start = start
        self.num_tokens = num_tokens
        self.tile_tokens = tile_tokens
        self.layout = (num_kv_heads, group_size, head_dim)
        self.front = start % tile_tokens
        self.num_tiles = -(-(self.front + num_tokens) // tile_tokens)
        base = start - self.front
        self.groups: list[_Group] = []
        tile = 0
        while tile < self.num_tiles:
            position = base + tile * self.tile_tokens
            num_keys = (position // KEY_BLOCK + 1) * KEY_BLOCK
            count = min(self.num_tiles - tile, (num_keys - position) // self.tile_tokens)
            positions = torch.arange(position, position + count * self.tile_tokens)
            hidden = torch.arange(num_keys)[None, :] > positions[:, None]
            mask = (
                torch.zeros(hidden.shape).masked_fill_(hidden, float("-inf")).view(count, self.tile_tokens, 1, num_keys)
            )
            mask = mask.expand(-1, -1, group_size, -1).reshape(count, 1, self.tile_tokens * group_size, num_keys)
            self.groups.append(_Group(tile, count, num_keys, mask))
            tile += count

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend. Empty places of a tile hold zeros; their results are dropped."""
        _write(self.start, new_keys, new_values, keys, values)
        kv_heads, group, dim = self.layout
        padded = queries.new_zeros(self.num_tiles * self.tile_tokens, kv_heads * group * dim)
        padded[self.front : self.front + self.num_tokens] = queries.view(self.num_tokens, -1)
        tiles = padded.view(self.num_tiles, self.tile_tokens, kv_heads, group, dim).transpose(1, 2)
        tiles = tiles.reshape(self.num_tiles, kv_heads, self.tile_tokens * group, dim)
        outputs = []
        for part in self.groups:
            shape = (part.num_tiles, kv_heads, part.num_keys, dim)
            outputs.append(
                scaled_dot_product_attention(
                    tiles[part.first_tile : part.first_tile + part.num_tiles],
                    keys[None, :, : part.num_keys].expand(shape),
                    values[None, :, : part.num_keys].expand(shape),
                    attn_mask=part.mask,
                )
            )
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        output = output.view(self.num_tiles, kv_heads, self.tile_tokens, group, dim).transpose(1, 2)
        return output.reshape(self.num_tiles * self.tile_tokens, -1)[self.front : self.front + self.num_tokens]


class DensePlan(AttentionPlan):
    """One call for the whole pass: for GPUs, and for the float32 reference."""

    def __init__(self, start: int, num_tokens: int, device: torch.device) -> None:
        self.start = start
        self.num_keys = start + num_tokens
        positions = torch.arange(start, self.num_keys, device=device)
        visible = torch.arange(self.num_keys, device=device)[None, :] <= positions[:, None]
        self.mask = None if num_tokens == 1 else visible

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend."""
        _write(self.start, new_keys, new_values, keys, values)
        output = scaled_dot_product_attention(
            queries.transpose(0, 1)[None],
            keys[None, :, : self.num_keys],
            values[None, :, : self.num_keys],
            attn_mask=self.mask,
            enable_gqa=True,
        )
        return output[0].transpose(0, 1).reshape(queries.shape[0], -1)


def _write(start: int, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> None:
    keys[:, start : start + new_keys.shape[0]] = new_keys.transpose(0, 1)
    values[:, start : start + new_values.shape[0]] = new_values.transpose(0, 1)
