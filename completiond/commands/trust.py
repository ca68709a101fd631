"""``completiond trust``: let a repository's file do a little more than any repository's may."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from completiond.commands.errors import reports_errors
from completiond.commands.settings import warn_of
from completiond.config.layer import layer_of_file
from completiond.config.permission import Repository
from completiond.config.problem import Origin, shown, shown_path
from completiond.config.repository_file import MAX_FILE_BYTES
from completiond.config.repository_rules import REPOSITORY_FILE, allowed_trusted
from completiond.config.setting import all_settings
from completiond.config.toml_file import read_toml
from completiond.config.trust import TrustStore, digest_of
from completiond.errors import ConfigError, UsageError
from completiond.paths import Paths

__all__ = ["trust"]


@reports_errors
def trust(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder with a .completiond.toml [default: this one].")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Print the folders that are trusted.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust the folder no more.")] = False,
) -> None:
    """Trust a FOLDER's .completiond.toml as it is now: it may then also set spec.workspace and completion.deadline_ms.

    A changed file has to be trusted anew. Nothing is asked about files in folders below.
    """
    store = TrustStore(Paths.from_environment().trust_file)
    if show_list:
        if folder is not None or revoke:
            raise UsageError("--list goes with nothing else.", "Use it alone.")
        for known, digest in sorted(store.folders().items()):
            content = read_toml(Path(known, REPOSITORY_FILE), Origin("repository"), MAX_FILE_BYTES, False).content
            note = "" if content and digest_of(content) == digest else "  (changed or gone since: not trusted)"
            typer.echo(f"{shown_path(known)}{note}")
        return
    folder = folder or Path.cwd()
    if folder.name == REPOSITORY_FILE and not folder.is_dir():  # the file is named, which may be gone or a link
        folder = folder.parent
    real = str(folder.resolve())
    if revoke:
        if not store.revoke(real):
            raise UsageError(f"{shown_path(real)} is not trusted.", "`completiond trust --list` shows what is.")
        typer.echo(f"{shown_path(real)} is trusted no more.")
        return
    path = Path(real, REPOSITORY_FILE)
    file = read_toml(path, Origin("repository", str(path)), MAX_FILE_BYTES, follow_symlinks=False)
    if file.problem is not None:
        raise ConfigError(f"{file.problem}.", "Correct it first.")
    if not file.content:
        raise UsageError(f"There is no settings file {shown_path(path)}.", "Name the folder that has one.")
    store.trust(real, file.content)
    layer = layer_of_file(file, allowed_trusted)
    opened = [
        f"  {setting} = {shown(layer.values[name][0], cut=False)}"
        for name, setting in all_settings().items()
        if setting.repository is Repository.TRUSTED and name in layer.values
    ]
    opens = ":" if opened else ", though nothing that counts in it needs trust."
    typer.echo("\n".join((f"{shown_path(path)} is trusted as it is now{opens}", *opened)))
    what = "All else" if opened else "All"
    typer.echo(f"  {what} in it narrows what you set, or is ignored: see `completiond config show --origin`.")
    for problem in layer.problems:
        warn_of(problem)
