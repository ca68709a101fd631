"""The examples in docs/protocol.md."""

from __future__ import annotations

import re

from tests.e2e.harness import ROOT


def example(language: str, number: int = 0) -> str:
    """The code of the block in ``language`` that is ``number`` of its kind, from 0."""
    text = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return blocks[number]
