"""What the dictionary gives to tell of a document: its text as it is now, without secrets."""

from __future__ import annotations

from completiond.complete.dictionary import Dictionary
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer

TOKENIZER = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
KEY = ("me", "a.py")
SECRET = "api_key = 'k9Xw2LmQ7vRt4Zp8hJ3n'"


def opened(*lines: str) -> Dictionary:
    dictionary = Dictionary(TOKENIZER)
    dictionary.open(KEY, lines)
    return dictionary


def test_lines_stay_where_they_are_and_secrets_are_empty() -> None:
    dictionary = opened("a = 1", SECRET, "x" * 5000, "c = '\ud800'")
    assert dictionary.readable_lines(KEY) == ("a = 1", "", "", "c = '?'")
    dictionary.edit(KEY, [LineEdit(0, 1, ("first", "second"))])
    assert dictionary.readable_lines(KEY) == ("first", "second", "", "", "c = '?'")


def test_each_text_has_a_version_of_its_own() -> None:
    dictionary = opened("a = 1")
    versions = [dictionary.version(KEY)]
    dictionary.edit(KEY, [LineEdit(0, 1, ("a = 2",))])
    versions.append(dictionary.version(KEY))
    dictionary.open(KEY, ("a = 1",))
    versions.append(dictionary.version(KEY))
    assert None not in versions
    assert len(set(versions)) == 3
    dictionary.close(KEY)
    assert dictionary.version(KEY) is None
    dictionary.edit(KEY, [LineEdit(0, 1, ("a = 2",))])
    assert dictionary.version(KEY) is None


def test_what_was_deleted_is_told_unless_it_is_a_secret() -> None:
    dictionary = opened("a = 1", "gone = 2", "c = 3", SECRET)
    assert dictionary.deleted(KEY) == dictionary.deleted(("me", "nothing")) == ""
    dictionary.edit(KEY, [LineEdit(1, 1, ())])
    assert "gone = 2" in dictionary.deleted(KEY)
    dictionary.edit(KEY, [LineEdit(2, 1, ())])
    assert dictionary.deleted(KEY) == ""
