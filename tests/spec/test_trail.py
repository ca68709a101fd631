"""Following a copied text, leaving it where the new text differs, and coming back."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.swaps import apply_swaps
from completiond.spec.token_index import TokenIndex
from completiond.spec.trail import STRONG_MATCH, Copy, Trail

SOURCE = list(range(100, 130))
IDS = st.lists(st.integers(0, 5), max_size=8)


def setup(source: Sequence[int] = SOURCE, match: int = 5) -> tuple[Copy, Trail]:
    index = TokenIndex()
    index.add([0, 1, 2], "file")
    run = index.add(source, "file")
    return Copy(index, run, run.start, match, "file"), Trail()


def guess(copy: Copy, trail: Trail, count: int = 4) -> tuple[list[int], list[int]]:
    token_ids, places = apply_swaps(copy.index.tokens(copy.run, copy.place, count), trail.swaps_for(copy))
    return token_ids[:count], places


def write(copy: Copy, trail: Trail, *token_ids: int, count: int = 4) -> None:
    """One pass with a draft from ``copy``."""
    trail.followed(copy, *guess(copy, trail, count), token_ids)


def where(copy: Copy, trail: Trail) -> int | None:
    """The token that comes next where the trail goes on, if it does."""
    if trail.resume is None:
        return None
    (token_id,) = copy.index.tokens(copy.run, trail.resume.place, 1)
    return token_id


def test_in_step_it_goes_on_behind_what_was_written() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 102, 103, 104)  # all four guesses and the pass's own token

    assert where(copy, trail) == 105
    assert trail.resume == Copy(copy.index, copy.run, copy.place + 5, copy.match + 5, "file")


def test_a_guess_that_was_right_but_not_checked_is_a_step_too() -> None:
    copy, trail = setup()
    write(copy, trail, 100)
    assert where(copy, trail) == 101
    assert trail.resume is not None
    write(trail.resume, trail, 101)
    assert where(copy, trail) == 102


def test_behind_a_wrong_token_it_first_assumes_one_token_was_replaced() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 7)

    assert where(copy, trail) == 103
    assert trail.swaps == []


def test_a_replacement_is_learned_when_the_copy_goes_on_behind_it_and_made_at_the_next_place() -> None:
    copy, trail = setup([100, 101, 50, 103, 104, 105, 50, 107, 108])
    write(copy, trail, 100, 101, 7)
    assert trail.resume is not None
    write(trail.resume, trail, 103, 104, 105, 7)

    assert trail.swaps == [((50,), (7,))]
    assert where(copy, trail) is not None
    assert guess(copy, trail, 9)[0] == [100, 101, 7, 103, 104, 105, 7, 107, 108]


def test_a_replacement_that_is_only_assumed_is_made_in_the_copy_that_assumes_it() -> None:
    copy, trail = setup([100, 50, 102, 50, 104, 105, 50, 107])
    write(copy, trail, 100, 7)
    assert trail.resume is not None
    assert trail.swaps_for(copy) == trail.swaps == []
    assert guess(trail.resume, trail)[0] == [102, 7, 104, 105]
    write(trail.resume, trail, 102, 50)  # only once, then

    assert trail.swaps == []
    assert where(copy, trail) == 104


def test_a_replacement_of_several_tokens_by_several() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 7)  # 102 and 103 become 7, 8, 9
    assert trail.resume is not None
    write(trail.resume, trail, 8)
    trail.wrote([9])
    trail.wrote([104])
    assert where(copy, trail) == 105
    assert trail.resume is not None
    write(trail.resume, trail, 105, 106)

    assert trail.swaps == [((102, 103), (7, 8, 9))]
    assert where(copy, trail) == 107


def test_after_an_insertion_it_goes_on_where_it_left() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 7)
    assert trail.resume is not None
    write(trail.resume, trail, 102)  # not a replacement after all

    assert where(copy, trail) == 103
    assert trail.resume is not None
    write(trail.resume, trail, 103, 104)
    assert where(copy, trail) == 105
    assert trail.swaps == []


def test_after_a_longer_insertion() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 7)
    for token_id in range(20, 30):
        trail.wrote([token_id])
        assert where(copy, trail) is None
    trail.wrote([102])

    assert where(copy, trail) == 103


def test_after_a_deletion_it_goes_on_behind_it() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 105)

    assert where(copy, trail) == 106
    assert trail.resume is not None
    write(trail.resume, trail, 106, 107)
    assert trail.swaps == []


def test_more_tokens_that_agree_say_more_than_nearness() -> None:
    copy, trail = setup([1, 2, 3, 9, 4, 5, 8, 9, 6])
    write(copy, trail, 1, 2, 7)
    trail.wrote([8, 9])

    assert where(copy, trail) == 6


def test_a_replacement_that_was_not_made_is_forgotten_and_the_copy_goes_on() -> None:
    copy, trail = setup()
    trail.swaps = [((102,), (7,)), ((110,), (8,))]
    write(copy, trail, 100, 101, 102)

    assert trail.swaps == [((110,), (8,))]
    assert where(copy, trail) == 103


def test_a_weak_copy_from_elsewhere_that_was_wrong_does_not_make_it_forget_where_it_left() -> None:
    copy, trail = setup()
    write(copy, trail, 100, 101, 7)
    weak = Copy(copy.index, copy.run, copy.run.start + 20, STRONG_MATCH - 1, "file")
    write(weak, trail, 102)
    assert where(copy, trail) == 103

    strong = Copy(copy.index, copy.run, copy.run.start + 20, STRONG_MATCH, "file")
    write(strong, trail, 7)
    assert where(copy, trail) == 121


def test_guesses_that_were_cut_off_have_places_too() -> None:
    copy, trail = setup()
    trail.swaps = [((101,), (7, 8, 9))]
    token_ids, places = apply_swaps(copy.index.tokens(copy.run, copy.place, 5), trail.swaps)
    assert (token_ids, places) == ([100, 7, 8, 9, 102, 103, 104], [0, 1, 1, 1, 2, 3, 4])

    for count, following in ((1, 101), (2, None), (4, 102), (5, 103)):
        trail.followed(copy, token_ids[:count], places, token_ids[:count])
        assert where(copy, trail) == following


def test_inside_a_longer_replacement_it_does_not_go_on() -> None:
    copy, trail = setup()
    trail.swaps = [((101,), (7, 8, 9))]
    write(copy, trail, 100, 7)

    assert where(copy, trail) is None


def test_it_starts_at_the_first_token_of_a_text_that_was_replaced() -> None:
    copy, _ = setup()
    trail = Trail(copy)
    assert where(copy, trail) == 100
    write(copy, trail, 100)
    assert where(copy, trail) == 101

    trail = Trail(copy)
    write(copy, trail, 7)
    assert where(copy, trail) == 101  # one token for another
    assert trail.resume is not None
    write(trail.resume, trail, 100)
    assert where(copy, trail) == 101  # no, one more


def test_at_the_end_of_its_text_and_in_text_that_is_gone_there_is_nothing_to_go_on_with() -> None:
    copy, trail = setup([100, 101])
    write(copy, trail, 100, 101)
    assert where(copy, trail) is None

    copy, trail = setup()
    write(copy, trail, 100, 7)
    copy.index.remove(copy.run)
    trail.wrote([101])
    assert trail.resume is None


@settings(deadline=None)
@given(source=IDS, passes=st.lists(st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.booleans())))
def test_whatever_is_written_it_stays_within_its_text(source: list[int], passes: list[tuple[list[int], bool]]) -> None:
    copy, trail = setup([3, *source])
    start = copy
    for token_ids, is_guessed in passes:
        if is_guessed and guess(copy, trail)[0]:
            write(copy, trail, *token_ids)
        else:
            trail.wrote(token_ids)
        assert trail.resume is None or start.run.start <= trail.resume.place < start.run.end
        assert all(old and new and old != new for old, new in trail.swaps)
        copy = trail.resume or start
