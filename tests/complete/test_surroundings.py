"""What the cursor is in; ``§`` is the cursor."""

from __future__ import annotations

import pytest

from completiond.complete.surroundings import MAX_CHARS, surroundings_of


def at(text: str, language: str = "", path: str = "") -> str:
    prefix, suffix = text.split("§")
    return surroundings_of(prefix, suffix, language, path)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("x = 1  # so §", "python", "comment"),
        ("x = 1  # so§\ny = 2\n", "python", "comment"),
        ('def f():\n    """Say §\n    why."""\n', "python", "comment"),
        ('x = "ab§c"', "python", "string"),
        ("x = 'ab§", "python", "string"),
        ("x = f'{a§}'", "python", ""),
        ('x = "abc"§', "python", ""),
        ("x = §", "python", ""),
        ("int a; // so§", "cpp", "comment"),
        ("/* a\n * §\n */\nint a;", "c", "comment"),
        ("let a = `b${c§}`", "javascript", ""),
        ("let a = 'b§c';", "typescript", "string"),
        ("const a = <p title='x§'/>", "typescriptreact", "string"),
        ("# §", "shellscript", "comment"),
        ("<p>§</p><!-- a -->", "html", ""),
        ("<!-- a§ -->", "html", "comment"),
        ("/* § */ a {}", "css", "comment"),
        ("// §", "go", "comment"),
        ('let a = "§";', "rust", "string"),
        ("// §", "no such language", ""),
    ],
)
def test_the_cursor_is_in_a_comment_a_string_or_neither(text: str, language: str, expected: str) -> None:
    assert at(text, language) == expected


def test_without_a_language_the_file_s_name_says_it() -> None:
    assert at("# §", path="/a/b.py") == at("# §", path="/a/Makefile") == "comment"
    assert at("# §", path="/a/b.unknown") == at("# §", path="/a/b") == at("# §") == ""


def test_only_so_much_text_is_looked_at() -> None:
    assert at('"""' + "x" * 1000 + '§"""', "python") == "comment"
    assert at('"""' + "x" * MAX_CHARS + '§"""', "python") == ""
