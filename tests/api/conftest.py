"""Daemons that serve HTTP, with a model that writes what is in ANSWER wherever it is asked to fill in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
import torch

from tests.api.daemon import Api, api_daemon
from tests.fake_model import bytes_of, fake_model, says

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
