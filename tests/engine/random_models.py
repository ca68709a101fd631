"""Small Hugging Face folders with random weights, one per supported architecture, and one that is not supported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

VOCAB_SIZE = 320
SIZES: dict[str, Any] = {
    "hidden_size": 96,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB_SIZE,
    "max_position_embeddings": 512,
}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {"tie_word_embeddings": False, "rope_theta": 50000.0, "head_dim": 16}),
    "mistral": ("MistralConfig", {"sliding_window": None, "head_dim": 16}),
    "qwen2": ("Qwen2Config", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3Config", {"tie_word_embeddings": True, "head_dim": 32}),
}


def make_folder(folder: Path, architecture: str) -> Path:
    """Write a model of ``architecture`` (a key of ARCHITECTURES, or ``gpt2`` as one that the fast decoder lacks)."""
    torch.manual_seed(0)
    if architecture == "gpt2":
        config: Any = transformers.GPT2Config(vocab_size=VOCAB_SIZE, n_positions=256, n_embd=48, n_layer=2, n_head=4)
    else:
        name, extra = ARCHITECTURES[architecture]
        config = getattr(transformers, name)(**{**SIZES, **extra})
    automodel: Any = transformers.AutoModelForCausalLM
    model = automodel.from_config(config)
    for parameter in model.parameters():
        # Norms and biases start at constants, which would hide a forgotten one.
        parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    make_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def make_tokenizer() -> Tokenizer:
    """Bytes as tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({char: index for index, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def reference_logits(path: Path, ids: list[int], **where: Any) -> torch.Tensor:
    """transformers' own float32 forward: [len(ids), vocab_size]."""
    automodel: Any = transformers.AutoModelForCausalLM
    model = automodel.from_pretrained(path, dtype=torch.float32, **where).eval()
    with torch.inference_mode():
        logits: torch.Tensor = model(torch.tensor([ids])).logits[0]
    return logits
