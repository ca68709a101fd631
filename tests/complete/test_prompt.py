"""From the text around the cursor to ids: order of parts, budgets, and windows that stay put while one types."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import processors

from completiond.complete.families import FAMILIES, FimFamily, FimTokens, find_family
from completiond.complete.prompt import NEAR_SUFFIX_TOKENS, Prompt, PromptBudget, build_prompt
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import EOS, FIM_QWEN, bytes_of, fake_tokenizer

BARE = [family for family in FAMILIES if not family.lead]
"""With nothing but markers and text in their prompts; tests/complete/test_family_prompts.py has all."""
WIDE = PromptBudget(prefix_tokens=1000, suffix_tokens=1000)


def tokenizer_for(markers: tuple[str, ...] = FIM_QWEN, with_bos: bool = False) -> TextTokenizer:
    raw = fake_tokenizer(markers)
    if with_bos:
        raw.post_processor = processors.TemplateProcessing(
            single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", EOS)]
        )
    return TextTokenizer(raw, {}, raw.get_vocab_size())


TOKENIZER = tokenizer_for()
FIM = find_family(TOKENIZER.control_id)
assert FIM is not None
PRE, SUF, MID = FIM.prefix_id, FIM.suffix_id, FIM.middle_id


def of_family(family: FimFamily, with_bos: bool) -> tuple[TextTokenizer, FimTokens]:
    tokenizer = tokenizer_for(family.required, with_bos)
    fim = find_family(tokenizer.control_id)
    assert fim is not None
    return tokenizer, fim


def prompt_for(prefix: str, suffix: str = "", budget: PromptBudget = WIDE, fim: FimTokens | None = FIM) -> Prompt:
    return build_prompt(prefix, suffix, TOKENIZER, fim, budget)


def window(prefix: str, max_tokens: int) -> str:
    return TOKENIZER.decode(prompt_for(prefix, budget=PromptBudget(max_tokens, 16)).prefix_ids)


def window_after(suffix: str, max_tokens: int) -> str:
    return TOKENIZER.decode(prompt_for("", suffix, PromptBudget(16, max_tokens)).suffix_ids)


@pytest.mark.parametrize("with_bos", [False, True], ids=["no-bos", "bos"])
@pytest.mark.parametrize("family", BARE, ids=lambda family: family.name)
def test_what_may_be_moved_lies_behind_the_marker_and_some_tokens(family: FimFamily, with_bos: bool) -> None:
    tokenizer, fim = of_family(family, with_bos)
    suffix = "0123456789abcdef"
    prompt = build_prompt("ab", suffix, tokenizer, fim, WIDE)
    moved = [prompt.token_ids[place] for place in prompt.movable]
    if family.suffix_first:
        assert moved == []
    else:
        assert moved == bytes_of(suffix[NEAR_SUFFIX_TOKENS - 1 :])
        assert prompt.movable.stop == len(prompt.token_ids) - 1
    assert len(build_prompt("ab", "cd", tokenizer, fim, WIDE).movable) == 0


@pytest.mark.parametrize("with_bos", [False, True], ids=["no-bos", "bos"])
@pytest.mark.parametrize("family", BARE, ids=lambda family: family.name)
def test_parts_stand_in_the_familys_order(family: FimFamily, with_bos: bool) -> None:
    tokenizer, fim = of_family(family, with_bos)

    prompt = build_prompt("ab", "cd", tokenizer, fim, WIDE)

    before = [tokenizer.control_id(family.prefix), *bytes_of("ab")]
    after = [tokenizer.control_id(family.suffix), *bytes_of("cd")]
    parts = [*after, *before] if family.name in ("codestral", "seed") else [*before, *after]
    middle = [] if family.name == "codestral" else [tokenizer.control_id(family.middle)]
    assert list(prompt.token_ids) == [*([EOS] if with_bos else []), *parts, *middle]
    assert list(prompt.prefix_ids) == bytes_of("ab")
    assert list(prompt.suffix_ids) == bytes_of("cd")


def test_a_model_without_markers_reads_the_prefix_only() -> None:
    prompt = prompt_for("ab", "cd", fim=None)

    assert list(prompt.token_ids) == list(prompt.prefix_ids) == bytes_of("ab")
    assert prompt.suffix_ids == ()


def test_an_empty_file_is_a_prompt_too() -> None:
    assert prompt_for("").token_ids == (PRE, SUF, MID)
    assert prompt_for("", fim=None).token_ids == tuple(bytes_of("\n"))
    assert build_prompt("", "", tokenizer_for((), with_bos=True), None, WIDE).token_ids == (EOS,)


def test_an_empty_prefix_keeps_the_suffix() -> None:
    assert prompt_for("", "cd").token_ids == (PRE, SUF, *bytes_of("cd"), MID)


def test_markers_in_the_text_are_text() -> None:
    prompt = prompt_for("a<|fim_middle|>", "<|endoftext|>")

    assert prompt.prefix_ids == tuple(bytes_of("a<|fim_middle|>"))
    assert prompt.suffix_ids == tuple(bytes_of("<|endoftext|>"))
    assert [index for index in prompt.token_ids if index >= EOS] == [PRE, SUF, MID]


LINES = st.lists(st.text("ab é🙂\t", max_size=40) | st.text("x", min_size=30, max_size=400), max_size=30).map("\n".join)


@settings(deadline=None)
@given(prefix=LINES, suffix=LINES, before=st.integers(1, 80), after=st.integers(0, 80))
def test_budgets_are_never_exceeded_and_windows_touch_the_cursor(
    prefix: str, suffix: str, before: int, after: int
) -> None:
    prompt = prompt_for(prefix, suffix, PromptBudget(before, after))

    assert len(prompt.prefix_ids) <= before
    assert len(prompt.suffix_ids) <= after
    assert len(prompt.token_ids) <= before + after + 3
    assert list(prompt.prefix_ids) == bytes_of(prefix)[len(bytes_of(prefix)) - len(prompt.prefix_ids) :]
    assert list(prompt.suffix_ids) == bytes_of(suffix)[: len(prompt.suffix_ids)]
    if len(bytes_of(prefix)) <= before:
        assert list(prompt.prefix_ids) == bytes_of(prefix)
    if len(bytes_of(suffix)) <= after:
        assert list(prompt.suffix_ids) == bytes_of(suffix)


@settings(deadline=None)
@given(prefix=LINES, before=st.integers(16, 80))
def test_a_window_inside_the_prefix_uses_a_quarter_of_its_budget_at_least(prefix: str, before: int) -> None:
    used = len(prompt_for(prefix, budget=PromptBudget(before, 0)).prefix_ids)

    # A fake token is a byte: the rest went to the grid and to the search for a line's start.
    assert used >= min(len(bytes_of(prefix)), before // 4 - 4)


def numbered(count: int) -> str:
    return "".join(f"value_{number} = {number}\n" for number in range(count))


def test_a_window_begins_at_a_lines_start() -> None:
    shown = window(numbered(100), max_tokens=200)

    assert numbered(100).endswith("\n" + shown)
    assert len(shown) > 100


@pytest.mark.parametrize("text", [numbered(200), "x = [" + "1234, " * 500], ids=["short lines", "one very long line"])
def test_the_window_stays_put_while_the_user_types(text: str) -> None:
    budget = 200
    begins = []
    for typed in range(800):
        shown = window(text + "y" * typed, budget)
        begins.append(len(text) + typed - len(shown))

    assert begins == sorted(begins)
    assert len(set(begins)) <= 1 + 800 // (budget // 2)


def test_one_very_long_line_is_cut_inside() -> None:
    text = "a" * 5000

    assert 50 <= len(window(text, max_tokens=100)) <= 100
    assert window_after(text, max_tokens=100) == "a" * 100


@pytest.mark.parametrize("length", range(100, 120))
def test_characters_of_several_tokens_leave_a_window_too(length: int) -> None:
    assert len(window("🙂" * length, max_tokens=64)) >= 64 // 4 // 4


def test_a_suffix_window_ends_at_a_lines_end() -> None:
    shown = window_after("\n" + numbered(100), max_tokens=50)

    assert shown == "\nvalue_0 = 0\nvalue_1 = 1\nvalue_2 = 2\nvalue_3 = 3\n"


def test_a_suffix_without_a_budget_is_left_out() -> None:
    assert prompt_for("ab", "cd", PromptBudget(10, 0)).token_ids == (PRE, *bytes_of("ab"), SUF, MID)


def test_text_far_from_the_cursor_costs_nothing() -> None:
    encoded: list[int] = []

    class Counting(TextTokenizer):
        def encode(self, text: str) -> list[int]:
            encoded.append(len(text))
            return super().encode(text)

        def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
            encoded.append(len(text))
            return super().encode_with_offsets(text)

    raw = fake_tokenizer()
    build_prompt("a\n" * 10**6, "b\n" * 10**6, Counting(raw, {}, 300), FIM, PromptBudget(100, 100))

    assert sum(encoded) <= 4 * 100 * 8
