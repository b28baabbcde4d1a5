"""The site in a real browser, from files: wide and narrow, search, menu, copy, dark, without a script.

With ``GNOMON_SCREENSHOTS=DIR`` whose name ends in ``all``, pictures of the pages are taken into that folder.
"""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
SHOWN = (
    "index.html",
    "events.html",
    "har.html",
    "reference/commands/score-skeleton.html",
    "reference/api/gnomon.core.measure.html",
    "reference/measures.html",
    "reference/checks.html",
    "decisions/index.html",
)
SHOTS = os.environ.get("GNOMON_SCREENSHOTS", "")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site in a folder."""
    from docs.site.making import make, write

    folder = tmp_path_factory.mktemp("site")
    write(make(ROOT), folder)
    return folder


def shoot(page, name):
    if SHOTS.endswith("all"):
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SHOTS) / f"site-{name}.png")


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_pages_fit_and_complain_about_nothing(opened, site, size):
    page = opened(size)
    for address in SHOWN:
        page.goto((site / address).as_uri())
        width, window = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= window, f"{address} is {width} wide in a window of {window}"
        assert page.evaluate(
            "() => [...document.images].every((one) => one.loading === 'lazy' || one.naturalWidth > 0)"
        )
        assert page.evaluate("() => getComputedStyle(document.querySelector('.top')).position") == "sticky"
        shoot(page, f"{size}-{address.replace('/', '-').removesuffix('.html')}")


def test_a_key_opens_the_search_and_arrows_go_to_a_page(opened, site):
    page = opened()
    page.goto((site / "reference/measures.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("dashboard")
    first = page.locator("#site-found-list a").first
    first.wait_for()
    assert "dashboard" in first.inner_text().lower()
    assert "places" in page.locator("#site-found-count").inner_text()
    shoot(page, "search")
    page.keyboard.press("ArrowDown")
    assert first.evaluate("link => link === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard.html*")
    page.keyboard.press("/")
    page.keyboard.type("zzzzqq")
    page.locator("#site-found-count", has_text="0 places").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#site-found").is_hidden()


def test_the_menu_of_a_small_screen(opened, site):
    page = opened("narrow")
    page.goto((site / "index.html").as_uri())
    side = page.locator("#site-pages")
    assert side.is_hidden()
    page.locator("#site-menu").click()
    assert side.is_visible()
    assert page.locator("#site-menu").get_attribute("aria-expanded") == "true"
    shoot(page, "menu")
    side.get_by_role("link", name="Statistics").click()
    page.wait_for_url("**/statistics.html")
    assert side.is_hidden()


def test_commands_are_copied_and_colours_are_kept(opened, site):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.goto((site / "events.html").as_uri())
    block = page.locator(".code.console").first
    block.hover()
    block.locator("button.copy").click()
    block.get_by_text("Copied").wait_for()
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator("button[data-action=theme]").click()
    assert page.evaluate(paper) != light
    shoot(page, "dark")


def test_without_a_script_everything_is_there(opened, site):
    page = opened("narrow", java_script_enabled=False)
    page.goto((site / "events.html").as_uri())
    assert page.locator("#site-pages").is_visible()
    assert page.locator("#site-menu").is_hidden()
    assert page.locator(".code pre").first.is_visible()


def test_the_first_tab_skips_to_the_content(opened, site):
    page = opened()
    page.goto((site / "events.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "site-content"
