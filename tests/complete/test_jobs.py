"""Work that nobody waits for: it is done once, and what goes wrong is logged without a text."""

from __future__ import annotations

import asyncio
import logging

import pytest

from completiond.complete.jobs import log_failure, one_step_job, post
from completiond.engine.worker import Worker


def test_the_engine_goes_on_after_a_job_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def fail() -> None:
        raise ValueError("password = 1")

    def stop() -> None:
        done.append("second")
        worker.stop(0.0)

    worker = Worker(lambda: done.append("started"))
    worker.submit(one_step_job(fail, log_failure("the first could not be done")))
    worker.submit(one_step_job(lambda: done.append("first"), log_failure("never")))
    worker.submit(one_step_job(stop, log_failure("never")))
    with caplog.at_level(logging.ERROR):
        worker._run()  # on this thread, until it is stopped

    assert done == ["started", "first", "second"]
    assert caplog.messages == ["the first could not be done: ValueError"]


async def test_what_is_posted_is_called_on_the_loop() -> None:
    called: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    await asyncio.to_thread(post, asyncio.get_running_loop(), called.set_result, "item")

    assert await asyncio.wait_for(called, 20.0) == "item"


def test_a_closed_loop_has_nobody_to_tell() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    called: list[str] = []

    post(loop, called.append, "item")

    assert called == []
