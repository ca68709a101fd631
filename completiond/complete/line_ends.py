"""A document's own line ends: inside, there is one kind."""

from __future__ import annotations

from completiond.complete.request import Chunk, CompletionRequest, Span

__all__ = ["line_end_of", "with_line_end", "with_line_feeds"]


def with_line_feeds(text: str) -> str:
    """Models, dictionaries and stop rules see one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def line_end_of(request: CompletionRequest) -> str:
    """The document's own line end: the nearest one before the cursor, else the first after it."""
    newline = request.prefix.rfind("\n")
    if newline >= 0:
        return "\r\n" if request.prefix[newline - 1 : newline] == "\r" else "\n"
    newline = request.suffix.find("\n")
    return "\r\n" if newline > 0 and request.suffix[newline - 1] == "\r" else "\n"


def with_line_end(chunk: Chunk, line_end: str) -> Chunk:
    """``chunk`` as the document has it."""
    if line_end == "\n":
        return chunk
    spans = tuple(Span(span.text.replace("\n", line_end), span.source) for span in chunk.spans)
    return Chunk(chunk.text.replace("\n", line_end), spans)
