"""One small model for all tests of training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from completiond.complete.completer import Completer
from completiond.config import Config, ModelConfig
from completiond.engine.load import load_model
from tests.train.small import make_model


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="package")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "small")


def open_small(folder: Path, prepared: Path) -> Completer:
    config = Config(model=ModelConfig(name=str(folder), device="cpu"))
    return Completer(load_model(folder, config.model, prepared, lambda share, what: None), config, folder)


@pytest.fixture(scope="package")
def small_completer(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Completer:
    return open_small(small_model, tmp_path_factory.mktemp("prepared"))
