"""A daemon with a port, and a person at its page: keys go in, what is on the screen comes out."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from completiond.paths import Paths
from tests.e2e.browser import BROWSER_TIMEOUT_S
from tests.e2e.harness import kill_daemon

__all__ = ["Visit", "page_daemon", "visit"]

T = TypeVar("T")


@contextmanager
def page_daemon(paths: Paths, environment: Mapping[str, str]) -> Iterator[str]:
    """Have `completiond page` start a daemon whose settings open a port. Yields the address that it prints."""
    paths.config_dir.mkdir(parents=True)
    paths.config_file.write_text('[api]\nhttp = "127.0.0.1:0"\n')
    try:
        command = [sys.executable, "-m", "completiond", "page"]
        done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, timeout=120, check=True)
        yield done.stdout.strip()
    finally:
        kill_daemon(paths)


@dataclass
class Visit:
    """An open page. ``complaints``: what the browser's console says is wrong; ``urls``: all that was asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is in the field."""
        return self.page.input_value("#text")

    @property
    def spans(self) -> list[tuple[str, str]]:
        """The suggestion on the screen: source and text of each piece."""
        script = "all => all.map(one => [one.className.replace('from from-', ''), one.textContent])"
        return [(source, text) for source, text in self.page.locator("#overlay .from").evaluate_all(script)]

    @property
    def suggestion(self) -> str:
        """Its text; empty for none."""
        return "".join(text for _, text in self.spans)

    def write(self, text: str) -> None:
        """Replace all of the text, with the cursor at its end."""
        self.page.focus("#text")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def press(self, key: str) -> None:
        """Press a key in what has the focus."""
        self.page.keyboard.press(key)

    def numbers(self, title: str) -> list[list[str]]:
        """The rows of a chart's table."""
        figure = self.page.locator("figure", has=self.page.get_by_text(title, exact=True))
        script = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
        rows: list[list[str]] = figure.locator("tbody tr").evaluate_all(script)
        return rows

    def wait_for(self, look: Callable[[], T | None], what: str) -> T:
        """Look again and again until there is something that is true. Raises AssertionError that names ``what``."""
        deadline_s = time.monotonic() + BROWSER_TIMEOUT_S
        while time.monotonic() < deadline_s:
            if found := look():
                return found
            self.page.wait_for_timeout(30)
        raise AssertionError(f"There was never {what}. Suggestion: {self.suggestion!r}, text: {self.text!r}")

    def wait_for_whole(self) -> str:
        """Wait until a suggestion has come to its end, and return it."""
        told = self.page.locator("#told")
        return self.wait_for(
            lambda: text if (text := self.suggestion) and told.text_content() == f"Suggestion: {text}" else None,
            "a whole suggestion",
        )


@contextmanager
def visit(browser: Browser, address: str, **options: object) -> Iterator[Visit]:
    """Open the page in a profile of its own and wait for the model; ``options``: of Browser.new_context."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(BROWSER_TIMEOUT_S * 1e3)
    page = context.new_page()
    one = Visit(page)

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            one.complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: one.complaints.append(str(error)))
    page.on("request", lambda request: one.urls.append(request.url))
    try:
        page.goto(address)
        if "#" in address:
            expect(page.locator("#phase")).to_contain_text("ready", timeout=BROWSER_TIMEOUT_S * 1e3)
        yield one
    finally:
        context.close()
