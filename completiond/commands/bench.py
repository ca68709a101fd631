"""``completiond bench``: measure and prove on this machine. Each prints a table, then one line of JSON."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from completiond.commands.bench_context import context as bench_context
from completiond.commands.bench_fim import fim
from completiond.commands.bench_options import AsJson, Model
from completiond.commands.bench_options import open_model as _open
from completiond.commands.bench_places import places
from completiond.commands.errors import reports_errors
from completiond.commands.settings import read_settings
from completiond.errors import CompletiondError, UsageError
from completiond.paths import Paths
from completiond.spec.drafter_names import DRAFTERS, DrafterChoice

if TYPE_CHECKING:
    from completiond.complete.completer import Completer

__all__ = ["app"]

app = typer.Typer(help="Benchmarks and proofs on this machine.", no_args_is_help=True)

Drafter = Annotated[
    list[str] | None,
    typer.Option("--drafter", help="Only this one; may be given several times [default: all that are set up]."),
]


@app.command()
@reports_errors
def engine(
    as_json: AsJson = False,
    model: Model = None,
    context: Annotated[int, typer.Option(min=0, help="Tokens of context behind which passes are timed.")] = 256,
) -> None:
    """Time passes of 1 to 256 tokens, prefill and plain decoding, and show memory."""
    from completiond.bench.engine import measure_engine, table
    from completiond.bench.report import print_report

    completer = _open(model)
    if context + 256 > completer.target.max_positions:
        raise UsageError(
            f"--context {context} leaves no room for 256 more in {completer.target.max_positions} positions.",
            "Use less.",
        )
    figures = measure_engine(completer.target, completer.config.model.name, context)
    print_report(table(figures), asdict(figures), as_json)


@app.command()
@reports_errors
def lossless(
    as_json: AsJson = False,
    model: Model = None,
    prompts: Annotated[int, typer.Option(min=1, help="Places in real files; half as fills, half prefix-only.")] = 40,
    tokens: Annotated[int, typer.Option(min=1, max=512, help="Tokens decoded for each.")] = 64,
    drafter: Drafter = None,
) -> None:
    """Prove that no drafter changes a token, and, where the engine is exact, no bit of any logit. Exit status 1 if
    not.
    """
    from completiond.bench.lossless import check_blocks, check_tokens
    from completiond.bench.report import print_report

    completer = _open(model)
    names = _drafters(completer, drafter)
    with Console(stderr=True).status("decoding") as status:
        done, count = itertools.count(1), 2 * prompts * len(names)
        checks = check_tokens(
            completer, prompts, tokens, names, lambda check: status.update(f"decoding {next(done)}/{count}")
        )
        blocks = check_blocks(completer.target)
    view = Table(title=f"{completer.config.model.name}: drafted against plain decoding on an empty cache")
    for column in ("drafter", "prompts", "temp.", "equal", "tokens", "per pass", "accepted"):
        view.add_column(column, justify="left" if column == "drafter" else "right", no_wrap=True)
    for name, mode, temperature in itertools.product(names, ("fill", "prefix-only"), (0.0, 0.8)):
        rows = [one for one in checks if (one.drafter, one.mode, one.temperature) == (name, mode, temperature)]
        if rows:
            count, passes = sum(row.tokens for row in rows), sum(row.passes for row in rows)
            view.add_row(
                name, mode, str(temperature), f"{sum(row.equal for row in rows)}/{len(rows)}", str(count),
                f"{count / passes:.2f}", f"{sum(row.accepted for row in rows)}/{sum(row.drafted for row in rows)}",
            )  # fmt: skip
    worst = max(blocks, key=lambda block: block.max_difference)
    view.caption = (
        f"{len(blocks)} block shapes, chunkings, rollbacks and cache hits: "
        f"largest logit difference {worst.max_difference}"
    )
    result = {
        "equal": sum(check.equal for check in checks),
        "compared": len(checks),
        "tokens": sum(check.tokens for check in checks),
        "max_logit_difference": worst.max_difference,
        "exact": completer.target.exact,
        "model": completer.config.model.name,
        "dtype": completer.target.dtype_name,
    }
    print_report(view, result, as_json)
    if not all(check.equal for check in checks):
        raise CompletiondError("A drafted answer differs from the plain one.", "Please report it with the line above.")
    if completer.target.exact and worst.max_difference:
        raise CompletiondError(
            f"Logits differ ({worst.name}).", "Use --drafter none and report it with the line above."
        )


@app.command()
@reports_errors
def edits(
    as_json: AsJson = False,
    model: Model = None,
    mode: Annotated[str, typer.Option(help="oracle: what a person wrote; model: what the model writes.")] = "oracle",
    limit: Annotated[int, typer.Option(min=1, help="Edits, from all classes and projects alike.")] = 200,
    tokens: Annotated[int, typer.Option(min=2, max=512, help="Tokens decoded for each, in model mode.")] = 64,
    temperature: Annotated[float, typer.Option(min=0.0, help="In model mode.")] = 0.0,
    words: Annotated[bool, typer.Option("--words", help="Replacements retype changed words, not whole lines.")] = False,
    kind: Annotated[str | None, typer.Option(help="In model mode: decode at edits of this class only.")] = None,
) -> None:
    """Replay edits between releases of open-source packages, and count what drafts from them gain."""
    from completiond.bench.edits.event import EDIT_KINDS
    from completiond.bench.edits.events import generate_events
    from completiond.bench.edits.report import model_json, model_table, oracle_json, oracle_table
    from completiond.bench.edits.run import run_model, run_oracle
    from completiond.bench.model_run import compare
    from completiond.bench.report import print_report
    from completiond.complete.prompt import PromptBudget

    if mode not in ("oracle", "model"):
        raise UsageError(f"--mode {mode} is not known.", "Use oracle or model.")
    if kind is not None and kind not in EDIT_KINDS:
        raise UsageError(f"--kind {kind} is not known.", f"Use one of {', '.join(EDIT_KINDS)}.")
    if kind is not None and mode == "oracle":
        raise UsageError("--kind says nothing in oracle mode.", "Add --mode model, or leave it out.")
    completer = _open(model)
    prompt = completer.config.prompt
    with Console(stderr=True).status("comparing releases") as status:
        events = list(
            generate_events(Paths.from_environment(), limit=limit, whole_lines=not words, on_step=status.update)
        )
        if mode == "oracle":
            status.update("replaying")
            budget = PromptBudget(prompt.prefix_tokens, prompt.suffix_tokens)
            tallies = run_oracle(events, completer.tokenizer, budget)
            view, result = oracle_table(tallies), oracle_json(tallies)
        else:
            runs = []
            for run in run_model(events, completer, tokens, temperature, compare, kind):
                runs.append(run)
                status.update(f"decoding, {len(runs)} done")
            view, result = model_table(runs), model_json(runs)
    print_report(view, result, as_json)


@app.command()
@reports_errors
def infill(
    as_json: AsJson = False,
    model: Model = None,
    limit: Annotated[int, typer.Option(min=1, help="Single lines of HumanEval's solutions.")] = 60,
    tokens: Annotated[int, typer.Option(min=2, max=512, help="Tokens decoded for each.")] = 64,
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.0,
) -> None:
    """Time fills where little can be copied: drafted against plain, by the real model."""
    from completiond.bench.edits.report import model_json, model_table
    from completiond.bench.human_eval import read_holes, run_holes
    from completiond.bench.model_run import compare
    from completiond.bench.report import print_report

    completer = _open(model)
    with Console(stderr=True).status("reading") as status:
        holes = read_holes(limit, Paths.from_environment(), status.update)
        runs = []
        for run in run_holes(holes, completer, tokens, temperature, compare):
            runs.append(run)
            status.update(f"decoding {len(runs)}/{len(holes)}")
    print_report(model_table(runs), model_json(runs), as_json)


app.command()(fim)
app.command()(places)
app.command("context")(bench_context)


@app.command()
@reports_errors
def drafters(
    as_json: AsJson = False,
    model: Model = None,
    drafter: Drafter = None,
    limit: Annotated[int, typer.Option(min=1, help="Places of each kind of work.")] = 24,
    tokens: Annotated[int, typer.Option(min=2, max=512, help="Tokens decoded for each.")] = 64,
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.0,
    simulate_gpu: Annotated[
        bool, typer.Option("--simulate-gpu", help="Count each pass as equally long, whatever its size.")
    ] = False,
) -> None:
    """Compare all drafters on the model's own answers: edits, fills where little can be copied, and continuations."""
    from contextlib import nullcontext

    from completiond.bench.drafters import all_work, drafters_json, drafters_table, flat_costs
    from completiond.bench.report import print_report

    completer = _open(model)
    names = [*_drafters(completer, drafter), "none"]
    runs = []
    with (
        Console(stderr=True).status("reading") as status,
        flat_costs(completer) if simulate_gpu else nullcontext() as flat_ms,
    ):
        for run in all_work(completer, names, limit, tokens, temperature, Paths.from_environment(), status.update):
            runs.append(run)
            status.update(f"decoding, {len(runs)} of about {3 * limit} done")
    result = drafters_json(runs, names, flat_ms)
    title = f"{completer.config.model.name}: drafters on its own answers"
    if simulate_gpu:
        title += ", SIMULATED: passes as on a device on which all take equally long"
    print_report(drafters_table(result, title), {"simulated": simulate_gpu, "work": result}, as_json)


@app.command()
@reports_errors
def shift(
    as_json: AsJson = False,
    model: Model = None,
    limit: Annotated[int, typer.Option(min=1, help="Single lines of HumanEval's solutions, and of real files.")] = 40,
    tokens: Annotated[int, typer.Option(min=2, max=512, help="Tokens decoded for each.")] = 32,
) -> None:
    """Time a key with the text behind the cursor moved and read again, and compare the answers."""
    from completiond.bench.human_eval import read_holes
    from completiond.bench.report import print_report
    from completiond.bench.shift import holes_in_files, measure_shift, shift_json, shift_table

    completer = _open(model)
    with Console(stderr=True).status("reading") as status:
        holes = read_holes(limit, Paths.from_environment(), status.update)
        runs = []
        for source, some in (("HumanEval, ", holes), ("files, ", holes_in_files(limit))):
            for run in measure_shift(some, completer, tokens, source):
                runs.append(run)
                status.update(f"typing, {len(runs)} done")
    print_report(shift_table(runs), {"shift": shift_json(runs)}, as_json)


@app.command()
@reports_errors
def typing(
    as_json: AsJson = False,
    model: Model = None,
    limit: Annotated[int, typer.Option(min=1, help="Places in real files, some lines typed at each.")] = 6,
) -> None:
    """Type at a language server key by key: time from key to answer, what caches save, and the same without them."""
    import asyncio

    from completiond.bench.report import print_report
    from completiond.bench.typing import CACHES_OFF, run_typing, typing_table
    from completiond.bench.typist import pieces

    completer = _open(model)
    some, name = pieces(limit, completer.tokenizer), completer.config.model.name
    del completer  # the servers have their own
    figures = []
    with Console(stderr=True).status("starting") as status:
        rows: tuple[tuple[str, dict[str, str], bool], ...] = (
            ("as configured", {}, False), ("and streamed", {}, True), ("caches off", CACHES_OFF, True)
        )  # fmt: skip
        for title, settings, streams in rows:
            environment = {"COMPLETIOND_MODEL_NAME": name, **settings}
            figures.append(asyncio.run(run_typing(some, title, environment, status.update, streams=streams)))
    print_report(typing_table(figures), {"typing": [one.as_json() for one in figures]}, as_json)


@app.command()
@reports_errors
def clients(
    as_json: AsJson = False,
    model: Model = None,
    limit: Annotated[int, typer.Option(min=2, help="Places in real files, asked for in pairs.")] = 6,
) -> None:
    """Time two clients that ask at once, a request that is superseded, and the engine after a cancellation."""
    import asyncio

    from completiond.bench.clients import clients_table, measure_on_service
    from completiond.bench.report import print_report
    from completiond.bench.typist import pieces

    completer = _open(model)
    some, paths = pieces(limit, completer.tokenizer), Paths.from_environment()
    del completer  # the service has its own
    config = read_settings(paths, model)
    with Console(stderr=True).status("asking"):
        run = asyncio.run(measure_on_service(some, config, paths))
    print_report(clients_table(run), {"clients": run.as_json()}, as_json)


@app.command()
@reports_errors
def index(
    as_json: AsJson = False,
    model: Model = None,
    edits: Annotated[int, typer.Option(min=0, help="Further edits, over which memory is watched.")] = 100_000,
) -> None:
    """Time the dictionary of open documents: a key in a long file, a look-up, and its memory over many edits."""
    from completiond.bench.dictionary import measure_dictionary, table
    from completiond.bench.report import print_report

    tokenizer = _open(model).tokenizer
    with Console(stderr=True).status("reading") as status:
        figures = measure_dictionary(tokenizer, edits, status.update)
    print_report(table(figures), figures.as_json(), as_json)


@app.command()
@reports_errors
def keystroke() -> None:
    """Time one key in a file of 100,000 lines and in a line of 2 MB."""
    from completiond.bench.keystroke import main

    main()


def _drafters(completer: Completer, asked: list[str] | None) -> list[DrafterChoice]:
    """Those asked for, or all that are set up; without none."""
    if unknown := [name for name in asked or () if name not in DRAFTERS]:
        raise UsageError(f"--drafter {unknown[0]} is not known.", f"Use {', '.join(DRAFTERS)}.")
    names = [name for name in DRAFTERS if name != "none"]
    return [name for name in names if (name in asked if asked else completer.drafters.can(name))]
