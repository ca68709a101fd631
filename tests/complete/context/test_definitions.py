"""Which definitions are told at a place, and what of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.context.definitions import definitions, names_near, qualifier_of
from completiond.complete.context.grammars import MAX_PARSED_BYTES, Grammars, grammar_of
from completiond.complete.context.outline import outline_of
from completiond.complete.context.piece import MAX_PIECE_CHARS, MAX_PIECE_LINES, Piece
from completiond.complete.context.source import Source
from tests.complete.context.projects import HOSTILE, PROJECTS, Project

GRAMMARS = Grammars()
ENDINGS = ("py", "ts", "tsx", "js", "go", "rs", "java", "c", "cpp", "kt")


def source(path: str, text: str) -> Source:
    return Source(path, path, 1, text.split("\n"), GRAMMARS)


def found(current: str, *others: tuple[str, str], path: str = "app/main.py") -> list[Piece]:
    """At the end of ``current``."""
    near = names_near(current.split("\n"), [""])
    qualifier = qualifier_of(current.split("\n")[-1], path)
    return definitions(near, qualifier, source(path, current), [source(path, text) for path, text in others])


def names(pieces: list[Piece]) -> set[str]:
    return {piece.text.split("(")[0].split()[-1] for piece in pieces}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.language)
def test_the_heads_of_what_is_used_are_told_and_nothing_else(project: Project) -> None:
    pieces = found(project.current, (project.other_path, project.other), path=project.current_path)
    text = "".join(piece.text for piece in pieces)
    assert all(line in text for line in project.told), text
    assert not any(word in text for word in project.untold), text
    assert {piece.kind for piece in pieces} == {"definition"}
    lines = project.other.split("\n")
    for piece in pieces:
        assert any(word in "\n".join(lines[piece.first_line : piece.end_line]) for word in project.told)


def test_a_document_that_is_imported_is_believed_more_than_one_that_is_not() -> None:
    imported, neighbour, far = (
        found(f"{line}\nprocess(", (path, "def process(a):\n    return a\n"))[0].score
        for line, path in (
            ("from app.work import process", "app/work.py"), ("", "app/work.py"), ("", "lib/work.py"),
        )
    )  # fmt: skip
    assert imported > neighbour > far


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app/tools/__init__.py", "from app.tools import process"),
        ("web/tools/index.ts", "import { process } from './tools'"),
        ("app/load-tools.py", "import('load-tools')"),
    ],
)
def test_a_module_may_be_named_by_its_folder_or_by_several_words(path: str, line: str) -> None:
    text = "def process(a):\n    return a\n" if path.endswith("py") else "export function process(a) { return a }\n"
    current = "main.py" if path.endswith("py") else "web/main.ts"
    if "load" in path:
        line = "import load.tools"
    assert found(f"{line}\nprocess(", (path, text), path=current)[0].score == 1.0


def test_what_the_file_defines_itself_is_meant() -> None:
    assert found("def process(a):\n    return 1\n\nprocess(", ("app/b.py", "def process(a): pass\n")) == []


def test_the_nearer_name_scores_more() -> None:
    text = "def first(a): pass\ndef other(a): pass\n"
    scores = {piece.text: piece.score for piece in found("other()\n" + "x\n" * 15 + "first(", ("app/b.py", text))}
    assert scores["def first(a): ...\n"] > scores["def other(a): ...\n"]


def test_a_name_far_from_the_cursor_is_not_looked_up() -> None:
    assert found("process()\n" + "x\n" * 60, ("app/b.py", "def process(a): pass\n")) == []


def test_a_method_of_a_class_that_nobody_mentions_is_not_told_from_a_far_document() -> None:
    text = "class Depot:\n    def fetch(self, a): pass\n"
    assert found("store.fetch(", ("lib/depot.py", text)) == []
    assert found("store = Depot()\nstore.fetch(", ("lib/depot.py", text)) != []


def test_where_a_class_is_too_long_the_method_that_is_used_is_told() -> None:
    text = "class Depot:\n" + "".join(f"    def method_{n}(self, a: int) -> int: pass\n" for n in range(90))
    (piece,) = (
        one for one in found("Depot\nd.method_80(", ("app/depot.py", text)) if "method_80" in one.text
    )  # fmt: skip
    assert piece.text == "class Depot:\n    def method_80(self, a: int) -> int: ...\n"


def test_of_a_module_whose_member_is_asked_for_all_is_told_in_short() -> None:
    text = (
        "# Runs.\ndef run_sync(f,\n             *args):\n    pass\n\n"
        "def _own(): pass\n\n@d\nclass Limiter:\n    size = 3\n"
    )
    (piece,) = found("from app import threads\n\nthreads.ru", ("app/threads.py", text))
    assert piece.text == "def run_sync(f,\nclass Limiter:\n"
    assert found("import other\n\nthreads.ru", ("app/threads.py", text)) == []
    assert found("from app import threads as t\n\nt.", ("app/threads.py", text)) == [piece]
    (web,) = found(
        'import * as shop from "./stock"\n\nshop.', ("web/stock.ts", "export function take() {}\n"), path="web/a.ts"
    )
    assert web.text == "export function take() { ... }\n"


@pytest.mark.parametrize(
    ("line", "path", "qualifier"),
    [
        ("x = a.b", "a.py", "a"),
        ("a::", "a.rs", "a"),
        ("a.", "a.rs", ""),
        ("a::", "a.py", ""),
        ("p->x", "a.cpp", ""),
        ("a. ", "a.py", ""),
        ("f(", "a.py", ""),
        ("", "", ""),
    ],
)
def test_what_a_member_is_asked_of(line: str, path: str, qualifier: str) -> None:
    assert qualifier_of(line, path) == qualifier


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_does_harm(text: str, ending: str) -> None:
    pieces = found("target()\ntarget3(", (f"app/b.{ending}", text))
    for piece in pieces:
        assert len(piece.text) <= MAX_PIECE_CHARS
        assert piece.text.count("\n") <= MAX_PIECE_LINES
        piece.text.encode()  # it can be tokenised


def test_a_document_that_is_too_large_is_read_by_lines() -> None:
    text = "def target(a):\n    return a\n" + "# more\n" * (MAX_PARSED_BYTES // 6)
    assert [one.head for one in outline_of("a.py", text.split("\n"), GRAMMARS).definitions] == ["def target(a):\n"]


@given(st.text(max_size=300), st.sampled_from(ENDINGS))
def test_any_text_has_an_outline(text: str, ending: str) -> None:
    lines = text.split("\n")
    for one in outline_of(f"a.{ending}", lines, GRAMMARS).definitions:
        assert 0 <= one.first_line < one.end_line <= len(text.encode()) + 1
        assert one.head.endswith("\n")


@given(st.data())
def test_a_file_that_is_cut_anywhere_still_has_an_outline(data: st.DataObject) -> None:
    project = data.draw(st.sampled_from(PROJECTS))
    text = project.other[: data.draw(st.integers(0, len(project.other)))]
    outline = outline_of(project.other_path, text.split("\n"), GRAMMARS)
    assert all(one.name for one in outline.definitions)


@pytest.mark.parametrize(
    ("path", "grammar"),
    [("a/b.PY", "python"), ("a.b/c", ""), ("x.tsx", "tsx"), ("", ""), (".py", "python"), ("a.h", "cpp"), ("py", "")],
)
def test_the_ending_says_which_grammar(path: str, grammar: str) -> None:
    assert grammar_of(path) == grammar


def test_a_document_is_parsed_once() -> None:
    one = source("a.py", "def f(): pass")
    assert one.outline is one.outline
    assert one.windows is one.windows
