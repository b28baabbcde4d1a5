"""The list of runs after Back and a reload, what is hidden, and the order of the headline; also on other pages."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from .test_dashboard import alike, keys_of, together

pytestmark = pytest.mark.browser

CHOICE = """() => ({
  ticked: document.querySelectorAll("table.runs input[name=run]:checked").length,
  kept: document.querySelectorAll("#choice input[type=hidden][name=run]").length,
  said: document.getElementById("chosen").textContent,
  together: !document.getElementById("together").disabled,
  compare: !document.getElementById("compare").disabled,
  clear: document.getElementById("clear").getClientRects().length > 0,
})"""
NONE = {
    "ticked": 0,
    "kept": 0,
    "said": "Tick runs to see them together.",
    "together": False,
    "compare": False,
    "clear": False,
}
TWO = {"ticked": 2, "kept": 0, "said": "2 chosen", "together": True, "compare": True, "clear": True}
HIDDEN = """() => [...document.querySelectorAll("[hidden]")].filter((item) => item.getClientRects().length > 0)
  .map((item) => item.outerHTML.slice(0, 80))"""


def settled(page):
    """Wait until the page is shown and what the browser restores is restored."""
    page.evaluate("new Promise((done) => setTimeout(done, 300))")


def tick(page, places=(0, 1)):
    for place in places:
        page.locator("table.runs input[name=run]").nth(place).check()


def test_ticks_and_buttons_agree_after_back_forward_and_a_reload(page, dashboard):
    page.goto(f"{dashboard}/?suite=labels")
    assert page.evaluate(CHOICE) == NONE
    tick(page)
    assert page.evaluate(CHOICE) == TWO
    page.locator("#compare").click()
    page.wait_for_url(re.compile("/compare"))
    page.go_back()
    settled(page)
    assert page.evaluate(CHOICE) == TWO
    page.locator("#compare").click()
    page.wait_for_url(re.compile("/compare"))
    assert len(parse_qs(urlsplit(page.url).query)["run"]) == 2
    page.go_back()
    page.go_forward()
    page.go_back()
    page.reload()
    settled(page)
    assert page.evaluate(CHOICE) == TWO
    page.locator("#clear").click()
    assert page.evaluate(CHOICE) == NONE
    page.reload()
    settled(page)
    assert page.evaluate(CHOICE) == NONE


def test_what_is_chosen_but_not_listed_survives_back(page, dashboard):
    page.goto(f"{dashboard}/?suite=labels")
    tick(page)
    page.locator("#search").fill("nothing like this")
    page.locator(".count", has_text="0 of").wait_for()
    page.locator("#together").click()
    page.wait_for_url(re.compile("/together"))
    page.go_back()
    settled(page)
    assert page.evaluate(CHOICE) == {**TWO, "ticked": 0, "kept": 2}
    assert page.locator("#search").input_value() == "nothing like this"
    assert page.locator("table.runs").count() == 0


KEPT = "window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
"""What a browser tells a page that it kept as it was and shows again; Playwright's keeps none."""


def test_a_page_that_the_browser_kept_agrees_too(page, dashboard):
    page.goto(f"{dashboard}/?suite=labels")
    tick(page)
    page.evaluate("for (const tick of document.querySelectorAll('input[name=run]')) tick.checked = false")
    page.evaluate(KEPT)
    assert page.evaluate(CHOICE) == TWO
    page.goto(f"{dashboard}/board?{together(alike(page, dashboard, 'har'))}")
    before = page.locator("select[name=task]").input_value()
    page.evaluate("document.querySelector('select[name=task]').value = 'sup-10'")
    page.evaluate("localStorage.setItem('gnomon-theme', 'dark')")
    page.evaluate(KEPT)
    assert page.locator("select[name=task]").input_value() == before
    assert page.locator("#theme").inner_text() == "Theme: dark"


def test_choices_of_a_board_and_a_comparison_show_what_the_page_shows_after_back(page, dashboard):
    page.goto(f"{dashboard}/board?{together(alike(page, dashboard, 'har'))}")
    before = page.locator("select[name=task]").input_value()
    page.locator("select[name=task]").select_option("sup-10")
    page.wait_for_url(re.compile("task=sup-10"))
    page.go_back()
    settled(page)
    assert "task=" not in page.url
    assert page.locator("select[name=task]").input_value() == before
    page.goto(f"{dashboard}/compare?{together(alike(page, dashboard, 'labels'))}")
    before = page.locator("select[name=measure]").input_value()
    page.locator("select[name=measure]").select_option("accuracy")
    page.wait_for_url(re.compile("measure=accuracy"))
    page.go_back()
    settled(page)
    assert page.locator("select[name=measure]").input_value() == before


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_what_is_hidden_is_not_seen_on_any_page(opened, dashboard, size):
    page = opened(size)
    pages = ["/"]
    for suite in ("labels", "har", "events", "episode", "change", "skeleton"):
        keys = alike(page, dashboard, suite)
        pages += [f"/run/{quote(keys[0])}", f"/compare?{together(keys)}"]
        pages += [f"/case?run={keys[0]}"] if suite not in ("labels", "har") else []
    for address in pages:
        page.goto(dashboard + address)
        if page.locator("[data-source]").count():
            page.locator("[data-source][data-ready=yes]").wait_for()
        assert page.evaluate(HIDDEN) == [], address
    for kind in ("block", "flex", "grid", "inline-block", "inline-flex"):
        shown = "(kind) => { const made = document.createElement('button'); made.hidden = true; made.textContent = 'x';"
        shown += " made.style.display = kind; document.body.append(made); return made.getClientRects().length; }"
        assert page.evaluate(shown, kind) == 0


def test_the_headline_sorts_within_each_measure(page, dashboard):
    """Directions: errors of skeletons are better the smaller, everything else in the demonstration the larger."""
    for turned in (False, True):
        page.goto(f"{dashboard}/?sort=value{'&turned=1' if turned else ''}")
        cells = page.locator("table.runs tbody tr > td:nth-child(5)")
        rows = cells.evaluate_all("cells => cells.map((cell) => [cell.textContent, cell.lastChild.textContent])")
        rows = [(re.match(r"-?[\d.]+|undefined", text)[0], measure) for text, measure in rows]
        measures = [measure for _, measure in rows]
        groups = list(dict.fromkeys(measures))
        assert len(groups) > 3
        assert measures == sorted(measures, key=groups.index), "a measure stands in two places"
        for group in groups:
            values = [float(value) for value, measure in rows if measure == group and value != "undefined"]
            assert values == sorted(values, reverse=("mpjpe" not in group) != turned), group
        assert f"the {'worst' if turned else 'best'} of each first" in page.locator(".count").inner_text()


def test_values_of_one_row_for_each_measure_do_not_sort(page, dashboard):
    page.goto(f"{dashboard}/together?{together(keys_of(page, dashboard, 'events'))}")
    named = page.locator("h3", has_text="alarms, segments and timing")
    table = page.locator(".block:has(th[data-within])").filter(has=named).first
    assert table.locator("thead th[data-within] button").count() == 0
    assert table.locator("thead th button").count() == 2  # measure and better


def test_a_table_of_several_measures_sorts_within_each(page, dashboard):
    page.goto(f"{dashboard}/together?{together(keys_of(page, dashboard, 'skeleton'))}")
    tables = page.locator("table.sortable:has(th[data-within])")
    assert tables.count()
    for place in range(tables.count()):
        table = tables.nth(place)
        heading = table.locator("th[data-within]").first
        within, own = heading.evaluate("item => [Number(item.dataset.within), item.cellIndex]")
        read = f"rows => rows.map((row) => [row.cells[{within}].textContent, Number(row.cells[{own}].dataset.value)])"
        measures = list(dict.fromkeys(name for name, _ in table.locator("tbody tr").evaluate_all(read)))
        for falling in (False, True):
            heading.locator("button").click()
            rows = table.locator("tbody tr").evaluate_all(read)
            assert [name for name, _ in rows] == sorted((name for name, _ in rows), key=measures.index)
            for measure in measures:
                values = [value for name, value in rows if name == measure and value == value]
                assert values == sorted(values, reverse=falling)
