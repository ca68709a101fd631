"""Lines that hold a secret, and what edits leave of one. No secret stands here: they are put together at run time."""

from __future__ import annotations

import random
import string

import pytest

from completiond.complete.document_secrets import DocumentSecrets

RANDOM = random.Random(7)
TOKEN = "gh" + "p_" + "".join(RANDOM.choices(string.ascii_letters + string.digits, k=36))
LINE = f'token = "{TOKEN}"'
BARS = "-" * 5
KEY_BODY = ["".join(RANDOM.choices(string.ascii_letters + string.digits, k=64)) for _ in range(4)]
KEY = [f"{BARS}BEGIN RSA PRIVATE KEY{BARS}", *KEY_BODY, f"{BARS}END RSA PRIVATE KEY{BARS}"]
URL = "db = connect('postgres://app:" + "7xkq9" + "@db.internal/app')"


def secrets(*lines: str) -> DocumentSecrets:
    one = DocumentSecrets()
    one.note(lines)
    return one


def test_lines_with_a_secret_are_left_out_wherever_they_are() -> None:
    one = secrets("import os", LINE, "", *KEY, "print(1)")

    assert list(one.without([LINE, "import os", *KEY, "print(1)", LINE])) == ["import os", "print(1)"]
    assert one.any_in(["x", LINE])
    assert not one.any_in(["import os", ""])


def test_without_secrets_nothing_is_left_out() -> None:
    one = secrets("import os", "print(1)")
    lines = ["anything", LINE]  # never noted

    assert list(one.without(lines)) == lines
    assert not one.any_in(lines)


@pytest.mark.parametrize(
    "left",
    [LINE[:-1], LINE[:-6], LINE[:20], TOKEN[-8:], f"x = f('{TOKEN[5:20]}')", KEY_BODY[1][3:30], "a" + KEY_BODY[2]],
)
def test_what_an_edit_leaves_of_a_secret_is_left_out(left: str) -> None:
    one = secrets(LINE, *KEY)
    one.note_edited([left, "plain = 1"])

    assert list(one.without([left, "plain = 1"])) == ["plain = 1"]


def test_a_short_password_counts_as_a_whole() -> None:
    one = secrets(URL)
    one.note_edited(["# it was " + "7xkq9", "7xkq"])

    assert list(one.without([URL, "# it was " + "7xkq9", "7xkq"])) == ["7xkq"]


@pytest.mark.parametrize("line", ["token = read()", "if 'PRIVATE KEY' in text:", TOKEN[:7], "", KEY_BODY[0][:7]])
def test_an_edited_line_that_gives_nothing_away_stays(line: str) -> None:
    one = secrets(LINE, *KEY)
    one.note_edited([line])

    assert list(one.without([line])) == [line]


def test_lines_that_are_gone_are_forgotten_and_their_secrets_are_not() -> None:
    one = secrets(LINE, URL)
    one.forget_all_but(["x", URL])
    assert one.any_in([URL])
    assert not one.any_in([LINE])

    one.note_edited([LINE[:-2]])
    assert one.any_in([LINE[:-2]])


def test_what_is_left_of_a_secret_is_masked_and_nothing_else() -> None:
    one = secrets(LINE, URL)

    assert one.masked(f'x = "{TOKEN[5:30]}!"') == 'x = "' + "*" * 25 + '!"'
    assert one.masked("say 7xkq9 and 7xkq9") == "say ***** and *****"
    assert one.masked("import os") == "import os"


def test_a_short_password_that_is_a_word_hides_no_other_line_with_it() -> None:
    one = secrets('password = "maple"')

    assert one.any_in(['password = "maple"'])
    assert one.masked("syrup of maple") == "syrup of maple"
