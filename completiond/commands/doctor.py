"""``completiond doctor``: checks everything a completion needs; each line passes or says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from completiond import __version__
from completiond.client import connect
from completiond.commands.errors import reports_errors
from completiond.commands.finding import Finding
from completiond.commands.remote_doctor import remote_findings
from completiond.commands.sample_fill import SAMPLE, filled, is_right
from completiond.commands.settings import follow_settings
from completiond.complete.completer_protocol import name_before
from completiond.config import Config
from completiond.engine.out_of_memory import MEMORY_ADVICE, is_out_of_memory
from completiond.errors import CompletiondError, DaemonUnreachableError
from completiond.models.disk import format_bytes
from completiond.models.resolve import resolve
from completiond.paths import Paths

if TYPE_CHECKING:
    from completiond.complete.completer import Completer

__all__ = ["doctor"]

EDITORS = ("nvim", "code", "codium", "emacs", "zed", "hx")


@reports_errors
def doctor(model: Annotated[str | None, typer.Option(help="Another model than the configured one.")] = None) -> None:
    """Check settings, exclusions, model, fill-in-the-middle, device, memory, socket and editors.

    Exit status 1 if something fails.
    """
    paths = Paths.from_environment()
    view = Table(show_header=False, box=None, pad_edge=False, title=f"completiond {__version__}", title_justify="left")
    for _ in range(3):
        view.add_column(overflow="fold")  # a path is shown in full
    failed = 0
    with Console(stderr=True).status("checking"):
        for finding in _findings(paths, model):
            mark = "[dim]note[/dim]" if finding.note else "[green]pass[/green]" if finding.passed else "[red]fail[/red]"
            text = finding.detail + (f"\n→ {finding.advice}" if finding.advice else "")
            view.add_row(mark, finding.name, escape(text))
            failed += not finding.passed
    Console(soft_wrap=False, highlight=False).print(view)
    if failed:
        raise typer.Exit(1)


def _findings(paths: Paths, model: str | None) -> Iterator[Finding]:
    settings = follow_settings(paths, model)
    config = settings.config
    settings.of_file("", str(Path.cwd() / "a file"))  # for those of the repository here
    for problem in settings.problems():
        advice = "Correct it" + (", if it is." if problem.is_doubt else ", or remove it to use the default.")
        yield Finding("settings", True, str(problem), advice, note=True)
    source = str(paths.config_file) if paths.config_file.exists() else "defaults"
    what = f"model {config.model.name}, {config.model.dtype} on {config.model.device}"
    yield Finding("settings", True, f"{source}; {name_before(config) if config.engine.remote else what}")
    yield from _attempt("socket", lambda: _socket(paths))
    yield _exclusions(config, Path.cwd())
    if config.engine.remote:
        yield from remote_findings(config)
    else:
        yield from _attempt("model", lambda: _model_file(config, paths))
        yield from _engine(config, paths)
    found = [name for name in EDITORS if shutil.which(name)]
    yield Finding("editors", True, ", ".join(found) or "none of " + ", ".join(EDITORS) + " on the PATH", note=not found)


def _attempt(name: str, check: Callable[[], Finding]) -> Iterator[Finding]:
    try:
        yield check()
    except CompletiondError as error:
        yield Finding(name, False, error.message, error.advice)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        yield Finding(name, False, "memory ran out during this check, which takes more than serving", MEMORY_ADVICE)


def _socket(paths: Paths) -> Finding:
    paths.make_runtime_dir()
    try:
        with connect(paths, start=False) as client:
            status: dict[str, Any] = client.call("completiond/status")
    except DaemonUnreachableError:
        return Finding("socket", True, f"{paths.socket}: no daemon runs now; editors start one")
    if status["phase"] == "failed":
        return Finding(
            "socket", False, f"the daemon could not load its model: {status['detail']}", "`completiond stop`."
        )
    detail = f"{paths.socket}: daemon {status['pid']} is {status['phase']} with {status['model']}"
    if given_up := status.get("given_up"):
        return Finding("socket", True, f"{detail}, short of memory: {'; '.join(given_up)}", MEMORY_ADVICE, note=True)
    return Finding("socket", True, detail)


def _exclusions(config: Config, folder: Path) -> Finding:
    """What the ignore files that apply in ``folder`` itself say wrongly."""
    from completiond.exclude.exclusions import Exclusions

    exclusions = Exclusions(config.exclude.globs, config.exclude.gitignore)
    exclusions.why(folder / "a file", [folder])
    if problems := exclusions.problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding(
            "exclusions", True, f"{problems[0]}{more}", "Correct it: what it should leave out is read.", note=True
        )
    kinds = ".gitignore and .completiondignore" if config.exclude.gitignore else ".completiondignore"
    detail = f"{kinds}, {len(config.exclude.globs)} patterns of the settings, names and texts that hold secrets"
    return Finding("exclusions", True, detail)


def _model_file(config: Config, paths: Paths) -> Finding:
    path = resolve(config.model.name, paths)
    size_bytes = (
        path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.glob("*.safetensors"))
    )
    return Finding("model", True, f"{path}: {size_bytes / 1e6:.0f} MB")


def _engine(config: Config, paths: Paths) -> Iterator[Finding]:
    from completiond.complete.open_completer import open_completer

    try:
        completer = open_completer(config, paths)
    except CompletiondError as error:
        yield Finding("engine", False, error.message, error.advice)
        return
    yield _memory(completer)
    yield _device(completer)
    for choice, why in completer.refused_drafters.items():
        yield Finding(f"drafter {choice}", False, why.message, why.advice)
    yield from _attempt("lossless", lambda: _exactness(completer))
    yield from _attempt("fill in the middle", lambda: _fill(completer))


def _memory(completer: Completer) -> Finding:
    memory = completer.memory
    assert memory is not None, "open_completer reckons it"
    available = "an unknown amount" if memory.available_bytes is None else format_bytes(memory.available_bytes)
    detail = f"{memory.need}; {available} was available"
    if not memory.given_up:
        return Finding("memory", True, detail)
    return Finding("memory", True, f"{detail}; {'; '.join(memory.given_up)}", MEMORY_ADVICE, note=True)


def _device(completer: Completer) -> Finding:
    import torch

    from completiond.engine.linear import has_packed_int8

    target = completer.target
    name = (
        torch.cuda.get_device_name(target.device)
        if target.device.type == "cuda"
        else f"{torch.get_num_threads()} threads"
    )
    detail = f"{target.device} ({name}), {target.dtype_name}, torch {torch.__version__}"
    if target.dtype_name == "int8" and not has_packed_int8():
        return Finding(
            "device", True, f"{detail}; this torch lacks the packed int8 operator, so passes are slower", note=True
        )
    return Finding("device", True, detail)


def _exactness(completer: Completer) -> Finding:
    from completiond.bench.lossless import check_blocks

    worst = max(check_blocks(completer.target, 96), key=lambda check: check.max_difference)
    completer.kv.forget()
    if worst.max_difference == 0:
        return Finding(
            "lossless", True, "logits are bit-identical for every block, chunking, rollback and cache hit tried"
        )
    detail = f"logits differ by up to {worst.max_difference:.2g} ({worst.name})"
    if completer.target.exact:
        return Finding("lossless", False, detail, "Set spec.drafter = none and report this machine.")
    return Finding("lossless", True, f"{detail}: near-ties may fall differently with drafts on", note=True)


def _fill(completer: Completer) -> Finding:
    text = filled(completer)
    detail = f"{completer.fim_name}; {SAMPLE} is completed with {text!r}"
    if completer.fim is None:
        return Finding(
            "fill in the middle", True, f"{detail}; the text after the cursor is not read by this model", note=True
        )
    if is_right(text):
        return Finding("fill in the middle", True, detail)
    return Finding(
        "fill in the middle", False, detail, "This model fills badly; choose another: `completiond model list`."
    )
