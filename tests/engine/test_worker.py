"""The engine's thread, as a real thread: every job ends exactly once, whatever it or its caller does."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from completiond.engine.worker import MAX_TURN_S, Job, Worker

PATIENCE_S = 20.0
"""Far more than anything here takes: reached only when a thread hangs, which fails the test."""


class Record:
    """A job that writes down what becomes of it. ``work`` yields its items."""

    def __init__(self, work: Callable[[], Iterator[Any]]) -> None:
        self.events: list[Any] = []
        self.threads: set[str] = set()
        self.over = threading.Event()
        self.job = Job(work, self._write, lambda: self._end("end"), self._end)

    def _write(self, event: Any) -> None:
        self.threads.add(threading.current_thread().name)
        self.events.append(event)

    def _end(self, event: Any) -> None:
        self._write(event)
        self.over.set()

    def wait(self) -> list[Any]:
        assert self.over.wait(PATIENCE_S), "the job never ended"
        return self.events


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(lambda: None)
    worker.start()
    yield worker
    worker.stop(PATIENCE_S)


def iter_of(count: int) -> Iterator[int]:
    yield from range(count)


def noting(notes: list[str], note: str) -> Iterator[int]:
    """Work that leaves a note when it runs."""
    notes.append(note)
    yield 0


def submit(worker: Worker, work: Callable[[], Iterator[Any]]) -> Record:
    record = Record(work)
    worker.submit(record.job)
    return record


def test_items_come_in_order_and_then_the_end(worker: Worker) -> None:
    assert submit(worker, lambda: (i for i in range(3))).wait() == [0, 1, 2, "end"]


STEP_S = 1 / 64
"""Whole fractions of two add up without an error."""


class Clock:
    """Time goes on only by what work takes."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Counting:
    """Work that counts to 6, or ``end``, in however many turns, a step when ``go`` lets it; it writes who counts into
    ``steps``. Each step takes STEP_S, the first ``first`` times as long.
    """

    def __init__(
        self,
        name: str,
        steps: list[str],
        go: threading.Semaphore | None = None,
        end: int = 6,
        clock: Clock | None = None,
        first: int = 1,
    ) -> None:
        self.name, self.steps, self.go, self.done, self.end = name, steps, go, 0, end
        self.clock, self.first = clock, first

    def __call__(self) -> Iterator[int]:
        while self.done < self.end:
            if self.go is not None:
                assert self.go.acquire(timeout=PATIENCE_S)
            if self.clock is not None:
                self.clock.now_s += STEP_S * (1 if self.done else self.first)
            self.done += 1
            self.steps.append(self.name)
            yield self.done


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed_worker(clock: Clock) -> Iterator[Worker]:
    worker = Worker(lambda: None, clock)
    worker.start()
    yield worker
    worker.stop(PATIENCE_S)


def submit_turns(worker: Worker, work: Callable[[], Iterator[Any]], turn_s: float | None = 0.0) -> Record:
    record = Record(work)
    record.job.turn_s = turn_s
    if isinstance(work, Counting):
        record.job.progress = lambda: work.done
    worker.submit(record.job)
    return record


def test_jobs_that_take_turns_go_on_where_they_were(timed_worker: Worker, clock: Clock) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(timed_worker, Counting("a", steps, go, clock=clock))
    second = submit_turns(timed_worker, Counting("b", steps, clock=clock))
    go.release(6)
    assert first.wait() == second.wait() == [1, 2, 3, 4, 5, 6, "end"]
    assert "".join(steps) == "abababababab"


def test_who_has_had_less_goes_on(timed_worker: Worker, clock: Clock) -> None:
    """A short answer is not kept waiting by a long one, whichever came first."""
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(timed_worker, Counting("a", steps, go, clock=clock, first=3))
    second = submit_turns(timed_worker, Counting("b", steps, clock=clock))
    go.release(6)
    first.wait(), second.wait()
    assert "".join(steps) == "abbbabababaa"


def test_one_that_comes_late_has_its_turn_soon(timed_worker: Worker, clock: Clock) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    long = submit_turns(timed_worker, Counting("a", steps, go, end=12, clock=clock))
    go.release(8)
    while len(steps) < 8:
        long.over.wait(0.001)
    late = submit_turns(timed_worker, Counting("b", steps, end=3, clock=clock))
    go.release(4)
    assert long.wait()[-1] == late.wait()[-1] == "end"
    assert "".join(steps) == "a" * 9 + "bbb" + "aaa"


def test_turns_of_long_jobs_grow(timed_worker: Worker, clock: Clock) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(timed_worker, Counting("a", steps, go, end=60, clock=clock))
    second = submit_turns(timed_worker, Counting("b", steps, end=60, clock=clock))
    go.release(60)
    first.wait(), second.wait()
    turns = [len(list(turn)) for _, turn in itertools.groupby(steps)]
    assert set(turns[:10]) == {1}
    assert min(turns[-6:-2]) >= 4, "but for what is left in the end"


def test_turns_do_not_grow_for_ever(timed_worker: Worker, clock: Clock) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(timed_worker, Counting("a", steps, go, end=400, clock=clock))
    second = submit_turns(timed_worker, Counting("b", steps, end=400, clock=clock))
    go.release(400)
    first.wait(), second.wait()
    longest = max(len(list(turn)) for _, turn in itertools.groupby(steps))
    assert MAX_TURN_S / STEP_S <= longest <= MAX_TURN_S / STEP_S + 2


def test_no_turn_is_shorter_than_is_set(timed_worker: Worker, clock: Clock) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(timed_worker, Counting("a", steps, go, clock=clock), 3 * STEP_S)
    second = submit_turns(timed_worker, Counting("b", steps, clock=clock), 3 * STEP_S)
    go.release(6)
    first.wait(), second.wait()
    assert "".join(steps) == "aaabbbaaabbb"


def test_a_job_alone_is_not_interrupted(worker: Worker) -> None:
    steps: list[str] = []
    runs = []
    counting = Counting("a", steps)

    def work() -> Iterator[int]:
        runs.append(1)
        yield from counting()

    submit_turns(worker, work).wait()
    assert runs == [1]


def test_a_turn_without_progress_does_not_end(worker: Worker) -> None:
    """Else two jobs that begin with the same steps each time would never get beyond them."""
    steps: list[str] = []
    go = threading.Semaphore(0)
    counting = Counting("a", steps, go)
    first = submit_turns(worker, lambda: counting())
    second = submit_turns(worker, Counting("b", steps))
    go.release(6)
    first.wait(), second.wait()
    assert steps == ["a"] * 6 + ["b"] * 6


def test_a_job_without_turns_does_not_end_a_turn(worker: Worker) -> None:
    """Changes of documents come between answers, and are no reason to leave off."""
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(worker, Counting("a", steps, go))
    second = submit_turns(worker, Counting("b", steps), None)
    go.release(6)
    first.wait(), second.wait()
    assert steps == ["a"] * 6 + ["b"] * 6


def test_a_cancelled_job_that_waits_does_not_end_a_turn(worker: Worker) -> None:
    steps: list[str] = []
    go = threading.Semaphore(0)
    first = submit_turns(worker, Counting("a", steps, go))
    second = submit_turns(worker, Counting("b", steps))
    second.job.cancel()
    go.release(6)
    assert first.wait()[-1] == second.wait()[-1] == "end"
    assert steps == ["a"] * 6


def test_a_job_that_is_cancelled_between_its_turns_ends_once(worker: Worker) -> None:
    steps: list[str] = []
    go, began = threading.Semaphore(0), threading.Event()

    def other() -> Iterator[int]:
        began.set()
        assert go.acquire(timeout=PATIENCE_S)
        yield 0

    go_first = threading.Semaphore(0)
    first = submit_turns(worker, Counting("a", steps, go_first))
    submit_turns(worker, other)
    go_first.release(1)
    assert began.wait(PATIENCE_S), "the first one's turn never ended"
    first.job.cancel()
    go.release(1)
    assert first.wait() == [1, "end"]


def test_jobs_run_one_after_the_other_in_the_order_they_came(worker: Worker) -> None:
    steps: list[tuple[int, int]] = []

    def work(number: int) -> Callable[[], Iterator[int]]:
        def items() -> Iterator[int]:
            for step in range(3):
                steps.append((number, step))
                yield step

        return items

    records = [submit(worker, work(number)) for number in range(5)]
    for record in records:
        record.wait()

    assert steps == [(number, step) for number in range(5) for step in range(3)]


def test_all_is_called_on_the_engines_thread(worker: Worker) -> None:
    record = submit(worker, lambda: (i for i in range(2)))
    record.wait()

    assert record.threads == {"engine"}


def test_start_up_comes_before_the_first_job() -> None:
    order: list[str] = []
    go = threading.Event()

    def start_up() -> None:
        assert go.wait(PATIENCE_S)
        order.append("start")

    worker = Worker(start_up)
    worker.start()
    record = submit(worker, lambda: noting(order, "job"))
    go.set()
    record.wait()
    worker.stop(PATIENCE_S)

    assert order == ["start", "job"]


def test_a_job_cancelled_before_it_starts_does_no_work_and_ends(worker: Worker) -> None:
    gate = Gate()
    first = submit(worker, gate.items)
    gate.reached.wait(PATIENCE_S)
    worked: list[str] = []
    second = Record(lambda: noting(worked, "second"))
    worker.submit(second.job)

    second.job.cancel()
    gate.open.set()

    assert second.wait() == ["end"]
    assert worked == []
    assert first.wait() == [0, 1, "end"]


class Gate:
    """Work of two items, between which it waits."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self.closed = False

    def items(self) -> Iterator[int]:
        try:
            yield 0
            self.reached.set()
            assert self.open.wait(PATIENCE_S)
            yield 1
        finally:
            self.closed = True


def test_a_job_cancelled_while_it_runs_ends_before_its_next_item(worker: Worker) -> None:
    gate = Gate()
    items = gate.items()  # held here, so that nothing but the worker closes it
    record = submit(worker, lambda: items)
    gate.reached.wait(PATIENCE_S)

    record.job.cancel()
    record.job.cancel()
    gate.open.set()

    assert record.wait() == [0, "end"]
    assert gate.closed, "the generator was left open"


def failing() -> Iterator[int]:
    yield 1
    raise ValueError("mine")


def test_an_error_reaches_its_caller_and_the_next_job_runs(worker: Worker) -> None:
    failed = submit(worker, failing)
    following = submit(worker, lambda: iter_of(1))

    item, error = failed.wait()
    assert item == 1
    assert isinstance(error, ValueError)
    assert str(error) == "mine"
    assert following.wait() == [0, "end"]


def test_an_error_of_a_callback_reaches_the_same_caller(worker: Worker) -> None:
    errors: list[Exception] = []
    over = threading.Event()

    def refuse(item: Any) -> None:
        raise KeyError(item)

    def keep(error: Exception) -> None:
        errors.append(error)
        over.set()

    worker.submit(Job(lambda: iter_of(3), refuse, lambda: None, keep))

    assert over.wait(PATIENCE_S)
    assert [type(error) for error in errors] == [KeyError]
    assert submit(worker, lambda: iter_of(1)).wait() == [0, "end"]


def test_a_callback_that_fails_at_the_end_does_not_end_the_thread(worker: Worker) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the caller's mistake")

    worker.submit(Job(lambda: iter_of(1), lambda item: None, fail, fail))
    worker.submit(Job(failing, lambda item: None, fail, fail))

    assert submit(worker, lambda: iter_of(1)).wait() == [0, "end"]


def test_stop_ends_the_running_job_and_those_that_wait_without_running_them() -> None:
    worker = Worker(lambda: None)
    worker.start()
    gate = Gate()
    running = submit(worker, gate.items)
    gate.reached.wait(PATIENCE_S)
    worked: list[str] = []
    waiting = [submit(worker, lambda: noting(worked, "waiting")) for _ in range(2)]

    stopper = threading.Thread(target=worker.stop, args=(PATIENCE_S,))
    stopper.start()
    while not submit(worker, lambda: iter_of(1)).over.is_set():  # until stop() has begun, jobs queue up
        stopper.join(0.001)
    gate.open.set()
    stopper.join(PATIENCE_S)

    assert not stopper.is_alive()
    assert running.wait() == [0, "end"]
    assert [record.wait() for record in waiting] == [["end"], ["end"]]
    assert worked == []


def test_a_job_that_comes_after_stop_ends_at_once() -> None:
    worker = Worker(lambda: None)
    worker.start()
    worker.stop(PATIENCE_S)

    assert submit(worker, lambda: iter_of(1)).wait() == ["end"]


def test_stopping_twice_or_before_the_start_is_harmless() -> None:
    Worker(lambda: None).stop(PATIENCE_S)
    worker = Worker(lambda: None)
    worker.start()
    worker.stop(PATIENCE_S)
    worker.stop(PATIENCE_S)
