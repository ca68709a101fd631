"""Whether two models mean the same by a token id, so that one can draft for the other."""

from __future__ import annotations

import re

from tokenizers import Tokenizer

from completiond.errors import ModelUnsupportedError

__all__ = ["check_same_vocabulary"]

MIN_UNMATCHED = 16
MAX_UNMATCHED_SHARE = 0.01
"""Ids with a token in one vocabulary only, in the range both have. Families of models fill their padding bit by bit:
Qwen3 has four tokens where Qwen2.5 has none.
"""
_FILLER = re.compile(r"[<\[]\|?(?:pad|unused|extra|dummy|reserved_special_token)_?\d+\|?[>\]]", re.IGNORECASE)
"""How files that must name every id (GGUF) and some vocabularies spell one that stands for nothing."""
_ADVICE = "Choose a draft model of the same family, with the same vocabulary."


def check_same_vocabulary(
    target_tokenizer: Tokenizer,
    target_vocab_size: int,
    draft_tokenizer: Tokenizer,
    draft_vocab_size: int,
    names: tuple[str, str],
) -> None:
    """Return if every id that has a token in both vocabularies has the same one, and the other way round.

    The sizes are the models' own, padding included; only ids below both are compared one by one, since the decode loop
    and the drafter cut the others. ``names`` are the target's and the draft model's, for the message. Raises
    ModelUnsupportedError, with the first id that differs and what it is in each.
    """
    target_name, draft_name = names
    target = _tokens(target_tokenizer, target_vocab_size)
    draft = _tokens(draft_tokenizer, draft_vocab_size)
    refusal = f"{draft_name} cannot draft for {target_name}:"

    shared_size = min(target_vocab_size, draft_vocab_size)
    unmatched: list[int] = []
    for token_id in range(shared_size):
        of_target, of_draft = target.get(token_id), draft.get(token_id)
        if of_target == of_draft:
            continue
        if of_target is not None and of_draft is not None:
            raise ModelUnsupportedError(
                f"{refusal} token {token_id} is {of_target!r} in {target_name} and {of_draft!r} in {draft_name}.",
                _ADVICE,
            )
        unmatched.append(token_id)

    # What is compared by id may still have moved, from an id the other lacks to another: control tokens do.
    draft_ids = {token: token_id for token_id, token in draft.items()}
    for token_id, token in sorted(target.items()):
        if draft_ids.get(token, token_id) != token_id:
            raise ModelUnsupportedError(
                f"{refusal} {token!r} is token {token_id} in {target_name} and {draft_ids[token]} in {draft_name}.",
                _ADVICE,
            )

    if len(unmatched) > max(MIN_UNMATCHED, MAX_UNMATCHED_SHARE * shared_size):
        first = unmatched[0]
        raise ModelUnsupportedError(
            f"{refusal} {len(unmatched)} of {shared_size} ids are a token in one of them only; the first is {first}, "
            f"{_shown(target.get(first))} in {target_name} and {_shown(draft.get(first))} in {draft_name}.",
            _ADVICE,
        )


def _tokens(tokenizer: Tokenizer, vocab_size: int) -> dict[int, str]:
    """What each id of the model's stands for; those that stand for nothing are left out."""
    vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    return {
        token_id: token
        for token, token_id in vocabulary.items()
        if token_id < vocab_size and _FILLER.fullmatch(token) is None
    }


def _shown(token: str | None) -> str:
    return "nothing" if token is None else repr(token)
