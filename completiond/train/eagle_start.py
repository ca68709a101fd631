"""Where a head's training begins: the target's own last layer and its rows of the vocabulary.

The head is a decoder layer that reads a late hidden state, and the target has one that does just that. Begun with it,
a head reaches in a given time what takes one begun at random about twice as long (docs/log.md).
"""

from __future__ import annotations

import torch
from torch import Tensor

from completiond.engine.shape import DecoderShape
from completiond.engine.source import WeightSource
from completiond.errors import ModelUnsupportedError
from completiond.spec.eagle_shape import EagleShape
from completiond.train.eagle_net import EagleNet

__all__ = ["head_shape", "start_from_target"]

SMALL = 0.02
"""Standard deviation of what the target has no counterpart of."""


def head_shape(target: DecoderShape, intermediate_size: int, draft_vocab_size: int, num_tokens: int) -> EagleShape:
    """An EAGLE-3 head for ``target`` that reads the states entering an early, the middle and a late block.

    Raises ModelUnsupportedError for a model of fewer than six blocks.
    """
    if target.num_layers < 6:
        raise ModelUnsupportedError(
            f"The model has {target.num_layers} blocks, too few for a head to be cheaper.", "Train on a larger one."
        )
    return EagleShape(
        version=3,
        hidden_size=target.hidden_size,
        intermediate_size=min(intermediate_size, target.intermediate_size),
        num_heads=target.num_heads,
        num_kv_heads=target.num_kv_heads,
        head_dim=target.head_dim,
        vocab_size=target.vocab_size,
        draft_vocab_size=draft_vocab_size,
        target_hidden_size=target.hidden_size,
        feature_layers=(2, target.num_layers // 2, target.num_layers - 3),
        max_positions=num_tokens,
        rms_eps=target.rms_eps,
        rope_theta=target.rope_theta,
    )


@torch.no_grad()
def start_from_target(net: EagleNet, source: WeightSource, num_layers: int, rows: Tensor, late_scale: Tensor) -> None:
    """Set all weights of ``net``.

    ``rows`` float32 [draft_vocab, hidden_size]: the target's product with the draft vocabulary. ``late_scale`` float32
    [hidden_size]: the usual size of each channel of the last feature, by which training divides it.
    """
    shape, last = net.shape, f"model.layers.{num_layers - 1}"

    def need(name: str) -> Tensor:
        tensor = source.tensor(name)
        assert tensor is not None, name
        return tensor.float()

    for parameter in net.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=SMALL)
    attention, hidden = net.midlayer.self_attn, shape.hidden_size
    for name in "qkv":
        product = getattr(attention, f"{name}_proj")
        product.weight[:, hidden:] = need(f"{last}.self_attn.{name}_proj.weight")
    attention.o_proj.weight.copy_(need(f"{last}.self_attn.o_proj.weight"))
    gate, up, down = (need(f"{last}.mlp.{name}_proj.weight") for name in ("gate", "up", "down"))
    # Of the target's wider layer the neurons that can move the output most.
    strongest = (down.norm(dim=0) * up.norm(dim=1)).topk(shape.intermediate_size).indices
    net.midlayer.mlp.gate_proj.weight.copy_(gate[strongest])
    net.midlayer.mlp.up_proj.weight.copy_(up[strongest])
    net.midlayer.mlp.down_proj.weight.copy_(down[:, strongest])
    net.midlayer.hidden_norm.weight.copy_(need(f"{last}.input_layernorm.weight"))
    net.midlayer.post_attention_layernorm.weight.copy_(need(f"{last}.post_attention_layernorm.weight"))
    net.norm.weight.copy_(need("model.norm.weight"))
    net.lm_head.weight.copy_(rows)
    net.fc.weight[:, -hidden:] += torch.diag(late_scale)
