"""Waiting for the model."""

from __future__ import annotations

import asyncio

from completiond.complete.request import ServiceState
from completiond.complete.service_protocol import Service

__all__ = ["until_loaded"]


async def until_loaded(service: Service) -> None:
    """Return as soon as the model is loaded, or has failed to; a load that failed before is tried again."""
    loaded = asyncio.Event()
    service.ensure_loading()

    def on_state(state: ServiceState) -> None:
        if state.phase != "loading":
            loaded.set()

    unsubscribe = service.subscribe(on_state)
    try:
        on_state(service.state)
        await loaded.wait()
    finally:
        unsubscribe()
