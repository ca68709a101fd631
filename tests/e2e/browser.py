"""A real browser without a screen: Debian's Chromium, driven by Playwright, which fetches none of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

__all__ = ["BROWSER_TIMEOUT_S", "open_browser"]

BROWSER_TIMEOUT_S: Final = 90.0
"""For what takes milliseconds, or seconds while the model loads, when nothing else runs on the machine."""
CHROMIUMS: Final = ("chromium", "chromium-browser", "google-chrome")
# Without a sandbox, which asks for rights that containers do not have; and it looks nothing up on its own.
OPTIONS: Final = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start it, and end it. Fails the test where there is none."""
    found = next((path for name in CHROMIUMS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"None of {', '.join(CHROMIUMS)} is on the PATH. On Debian, `apt-get install chromium` gets it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(OPTIONS), timeout=BROWSER_TIMEOUT_S * 1e3)
        try:
            yield browser
        finally:
            browser.close()
