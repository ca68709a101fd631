"""A server that speaks OpenAI's completions as the engine (POST /completions with ``stream``, GET /models).

All of it runs on the engine's thread, in an event loop of its own that turns only while something is asked. The thread
is given back every few milliseconds of waiting, so that a request nobody wants any more is given up at once, and its
connection with it, by which servers notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator, Mapping
from typing import Any, Final, TypeVar

import httpx

from completiond import __version__
from completiond.engine.event_stream import MAX_EVENT_BYTES, EventStream
from completiond.engine.model_list import owners_of
from completiond.engine.portion import FAILED, Portion, portion_of
from completiond.engine.remote_address import RemoteAddress
from completiond.engine.remote_errors import error_of_failure, error_of_status, is_worth_a_retry, not_ours
from completiond.errors import CompletiondError, RemoteDownError

__all__ = ["RemoteServer"]

T = TypeVar("T")

STEP_S: Final = 0.02
"""Between two looks at whether a request is still wanted."""
CONNECT_MS: Final = 3000
RETRY_AFTER_S: Final = (0.1, 0.4)
"""Before anything of an answer has come; a person who types has forgotten the request a second later."""
COMPLETIOND: Final = "completiond"
"""Who owns the models of a server of our own, by what it says in its list."""


class RemoteServer:
    """One server, for one thread at a time. ``model``: its name there, "" before ``connect`` has found one."""

    def __init__(self, address: RemoteAddress, model: str, key: str, timeout_ms: int) -> None:
        self.address = address
        self.model = model
        self.ends_answers = False
        """Whether it applies the rules for an answer's end itself: it is a completiond."""
        self._wanted = model
        self._key = key
        self._timeout_ms = timeout_ms
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx.AsyncClient | None = None

    def connect(self) -> None:
        """See whether it is there and which models it has. Waits for that; raises RemoteDownError where it is not."""
        for _ in self._connect():
            pass

    def complete(self, fields: Mapping[str, Any]) -> Generator[Portion | None, None, None]:
        """The answer as it comes, and None now and then while nothing does. ``fields`` are those of the request, but
        for ``model`` and ``stream``. Closing the iterator closes the connection.

        Raises RemoteDownError and RemoteRefusedError. What may go well in a moment is tried again before that, as long
        as there is no answer.
        """
        body = {"model": self.model, "stream": True, **fields}
        for wait_s in (*RETRY_AFTER_S, None):
            try:
                response = yield from self._wait(self._send("POST", "completions", body))
            except httpx.HTTPError as error:
                if wait_s is None or not is_worth_a_retry(error):
                    raise self._failure(error) from None
            else:
                if response.status_code == 200:
                    yield from self._closing(response, self._portions(response))
                    return
                yield from self._wait(response.aclose())
                if wait_s is None or not is_worth_a_retry(response.status_code):
                    raise self._refusal(response.status_code, "suffix" in fields)
            yield from self._wait(asyncio.sleep(wait_s))

    def close(self) -> None:
        """Close what is open. Another request opens it again."""
        if self._loop is None:
            return
        if self._client is not None:
            self._loop.run_until_complete(self._client.aclose())
            self._client = None
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self._loop = None

    def _connect(self) -> Iterator[None]:
        try:
            response = yield from self._wait(self._send("GET", "models", None))
        except httpx.HTTPError as error:
            raise self._failure(error) from None
        if response.status_code in (404, 405, 501) and self._wanted:
            yield from self._wait(response.aclose())
            return  # it has no list, and may do without
        if response.status_code != 200:
            yield from self._wait(response.aclose())
            raise self._refusal(response.status_code, has_suffix=False)
        yield from self._closing(response, self._read_models(response))

    def _read_models(self, response: httpx.Response) -> Iterator[None]:
        text = yield from self._whole(response)
        owners = owners_of(text)
        if owners is None:
            raise not_ours(self.address.shown)
        self.model = self._wanted or next(iter(owners), "")
        self.ends_answers = owners.get(self.model) == COMPLETIOND
        if not self.model:
            raise RemoteDownError(
                f"The server at {self.address.shown} lists no model.", "Load one there, or set engine.remote_model."
            )

    def _portions(self, response: httpx.Response) -> Iterator[Portion | None]:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            yield self._portion((yield from self._whole(response)))
            return
        events, received = EventStream(), response.aiter_raw()
        num_events, is_last = 0, False
        while not is_last:
            try:
                chunk = yield from self._wait(_next(received))
                is_last = chunk is None
                found = events.push(chunk) if chunk is not None else events.end()
            except httpx.HTTPError as error:
                raise self._failure(error) from None
            except ValueError:
                raise not_ours(self.address.shown) from None
            for event in found:
                num_events += 1
                if event == "[DONE]":
                    return
                yield self._portion(event)
        if not num_events:
            raise not_ours(self.address.shown)

    def _portion(self, event: str) -> Portion | None:
        try:
            portion = portion_of(event)
        except ValueError:
            raise not_ours(self.address.shown) from None
        if portion is not None and portion.finish == FAILED:
            raise self._refusal(500, has_suffix=False)
        return portion

    def _whole(self, response: httpx.Response) -> Generator[None, None, str]:
        """A body that is no stream."""
        received, body = response.aiter_raw(), b""
        try:
            while (chunk := (yield from self._wait(_next(received)))) is not None:
                body += chunk
                if len(body) > MAX_EVENT_BYTES:
                    raise not_ours(self.address.shown)
            return body.decode("utf-8")
        except httpx.HTTPError as error:
            raise self._failure(error) from None
        except UnicodeDecodeError:
            raise not_ours(self.address.shown) from None

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
        if self._client is None:
            self._client = self._new_client()
        request = self._client.build_request(method, f"{self.address.base_url}/{path}", json=body)
        return await self._client.send(request, stream=True)

    def _new_client(self) -> httpx.AsyncClient:
        headers = {"User-Agent": f"completiond/{__version__}", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        wait_s = self._timeout_ms / 1e3
        socket = self.address.socket
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(wait_s, connect=min(wait_s, CONNECT_MS / 1e3)),
            limits=httpx.Limits(max_connections=4, keepalive_expiry=60.0),
            # A proxy for all the world cannot reach this machine, and would see what should not leave it.
            trust_env=not self.address.is_here,
            transport=None if socket is None else httpx.AsyncHTTPTransport(uds=socket),
        )

    def _failure(self, error: httpx.HTTPError) -> CompletiondError:
        return error_of_failure(error, self.address.shown, self._timeout_ms)

    def _refusal(self, status: int, has_suffix: bool) -> CompletiondError:
        return error_of_status(status, self.address.shown, self.model, bool(self._key), has_suffix)

    def _closing(self, response: httpx.Response, items: Iterator[T]) -> Iterator[T]:
        try:
            yield from items
        finally:
            assert self._loop is not None, "it was asked in one"
            self._loop.run_until_complete(response.aclose())

    def _wait(self, work: Coroutine[Any, Any, T]) -> Generator[None, None, T]:
        """Do ``work``, yielding while it takes long; whoever closes this ends it."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(work)
        try:
            while True:
                self._loop.run_until_complete(asyncio.wait((task,), timeout=STEP_S))
                if task.done():
                    return task.result()
                yield None
        finally:
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.wait((task,)))


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)
