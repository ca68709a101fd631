"""A document that is indexed anew after many edits keeps what the last edit left."""

from __future__ import annotations

from completiond.complete.document_runs import MAX_EDIT_RUNS
from tests.complete.test_dictionary import KEY, dictionary, replace, replaced


def test_what_was_just_deleted_is_known_after_each_of_many_edits() -> None:
    one = dictionary()
    lines = [f"value_{number} = {number}" for number in range(3 * MAX_EDIT_RUNS)]
    one.open(KEY, lines)

    for number in range(0, len(lines), 2):
        one.edit(KEY, replace(number, 1, ""))
        assert replaced(one, number) == lines[number]
