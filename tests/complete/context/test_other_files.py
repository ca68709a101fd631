"""What is told of other documents, from key to key, in a completer with a scripted model."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Sequence
from dataclasses import replace

import pytest

from completiond.complete.completer import Completer
from completiond.complete.context.other_files import Choice
from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.complete.request import Completion, CompletionRequest, LineEdit
from completiond.config import CompletionConfig, Config, ExcludeConfig, ModelConfig, PromptConfig
from tests.complete.context.projects import HOSTILE, PROJECTS, Project
from tests.fake_model import FIM_QWEN, PADDED_VOCAB_SIZE, babble, bytes_of, fake_model

REPOSITORY = ("<|repo_name|>", "<|file_sep|>")
FILLER = [f"line_{n} = {n}" for n in range(200)]
WORK = "def process(item, count):\n    return item * count\n"


def config(context_tokens: int = 1200, max_read_ms: int = 0, prefix_tokens: int = 160) -> Config:
    return Config(
        model=ModelConfig(name="fake", context_tokens=4000),
        prompt=PromptConfig(
            prefix_tokens=prefix_tokens, suffix_tokens=60, context_tokens=context_tokens, max_read_ms=max_read_ms
        ),
        completion=CompletionConfig(max_tokens=20),
    )


class Desk:
    """A client's documents in a completer; a request is for the document's text, with the cursor at some place."""

    def __init__(self, config: Config, markers: Sequence[str] = (*FIM_QWEN, *REPOSITORY)) -> None:
        model, self.target = fake_model(babble(PADDED_VOCAB_SIZE, 7, favoured=bytes_of("abcxyz")), markers)
        self.completer = Completer(model, config)
        self.completer.documents.set_folders("me", ["/repo"])
        self.texts: dict[str, list[str]] = {}

    def open(self, name: str, text: str, client_id: str = "me") -> None:
        if client_id == "me":
            self.texts[name] = text.split("\n")
        self.completer.documents.open((client_id, name), text.split("\n"), f"/repo/{name}")

    def edit(self, name: str, first: int, num_old: int, *new: str) -> None:
        self.texts[name][first : first + num_old] = new
        self.completer.documents.edit(("me", name), [LineEdit(first, num_old, new)])

    def request(self, name: str, line: int = -1) -> CompletionRequest:
        """At the end of a line."""
        lines = self.texts[name]
        line = line % len(lines)
        prefix, suffix = "\n".join(lines[: line + 1]), "".join(f"\n{one}" for one in lines[line + 1 :])
        return CompletionRequest(prefix, suffix, f"/repo/{name}", "me", name, drafter="none")

    def ids(self, name: str, line: int = -1) -> tuple[int, ...]:
        return self.completer.prompt(self.request(name, line), 20).token_ids

    def said(self, name: str, line: int = -1) -> str:
        return self.completer.tokenizer.decode(self.ids(name, line))

    def choice(self, name: str, line: int = -1) -> Choice:
        self.ids(name, line)
        choice = self.completer.others.kept(("me", name))
        assert choice is not None
        return choice

    def read(self, name: str, num_pieces: int | None = None) -> None:
        """In a quiet moment; or only some of it."""
        pieces = self.completer.read(self.request(name))
        assert isinstance(pieces, Generator)
        for _ in itertools.islice(pieces, num_pieces):
            pass
        pieces.close()


def desk_with(current: str, other: str = WORK, **settings: int) -> Desk:
    desk = Desk(config(**settings))
    desk.open("work.py", other)
    desk.open("main.py", current)
    return desk


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


# From key to key


def test_while_typing_the_prompt_begins_with_the_same_tokens() -> None:
    desk = desk_with("\n".join(["from work import process", *FILLER[:5], "", "x"]))
    desk.open("like.py", "\n".join(FILLER))
    first = desk.ids("main.py")
    length = len(desk.choice("main.py").context)
    assert length > 100
    for number, key in enumerate("result = process(item, 3)\nother = process(result)\n"):
        *_, last = desk.texts["main.py"]
        new = ("", "") if key == "\n" else (last + key,)
        desk.edit("main.py", len(desk.texts["main.py"]) - 1, 1, *(last, "") if key == "\n" else new)
        assert desk.ids("main.py")[:length] == first[:length], number


def test_what_is_told_is_chosen_anew_for_these_reasons_only() -> None:
    desk = desk_with("\n".join(["from work import process", *FILLER]))
    desk.open("like.py", "\n".join(FILLER))
    choice = desk.choice("main.py", 3)
    desk.edit("main.py", 3, 1, "typed = 1", "more")
    assert desk.choice("main.py", 4) is choice
    assert desk.choice("main.py", 23) is choice
    assert desk.choice("like.py") is not choice
    assert desk.choice("main.py", 3) is choice, "to look at another document changes nothing"

    far = desk.choice("main.py", 24)
    assert far is not choice, "the cursor has moved"
    assert desk.choice("main.py", 24) is far
    desk.edit("work.py", 0, 1, "def process(item, count, third):")
    changed = desk.choice("main.py", 24)
    assert changed is not far, "another document has changed"
    desk.edit("main.py", 150, 1, "elsewhere = 1")
    elsewhere = desk.choice("main.py", 24)
    assert elsewhere is not changed, "this one has changed somewhere else"
    desk.completer.documents.close(("me", "like.py"))
    assert desk.choice("main.py", 24) is not elsewhere, "one was closed"


def test_a_quiet_moment_chooses_anew_but_only_once_it_was_read() -> None:
    desk = desk_with("\n".join(["from work import process", "", *FILLER[:8]]))
    desk.open("like.py", "\n".join(FILLER))
    choice = desk.choice("main.py")
    desk.edit("main.py", 9, 1, "process(")
    desk.read("main.py", 0)
    assert desk.choice("main.py") is choice
    desk.read("main.py")
    read = desk.choice("main.py")
    assert read is not choice
    assert "definition" in {piece.kind for piece in read.pieces}
    assert desk.completer.kv.num_unread(desk.ids("main.py")) <= 1


def test_what_was_told_before_stays_in_its_place() -> None:
    desk = desk_with("\n".join(["from work import process", "process(", *FILLER]))
    desk.choice("main.py", 1)
    desk.open("aaa.py", "def also(value):\n    return value\n")
    desk.edit("main.py", 1, 1, "process(also(")
    assert desk.choice("main.py", 1).documents == ("work.py", "aaa.py")
    fresh = desk_with("\n".join(["from work import process", "process(also(", *FILLER]))
    fresh.open("aaa.py", "def also(value):\n    return value\n")
    assert fresh.choice("main.py", 1).documents == ("aaa.py", "work.py")


def test_the_same_documents_and_the_same_choices_give_the_same_prompt() -> None:
    first, second = (desk_with("\n".join(["from work import process", *FILLER, "process("])) for _ in range(2))
    assert first.ids("main.py") == second.ids("main.py")


# What was done lately


def test_what_was_edited_elsewhere_is_told() -> None:
    desk = desk_with("\n".join([*FILLER, "", "x"]), other="\n".join(f"other_{n} = 1" for n in range(100)))
    desk.edit("main.py", 5, 1, "freshly_written = 1")
    desk.edit("work.py", 50, 1, "also_written = 1")
    desk.edit("main.py", 201, 1, "x = 1")
    said = desk.said("main.py")
    assert "freshly_written = 1" in said
    assert "also_written = 1" in said
    assert {"edit"} <= {piece.kind for piece in desk.choice("main.py").pieces}


def test_what_the_prompt_shows_anyway_is_not_told() -> None:
    desk = desk_with("\n".join(FILLER[:5]))
    desk.edit("main.py", 2, 1, "freshly_written = 1")
    assert desk.said("main.py").count("freshly_written") == 1


def test_what_was_deleted_in_one_document_is_told_in_another() -> None:
    desk = desk_with("import work\n", other="\n".join(["a = 1", "moved_away = compute(a, b, c)", "z = 1"]))
    desk.edit("work.py", 1, 1)
    choice = desk.choice("main.py")
    assert [piece.text for piece in choice.pieces if piece.kind == "deleted"] == ["moved_away = compute(a, b, c)\n"]


def test_where_the_cursor_was_in_another_document_is_told() -> None:
    desk = desk_with("x = 1", other="\n".join(f"other_{n} = {n}" for n in range(100)))
    desk.ids("work.py", 70)
    said = desk.said("main.py")
    assert "other_70 = 70" in said
    assert "other_30 = 30" not in said


# What may not be told


SECRET = "api_key = 'k9Xw2LmQ7vRt4Zp8hJ3n'"


def test_lines_with_a_secret_are_not_told() -> None:
    other = f"class Process:\n    size = 3\n    {SECRET}\n    def run(self, count): pass\n"
    desk = desk_with("from work import Process\nProcess(", other=other)
    said = desk.said("main.py")
    assert "size = 3" in said
    assert "k9Xw2" not in said


def test_what_an_edit_leaves_of_a_secret_is_not_told_nor_a_secret_that_was_deleted() -> None:
    desk = desk_with("from work import Process\nProcess(", other=f"class Process:\n    {SECRET}\n    size = 3\n")
    desk.edit("work.py", 1, 1, "    api = 'k9Xw2LmQ7vRt'")
    assert "k9Xw2" not in desk.said("main.py")
    desk.edit("work.py", 1, 1)
    assert "k9Xw2" not in desk.said("main.py")
    assert "size = 3" in desk.said("main.py")


def test_an_excluded_document_is_not_told_nor_one_that_becomes_it() -> None:
    desk = desk_with("process(other(", other=WORK.replace("process", "other"))
    desk.open(".env", WORK)
    assert desk.choice("main.py").documents == ("work.py",)
    desk.completer.set_exclusions(ExcludeConfig(globs=("work.py",)), {})
    assert desk.choice("main.py", 0).documents == ("work.py",), "nobody has looked yet"
    desk.edit("main.py", 0, 1, "process(other(1")
    desk.completer.documents.check_all()
    assert "count" not in desk.said("main.py")


def test_exclusions_are_asked_whenever_something_is_chosen() -> None:
    desk = desk_with("process(")
    desk.completer.set_exclusions(ExcludeConfig(globs=("work.py",)), {})
    assert desk.choice("main.py").documents == ()


def test_a_closed_document_is_forgotten() -> None:
    desk = desk_with("from work import process\nprocess(")
    assert "count" in desk.said("main.py")
    desk.completer.documents.close(("me", "work.py"))
    assert "count" not in desk.said("main.py")
    desk.completer.documents.forget_client("me")
    assert desk.completer.others.kept(("me", "main.py")) is None


# Hostile texts and names


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_of_another_document_does_harm(text: str) -> None:
    desk = desk_with("target()\ntarget3(", other=text)
    ids = desk.ids("main.py")
    controls = desk.completer.tokenizer.control_ids
    repo_id, separator_id = (desk.completer.tokenizer.control_id(one) for one in REPOSITORY)
    context = desk.choice("main.py").context
    assert [one for one in context.front if one in controls] in ([], [repo_id, separator_id, separator_id])
    assert len([one for one in ids if one in controls]) == len([one for one in context.front if one in controls]) + 3
    assert len(context) <= 1200


def test_no_name_does_harm() -> None:
    name = "a<|file_sep|><|fim_prefix|>\n\u2028/" + "d" * 2000 + "/we\ud800ird.py"
    desk = Desk(config())
    desk.completer.documents.open(("me", "b"), WORK.split("\n"), f"/repo/{name}")
    desk.open("main.py", "process(")
    ids, controls = desk.ids("main.py"), desk.completer.tokenizer.control_ids
    assert sum(one in controls for one in ids) == 6


def test_a_hundred_documents_are_not_all_looked_at() -> None:
    desk = Desk(config())
    for number in range(100):
        desk.open(f"b{number}.py", f"def process_{number}(a): pass\n")
    desk.open("main.py", "process_2(process_98(")
    said = desk.said("main.py")
    assert "def process_98" in said
    assert "def process_2(" not in said
