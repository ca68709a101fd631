"""Line ends: models, dictionaries and stop rules see one kind, a document gets its own back."""

from __future__ import annotations

from collections.abc import Sequence

from completiond.complete.request import Chunk, CompletionRequest, Span

__all__ = ["line_end_of", "spans_with", "with_line_end", "with_line_feeds"]


def with_line_feeds(text: str) -> str:
    """``text`` with line ends ``\\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def line_end_of(request: CompletionRequest) -> str:
    """The document's own line end: the nearest one before the cursor, else the first after it."""
    newline = request.prefix.rfind("\n")
    if newline >= 0:
        return "\r\n" if request.prefix[newline - 1 : newline] == "\r" else "\n"
    newline = request.suffix.find("\n")
    return "\r\n" if newline > 0 and request.suffix[newline - 1] == "\r" else "\n"


def with_line_end(chunk: Chunk, line_end: str) -> Chunk:
    """``chunk``, whose line ends are ``\\n``, with ``line_end``."""
    if line_end == "\n":
        return chunk
    return Chunk(chunk.text.replace("\n", line_end), spans_with(chunk.spans, line_end))


def spans_with(spans: Sequence[Span], line_end: str) -> tuple[Span, ...]:
    """``spans``, whose line ends are ``\\n``, with ``line_end``."""
    return tuple(Span(span.text.replace("\n", line_end), span.source) for span in spans)
