"""The command line: one command per verb. What a verb does is in commands/."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from completiond import __version__
from completiond.commands import bench, config, daemon, model, train, trust
from completiond.commands.complete import complete
from completiond.commands.demo import demo
from completiond.commands.doctor import doctor
from completiond.commands.errors import run_program
from completiond.commands.logs import logs
from completiond.commands.page import page
from completiond.commands.speedup import speedup
from completiond.commands.top import top

__all__ = ["app", "main"]

app = typer.Typer(
    help="A code-completion daemon for your own machine, with lossless speculative decoding.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"completiond {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """See the module's docstring."""


_root.__doc__ = app.info.help
app.command()(complete)
app.command()(daemon.serve)
app.command()(daemon.lsp)
app.command()(daemon.status)
app.command()(top)
app.command()(logs)
app.command()(daemon.stop)
app.command()(daemon.token)
app.command()(page)
app.command()(doctor)
app.command()(demo)
app.command()(speedup)
app.command()(trust.trust)
app.add_typer(config.app, name="config")
app.add_typer(model.app, name="model")
app.add_typer(bench.app, name="bench")
app.add_typer(train.app, name="train")


def main() -> NoReturn:
    """Run the command in ``sys.argv``."""
    run_program(app)
