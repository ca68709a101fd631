"""Any causal language model through transformers' own classes: slow, right, for architectures decoder.py does not
know.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from completiond.cache.kv import SequenceCache
from completiond.engine.target import Pass
from completiond.errors import ModelUnsupportedError

__all__ = ["TransformersCache", "TransformersModel"]


class TransformersCache(SequenceCache):
    """A transformers cache object: cut by ``crop`` where its kind can be cut, else dropped and read again."""

    def __init__(self, capacity_tokens: int) -> None:
        super().__init__(capacity_tokens)
        self.past: Any = None
        self.num_past_tokens = 0

    def rollback(self, num_tokens: int) -> None:
        """See SequenceCache.rollback."""
        if num_tokens < self.num_past_tokens:
            if _can_crop(self.past):
                self.past.crop(num_tokens - self.num_past_tokens)  # negative: how many to remove
                self.num_past_tokens = num_tokens
            else:
                self.past, self.num_past_tokens = None, 0
        super().rollback(num_tokens)


def _can_crop(past: Any) -> bool:
    """Only caches whose every layer simply grows; sliding windows and recurrent states lose what they drop."""
    layers: Any = getattr(past, "layers", ())
    return bool(layers) and all(type(layer).__name__ == "DynamicLayer" for layer in layers)


class TransformersModel:
    """A TargetModel. Not exact: the library's attention changes last bits with the shape of a pass."""

    exact = False
    trees = False

    def __init__(self, path: Path, device: torch.device, dtype_name: str) -> None:
        """Load a folder or a ``.gguf`` file; never remote code, never pickles.

        Raises ModelUnsupportedError with the library's own reason.
        """
        import transformers

        loader: Any = transformers.AutoModelForCausalLM
        where: dict[str, Any] = {"pretrained_model_name_or_path": path, "use_safetensors": True}
        if path.suffix == ".gguf":
            where = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
        try:
            model = loader.from_pretrained(**where, dtype=getattr(torch, dtype_name), trust_remote_code=False)
        except (ValueError, OSError, KeyError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ModelUnsupportedError(
                f"{path.name} cannot be loaded: {reason}.", "Choose another model: `completiond model list`."
            ) from error
        self._model = model.to(device)
        # Renamed in transformers 5.2x; both names are in our range.
        parameters = inspect.signature(self._model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._model.eval()
        self.device = device
        self.dtype_name = dtype_name
        self.vocab_size = int(self._model.get_input_embeddings().weight.shape[0])
        self.max_positions = int(getattr(model.config, "max_position_embeddings", None) or 2048)

    def new_cache(self, capacity_tokens: int) -> TransformersCache:
        """See TargetModel.new_cache."""
        return TransformersCache(capacity_tokens)

    @torch.inference_mode()
    def forward(
        self,
        token_ids: Sequence[int],
        kv: TransformersCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        """See TargetModel.forward. Takes no trees."""
        assert not parents, "no trees"
        if kv.num_tokens + len(token_ids) > kv.capacity_tokens:
            raise ValueError(f"{len(token_ids)} tokens do not fit behind {kv.num_tokens} of {kv.capacity_tokens}")
        ids = [*kv.token_ids[kv.num_past_tokens :], *token_ids]
        output = self._model(
            torch.tensor([ids], device=self.device),
            use_cache=True,
            output_hidden_states=bool(feature_layers),
            logits_to_keep=num_logits or 1,
            **{self._cache_name: kv.past},
        )
        kv.past = getattr(output, self._cache_name)
        kv.extend(token_ids)
        kv.num_past_tokens = kv.num_tokens
        logits = output.logits[0]
        features = None
        if feature_layers:
            # The library's last hidden state is the one behind the final norm.
            states = [output.hidden_states[index][0, -len(token_ids) :].float() for index in feature_layers]
            features = torch.cat(states, -1)
        return Pass(logits[logits.shape[0] - num_logits :].float(), features)
