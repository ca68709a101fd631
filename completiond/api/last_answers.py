"""Figures of the last answers, whoever got them, for the page's charts. Nothing of any text."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from completiond.complete.request import Completion, ServedFrom
from completiond.complete.service_protocol import Service

__all__ = ["MAX_ANSWERS", "AnswerFigures", "LastAnswers"]

MAX_ANSWERS: Final = 60
"""As many bars as a chart has room for."""


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Of one answer; ``number`` counts from 1 since the first was observed. The rest as in Completion."""

    number: int
    served_from: ServedFrom
    ttft_ms: float
    ms_per_token: float
    tokens: int
    passes: int
    drafted: int
    accepted: int
    prompt_tokens: int
    cached_tokens: int


class LastAnswers:
    """The newest MAX_ANSWERS answers with a text, oldest first. On the event loop's thread."""

    def __init__(self, service: Service) -> None:
        self._answers: deque[AnswerFigures] = deque(maxlen=MAX_ANSWERS)
        self._num_seen = 0
        self.stop = service.observe(self._observe)

    @property
    def oldest_first(self) -> Sequence[AnswerFigures]:
        """Those that are kept."""
        return tuple(self._answers)

    def _observe(self, one: Completion) -> None:
        if not one.text:
            return
        self._num_seen += 1
        self._answers.append(
            AnswerFigures(
                self._num_seen, one.served_from, round(one.ttft_ms, 2), round(one.ms_per_token, 2), len(one.token_ids),
                one.passes, one.drafted, one.accepted, one.prompt_tokens, one.cached_tokens,
            )
        )  # fmt: skip
