"""The one thread that touches the model. Work is an iterator: between two of its items a cancelled job stops."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Job", "Worker"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """A piece of work. ``on_item``, ``on_end`` and ``on_error`` are called on the worker's thread; exactly one of the
    last two is called, once, also for a job that is cancelled before it starts.
    """

    work: Callable[[], Iterator[Any]]
    on_item: Callable[[Any], None]
    on_end: Callable[[], None]
    on_error: Callable[[Exception], None]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Stop after the current item; from any thread, any number of times."""
        self.cancelled.set()


class Worker:
    """A daemon thread that first calls ``start_up`` and then runs jobs in the order they came."""

    def __init__(self, start_up: Callable[[], None]) -> None:
        self._start_up = start_up
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._submitting = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job behind the others. After ``stop`` it ends at once, on the caller's thread."""
        with self._submitting:
            if not self._stopping.is_set():
                self._jobs.put(job)
                return
        job.on_end()

    def stop(self, timeout_s: float) -> None:
        """End after the current item and wait for the thread; what is still queued ends without having run."""
        with self._submitting:
            self._stopping.set()
            self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        self._start_up()
        while (job := self._jobs.get()) is not None:
            try:
                self._run_job(job)
            except Exception:  # a caller's own mistake must not end the thread that serves all
                log.exception("a job's callback failed")

    def _run_job(self, job: Job) -> None:
        try:
            self._work_off(job)
        except Exception as error:  # whatever a job raises belongs to its caller, not to this thread
            log.debug("job failed: %s", type(error).__name__)
            job.on_error(error)
        else:
            job.on_end()

    def _work_off(self, job: Job) -> None:
        if self._is_over(job):
            return
        with contextlib.closing(job.work()) as items:  # type: ignore[type-var]
            for item in items:
                if self._is_over(job):
                    return
                job.on_item(item)

    def _is_over(self, job: Job) -> bool:
        return job.cancelled.is_set() or self._stopping.is_set()
