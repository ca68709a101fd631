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

__all__ = ["MAX_TURN_S", "Job", "Worker"]

log = logging.getLogger(__name__)

TURN_SHARE, MAX_TURN_S = 0.1, 0.25
"""A turn lasts for this share of what the next job has had, but no longer than that. Chosen, not measured."""


@dataclass(slots=True, eq=False)
class Job:
    """A piece of work. ``on_item``, ``on_end`` and ``on_error`` are called on the worker's thread; exactly one of the
    last two is called, once, also for a job that is cancelled before it starts.

    A job with ``turn_s`` takes turns with others that have it: once it has had as many seconds in this turn, and in all
    about as much time as the next one that waits, and has made ``progress`` in it, it stops after the current item and
    is put behind all that wait; then ``work`` is called anew, and has to go on where it was. So none waits for much
    more than its own time (least attained service, Kleinrock 1976). Turns grow with time, so that two long ones change
    seldom, but not before one that has just come.
    """

    work: Callable[[], Iterator[Any]]
    on_item: Callable[[Any], None]
    on_end: Callable[[], None]
    on_error: Callable[[Exception], None]
    turn_s: float | None = None
    progress: Callable[[], int] = lambda: 0
    """Grows with each step that need not be done again."""
    used_s: float = 0.0
    """What its turns have taken so far."""
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Stop after the current item; from any thread, any number of times."""
        self.cancelled.set()


class Worker:
    """A daemon thread that first calls ``start_up`` and then runs jobs in the order they came, or by turns."""

    def __init__(self, start_up: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        """``clock``: seconds, by which turns are measured."""
        self._start_up = start_up
        self._clock = clock
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._submitting = threading.Lock()
        self._waiting: dict[Job, None] = {}
        """Of those in the queue, the ones that take turns, in their order."""
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
                    self._waiting[job] = None
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
                self._waiting.pop(job, None)
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
        began_s, used_s, begun = self._clock(), job.used_s, job.progress()
        with contextlib.closing(job.work()) as items:  # type: ignore[type-var]
            for item in items:
                if self._is_over(job):
                    return True
                job.on_item(item)
                turn_s = self._clock() - began_s
                job.used_s = used_s + turn_s
                if job.progress() > begun and self._is_turn_over(job, turn_s):
                    return False
        return True

    def _is_turn_over(self, job: Job, turn_s: float) -> bool:
        """Whether one waits that has had little more at most, after ``turn_s`` seconds of this turn."""
        if job.turn_s is None:
            return False
        with self._submitting:
            following = next((other for other in self._waiting if not other.cancelled.is_set()), None)
        if following is None or following.used_s > job.used_s + job.turn_s:
            return False
        return turn_s >= max(job.turn_s, min(MAX_TURN_S, TURN_SHARE * following.used_s))

    def _is_over(self, job: Job) -> bool:
        return job.cancelled.is_set() or self._stopping.is_set()
