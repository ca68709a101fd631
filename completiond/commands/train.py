"""``completiond train``: drafting heads from the user's own code, on the user's own machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from completiond.commands.errors import fail, reports_errors
from completiond.commands.settings import read_settings
from completiond.complete.heads import find_head
from completiond.errors import UsageError
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.train.plan import HeadKind, TrainPlan

__all__ = ["app"]

DRAFT_VOCAB_SIZE = 8192

app = typer.Typer(help="Train drafting heads on your own code. Nothing leaves this machine.", no_args_is_help=True)

Data = Annotated[
    list[Path],
    typer.Option("--data", help="Folders of source code: projects, or folders of projects.", show_default=False),
]
Model = Annotated[str | None, typer.Option("--model", help="Another model than the configured one.")]
Out = Annotated[Path | None, typer.Option("--out", help="Where the head goes [default: in the cache folder].")]
Hours = Annotated[float, typer.Option("--hours", min=0.01, help="How long it may take, features included.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=16384, help="Tokens to read at most.")]
Vocab = Annotated[
    int | None, typer.Option("--draft-vocab", min=256, help="Tokens that the head can guess [default: 8192].")
]
Start = Annotated[
    str | None,
    typer.Option("--from", metavar="FOLDER", help="Go on from this head; shipped: from completiond's own."),
]


@app.command()
@reports_errors
def eagle(
    data: Data,
    model: Model = None,
    out: Out = None,
    hours: Hours = 2.0,
    resume: Resume = False,
    max_tokens: MaxTokens = 4_000_000,
    draft_vocab: Vocab = None,
    start: Start = None,
) -> None:
    """Train an EAGLE-3 head. Whole repositories are held out, and acceptance is measured on them."""
    _train("eagle", data, model, out, hours, resume, max_tokens, draft_vocab, start)


@app.command()
@reports_errors
def medusa(
    data: Data,
    model: Model = None,
    out: Out = None,
    hours: Hours = 0.5,
    resume: Resume = False,
    max_tokens: MaxTokens = 1_000_000,
    draft_vocab: Vocab = None,
) -> None:
    """Train Medusa heads that share the model's own vocabulary product."""
    _train("medusa", data, model, out, hours, resume, max_tokens, draft_vocab)


def _train(
    kind: HeadKind, data: list[Path], model: str | None, out: Path | None, hours: float, resume: bool, max_tokens: int,
    draft_vocab: int | None, start: str | None = None,
) -> None:  # fmt: skip
    paths = Paths.from_environment()
    config = read_settings(paths, model, refuse=True)
    model_file = resolve(config.model.name, paths)
    folder = (out or paths.heads_dir / f"{Path(config.model.name).name.removesuffix('.gguf')}-{kind}").absolute()
    plan = TrainPlan(
        kind, folder, hours, draft_vocab_size=draft_vocab or DRAFT_VOCAB_SIZE, max_tokens=max_tokens,
        start=None if start is None else _start_folder(start, draft_vocab, model_file),
    )  # fmt: skip
    if plan.work.exists() and not resume:
        raise UsageError(f"{folder} holds a run already.", "Go on with it by --resume, or give another --out.")
    from completiond.complete.open_completer import open_completer
    from completiond.exclude.exclusions import Exclusions
    from completiond.train.card import write_card
    from completiond.train.corpus import find_corpus
    from completiond.train.run import train_head

    console = Console(stderr=True, highlight=False, markup=False)
    exclusions = Exclusions(config.exclude.globs, config.exclude.gitignore)
    corpus = find_corpus(data, exclusions)
    console.print(
        f"{len(corpus.training)} repositories to learn from; held out to measure on:"
        f" {', '.join(repository.name for repository in corpus.held_out)}"
    )
    with console.status("loading the model"):
        completer = open_completer(config, paths)
    os.nice(10)  # whoever trains goes on working
    try:
        trained = train_head(plan, completer, model_file, corpus, resume, console.print)
    except KeyboardInterrupt:
        raise fail("interrupted. What was done is kept: add --resume to go on.", 130) from None
    card = write_card(trained, plan, completer, model_file, corpus, console.print)
    setting = {"eagle": "eagle_head", "medusa": "medusa_heads"}[kind]
    typer.echo(card.read_text(encoding="utf-8"))
    typer.echo(f'The head is in {folder}. To use it, set in config.toml under [spec]: {setting} = "{folder}"')


def _start_folder(start: str, draft_vocab: int | None, model_file: Path) -> Path:
    """Raises UsageError where there is no such head."""
    if draft_vocab is not None:
        raise UsageError("A head that training goes on from has its own vocabulary.", "Leave out --draft-vocab.")
    if start != "shipped":
        return Path(start).expanduser().absolute()
    if (found := find_head("eagle", "", model_file)) is None:
        raise UsageError("No head is shipped for this model.", "Leave out --from.")
    return found
