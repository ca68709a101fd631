"""Types of fields that may be of several kinds; a wrong value is told all of them, in words."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import ValidationError, ValidatorFunctionWrapHandler, WrapValidator

__all__ = ["MAX_PROMPTS", "PromptField", "StopField", "one_of"]

MAX_PROMPTS: Final = 16
MAX_STOPS: Final = 64
MAX_STOP_CHARS: Final = 512
"""They are looked for with each token, on the thread that all answers are written on."""


def one_of(kinds: str) -> WrapValidator:
    """A value that is none of ``kinds`` is told so, in one error for the whole field."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(f"it has to be {kinds}") from None

    return WrapValidator(check)


def _stops(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    found: tuple[str, ...] = handler([value] if isinstance(value, str) else value)
    if len(found) > MAX_STOPS:
        raise ValueError(f"it has {len(found)} strings; {MAX_STOPS} are allowed")
    if (longest := max(map(len, found), default=0)) > MAX_STOP_CHARS:
        raise ValueError(f"a string has {longest} characters; {MAX_STOP_CHARS} are allowed")
    return found


StopField = Annotated[tuple[str, ...], one_of("a string or a list of strings"), WrapValidator(_stops)]
PromptField = Annotated[
    str | list[int] | list[str | list[int]],
    one_of("a string, a list of strings, tokens (a list of whole numbers) or a list of lists of tokens"),
]
