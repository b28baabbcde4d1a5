"""Printed pages: figures and views are drawn, also those that nobody has scrolled to, and in the colours of paper."""

import subprocess
from urllib.parse import quote

import pytest
from acceptance.browsing import FLAGS, program

from .test_dashboard import KINDS, SUITES, alike, ready, together

pytestmark = pytest.mark.browser

FIGURES = """() => [...document.querySelectorAll("[data-figure]")].map((host) => host.querySelector("svg") !== null)"""
SHARE = """([selector, colour]) => {
  const canvas = document.querySelector(selector);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 250 && colour.every((value, k) => Math.abs(value - data[i + k]) < 3)) found++;
  }
  return found;
}"""
"""How many pixels of a canvas have a colour."""
INK, PAPER = {"light": (27, 31, 36), "dark": (232, 234, 237)}, {"light": (255, 255, 255), "dark": (20, 23, 27)}
"""Of the style sheet of the report."""


def printed(address, path):
    """Print a page by the browser's own command, as soon as it is loaded."""
    command = [program(), *FLAGS, f"--print-to-pdf={path}", address]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return path.read_bytes()


@pytest.mark.parametrize("suite", SUITES)
def test_figures_that_were_never_in_sight_are_printed(opened, dashboard, suite):
    page = opened()
    page.goto(f"{dashboard}/together?{together(alike(page, dashboard, suite))}")
    before = page.evaluate(FIGURES)
    assert not all(before), "all figures were in sight: this shows nothing"
    content = page.pdf(tagged=True)
    assert all(page.evaluate(FIGURES))
    assert page.locator(".drawn .loading, .drawn .failure").count() == 0
    assert content.count(b"/Alt") >= len(before)  # a figure's description, which the file keeps beside its drawing


def test_the_command_of_the_browser_prints_figures(page, dashboard, tmp_path):
    keys = alike(page, dashboard, "labels")
    address = f"{dashboard}/run/{quote(keys[0])}"
    page.goto(address)
    figures = page.locator("[data-figure]").count()
    assert figures > 4
    assert printed(address, tmp_path / "run.pdf").count(b"/Alt") >= figures


@pytest.mark.parametrize("suite", KINDS)
def test_the_command_of_the_browser_prints_views(page, dashboard, tmp_path, suite):
    keys = alike(page, dashboard, suite)
    content = printed(f"{dashboard}/case?run={keys[0]}", tmp_path / "case.pdf")
    assert content.count(b"/Subtype /Image") >= 1  # a canvas


def test_a_figure_that_cannot_be_drawn_says_so_in_print(page, dashboard):
    page.watch.expected = ("status of 400",)
    page.goto(f"{dashboard}/run/{quote(alike(page, dashboard, 'labels')[0])}")
    page.evaluate("document.querySelectorAll('[data-figure]')[5].dataset.figure = '/item/together/999/none.svg'")
    page.pdf()
    assert page.locator(".drawn .failure").count() == 1
    assert page.locator(".drawn .loading").count() == 0


@pytest.mark.parametrize("suite", KINDS)
def test_canvases_are_printed_dark_on_light_and_are_dark_again_after(opened, dashboard, suite):
    page = opened(dark=True)
    page.watch.expected = ("getImageData",)  # of this test
    page.goto(f"{dashboard}/case?run={alike(page, dashboard, suite)[0]}")
    ready(page)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    if KINDS[suite] == "timeline":
        canvas, colour = ".timeline-lanes", INK  # transparent: names are in ink
    else:
        canvas, colour = ".space-canvas", PAPER
    light, dark = ([canvas, colour[theme]] for theme in ("light", "dark"))
    assert page.evaluate(SHARE, dark) > page.evaluate(SHARE, light)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(SHARE, light) > page.evaluate(SHARE, dark)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate(SHARE, dark) > page.evaluate(SHARE, light)
    assert page.locator("#theme").inner_text() == "Theme: auto"
