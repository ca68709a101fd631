"""Two drafters in one: copies from text where they are expected to do best, a model's guesses where those are.

The text drafter costs next to nothing, so it is always asked. The model drafter costs steps of its own, so it is asked
only when what it is known to achieve beats both the copy at hand and plain decoding. While it does not, it is tried now
and then, ever more rarely, because text changes and so does what it is good at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from completiond.cache.shift import Move
from completiond.spec.drafter import Draft, Drafter, Verified
from completiond.spec.policy import MIN_GAIN, MeasuredPolicy

__all__ = ["BestDrafter", "ModelDrafter", "Trials"]

FIRST_PAUSE, LONGEST_PAUSE = 16, 1024
"""Passes between two trials of a model drafter that does not pay."""


class ModelDrafter(Drafter, Protocol):
    """A drafter whose guesses cost steps of a model: ``step_ms`` each, 0.0 before the first was measured."""

    source: str

    @property
    def step_ms(self) -> float:
        """What a guess takes."""

    @property
    def max_depth(self) -> int:
        """Guesses one below the other, at most."""


class Trials:
    """When a drafter that does not pay is tried again. Outlives the answers: most of them are shorter than a pause."""

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE
        self._wait = 0

    def pays(self) -> None:
        """It does: the next pause is short again."""
        self._pause, self._wait = FIRST_PAUSE, 0

    def is_due(self) -> bool:
        """One more pass went by in which it does not."""
        self._wait += 1
        if self._wait < self._pause:
            return False
        self._pause, self._wait = min(LONGEST_PAUSE, 2 * self._pause), 0
        return True


class BestDrafter:
    """A Drafter over a text drafter and a model drafter, chosen between by what the policy expects of each."""

    def __init__(self, text: Drafter, model: ModelDrafter, policy: MeasuredPolicy, trials: Trials) -> None:
        self._text = text
        self._model = model
        self._policy = policy
        self._trials = trials
        self.feature_layers = model.feature_layers

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""
        self._text.reset(context_ids, other_ids)
        self._model.reset(context_ids, other_ids)

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin."""
        self._model.begin(prompt_ids, num_cached_tokens, move)

    def read(self, features: Tensor) -> None:
        """See Drafter.read."""
        self._model.read(features)

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe: both follow, whoever drafted."""
        self._text.observe(token_ids, verified)
        self._model.observe(token_ids, verified)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: of both, what is expected to bring the most tokens per millisecond."""
        copied = self._text.propose(budget)
        if not self._is_worth_asking(self._policy.rate(copied)):
            return copied
        guessed = self._model.propose(budget)
        if not guessed.token_ids and budget > 0:
            self._policy.miss(self._model.source)  # it spent a step and was not sure enough of anything
        # The steps are spent by now: what counts is what checking either brings.
        return guessed if self._policy.rate(guessed) > self._policy.rate(copied) else copied

    def _is_worth_asking(self, copied_rate: float) -> bool:
        model_rate = self._policy.model_rate(self._model.source, self._model.step_ms, self._model.max_depth)
        plain_rate = self._policy.plain_rate
        if model_rate > MIN_GAIN * plain_rate:
            self._trials.pays()
            return model_rate > copied_rate
        return copied_rate <= MIN_GAIN * plain_rate and self._trials.is_due()
