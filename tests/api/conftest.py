"""Daemons on the test's event loop: ``api`` with a model that writes what is in ANSWER wherever it is asked to fill in,
``wire`` with a service without a model, and plain msgpack-rpc on its socket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
import torch

from completiond.paths import Paths
from tests.api.daemon import Api, api_daemon
from tests.api.rpc_wire import RpcWire
from tests.e2e.harness import daemon_in_process, temporary_paths
from tests.fake_model import bytes_of, fake_model, says
from tests.fakes import FakeService

ANSWER = "one\n    two\n    three\n"
"""What it writes behind the token that asks for a fill; by our rules, all but the last line end is shown."""


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest_asyncio.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    model, _ = fake_model(says(bytes_of(ANSWER)))
    async with api_daemon(monkeypatch, model) as api:
        yield api


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
