"""Some layers of a decoder as a model of its own: a draft model that needs no weights besides the target's.

Draft & Verify (self-speculative decoding), arXiv 2309.08168; LayerSkip, arXiv 2404.16710. Residual layers each change
their input a little, so the network still says something sensible without some of them; how well depends on the model
and on which are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from completiond.engine.decoder import Decoder
from completiond.errors import UsageError

__all__ = ["LayerSkip", "default_layers"]

EDGE_LAYERS = 2
"""Kept at each end by ``default_layers``: models suffer most without their first and their last layers."""


def default_layers(num_layers: int, share: float = 0.5) -> tuple[int, ...]:
    """About ``share`` of ``num_layers`` layers, ascending: the first two, the last two, and evenly spaced between.

    At least those four, or all where a model has no more. Raises UsageError unless 0 < ``share`` <= 1.
    """
    if not 0.0 < share <= 1.0:
        raise UsageError(f"The share of layers to keep is {share}.", "Use a number above 0 and up to 1 (all layers).")
    num_between = max(0, num_layers - 2 * EDGE_LAYERS)
    num_kept = min(num_between, max(0, round(share * num_layers) - 2 * EDGE_LAYERS))
    between = [EDGE_LAYERS + (2 * i + 1) * num_between // (2 * num_kept) for i in range(num_kept)]
    first = range(min(EDGE_LAYERS, num_layers))
    last = range(max(EDGE_LAYERS, num_layers - EDGE_LAYERS), num_layers)
    return (*first, *between, *last)


class LayerSkip(Decoder):
    """A TargetModel of the layers ``layers`` of a decoder, with its embedding, its last norm and its vocabulary.

    The weights are the decoder's own tensors. The cache is not: behind other layers, keys and values are others.
    """

    def __init__(self, decoder: Decoder, layers: Sequence[int]) -> None:
        """``layers`` are indices, from 0, in ascending order.

        Raises UsageError when there are none, or one is not the decoder's, or they are not ascending.
        """
        num_layers = decoder.shape.num_layers
        advice = f"Use ascending numbers from 0 to {num_layers - 1}, at least one."
        if not layers:
            raise UsageError("No layer is left to draft with.", advice)
        for before, index in zip([-1, *layers], layers, strict=False):
            if not 0 <= index < num_layers:
                raise UsageError(f"Layer {index} is not one of the model's {num_layers}.", advice)
            if index <= before:
                raise UsageError(f"Layer {index} comes behind layer {before} in the list of layers.", advice)
        weights = replace(decoder.weights, layers=tuple(decoder.weights.layers[index] for index in layers))
        shape = replace(decoder.shape, num_layers=len(layers))
        super().__init__(shape, weights, decoder.kernels, decoder.device, decoder.dtype_name)
        self.layers = tuple(layers)
