"""Tokenizers out of GGUF files against transformers' own conversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from completiond.engine.gguf_source import GGUFSource
from completiond.errors import ModelCorruptError

TEXTS = (
    "def f(x):\n\treturn x ** 2  # 12345 items, don't\r\n\n\n   tail  ",
    "naïve café — 漢字かな交じり文 🎉👩‍👩‍👧 e\u0301 \u2028 \x0c",
    "<html>\n  <b class='x'>&amp;</b>\n</html>\n\n\t\t}\n];",
    "x=1;y=22;z=333;" * 5 + " " * 40 + "\n" * 5,
)


@pytest.mark.model
@pytest.mark.parametrize("model", ["tiny_model", "default_model"])
def test_tokenizer_equals_the_library_s_conversion(model: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path: Path = request.getfixturevalue(model)
    GGUFSource(path).save_tokenizer(tmp_path / "tokenizer.json")
    from tokenizers import Tokenizer

    own = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    auto: Any = transformers.AutoTokenizer
    theirs = auto.from_pretrained(path.parent, gguf_file=path.name)
    for text in (*TEXTS, Path(__file__).read_text(encoding="utf-8")):
        ids = own.encode(text, add_special_tokens=False).ids
        assert ids == theirs(text, add_special_tokens=False)["input_ids"]
        assert own.decode(ids) == theirs.decode(ids)


def test_what_is_not_a_gguf_file_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, b"PK\x03\x04 not a model"):
        file = tmp_path / "model.gguf"
        file.write_bytes(content)
        with pytest.raises(ModelCorruptError, match="not a complete GGUF file"):
            GGUFSource(file)
