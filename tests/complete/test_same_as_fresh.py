"""Whatever was typed, taken, deleted and jumped to before: the answer is that of a process that has just begun.

On a real, if small, int8 model with all that is kept from answer to answer: its own cache, the prefix tree, what was
read in quiet moments, texts side by side (two of three), drafts from the open documents, and answers that were broken
off by a key.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from completiond.cache.kv import KVCache
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest, LineEdit
from completiond.complete.written import Written
from completiond.config import CacheConfig, CompletionConfig, Config, ModelConfig, PromptConfig, SpecConfig
from completiond.engine import generate as generate_module
from completiond.engine.load import LoadedModel, load_model
from completiond.engine.sampling_params import SamplingParams
from tests.train.small import make_model

KEY = ("me", "a.py")
OTHER = ("me", "b.py")
THIRD = ("you", "c.py")
LINES = tuple(f"def name_{n}(value):\n    return value + {n}\n" for n in range(6))
CONFIG = Config(
    model=ModelConfig(device="cpu", context_tokens=320),
    prompt=PromptConfig(prefix_tokens=160, suffix_tokens=60, max_read_ms=0),
    completion=CompletionConfig(max_tokens=10),
    spec=SpecConfig(drafter="ngram"),
    cache=CacheConfig(suffix="exact", memory_mb=1),
)


WITH_CONTEXT = CONFIG.model_copy(
    update={
        "model": ModelConfig(device="cpu", context_tokens=480),
        "prompt": CONFIG.prompt.model_copy(update={"context_tokens": 200}),
    }
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("same")
    settings_ = ModelConfig(name=str(make_model(folder / "small")), device="cpu")
    return load_model(folder / "small", settings_, folder / "prepared", lambda share, what: None)


class Session:
    """One editor with two documents; ``completer`` goes on through all of it."""

    def __init__(self, model: LoadedModel, temperature: float, config: Config = CONFIG) -> None:
        self.model = model
        self.config = config
        self.completer = Completer(model, config)
        self.sampling = SamplingParams(temperature=temperature, seed=3)
        self.texts = {KEY: "".join(LINES[:3]), OTHER: "".join(LINES[3:]), THIRD: "".join(LINES[1:4])}
        self.key, self.cursor = KEY, len(self.texts[KEY])
        for key, text in self.texts.items():
            self.completer.documents.open(key, text.split("\n"), key[1])

    def replace(self, begin: int, end: int, new: str) -> None:
        """As an editor says it: whole lines."""
        old = self.texts[self.key]
        self.texts[self.key] = old[:begin] + new + old[end:]
        self.cursor = begin + len(new)
        first, last = old.count("\n", 0, begin), old.count("\n", 0, end)
        lines = self.texts[self.key].split("\n")[first : first + new.count("\n") + 1]
        self.completer.documents.edit(self.key, [LineEdit(first, last - first + 1, tuple(lines))])

    def request(self) -> CompletionRequest:
        text, (client_id, document_id) = self.texts[self.key], self.key
        return CompletionRequest(
            text[: self.cursor], text[self.cursor :], client_id=client_id, document_id=document_id,
            sampling=self.sampling,
        )  # fmt: skip

    def answer(self, num_passes: int | None = None) -> Completion | None:
        """None when a key came after ``num_passes``."""
        items = self.completer.run(self.request(), time.perf_counter())
        assert isinstance(items, Generator)
        for number, item in enumerate(items):
            if isinstance(item, Completion):
                return item
            if number == num_passes:
                items.close()
        return None

    def read(self, num_pieces: int) -> None:
        pieces = self.completer.read(self.request())
        assert isinstance(pieces, Generator)
        for number, _ in enumerate(pieces):
            if number == num_pieces:
                pieces.close()

    def fresh(self) -> Completion:
        """What is told of other files was chosen when the cursor was elsewhere: that is part of what is asked."""
        completer = Completer(self.model, self.config)
        request = replace(self.request(), client_id="", document_id="", drafter="none")
        choice = self.completer.others.kept(self.key)
        prompt = completer.prompt(request, self.config.completion.max_tokens, True, may_take_back=True, choice=choice)
        *_, completion = completer.run(request, time.perf_counter(), Written(prompt))
        assert isinstance(completion, Completion)
        return completion


def step(session: Session, numbers: random.Random) -> None:
    text, cursor = session.texts[session.key], session.cursor
    what = numbers.choice(("type", "type", "delete", "accept", "jump", "other", "broken off", "quiet", "replace"))
    if what == "type":
        session.replace(cursor, cursor, numbers.choice(("a", "value", " ", "\n    ", "def ", "(")))
    elif what == "delete":
        session.replace(max(0, cursor - numbers.randint(1, 8)), cursor, "")
    elif what == "accept" and (completion := session.answer()) is not None:
        session.replace(cursor, cursor, completion.text[: numbers.choice((3, 100))])
    elif what == "jump":
        session.cursor = numbers.randint(0, len(text))
    elif what == "other":
        session.key = numbers.choice([key for key in session.texts if key != session.key])
        session.cursor = numbers.randint(0, len(session.texts[session.key]))
    elif what == "broken off":
        session.answer(numbers.randint(0, 3))
    elif what == "quiet":
        session.read(numbers.randint(0, 4))
    elif what == "replace":
        begin = numbers.randint(0, len(text))
        session.replace(begin, min(len(text), begin + numbers.randint(0, 30)), numbers.choice(("", "x = 1\n", "é")))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9), temperature=st.sampled_from([0.0, 0.0, 0.8]))
def test_the_answer_is_that_of_a_process_that_has_just_begun(model: LoadedModel, seed: int, temperature: float) -> None:
    check_session(Session(model, temperature), seed)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9), temperature=st.sampled_from([0.0, 0.0, 0.8]))
def test_so_it_is_with_what_other_files_say(model: LoadedModel, seed: int, temperature: float) -> None:
    check_session(Session(model, temperature, WITH_CONTEXT), seed)


def check_session(session: Session, seed: int) -> None:
    numbers = random.Random(seed)
    for _ in range(12):
        step(session, numbers)
        if numbers.random() < 0.5:
            continue
        ours, expected = session.answer(), session.fresh()
        assert ours is not None
        assert (ours.text, ours.token_ids) == (expected.text, expected.token_ids)
        assert (ours.stop_reason, ours.prompt_tokens) == (expected.stop_reason, expected.prompt_tokens)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9), temperature=st.sampled_from([0.0, 0.0, 0.8]))
def test_so_are_answers_that_are_written_by_turns(model: LoadedModel, seed: int, temperature: float) -> None:
    """Prompts are read by turns too; a turn ends when there is something that another one finds done."""
    session, numbers = Session(model, temperature), random.Random(seed)
    for _ in range(4):
        step(session, numbers)
    asked: dict[tuple[str, str], tuple[CompletionRequest, Completion]] = {}
    for session.key in (KEY, OTHER, THIRD):
        session.cursor = min(session.cursor, len(session.texts[session.key]))
        asked[session.key] = session.request(), session.fresh()
    begun = {key: Written() for key in asked}
    answers: dict[tuple[str, str], Completion] = {}
    with patch.object(generate_module, "PREFILL_CHUNK_TOKENS", 16):
        while len(answers) < len(asked):
            for key in [key for key in asked if key not in answers]:
                written, num_done = begun[key], begun[key].num_done
                items = session.completer.run(asked[key][0], time.perf_counter(), written)
                assert isinstance(items, Generator)
                for item in items:
                    if isinstance(item, Completion):
                        answers[key] = item
                    elif written.num_done > num_done:
                        items.close()
    for key, (_, expected) in asked.items():
        ours = answers[key]
        assert (ours.text, ours.token_ids) == (expected.text, expected.token_ids)
        assert (ours.stop_reason, ours.prompt_tokens) == (expected.stop_reason, expected.prompt_tokens)


def test_the_test_tells_of_other_files(model: LoadedModel) -> None:
    session, numbers = Session(model, 0.0, WITH_CONTEXT), random.Random(1)
    told: set[str] = set()
    for _ in range(60):
        step(session, numbers)
        session.answer()
        choice = session.completer.others.kept(session.key)
        assert choice is not None
        told.update(piece.kind for piece in choice.pieces)
    assert told >= {"deleted", "edit", "similar"}


def test_the_test_has_something_to_find(model: LoadedModel) -> None:
    """What is kept is used: by the end, much of each prompt comes from a cache, and guesses are checked."""
    session, numbers = Session(model, 0.0), random.Random(1)
    assert isinstance(session.completer.kv, KVCache)
    assert session.completer.kv.seats is not None
    cached, asked = 0, 0
    for _ in range(60):
        step(session, numbers)
        completion = session.answer()
        assert completion is not None
        cached, asked = cached + completion.cached_tokens, asked + completion.prompt_tokens
    assert cached > asked / 3
    assert sum(sum(one.tried) for one in session.completer.acceptance.counts) > 20
