"""The table of reason codes: it has all that the code can produce."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import completiond
from completiond import errors
from completiond.complete.reasons import CANCELLED, ERROR, INTERNAL, LOADING, REASONS, SUPERSEDED, meaning_of, reason_of
from completiond.complete.request import EXCLUDED, OFF
from completiond.complete.service_protocol import SupersededError
from completiond.errors import MemoryFullError, ModelMissingError, NotReadyError, UsageError
from completiond.exclude.exclusions import ExclusionReason

PACKAGE = Path(completiond.__file__).parent
TABLE = PACKAGE / "complete" / "reasons.py"
SOURCES = (*sorted({*(PACKAGE / "complete").glob("*.py")} - {TABLE}), PACKAGE / "engine" / "generate.py")
REASON_NAMES = {"ended", "reason", "stop_reason"}
"""What variables, parameters and attributes that hold a reason code are called."""
REASON_SECOND = {"Verdict", "_Border"}
"""Calls whose second argument is a reason code."""
RETURN_REASONS = {"push", "take_known", "attribute", "_doubt", "why_off"}
"""Functions that return one."""
REASON_ANYWHERE = {"_completion", "_silence"}
"""Calls that have a reason code among their arguments, the only literal there."""


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def constants() -> dict[str, str]:
    """Strings that have a name in one of the sources."""
    found = {}
    for source in SOURCES:
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Constant):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                found[name_of(target)] = str(node.value.value)
    return found


CONSTANTS = constants()


def strings(node: ast.AST) -> Iterator[str]:
    """Literals, and constants, that a value may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name) and node.id in CONSTANTS:
        yield CONSTANTS[node.id]
    elif isinstance(node, ast.IfExp):
        yield from (*strings(node.body), *strings(node.orelse))
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from strings(value)
    elif isinstance(node, ast.Tuple):
        for value in node.elts:
            yield from strings(value)
    elif isinstance(node, ast.JoinedStr) and _is_prefixed(node):
        yield _prefixed(node)


def _is_prefixed(node: ast.JoinedStr) -> bool:
    """Whether it is one of the prefixes, with a literal behind it."""
    first, *rest = node.values
    is_off = isinstance(first, ast.FormattedValue) and isinstance(first.value, ast.Name) and first.value.id == "OFF"
    return is_off and all(isinstance(part, ast.Constant) for part in rest)


def _prefixed(node: ast.JoinedStr) -> str:
    return OFF + "".join(str(part.value) for part in node.values[1:] if isinstance(part, ast.Constant))


def codes_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in REASON_SECOND:
                yield from strings(node.args[1])
            if name in REASON_ANYWHERE:
                for argument in node.args:
                    yield from strings(argument)
            for keyword in node.keywords:
                if keyword.arg in REASON_NAMES:
                    yield from strings(keyword.value)
        elif isinstance(node, ast.Assign) and {name_of(target) for target in node.targets} & REASON_NAMES:
            yield from strings(node.value)
        elif isinstance(node, ast.Compare) and name_of(node.left) in REASON_NAMES:
            for other in node.comparators:
                yield from strings(other)
        elif isinstance(node, ast.JoinedStr) and _is_prefixed(node):
            yield _prefixed(node)
        elif isinstance(node, ast.FunctionDef) and node.name in RETURN_REASONS:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from strings(inner.value)


def codes_in_the_source() -> set[str]:
    found = {code for source in SOURCES for code in codes_in(source.read_text(encoding="utf-8"))}
    return found - {""}  # a verdict to go on


def test_the_table_has_every_code_in_the_source_and_no_others() -> None:
    others = {code for code in REASONS if code.startswith((EXCLUDED, ERROR))} | {SUPERSEDED, CANCELLED, LOADING}

    assert codes_in_the_source() == REASONS.keys() - others


def test_the_search_for_codes_finds_those_of_every_kind() -> None:
    ends = {"eos", "length", "suffix", "line", "block", "repeat", "unsure", "deadline"}
    silence = {"empty", "confidence", f"{OFF}completion.enabled", f"{OFF}completion.in_strings"}

    assert codes_in_the_source() >= ends | silence
    assert set(codes_in('return Verdict(1, "new" if x else "newer", 0)')) == {"new", "newer"}
    assert set(codes_in('def attribute():\n    return "newest"')) == {"newest"}
    assert set(codes_in('why = f"{OFF}completion.new"')) == {"off: completion.new"}


def test_the_table_has_every_way_in_which_a_file_is_excluded() -> None:
    assert {f"{EXCLUDED}{reason}" for reason in get_args(ExclusionReason)} == {
        code for code in REASONS if code.startswith(EXCLUDED)
    }


@pytest.mark.parametrize("name", errors.__all__)
def test_the_table_has_every_error_that_a_user_can_see(name: str) -> None:
    code, meaning = reason_of(getattr(errors, name)("It is so.", "Do this."))

    assert code == f"error: {name}"
    assert meaning == "It is so. Do this."
    assert code in REASONS


def test_each_meaning_is_one_line_that_begins_and_ends_like_a_sentence() -> None:
    for code, meaning in REASONS.items():
        assert meaning.endswith("."), code
        assert "\n" not in meaning, code
        assert meaning[0].isupper() or meaning.startswith(("completiond", "``")), code


def test_a_code_that_is_not_known_has_no_meaning() -> None:
    assert meaning_of("eos") == REASONS["eos"]
    assert meaning_of("of tomorrow") == ""


def test_an_end_without_an_answer_has_a_code() -> None:
    not_ready = NotReadyError("50 %.", "Wait.")

    assert reason_of(SupersededError()) == (SUPERSEDED, REASONS[SUPERSEDED])
    assert reason_of(GeneratorExit()) == (CANCELLED, REASONS[CANCELLED])
    assert reason_of(not_ready, is_loading=True) == (LOADING, REASONS[LOADING])
    assert reason_of(not_ready) == ("error: NotReadyError", "50 %. Wait.")
    assert reason_of(UsageError("max_tokens is 0.")) == ("error: UsageError", "max_tokens is 0.")
    missing = ModelMissingError("It is not here.")
    assert reason_of(missing, is_loading=True) == ("error: ModelMissingError", "It is not here.")
    assert reason_of(MemoryFullError("Full."))[0] == "error: MemoryFullError"


def test_the_message_of_an_error_that_is_not_ours_is_not_told() -> None:
    assert reason_of(RuntimeError("password = 1")) == (INTERNAL, REASONS[INTERNAL])
