"""Real editors, fetched once per machine, and folders for them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from completiond.paths import Paths
from tests.e2e.editors.neovim_install import neovim_0_11, neovim_0_12, version_of
from tests.e2e.harness import temporary_paths


def _told(program: Path) -> Path:
    print(f"{program} is {version_of(program)}")
    return program


@pytest.fixture(scope="session")
def new_neovim() -> Path:
    """A Neovim that has inline completion of its own."""
    return _told(neovim_0_12())


@pytest.fixture(scope="session")
def old_neovim() -> Path:
    """One that has none."""
    return _told(neovim_0_11())


@pytest.fixture(params=["0.12", "0.11"])
def any_neovim(request: pytest.FixtureRequest) -> Path:
    """Each of them."""
    program: Path = request.getfixturevalue("new_neovim" if request.param == "0.12" else "old_neovim")
    return program


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder of a project, without ``.git``: nothing of it is anybody's."""
    folder = Path(tempfile.mkdtemp(prefix="cde-"))
    (folder / "project").mkdir()
    try:
        yield folder / "project"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def paths() -> Iterator[Paths]:
    """Folders for a daemon of the test's own, which is killed at the end."""
    with temporary_paths() as paths:
        yield paths
