"""Models that write words as well as bytes, so that half a word is half a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from completiond.complete.tokens import TextTokenizer
from completiond.complete.vocabulary import Vocabulary
from completiond.config import ModelConfig
from completiond.engine.load import LoadedModel, load_model
from tests.engine.random_models import make_folder
from tests.fake_model import FIM_QWEN

__all__ = ["HALVES", "SPELLINGS", "TOKENIZER", "VOCABULARY", "VOCAB_SIZE", "load_words", "word_tokenizer"]

MERGES = (
    ("r", "e"), ("re", "t"), ("v", "a"), ("va", "l"), ("u", "e"), ("val", "ue"), ("Ġ", "value"), ("d", "e"),
    ("de", "f"), ("Ġ", "re"), ("Ã", "©"), ("Ã©", "t"), ("¼", "b"), ("Ã", "¼b"),
)  # fmt: skip
"""Among them ``ét`` and ``üb``, of which ``é`` is a token of its own and ``ü`` is two."""
HALVES = ("r", "re", "v", "va", "val", " va", "d", "de", "é", "ü", "x = va", "(\n    v", "def")


def word_tokenizer(markers: Sequence[str] = FIM_QWEN) -> Tokenizer:
    """Bytes, and a few words."""
    entries = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(a + b for a, b in MERGES)]
    tokenizer = Tokenizer(BPE({entry: index for index, entry in enumerate(entries)}, list(MERGES)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in ("<|endoftext|>", *markers)])
    return tokenizer


VOCAB_SIZE = word_tokenizer().get_vocab_size()
TOKENIZER = TextTokenizer(word_tokenizer(), {}, VOCAB_SIZE)
SPELLINGS = TOKENIZER.spellings() or {}
VOCABULARY = Vocabulary(SPELLINGS)


def load_words(folder: Path, markers: Sequence[str] = FIM_QWEN) -> LoadedModel:
    """A tiny decoder of random weights that writes bytes and words."""
    loaded = load_model(
        make_folder(folder / "model", "qwen2"), ModelConfig(device="cpu", dtype="int8"), folder / "prepared",
        lambda share, what: None,
    )  # fmt: skip
    end = TOKENIZER.control_id("<|endoftext|>")
    return replace(loaded, tokenizer=word_tokenizer(markers), config={"eos_token_id": end})
