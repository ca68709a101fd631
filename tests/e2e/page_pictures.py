"""``python -m tests.e2e.page_pictures``: take the pictures of the page that are in docs/images, dark and light."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from playwright.sync_api import expect

from completiond.paths import Paths
from tests.e2e.browser import BROWSER_TIMEOUT_S, open_browser
from tests.e2e.harness import ROOT, environment, temporary_paths
from tests.e2e.page_driver import Visit, page_daemon, visit
from tests.e2e.test_page import BEGUN

SCHEMES: Final[tuple[Literal["dark", "light"], ...]] = ("dark", "light")
NEXT: Final = "\n\n\ndef volume(width, height, depth):\n    if width < 0"


def main() -> None:
    with temporary_paths() as own, open_browser() as browser:
        paths = replace(own, cache_dir=Paths.from_environment().cache_dir)
        variables = environment(paths)
        del variables["COMPLETIOND_SERVE_COMMAND"]
        with page_daemon(paths, variables) as address:
            for scheme in SCHEMES:
                size = {"width": 1100, "height": 1415}
                with visit(browser, address, viewport=size, color_scheme=scheme, reduced_motion="reduce") as one:
                    take(one, scheme)


def take(one: Visit, scheme: str) -> None:
    """Some answers for the charts, then one that is explained."""
    for text in ("def mean(values):\n    return ", BEGUN.partition("\n\n\n")[0][:40], BEGUN):
        one.write(text)
        one.wait_for_whole()
    one.press("Tab")
    one.page.wait_for_timeout(1500)
    one.page.keyboard.insert_text(NEXT)
    one.wait_for_whole()
    one.press("Control+i")
    expect(one.page.locator("#passes tbody tr").first).to_be_visible(timeout=BROWSER_TIMEOUT_S * 1e3)
    one.page.wait_for_timeout(2500)
    one.page.screenshot(path=ROOT / "docs" / "images" / f"page-{scheme}.png")


if __name__ == "__main__":
    main()
