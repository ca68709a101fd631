"""What each reason code says, in words: why an answer ended where it did, or why there was none.

The code of an answer is its stop reason (request.py). A request that had no answer has one of SUPERSEDED, CANCELLED,
LOADING, or ERROR and the error's kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from completiond import errors
from completiond.complete.request import BLANK, EXCLUDED, OFF
from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError, NotReadyError, RemoteDownError

__all__ = ["CANCELLED", "ERROR", "INTERNAL", "LOADING", "REASONS", "SUPERSEDED", "meaning_of", "reason_of"]

SUPERSEDED: Final = "superseded"
CANCELLED: Final = "cancelled"
LOADING: Final = "loading"
ERROR: Final = "error: "
"""Followed by the class of a CompletiondError, as clients get it in ``data.type``, or by ``internal``."""
INTERNAL: Final = f"{ERROR}internal"

_ORIGIN: Final = "`completiond config show --origin FILE` tells where, in your settings or the repository's"

_ENDS: Final = {
    "eos": "The model ended the answer by itself.",
    "length": "The answer became as long as it may be, which completion.max_tokens or the request says.",
    "suffix": "The answer came to what stands behind the cursor already.",
    "line": "One line was all that was missing at the cursor, or all that completion.multiline allows.",
    "block": "The next line would have been outside the block that the cursor is in.",
    "repeat": "The model began to repeat a line.",
    "unsure": "The model was not sure of the next line.",
    "stop": "The answer came to one of the strings that the request ends it at.",
    "indent": "The next line would have been less deep than the request wants.",
    "time": "The answer took as long as the request wants to wait for it.",
    "deadline": "These lines were whole when completion.deadline_ms was over; the next request gets the rest.",
}

_SILENCE: Final = {
    "empty": "The model wrote nothing worth showing, or only what stands there already.",
    BLANK: "There is nothing in the file to go by, and prompt.context_tokens has the model told of no other.",
    "remote": "A remote engine gives one suggestion at a place; alternatives need a model on this machine.",
    "secret": "The model wrote asterisks, which it reads in the place of secrets.",
    "confidence": "The model was less sure of the first line than completion.min_confidence wants; a lower value shows"
    " more, and more that is wrong.",
    f"{OFF}completion.enabled": f"Suggestions are turned off; {_ORIGIN}.",
    f"{OFF}completion.disabled_languages": f"Suggestions are turned off for this language; {_ORIGIN}.",
    f"{OFF}completion.in_comments": f"The cursor is in a comment, and suggestions are turned off there; {_ORIGIN}.",
    f"{OFF}completion.in_strings": f"The cursor is in a string, and suggestions are turned off there; {_ORIGIN}.",
    f"{EXCLUDED}secret_name": "The name of the file, or of a folder it is in, looks like one that holds secrets; such"
    " files are never read, and no setting changes that.",
    f"{EXCLUDED}gitignore": "A .gitignore, or .git/info/exclude, names the file; exclude.gitignore = false has such"
    " files read.",
    f"{EXCLUDED}completiondignore": "A .completiondignore names the file; take the line out there to have it read.",
    f"{EXCLUDED}config_glob": f"A pattern of exclude.globs names the file; {_ORIGIN}.",
    f"{EXCLUDED}repository_glob": "A pattern of exclude.globs in a .completiond.toml of the repository names the file;"
    " `completiond config show PATH` shows it.",
}

_NO_ANSWER: Final = {
    SUPERSEDED: "A newer request for the same document took this one's place, or the document was closed.",
    CANCELLED: "The client took the request back, or went away, before the answer was there.",
    LOADING: "The model was not loaded yet; `completiond status` shows how far it is.",
    INTERNAL: "completiond failed, which is a defect; its log says where. Please report it.",
}

_ERRORS: Final = {
    f"{ERROR}{name}": (getattr(errors, name).__doc__ or name).partition("\n")[0] for name in errors.__all__
}

REASONS: Final[Mapping[str, str]] = MappingProxyType({**_ENDS, **_SILENCE, **_NO_ANSWER, **_ERRORS})
"""By code, what it means and, where the user can do something, what."""


def meaning_of(code: str) -> str:
    """``code`` in one sentence; empty for one that is not known here, as a newer daemon may have."""
    return REASONS.get(code, "")


def reason_of(error: BaseException, is_loading: bool = False) -> tuple[str, str]:
    """The code for a request that ended with ``error``, and its meaning: of our own errors, what they say themselves.

    ``is_loading``: whether the model was being loaded when the request came. The message of any other error is left
    out, since it may quote the document.
    """
    if isinstance(error, SupersededError):
        code = SUPERSEDED
    elif isinstance(error, NotReadyError) and is_loading and not isinstance(error, RemoteDownError):
        code = LOADING
    elif isinstance(error, CompletiondError):
        return f"{ERROR}{type(error).__name__}", str(error)
    elif isinstance(error, Exception):
        code = INTERNAL
    else:  # a task that was cancelled, a stream that was closed
        code = CANCELLED
    return code, REASONS[code]
