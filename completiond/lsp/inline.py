"""``textDocument/inlineCompletion`` (LSP 3.18), and the answer so far for clients that can show it while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from completiond.complete.request import Completion, CompletionRequest, Span
from completiond.complete.service_protocol import SupersededError
from completiond.errors import NotReadyError
from completiond.logs import describe
from completiond.lsp.protocol import InlineCompletionCall
from completiond.lsp.selected import spot_of
from completiond.lsp.uris import path_of

if TYPE_CHECKING:
    from completiond.lsp.documents import Snapshot
    from completiond.lsp.server import CompletionServer

__all__ = ["PARTIAL", "inline_completion", "request_for", "takes_partial"]

log = logging.getLogger(__name__)

PARTIAL: Final = "completiond/partialInlineCompletion"
"""Notification: the beginning of the item that a request under way will be answered with."""


def takes_partial(client_capabilities: Mapping[str, Any]) -> bool:
    """Whether the client asked for ``PARTIAL``: ``experimental.completiond.partialInlineCompletion`` is true.

    LSP has no partial results for inline completion, so that clients have to know of ours.
    """
    experimental = client_capabilities.get("experimental")
    ours = experimental.get("completiond") if isinstance(experimental, Mapping) else None
    return isinstance(ours, Mapping) and ours.get("partialInlineCompletion") is True


async def inline_completion(ls: CompletionServer, call: InlineCompletionCall) -> types.InlineCompletionList | None:
    """Answer ``textDocument/inlineCompletion`` (LSP 3.18).

    Null means that a newer request has taken over: Neovim then keeps what the newer one showed. An empty list clears
    what is shown. There is no error but -32800 after a cancellation, because VS Code shows a popup for any other.
    """
    counters = ls.host.counters
    try:
        items = await _items(ls, call)
    except SupersededError:
        counters.superseded += 1
        return None
    except asyncio.CancelledError:
        raise
    except NotReadyError as error:
        log.info("No completion: %s", error)
        items = []
    except Exception as error:
        log.error("No completion: %s", describe(error))
        items = []
    if items:
        counters.answered += 1
    else:
        counters.empty += 1
    return types.InlineCompletionList(items=items)


async def _items(ls: CompletionServer, call: InlineCompletionCall) -> list[types.InlineCompletionItem]:
    document = call.document
    if document is None:
        log.info("No completion: the document is not open")
        return []
    spot = spot_of(document, call.params)
    # What is told on the way begins at the cursor; behind what the editor has selected there is only the whole.
    partial = takes_partial(ls.protocol.client_capabilities_json) and not spot.selected
    # Who is told needs no deadline.
    request = request_for(ls, document, (spot.prefix, spot.suffix), in_lines=not partial)
    if partial:
        completion = await _told_on_the_way(ls, request, document, spot.range.start)
    else:
        completion = await ls.host.service.complete(request)
    ls.host.counters.cached += completion.served_from == "cache"
    if not completion.text:
        return []
    completions = [completion]
    if call.params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked:
        completions += await ls.host.service.alternatives(request, completion)
    return [spot.item(one.text) for one in completions]


def request_for(
    ls: CompletionServer, document: Snapshot, sides: tuple[str, str], *, in_lines: bool
) -> CompletionRequest:
    """What an editor asks the service for between the two ``sides`` of a document's text; ``in_lines`` as in
    CompletionRequest.
    """
    prefix, suffix = sides
    return CompletionRequest(
        prefix=prefix,
        suffix=suffix,
        path=path_of(document.uri),
        client_id=ls.client_id,
        document_id=document.uri,
        in_lines=in_lines,
        may_read_less=True,
        language_id=document.language_id,
        client_name=ls.client_name,
    )


async def _told_on_the_way(
    ls: CompletionServer, request: CompletionRequest, document: Snapshot, position: types.Position
) -> Completion:
    """Each notification has all of the text so far, so that one that is lost, or comes late, does no harm."""
    place = {
        "textDocument": {"uri": document.uri, "version": document.version},
        "position": {"line": position.line, "character": position.character},
    }
    spans: list[Span] = []
    async with contextlib.aclosing(ls.host.service.stream(request)) as events:
        async for event in events:
            if isinstance(event, Completion):
                return event
            spans += event.spans
            if not event.text:  # nothing new to show
                continue
            text = "".join(span.text for span in spans)
            ls.protocol.notify(PARTIAL, {**place, "insertText": text, "spans": [asdict(span) for span in spans]})
    raise RuntimeError("the stream ended without a completion")
