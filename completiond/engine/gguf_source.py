"""GGUF files as a weight source: metadata to ``config.json``, tensors to Hugging Face names, vocabulary to
``tokenizer.json``.

Reading is slow (seconds) and happens once per model: what comes out is kept as prepared weights (prepare.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from torch import Tensor

from completiond.engine.gguf_tokenizer import build_tokenizer
from completiond.errors import ModelCorruptError

__all__ = ["GGUFSource"]

_GLOBAL_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


class GGUFSource:
    """One ``.gguf`` file. Raises ModelCorruptError when it cannot be parsed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ModelCorruptError(
                f"{path} is not a complete GGUF file ({error}).", "Fetch it again: `completiond model pull`."
            ) from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def _field(self, name: str, default: Any = None) -> Any:
        field = self._reader.get_field(name)
        return default if field is None else field.contents()

    @property
    def architecture(self) -> str:
        """``general.architecture``, as llama.cpp names it."""
        return str(self._field("general.architecture", ""))

    @property
    def config(self) -> dict[str, Any]:
        """See WeightSource.config."""
        arch = self.architecture
        heads = int(self._field(f"{arch}.attention.head_count", 0))
        hidden = int(self._field(f"{arch}.embedding_length", 0))
        config = {
            "model_type": arch,
            "num_hidden_layers": self._field(f"{arch}.block_count"),
            "hidden_size": hidden,
            "intermediate_size": self._field(f"{arch}.feed_forward_length"),
            "num_attention_heads": heads,
            "num_key_value_heads": self._field(f"{arch}.attention.head_count_kv", heads),
            "head_dim": self._field(f"{arch}.attention.key_length", hidden // max(heads, 1)),
            "vocab_size": int(self._tensors["token_embd.weight"].shape[1]),
            "max_position_embeddings": self._field(f"{arch}.context_length", 2048),
            "rms_norm_eps": self._field(f"{arch}.attention.layer_norm_rms_epsilon", 1e-6),
            "rope_theta": self._field(f"{arch}.rope.freq_base", 10000.0),
            "tie_word_embeddings": "output.weight" not in self._tensors,
            "eos_token_id": self._field("tokenizer.ggml.eos_token_id"),
            "bos_token_id": self._field("tokenizer.ggml.bos_token_id"),
            "add_bos_token": bool(self._field("tokenizer.ggml.add_bos_token", False)),
        }
        scaling = self._field(f"{arch}.rope.scaling.type", "none")
        if scaling != "none" or "rope_freqs.weight" in self._tensors:
            config["rope_scaling"] = {"rope_type": "llama3" if scaling == "none" else scaling}
        return config

    @property
    def num_weights(self) -> int:
        """See WeightSource.num_weights."""
        return sum(int(tensor.n_elements) for tensor in self._tensors.values())

    def tensor(self, name: str) -> Tensor | None:
        """See WeightSource.tensor: float32."""
        stored = self._tensors.get(self._stored_name(name))
        if stored is None:
            return None
        tensor = torch.from_numpy(dequantize(stored.data, stored.tensor_type).copy())
        if self.architecture == "llama" and name.rpartition(".")[0].endswith(("q_proj", "k_proj")):
            return self._unpermute(tensor, name)
        return tensor

    def _stored_name(self, name: str) -> str:
        module, _, kind = name.rpartition(".")
        if module in _GLOBAL_NAMES:
            return f"{_GLOBAL_NAMES[module]}.{kind}"
        layer, _, module = module.removeprefix("model.layers.").partition(".")
        return f"blk.{layer}.{_LAYER_NAMES[module]}.{kind}"

    def _unpermute(self, tensor: Tensor, name: str) -> Tensor:
        """GGUF stores Llama's q and k with rotary pairs side by side; checkpoints keep the two halves apart."""
        config = self.config
        heads = config["num_attention_heads"] if "q_proj" in name else config["num_key_value_heads"]
        rows = tensor.shape[0] // heads
        return tensor.view(heads, rows // 2, 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)

    def save_tokenizer(self, file: Path) -> None:
        """See WeightSource.save_tokenizer."""
        build_tokenizer(self._field, self.path).save(str(file))
