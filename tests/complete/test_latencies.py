"""How quickly answers came in the last minute."""

from __future__ import annotations

from dataclasses import replace

from completiond.complete.latencies import MAX_ANSWERS, Latencies, LatencyState, Percentiles
from completiond.complete.recent import Recent
from completiond.complete.request import Completion
from tests.complete.test_recent import answer, completion, request


class Clock:
    """Stands still until it is set."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def written(ttft_ms: float, token_ms: float = 0.0, passes: int = 1) -> Completion:
    return replace(
        completion(), token_ids=(1, 2, 3), prompt_tokens=10, cached_tokens=4, ttft_ms=ttft_ms, ms_per_token=token_ms,
        passes=passes,
    )  # fmt: skip


def test_nothing_is_known_before_the_first_answer() -> None:
    assert Latencies().state == LatencyState(ttft_ms=None, token_ms=None)


def test_percentiles_are_values_that_there_were() -> None:
    assert Percentiles.of([7.0]) == Percentiles(7.0, 7.0, 7.0)
    assert Percentiles.of([float(value) for value in range(100, 0, -1)]) == Percentiles(50.0, 90.0, 99.0)
    assert Percentiles.of([3.0, 1.0]) == Percentiles(1.0, 3.0, 3.0)


def test_what_the_answers_of_the_last_minute_come_to() -> None:
    clock = Clock()
    latencies = Latencies(clock)
    latencies.add(written(900.0))
    clock.now_s += 30
    latencies.add(written(200.0, 12.0, passes=2))
    latencies.add(written(100.0))
    state = latencies.state
    assert (state.answers, state.tokens, state.prompt_tokens, state.cached_tokens) == (3, 9, 30, 12)
    assert (state.ttft_ms, state.token_ms) == (Percentiles(200.0, 900.0, 900.0), Percentiles(12.0, 12.0, 12.0))
    clock.now_s += 31
    assert latencies.state.ttft_ms == Percentiles(100.0, 200.0, 200.0)
    clock.now_s += 61
    assert latencies.state == LatencyState()


def test_answers_that_took_no_pass_are_left_out() -> None:
    latencies = Latencies()
    latencies.add(replace(written(0.1), served_from="cache"))
    latencies.add(replace(written(0.1), passes=0))
    latencies.add(replace(written(0.1), token_ids=()))
    assert latencies.state.answers == 0


def test_memory_is_bounded() -> None:
    latencies = Latencies(Clock())
    for number in range(MAX_ANSWERS + 7):
        latencies.add(written(float(number)))
    assert latencies.state.answers == MAX_ANSWERS


async def test_requests_are_followed() -> None:
    recent = Recent()
    async for _ in recent.follow(request(), answer(written(8.0))):
        pass
    async for _ in recent.follow(replace(request(), avoided_ids=(1,)), answer(written(9.0))):
        pass  # a part of another request
    assert recent.latencies.state.ttft_ms == Percentiles(8.0, 8.0, 8.0)
