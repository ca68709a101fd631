"""From document URIs to paths."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

__all__ = ["path_of"]


def path_of(uri: str) -> str:
    """Return the path in a ``file:`` URI (RFC 8089), or the URI itself when it names no file, as ``untitled:`` does."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return unquote(parts.path) if parts.scheme == "file" and parts.path else uri
