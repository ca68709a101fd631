"""An editor tells its folders once: they are known however loading the model goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from completiond.complete import service as service_module
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.service import LocalService
from completiond.config import Config, ExcludeConfig
from completiond.errors import ModelMissingError
from completiond.paths import Paths
from tests.complete.drafting import config
from tests.e2e.harness import temporary_paths, until
from tests.fake_model import bytes_of, fake_model, says

CONFIG = config(exclude=ExcludeConfig(globs=("/legal/",)))


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What loading raises, one an attempt, before it succeeds."""
    errors: list[Exception] = []

    def open_completer(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        if errors:
            raise errors.pop(0)
        return Completer(fake_model(says(bytes_of("answer")))[0], config)

    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_completer)
    monkeypatch.setattr(service_module, "RETRY_AFTER_S", 0.0)
    return errors


async def complete(service: LocalService, client_id: str) -> Completion:
    return await service.complete(CompletionRequest("x", "", "/p/legal/a.py", client_id, "a"))


async def test_folders_told_before_a_failed_attempt_are_known_after_the_next(failures: list[Exception]) -> None:
    failures.append(ModelMissingError("It is not here.", "Pull it."))
    with temporary_paths() as paths:
        service = LocalService(CONFIG, paths)
        service.set_folders("gone", ["/p"])
        service.set_folders("one", ["/elsewhere"])
        service.set_folders("one", ["/p"])
        service.set_folders("two", ["/p/deep"])
        service.start()
        await until(lambda: service.state.phase == "failed")
        service.forget_client("gone")
        service.ensure_loading()
        await until(lambda: service.state.phase == "ready")
        try:
            assert (await complete(service, "one")).stop_reason == "excluded: config_glob"
            assert (await complete(service, "two")).text == "answer"
        finally:
            await service.close()


async def test_status_counts_what_is_open_and_no_more_when_clients_are_gone(failures: list[Exception]) -> None:
    with temporary_paths() as paths:
        service = LocalService(CONFIG, paths)
        assert service.dictionary.documents == service.dictionary.tokens == 0
        service.open_document("one", "a", ["a line"], "/p/a.py")  # before the model is there
        service.start()
        service.open_document("one", "b", ["a line"], "/p/.env")
        service.open_document("two", "a", ["a line"], "/p/a.py")
        await until(lambda: service.dictionary.documents == 2)
        try:
            state = service.dictionary
            assert (state.tokens, state.excluded_documents) == (2 * len("a line\n"), 1)
            assert state.bytes > 0
            service.forget_client("one")
            await until(lambda: service.dictionary.documents == 1)
            assert service.dictionary.excluded_documents == 0
            service.close_document("two", "a")
            await until(lambda: service.dictionary.documents == 0)
            assert (service.dictionary.tokens, service.dictionary.bytes) == (0, 0)
        finally:
            await service.close()
