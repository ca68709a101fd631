"""Small vocabularies of the kinds that models have, in which a test can write down every id.

Control tokens have the ids from CONTROLS on, in the order they are given in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Unigram

from completiond.complete.tokens import TextTokenizer

__all__ = ["CONTROLS", "BlankKind", "byte_level", "piece_tokenizer", "pieces", "text_tokenizer"]

CONTROLS = 40
_BYTE_CHARS = "abcdxyz/#+:.<|>_ĠĊ"
_MERGED = ("ab", "cd", "Ġa", "ĊĊ")
BlankKind = Literal["llama", "metaspace", "scored", "none"]


def byte_level(controls: Sequence[str], words: Sequence[str] = ()) -> Tokenizer:
    """``abcdxyz/#+:.<|>_`` are 0 to 15, a blank is 16 and a line end 17, ``ab`` 18, ``cd`` 19, `` a`` 20 and two line
    ends 21. ``words``, from 22 on, are taken as they are.
    """
    entries = [*_BYTE_CHARS, *_MERGED]
    merges = [(entry[0], entry[1]) for entry in _MERGED]
    tokenizer = Tokenizer(BPE({entry: index for index, entry in enumerate(entries)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    unused = [f"<|unused{index}|>" for index in range(CONTROLS - len(entries) - len(words))]
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in words])
    tokenizer.add_special_tokens([AddedToken(content, special=True) for content in (*unused, *controls)])
    return tokenizer


def pieces(controls: Sequence[str], blank: BlankKind = "llama") -> Tokenizer:
    """As in sentencepiece: ``<unk>`` is 0, a blank 1, ``abcdxyz/#+:.`` are 2 to 13, a line end is 14, `` a`` 15, ``ab``
    16, ``+++++`` 17.

    ``blank``: what puts a blank before a text that has none: a normaliser, a pre-tokenizer, or nothing.
    """
    entries = ["<unk>", "▁", *"abcdxyz/#+:.", "\n", "▁a", "ab", "+++++"]
    plus = [("+", "+"), ("++", "++"), ("++++", "+")]
    extra = ["++", "++++"]
    vocab = {entry: index for index, entry in enumerate([*entries, *extra])}
    model: BPE | Unigram = BPE(vocab, [("▁", "a"), ("a", "b"), *plus], unk_token="<unk>")
    if blank == "scored":
        scores = {"▁a": -1.5, "ab": -2.5, "+++++": -1.0, "++": -90.0, "++++": -90.0}
        model = Unigram([(entry, scores.get(entry, -2.0)) for entry in vocab], unk_id=0)
    tokenizer = Tokenizer(model)
    if blank in ("llama", "none"):
        prepend = [normalizers.Prepend("▁")] if blank == "llama" else []
        tokenizer.normalizer = normalizers.Sequence([*prepend, normalizers.Replace(" ", "▁")])
        strip = [decoders.Strip(" ", 1, 0)] if blank == "llama" else []
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), *strip])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    unused = [f"<|unused{index}|>" for index in range(CONTROLS - len(vocab))]
    tokenizer.add_special_tokens([AddedToken(content, special=True) for content in ("<unk>", *unused, *controls)])
    return tokenizer


def text_tokenizer(tokenizer: Tokenizer) -> TextTokenizer:
    """For a model with a row for each of its ids."""
    return TextTokenizer(tokenizer, {}, tokenizer.get_vocab_size())


def piece_tokenizer(controls: Sequence[str], blank: BlankKind = "llama") -> TextTokenizer:
    """``pieces``, for a model."""
    return text_tokenizer(pieces(controls, blank))
