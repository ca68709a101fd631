"""A ``tokenizers`` Tokenizer from the vocabulary inside a GGUF file.

Built directly for the byte-level BPE pre-tokenizers we can name; others go through transformers' own conversion,
which takes longer but knows them all. Tests compare the direct form with that conversion token for token. Like that
conversion and llama.cpp, and unlike some models' own tokenizer files, neither normalises Unicode: an editor's text
must come back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

__all__ = ["build_tokenizer"]

_TOKEN_TYPE_CONTROL = 3
_TOKEN_TYPE_USER_DEFINED = 4

_QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def build_tokenizer(field: Callable[[str], Any], path: Path) -> Tokenizer:
    """``field`` reads a GGUF metadata field by name; ``path`` is the file, for the slow way."""
    model, pre = field("tokenizer.ggml.model"), field("tokenizer.ggml.pre")
    if model != "gpt2" or pre not in ("qwen2", "smollm"):
        return _converted(path)
    tokens: list[str] = field("tokenizer.ggml.tokens")
    types: list[int] = field("tokenizer.ggml.token_type")
    merges = [tuple(merge.split(" ", 1)) for merge in field("tokenizer.ggml.merges")]
    added = [
        AddedToken(token, special=True, normalized=False)
        for token, kind in zip(tokens, types, strict=True)
        if kind in (_TOKEN_TYPE_CONTROL, _TOKEN_TYPE_USER_DEFINED)
    ]
    tokenizer = Tokenizer(BPE({token: index for index, token in enumerate(tokens)}, merges))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pre == "smollm")
    if pre == "qwen2":
        split: pre_tokenizers.PreTokenizer = pre_tokenizers.Split(Regex(_QWEN2_PATTERN), behavior="isolated")
    else:
        split = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(added)
    return tokenizer


def _converted(path: Path) -> Tokenizer:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    backend: Tokenizer = tokenizer.backend_tokenizer
    return backend
