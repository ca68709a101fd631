"""A person at VS Code: keys go in, ghost text and saved files come out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from playwright.sync_api import Browser, ElementHandle, Page, TimeoutError, sync_playwright

from tests.e2e.editors.vscode_install import VSCodeTools
from tests.e2e.editors.vscode_server import write_settings

__all__ = ["TIMEOUT_S", "VSCode", "open_browser", "open_vscode"]

TIMEOUT_S: Final = 120.0
"""For what takes milliseconds, or seconds while the model loads, when nothing else runs on the machine."""
KEY_MS: Final = 60
LIST_MS: Final = 20_000.0
"""How long a list may take to show what is searched; then it is opened anew."""
T = TypeVar("T")

BROWSER: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)

GHOST: Final = """() => {
  const text = (node) => node.textContent.replaceAll('\\u00a0', ' ').replaceAll('\\u200b', '');
  const kinds = ['.ghost-text-decoration', '.ghost-text-decoration-preview', '.ghost-text'];
  const inline = [...document.querySelectorAll(kinds.map((kind) => `.view-lines ${kind}`).join())];
  const first = inline.filter((node) => !node.parentElement.closest('.ghost-text')).map(text).join('');
  const below = [...document.querySelectorAll('.suggest-preview-text .view-line')];
  below.sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top));
  return [first, ...below.map(text)].join('\\n');
}"""
"""The ghost text, which only the focused editor has: what is in the cursor's line, and whole lines below it."""

WATCH: Final = """(ghost) => {
  const read = eval(ghost);
  const mine = window.cdWatching = (window.cdWatching ?? 0) + 1;
  window.cdSeen = [];
  const look = () => {
    if (mine !== window.cdWatching) return;
    const text = read();
    if (window.cdSeen.at(-1)?.text !== text) window.cdSeen.push({ ms: performance.now(), text });
    requestAnimationFrame(look);
  };
  look();
}"""
"""From now on, note each ghost text, frame by frame."""

SELECTED: Final = "() => document.querySelector('.suggest-widget.visible .monaco-list-row.focused')?.ariaLabel ?? null"
"""The item that is selected in VS Code's own list, and its kind: ``word, Text``."""

KEPT: Final = """async () => {
  const ended = (request) => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  const database = await ended(indexedDB.open('vscode-web-state-db-global'));
  try {
    const table = database.transaction('ItemTable').objectStore('ItemTable');
    return (await ended(table.get('completiond.completiond'))) ?? '';
  } finally {
    database.close();
  }
}"""


@dataclass(frozen=True, slots=True)
class Seen:
    """A ghost text, from ``ms`` on; empty: none."""

    ms: float
    text: str


class VSCode:
    """One window with one folder."""

    def __init__(self, page: Page, folder: Path, own: Path) -> None:
        """``own``: the server's folder, where a picture of the window is left when something does not come."""
        self.page = page
        self.folder = folder
        self._own = own
        self._failure = own / "failure.png"

    def open_file(self, name: str, at: str = "") -> None:
        """Open a file of the folder; ``at``: what VS Code takes behind its name, ``:line:column``."""
        self._pick("Control+p", name + at, name)
        self.page.wait_for_selector(f".tab.active[data-resource-name='{name}']")
        self.page.wait_for_selector(".quick-input-widget", state="hidden")

    def _pick(self, key: str, text: str, label: str) -> None:
        """Open a list by a key, write into its field, and take the row of this label. A list that does not come to
        show the row is opened anew: VS Code makes it once, and a file that is younger is not in it.
        """
        field = ".quick-input-widget:not([style*='display: none']) input"

        def row() -> bool | None:
            self.press(key)
            self.page.wait_for_selector(field)
            self.page.fill(field, text)  # into the field, though the focus may not have come to it yet
            try:
                self.page.wait_for_selector(
                    f".quick-input-list .monaco-list-row.focused[aria-label*='{label}']", timeout=LIST_MS
                )
            except TimeoutError:
                self.press("Escape")
                return None
            return True

        self.wait_for(row, f"{label!r} in the list of {key}")
        self.press("Enter")

    def open(self, name: str, line: int, column: int) -> None:
        """Open a file of the folder and put the cursor there; both from 1, the column in UTF-16 units."""
        self.open_file(name, f":{line}:{column}")
        self.page.wait_for_selector(".editor-group-container.active .monaco-editor.focused")
        self.wait_for(lambda: f"Ln {line}, Col {column}" in self.status_text() or None, "the cursor")

    def status_text(self) -> str:
        """All that the status bar says."""
        return str(self.page.inner_text(".statusbar"))

    def type(self, text: str) -> None:
        """Press the keys for ``text`` as a person does."""
        self.page.keyboard.type(text, delay=KEY_MS)

    def press(self, key: str) -> None:
        """Press one key, or several at once: ``Control+s``."""
        self.page.keyboard.press(key)

    @property
    def ghost(self) -> str:
        """The ghost text on the screen; empty: none."""
        return str(self.page.evaluate(GHOST))

    def wait_for_ghost(self, fits: Callable[[str], bool] = bool) -> str:
        """Wait until there is ghost text that ``fits``, and return it."""
        return self.wait_for(lambda: text if (text := self.ghost) and fits(text) else None, "ghost text")

    def wait_for_no_ghost(self) -> None:
        """Wait until there is none."""
        self.wait_for(lambda: True if not self.ghost else None, "no ghost text")

    def watch(self) -> None:
        """Begin to note every ghost text."""
        self.page.evaluate(WATCH, GHOST)

    @property
    def seen(self) -> list[Seen]:
        """Each ghost text since ``watch``, in the order they came."""
        return [Seen(one["ms"], one["text"]) for one in self.page.evaluate("() => window.cdSeen")]

    def saved(self, name: str, expected: Callable[[str], bool]) -> str:
        """Save the active file, wait until what is on the disk is ``expected``, and return it."""
        self.press("Control+s")
        path = self.folder / name

        def text() -> str | None:
            found = path.read_text(encoding="utf-8")
            return found if expected(found) else None

        return self.wait_for(text, f"the text in {name}, which is now:\n{path.read_text(encoding='utf-8')}")

    def set(self, name: str, value: object) -> None:
        """Change one of the user's settings, in the file that VS Code watches."""
        write_settings(self._own, {name: value})

    def kept(self) -> str:
        """What VS Code keeps of our extension's state, in the browser: what it writes there comes a moment later, and
        a page that is reloaded before has lost it.
        """
        return str(self.page.evaluate(KEPT))

    def run(self, title: str) -> None:
        """Run a command by its title."""
        self._pick("F1", f">{title}", title)

    def select(self, word: str) -> None:
        """Go down in VS Code's own list, which is open or about to, to a word."""
        found = self.wait_for(self._selected, "the list")
        while not found.startswith(f"{word},"):
            self.press("ArrowDown")
            found = self.wait_for(partial(self._selected, found), "the next item")

    def _selected(self, before: str = "") -> str | None:
        row: str | None = self.page.evaluate(SELECTED)
        return None if row == before else row

    def wait_for_element(self, selector: str) -> ElementHandle:
        """Wait until the page has an element."""
        return self.wait_for(lambda: self.page.query_selector(selector), selector)

    def wait_for(self, look: Callable[[], T | None], what: str) -> T:
        """Look again and again until there is something. Raises AssertionError that says ``what`` did not come."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            if (found := look()) is not None:
                return found
            self.page.wait_for_timeout(20)
        self.page.screenshot(path=self._failure)
        state = f"Status bar: {self.status_text()!r}; ghost text: {self.ghost!r}; a picture: {self._failure}"
        raise AssertionError(f"There was never {what}. {state}")


@contextmanager
def open_browser(tools: VSCodeTools) -> Iterator[Browser]:
    """Start Chromium, without a screen; one at a time, since Playwright's loop runs in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=tools.chromium, args=list(BROWSER), timeout=TIMEOUT_S * 1e3
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_vscode(browser: Browser, url: str, folder: Path, own: Path) -> Iterator[VSCode]:
    """Open a folder in a window, and wait for the workbench. ``own``: the server's own folder."""
    context = browser.new_context(viewport={"width": 1100, "height": 640})
    try:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_S * 1e3)
        page.goto(f"{url}/?folder={folder}", wait_until="domcontentloaded")
        page.wait_for_selector(".monaco-workbench .explorer-folders-view .monaco-list-row")
        yield VSCode(page, folder, own)
    finally:
        context.close()
