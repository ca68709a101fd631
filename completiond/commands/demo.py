"""``completiond demo``: what completions look like, on a sample file, with each token coloured by its origin."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.panel import Panel

from completiond.commands.errors import reports_errors
from completiond.commands.render import figures_line, in_context, legend
from completiond.commands.settings import read_settings
from completiond.complete.request import Completion, CompletionRequest
from completiond.demo.scenes import SAMPLE_NAME, SCENES, Scene, sample_text
from completiond.errors import ModelError
from completiond.models.resolve import resolve
from completiond.paths import Paths

if TYPE_CHECKING:
    from completiond.complete.completer import Completer

__all__ = ["demo"]


@reports_errors
def demo(model: Annotated[str | None, typer.Option(help="Another model than the configured one.")] = None) -> None:
    """Complete three places in a sample file with the real model, and show where each token came from."""
    console = Console(highlight=False)
    paths = Paths.from_environment()
    config = read_settings(paths, model)
    resolve(config.model.name, paths)
    from completiond.complete.open_completer import open_completer

    with console.status("loading the model (the first time its weights are prepared, which takes a while)"):
        completer = open_completer(config, paths)
    console.print(
        f"[bold]{config.model.name}[/bold] on {completer.target.device}, {completer.target.dtype_name}. ", end=""
    )
    console.print("Each token in the colour of its origin: ", legend(), sep="")
    shown = 0
    for scene in SCENES:
        shown += bool(_show(console, completer, scene).text)
    if shown < len(SCENES):
        raise ModelError(f"Only {shown} of {len(SCENES)} places got a suggestion.", "See `completiond doctor`.")


def _show(console: Console, completer: Completer, scene: Scene) -> Completion:
    prefix, suffix, _ = scene.split(sample_text())
    request = CompletionRequest(prefix, suffix, SAMPLE_NAME)
    *_, completion = completer.run(request, time.perf_counter())
    assert isinstance(completion, Completion), "the last item of a run"
    console.print()
    console.print(Panel(in_context(prefix, completion.spans, suffix), title=scene.title, title_align="left"))
    console.print(figures_line(asdict(completion)), style="dim")
    return completion
