"""What the editor's own list of completions offers at the cursor, as if it had been accepted (LSP 3.18
"SelectedCompletionInfo"): a suggestion goes on behind it, or does not fit the list.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types

from completiond.lsp.documents import Snapshot

__all__ = ["Spot", "spot_of"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a suggestion goes: ``prefix`` and ``suffix`` are the whole text around it, and it takes the place of
    ``range``, with ``selected`` before it.
    """

    prefix: str
    suffix: str
    range: types.Range
    selected: str = ""

    def item(self, text: str) -> types.InlineCompletionItem:
        """The suggestion ``text``."""
        return types.InlineCompletionItem(insert_text=self.selected + text, range=self.range)


def spot_of(document: Snapshot, params: types.InlineCompletionParams) -> Spot:
    """At the cursor; or behind what is selected, if that is in the cursor's line and takes the place of text at it."""
    prefix, suffix = document.split(params.position)
    cursor_chars = len(prefix)
    if (selected := params.context.selected_completion_info) is not None and "\n" not in selected.text:
        start_chars, end_chars = map(document.offset_at, (selected.range.start, selected.range.end))
        replaced = document.text.slice(start_chars, end_chars)
        if start_chars <= cursor_chars <= end_chars and "\n" not in replaced:
            return Spot(
                prefix[:start_chars] + selected.text,
                suffix[end_chars - cursor_chars :],
                _range(document, start_chars, end_chars),
                selected.text,
            )
    # An empty range: Neovim draws a non-empty one over the text to the right.
    return Spot(prefix, suffix, _range(document, cursor_chars, cursor_chars))


def _range(document: Snapshot, start_chars: int, end_chars: int) -> types.Range:
    start, end = document.position_at(start_chars), document.position_at(end_chars)
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
