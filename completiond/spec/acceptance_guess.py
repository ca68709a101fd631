"""How likely a copied token is right, before this machine's user has shown it."""

from __future__ import annotations

from typing import Final

__all__ = ["acceptance_guess"]

# By how much agrees before the draft: 0, 1, 2, 3, up to 7, up to 15, more. Shares of right guesses over edits between
# releases (docs/log.md).
_PROMPT: Final = (0.3, 0.3, 0.45, 0.58, 0.76, 0.87, 0.92)
_FILE: Final = (0.25, 0.25, 0.28, 0.35, 0.5, 0.68, 0.8)
_TEMPLATE: Final = (0.4, 0.3, 0.5, 0.6, 0.65, 0.78, 0.93)
_REPLACED_PART: Final = 0.1
_BEHIND_A_RIGHT_ONE: Final = (0.65, 0.65, 0.7, 0.75, 0.85, 0.9, 0.95)


def acceptance_guess(origin: str, match: int, depth: int) -> float:
    """Chance that guess ``depth`` of a draft is right if those before it are.

    ``match`` tokens (for a template: parts of text) agree before the draft; ``origin`` as in ``Draft``.
    """
    bucket = match if match < 4 else 4 if match < 8 else 5 if match < 16 else 6
    if depth:
        return _BEHIND_A_RIGHT_ONE[bucket]
    source, _, found = origin.partition(", ")
    if found == "replaces":
        return _REPLACED_PART
    if found == "agrees":
        return _TEMPLATE[bucket]
    return _PROMPT[bucket] if source in ("prompt", "near") else _FILE[bucket]
