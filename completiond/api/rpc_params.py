"""The parameters of each method, as clients send them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from completiond.api.fields import one_of
from completiond.errors import UsageError
from completiond.lsp.text import PositionEncoding
from completiond.spec.drafter_names import DrafterChoice

__all__ = [
    "AcceptParams",
    "CancelParams",
    "ChangeParams",
    "CloseParams",
    "CompleteParams",
    "EditParams",
    "HelloParams",
    "OpenParams",
    "PositionParams",
    "RequestName",
    "StatusParams",
    "read_params",
]


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the string is not UTF-8") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
Name = Annotated[Text, Field(max_length=4096)]
RequestName = Annotated[
    Annotated[int, Field(ge=0, lt=2**53)] | Annotated[str, Field(max_length=100)],
    one_of("a whole number from 0 to 2^53 - 1 or a string of 100 characters at most"),
]
"""How a request is called when it is cancelled, or told of: the client's own name, or else the id of its message."""
Whole = Annotated[int, Field(ge=0, lt=2**53)]


class _Params(BaseModel):
    # Strict: "1" is no number, and a parameter that we do not know is a mistake of the client that it should hear of.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PositionParams(_Params):
    """``line`` from 0, ``character`` in units of the connection's encoding from the start of the line."""

    line: Whole
    character: Whole


class RangeParams(_Params):
    """From ``start`` up to ``end``."""

    start: PositionParams
    end: PositionParams


class EditParams(_Params):
    """``text`` takes the place of ``range``, or of the whole document where there is none. As in LSP."""

    text: Text
    range: RangeParams | None = None


class HelloParams(_Params):
    """Who the client is and what it counts in. ``notify``: how notifications reach a client that is itself called by
    a fixed set of methods, as Neovim is: ``[method, first argument]``.
    """

    protocol: int
    client: Annotated[str, Field(max_length=200)] = ""
    encoding: PositionEncoding = "utf-8"
    folders: Annotated[list[Name], Field(max_length=1000)] = []
    errors: Literal["list", "text"] = "list"
    notify: Annotated[list[Name], Field(min_length=2, max_length=2)] | None = None


class OpenParams(_Params):
    """A document's whole text. ``path``: where it is, if its name does not say."""

    document: Name
    text: Text
    path: Name | None = None
    language: Annotated[str, Field(max_length=100)] = ""
    version: Whole = 0


class ChangeParams(_Params):
    """Edits of an open document, each made in what the one before it left."""

    document: Name
    edits: list[EditParams]
    version: Whole = 0


class CloseParams(_Params):
    """A document to forget."""

    document: Name


class CompleteParams(_Params):
    """A place, by ``document`` and ``position`` or as whole text in ``prefix`` and ``suffix``, and how to complete."""

    document: Name | None = None
    position: PositionParams | None = None
    edits: list[EditParams] = []
    version: Whole | None = None
    prefix: Text | None = None
    suffix: Text | None = None
    path: Name | None = None
    language: Annotated[str, Field(max_length=100)] = ""
    max_tokens: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    temperature: float = 0.0
    top_k: Whole = 0
    top_p: float = 1.0
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    drafter: DrafterChoice = "auto"
    explain: bool = False
    wait_until_ready: bool = False
    request: RequestName | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.document is not None:
            if self.position is None:
                raise ValueError("a document needs a position")
            if not (self.prefix is self.suffix is self.path is None) or self.language:
                raise ValueError("with a document go neither prefix, suffix, path nor language")
        else:
            if self.prefix is None:
                raise ValueError("a document or a prefix is needed")
            if self.position is not None or self.edits or self.version is not None:
                raise ValueError("position, edits and version go with a document")
        return self


class CancelParams(_Params):
    """A request to give up."""

    request: RequestName


class AcceptParams(_Params):
    """The user took an answer, or the beginning of it that is ``text``."""

    answer: Whole
    text: Text | None = None


class StatusParams(_Params):
    """``why``: with the last requests."""

    why: bool = False


P = TypeVar("P", bound=BaseModel)


def read_params(kind: type[P], method: str, params: dict[str, Any]) -> P:
    """``params`` as ``kind`` has them. Raises UsageError, which says what is wrong and quotes no value."""
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part)[:60] for part in first["loc"]) or "the parameters"
        what = first["msg"].removeprefix("Value error, ").rstrip(".")
        if first["type"] == "extra_forbidden":
            what = "there is no such parameter"
        raise UsageError(
            f"{method}: {where}: {what}.", f"It takes {', '.join(sorted(kind.model_fields))}; see docs/protocol.md."
        ) from None
