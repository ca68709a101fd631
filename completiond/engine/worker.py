"""The one thread that touches the model. Work is an iterator: between two of its items a cancelled job stops, and one
whose turn is over lets others work.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Job", "Worker"]

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """A piece of work. ``on_item``, ``on_end`` and ``on_error`` are called on the worker's thread; exactly one of the
    last two is called, once, also for a job that is cancelled before it starts.

    A job with ``turn_s`` takes turns with others that have it: after as many seconds, if another one waits and it has
    made ``progress`` in this turn, it stops after the current item and is put behind all that wait; then ``work`` is
    called anew, and has to go on where it was.
    """

    work: Callable[[], Iterator[Any]]
    on_item: Callable[[Any], None]
    on_end: Callable[[], None]
    on_error: Callable[[Exception], None]
    turn_s: float | None = None
    progress: Callable[[], int] = lambda: 0
    """Grows with each step that need not be done again."""
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Stop after the current item; from any thread, any number of times."""
        self.cancelled.set()


class Worker:
    """A daemon thread that first calls ``start_up`` and then runs jobs in the order they came, or by turns."""

    def __init__(self, start_up: Callable[[], None]) -> None:
        self._start_up = start_up
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._submitting = threading.Lock()
        self._waiting: set[Job] = set()
        """Of those in the queue, the ones that take turns."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def submit(self, job: Job) -> None:
        """Queue a job behind the others. After ``stop`` it ends at once, on the caller's thread."""
        with self._submitting:
            if not self._stopping.is_set():
                if job.turn_s is not None:
                    self._waiting.add(job)
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
            with self._submitting:
                self._waiting.discard(job)
            try:
                self._run_job(job)
            except Exception:  # a caller's own mistake must not end the thread that serves all
                log.exception("a job's callback failed")

    def _run_job(self, job: Job) -> None:
        try:
            is_done = self._work_off(job)
        except Exception as error:  # whatever a job raises belongs to its caller, not to this thread
            log.debug("job failed: %s", type(error).__name__)
            job.on_error(error)
        else:
            if is_done:
                job.on_end()
            else:
                self.submit(job)

    def _work_off(self, job: Job) -> bool:
        """Whether it is done, or over for another reason; not if others have their turn now."""
        if self._is_over(job):
            return True
        began_s, begun = time.monotonic(), job.progress()
        with contextlib.closing(job.work()) as items:  # type: ignore[type-var]
            for item in items:
                if self._is_over(job):
                    return True
                job.on_item(item)
                is_turn_over = job.turn_s is not None and time.monotonic() - began_s >= job.turn_s
                if is_turn_over and job.progress() > begun and self._is_awaited():
                    return False
        return True

    def _is_awaited(self) -> bool:
        with self._submitting:
            return any(not job.cancelled.is_set() for job in self._waiting)

    def _is_over(self, job: Job) -> bool:
        return job.cancelled.is_set() or self._stopping.is_set()
