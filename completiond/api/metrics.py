"""Numbers for Prometheus: how drafting does, how long answers take, why they ended. Nothing of any text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from completiond.complete.request import Completion
from completiond.complete.service_protocol import Service

__all__ = ["Metrics"]

_TTFT_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ITL_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.25, 0.5)


class Metrics:
    """In a registry of their own. Answers are counted from when this is made, drafts since the model was loaded."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "completiond_requests", "Answers, by why they ended.", ["reason"], registry=self.registry
        )
        self._served = Counter(
            "completiond_answers", "Answers, by where they were from.", ["served_from"], registry=self.registry
        )
        self._prompt = Counter("completiond_prompt_tokens", "Tokens of prompts.", registry=self.registry)
        self._cached = Counter(
            "completiond_prompt_tokens_cached", "Tokens of prompts that were not read again.", registry=self.registry
        )
        self._ttft = Histogram(
            "completiond_time_to_first_token_seconds", "From request to first token, where the model ran.",
            buckets=_TTFT_S, registry=self.registry,
        )  # fmt: skip
        self._itl = Histogram(
            "completiond_inter_token_latency_seconds", "Between tokens: the mean of an answer.",
            buckets=_ITL_S, registry=self.registry,
        )  # fmt: skip
        self._events = Counter(
            "completiond_client_events", "What plugins told of suggestions.", ["type"], registry=self.registry
        )
        self.registry.register(_Drafts(service))
        self.stop = service.observe(self._observe)

    def _observe(self, completion: Completion) -> None:
        self._requests.labels(completion.stop_reason).inc()
        self._served.labels(completion.served_from).inc()
        if completion.served_from != "engine" or not completion.passes:
            return
        self._prompt.inc(completion.prompt_tokens)
        self._cached.inc(completion.cached_tokens)
        self._ttft.observe(completion.ttft_ms / 1e3)
        if completion.ms_per_token:
            self._itl.observe(completion.ms_per_token / 1e3)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)

    def count_event(self, kind: str) -> None:
        """A plugin says that a suggestion was seen (``view``), taken or sent away."""
        self._events.labels(kind).inc()


class _Drafts(Collector):
    """Drafting as the engine counts it, under the names that others use for it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        work = self._service.work
        prefix = "completiond_spec_decode_num"
        yield CounterMetricFamily(f"{prefix}_drafts", "Drafts that were checked.", work.drafts)
        yield CounterMetricFamily(f"{prefix}_draft_tokens", "Tokens in them.", work.draft_tokens)
        yield CounterMetricFamily(f"{prefix}_accepted_tokens", "Those that were right.", work.accepted_tokens)
        positions = CounterMetricFamily(
            f"{prefix}_accepted_tokens_per_pos", "Those that were right, by place in the draft.", labels=["position"]
        )
        accepted: dict[int, int] = {}
        for counts in self._service.acceptance:
            for place, count in enumerate(counts.accepted):
                accepted[place] = accepted.get(place, 0) + count
        for place, count in sorted(accepted.items()):
            positions.add_metric([str(place)], count)
        yield positions
        yield CounterMetricFamily("completiond_passes", "Passes of the model.", work.passes)
        yield CounterMetricFamily("completiond_generation_tokens", "Tokens that were written.", work.written_tokens)
