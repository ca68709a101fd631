"""A daemon on the test's event loop, with a service without a model, and plain msgpack-rpc on its socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from completiond.paths import Paths
from tests.api.rpc_wire import RpcWire
from tests.e2e.harness import daemon_in_process, temporary_paths
from tests.fakes import FakeService


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest_asyncio.fixture
async def rpc_paths(service: FakeService) -> AsyncIterator[Paths]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            yield paths


@pytest_asyncio.fixture
async def wire(rpc_paths: Paths) -> AsyncIterator[RpcWire]:
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as wire:
        yield wire
