"""What ``completiond speedup`` advises, in words: which drafter, how long its drafts should be, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from completiond.commands.speedup_acceptance import DRAFTER, Acceptance
from completiond.config import SpecConfig
from completiond.spec.acceptance import AcceptanceCounts
from completiond.spec.draft_choice import NEARLY, DraftChoice, choose_draft
from completiond.spec.policy import MIN_GAIN
from completiond.spec.speedup import RoundCost, break_even_acceptance
from completiond.spec.temperature import temperature_falls

__all__ = ["show_choice", "show_temperature"]


def show_choice(console: Console, cost: RoundCost, chosen: Acceptance, spec: SpecConfig) -> dict[str, Any]:
    """The drafter and the length for the ``chosen`` acceptance, why, and what to set. Returns the figures shown."""
    choice = choose_draft(chosen.by_depth, cost)
    drafter = DRAFTER if choice.length else "none"
    why = _reason(choice, cost, len(chosen.by_depth))
    console.print(f"\n[bold]Acceptance[/bold] {chosen.by_depth[0]:.2f}: {chosen.origin}.")
    console.print(f"[bold]Drafter: {_in_words(choice)}[/bold]. {why}")
    if len(choice.nearly_as_good) > 1:
        console.print(f"Within {1 - NEARLY:.0%} of it: {', '.join(map(str, choice.nearly_as_good))}.")
    console.print(_settings(choice, spec))
    return {
        "drafter": drafter,
        "length": choice.length,
        "pays": choice.length > 0,
        "speedup": choice.speedup,
        "tokens_per_pass": choice.tokens_per_pass,
        "ms_per_token": choice.ms_per_token,
        "nearly_as_good": choice.nearly_as_good,
        "acceptance": chosen.by_depth,
        "acceptance_origin": chosen.origin,
        "why": why,
    }


def show_temperature(
    console: Console, cost: RoundCost, counts: Sequence[AcceptanceCounts], max_length: int
) -> dict[str, Any]:
    """What each temperature's counts advise, and how acceptance falls with it. Returns the figures shown."""
    falls = temperature_falls(counts)
    rows: list[dict[str, float]] = []
    words: list[str] = []
    for one in (one for one in counts if one.enough):
        by_depth = one.acceptances(max_length)
        choice = choose_draft(by_depth, cost)
        rows.append(
            {"temperature": one.temperature, "first_guesses": one.tried[0], "acceptance": by_depth[0]}
            | {"best_length": choice.length, "speedup": choice.speedup}
        )
        words.append(
            f"[bold]Temperature[/bold] {one.temperature:g}: {by_depth[0]:.2f} of {one.tried[0]} first guesses "
            f"accepted; drafter {_in_words(choice)}."
        )
    if not falls:
        console.print(
            "[bold]Temperature[/bold]: its effect is unknown here until guesses are counted at two temperatures. "
            "A higher one flattens the target's choice; the columns of lower acceptance show what that would cost."
        )
        return {"known": False, "seen": rows, "falls": []}
    for sentence in words:
        console.print(sentence)
    for fall in falls:
        verdict = "" if fall.low > 0 or fall.high < 0 else "; that may be chance"
        console.print(
            f"At {fall.temperature:g} acceptance is lower by {fall.fall:.2f} "
            f"(95 %: {fall.low:.2f} to {fall.high:.2f}{verdict})."
        )
    return {"known": True, "seen": rows, "falls": [asdict(fall) for fall in falls]}


def _in_words(choice: DraftChoice) -> str:
    if not choice.length:
        return "none"
    guesses = f"{choice.length} guess" if choice.length == 1 else f"{choice.length} guesses"
    return f"{DRAFTER}, {guesses} a pass, speedup {choice.speedup:.2f} where it has a draft"


def _reason(choice: DraftChoice, cost: RoundCost, max_length: int) -> str:
    plain_ms = cost.passes.pass_ms(1)
    break_even = break_even_acceptance(cost, max_length)
    if break_even is None:
        return "No draft pays on this machine, even if every guess is right: a longer pass costs more than it yields."
    if choice.best_length == 0:
        return f"Drafting does not pay at this acceptance; it would from {break_even:.2f} on."
    if choice.length == 0:
        return (
            f"At this acceptance the best draft, of length {choice.best_length}, would gain "
            f"{choice.best_speedup - 1:.1%}; less than {MIN_GAIN - 1:.0%} is left out, because the estimate may be off "
            "by as much."
        )
    return (
        f"{choice.tokens_per_pass:.2f} tokens in {choice.round_ms:.1f} ms, {choice.ms_per_token:.1f} ms a token "
        f"instead of {plain_ms:.1f}. {_next_guess(choice)} Drafting pays from an acceptance of {break_even:.2f} on."
    )


def _next_guess(choice: DraftChoice) -> str:
    """Why the best length is not one more: its gain, turned into time at the best rate, is less than its cost."""
    more = choice.next_guess
    if more is None:
        return f"No more than {choice.length} are ever drafted (spec.max_draft_tokens)."
    return (
        f"One guess more would bring {more.tokens:.2f} tokens, worth {more.worth_ms:.1f} ms, "
        f"and cost {more.cost_ms:.1f} ms."
    )


def _settings(choice: DraftChoice, spec: SpecConfig) -> str:
    """What the advice means for the settings. The daemon decides for each draft by its own chances, not by a mean."""
    if choice.length == 0 and spec.drafter == "none":
        return "spec.drafter is none: there is nothing to change."
    if choice.length == 0:
        return (
            f"You may set spec.drafter to none. While it is {spec.drafter}, the daemon leaves out drafts that do not "
            "pay, at the cost of a look-up, and takes them up again when they do."
        )
    cut = f"the daemon cuts each draft by its own chances, up to spec.max_draft_tokens = {spec.max_draft_tokens}"
    if spec.drafter == "none":
        return f"Set spec.drafter to auto, which is none now; then {cut}."
    return f"There is nothing to set: spec.drafter is {spec.drafter}, and {cut}."
