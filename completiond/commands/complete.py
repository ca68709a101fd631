"""``completiond complete``: one completion in the terminal, through the daemon or in this process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from completiond.client import connect
from completiond.commands.errors import fail, reports_errors
from completiond.commands.place import CursorPlace, find_place
from completiond.commands.render import decisions_table, figures_line, styled
from completiond.commands.settings import follow_settings, warn_of
from completiond.complete.reasons import meaning_of
from completiond.complete.request import EXCLUDED, OFF, Chunk, Completion, CompletionRequest, Span
from completiond.config import Config
from completiond.config.settings import Settings
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import DaemonError, UsageError
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.spec.drafter_names import DRAFTERS, DrafterChoice

__all__ = ["complete"]

_MODEL_VARIABLE = "COMPLETIOND_MODEL_NAME"
_REMOTE_VARIABLE = "COMPLETIOND_ENGINE_REMOTE"
OnChunk = Callable[[str, list[dict[str, str]]], None]


@reports_errors
def complete(
    file: Annotated[Path, typer.Argument(help="The file to complete in (UTF-8).", show_default=False)],
    line: Annotated[int | None, typer.Option(help="Line of the cursor, from 1.")] = None,
    col: Annotated[
        int | None, typer.Option(help="Column of the cursor, from 0, in UTF-16 units [default: line end].")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="REGEX", help="Cursor behind the first match instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    stream: Annotated[bool, typer.Option(help="Print text as it comes (with --json: one object per piece).")] = False,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest answer [default: from the settings].")] = None,
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 0.0,
    top_k: Annotated[int, typer.Option(help="Sample from the k likeliest tokens; 0 from all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sample from the likeliest tokens that make up this share.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same answer, at any temperature.")] = 0,
    drafter: Annotated[str, typer.Option(help=f"{', '.join(DRAFTERS)}; the answer is the same with each.")] = "auto",
    explain: Annotated[
        bool, typer.Option(help="Show for each pass what was drafted, why, and what came of it.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Catalogue name, folder, .gguf file or hub id.")] = None,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="Load the model here; do not use the daemon.")
    ] = False,
) -> None:
    """Complete a FILE at a place. Text goes to standard output, figures to standard error.

    Where there is no suggestion, standard error says why, and the exit status is 0 all the same.
    """
    if at is not None and (line is not None or col is not None):
        raise UsageError("--at and --line or --col both name a place.", "Use one of them.")
    if drafter not in DRAFTERS:
        raise UsageError(f"--drafter {drafter} is not known.", f"Use one of {', '.join(DRAFTERS)}.")
    choice: DrafterChoice = drafter
    place = find_place(file, line, col, at)
    request = CompletionRequest(
        place.prefix, place.suffix, str(file.absolute()), max_tokens=max_tokens,
        sampling=SamplingParams(temperature, top_k, top_p, seed), drafter=choice, explain=explain,
    )  # fmt: skip
    paths = Paths.from_environment()
    settings = follow_settings(paths, model, warn_of)
    request = replace(request, settings=settings.of_file("", request.path))
    if not settings.config.engine.remote:
        resolve(settings.config.model.name, paths)  # a model that is not there is an error here, not in a daemon's log
    show = _printer(as_json) if stream else None
    run = _run_here if standalone else _run_in_daemon
    completion = run(request, settings, paths, model, show)
    _print(completion, place, as_json, streamed=stream)


def _run_here(
    request: CompletionRequest, settings: Settings, paths: Paths, model: str | None, show: OnChunk | None
) -> dict[str, Any]:
    from completiond.complete.open_any import open_any
    from completiond.config.repository_exclusions import RepositoryExclusions

    with Console(stderr=True).status("loading the model") as status:
        completer = open_any(settings.config, paths, lambda share, what: status.update(f"{what} {share:.0%}"))
    completer.guard.of_repository = RepositoryExclusions(settings.repository).why
    completion: dict[str, Any] = {}
    with contextlib.closing(completer):
        completer.connect()
        for item in completer.run(request, time.perf_counter()):
            if isinstance(item, Chunk) and show is not None:
                show(item.text, [asdict(span) for span in item.spans])
            elif isinstance(item, Completion):
                completion = asdict(item)
    return completion


def _run_in_daemon(
    request: CompletionRequest, settings: Settings, paths: Paths, model: str | None, show: OnChunk | None
) -> dict[str, Any]:
    wanted = _wanted(settings.config)
    if model is not None or _MODEL_VARIABLE in os.environ:
        # For the daemon, if this command is the one that starts it.
        os.environ[_MODEL_VARIABLE] = settings.config.model.name
        os.environ[_REMOTE_VARIABLE] = settings.config.engine.remote
    params = {
        "path": request.path,
        "prefix": request.prefix,
        "suffix": request.suffix,
        "maxTokens": request.max_tokens,
        "temperature": request.sampling.temperature,
        "topK": request.sampling.top_k,
        "topP": request.sampling.top_p,
        "seed": request.sampling.seed,
        "drafter": request.drafter,
        "explain": request.explain,
        "stream": show is not None,
        "waitUntilReady": True,
    }

    with Console(stderr=True).status("waiting for the daemon") as status, connect(paths, start=True) as client:

        def on_notification(method: str, chunk: Any) -> None:
            if method == "completiond/chunk" and show is not None:
                status.stop()
                show(chunk["text"], chunk["spans"])

        daemon = client.call("completiond/status")
        if wanted and daemon["model"] != wanted:
            raise DaemonError(
                f"The daemon runs {daemon['model']}, not {wanted}.",
                "`completiond stop` ends it; or use --standalone.",
            )
        _warn_of_environment(settings.environment, daemon["environment"])
        completion: dict[str, Any] = client.call("completiond/complete", params, on_notification)
    return completion


def _warn_of_environment(here: Mapping[str, str], daemons: Mapping[str, str]) -> None:
    """Say which settings of this terminal's environment do not count: a daemon has its own."""
    for name, value in here.items():
        if daemons.get(name) != value and name != _MODEL_VARIABLE:
            typer.echo(
                f"completiond: {name}={value} does not count: the daemon was started without it. `completiond stop`"
                " ends it, and this command then starts another; or use --standalone.",
                err=True,
            )


def _wanted(config: Config) -> str:
    """The model that a daemon should run; empty: the one that a server chooses."""
    return config.engine.remote_model if config.engine.remote else config.model.name


def _printer(as_json: bool) -> OnChunk:
    console = Console(soft_wrap=True, highlight=False)

    def show(text: str, spans: list[dict[str, str]]) -> None:
        try:
            write(text, spans)
        except OSError as error:  # not the daemon's fault, which is what a failed call would say
            raise fail(f"cannot write to standard output: {error.strerror}.", 1) from None

    def write(text: str, spans: list[dict[str, str]]) -> None:
        if as_json:
            typer.echo(json.dumps({"chunk": text, "spans": spans}))
        elif sys.stdout.isatty():
            console.print(styled(Span(**span) for span in spans), end="")
        else:
            typer.echo(text, nl=False)

    return show


def _print(completion: dict[str, Any], place: CursorPlace, as_json: bool, streamed: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**completion, "tokens": len(completion["token_ids"])}))
        return
    spans = [Span(**span) for span in completion["spans"]]
    if streamed:
        typer.echo("")
    elif sys.stdout.isatty():
        line = place.prefix[place.prefix.rfind("\n") + 1 :]
        Console(soft_wrap=True, highlight=False).print(Text.assemble((line, "dim"), styled(spans)))
    else:
        typer.echo(completion["text"])
    reason = completion["stop_reason"]
    if not completion["text"]:
        typer.echo(": ".join(filter(None, (f"no suggestion ({reason})", meaning_of(reason)))), err=True)
    if reason.startswith((EXCLUDED, OFF)):
        return  # nothing was computed
    if completion["decisions"]:
        Console(stderr=True).print(decisions_table(completion["decisions"]))
    Console(stderr=True, soft_wrap=True).print(figures_line(completion), style="dim", highlight=False)
