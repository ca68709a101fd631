"""What ``completiond doctor`` says of a remote engine: whether it is there, and whether it fills."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from completiond.commands.finding import Finding
from completiond.commands.sample_fill import SAMPLE, filled, is_right
from completiond.config import Config
from completiond.engine.remote_address import RemoteAddress
from completiond.engine.remote_key import read_key
from completiond.errors import CompletiondError

__all__ = ["remote_findings"]


def remote_findings(config: Config) -> Iterator[Finding]:
    """Asks the server for its models and for one completion, of a text of ours. The key is not shown."""
    from completiond.complete.remote_completer import open_remote

    engine = config.engine
    try:
        has_key = bool(read_key(engine.remote_key_file, os.environ))
        with contextlib.closing(open_remote(config)) as completer:
            started = time.perf_counter()
            completer.connect()
            took_ms = (time.perf_counter() - started) * 1e3
            key = "with a key" if has_key else "without a key"
            where = RemoteAddress.parse(engine.remote)
            yield Finding("remote engine", True, f"{where.shown} has {completer.name}, asked {key} in {took_ms:.0f} ms")
            if where.is_plain:
                yield Finding(
                    "remote engine", True, f"what is sent to {where.shown} can be read on its way there",
                    "Use https, or a tunnel to a port of this machine.", note=True,
                )  # fmt: skip
            yield _fill(filled(completer), engine.remote_format)
    except CompletiondError as error:
        yield Finding("remote engine", False, error.message, error.advice)


def _fill(text: str, remote_format: str) -> Finding:
    detail = f"{remote_format}; {SAMPLE} is completed with {text!r}"
    if is_right(text):
        return Finding("fill in the middle", True, detail)
    advice = "Set engine.remote_format to the model's family: a server may ignore what comes behind the cursor."
    return Finding("fill in the middle", False, detail, advice)
