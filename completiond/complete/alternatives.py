"""Other answers at the same place, for who asks for them: each begins with another token than those before it.

The second likeliest beginning, gone on with greedily, differs from the first answer for sure and is the likeliest that
does; draws at a temperature are often the first answer again. All share what was read of the prompt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from completiond.complete.request import Completion, CompletionRequest

__all__ = ["alternatives"]

MAX_VAIN_TRIES: Final = 2
"""Beginnings that differ and yet make a text that is there already, or none: after so many there are no more."""


async def alternatives(
    complete: Callable[[CompletionRequest], Awaitable[Completion]],
    request: CompletionRequest,
    first: Completion,
    count: int,
) -> list[Completion]:
    """At most ``count`` answers to ``request`` that differ from ``first`` and from each other, the likeliest beginnings
    first. Raises what ``complete`` does.
    """
    found: list[Completion] = []
    texts, avoided = {first.text.strip()}, list(first.token_ids[:1])
    num_vain = 0
    while len(found) < count and num_vain <= MAX_VAIN_TRIES:
        other = await complete(replace(request, avoided_ids=tuple(avoided)))
        if not other.token_ids or other.token_ids[0] in avoided:
            break  # nothing to show, and no beginning to avoid
        avoided.append(other.token_ids[0])
        if other.text.strip() in texts:
            num_vain += 1
            continue
        texts.add(other.text.strip())
        found.append(other)
    return found
