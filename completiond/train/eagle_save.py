"""Write a trained head in the published layout, with a card that says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from completiond.spec.eagle_shape import EagleShape
from completiond.train.draft_vocab import DraftVocab
from completiond.train.eagle_net import EagleNet
from completiond.train.files import write_whole

__all__ = ["save_head"]


def save_head(net: EagleNet, vocab: DraftVocab, scale: Tensor, folder: Path) -> None:
    """``model.safetensors`` in bfloat16 and ``config.json``, as SpecForge writes them. ``scale`` float32 [width] is
    what training divided the features by; here it becomes part of the first product.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.detach().float() for name, tensor in net.state_dict().items()}
    tensors["fc.weight"] = tensors["fc.weight"] / scale
    stored = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in tensors.items()}
    stored["d2t"] = vocab.d2t
    stored["t2d"] = vocab.t2d(net.shape.vocab_size)
    write_whole(folder / "model.safetensors", save(stored))
    write_whole(folder / "config.json", json.dumps(_config(net.shape), indent=1) + "\n")


def _config(shape: EagleShape) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocab_size,
        "draft_vocab_size": shape.draft_vocab_size,
        "target_hidden_size": shape.target_hidden_size,
        "max_position_embeddings": shape.max_positions,
        "rms_norm_eps": shape.rms_eps,
        "rope_theta": shape.rope_theta,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eagle_config": {
            "use_aux_hidden_state": True,
            # The published convention names the blocks whose output is read.
            "eagle_aux_hidden_state_layer_ids": [index - 1 for index in shape.feature_layers],
        },
    }
