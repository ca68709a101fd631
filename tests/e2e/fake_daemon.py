"""``python -m tests.e2e.fake_daemon [serve|lsp]``: the daemon, or the stand-alone server, with a fake service."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from completiond.commands.settings import follow_settings
from completiond.daemon import run_daemon
from completiond.errors import CompletiondError
from completiond.logs import configure_logging
from completiond.paths import Paths
from tests.fakes import FakeLoading, FakeService


def main() -> int:
    configure_logging(logging.DEBUG)
    if message := os.environ.get("FAKE_START_ERROR"):
        print(message, file=sys.stderr)
        return 3
    if sys.argv[1:] == ["lsp"]:
        from completiond.lsp.standalone import run_standalone

        return asyncio.run(run_standalone(lambda: FakeService(FakeLoading.from_environment())))
    try:
        paths = Paths.from_environment()
        settings = follow_settings(paths)
        asyncio.run(run_daemon(lambda: FakeService(FakeLoading.from_environment()), paths, settings))
    except CompletiondError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
