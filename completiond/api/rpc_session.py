"""What one client may call, and what the daemon knows of it. Knows nothing of bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import asdict
from typing import Any, Final

from completiond import __version__
from completiond.api.rpc_answers import RpcAnswers
from completiond.api.rpc_documents import RpcDocuments
from completiond.api.rpc_frames import MAX_FRAME_BYTES
from completiond.api.rpc_params import (
    AcceptParams,
    ChangeParams,
    CloseParams,
    CompleteParams,
    HelloParams,
    OpenParams,
    StatusParams,
    read_params,
)
from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.until_loaded import until_loaded
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import UsageError
from completiond.lsp.client_name import printable_name
from completiond.lsp.host import Host

__all__ = ["PROTOCOL", "RpcSession", "Tell"]

PROTOCOL: Final = 1
"""Counted up when a client of the version before could not go on; what is only added needs no new one."""

Tell = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]
"""Sends a chunk, and waits where the client does not keep up."""


class RpcSession:
    """The state of one connection."""

    def __init__(self, host: Host, on_stop: Callable[[], None]) -> None:
        """``on_stop`` is called when the process stops on purpose."""
        self._host = host
        self.client_id = host.add_client(on_stop)
        self._client_name = ""
        self._folders: list[str] = []
        self._is_at_work = False
        self._documents = RpcDocuments(host.service, self.client_id, self._on_open)
        self._answers = RpcAnswers(host.accepts)
        self.hello_params: HelloParams | None = None
        """What the client said of itself, if it did."""

    def close(self) -> None:
        """The client has gone: forget it, and all it asked for."""
        self._host.remove_client(self.client_id)

    def hello(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``hello``. Raises UsageError for another protocol."""
        said = read_params(HelloParams, "hello", params)
        if said.protocol != PROTOCOL:
            raise UsageError(
                f"The client speaks protocol {said.protocol}, and this daemon {PROTOCOL}.",
                "Update the older of the two; `completiond stop` ends a daemon that was started before an update.",
            )
        self._documents.set_encoding(said.encoding)
        self.hello_params = said
        self._client_name = printable_name(said.client)
        self._is_at_work = True
        if said.folders != self._folders:
            self._folders = list(said.folders)
            self._host.service.set_folders(self.client_id, list(self._folders))
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "encoding": self._documents.encoding,
            "max_message_bytes": MAX_FRAME_BYTES,
        }

    def open(self, params: dict[str, Any]) -> None:
        """Answer ``open``."""
        self._is_at_work = True
        self._documents.open(read_params(OpenParams, "open", params))

    def change(self, params: dict[str, Any]) -> None:
        """Answer ``change``. After one that is wrong the document is closed: nothing is known of its text any more."""
        with self.closing_on_error(params):
            self._documents.change(read_params(ChangeParams, "change", params))

    def close_document(self, params: dict[str, Any]) -> None:
        """Answer ``close``."""
        self._documents.close(read_params(CloseParams, "close", params).document)

    def accept(self, params: dict[str, Any]) -> None:
        """Answer ``accept``."""
        said = read_params(AcceptParams, "accept", params)
        self._answers.accept(said.answer, said.text)

    def status(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``status``: as ``completiond/status`` does. Who only asks this is not one of ``clients``."""
        asks_why = read_params(StatusParams, "status", params).why
        return self._host.status(None if self._is_at_work else self.client_id, asks_why)

    def request(self, said: CompleteParams, name: object) -> CompletionRequest:
        """What to ask the service for the text as it is now, after the edits that came along. ``name``: the request's.

        Raises UsageError.
        """
        self._is_at_work = True
        sampling = SamplingParams(said.temperature, said.top_k, said.top_p, said.seed)  # may fail: before any edit
        if said.document is None:
            assert said.prefix is not None
            prefix, suffix, path = said.prefix, said.suffix or "", said.path or ""
            language, document_id = said.language, path or f"request {name}"
        else:
            document, path, position = self._documents.place(said)
            prefix, suffix = document.split(position)
            language, document_id = document.language_id, said.document
        return CompletionRequest(
            prefix=prefix,
            suffix=suffix,
            path=path,
            client_id=self.client_id,
            document_id=document_id,
            max_tokens=said.max_tokens,
            sampling=sampling,
            drafter=said.drafter,
            explain=said.explain,
            may_read_less=said.document is not None,
            language_id=language,
            client_name=self._client_name,
        )

    async def complete(self, request: CompletionRequest, waits: bool, tell: Tell | None) -> dict[str, Any]:
        """The answer to ``request``; ``waits``: until the model is loaded. ``tell`` is told of the chunks on the way.
        Raises what Service.stream does.
        """
        service = self._host.service
        if waits:
            await until_loaded(service)
        if tell is None:
            completion = await service.complete(request)
        else:
            completion = await self._stream(request, tell)
        self._host.counters.cached += completion.served_from == "cache"
        return {"answer": self._answers.add(completion.text), **asdict(completion)}

    async def _stream(self, request: CompletionRequest, tell: Tell) -> Completion:
        async with contextlib.aclosing(self._host.service.stream(request)) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return event
                await tell({"text": event.text, "spans": [asdict(span) for span in event.spans]})
        raise RuntimeError("the stream ended without a completion")

    @contextlib.contextmanager
    def closing_on_error(self, params: dict[str, Any]) -> Iterator[None]:
        """Whatever edits cannot be made: close their document, since nothing is known of its text any more."""
        try:
            yield
        except UsageError:
            name = params.get("document")
            if isinstance(name, str) and "edits" in params:
                self._documents.close(name)
            raise

    def _on_open(self, path: str) -> None:
        if self._host.settings is not None:  # for what is wrong with those of a repository, which is told at once
            self._host.settings.of_file(self.client_id, path, self._folders)
