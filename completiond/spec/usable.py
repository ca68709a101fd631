"""What of a draft may be checked: a drafter can be wrong in any way, and the pass must still be a right one."""

from __future__ import annotations

from completiond.spec.drafter import Draft

__all__ = ["usable"]


def usable(draft: Draft, budget: int, vocab_size: int, trees: bool) -> Draft:
    """At most ``budget`` tokens of ``draft``, without ids the target does not have and what hangs below those.

    Of siblings with the same token the first stays. A target that takes no ``trees`` gets the chain of first children.
    """
    budget = max(0, budget)
    if not draft.parents:
        token_ids = draft.token_ids[:budget]
        return draft.cut(next((i for i, token in enumerate(token_ids) if not 0 <= token < vocab_size), len(token_ids)))
    carried = list(range(draft.num_guesses, len(draft.token_ids)))
    if len(carried) > budget or not trees or not all(_is_sound(draft, node, vocab_size) for node in carried):
        carried = []
    kept: list[int] = []
    siblings: set[tuple[int, int]] = set()
    for node in range(draft.num_guesses):
        parent, token_id = draft.parents[node], draft.token_ids[node]
        hangs = kept[-1:] == [parent] or (not kept and parent == -1) if not trees else parent in (-1, *kept)
        if hangs and 0 <= token_id < vocab_size and (parent, token_id) not in siblings:
            if len(kept) + len(carried) >= budget:
                break
            siblings.add((parent, token_id))
            kept.append(node)
    chosen = draft.select([*kept, *carried])
    return chosen if trees else Draft(chosen.token_ids, chosen.probabilities, draft.source, draft.origin, draft.match)


def _is_sound(draft: Draft, node: int, vocab_size: int) -> bool:
    """Whether a carried token is one of the target's, and hangs below what is known or an earlier carried one."""
    parent = draft.parents[node]
    return 0 <= draft.token_ids[node] < vocab_size and (parent == -1 or draft.num_guesses <= parent < node)
