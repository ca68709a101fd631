"""What the cursor is in: a comment, a string, or neither. Pygments knows the languages."""

from __future__ import annotations

from typing import Final, Literal

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Token, _TokenType, is_token_subtype
from pygments.util import ClassNotFound

__all__ = ["Surroundings", "surroundings_of"]

Surroundings = Literal["comment", "string", ""]
MAX_CHARS: Final = 1 << 16
MAX_CHARS_BEHIND: Final = 1 << 12
"""So much text around the cursor is looked at. What begins or ends farther away is taken for code."""
_CURSOR: Final = "\ue000"
"""Stands where the cursor is; no language has a word that begins with it."""
_NAMES: Final = {"shellscript": "bash", "javascriptreact": "jsx", "typescriptreact": "tsx", "plaintext": "text"}
"""Of LSP's names, those that Pygments does not know."""


def surroundings_of(prefix: str, suffix: str, language: str, path: str) -> Surroundings:
    """``language`` is LSP's name, or empty; then the file's name says which it is. Neither known: "".

    A documentation string counts as a comment.
    """
    if (lexer := _lexer(language, path)) is None:
        return ""
    near = prefix[-MAX_CHARS:]
    text = near + _CURSOR + suffix[:MAX_CHARS_BEHIND] + "\n"  # comments up to a line's end need one
    tokens = lexer.get_tokens_unprocessed(text)
    kind: _TokenType = next((kind for start, kind, piece in tokens if start + len(piece) > len(near)), Token)
    if is_token_subtype(kind, Token.Comment) or is_token_subtype(kind, Token.Literal.String.Doc):
        return "comment"
    return "string" if is_token_subtype(kind, Token.Literal.String) else ""


def _lexer(language: str, path: str) -> Lexer | None:
    name = path.rpartition("/")[2]
    try:
        if language:
            return get_lexer_by_name(_NAMES.get(language, language))
        return get_lexer_for_filename(name) if name else None
    except ClassNotFound:
        return None
