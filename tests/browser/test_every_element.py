"""Point at and click on every kind of element of every page of every suite; the watch fails a test on any error."""

import re

import pytest

from .test_dashboard import KINDS, SUITES, alike, drawn, ready, together

pytestmark = pytest.mark.browser

STATUS = {"timeline": ".timeline-status", "scene": ".space-status", "motion": ".space-status"}
SAID = {
    "events": (r", truth", r": returned", r"(deletion|insertion|fragmenting|merge|underfill|overfill|right)"),
    "episode": (r"annotation: action", r"(training|test|purged)", r"(wrong|partly|right)"),
    "change": (r"scan: \w+",),
    "skeleton": (r"frame \d+",),
}
"""What the status line says of elements of each suite, once they have been pointed at."""
SWEEP = """(canvas) => {
  const box = canvas.getBoundingClientRect();
  const status = document.querySelector(".timeline-status, .space-status");
  const said = new Set();
  for (let y = 3; y < box.height; y += 7) {
    for (let x = 3; x < box.width; x += 11) {
      const place = { clientX: box.left + x, clientY: box.top + y, pointerId: 1, pointerType: "mouse", bubbles: true };
      canvas.dispatchEvent(new PointerEvent("pointermove", place));
      said.add(status.textContent);
    }
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave", { pointerId: 1, pointerType: "mouse" }));
  return [...said];
}"""


def use_controls(page):
    """Use every button, box, choice and fold of the page once; links lead elsewhere and are followed by other tests."""
    for summary in page.locator("main summary:visible").all():
        summary.click()
    boxes = page.locator("main input[type=checkbox]:visible")
    for place in range(min(boxes.count(), 12)):
        boxes.nth(place).click()
        boxes.nth(place).click()
    buttons = page.locator("main button[type=button]:visible")
    for place in range(min(buttons.count(), 40)):
        buttons.nth(place).hover()
        buttons.nth(place).click()


@pytest.mark.parametrize("suite", KINDS)
def test_every_place_of_a_view_can_be_pointed_at(page, dashboard, suite):
    keys = alike(page, dashboard, suite)
    page.goto(f"{dashboard}/case?{together(keys[:3])}")
    ready(page)
    said = []
    canvases = page.locator(".view canvas:not(.timeline-swatch)")
    for place in range(canvases.count()):
        canvases.nth(place).scroll_into_view_if_needed()
        said += canvases.nth(place).evaluate(SWEEP)
    for pattern in SAID[suite]:
        assert any(re.search(pattern, text) for text in said), (pattern, said[:20])


@pytest.mark.parametrize("suite", KINDS)
@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_every_control_of_a_view_works(opened, dashboard, suite, size):
    page = opened(size)
    keys = alike(page, dashboard, suite)
    page.goto(f"{dashboard}/case?{together(keys[:2])}")
    ready(page)
    use_controls(page)
    selects = page.locator(".view select")
    for place in range(selects.count()):
        for value in selects.nth(place).locator("option").evaluate_all("items => items.map((item) => item.value)"):
            selects.nth(place).select_option(value)
    canvases = page.locator(".view canvas:not(.timeline-swatch)")
    for place in range(canvases.count()):
        canvas = canvases.nth(place)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        for share in (0.1, 0.35, 0.6, 0.85):
            canvas.click(position={"x": box["width"] * share, "y": box["height"] * share})
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.4)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5, steps=4)
        page.mouse.up()
        page.mouse.wheel(0, -200)
    for key in ("n", "p", "+", "-", "0", "Home", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", " ", ",", ".", " "):
        page.locator(".view canvas[tabindex]").first.press(key)
    page.locator("#theme").click()
    assert page.locator(STATUS[KINDS[suite]]).inner_text()


@pytest.mark.parametrize(
    ("kind", "suite"), [*((kind, suite) for kind in ("together", "compare") for suite in SUITES), ("board", "har")]
)
def test_every_control_of_a_page_of_runs_works(page, dashboard, suite, kind):
    keys = alike(page, dashboard, suite)
    assert kind == "together" or len(keys) > 1
    page.goto(f"{dashboard}/{kind}?{together(keys)}")
    drawn(page)
    use_controls(page)
    for figure in page.locator("[data-figure] svg").all():
        figure.hover()
    tables = page.locator("table.sortable")
    assert tables.count()
    for place in range(tables.count()):
        tables.nth(place).locator("tbody tr").first.hover()


def test_every_control_of_the_list_works(page, dashboard):
    page.goto(dashboard)
    use_controls(page)
    for place in range(page.locator("table.runs thead a").count()):
        for _ in range(2):
            page.locator("table.runs thead a").nth(place).click()
            page.locator("#listed:not([aria-busy])").wait_for()
    assert page.locator("table.runs tbody tr").count() > 20
