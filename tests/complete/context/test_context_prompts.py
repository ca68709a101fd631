"""What a prompt has of other documents, and how much."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.complete.request import Completion
from completiond.config import CompletionConfig, Config, ModelConfig, PromptConfig
from tests.complete.context.desk import FILLER, REPOSITORY, WORK, Desk, config, desk_with
from tests.complete.context.projects import PROJECTS, Project
from tests.fake_model import FIM_QWEN, bytes_of


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.language)
def test_the_prompt_begins_with_what_another_file_defines(project: Project) -> None:
    desk = Desk(config(context_tokens=1500))
    desk.open(project.other_path, project.other)
    desk.open(project.current_path, project.current)
    ids, said = desk.ids(project.current_path), desk.said(project.current_path)
    assert all(line in said for line in project.told)
    assert said.index(project.other_path) < said.index(project.told[0]) < said.rindex(project.current_path)
    repo_id, separator_id, prefix_id = (desk.completer.tokenizer.control_id(it) for it in (*REPOSITORY, FIM_QWEN[0]))
    assert ids[0] == repo_id
    assert ids.count(separator_id) == 2
    assert ids.index(prefix_id) == len(desk.choice(project.current_path).context)


# Off


@pytest.mark.parametrize("markers", [(), FIM_QWEN, (*FIM_QWEN, *REPOSITORY)])
def test_with_no_tokens_for_it_every_prompt_is_as_it_was(markers: Sequence[str]) -> None:
    desk = Desk(config(context_tokens=0), markers)
    desk.open("work.py", WORK)
    desk.open("main.py", "\n".join([*FILLER, "from work import process", "process("]))
    completer = desk.completer
    for line in (0, 5, 100, -1):
        request = desk.request("main.py", line)
        alone = build_prompt(
            request.prefix, request.suffix, completer.tokenizer, completer.fim, PromptBudget(160, 60)
        )  # fmt: skip
        assert completer.prompt(request, 20) == alone
    assert completer.others.kept(("me", "main.py")) is None


def test_without_other_documents_every_prompt_is_as_it_was() -> None:
    desk, without = Desk(config()), Desk(config(context_tokens=0))
    for one in (desk, without):
        one.open("main.py", "process(")
    assert desk.ids("main.py") == without.ids("main.py")


def test_what_other_clients_have_open_is_not_told() -> None:
    desk, without = Desk(config()), Desk(config(context_tokens=0))
    for one in (desk, without):
        one.open("work.py", WORK, client_id="you")
        one.open("main.py", "from work import process\nprocess(")
    assert desk.ids("main.py") == without.ids("main.py")


def test_a_text_that_is_not_open_is_told_nothing() -> None:
    desk = desk_with("from work import process\nprocess(")
    request = desk.request("main.py")
    for stranger in (replace(request, document_id=""), replace(request, client_id="you")):
        assert "count" not in desk.completer.tokenizer.decode(desk.completer.prompt(stranger, 20).token_ids)


# The budget


@pytest.mark.parametrize("markers", [(), FIM_QWEN, (*FIM_QWEN, *REPOSITORY)])
def test_the_budget_is_kept(markers: Sequence[str]) -> None:
    sizes = []
    for context_tokens in range(0, 160, 3):
        desk = Desk(config(context_tokens), markers)
        desk.open("work.py", WORK + "def other(item, count):\n    return 1\n")
        desk.open("main.py", "from work import process\nprocess(other(")
        sizes.append(len(desk.ids("main.py")) - len(bytes_of("from work import process\nprocess(other(")))
        told = sum(word in desk.said("main.py") for word in ("def process", "def other"))
        assert sizes[-1] <= sizes[0] + context_tokens
        assert told == 2 if context_tokens > 130 else told <= (context_tokens > 30) + (context_tokens > 60)
    assert len(set(sizes)) >= 3


@pytest.mark.parametrize("markers", [(), FIM_QWEN, (*FIM_QWEN, *REPOSITORY)])
def test_the_file_itself_comes_first_where_the_cache_is_small(markers: Sequence[str]) -> None:
    small = Config(
        model=ModelConfig(name="fake", context_tokens=300),
        prompt=PromptConfig(prefix_tokens=160, suffix_tokens=60, context_tokens=500, max_read_ms=0),
        completion=CompletionConfig(max_tokens=20),
    )
    desk = Desk(small, markers)
    desk.open("work.py", WORK * 20)
    desk.open("main.py", "\n".join([*FILLER, "from work import process", "process("]))
    prompt = desk.completer.prompt(desk.request("main.py"), 20)
    assert len(prompt.token_ids) + 20 <= 300
    desk.completer.config = small.model_copy(update={"prompt": small.prompt.model_copy(update={"context_tokens": 0})})
    assert prompt.prefix_ids == desk.completer.prompt(desk.request("main.py"), 20).prefix_ids
    desk.completer.config = small
    *_, completion = desk.completer.run(desk.request("main.py"), time.perf_counter())
    assert isinstance(completion, Completion)


def test_on_a_slow_machine_other_files_are_given_up_first_and_read_in_a_quiet_moment() -> None:
    desk = desk_with("from work import process\nprocess(", max_read_ms=60)

    class Slow:
        ms_per_token = 1.0

        def ms(self, num_tokens: int) -> float:
            return float(num_tokens)

        def observe(self, num_tokens: int, pass_ms: float) -> None:
            pass

    desk.completer.reading = Slow()  # type: ignore[assignment]
    prompt = desk.completer.prompt(desk.request("main.py"), 20)
    own = desk.completer.tokenizer.decode(prompt.prefix_ids)
    assert own == "from work import process\nprocess("
    assert len(prompt.token_ids) < 60
    assert 0.0 < prompt.context_share < 1.0
    desk.read("main.py")
    prompt = desk.completer.prompt(desk.request("main.py"), 20)
    assert prompt.context_share == 1.0
    assert "def process(item, count)" in desk.completer.tokenizer.decode(prompt.token_ids)


def test_the_text_behind_the_cursor_is_movable_wherever_it_lies_now() -> None:
    desk = desk_with("\n".join(["from work import process", "process(", *FILLER]))
    prompt = desk.completer.prompt(desk.request("main.py", 1), 20)
    alone = desk_with("\n".join(["from work import process", "process(", *FILLER]), context_tokens=0)
    without = alone.completer.prompt(alone.request("main.py", 1), 20)
    context = desk.choice("main.py", 1).context
    assert len(context) > 0
    assert prompt.movable == range(without.movable.start + len(context), without.movable.stop + len(context))
    places = [prompt.token_ids[place] for place in prompt.movable]
    assert places == [without.token_ids[place] for place in without.movable]
