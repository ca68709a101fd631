"""What a request sends: JSON of a known form. Fields that are not known are passed over, as all servers do."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from completiond.errors import UsageError

__all__ = ["Body", "BodyError", "read_body"]

READ_S: Final = 30.0
"""A body that is not there after so long does not come."""

BodyT = TypeVar("BodyT", bound="Body")


class BodyError(UsageError):
    """``param`` is what is wrong, by name; ``status`` what it is answered with."""

    def __init__(self, message: str, advice: str = "", param: str | None = None, status: int = 400) -> None:
        super().__init__(message, advice, param)
        self.status = status


class Body(BaseModel):
    """A JSON object. ``null`` is the same as nothing."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value


async def read_body(request: web.Request, kind: type[BodyT]) -> BodyT:
    """Read it as ``kind``. Raises BodyError, which quotes nothing of it, and TimeoutError."""
    async with asyncio.timeout(READ_S):
        data = await request.read()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BodyError("The body is not JSON.", "Send one JSON object.") from None
    if not isinstance(value, dict):
        raise BodyError("The body is not a JSON object.", "Send one JSON object.")
    try:
        return kind.model_validate(_whole(value) if b"\\ud" in data.lower() else value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        param = _name_of(first["loc"], value, is_missing=first["type"] == "missing")
        what = first["msg"].removeprefix("Value error, ")
        raise BodyError(f"{param}: {what}.", "docs/api.md has the fields.", param) from None


def _name_of(loc: tuple[int | str, ...], value: Any, is_missing: bool) -> str:
    """Where in ``value`` it is; between the names of fields stand those of types that were tried."""
    *parts, last = loc
    named = []
    for part in (*parts, *(() if is_missing else (last,))):
        if (isinstance(part, int) and isinstance(value, list) and part < len(value)) or (
            isinstance(value, dict) and part in value
        ):
            value = value[part]
        else:
            continue
        named.append(str(part))
    return ".".join([*named, str(last)] if is_missing else named) or str(loc[0])  # sent by its other name


def _whole(value: Any) -> Any:
    """With a mark in the place of half characters, which JSON can hold and no tokenizer reads."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return {name: _whole(one) for name, one in value.items()} if isinstance(value, dict) else value
