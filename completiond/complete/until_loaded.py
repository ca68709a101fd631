"""Waiting for a service to be ready, or to have failed to be."""

from __future__ import annotations

import asyncio

from completiond.complete.request import ServiceState
from completiond.complete.service_protocol import Service

__all__ = ["until_loaded"]


async def until_loaded(service: Service) -> None:
    """Returns when it is either; it is told to try again if it has failed."""
    service.ensure_loading()
    if service.state.phase != "loading":
        return
    loaded = asyncio.Event()

    def on_state(state: ServiceState) -> None:
        if state.phase != "loading":
            loaded.set()

    unsubscribe = service.subscribe(on_state)
    try:
        await loaded.wait()
    finally:
        unsubscribe()
