"""Write trained Medusa heads in the authors' layout, without the vocabulary product that they share with the target."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save

from completiond.train.draft_vocab import DraftVocab
from completiond.train.files import write_whole
from completiond.train.medusa_net import MedusaNet

__all__ = ["save_medusa"]


def save_medusa(net: MedusaNet, vocab: DraftVocab, folder: Path) -> None:
    """``medusa_lm_head.safetensors`` in bfloat16 and ``config.json``; ``token_ids`` are the draft vocabulary's."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name.removeprefix("heads."): tensor.detach().to(torch.bfloat16).contiguous()
        for name, tensor in net.state_dict().items()
        if name.startswith("heads.")
    }
    tensors["token_ids"] = vocab.token_ids
    write_whole(folder / "medusa_lm_head.safetensors", save(tensors))
    config = {
        "medusa_num_heads": len(net.heads),
        "medusa_num_layers": len(list(net.heads[0].children())),
        "hidden_size": net.lm_head.in_features,
        "shared_lm_head": True,
    }
    write_whole(folder / "config.json", json.dumps(config, indent=1) + "\n")
