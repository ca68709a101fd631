"""The drafters of one loaded model: made when first asked for, kept from answer to answer.

A model drafter follows the target's cache with one of its own, so there is one of each kind, and every answer that uses
it goes on where the last one left it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from torch import Tensor

from completiond.cache.kv import KVCache, SequenceCache
from completiond.complete.heads import find_head, measured_acceptances
from completiond.complete.memory_plan import check_draft_model
from completiond.config import Config
from completiond.engine.decoder import Decoder
from completiond.engine.layer_skip import LayerSkip, default_layers
from completiond.engine.linear import Weight, pack_weight
from completiond.engine.load import LoadedModel, load_model
from completiond.errors import CompletiondError, UsageError
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.spec.best import BestDrafter, ModelDrafter, Trials
from completiond.spec.draft_choice import choose_draft
from completiond.spec.draft_model import DraftModelDrafter
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import Draft, Drafter, NoDrafter
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.eagle import EagleDrafter
from completiond.spec.eagle_checkpoint import HeadTarget, load_eagle
from completiond.spec.lookahead import LookaheadDrafter, LookaheadSizes, choose_sizes
from completiond.spec.medusa import MedusaDrafter
from completiond.spec.medusa_heads import load_medusa
from completiond.spec.ngram import NGramDrafter
from completiond.spec.policy import HOPE, MeasuredPolicy
from completiond.spec.same_vocabulary import check_same_vocabulary
from completiond.spec.speedup import RoundCost, constant_acceptance

__all__ = ["Drafters"]

T = TypeVar("T")
log = logging.getLogger(__name__)

UNIT_ROWS = 64
UNMEASURED_SIZES = LookaheadSizes(window=2, levels=3, guesses=2)


class Drafters:
    """Makes the drafter that a request asks for. Not thread-safe: belongs to the engine's thread."""

    def __init__(
        self,
        model: LoadedModel,
        kv: SequenceCache,
        config: Config,
        stop_ids: Container[int] = (),
        model_file: Path | None = None,
    ) -> None:
        """``kv``: the target's cache, whose size the drafters' follow. ``stop_ids`` end an answer. ``model_file``: what
        ``model`` was loaded from, by which its shipped heads are found; None for a model that has none.
        """
        self.policy: MeasuredPolicy | None = None
        self.use_model = False
        """Whether ``auto`` drafts with the EAGLE head too: see ``prepare``."""
        self._model = model
        self._capacity_tokens = kv.capacity_tokens
        self._kv = kv if isinstance(kv, KVCache) else None
        self._others = kv.others if isinstance(kv, KVCache) else None
        self._config = config
        self._stop_ids = stop_ids
        self._model_file = model_file
        self.refused: Mapping[DrafterChoice, CompletiondError] = MappingProxyType({})
        """Drafters that settings asked for and that cannot be had, with the reason; never changed, only replaced."""
        self._last_good: DrafterChoice = config.spec.drafter
        self._made: dict[str, Any] = {}
        self._trials: dict[str, Trials] = {}

    def configured(self, choice: DrafterChoice, text: DraftText | None = None) -> Drafter:
        """The drafter that the settings ask for now, which may have changed; the last good one where it cannot be had.

        What failed is not tried again: to find out may take as long as to load a model.
        """
        if choice not in self.refused:
            try:
                drafter = self._of(choice, text)
            except CompletiondError as error:
                self._refuse(choice, error)
            else:
                self._last_good = choice
                return drafter
        return self._of(self._last_good, text)

    def _refuse(self, choice: DrafterChoice, error: CompletiondError) -> None:
        # A traceback would hold what had been loaded.
        self.refused = MappingProxyType({**self.refused, choice: type(error)(error.message, error.advice)})

    def get(self, choice: DrafterChoice, text: DraftText | None = None) -> Drafter:
        """``auto`` is the drafter of the start, and the best for the machine when that is ``auto`` too.

        Raises UsageError when what it needs is not set up, and the ModelError that says what is wrong with it.
        """
        return self._of(self._config.spec.drafter if choice == "auto" else choice, text)

    def _of(self, choice: DrafterChoice, text: DraftText | None) -> Drafter:
        if choice == "none":
            return NoDrafter()
        if choice == "auto":
            copies = self._ngram(text)
            if self.policy is None or not self.use_model:
                return copies
            return BestDrafter(copies, self.eagle(), self.policy, self._trials_of("eagle"))
        if choice == "ngram":
            return self._ngram(text)
        if choice == "eagle":
            return self._while_it_pays(self.eagle())
        if choice == "lookahead":
            return self._kept(choice, self._lookahead)
        return self._while_it_pays(self._kept(choice, self._draft_model if choice == "draft" else self._medusa))

    def _kept(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._made:
            self._made[name] = make()
        made: T = self._made[name]
        return made

    def _while_it_pays(self, model: ModelDrafter) -> Drafter:
        """A drafter that costs steps of its own is asked only while it gains, once times are known."""
        if self.policy is None:
            return model
        return BestDrafter(NoDrafter(), model, self.policy, self._trials_of(model.source))

    def _trials_of(self, source: str) -> Trials:
        return self._trials.setdefault(source, Trials())

    @property
    def loaded(self) -> tuple[str, ...]:
        """Names of those that hold memory now."""
        return tuple(self._made)

    def can(self, choice: DrafterChoice) -> bool:
        """Whether what ``choice`` needs is set up."""
        try:
            self.get(choice)
        except UsageError:  # what is set up wrongly raises a ModelError, which passes
            return False
        return True

    def eagle(self) -> EagleDrafter:
        """The EAGLE drafter, loaded when first asked for. Raises UsageError when there is no head."""
        return self._kept("eagle", self._eagle)

    def _eagle(self) -> EagleDrafter:
        folder = find_head("eagle", self._config.spec.eagle_head, self._model_file)
        if folder is None:
            raise UsageError(
                "There is no EAGLE head for this model.",
                "Train one with `completiond train eagle`, and name its folder in spec.eagle_head.",
            )
        head = load_eagle(folder, self._head_target())
        eagle = EagleDrafter(head, self._capacity_tokens, self._goes_on, width=self._config.spec.draft_width)
        if self._kv is not None and self._others is not None:
            self._others.follower = eagle
            eagle.sit(self._kv.seat)
        return eagle

    def prepare(self) -> None:
        """Load what the settings ask for, once the machine is measured: ``auto`` keeps an EAGLE head only if it pays.

        What cannot be had is ``refused``, and n-grams draft in its place: a drafter changes no answer, so none is worth
        going without answers.
        """
        choice = self._config.spec.drafter
        try:
            self._prepare_best() if choice == "auto" else self.get(choice)
        except CompletiondError as error:
            self._refuse(choice, error)
            self._last_good = "ngram"

    def _prepare_best(self) -> None:
        folder = find_head("eagle", self._config.spec.eagle_head, self._model_file)
        if folder is None or self.policy is None or not isinstance(self._model.target, Decoder):
            return
        eagle = self.eagle()
        step_ms = eagle.measure_step_ms()
        acceptances = measured_acceptances(folder) or constant_acceptance(HOPE, eagle.max_depth)
        acceptances = acceptances[: self.policy.costs.max_tokens - 1]  # a shorter draft than it was trained for is set
        choice = choose_draft(acceptances, RoundCost(self.policy.costs, guess_ms=step_ms))
        self.use_model = choice.length > 0
        if not self.use_model:
            del self._made["eagle"]
            if self._others is not None:
                self._others.follower = None
        log.info(
            "EAGLE head %s: a step takes %.1f ms, expected speedup %.2f: %s", folder.name, step_ms, choice.best_speedup,
            "in use" if self.use_model else "left out",
        )  # fmt: skip

    def _ngram(self, text: DraftText | None) -> Drafter:
        return NGramDrafter(text, self.policy.rate) if self.policy else NGramDrafter(text)

    def _draft_model(self) -> ModelDrafter:
        name = self._config.spec.draft_model
        if not name:
            target = self._decoder("drafts by skipping layers")
            skipping = LayerSkip(target, default_layers(target.shape.num_layers))
            return DraftModelDrafter(skipping, self._capacity_tokens, self._goes_on, stop_ids=self._stop_ids)
        paths = Paths.from_environment()
        try:
            file = resolve(name, paths)
        except CompletiondError as error:
            raise type(error)(f"spec.draft_model is {name}. {error.message}", error.advice) from None
        small = load_model(
            file, self._config.model, paths.prepared_dir, lambda share, what: None,
            lambda size: check_draft_model(name, size, self._capacity_tokens),
        )  # fmt: skip
        check_same_vocabulary(
            self._model.tokenizer, self._model.target.vocab_size, small.tokenizer, small.target.vocab_size,
            (self._config.model.name, name),
        )  # fmt: skip
        return DraftModelDrafter(small.target, self._capacity_tokens, self._goes_on, stop_ids=self._stop_ids)

    def _medusa(self) -> ModelDrafter:
        folder = find_head("medusa", self._config.spec.medusa_heads, self._model_file)
        if folder is None:
            raise UsageError(
                "There are no Medusa heads for this model.",
                "Train some with `completiond train medusa`, and name their folder in spec.medusa_heads.",
            )
        target = self._decoder("Medusa heads")
        heads = load_medusa(
            folder, target.shape.hidden_size, target.vocab_size, target.kernels, target.device, self._lm_head
        )
        return MedusaDrafter(heads, self._config.spec.draft_width)

    @torch.inference_mode()
    def _lm_head(self, token_ids: Tensor | None) -> Weight:
        """The target's product with the vocabulary, or with those of its rows."""
        target = self._decoder("Medusa heads")
        if token_ids is None:
            return target.weights.lm_head
        kernels, parts = target.kernels, []
        # Unit vectors give a packed product's columns back, exactly, in less time than reading the model's file again.
        for units in torch.eye(target.shape.hidden_size, dtype=kernels.dtype, device=target.device).split(UNIT_ROWS):  # type: ignore[no-untyped-call]
            parts.append(kernels.linear(kernels.rows(units), target.weights.lm_head)[:, token_ids])
        return pack_weight(kernels, torch.cat(parts).t().float().contiguous(), target.device)

    def _lookahead(self) -> Drafter:
        sizes = choose_sizes(self.policy.costs) if self.policy else UNMEASURED_SIZES
        return LookaheadDrafter(sizes, seed=0, costs=self.policy.costs if self.policy else None)

    def _goes_on(self, draft: Draft, step_ms: float) -> bool:
        return self.policy is None or self.policy.goes_on(draft, step_ms)

    def _head_target(self) -> HeadTarget:
        target = self._decoder("EAGLE heads")
        weights, shape = target.weights, target.shape
        return HeadTarget(
            shape.hidden_size, shape.num_layers, target.vocab_size, weights.embedding, weights.lm_head, target.kernels,
            target.device,
        )  # fmt: skip

    def _decoder(self, what: str) -> Decoder:
        if not isinstance(self._model.target, Decoder):
            raise UsageError(
                f"{what} need the fast decoder, and this model runs through transformers.", "Use ngram or lookahead."
            )
        return self._model.target
