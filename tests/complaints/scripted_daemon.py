"""``python -m tests.complaints.scripted_daemon``: the daemon as it is, but for its model, which writes ``a + b``."""

from __future__ import annotations

import asyncio
import logging

from completiond.commands.settings import follow_settings
from completiond.complete import open_completer
from completiond.complete.completer import Completer
from completiond.complete.service import LocalService
from completiond.daemon import run_daemon
from completiond.engine.load import LoadedModel
from completiond.logs import configure_logging
from completiond.paths import Paths
from tests.complaints.desk import PATIENT, ScriptedTarget, bytes_of
from tests.fake_model import EOS, fake_tokenizer

ANSWER = "a + b"


def main() -> None:
    configure_logging(logging.DEBUG)
    target = ScriptedTarget()
    target.answer_ids = bytes_of(ANSWER)
    completer = Completer(LoadedModel(target, fake_tokenizer(), {"eos_token_id": EOS}), PATIENT)
    open_completer.open_completer = lambda config, paths, progress=None: completer
    paths = Paths.from_environment()
    settings = follow_settings(paths)
    asyncio.run(run_daemon(lambda: LocalService(settings.config, paths, settings), paths, settings))


if __name__ == "__main__":
    main()
