"""What docs/protocol.md shows works as it stands there."""

from __future__ import annotations

import asyncio
import sys

import pytest

from completiond.paths import Paths
from tests.api.rpc_examples import example
from tests.e2e.harness import TIMEOUT_S, environment
from tests.fakes import FakeService


@pytest.mark.parametrize(("number", "printed"), [(0, "fake\neos, 1 passes\n"), (1, "fake\n")])
async def test_an_example_in_python(rpc_paths: Paths, service: FakeService, number: int, printed: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", example("python", number), env=environment(rpc_paths), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(TIMEOUT_S):
        said, _ = await process.communicate()
    assert (process.returncode, said.decode()) == (0, printed)
    assert service.requests[-1].prefix == "def total(prices):\n    return "
