"""Tells an editor how the model loads (LSP 3.17 "Work Done Progress")."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from completiond.complete.request import ServiceState
from completiond.complete.service_protocol import Service

if TYPE_CHECKING:
    from completiond.lsp.protocol import CompletionProtocol

__all__ = ["LoadingReport"]

log = logging.getLogger(__name__)


class LoadingReport:
    """Progress from now until the model is ready, if the client shows progress; one log message if loading fails."""

    def __init__(self, protocol: CompletionProtocol, service: Service) -> None:
        self._protocol = protocol
        self._token = str(uuid.uuid4())  # new on each connection: one editor may see several, one after the other
        self._percentage = 0
        self._state = service.state
        self._showing = False
        self._failure_told = False
        self._create: asyncio.Task[None] | None = None
        self._unsubscribe = service.subscribe(self._on_state)
        window = protocol.client_capabilities_json.get("window")
        if self._state.phase == "loading" and isinstance(window, Mapping) and window.get("workDoneProgress") is True:
            self._create = asyncio.ensure_future(self._begin())
        self._on_state(self._state)

    def close(self) -> None:
        """Stop reporting."""
        self._unsubscribe()
        if self._create is not None:
            self._create.cancel()

    async def _begin(self) -> None:
        create = types.WorkDoneProgressCreateParams(token=self._token)
        try:
            await self._protocol.send_request_async(types.WINDOW_WORK_DONE_PROGRESS_CREATE, create)
        except JsonRpcException as error:
            log.info("The client refused a progress report: error %d", error.code)
            return
        if self._state.phase != "loading":
            return
        self._showing = True
        self._percentage = _percentage(self._state)
        self._report(
            types.WorkDoneProgressBegin(
                title=f"Loading {self._state.model}", message=self._state.detail, percentage=self._percentage
            )
        )

    def _on_state(self, state: ServiceState) -> None:
        self._state = state
        if state.phase == "failed" and not self._failure_told:
            self._failure_told = True
            message = f"completiond: {state.detail}"
            self._protocol.notify(
                types.WINDOW_LOG_MESSAGE, types.LogMessageParams(type=types.MessageType.Error, message=message)
            )
        if not self._showing:
            return
        if state.phase != "loading":
            self._showing = False
            self._report(types.WorkDoneProgressEnd(message=state.detail))
        elif _percentage(state) > self._percentage:
            self._percentage = _percentage(state)
            self._report(types.WorkDoneProgressReport(message=state.detail, percentage=self._percentage))

    def _report(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        self._protocol.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


def _percentage(state: ServiceState) -> int:
    return max(0, min(100, round(100 * state.progress)))
