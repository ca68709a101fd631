"""What is left of an answer when its beginning, or its end, stands in the document already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from completiond.complete.request import Completion, ServedFrom, Span

__all__ = ["beginning_of", "rest_of", "spans_behind"]


def spans_behind(spans: Sequence[Span], num_chars: int) -> tuple[Span, ...]:
    """``spans`` without their first ``num_chars`` characters."""
    rest: list[Span] = []
    for span in spans:
        if num_chars < len(span.text):
            rest.append(Span(span.text[max(0, num_chars) :], span.source))
        num_chars -= len(span.text)
    return tuple(rest)


def rest_of(completion: Completion, num_typed: int, ttft_ms: float, served_from: ServedFrom) -> Completion:
    """``completion`` for a cursor ``num_typed`` characters on, for which its first text came after ``ttft_ms``.

    One from the cache took no pass of the model. Where something was typed, ``token_ids`` is empty: the rest need not
    begin at a token's boundary.
    """
    rest = replace(
        completion,
        text=completion.text[num_typed:],
        spans=spans_behind(completion.spans, num_typed),
        token_ids=completion.token_ids if num_typed == 0 else (),
        ttft_ms=ttft_ms,
        served_from=served_from,
    )
    if served_from == "cache":
        rest = replace(
            rest, cached_tokens=rest.prompt_tokens, ms_per_token=0.0, passes=0, drafted=0, accepted=0, by_drafter={}
        )
    return rest


def beginning_of(completion: Completion, num_chars: int) -> Completion:
    """The first ``num_chars`` characters of ``completion``; without ``token_ids``, as above."""
    spans: list[Span] = []
    left = num_chars
    for span in completion.spans:
        if left > 0:
            spans.append(Span(span.text[:left], span.source))
        left -= len(span.text)
    return replace(completion, text=completion.text[:num_chars], spans=tuple(spans), token_ids=())
