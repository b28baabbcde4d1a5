"""The timeline in a real browser: level of detail against brute force in this file, and what hands and keys do."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from gnomon.core.table import View
from gnomon.dashboard.wire import encode
from gnomon.suites.events import lanes

from .conftest import written

pytestmark = pytest.mark.browser

OUTCOMES = [
    {"name": str(k), "title": str(k), "rank": rank, "wrong": rank > 0} for k, rank in enumerate((0, 2, 1, 4, 4))
]
ASK = """async ([outcomes, start, end, code, spans, codes]) => {
  const lod = await import("/static/timeline_lod.js");
  const lane = { start: Float64Array.from(start), end: Float64Array.from(end), code: Uint16Array.from(code) };
  const ranked = lod.ranked(lane, outcomes);
  const summed = lod.summed(lane, codes);
  return spans.map(([t0, t1, width]) => {
    const { codes: most, shared } = lod.dominant(summed, t0, t1, width);
    return [Array.from(lod.worst(ranked, t0, t1, width)), Array.from(most), Array.from(shared)];
  });
}"""


def ready(page):
    page.locator("html[data-ready=yes]").wait_for(state="attached")


@pytest.fixture
def site(opened, tmp_path):
    """A function that opens a page with a timeline: ``site(data, query, size=...)``; returns the page."""
    from benchmarks.timeline import site as served

    held = []

    def show(data, query="", **how):
        folder = tmp_path / str(len(held))
        folder.mkdir()
        server = served(Path(folder), View("timeline", "t", "timeline", data))
        address = server.__enter__()
        held.append(server)
        page = opened(**how)
        page.goto(address + query)
        ready(page)
        return page

    yield show
    for server in held:
        server.__exit__(None, None, None)


def timeline(window=(0.0, 100.0), clock=None):
    """Truth, and a system that misses the first span, is late in the second and right in the third."""
    truth = (np.array([10.0, 30.0, 60.0]), np.array([20.0, 50.0, 80.0]), np.array([0, 1, 0]))
    returned = (np.array([32.0, 60.0]), np.array([50.0, 80.0]), np.array([1, 0]))
    errors = (np.array([10.0, 30.0, 32.0, 60.0]), np.array([20.0, 32.0, 50.0, 80.0]), np.array([8, 3, 0, 0]))
    shown = [
        lanes.lane("truth", "truth", "labels", truth),
        lanes.lane("returned", "mine", "labels", returned),
        lanes.lane("errors", "mine", "outcomes", errors),
    ]
    wave = np.sin(np.arange(400) / 9).astype(np.float32)
    signal = {"name": "accel x", "unit": "m/s2", "start": 0.0, "step": 0.25, "low": wave, "high": wave}
    return lanes.timeline("walk", window, clock, ["walking", "running"], shown, [], [signal])


def random_lane(rng, n):
    """Spans in rising time, some of no length, some far apart, and some that abut."""
    gaps = rng.choice([0.0, 1e-3, 1.0, 40.0], n) * rng.random(n)
    sizes = rng.choice([0.0, 1e-4, 0.5, 30.0], n) * rng.random(n)
    start = np.cumsum(gaps + np.append(0.0, sizes[:-1]))
    return start, start + sizes, rng.integers(0, len(OUTCOMES), n)


def brute(start, end, code, t0, t1, width):
    """Return, for every pixel, the worst code, the seconds by code, and the codes that touch it."""
    edges = [t0 + x * (t1 - t0) / width for x in range(width)] + [t1]
    found = []
    for x in range(width):
        low, high, last = edges[x], edges[x + 1], x == width - 1
        after = start <= high if last else start < high
        touching = np.flatnonzero(after & ((end > low) | (start >= low)))
        seconds = np.zeros(len(OUTCOMES))
        for i in touching:
            seconds[code[i]] += max(0.0, min(end[i], high) - max(start[i], low))
        worst = max(((OUTCOMES[code[i]]["rank"], int(code[i])) for i in touching), default=(0, -1))
        found.append((worst[1], seconds, {int(code[i]) for i in touching}))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_every_pixel_shows_the_worst_outcome_and_the_most_time(site, seed):
    rng = np.random.default_rng(seed)
    n = (5, 400, 3000, 3000)[seed]
    start, end, code = random_lane(rng, n)
    whole = (0.0, float(end[-1]) + 1)
    spans = [(*whole, 200), (*whole, 7), (float(start[n // 2]), float(end[-1]), 50)]
    spans += [(low := float(rng.random() * whole[1]), low + float(rng.choice([1e-3, 1.0, 60.0])), 90) for _ in range(5)]
    page = site(timeline())
    arguments = [OUTCOMES, start.tolist(), end.tolist(), code.tolist(), spans, len(OUTCOMES)]
    for span, (worst, most, shared) in zip(spans, page.evaluate(ASK, arguments), strict=True):
        wanted = brute(start, end, code, *span)
        assert worst == [item[0] for item in wanted]
        for x, (_, seconds, touching) in enumerate(wanted):
            if not touching:
                assert most[x] == -1
                continue
            assert seconds[most[x]] >= seconds.max() - 1e-9
            assert most[x] in touching
            pixel = (span[1] - span[0]) / span[2]
            if (np.abs(seconds / pixel - 1e-9) > 1e-8).all():
                assert (shared[x] == 0) == ((seconds > 1e-9 * pixel).sum() > 1)


def test_a_millisecond_in_a_day_is_a_pixel(site):
    """Also at the very end of the day, and without any length."""
    page = site(timeline())
    for moment, size in ((43_200.0004, 1e-3), (86_399.999, 1e-3), (86_400.0, 0.0), (0.0, 0.0)):
        start = sorted([0.0, moment])
        end = [moment, moment + size] if moment else [0.0, 86_400.0]
        code = [0, 3] if moment else [3, 0]
        ((worst, _, _),) = page.evaluate(ASK, [OUTCOMES, start, end, code, [(0.0, 86_400.0, 1000)], len(OUTCOMES)])
        assert worst.count(3) == 1, moment


def test_errors_are_found_forwards_and_backwards_and_listed_by_rank_and_length(site):
    rng = np.random.default_rng(7)
    start, end, code = random_lane(rng, 5000)
    code = np.where(rng.random(5000) < 0.97, 0, code)
    page = site(timeline())
    found = page.evaluate(
        """async ([outcomes, start, end, code]) => {
          const lod = await import("/static/timeline_lod.js");
          const lane = { start: Float64Array.from(start), end: Float64Array.from(end), code: Uint16Array.from(code) };
          const index = lod.ranked(lane, outcomes);
          const [after, before] = [[], []];
          for (let i = lod.wrongFrom(index, 0); i >= 0; i = lod.wrongFrom(index, i + 1)) after.push(i);
          for (let i = lod.wrongUpTo(index, 4999); i >= 0; i = lod.wrongUpTo(index, i - 1)) before.push(i);
          return [after, before, lod.worstSpans(index, outcomes, 10), Array.from(index.counts)];
        }""",
        [OUTCOMES, start.tolist(), end.tolist(), code.tolist()],
    )
    wrong = np.flatnonzero(code > 0).tolist()
    assert found[0] == wrong
    assert found[1] == wrong[::-1]
    order = sorted(wrong, key=lambda i: (-OUTCOMES[code[i]]["rank"], -(end[i] - start[i]), i))
    assert found[2] == order[:10]
    assert found[3] == np.bincount(code, minlength=len(OUTCOMES)).tolist()


def test_envelopes_of_signals_keep_every_extreme(site):
    rng = np.random.default_rng(3)
    low = rng.normal(size=5000).astype(np.float32)
    low[100:200] = np.nan
    high = low + rng.random(5000).astype(np.float32)
    page = site(timeline())
    found = page.evaluate(
        """async ([low, high]) => {
          const lod = await import("/static/timeline_lod.js");
          const values = (side) => Float32Array.from(side, (value) => value ?? NaN);
          const signal = { start: 2, step: 0.01, low: values(low), high: values(high) };
          const found = lod.envelope(signal, 0, 60, 300);
          const plain = (side) => Array.from(side, (value) => (Number.isNaN(value) ? null : value));
          return [found.low, found.high].map(plain);
        }""",
        [[None if np.isnan(v) else float(v) for v in side] for side in (low, high)],
    )
    pixel = np.floor((2 + (np.arange(5000) + 0.5) * 0.01) / 0.2).astype(int)
    for x in range(300):
        own = (pixel == x) & ~np.isnan(low)
        wanted = (float(low[own].min()), float(high[own].max())) if own.any() else (None, None)
        assert (found[0][x], found[1][x]) == wanted


def test_the_answer_of_the_server_is_decoded(site):
    data = timeline()
    page = site(data)
    found = page.evaluate(
        """() => {
          const { data } = window.view;
          const lane = data.lanes[2];
          const kinds = [lane.start, lane.code].map((array) => array.constructor.name);
          const values = [lane.start, lane.code].map((array) => Array.from(array));
          return [data.case, ...kinds, ...values, lane.start.shape, data.signals[0].low.constructor.name];
        }"""
    )
    lane = data["lanes"][2]
    kinds = ("Float64Array", "Uint16Array", "Float32Array")
    assert found == ["walk", *kinds[:2], lane["start"].tolist(), lane["code"].tolist(), [4], kinds[2]]


@pytest.mark.parametrize("cut", [0, 3, 40, -4])
def test_an_answer_that_is_cut_off_is_refused(site, cut):
    page = site(timeline())
    content = encode(View("timeline", "t", "timeline", timeline()))
    said = page.evaluate(
        """async (bytes) => {
          const { decode } = await import("/static/wire.js");
          try { decode(Uint8Array.from(bytes).buffer); } catch (error) { return error.message; }
          return "";
        }""",
        list(content[:cut]),
    )
    assert said.startswith("the answer is damaged")


def status(page):
    return page.locator(".timeline-status").inner_text()


def span(page):
    """Return what part is shown, from the address once it is written."""
    found = parse_qs(urlsplit(written(page)).query)
    return tuple(float(found[name][0]) for name in ("t0", "t1")) if "t0" in found else (0.0, 100.0)


def test_keys_walk_through_errors_and_the_address_keeps_them(site):
    """Hand-worked: the first error is the missed 10 s of walking, the next the late start of running."""
    page = site(timeline())
    canvas = page.locator(".timeline-lanes")
    canvas.focus()
    told = "D deletion, walking, 10 s – 20 s (10 s), mine"
    said = []
    for key in ("n", "n", "n", "p", "p"):
        page.keyboard.press(key)
        said.append(status(page))
    late = "Us underfill at the start, running, 30.0 s – 32.0 s (2 s), mine"
    assert said == [told, late, "No later error.", told, "No earlier error."]
    low, high = span(page)
    assert (low + high) / 2 == pytest.approx(15, abs=5)
    page.reload()
    ready(page)
    assert status(page) == told
    assert span(page) == (low, high)


def test_keys_pan_and_zoom(site):
    page = site(timeline(), "?t0=40&t1=60")
    page.locator(".timeline-lanes").focus()
    page.keyboard.press("ArrowRight")
    assert span(page) == pytest.approx((42.5, 62.5))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    low, high = span(page)
    assert (high - low, (low + high) / 2) == pytest.approx((20 / 1.5, 50))
    page.keyboard.press("-")
    page.keyboard.press("0")
    assert span(page) == (0.0, 100.0)


def test_the_wheel_zooms_where_the_pointer_is_and_dragging_pans(site):
    page = site(timeline())
    box = page.locator(".timeline-lanes").bounding_box()
    gutter = page.evaluate(
        """async () => {
          const { laid } = await import("/static/timeline_layout.js");
          return laid(window.view.data, new Set(), document.querySelector(".timeline-view").clientWidth).box.x;
        }"""
    )
    x = box["x"] + gutter + (box["width"] - gutter) * 0.25
    page.mouse.move(x, box["y"] + 80)
    page.locator(".timeline-lanes").focus()
    page.mouse.wheel(0, -300)
    low, high = span(page)
    assert high - low < 100
    assert low + 0.25 * (high - low) == pytest.approx(25, abs=0.2)
    page.mouse.down()
    page.mouse.move(x - (box["width"] - gutter) * 0.1, box["y"] + 80, steps=4)
    page.mouse.up()
    moved = span(page)
    assert moved[0] - low == pytest.approx(0.1 * (high - low), rel=0.1)
    assert moved[1] - moved[0] == pytest.approx(high - low)


def test_two_fingers_zoom_and_one_pans(site):
    """Hand-worked: fingers that move twice as far apart show half as much."""
    page = site(timeline(), "?t0=20&t1=80", size="narrow", has_touch=True)
    box = page.locator(".timeline-lanes").bounding_box()
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": box["x"] + x, "y": box["y"] + 60, "id": k} for k, x in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    middle = box["width"] / 2
    touch("touchStart", middle - 40, middle + 40)
    for wide in (50, 60, 70, 80):
        touch("touchMove", middle - wide, middle + wide)
    touch("touchEnd")
    low, high = span(page)
    assert (high - low, (low + high) / 2) == pytest.approx((30, 50), rel=0.1)
    touch("touchStart", middle)
    for moved in (20, 40, 60):
        touch("touchMove", middle - moved)
    touch("touchEnd")
    later = span(page)
    assert later[1] - later[0] == pytest.approx(high - low)
    assert later[0] > low


def test_a_click_on_an_error_goes_to_it(site):
    page = site(timeline())
    page.locator(".timeline-lanes").click(position=spot(page, 2, 31.0))
    assert status(page).startswith("Us underfill at the start, running, 30.0 s – 32.0 s")


def test_the_list_of_errors_has_the_worst_first_and_goes_to_them(site):
    page = site(timeline())
    rows = page.locator(".timeline-errors li button")
    rows.first.wait_for()
    assert [text.split()[0] for text in rows.all_inner_texts()] == ["D", "Us"]
    rows.nth(1).click()
    assert status(page).startswith("Us underfill at the start")
    assert rows.nth(1).get_attribute("aria-pressed") == "true"


def test_groups_are_hidden_and_the_address_keeps_it(site):
    page = site(timeline())
    before = page.locator(".timeline-lanes").bounding_box()["height"]
    page.get_by_label("mine", exact=True).uncheck()
    assert "hide=1" in written(page)
    page.reload()
    ready(page)
    assert page.locator(".timeline-lanes").bounding_box()["height"] < before
    assert not page.get_by_label("mine", exact=True).is_checked()


def test_the_strip_brushes(site):
    page = site(timeline())
    box = page.locator(".timeline-strip").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 20, steps=4)
    page.mouse.up()
    assert span(page) == pytest.approx((20, 40), abs=0.5)


def zoned():
    """The timeline with a lane of zones."""
    data = timeline()
    zones = (np.array([0.0, 50.0]), np.array([50.0, 100.0]), np.array([0, 1]))
    return {**data, "zones": ["training", "test"], "lanes": [*data["lanes"], lanes.lane("part", "", "zones", zones)]}


def spot(page, row, t):
    """Return where a moment between 0 and 100 s is on a row, in pixels of the canvas."""
    return page.evaluate(
        """async ([row, t]) => {
          const { laid } = await import("/static/timeline_layout.js");
          const width = document.querySelector(".timeline-view").clientWidth;
          const { rows, box } = laid(window.view.data, new Set(), width);
          return { x: box.x + (box.width * t) / 100, y: rows[row].y + rows[row].height / 2 };
        }""",
        [row, t],
    )


POINTED = [
    (0, 15.0, "walking, 10 s – 20 s (10 s), truth", "grab"),
    (0, 25.0, "nothing, truth", "grab"),
    (1, 40.0, "running, 32 s – 50 s (18 s), mine: returned", "grab"),
    (1, 15.0, "nothing, mine: returned", "grab"),
    (2, 15.0, "D deletion, walking, 10 s – 20 s (10 s), mine", "pointer"),
    (2, 40.0, "TP right, running, 32 s – 50 s (18 s), mine", "grab"),
    (3, 75.0, "test, 50 s – 1:40 (50 s), part", "grab"),
    (4, 40.0, "accel x", "grab"),
]
"""Rows (truth, returned, errors, zones, signal), a moment, what is said of it, and the cursor; by hand."""


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_pointing_at_a_segment_of_every_kind_says_what_it_is(site, size):
    page = site(zoned(), size=size)
    canvas = page.locator(".timeline-lanes")
    for row, t, said, cursor in POINTED:
        canvas.hover(position=spot(page, row, t))
        assert said in status(page)
        assert canvas.evaluate("canvas => canvas.style.cursor") == cursor
        canvas.click(position=spot(page, row, t))
        assert said in status(page)


def test_pointing_uses_the_clock(site):
    page = site(timeline(clock="2012-05-16T09:00:00-08:00"))
    page.locator(".timeline-lanes").hover(position=spot(page, 0, 15.0))
    assert status(page) == "walking, 09:00:10 – 09:00:20 (10 s), truth"


@pytest.mark.parametrize("size", ["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_and_draws_at_every_size_in_both_themes(site, size, dark):
    """The canvas holds the colour of errors, and the page never scrolls sideways."""
    page = site(timeline(), size=size, dark=dark)
    wide, window = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= window
    found = page.evaluate(
        """() => {
          const canvas = document.querySelector(".timeline-lanes");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const colour = getComputedStyle(document.documentElement).getPropertyValue("--missed").trim();
          const wanted = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
          let count = 0;
          for (let i = 0; i < data.length; i += 4) if (wanted.every((v, k) => Math.abs(v - data[i + k]) < 3)) count++;
          return count;
        }"""
    )
    assert found > 50


def test_a_recording_without_anything_is_shown(site):
    empty = (np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    data = lanes.timeline("nothing", (0.0, 1.0), None, [], [lanes.lane("truth", "truth", "labels", empty)], [])
    page = site(data)
    assert page.locator(".timeline-lanes").is_visible()
    assert page.locator(".timeline-errors").count() == 0


def test_hostile_names_are_text(site):
    data = timeline()
    bad = '<img src=x onerror="window.stolen=1">'
    data["labels"][0] = bad
    data["lanes"][1]["group"] = data["lanes"][2]["group"] = bad
    data["outcomes"][8]["title"] = bad
    page = site(data)
    page.locator(".timeline-errors li button").first.click()
    assert bad in status(page)
    assert page.evaluate("window.stolen") is None
    assert page.locator("img").count() == 0
