"""What two clients wait for each other, on a model that writes by script."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from statistics import median

import pytest
from rich.console import Console

from completiond.bench.clients import clients_table, measure_clients
from completiond.complete.service import LocalService
from completiond.config import CacheConfig
from tests.complete.test_service import ANSWER, CONFIG, Opener, request
from tests.complete.test_service import loading as loading
from tests.complete.test_service import opener as opener
from tests.complete.test_service import service as service


async def test_each_figure_is_measured_with_texts_that_no_cache_knows(
    service: LocalService, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CacheConfig(ahead=False, results=False)
    monkeypatch.setattr(service, "_config", CONFIG.model_copy(update={"cache": cache}))
    opener.target.before_pass = lambda: time.sleep(0.005)  # as a real model's passes do
    requests = [replace(request(), prefix=prefix) for prefix in ("abc = ", "if x:\n    ", "return ")]
    run = await measure_clients(service, requests)
    assert [len(values) for values in (run.alone_ms, run.together_ms, run.warm_alone_ms)] == [6, 6, 6]
    assert [len(values) for values in (run.warm_together_ms, run.superseded_ms, run.freed_ms)] == [6, 3, 3]
    assert min(*run.alone_ms, *run.together_ms, *run.superseded_ms) > 0.0
    assert len(run.ratios) == len(run.warm_ratios) == 6
    assert max(run.ratios) > 1.3, "here one waits for the other's whole answer"
    assert run.as_json()["ratios"] == {"median": median(run.ratios), "max": max(run.ratios)}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(clients_table(run))
    shown = console.export_text()
    assert "…" not in shown, "nothing is cut"
    head = next(line for line in shown.splitlines() if "median" in line)
    assert [cell.strip() for cell in head.strip("┃").split("┃")] == ["", "median", "worst", "ratio"]
    for name, values in (("new texts, both", run.together_ms), ("superseded", run.superseded_ms)):
        (row,) = (line for line in shown.splitlines() if line.startswith(f"│ {name} "))
        assert f" {max(values):.1f} │" in row
        assert (f" {max(run.ratios):.2f} │" in row) is (values is run.together_ms)
    assert (await service.complete(request())).text == ANSWER, "the service is as it was"
