"""Three moments of somebody editing the sample file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

__all__ = ["SAMPLE_NAME", "SCENES", "Scene", "sample_text"]

SAMPLE_NAME = "inventory.py"


@dataclass(frozen=True, slots=True)
class Scene:
    """``edits`` (pattern, replacement) are what the person has already changed; ``cursor`` has two groups: the text
    up to the cursor, and what is erased behind it for the completion to write.
    """

    title: str
    cursor: str
    edits: tuple[tuple[str, str], ...] = ()

    def split(self, text: str) -> tuple[str, str, str]:
        """The text before the cursor, the text after it, and the erased piece."""
        for pattern, replacement in self.edits:
            text = re.sub(pattern, replacement, text, flags=re.DOTALL)
        match = re.search(self.cursor, text, re.DOTALL)
        assert match is not None, f"the sample has no place for {self.title!r}"
        return text[: match.end(1)], text[match.end(2) :], match[2]


SCENES = (
    Scene(
        "A function body from its signature and the one above",
        r'(def save_items.*?"""Write items to a JSON file\."""\n    )(with open.*?)(?=\n\n\n)',
    ),
    Scene(
        "A rename half done: stock is becoming stock_by_name",
        r"(def withdraw.*?no item called \{name\}\"\)\n    )(.*?)(?=\n$)",
        # Done so far: all of restock, and the first two places in withdraw.
        tuple(
            (rf"(def {function}.*?)\bstock\b(?=[:\[])", r"\1stock_by_name")
            for function, places in (("restock", 4), ("withdraw", 2))
            for _ in range(places)
        ),
    ),
    Scene("A gap in the middle of a line", r"(return max\(items, key=)(lambda item: item\.total_price\(\))"),
)


def sample_text() -> str:
    """The sample file, line ends ``\\n``."""
    return (resources.files("completiond.demo") / "files" / SAMPLE_NAME).read_text(encoding="utf-8")
