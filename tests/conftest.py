"""Models and folders that several tests share. Nothing here is fake: models are real files, pulled once and kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from completiond.complete.completer import Completer
from completiond.config import Config, PromptConfig
from completiond.models.fetch import pull
from completiond.paths import Paths

DEFAULT_MODEL = "qwen2.5-coder-0.5b"
TINY_MODEL = "smollm2-135m"
WHOLE = Config(prompt=PromptConfig(max_read_ms=0))
"""What is read must not depend on how fast this machine is just now."""


@pytest.fixture(scope="session")
def model_paths() -> Paths:
    """The user's own cache folder, so that models are downloaded and prepared once per machine."""
    return Paths.from_environment()


@pytest.fixture(scope="session")
def default_model(model_paths: Paths) -> Path:
    """The default model's file."""
    return pull(DEFAULT_MODEL, model_paths)


@pytest.fixture(scope="session")
def tiny_model(model_paths: Paths) -> Path:
    """The tiny model's file."""
    return pull(TINY_MODEL, model_paths)


@pytest.fixture(scope="session")
def default_completer(default_model: Path, model_paths: Paths) -> Completer:
    """The default model, loaded once; tests that use it must not depend on what is in its cache."""
    from completiond.complete.open_completer import open_completer

    return open_completer(WHOLE, model_paths)


@pytest.fixture(scope="session")
def tiny_completer(tiny_model: Path, model_paths: Paths) -> Completer:
    """The tiny, prefix-only model, loaded once."""
    from completiond.complete.open_completer import open_completer

    return open_completer(WHOLE.with_model(TINY_MODEL), model_paths)


@pytest.fixture
def fresh_paths(model_paths: Paths) -> Iterator[Paths]:
    """The shared model cache with a runtime and a configuration folder of the test's own; short, for Unix sockets."""
    folder = Path(tempfile.mkdtemp(prefix="cpd-"))
    try:
        yield replace(model_paths, config_dir=folder / "config", runtime_dir=folder / "run", state_dir=folder / "state")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def fresh_environment(fresh_paths: Paths) -> dict[str, str]:
    """Environment of a child process that uses ``fresh_paths``."""
    return {
        **os.environ,
        "COMPLETIOND_CACHE_DIR": str(fresh_paths.cache_dir),
        "COMPLETIOND_CONFIG_DIR": str(fresh_paths.config_dir),
        "COMPLETIOND_RUNTIME_DIR": str(fresh_paths.runtime_dir),
        "COMPLETIOND_STATE_DIR": str(fresh_paths.state_dir),
        "COMPLETIOND_PROMPT_MAX_READ_MS": "0",  # as in WHOLE
    }
