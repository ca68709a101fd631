"""``completiond page`` as a program, with a daemon that has no model."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from completiond.paths import Paths
from tests.e2e.harness import environment, temporary_paths

TIMEOUT_S = 60
ADVICE = "completiond serve --http 127.0.0.1:0"


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


def page(paths: Paths, *options: str, command: str = "page", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "completiond", command, *options],
        env=environment(paths, **more), capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip


def with_port(paths: Paths) -> None:
    paths.config_dir.mkdir(parents=True)
    paths.config_file.write_text('[api]\nhttp = "127.0.0.1:0"\n')


def test_without_a_port_it_says_how_to_have_one(paths: Paths) -> None:
    done = page(paths)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No daemon is running." in done.stderr
    assert ADVICE in done.stderr
    assert not paths.socket.exists(), "none was started for nothing"


def test_a_daemon_without_a_port_is_told_apart(paths: Paths) -> None:
    with_port(paths)
    assert page(paths).returncode == 0
    assert page(paths, command="stop").returncode == 0
    paths.config_file.unlink()
    daemon = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.fake_daemon", "serve"], env=environment(paths), stderr=subprocess.PIPE
    )
    try:
        assert daemon.stderr is not None
        while not paths.socket.exists():
            assert daemon.poll() is None
            time.sleep(0.01)
        done = page(paths)
        assert (done.returncode, done.stdout) == (1, "")
        assert "no port open" in done.stderr
        assert ADVICE in done.stderr
    finally:
        page(paths, command="stop")
        daemon.communicate(timeout=TIMEOUT_S)


def test_the_address_leads_to_the_page_and_has_the_token_where_no_request_has_it(paths: Paths) -> None:
    with_port(paths)
    done = page(paths)

    url, _, token = done.stdout.strip().partition("/#token=")
    assert token == paths.token_file.read_text().strip()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url + "/", timeout=TIMEOUT_S) as reply:
        assert b"<title>completiond</title>" in reply.read()
    assert page(paths).stdout == done.stdout, "the same daemon"


def test_a_browser_is_given_a_file_and_not_the_token(paths: Paths, tmp_path: Path) -> None:
    with_port(paths)
    browser, given = tmp_path / "browser", tmp_path / "given"
    browser.write_text(f'#!/bin/sh\necho "$@" > "{given}"\n')
    browser.chmod(0o700)
    done = page(paths, "--open", BROWSER=str(browser))

    assert done.returncode == 0, done.stderr
    file = paths.runtime_dir / "page.html"
    assert given.read_text().strip() == file.as_uri(), "command lines can be read by everyone"
    assert done.stdout.strip() in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_browser_that_does_not_start_is_told(paths: Paths) -> None:
    with_port(paths)
    done = page(paths, "--open", BROWSER="/bin/false")

    assert done.returncode == 1
    assert "#token=" in done.stdout
    assert "No browser could be started. Open the address above." in done.stderr
