"""One client on a pair of streams, from its first byte until one side is done."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any, Final

from completiond.api.rpc_errors import CANCELLED, FRAME, UNKNOWN_METHOD, ErrorTriple, triple_of
from completiond.api.rpc_frames import FrameError, Frames, pack
from completiond.api.rpc_message import Call, WrongMessageError, call_of, named_params, notification, response
from completiond.api.rpc_params import CancelParams, CompleteParams, RequestName, read_params
from completiond.api.rpc_session import RpcSession
from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError, UsageError
from completiond.logs import describe
from completiond.lsp.host import Host

__all__ = ["FRAME_TIMEOUT_S", "MAX_RUNNING", "RpcConnection"]

log = logging.getLogger(__name__)

FRAME_TIMEOUT_S: Final = 30.0
"""A message that has begun has to end within; on a socket of this machine the longest takes a fraction of a second."""
MAX_RUNNING: Final = 64
"""Completions of one connection that are under way."""
_READ_BYTES: Final = 65536


class RpcConnection:
    """Reads calls and writes answers. Calls are begun in the order they come, and completions end as they are done."""

    def __init__(
        self, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frame_timeout_s: float
    ) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._frame_timeout_s = frame_timeout_s
        self._session = RpcSession(host, self._on_stop)
        self._running: dict[object, asyncio.Task[dict[str, Any]]] = {}
        self._is_closed = False
        session = self._session
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "hello": session.hello,
            "open": session.open,
            "change": session.change,
            "close": session.close_document,
            "accept": session.accept,
            "status": session.status,
            "cancel": self._cancel,
        }

    async def serve(self) -> None:
        """Answer until the client hangs up, or sends what no message can be read behind."""
        log.info("%s opened, msgpack-rpc", self._session.client_id)
        try:
            await self._read()
        except FrameError as error:
            log.info("A client was cut off: %s", error)
            self._fail(Call(None, "", None), (FRAME, str(error), "Connect anew."))
        except OSError as error:
            log.info("A client broke off: %s", describe(error))
        finally:
            self._is_closed = True
            for task in tuple(self._running.values()):
                task.cancel()
            self._session.close()
            log.info("%s closed", self._session.client_id)

    async def _read(self) -> None:
        frames = Frames()
        deadline_s: float | None = None  # a timer only while a message is incomplete: the daemon has none when idle
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    data = await self._reader.read(_READ_BYTES)
            except TimeoutError:
                raise FrameError(f"A message did not end within {self._frame_timeout_s:g} s.") from None
            if not data:
                return
            for value in frames.feed(data):
                deadline_s = None
                self._take(value)
                await self._writer.drain()  # who does not read its answers is not read from
                await asyncio.sleep(0)  # many calls in one packet do not keep others waiting
            if not frames.is_within:
                deadline_s = None
            elif deadline_s is None:
                deadline_s = asyncio.get_running_loop().time() + self._frame_timeout_s

    def _take(self, value: Any) -> None:
        try:
            call = call_of(value)
        except WrongMessageError as error:
            self._fail(Call(error.message_id, "", None), triple_of(error))
            return
        try:
            if call.method in ("complete", "stream"):
                self._start(call)
            elif call.method in self._methods:
                result = self._methods[call.method](named_params(call))
                if call.message_id is not None:
                    self._send(response(call.message_id, None, result))
            elif call.message_id is not None:
                methods = ", ".join(sorted({*self._methods, "complete", "stream"}))
                message = f"There is no method {call.method!r}."
                self._fail(call, (UNKNOWN_METHOD, message, f"There are {methods}; see docs/protocol.md."))
            else:
                # No answer: Neovim answers a notification that it does not know with one, and so on for ever.
                log.debug("Ignored a notification of no method of ours")
        except Exception as error:
            if not isinstance(error, CompletiondError):
                log.error("%s failed: %s", call.method, describe(error))
            self._fail(call, triple_of(error))

    def _start(self, call: Call) -> None:
        self._host.counters.requests += 1
        try:
            params = named_params(call)
            with self._session.closing_on_error(params):
                said = read_params(CompleteParams, call.method, params)
                name = self._name(call, said.request)
                request = self._session.request(said, name)
        except Exception:
            self._host.counters.empty += 1
            raise
        tell = functools.partial(self._tell_chunk, name) if call.method == "stream" else None
        task = asyncio.create_task(self._session.complete(request, said.wait_until_ready, tell))
        self._running[name] = task
        task.add_done_callback(functools.partial(self._settle, call, name))

    def _name(self, call: Call, name: RequestName | None) -> RequestName:
        """How the request is called while it is under way. Raises UsageError if there cannot be another of it."""
        name = call.message_id if name is None else name
        if name is None:
            raise UsageError(f"{call.method} as a notification needs a name in request.", "Or send it as a request.")
        if name in self._running:
            raise UsageError("A request of that name is under way.", "Give each another name.")
        if len(self._running) >= MAX_RUNNING:
            raise UsageError(f"{MAX_RUNNING} requests are under way.", "Cancel some, or wait.")
        return name

    def _settle(self, call: Call, name: object, task: asyncio.Task[dict[str, Any]]) -> None:
        """A completion has ended, in whatever way; one that was cancelled before it began gets here, too."""
        del self._running[name]
        counters = self._host.counters
        if task.cancelled():
            counters.cancelled += 1
            self._fail(call, (CANCELLED, "The request was cancelled.", ""), name)
        elif (error := task.exception()) is not None:
            if isinstance(error, SupersededError):
                counters.superseded += 1
            else:
                counters.empty += 1
                if not isinstance(error, CompletiondError):
                    log.error("%s failed: %s", call.method, describe(error))
            self._fail(call, triple_of(error), name)
        else:
            result = task.result()
            if result["text"]:
                counters.answered += 1
            else:
                counters.empty += 1
            if call.message_id is not None:
                self._send(response(call.message_id, None, result))
            else:
                self._notify("result", {"request": name, "result": result})

    def _cancel(self, params: dict[str, Any]) -> bool:
        """Answer ``cancel``: whether the request was under way."""
        task = self._running.get(read_params(CancelParams, "cancel", params).request)
        return task is not None and task.cancel()

    async def _tell_chunk(self, name: object, chunk: dict[str, Any]) -> None:
        self._notify("chunk", {"request": name, **chunk})
        await self._writer.drain()

    def _on_stop(self) -> None:
        self._notify("stopping", {})

    def _fail(self, call: Call, error: ErrorTriple, name: object = None) -> None:
        hello = self._session.hello_params
        told: object = error
        if hello is not None and hello.errors == "text":
            told = " ".join(part for part in (f"{error[0]}:", *error[1:]) if part)
        if call.message_id is not None:
            self._send(response(call.message_id, told, None))
        else:
            if name is None and isinstance(call.params, list) and call.params and isinstance(call.params[0], dict):
                name = call.params[0].get("request")
                name = name if isinstance(name, int | str) else None
            self._notify("failure", {"request": name, "method": call.method, "error": told})

    def _notify(self, name: str, params: dict[str, Any]) -> None:
        hello = self._session.hello_params
        if hello is not None and hello.notify is not None:
            method, first = hello.notify
            self._send(notification(method, [first, [name, params]]))
        else:
            self._send(notification(name, [params]))

    def _send(self, message: list[Any]) -> None:
        if not self._is_closed and not self._writer.is_closing():
            self._writer.write(pack(message))
