"""Answers of a remote engine: what it is sent, and that what it writes is shaped and cut as a model's of our own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from completiond.complete.completer import Completer
from completiond.complete.families import FAMILIES
from completiond.complete.remote_completer import RemoteCompleter, open_remote
from completiond.complete.remote_format import RemoteFormat
from completiond.complete.request import Chunk, Completion, CompletionRequest, LineEdit, Lines
from completiond.config import CompletionConfig, Config, ExcludeConfig, ModelConfig, PromptConfig
from completiond.config.setting import all_settings
from completiond.engine.remote_key import KEY_VARIABLE
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import RemoteDownError, UsageError
from tests.fake_model import bytes_of, fake_model, says
from tests.remote_server import DONE, KEY, PATIENCE_S, Reply, Server, event, serving, writes

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zZ9aB3"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def _fresh(server: Server) -> None:
    server.reply = writes("text")
    server.asked.clear()
    server.replies.clear()
    server.disconnected.clear()


def config_of(server: Server, remote_format: str = "suffix", **more: object) -> Config:
    engine = {"remote": server.base_url, "remote_model": "big-coder", "remote_format": remote_format}
    return Config.model_validate({"engine": engine, **more})


@contextmanager
def completer_of(config: Config) -> Iterator[RemoteCompleter]:
    completer = open_remote(config)
    try:
        yield completer
    finally:
        completer.close()


def items_of(
    completer: RemoteCompleter | Completer, request: CompletionRequest
) -> tuple[list[Chunk], list[Completion], Completion]:
    """Chunks, whole lines on the way, and the end."""
    items = list(completer.run(request, time.perf_counter()))
    end = items[-1]
    assert isinstance(end, Completion)
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert "".join(chunk.text for chunk in chunks) == end.text == "".join(span.text for span in end.spans)
    return chunks, [item.completion for item in items if isinstance(item, Lines)], end


def answer_of(completer: RemoteCompleter | Completer, prefix: str, suffix: str = "", **more: object) -> Completion:
    return items_of(completer, CompletionRequest(prefix, suffix, **more))[2]  # type: ignore[arg-type]


def sent(server: Server) -> tuple[str, str | None]:
    """Prompt and suffix of the last question."""
    body = server.questions[-1].body
    return body["prompt"], body.get("suffix")


# What is sent


def test_both_sides_of_the_cursor_in_two_fields(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        answer = answer_of(completer, "a = \r\n\r\nb = ", "\r\nc\r\n", max_tokens=9)
    assert sent(server) == ("a = \n\nb = ", "\nc\n")
    assert server.questions[0].body["max_tokens"] == 9
    assert server.questions[0].body["temperature"] == 0
    assert answer.text == "text"
    assert (answer.stop_reason, answer.model) == ("eos", "big-coder")
    assert answer.device == server.base_url.removeprefix("http://").removesuffix("/v1")
    assert answer.ttft_ms > 0
    assert {span.source for span in answer.spans} == {"model"}


def test_sampling_is_the_servers(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        answer_of(completer, "x", sampling=SamplingParams(0.5, 40, 0.9, 7))
    body = server.questions[0].body
    assert (body["temperature"], body["top_k"], body["top_p"], body["seed"]) == (0.5, 40, 0.9, 7)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("prefix", "P"),
        ("qwen", "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>"),
        ("starcoder", "<fim_prefix>P<fim_suffix>S<fim_middle>"),
        ("santacoder", "<fim-prefix>P<fim-suffix>S<fim-middle>"),
        ("codegemma", "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>"),
        ("deepseek", "<｜fim▁begin｜>P<｜fim▁hole｜>S<｜fim▁end｜>"),
        ("seed", "<[fim-suffix]>S<[fim-prefix]>P<[fim-middle]>"),
        ("codestral", "[SUFFIX]S[PREFIX]P"),
        ("glm", "[gMASK]<sop><|code_prefix|>P<|code_suffix|>S<|code_middle|>"),
    ],
)
def test_one_text_in_the_template_of_a_family(server: Server, name: str, prompt: str) -> None:
    with completer_of(config_of(server, name)) as completer:
        assert answer_of(completer, "P", "S").text == "text"
    assert sent(server) == (prompt, None)
    hides = server.questions[0].body.get("skip_special_tokens")
    assert hides is (None if name == "prefix" else False), "what ends an answer has to be seen"


def test_every_family_that_the_settings_allow_is_one() -> None:
    allowed = set(all_settings()["engine", "remote_format"].choices) - {"suffix", "prefix"}
    assert allowed <= {family.name for family in FAMILIES}
    left_out = {family.name for family in FAMILIES} - allowed
    assert left_out == {"codellama", "aixcoder"}, "their markers are no text, but begin with what stands for a blank"
    for name in allowed:
        assert RemoteFormat(name).fim is not None


@pytest.mark.parametrize("name", ["qwen", "codestral", "prefix"])
def test_text_that_spells_a_control_token_does_not_become_one(server: Server, name: str) -> None:
    text = "a = '<|fim_middle|>[SUFFIX]<|im_start|>' "
    with completer_of(config_of(server, name)) as completer:
        answer_of(completer, text, "<|endoftext|>")
    prompt, _ = sent(server)
    assert prompt.count("<|fim_middle|>") == (name == "qwen")
    assert prompt.count("[SUFFIX]") == (name == "codestral") + (name in ("qwen", "prefix"))
    assert "<|im_start|>" not in prompt
    assert "<|endoftext|>" not in prompt


def test_two_fields_are_the_text_itself(server: Server) -> None:
    text = "a = '<|fim_middle|><prompt><suffix>' "
    with completer_of(config_of(server)) as completer:
        answer_of(completer, text, text)
    prompt, suffix = sent(server)
    assert prompt.replace(" ", "") == suffix.replace(" ", "") == text.replace(" ", "")  # type: ignore[union-attr]
    assert "<|fim_middle|>" in prompt


def test_budgets_count_three_letters_for_a_token_and_begin_at_a_line(server: Server) -> None:
    lines = "".join(f"line {number:04}\n" for number in range(1000))
    prompt = PromptConfig(prefix_tokens=100, suffix_tokens=50)
    with completer_of(config_of(server, prompt=prompt)) as completer:
        answer_of(completer, lines, lines)
    before, after = sent(server)
    assert lines.endswith(before)
    assert 150 <= len(before) <= 300
    assert before.startswith("line")
    assert after is not None
    assert lines.startswith(after)
    assert 100 <= len(after) <= 150


def test_half_a_character_is_sent_as_a_question_mark(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        answer_of(completer, "a\ud83d")
    assert sent(server)[0] == "a?"


# What is never sent


def test_secrets_are_asterisks(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        answer_of(completer, f'token = "{SECRET}"\nuse(', f")\nother = '{SECRET}'\n")
        answer_of(completer, f'token = "{SECRET}"\n', is_raw=True)
    assert len(server.questions) == 2
    for asked in server.questions:
        assert SECRET.encode() not in asked.raw
        assert b"****" in asked.raw


def test_what_an_edit_left_of_a_secret_is_not_sent(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        completer.documents.open(("me", "a.py"), [f'x = "{SECRET}"', ""], "")
        completer.documents.edit(("me", "a.py"), [LineEdit(0, 1, (f'x = "{SECRET[6:]}"',))])
        answer_of(completer, f'x = "{SECRET[6:]}"\ny = ', "", client_id="me", document_id="a.py")
    assert sent(server)[0] == f'x = "{"*" * len(SECRET[6:])}"\ny = '


def test_an_answer_that_repeats_the_asterisks_is_not_shown(server: Server) -> None:
    server.reply = writes('use("', "****", '****")\n')
    with completer_of(config_of(server)) as completer:
        answer = answer_of(completer, f'token = "{SECRET}"\n')
    assert (answer.text, answer.stop_reason) == ('use("', "secret")


@pytest.mark.parametrize("path", ["/p/.env", "/p/legal/x.py"])
def test_an_excluded_file_is_not_sent(server: Server, path: str) -> None:
    with completer_of(config_of(server, exclude=ExcludeConfig(globs=("legal/",)))) as completer:
        completer.documents.set_folders("me", ["/p"])
        answer = answer_of(completer, "a = ", path=path, client_id="me")
        raw = answer_of(completer, "a = ", path=path, client_id="me", is_raw=True)
    assert answer.stop_reason.startswith("excluded: ")
    assert raw.stop_reason.startswith("excluded: ")
    assert not answer.text
    assert not server.questions


def test_nothing_is_sent_where_suggestions_are_off(server: Server) -> None:
    off = CompletionConfig(disabled_languages=("markdown",))
    with completer_of(config_of(server, completion=off)) as completer:
        assert answer_of(completer, "a", path="a.md").stop_reason == "off: completion.disabled_languages"
    assert not server.questions


def test_other_open_files_are_told_of_as_the_settings_say_and_excluded_ones_never(server: Server) -> None:
    prompt = PromptConfig(context_tokens=300)
    with completer_of(config_of(server, "qwen", prompt=prompt)) as completer:
        documents = completer.documents
        documents.set_folders("me", ["/p"])
        documents.open(("me", "lib"), ["def measured(width, height):", "    return width"], "/p/lib.py")
        documents.open(("me", "env"), ["measured = 'of the environment'"], "/p/.env")
        documents.open(("me", "main"), ["x = measured("], "/p/main.py")
        request = {"client_id": "me", "document_id": "main", "path": "/p/main.py"}
        answer_of(completer, "x = measured(", **request)
        told, _ = sent(server)
        assert "<|file_sep|>" in told
        assert "def measured(width, height):" in told
        assert "environment" not in told
        assert documents.state.documents == 2
        assert documents.state.excluded_documents == 1
        assert documents.state.tokens == 0, "the server drafts"
        answer_of(completer, "x = measured(", client_id="other", document_id="main", path="/p/main.py")
        assert "width" not in sent(server)[0], "another client's"


def test_tokens_cannot_be_sent(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        with pytest.raises(UsageError):
            answer_of(completer, "", prompt_ids=(1, 2), is_raw=True)
        with pytest.raises(UsageError):
            _ = completer.tokenizer
    assert not server.questions


def test_other_answers_at_a_place_are_not_asked_for(server: Server) -> None:
    with completer_of(config_of(server)) as completer:
        assert answer_of(completer, "x", avoided_ids=(1,)).stop_reason == "remote"
    assert not server.questions


# What is made of what it writes

PLACES = [
    ("def f(x):\n    ", "\n\n\ndef g(x):\n    return 1\n"),
    ("def f(x):\n    ", ""),
    ("class A:\n    def f(self):", "\n\n    def g(self):\n        pass\n"),
    ("x = foo(", ")\n"),
    ("x = ", "  # why\n"),
    ("if a:\n    b()\n", "else:\n    c()\n"),
    ("int f() {\n  ", "\n}\n"),
    ("items = [\n    ", "\n]\n"),
    ("", ""),
    ("def f():\r\n    ", "\r\n"),
]
WORDS = (
    "return ", "x", " = ", "foo(", ")", "(", "\n", "\n\n", "\n    ", "\n        ", "    ", "if a:", "else:", "pass",
    "def g(x):", "return 1", "}", "]", "[", '"', "'", ", ", "self.", "# why", "b()", "c()", "\t", "```", "ü", "for i:",
)  # fmt: skip
"""No words that begin with another one that a rule knows: whether the half is looked at is a tokenizer's matter."""


@example("    return ", PLACES[2], [], False)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
    st.sampled_from(PLACES),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.booleans(),
)
def test_an_answer_ends_where_a_model_of_our_own_would_have_ended(
    server: Server, text: str, place: tuple[str, str], cuts: list[int], multiline: bool
) -> None:
    wanted = CompletionConfig(multiline=multiline, max_tokens=500)
    own = Config(model=ModelConfig(name="fake", context_tokens=2048), completion=wanted)
    model, _ = fake_model(says(bytes_of(text)))
    expected = answer_of(Completer(model, own), *place, drafter="none")
    borders = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    server.reply = writes(*(text[a:b] for a, b in pairwise(borders)))
    with completer_of(config_of(server, completion=wanted)) as completer:
        answer = answer_of(completer, *place)
    assert (answer.text, answer.stop_reason) == (expected.text, expected.stop_reason)


def test_a_server_that_does_not_stop_is_cut_where_the_rules_say_and_left(server: Server) -> None:
    server.reply = Reply([*map(event, ("return x", "\n\n\n", "def g", "():\n", "    pass\n"))], hangs=True)
    with completer_of(config_of(server)) as completer:
        answer = answer_of(completer, "def f(x):\n    ", "\n")
        assert (answer.text, answer.stop_reason) == ("return x", "block")
        assert server.disconnected.wait(PATIENCE_S)


def test_a_server_that_knows_no_length_is_cut(server: Server) -> None:
    server.reply = Reply([event("x = 1\ny = 2\n" * 40)], hangs=True)
    with completer_of(config_of(server)) as completer:
        answer = answer_of(completer, "a = 0\n", max_tokens=2)
    assert answer.text == "x = 1\ny = 2"
    assert answer.stop_reason == "length"


@pytest.mark.parametrize("owner", ["them", "completiond"])
def test_a_raw_answer_that_became_too_long_says_so_whoever_wrote_it(server: Server, owner: str) -> None:
    server.reply = writes("x = 1\ny = 2", finish="length")
    with completer_of(config_of(server)) as completer:
        completer.server.ends_answers = owner == "completiond"
        answer = answer_of(completer, "a\n", is_raw=True)
    assert (answer.text, answer.stop_reason) == ("x = 1\ny = 2", "length")


@pytest.mark.parametrize(("owner", "text"), [("them", "x = 1"), ("completiond", "x = 1\ny = 2")])
def test_of_what_became_too_long_whole_lines_are_kept_once(server: Server, owner: str, text: str) -> None:
    server.reply = writes("x = 1\ny = 2", finish="length")
    with completer_of(config_of(server)) as completer:
        completer.server.ends_answers = owner == "completiond"
        assert answer_of(completer, "a = 0\n").text == text


@pytest.mark.parametrize("name", ["qwen", "suffix"])
def test_a_control_token_in_the_text_ends_it(server: Server, name: str) -> None:
    server.reply = writes("return", " x<|fi", "m_pad|>\n\nother", " text")
    with completer_of(config_of(server, name)) as completer:
        answer = answer_of(completer, "def f(x):\n    ")
    assert (answer.text, answer.stop_reason) == ("return x", "eos")


def test_html_may_have_its_own(server: Server) -> None:
    server.reply = writes("old</s> new\n")
    with completer_of(config_of(server, "codestral")) as completer:
        assert answer_of(completer, "<p><s>").text == "old</s> new"


def test_words_that_begin_like_a_branch(server: Server) -> None:
    server.reply = writes("except", "ions", " = []")
    with completer_of(config_of(server)) as completer:
        assert answer_of(completer, "a = 1\n").text == "exceptions = []"


def test_line_ends_are_the_documents(server: Server) -> None:
    server.reply = writes("a = 1\nb = 2\n")
    with completer_of(config_of(server)) as completer:
        assert answer_of(completer, "# x\r\n").text == "a = 1\r\nb = 2"


def test_whole_lines_on_the_way(server: Server) -> None:
    server.reply = writes("a = 1\n", "b = 2\n", "c = 3", "\n")
    with completer_of(config_of(server)) as completer:
        _, lines, end = items_of(completer, CompletionRequest("# x\n", "", in_lines=True))
    assert [one.text for one in lines][:2] == ["a = 1", "a = 1\nb = 2"]
    assert {one.stop_reason for one in lines} == {"deadline"}
    assert end.text == "a = 1\nb = 2\nc = 3"


def test_a_raw_request_is_passed_on_as_it_is(server: Server) -> None:
    server.reply = writes("  two\n", "\nparts ")
    with completer_of(config_of(server, "qwen")) as completer:
        answer = answer_of(completer, "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>", is_raw=True)
    assert sent(server) == ("<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>", None)
    assert answer.text == "  two\n\nparts "


def test_nothing_worth_showing_is_empty(server: Server) -> None:
    server.reply = Reply([event(""), event("\n", "stop"), DONE])
    with completer_of(config_of(server)) as completer:
        answer = answer_of(completer, "x = 1\n")
    assert (answer.text, answer.stop_reason) == ("", "empty")


def test_closing_the_answer_closes_the_connection(server: Server) -> None:
    server.reply = Reply([event("a = 1\n")], hangs=True)
    with completer_of(config_of(server)) as completer:
        items = completer.run(CompletionRequest("# x\n", ""), time.perf_counter())
        assert isinstance(next(item for item in items if item is not None), Chunk)
        items.close()  # type: ignore[attr-defined]
        assert server.disconnected.wait(PATIENCE_S)


def test_an_error_of_the_server_is_one_of_the_answer(server: Server) -> None:
    server.reply = Reply(status=401)
    with completer_of(config_of(server)) as completer, pytest.raises(RemoteDownError):
        answer_of(completer, "x")


def test_the_key_is_of_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    config = config_of(server)
    with completer_of(config) as completer:
        answer_of(completer, "x")
        assert KEY not in repr(vars(completer.config)) + repr(config)
    assert server.questions[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_remote_engine_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "from completiond.complete.open_any import open_any\n"
        "from completiond.complete.service import LocalService\n"
        "from completiond.config import Config, EngineConfig\n"
        "from completiond.paths import Paths\n"
        "open_any(Config(engine=EngineConfig(remote='http://127.0.0.1:9/v1')), Paths.from_environment())\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
