"""Closers that an editor put behind the cursor, and the answer that has them, too."""

from __future__ import annotations

import pytest

from completiond.complete.closers import before_closers, closers_at
from completiond.complete.request import CompletionRequest
from completiond.complete.service import LocalService
from tests.complete.test_kept_answers import ask
from tests.complete.test_service import Opener
from tests.complete.test_service import loading as loading
from tests.complete.test_service import opener as opener
from tests.complete.test_service import service as service
from tests.fake_model import bytes_of, says


@pytest.mark.parametrize(
    ("rest", "closers", "expected"),
    [
        ("a, b)", ")", "a, b"),
        ("a, b) + c", ")", "a, b"),
        ("f(a), b) + c", ")", "f(a), b"),
        ("f(a).b()", ")", "f(a).b("),
        ('"a")', ")", '"a"'),
        ('a")', '")', "a"),
        ('a", b) + c', '")', "a"),
        (r"a\" b', c) + d", '"', None),
        (r'a\"b" + c', '"', r"a\"b"),
        ('")", a) + c', ")", '")", a'),
        ("don't) + c", ")", "don't"),
        ("x):\n    return f(y)", ")", "x"),
        ("\n    a,\n)", ")", "\n    a,\n"),
        ("a] + b", ")", None),
        ("a + b", ")", None),
        ("str, int]) -> None:", "])", "str, int"),
        ("T> x = 1", ">", "T"),
        ("a > b) + c", ")", "a > b"),
        ("(a)", "))", None),
    ],
)
def test_what_goes_in_front_of_closers(rest: str, closers: str, expected: str | None) -> None:
    assert before_closers(rest, closers) == expected


def test_closers_behind_the_cursor() -> None:
    assert [closers_at(text) for text in ('")]\n', "))))))", " )", "", "\n}")] == ['")]', "))))", "", "", ""]


CALL = 'f(a["k"], b) + c'


def at(prefix: str, suffix: str) -> CompletionRequest:
    return CompletionRequest(f"x = {prefix}", f"{suffix}\n", client_id="me", document_id="a.py", drafter="none")


@pytest.mark.parametrize(
    ("typed", "closers", "rest"),
    [
        ("f(", ")", 'a["k"], b'),
        ("f(a", ")", '["k"], b'),
        ("f(a[", "])", '"k"'),
        ('f(a["', '"])', "k"),
        ('f(a["k"], ', ")", "b"),
        ('f(a["k"], b)', "", " + c"),
    ],
)
async def test_typing_along_goes_on_where_the_editor_closes_what_is_typed(
    service: LocalService, opener: Opener, typed: str, closers: str, rest: str
) -> None:
    opener.target.script = says(bytes_of(CALL))
    assert (await service.complete(at("", ""))).text == CALL
    num_passes = opener.target.num_passes
    _, answer = await ask(service, at(typed, closers))
    assert (answer.text, answer.served_from, answer.passes) == (rest, "cache", 0)
    assert opener.target.num_passes == num_passes


@pytest.mark.parametrize(
    ("typed", "suffix"),
    [
        ("", ")"),
        ("g(", ")"),
        ("f(", "]"),
        ("f(", ") + d"),
        ('f(a["k"], b', ")"),
    ],
    ids=["nothing typed", "typed otherwise", "another closer", "another text", "nothing left in front"],
)
async def test_another_text_is_answered_anew(service: LocalService, opener: Opener, typed: str, suffix: str) -> None:
    opener.target.script = says(bytes_of(CALL))
    await service.complete(at("", ""))
    assert (await service.complete(at(typed, suffix))).served_from == "engine"
