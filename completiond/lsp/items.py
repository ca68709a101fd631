"""``textDocument/completion`` for clients without inline completion that ask for it: one item, behind all others."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from completiond.complete.service_protocol import SupersededError
from completiond.errors import NotReadyError
from completiond.logs import describe
from completiond.lsp.inline import request_for
from completiond.lsp.protocol import ItemsCall

if TYPE_CHECKING:
    from completiond.lsp.server import CompletionServer

__all__ = ["completion_items"]

log = logging.getLogger(__name__)

_LAST: Final = "\uffff"
"""Sorts behind whatever other servers say."""
_MAX_LABEL_CHARS: Final = 80
_WORD_BEFORE: Final = re.compile(r"\w*\Z")


async def completion_items(ls: CompletionServer, call: ItemsCall) -> types.CompletionList:
    """Answer ``textDocument/completion`` (LSP 3.17). There is no error but -32800 after a cancellation.

    The list is never complete, so that clients ask again with the next key.
    """
    counters = ls.host.counters
    items: list[types.CompletionItem] = []
    try:
        items = await _items(ls, call)
    except SupersededError:
        counters.superseded += 1
        return types.CompletionList(is_incomplete=True, items=[])
    except asyncio.CancelledError:
        raise
    except NotReadyError as error:
        log.info("No completion: %s", error)
    except Exception as error:
        log.error("No completion: %s", describe(error))
    if items:
        counters.answered += 1
    else:
        counters.empty += 1
    return types.CompletionList(is_incomplete=True, items=items)


async def _items(ls: CompletionServer, call: ItemsCall) -> list[types.CompletionItem]:
    document = call.document
    if document is None or call.position is None:
        log.info("No completion: the document is not open")
        return []
    request = request_for(ls, document, document.split(call.position), in_lines=True)
    completion = await ls.host.service.complete(request)
    ls.host.counters.cached += completion.served_from == "cache"
    text = completion.text
    if not text.strip():
        return []
    typed = _WORD_BEFORE.search(request.prefix)
    word = typed[0] if typed else ""
    first_line = text.strip().partition("\n")[0].rstrip()
    cursor = document.position_at(len(request.prefix))
    position = types.Position(cursor.line, cursor.character)
    return [
        types.CompletionItem(
            label=first_line[:_MAX_LABEL_CHARS],
            kind=types.CompletionItemKind.Text,
            detail="completiond",
            documentation=text,
            preselect=False,
            sort_text=_LAST,
            filter_text=word + text.lstrip(),  # what clients compare with is the word before the cursor
            insert_text_format=types.InsertTextFormat.PlainText,
            insert_text_mode=types.InsertTextMode.AsIs,
            text_edit=types.TextEdit(types.Range(position, position), text),
        )
    ]
