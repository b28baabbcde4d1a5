"""Texts of figures and timelines do not overlap: at 360, 800 and 1280 pixels, with long names and large numbers."""

from pathlib import Path

import numpy as np
import pytest

from gnomon.core.table import View
from gnomon.report import assets, figures
from gnomon.suites.events import lanes

from .test_timeline import ready, site  # noqa: F401 - a fixture

pytestmark = pytest.mark.browser

WIDTHS = (360, 800, 1280)
LONG = "a_system_with_a_name_that_is_much_longer_than_its_place_{}"
RANGES = {
    "shares": (0.0013, 0.164),
    "close": (0.98761, 0.98799),
    "tiny": (0.00000012, 0.00000098),
    "large": (1_234_567.0, 98_765_432.0),
    "huge": (3.2e12, 9.7e15),
    "negative": (-123_456.0, 234_567.0),
    "far": (1_000_000.1, 1_000_000.9),
}
"""Values that figures are drawn of."""
OVERLAPS = r"""() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && !slanted(text));
    const lines = svg.querySelectorAll("line[stroke-width='2.5']");
    const boxes = [...texts, ...lines].map((item) => ({ text: item.textContent, box: item.getBoundingClientRect() }));
    boxes.forEach((one, place) => boxes.slice(place + 1).forEach((other) => {
      const [a, b] = [one.box, other.box];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 0.5 && down >= Math.min(a.height, b.height) / 4) {
        found.push(`${svg.parentNode.id}: ${one.text} | ${other.text}`);
      }
    }));
  }
  return found;
  function slanted(text) { return /rotate\((-45|315)/.test(text.getAttribute("transform")); }
}"""
"""Pairs of texts of a figure (and of the lines of a key) whose boxes overlap; slanted names have boxes of no use."""


SLANTED = r"""() => {
  const found = {};
  for (const text of document.querySelectorAll("svg text")) {
    const place = /translate\(([-\d.]+),[-\d.]+\) rotate\((-45|315)/.exec(text.getAttribute("transform"));
    if (place) (found[text.closest(".figure").id] ??= []).push(Number(place[1]));
  }
  return found;
}"""
"""Where names at 45 degrees begin, in pixels of their figure."""


def views(low, high):
    """Return a view of every kind that has a scale, with values of a range."""
    rng = np.random.default_rng(0)
    names = [LONG.format(n) for n in range(5)]
    inside = [low + (high - low) * share for share in (0.0, 0.3, 0.5, 0.8, 1.0)]
    rows = [
        {"system": name, "value": value, "low": low, "high": high, "best": place == 4}
        for place, (name, value) in enumerate(zip(names, inside, strict=True))
    ]
    pairs = [{"system": name, "first": value, "last": high} for name, value in zip(names, inside, strict=True)]
    cases = [
        {"system": name, "case": f"{name}-{n}", "group": "g", "value": low + (high - low) * float(rng.random())}
        for name in names
        for n in range(20)
    ]
    measure = "a measure with a long name that says what it is in many words"
    lines = [
        {"name": name, "x": [k * 12_345 for k in range(50)], "y": [value] * 50}
        for name, value in zip(names, inside, strict=True)
    ]
    common = {"measure": measure, "unit": "mm", "direction": "up"}
    return {
        "intervals": {**common, "rows": rows},
        "gap": {"names": ["published", "strict"], "panels": [{"measure": measure, "rows": pairs}] * 2},
        "strips": {**common, "points": cases},
        "curves": {"x": "iteration", "y": measure, "series": lines},
        "heat": {"rows": names, "columns": names, "values": [inside] * 5, "unit": "mm"},
    }


def others():
    """Return views whose places are not those of a scale: ranks, matrices, bars."""
    names = [LONG.format(n) for n in range(30)]
    ranks = [{"system": name, "rank": 1 + 29 * place / 29} for place, name in enumerate(names)]
    parts = {"TP": 100_000, "D": 1, "F": 2, "M": 1, "Us": 3, "Ue": 1, "I": 4, "Os": 2, "Oe": 3}
    counts = [[1_234_567 * (a + b) for b in range(12)] for a in range(12)]
    text = "123,456 events of 1,234,567 in 98,765 hours, 12.3 % of them right"
    return {
        "ranks": {"ranks": ranks, "distance": 3.2, "cliques": [names[:9], names[5:20]], "alpha": 0.05},
        "matrix": {"labels": names[:12], "predicted": names[:12], "counts": counts},
        "heat": {"rows": names[:3], "columns": [*names, *names], "values": [[1.0] * 60] * 3, "unit": "mm"},
        "bars": {"bars": [{"label": name, "parts": parts, "text": text} for name in names[:4]], "right": ["TP"]},
    }


def gallery(path, made):
    """Write a page that shows figures as reports and dashboard do."""
    parts = []
    for name, (kind, data) in made.items():
        drawn = figures.inline(View(name, name, kind, data), name)
        parts.append(
            f'<div class="figures"><div class="block"><div class="figure" id="{name}">{drawn}</div></div></div>'
        )
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<style>{assets.read('style.css')}</style>"
    path.write_text(
        f"<!DOCTYPE html><html><head>{head}</head><body><div class=page><main>{''.join(parts)}</main></div>"
    )
    return path


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    pytest.importorskip("vl_convert")
    made = {f"{kind}-{word}": (kind, data) for word, ends in RANGES.items() for kind, data in views(*ends).items()}
    made |= {kind: (kind, data) for kind, data in others().items()}
    return gallery(tmp_path_factory.mktemp("gallery") / "index.html", made)


@pytest.mark.parametrize("width", WIDTHS)
def test_texts_of_figures_do_not_overlap(opened, drawn, width):
    page = opened(width)
    page.goto(Path(drawn).as_uri())
    assert page.locator("svg text").count() > 500
    assert page.locator("line[stroke-width='2.5']").count() == 5 * len(RANGES)
    assert page.evaluate(OVERLAPS) == []
    for place in page.evaluate(SLANTED).values():
        assert (
            np.diff(np.sort(place)).min() * np.sin(np.pi / 4) >= 12 - 1e-6
        )  # between their lines, the size of letters


WRITTEN = """() => {
  window.texts = new Map();
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...place) {
    window.texts.set(this.canvas.className, []);
    clearRect.apply(this, place);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const wide = this.measureText(text).width;
    window.texts.get(this.canvas.className)?.push({ text, left: x, right: x + wide, y });
    fillText.call(this, text, x, y);
  };
}"""
"""Notes every text that is written on a canvas since it was cleared."""
TOUCHING = """() => {
  const texts = window.texts.get("timeline-lanes");
  const found = [];
  texts.forEach((a, place) => texts.slice(place + 1).forEach((b) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    if (a.text && b.text && across > -1 && Math.abs(a.y - b.y) < 11) found.push(`${a.text} | ${b.text}`);
  }));
  return { found, axis: texts.filter((item) => item.y < 40), widest: document.body.clientWidth };
}"""
DAY = 86_400.0
SPANS = [
    (0.0, 100.0),
    (0.0, 0.5),
    (41.0003, 41.0004),
    (0.0, 12 * DAY),
    (0.0, 400 * DAY),
    (DAY - 40, DAY + 40),
    (DAY - 0.002, DAY + 0.002),
    (123_456.123, 123_456.124),
]


def long_timeline(clock):
    """A recording of 400 days with a long name in every place, and a signal of large values."""
    return lanes.timeline(
        "walk",
        (0.0, 400 * DAY),
        clock,
        [LONG.format("label")],
        [
            lanes.lane("truth", "truth", "labels", (np.array([0.0]), np.array([DAY]), np.array([0]))),
            lanes.lane(
                LONG.format("returned"), LONG.format(0), "labels", (np.array([0.0]), np.array([DAY]), np.array([0]))
            ),
        ],
        [],
        [
            {
                "name": LONG.format("signal"),
                "unit": "counts per second",
                "start": 0.0,
                "step": DAY,
                "low": np.full(400, -1.234567e12, dtype=np.float32),
                "high": np.full(400, 9.876543e15, dtype=np.float32),
            }
        ],
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("clock", [None, "2012-05-16T23:59:30-08:00"])
def test_texts_of_a_timeline_do_not_overlap(site, width, clock):  # noqa: F811
    page = site(long_timeline(clock), size=width)
    page.evaluate(WRITTEN)
    for span in SPANS:
        page.evaluate("(span) => { window.timeline.show(...span); window.timeline.draw(); }", list(span))
        told = page.evaluate(TOUCHING)
        assert told["found"] == [], span
        assert len([item for item in told["axis"] if item["y"] > 15]) >= (1 if width < 400 else 2), "too few ticks"
        if clock:
            assert any(item["y"] < 15 for item in told["axis"]), "and a date"
