"""The list of models that servers of OpenAI's API have (GET /models)."""

from __future__ import annotations

import json

__all__ = ["owners_of"]


def owners_of(text: str) -> dict[str, str] | None:
    """Who owns each model, by its name, in the list's order; None for what is no list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list):
        return None
    models = (one for one in data if isinstance(one, dict) and isinstance(one.get("id"), str))
    return {one["id"]: str(one.get("owned_by", "")) for one in models}
