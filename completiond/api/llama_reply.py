"""Answers as llama.cpp's server gives them, and its way to leave most of one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aiohttp import web

from completiond.api.about import generation_settings, model_id
from completiond.api.context import service_of
from completiond.api.replies import Json
from completiond.complete.request import Completion

__all__ = ["chunk_reply", "final_reply", "with_fields"]

_STOP_TYPES: Final = {"length": "limit", "time": "limit", "indent": "limit", "stop": "word"}
"""All others: the model, or a rule of ours, found the answer complete."""


def chunk_reply(index: int, text: str) -> Json:
    """A part of an answer that is being written."""
    return {"index": index, "content": text, "tokens": [], "stop": False}


def final_reply(
    request: web.Request, index: int, found: Completion, described: Json, ignored: Sequence[str], with_tokens: bool
) -> Json:
    """A whole answer. ``described``: its prompt, and how it was asked for. ``stop_reason`` is ours (reasons.py)."""
    state = service_of(request).state
    settings = {name: value for name, value in described.items() if name != "prompt"}
    num_written = len(found.token_ids)
    reply: Json = {
        "index": index,
        "content": found.text,
        "tokens": list(found.token_ids) if with_tokens else [],
        "id_slot": 0,
        "stop": True,
        "model": model_id(state),
        "tokens_predicted": num_written,
        "tokens_evaluated": found.prompt_tokens,
        "generation_settings": generation_settings(state, **settings),
        "prompt": described["prompt"],
        "has_new_line": "\n" in found.text,
        "truncated": False,
        "stop_type": _STOP_TYPES.get(found.stop_reason, "eos"),
        "stopping_word": found.stop_word,
        "tokens_cached": found.prompt_tokens + num_written,
        "timings": _timings(found),
        "stop_reason": found.stop_reason,
    }
    return {**reply, "ignored": list(ignored)} if ignored else reply


def _timings(found: Completion) -> Json:
    num_written = len(found.token_ids)
    num_read = max(0, found.prompt_tokens - found.cached_tokens - found.moved_tokens)
    write_ms = found.ms_per_token * max(0, num_written - 1)
    return {
        "cache_n": found.cached_tokens,
        "prompt_n": num_read,
        "prompt_ms": found.ttft_ms,
        "prompt_per_token_ms": found.ttft_ms / num_read if num_read else 0.0,
        "prompt_per_second": 1e3 * num_read / found.ttft_ms if found.ttft_ms else 0.0,
        "predicted_n": num_written,
        "predicted_ms": write_ms,
        "predicted_per_token_ms": found.ms_per_token,
        "predicted_per_second": 1e3 / found.ms_per_token if found.ms_per_token else 0.0,
        "draft_n": found.drafted,
        "draft_n_accepted": found.accepted,
    }


def with_fields(reply: Json, fields: Sequence[str] | None) -> Json:
    """Only ``fields`` of it: ``a/b`` is what is in ``a`` under ``b``, and keeps that name. Others are left out."""
    if fields is None:
        return reply
    found: Json = {}
    for field in fields:
        value: object = reply
        for part in field.split("/"):
            value = value.get(part, _NOTHING) if isinstance(value, dict) else _NOTHING
        if value is not _NOTHING:
            found[field] = value
    return found


_NOTHING: Final = object()
