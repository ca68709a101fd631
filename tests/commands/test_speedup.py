"""``completiond speedup``: the tables, the choice for measured passes, and where the acceptance comes from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from completiond.bench.other_work import OtherWork
from completiond.commands.speedup import speedup
from completiond.config import Config
from completiond.errors import DaemonUnreachableError
from completiond.paths import Paths
from completiond.spec.acceptance import AcceptanceCounts
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MIN_GAIN
from tests.e2e.harness import daemon_in_process, temporary_paths
from tests.fakes import FakeService

PASS_MS = {1: 33.2, 2: 37.6, 4: 35.2, 8: 42.8, 16: 55.4, 17: 57.0}
"""Times of the default model on two cores (docs/log.md)."""

MODEL = Config().model.name


def run(*arguments: str) -> Result:
    program = typer.Typer()
    program.command()(speedup)
    result = CliRunner().invoke(program, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def figures(*arguments: str) -> dict[str, Any]:
    result = run("--json", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon runs in them and nothing else is configured; models stay where they are."""
    for kind in ("CONFIG", "RUNTIME"):
        monkeypatch.setenv(f"COMPLETIOND_{kind}_DIR", str(tmp_path / kind.lower()))
    monkeypatch.setenv("COMPLETIOND_SPEC_MAX_DRAFT_TOKENS", "16")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """A machine whose passes take PASS_MS; a test may change the times."""
    pass_ms = dict(PASS_MS)

    def measure_passes(target: object, sizes: list[int], context_tokens: int, rounds: int) -> PassCosts:
        assert sizes[-1] == 17, "one more than the configured draft"
        return PassCosts(pass_ms)

    target = SimpleNamespace(max_positions=4096, device="cpu", dtype_name="int8")
    monkeypatch.setattr("completiond.complete.open_completer.open_completer", lambda *_: SimpleNamespace(target=target))
    monkeypatch.setattr("completiond.engine.measure.measure_passes", measure_passes)
    monkeypatch.setattr("completiond.bench.engine.measure_lookup_ms", lambda context_tokens: 0.0)
    monkeypatch.setattr(OtherWork, "stop", lambda others: None)  # nothing is measured, and this machine may be busy
    return pass_ms


class FakeClient:
    """A daemon's side of ``completiond/status``."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        self.status = status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, method: str, timeout_s: float) -> Mapping[str, Any]:
        assert method == "completiond/status"
        return self.status


def daemon_says(monkeypatch: pytest.MonkeyPatch, **status: Any) -> None:
    def connect(paths: Paths, *, start: bool, check_version: bool) -> FakeClient:
        assert not start
        return FakeClient({"model": MODEL, **status})

    monkeypatch.setattr("completiond.commands.speedup_acceptance.connect", connect)


def counted(temperature: float, accepted: list[float], tried: list[float], source: str = "ngram") -> dict[str, Any]:
    return {"source": source, "temperature": temperature, "tried": tried, "accepted": accepted}


def test_tables_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the arithmetic needs no daemon")

    monkeypatch.setattr("completiond.commands.speedup_acceptance.connect", never)
    result = run("--no-measure")
    assert result.exit_code == 0, result.output
    assert "2.952" in result.stdout
    rows = [line.strip("│").split("│") for line in result.stdout.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert ["8", "2.00", "3.20", "4.33", "6.13"] in cells
    assert ["10", "3.05", "1.83"] in cells
    assert ["4", "3.28", "2.35"] in cells
    assert ["best", "8", "5"] in cells
    assert ["best", "", "4"] in cells


def test_tables_as_json() -> None:
    result = figures("--no-measure")
    lesson = result["lesson"]
    assert round(lesson["by_hand"], 3) == 2.952
    assert [round(value, 2) for value in lesson["tokens_per_pass"]["a = 0.5"]][-1] == 2.0
    assert lesson["best_length"] == {"c = 0.05": 8, "c = 0.15": 5}
    assert lesson["falling"]["best_length"] == 4
    assert result["measured"] is result["choice"] is result["temperature"] is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--no-measure", "--acceptance", "0.5"], "say nothing to --no-measure"),
        (["--no-measure", "--model", "smollm2-135m"], "say nothing to --no-measure"),
        (["--acceptance", "1.5"], "--acceptance 1.5 is not a chance."),
        (["--acceptance", "nan"], "--acceptance nan is not a chance."),
        (["--model", "no-such"], "No model is called 'no-such'."),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("completiond: ")
    assert text in last


def test_the_choice_is_the_best_of_the_measured_column(machine: dict[int, float]) -> None:
    result = figures("--acceptance", "0.6")
    column = result["measured"]["speedup"]["a = 0.6"]
    choice = result["choice"]
    assert choice["length"] == result["measured"]["best_length"]["a = 0.6"] == column.index(max(column)) + 1 == 4
    # 1 + .6 + .36 + .216 + .1296 tokens in a pass of 5 tokens, a quarter of the way from 4 to 8.
    assert choice["tokens_per_pass"] == pytest.approx(2.3056)
    assert choice["speedup"] == pytest.approx(2.3056 * 33.2 / 37.1, abs=1e-4)
    assert choice["ms_per_token"] == pytest.approx(37.1 / 2.3056, abs=1e-4)
    assert (choice["drafter"], choice["pays"]) == ("ngram", True)
    assert choice["acceptance_origin"] == "as asked for"
    assert choice["length"] in choice["nearly_as_good"]
    assert result["measured"]["pass_ms"]["17"] == 57.0
    assert result["measured"]["disturbed"] is False
    # A draft of 3 needs a + a^2 + a^3 to bring the 6 % that its pass takes longer.
    assert result["measured"]["break_even_acceptance"] == pytest.approx(0.057, abs=2e-3)


def test_the_choice_in_words(machine: dict[int, float]) -> None:
    output = " ".join(run("--acceptance", "0.6").stdout.split())
    assert "Drafter: ngram, 4 guesses a pass, speedup 2.06 where it has a draft." in output
    assert "2.31 tokens in 37.1 ms, 16.1 ms a token instead of 33.2." in output
    assert "One guess more would bring 0.08 tokens, worth 1.3 ms, and cost 1.9 ms." in output
    assert "Drafting pays from an acceptance of 0.06 on." in output
    assert "Within 3% of it: 3, 4, 5." in output
    assert "There is nothing to set: spec.drafter is auto, and the daemon cuts each draft by its own chances" in output


def test_a_machine_where_no_draft_pays(machine: dict[int, float]) -> None:
    machine.update({size: 33.2 * size * 1.1 for size in PASS_MS if size > 1})
    result = figures("--acceptance", "0.99")
    names = ("drafter", "length", "pays", "speedup", "tokens_per_pass", "ms_per_token")
    assert [result["choice"][name] for name in names] == ["none", 0, False, 1.0, 1.0, 33.2]
    assert result["measured"]["break_even_acceptance"] is None
    assert "No draft pays on this machine" in result["choice"]["why"]


def test_an_acceptance_at_which_no_draft_pays(machine: dict[int, float]) -> None:
    result = figures("--acceptance", "0.01")
    assert result["choice"]["length"] == 0
    assert result["choice"]["drafter"] == "none"
    assert "Drafting does not pay at this acceptance; it would from 0.06 on." in result["choice"]["why"]
    output = " ".join(run("--acceptance", "0.01").stdout.split())
    assert "Drafter: none. Drafting does not pay" in output
    assert "You may set spec.drafter to none. While it is auto, the daemon leaves out" in output
    assert "Within" not in output


def test_counts_at_which_no_draft_pays(machine: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    daemon_says(monkeypatch, acceptance=[counted(0.0, [4], [400])])
    choice = figures()["choice"]
    assert (choice["drafter"], choice["length"]) == ("none", 0)
    assert "Acceptance 0.01: counted by the daemon at temperature 0, 400 first guesses. Drafter: none." in " ".join(
        run().stdout.split()
    )


def test_a_gain_too_small_for_the_daemon_is_no_advice_to_draft(machine: dict[int, float]) -> None:
    choice = figures("--acceptance", "0.065")["choice"]
    assert (choice["drafter"], choice["length"], choice["speedup"]) == ("none", 0, 1.0)
    assert choice["why"].startswith("At this acceptance the best draft, of length 3, would gain 0.9%; less than 2% is")


@pytest.mark.parametrize(
    ("acceptance", "advice"),
    [
        ("0.6", "Set spec.drafter to auto, which is none now; then the daemon cuts each draft"),
        ("0.01", "spec.drafter is none: there is nothing to change."),
    ],
)
def test_what_to_set_when_drafting_is_off(
    machine: dict[int, float], monkeypatch: pytest.MonkeyPatch, acceptance: str, advice: str
) -> None:
    monkeypatch.setenv("COMPLETIOND_SPEC_DRAFTER", "none")
    assert advice in " ".join(run("--acceptance", acceptance).stdout.split())


def test_when_every_guess_is_right_the_configured_length_is_the_limit(machine: dict[int, float]) -> None:
    result = figures("--acceptance", "1")
    assert result["choice"]["length"] == 16
    assert "spec.max_draft_tokens" in result["choice"]["why"]


def test_times_of_a_busy_machine_are_called_so(machine: dict[int, float]) -> None:
    machine[1] = 60.0
    assert figures()["measured"]["disturbed"] is True
    assert "Run it again when the machine is quiet." in " ".join(run().stdout.split())


@pytest.mark.parametrize("others", [0.1, 0.5])
def test_other_programs_that_take_what_is_needed_are_told_of(
    machine: dict[int, float], monkeypatch: pytest.MonkeyPatch, others: float
) -> None:
    monkeypatch.setattr("os.cpu_count", torch.get_num_threads)
    monkeypatch.setattr(OtherWork, "stop", lambda watch: setattr(watch, "cpus", others))
    measured, said = figures()["measured"], " ".join(run().stdout.split())
    assert (measured["other_cpus"], measured["disturbed"]) == (others, others == 0.5)
    told = "Other programs kept CPUs busy that were needed here, and what follows is not to be relied on." in said
    assert told is measured["disturbed"]


def test_without_counts_the_acceptance_is_an_assumption_and_temperature_unknown(machine: dict[int, float]) -> None:
    result = figures()
    assert result["choice"]["acceptance"] == [0.8] * 16
    assert result["choice"]["acceptance_origin"] == "an assumption, since no daemon is running"
    assert result["temperature"] == {"known": False, "seen": [], "falls": []}
    assert "its effect is unknown here" in run().stdout


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({}, "the daemon offers no counts"),
        ({"acceptance": None}, "the daemon offers no counts"),
        ({"acceptance": []}, "the daemon has counted fewer than 50 guesses"),
        ({"acceptance": [counted(0.0, [9], [10])]}, "the daemon has counted fewer than 50 guesses"),
        ({"acceptance": [counted(0.0, [90], [100], "eagle")]}, "the daemon has counted fewer than 50 guesses"),
        ({"acceptance": [counted(0.0, [90], [100])], "model": "other"}, "the daemon runs other"),
        ({"acceptance": {"ngram": 0.5}}, "the daemon's counts are of a form that this version cannot read"),
        ({"acceptance": 0.5}, "the daemon's counts are of a form that this version cannot read"),
        ({"acceptance": [counted(0.0, [11], [10])]}, "the daemon's counts are of a form that this version cannot read"),
    ],
)
def test_a_daemon_without_usable_counts(
    machine: dict[int, float], monkeypatch: pytest.MonkeyPatch, status: dict[str, Any], reason: str
) -> None:
    daemon_says(monkeypatch, **status)
    choice = figures()["choice"]
    assert choice["acceptance"] == [0.8] * 16
    assert choice["acceptance_origin"] == f"an assumption, since {reason}"


def test_the_daemons_counts_decide_by_depth(machine: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [counted(0.0, [60, 50], [70, 60]), counted(0.0, [10, 2, 1], [30, 10, 2]), counted(0.7, [60], [100])]
    daemon_says(monkeypatch, acceptance=entries)
    result = figures()
    assert result["choice"]["acceptance"] == pytest.approx([0.7, *[52 / 70] * 15], abs=1e-4)
    assert "at temperature 0, 100 first guesses" in result["choice"]["acceptance_origin"]
    assert "as counted" in result["measured"]["speedup"]
    assert figures("--acceptance", "0.3")["choice"]["acceptance_origin"] == "as asked for"


def test_temperature_where_it_was_counted(machine: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    daemon_says(monkeypatch, acceptance=[counted(0.8, [400], [1000]), counted(0.0, [800], [1000])])
    result = figures()["temperature"]
    assert result["known"] is True
    cool, warm = result["seen"]
    assert (cool["temperature"], warm["temperature"]) == (0.0, 0.8)
    assert cool["best_length"] > warm["best_length"]
    assert cool["speedup"] > warm["speedup"]
    (fall,) = result["falls"]
    assert fall["fall"] == pytest.approx(0.4)
    assert "At 0.8 acceptance is lower by 0.40 (95 %: 0.36 to 0.44)." in " ".join(run().stdout.split())


def test_a_difference_that_may_be_chance_is_called_so(
    machine: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon_says(monkeypatch, acceptance=[counted(0.8, [50], [100]), counted(0.0, [52], [100])])
    assert "that may be chance" in " ".join(run().stdout.split())


def test_a_daemon_that_goes_away_is_none(machine: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise DaemonUnreachableError("Gone.")

    monkeypatch.setattr("completiond.commands.speedup_acceptance.connect", connect)
    assert "no daemon is running" in figures()["choice"]["acceptance_origin"]


async def test_the_counts_come_over_the_daemons_own_socket(
    machine: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FakeService()
    service.acceptance = (
        AcceptanceCounts("ngram", 0.0, (200, 150), (150, 120)),
        AcceptanceCounts("ngram", 0.8, (200,), (100,)),
        AcceptanceCounts("eagle", 0.0, (200,), (10,)),
    )
    with temporary_paths() as paths:
        monkeypatch.setenv("COMPLETIOND_RUNTIME_DIR", str(paths.runtime_dir))
        async with daemon_in_process(paths, service):
            result = await asyncio.to_thread(figures, "--model", "fake-model")
    choice = result["choice"]
    assert choice["acceptance"] == [0.75, *[0.8] * 15]
    assert choice["acceptance_origin"] == "counted by the daemon at temperature 0, 200 first guesses"
    assert choice["drafter"] == "ngram"
    assert result["temperature"]["falls"][0]["fall"] == 0.25


@pytest.mark.model
def test_on_this_machine(tiny_model: Path) -> None:
    result = figures("--model", "smollm2-135m", "--acceptance", "0.75")
    measured, choice = result["measured"], result["choice"]
    assert (measured["model"], measured["device"], measured["dtype"]) == ("smollm2-135m", "cpu", "int8")
    assert list(measured["pass_ms"]) == ["1", "2", "3", "4", "6", "8", "12", "16", "17"]
    assert all(pass_ms > 0 for pass_ms in measured["pass_ms"].values())
    assert 0 < measured["lookup_ms"] < 50
    best = max(measured["speedup"]["a = 0.75"])
    assert choice["pays"] == (best >= MIN_GAIN)
    assert choice["length"] == (measured["best_length"]["a = 0.75"] if choice["pays"] else 0)
    assert choice["speedup"] == (best if choice["pays"] else 1.0)
