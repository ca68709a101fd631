"""When what is told of other documents is chosen anew, and what of it is of late."""

from __future__ import annotations

from tests.complete.context.desk import FILLER, desk_with


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
