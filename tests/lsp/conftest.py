"""A daemon on the test's event loop, with a service without a model, and an editor on its socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from completiond.paths import Paths
from tests.e2e.harness import Editor, daemon_in_process, temporary_paths
from tests.fakes import FakeLoading, FakeService


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest_asyncio.fixture
async def daemon_paths(service: FakeService) -> AsyncIterator[Paths]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            yield paths


@pytest_asyncio.fixture
async def editor(daemon_paths: Paths) -> AsyncIterator[Editor]:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize()
        yield editor


@pytest.fixture
def loading_service() -> FakeService:
    return FakeService(FakeLoading(num_steps=1, step_s=3600.0))  # until the test sets another state


@pytest_asyncio.fixture
async def loading_paths(loading_service: FakeService) -> AsyncIterator[Paths]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, loading_service):
            yield paths
