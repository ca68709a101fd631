"""Python tokens by line, and their shapes."""

from __future__ import annotations

import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["COMMON_NAMES", "Token", "TokenKind", "are_formatted_alike", "split_lines", "tokens_by_line", "words"]

TokenKind = Literal["name", "keyword", "number", "string", "text", "comment", "op"]
"""``text`` is a part of a string that goes over several lines."""

_KINDS: Final[dict[str, TokenKind]] = {
    "NAME": "name",
    "NUMBER": "number",
    "STRING": "string",
    "COMMENT": "comment",
    "OP": "op",
    "ERRORTOKEN": "op",
}
_WORD: Final = re.compile(r"\w+|[^\w\s]")

COMMON_NAMES: Final = frozenset(name for kind in (dict, list, set, str, bytes) for name in dir(kind))
"""Names that are mostly not the project's own: two files that have one in common need not be about the same thing."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token, or the part of a string that is on one line."""

    kind: TokenKind
    text: str

    @property
    def shape(self) -> str:
        """What is left when names and values do not matter: keywords and operators stay, the rest is its kind."""
        return self.text if self.kind in ("keyword", "op") else self.kind


def split_lines(text: str) -> tuple[str, ...]:
    """Lines with their ends. Only ``\\n`` ends one: str.splitlines would break at form feeds too."""
    lines = text.split("\n")
    return (*(f"{line}\n" for line in lines[:-1]), *((lines[-1],) if lines[-1] else ()))


def tokens_by_line(lines: Sequence[str], wanted: Container[int]) -> Mapping[int, tuple[Token, ...]] | None:
    """The tokens on each of the ``wanted`` lines, counted from 0; white space is none. None when it is not Python."""
    found: dict[int, list[Token]] = defaultdict(list)
    source = iter(lines)
    try:
        for name, start, end in _whole_strings(tokenize.generate_tokens(lambda: next(source, ""))):
            if (kind := _KINDS.get(name)) is None:
                continue
            for row in range(start[0] - 1, end[0]):
                if row in wanted:
                    first = start[1] if row == start[0] - 1 else 0
                    last = end[1] if row == end[0] - 1 else None
                    text = lines[row][first:last].strip()
                    if start[0] < end[0]:
                        kind = "text"
                    elif kind == "name" and keyword.iskeyword(text):
                        kind = "keyword"
                    if text:
                        found[row].append(Token(kind, text))
    except (tokenize.TokenError, SyntaxError):
        return None
    return {row: tuple(tokens) for row, tokens in found.items()}


def words(tokens: Iterable[Token]) -> Iterator[Token]:
    """The same tokens with strings and comments taken apart into words and signs, which keep the kind."""
    for token in tokens:
        if token.kind in ("string", "text", "comment"):
            yield from (Token(token.kind, word) for word in _WORD.findall(token.text))
        else:
            yield token


def are_formatted_alike(old: Iterable[Token], new: Iterable[Token]) -> bool:
    """Say whether a formatter could have made one from the other: line ends, indentation, quotes, last commas."""
    return _plain(old) == _plain(new)


def _plain(tokens: Iterable[Token]) -> list[str]:
    texts = [token.text.replace("'", '"') if token.kind == "string" else token.text for token in tokens]
    return [
        text for text, after in zip(texts, [*texts[1:], ""], strict=False) if text != "," or after not in (*")]}", "")
    ]


def _whole_strings(
    tokens: Iterable[tokenize.TokenInfo],
) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Name, start and end of each token. From Python 3.12 on formatted strings come in parts: here each is one string,
    as before, so that every version finds the same.
    """
    depth, outer_start = 0, (0, 0)
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            if depth == 0:
                outer_start = token.start
            depth += 1
        elif name in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if depth == 0:
                yield "STRING", outer_start, token.end
        elif depth == 0:
            yield name, token.start, token.end
