"""Secrets around a cursor are made unreadable, and nothing else is touched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from completiond.exclude.mask import MARGIN_CHARS, mask_secrets
from completiond.exclude.secret_text import find_secrets

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"
KEY = "-----BEGIN PRIVATE KEY-----\n" + BODY * 8 + "-----END PRIVATE KEY-----"


def test_secrets_on_both_sides_are_hidden_and_lengths_stay() -> None:
    before, after = f'a = "{TOKEN}"\nb = ', f'\nc = "{TOKEN}"\n'

    prefix, suffix = mask_secrets(before, after, 1000, 1000)

    stars = "*" * len(TOKEN)
    assert (prefix, suffix) == (f'a = "{stars}"\nb = ', f'\nc = "{stars}"\n')


def test_a_secret_that_the_cursor_is_in_is_one() -> None:
    prefix, suffix = mask_secrets(f'a = "{TOKEN[:20]}', f'{TOKEN[20:]}"\n', 1000, 1000)

    assert prefix == 'a = "' + "*" * 20
    assert suffix == "*" * (len(TOKEN) - 20) + '"\n'


def test_the_lines_of_a_key_stay_lines() -> None:
    prefix, _ = mask_secrets(f"x\n{KEY}\ny", "", 1000, 1000)

    assert "MII" not in prefix
    assert [len(line) for line in prefix.split("\n")] == [len(line) for line in f"x\n{KEY}\ny".split("\n")]


def test_a_secret_that_begins_before_what_is_read_is_known() -> None:
    before = f'a = "{TOKEN}"' + " " * 10

    prefix, _ = mask_secrets(before, "", 15, 0)

    assert TOKEN[-4:] not in prefix
    assert mask_secrets("x" * MARGIN_CHARS + before, "", 15, 0)[0].endswith(prefix)


def test_what_is_far_away_is_not_looked_at() -> None:
    far = f'a = "{TOKEN}"' + "\n" * (MARGIN_CHARS + 20)

    assert mask_secrets(far, far[::-1], 10, 10) == (far, far[::-1])


@given(
    st.lists(st.sampled_from(["x = 1\n", f'"{TOKEN}"', "password = 'S3cr3t-!x9'\n", "é🙂", "\n", "https://u:p4ssW0rd@h/"])),
    st.integers(0, 400), st.integers(0, 200), st.integers(0, 200),
)  # fmt: skip
def test_nothing_but_secrets_changes(parts: list[str], cursor: int, before: int, after: int) -> None:
    text = "".join(parts)
    prefix, suffix = mask_secrets(text[:cursor], text[cursor:], before, after)

    assert (len(prefix), len(suffix)) == (len(text[:cursor]), len(text[cursor:]))
    hidden = {place for span in find_secrets(text) for place in range(span.start_chars, span.end_chars)}
    changed = {place for place, (old, new) in enumerate(zip(text, prefix + suffix, strict=True)) if old != new}
    assert changed == {place for place in hidden if text[place] not in "\n*"}
