"""The page in a real browser, with a real daemon and the real default model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from completiond.paths import Paths
from tests.e2e.browser import BROWSER_TIMEOUT_S, open_browser
from tests.e2e.harness import environment, temporary_paths
from tests.e2e.page_driver import Visit, page_daemon, visit

pytestmark = pytest.mark.model

# The second function goes on as the first did, and then otherwise: the dictionary and the model both write.
BEGUN = """\
def area(width, height):
    if width < 0 or height < 0:
        raise ValueError("width and height must not be negative")
    return width * height


def perimeter(width, height):
    if width < 0"""
SHORT = "def add(first, second):\n    return "
SCRIPT = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


@pytest.fixture(scope="module")
def address(default_model: Path, model_paths: Paths) -> Iterator[str]:
    """What `completiond page` prints."""
    with temporary_paths() as own:
        paths = replace(own, cache_dir=model_paths.cache_dir)
        more = {"COMPLETIOND_SERVE_COMMAND": "", "COMPLETIOND_PROMPT_MAX_READ_MS": "0"}
        variables = {name: value for name, value in environment(paths, **more).items() if value}
        with page_daemon(paths, variables) as address:
            yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def here(browser: Browser, address: str) -> Iterator[Visit]:
    """The page, opened; in the end, nothing was complained of, and nothing came from elsewhere."""
    with visit(browser, address, viewport={"width": 1100, "height": 900}) as one:
        yield one
        assert one.complaints == []
        base = address.partition("/#")[0]
        assert {url for url in one.urls if not url.startswith((f"{base}/", "data:"))} == set()


def test_a_suggestion_is_coloured_explained_and_accepted(here: Visit) -> None:
    expect(here.page).to_have_url(re.compile(r"^http://127\.0\.0\.1:\d+/$"), timeout=BROWSER_TIMEOUT_S * 1e3)
    titles = ("Time between tokens", "Time to the first token", "What was not read again")
    before = {title: here.numbers(title) for title in titles}
    here.write(BEGUN)
    suggestion = here.wait_for_whole()
    assert suggestion.startswith(" or height < 0:\n        raise ValueError(")
    assert {source for source, _ in here.spans} >= {"model", "ngram"}
    colours = {
        source: here.page.locator(f"#overlay .from-{source}").first.evaluate("one => getComputedStyle(one).color")
        for source, _ in here.spans
    }
    assert len(set(colours.values())) == len(colours), "each source has its colour"
    assert here.page.locator("#legend .used").count() == len(colours)
    here.wait_for(lambda: all(here.numbers(title) != before[title] for title in titles), "a bar more in each chart")
    assert here.numbers("Right guesses, by place in the draft")[0][0] == "dictionary"
    assert here.numbers("Memory of the daemon")

    here.press("Control+i")
    passes = here.page.locator("#passes tbody tr")
    expect(passes.first).to_be_visible(timeout=BROWSER_TIMEOUT_S * 1e3)
    assert passes.first.locator("td").nth(1).inner_text() == "dictionary"
    assert here.wait_for_whole() == suggestion, "explaining changes nothing"

    here.press("Control+ArrowRight")
    here.wait_for(lambda: here.text == f"{BEGUN} or", "the word in the text")
    assert here.suggestion == suggestion.removeprefix(" or"), "the rest stays"
    here.press("Tab")
    here.wait_for(lambda: here.text == BEGUN + suggestion, "all of it in the text")
    here.press("Control+z")
    here.wait_for(lambda: here.text in (BEGUN, f"{BEGUN} or"), "the text from before")
    assert here.wait_for_whole() in (suggestion, suggestion.removeprefix(" or"))
    here.wait_for(lambda: any(row[1] == "kept" for row in here.numbers("Time to the first token")), "a kept answer")


def test_keys_without_a_suggestion_and_those_that_end_one(here: Visit) -> None:
    here.write(SHORT)
    whole = here.wait_for_whole()
    assert whole.startswith("first")
    here.press("Escape")
    assert here.suggestion == ""
    here.page.wait_for_timeout(1000)
    assert here.suggestion == "", "until something changes"
    here.page.keyboard.type("f")
    assert here.wait_for_whole() == whole.removeprefix("f")
    here.page.keyboard.type("irst")
    assert here.wait_for_whole() == whole.removeprefix("first"), "what is typed as suggested leaves the rest"
    here.press("Escape")
    here.press("Enter")
    assert here.text == f"{SHORT}first\n    ", "a new line begins where the last one did"
    here.press("Escape")
    here.press("Tab")
    assert here.page.evaluate("() => document.activeElement.id") != "text", "the keyboard is not caught"


def test_other_suggestions(here: Visit) -> None:
    here.write(SHORT)
    first = here.wait_for_whole()
    here.press("Alt+BracketRight")
    which = here.page.locator("#which")
    expect(which).to_have_text(re.compile(r"^2 of [2-4]$"), timeout=BROWSER_TIMEOUT_S * 1e3)
    second = here.suggestion
    assert second != first
    here.press("Alt+BracketLeft")
    assert here.suggestion == first
    expect(which).to_have_text(re.compile(r"^1 of "))
    here.page.click("#next")
    assert here.suggestion == second
    here.page.click("#accept")
    here.wait_for(lambda: here.text == SHORT + second, "the one that was chosen")


def test_what_looks_like_html_is_text(here: Visit) -> None:
    here.page.fill("#path", f"{SCRIPT}.env/.env")
    here.write(f"# {SCRIPT}\n{SHORT}")
    expect(here.page.locator("#figures")).to_contain_text(
        "Nothing to show: The name of the file", timeout=BROWSER_TIMEOUT_S * 1e3
    )
    here.page.fill("#path", f"{SCRIPT.replace('/', '')}.pem")
    here.page.press("#path", "Enter")
    expect(here.page.locator("#silent")).to_contain_text("<img src=x", timeout=30_000)
    here.page.fill("#path", "b.py")
    here.page.press("#path", "Enter")
    here.wait_for(lambda: here.suggestion, "a suggestion")
    assert here.page.inner_text("#overlay").startswith(f"# {SCRIPT}\n{SHORT}")
    assert here.page.title() == "completiond"
    assert here.page.locator("main img, main script").count() == 0


def test_why_nothing_is_shown(here: Visit) -> None:
    here.page.fill("#path", "quietplace/.env")
    here.write("TOTAL=")
    expect(here.page.locator("#silent")).to_contain_text("looks like one that holds secrets", timeout=30_000)
    expect(here.page.locator("#figures")).to_contain_text("Nothing to show: The name of the file")
    assert "quietplace" not in here.page.inner_text("#silent"), "of a path, its last part"
    assert "TOTAL" not in here.page.inner_text("#silent")


def test_themes(here: Visit) -> None:
    def colour() -> str:
        return str(here.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))

    here.page.emulate_media(color_scheme="light")
    light = colour()
    here.page.emulate_media(color_scheme="dark")
    dark = colour()
    assert light != dark
    here.page.click("#theme")
    assert (here.page.inner_text("#theme"), colour()) == ("Theme: light", light)
    here.page.reload()
    assert (here.page.inner_text("#theme"), colour()) == ("Theme: light", light), "it is kept, and so is the token"
    here.page.click("#theme")
    here.page.emulate_media(color_scheme="light")
    assert (here.page.inner_text("#theme"), colour()) == ("Theme: dark", dark)


def test_charts_and_field_have_names(here: Visit) -> None:
    charts = here.page.get_by_role("img")
    expect(charts).to_have_count(5)
    for name in charts.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))"):
        assert re.match(r"^[A-Z].+: .+", name), "a title and figures"
    expect(here.page.get_by_role("textbox", name="Text to complete")).to_be_visible()
    expect(here.page.get_by_role("button", name="Next suggestion")).to_be_disabled()


def test_a_wrong_token_is_told_and_the_right_one_helps(browser: Browser, address: str) -> None:
    base, _, token = address.partition("/#token=")
    for wrong, says in (("/", "The page has no token."), (f"/#token={'x' * 43}", "The token is wrong.")):
        with visit(browser, base) as one:
            one.page.goto(base + wrong)
            alert = one.page.get_by_role("alert")
            expect(alert).to_contain_text(says, timeout=30_000)
            expect(alert).to_contain_text("completiond page")
            expect(one.page.locator("#phase")).to_have_text("not told without the token")
            one.page.fill("#token", token)
            one.page.press("#token", "Enter")
            expect(one.page.locator("#phase")).to_contain_text("ready", timeout=30_000)
            expect(one.page.locator("#problem")).to_be_hidden()
            assert all("401" in complaint for complaint in one.complaints)


def test_a_daemon_that_is_gone_is_told(browser: Browser, address: str) -> None:
    with visit(browser, address) as one:
        one.page.context.set_offline(True)
        expect(one.page.get_by_role("alert")).to_contain_text("The daemon does not answer.", timeout=30_000)
        expect(one.page.locator("#phase")).to_have_text("no answer from the daemon", timeout=30_000)
        one.page.context.set_offline(False)
        expect(one.page.locator("#problem")).to_be_hidden(timeout=30_000)
