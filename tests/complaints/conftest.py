"""The desk that most complaints are looked at from."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.complaints.desk import Desk, desk_in


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    async with desk_in(monkeypatch) as one:
        yield one
