"""Where an answer ends because the model is not sure of what follows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from completiond.complete.answer import Answer
from completiond.complete.completer import Completer
from completiond.complete.confidence import MIN_CONFIDENCE_AMID, MIN_LINE_CONFIDENCE, first_line_confidence, sure_end
from completiond.complete.place import Place
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.tokens import TextTokenizer
from completiond.spec.drafter_names import DrafterChoice
from tests.complete.drafting import config
from tests.complete.showing import place_of
from tests.fake_model import EOS, MIDDLE, PADDED_VOCAB_SIZE, bytes_of, fake_model, fake_tokenizer

SURE, UNSURE = math.log(0.99), math.log(0.3)


def ended(*tokens: tuple[str, float]) -> str | None:
    """What is left of the tokens; None: all of them, so far."""
    end = sure_end([piece for piece, _ in tokens], [logprob for _, logprob in tokens], Place.of("", ""))
    return None if end is None else "".join(piece for piece, _ in tokens)[:end]


def test_an_answer_ends_before_the_first_line_that_the_model_is_not_sure_of() -> None:
    assert ended(("a = 1\n", SURE), ("b = ", UNSURE), ("2\n", UNSURE), ("c\n", SURE)) == "a = 1\n"
    assert ended(("a = 1\n", SURE), ("b = 2\n", SURE)) is None


def test_a_line_is_judged_when_it_is_complete() -> None:
    assert ended(("a = 1\n", SURE), ("b = ", UNSURE), ("2", UNSURE)) is None


def test_a_first_line_is_kept_and_stays_alone() -> None:
    assert ended(("a", UNSURE), (" = 1\n", UNSURE), ("b = 2\n", SURE)) == "a = 1"


def test_so_is_one_that_opens_a_block() -> None:
    assert ended(("if a:\n", UNSURE), ("    b = 2\n", SURE), ("c", SURE)) == "if a:"


@pytest.mark.parametrize(
    ("suffix", "is_kept"),
    [
        ("\n    c = 3\n", False),  # a statement of the same block
        ("\n        c = 3\n", True),  # the block that it opens, or something of that kind
        ("\nc = 3\n", True),  # nothing more in this block
        ("", True),
    ],
)
def test_between_statements_of_a_block_a_further_line_has_to_be_surer(suffix: str, is_kept: bool) -> None:
    rather = math.log(0.7)
    assert MIN_LINE_CONFIDENCE < 0.7 < MIN_CONFIDENCE_AMID
    tokens = (("a = 1\n", rather), ("    b = 2\n", rather), ("    d", SURE))
    end = sure_end([piece for piece, _ in tokens], [value for _, value in tokens], Place.of("def f():\n    ", suffix))
    assert end == (None if is_kept else len("a = 1\n"))


def test_the_geometric_mean_of_a_line_is_what_counts() -> None:
    just_enough = math.log(MIN_LINE_CONFIDENCE) + 1e-9

    assert ended(("a\n", SURE), ("b", 2 * just_enough), ("\n", 0.0)) is None
    assert ended(("a\n", SURE), ("b", 2 * just_enough - 1e-6), ("\n", 0.0)) == "a\n"


def test_blank_lines_are_part_of_the_next_line() -> None:
    assert ended(("a\n", SURE), ("\n", UNSURE), ("b\n", UNSURE), ("c", SURE)) == "a\n"


def test_a_first_line_s_confidence_is_a_probability() -> None:
    assert first_line_confidence([], []) == 1.0
    assert first_line_confidence(["a", "\n", "b"], [math.log(0.5), math.log(0.125), 0.0]) == pytest.approx(0.25)


def test_a_gap_in_a_line_is_not_judged_by_lines() -> None:
    tokenizer = TextTokenizer(fake_tokenizer(), {"eos_token_id": EOS}, PADDED_VOCAB_SIZE)
    answer = Answer(tokenizer, place_of("f(§)"))
    for token_id in bytes_of("a\nb"):
        answer.push(token_id)

    assert answer.attribute(0, "model", [UNSURE] * 3) is None


def test_an_unsure_answer_ends_where_it_may_have_ended_before() -> None:
    tokenizer = TextTokenizer(fake_tokenizer(), {"eos_token_id": EOS}, PADDED_VOCAB_SIZE)
    answer = Answer(tokenizer, place_of("def f():\n    §\n        return 1\n"))
    written = "if x:\n        y\n    else:\n        z\n    w"
    for token_id in bytes_of(written):
        assert answer.push(token_id) is None

    assert (
        answer.attribute(0, "model", [UNSURE] * len("if x:\n") + [SURE] * (len(written) - len("if x:\n"))) == "unsure"
    )
    answer.close("unsure")
    assert answer.text == "if x:"


def says_with(answer: str, unsure: str) -> Completer:
    """One whose model is torn between two tokens at each letter of ``unsure``, once that begins."""
    ids, begin = bytes_of(answer), len(bytes_of(answer.partition(unsure)[0]))

    def script(seen: Sequence[int]) -> torch.Tensor:
        done = list(reversed(seen)).index(MIDDLE)
        logits = torch.zeros(PADDED_VOCAB_SIZE)
        logits[ids[done] if done < len(ids) else EOS] = 50.0
        if begin <= done < begin + len(unsure):
            logits[EOS] = 49.9
        return logits

    model, _ = fake_model(script)
    return Completer(model, config())


@pytest.mark.parametrize("drafter", ["none", "ngram", "lookahead"])
def test_an_answer_s_unsure_part_is_shown_by_no_drafter(drafter: DrafterChoice) -> None:
    text = "alpha = 1\n    beta = alpha + alpha\n    gamma = 3\n"
    completer = says_with(text, "beta = alpha + alpha\n")
    *parts, completion = completer.run(
        CompletionRequest("def f():\n    ", "", client_id="me", drafter=drafter),
        0.0,
    )

    assert isinstance(completion, Completion)
    assert (completion.text, completion.stop_reason) == ("alpha = 1", "unsure")
    assert "".join(part.text for part in parts if isinstance(part, Chunk)) == completion.text
    assert bytes(completion.token_ids) == bytes(bytes_of(completion.text))
