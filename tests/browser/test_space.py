"""The views in three dimensions in a browser: what is drawn where, linked cameras, keys, state in the address."""

import contextlib
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

import gnomon.dashboard
import gnomon.report
from gnomon.core.table import View
from gnomon.dashboard import wire

from .conftest import written

pytestmark = pytest.mark.browser

STATIC = Path(gnomon.dashboard.__file__).parent / "static"
STYLE = Path(gnomon.report.__file__).parent / "assets" / "style.css"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'"
)
PAGE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>a view</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">
<body><div class="page"><div id="host"></div></div><script type="module" src="/boot.js"></script></body></html>"""
BOOT = b"""import { decode } from "/static/wire.js";
const query = () => new URL(location.href).searchParams;
const state = {
  get: (key, fallback = null) => query().get(key) ?? fallback,
  set: (values) => {
    const url = new URL(location.href);
    for (const [key, value] of Object.entries(values)) url.searchParams.set(key, value);
    history.replaceState(null, "", url);
  },
};
const view = decode(await (await fetch("/view")).arrayBuffer());
const { mount } = await import(`/static/${view.kind}.js`);
window.mounted = mount(document.getElementById("host"), view.data, state);
"""
READY = "() => window.mounted && document.querySelector('.space-canvas').clientHeight > 200"


@contextlib.contextmanager
def serving(view):
    """Serve a page that mounts a view, under the policy of the dashboard."""
    files = {"/": PAGE, "/boot.js": BOOT, "/view": wire.encode(view), "/style.css": STYLE.read_bytes()}
    files |= {f"/static/{path.name}": path.read_bytes() for path in STATIC.iterdir() if path.is_file()}
    kinds = {".js": "text/javascript", ".css": "text/css", "": "application/octet-stream"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_GET(self):
            path = self.path.split("?")[0]
            self.send_response(200 if path in files else 204)
            if path in files:
                self.send_header("Content-Type", "text/html" if path == "/" else kinds[Path(path).suffix])
                self.send_header("Content-Length", str(len(files[path])))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(files.get(path, b""))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def cube(low, high):
    (a, b, c), (x, y, z) = low, high
    ring = [(a, b), (x, b), (x, y), (a, y)]
    return np.array([(*p, c) for p in ring] + [(*p, z) for p in ring], dtype=np.float32)


def scene():
    """Two scans and two systems: `one` matches the true box, `two` misses it and finds a false one."""
    rng = np.random.default_rng(0)
    clouds = []
    for name, right, missed, false, true in (("reference", 2, 4, 6, 8), ("comparison", 1, 3, 5, 7)):
        points = rng.uniform(-2, 2, (3_000, 3)).astype(np.float32)
        code = np.where(np.arange(3_000) < 50, true, 0).astype(np.uint8)
        by = {
            "one": np.where(code > 0, right, 0).astype(np.uint8),
            "two": np.where(code > 0, missed, np.where(np.arange(3_000) < 70, false, 0)).astype(np.uint8),
        }
        clouds.append({"name": name, "points": points, "code": code, "by_system": by})
    names = [
        "unchanged",
        *(f"{w} {c}" for w in ("right", "missed", "false") for c in ("Add", "Remove")),
        "Add",
        "Remove",
    ]
    roles = ["plain", "right", "right", "missed", "missed", "false", "false", "right", "right"]
    fate = {"one": {"status": "matched", "iou": 0.5}, "two": {"status": "missed", "iou": None}}
    known = {"cloud": "comparison", "class": "Add"}
    boxes = [
        {**known, "system": "", "status": "missed", "iou": None, "score": None, "by_system": fate}
        | {"corners": cube((0, 0, 0), (1, 1, 1))},
        {
            **known,
            "system": "one",
            "status": "matched",
            "iou": 0.5,
            "score": 0.9,
            "corners": cube((0, 0, 0), (1, 1, 0.5)),
        },
        {
            **known,
            "system": "two",
            "status": "false",
            "iou": None,
            "score": 0.2,
            "corners": cube((-2, -2, 0), (-1, -1, 1)),
        },
    ]
    data = {
        "case": "001-3",
        "clouds": clouds,
        "codes": [{"name": name, "role": role} for name, role in zip(names, roles, strict=True)],
        "systems": ["one", "two"],
        "boxes": boxes,
        "facts": {"category": "Add", "one: F1 of boxes": 1.0, "two: F1 of boxes": 0.0},
    }
    return View("scene", "a scene", "scene", data)


def motion():
    """Ten frames of three joints; the fourth is the worst of `a`, the last was dropped by it."""
    truth = np.zeros((10, 3, 3), dtype=np.float32) + np.array([[0, 0, 3], [0, -0.5, 3], [0, -1, 3]], dtype=np.float32)
    errors = {"a": np.array([10, 20, 30, 90, 30, 20, 10, 40, 10, np.nan]), "b": np.full(10, 25.0)}
    predictions = []
    for name, error in errors.items():
        joints = truth + (error[:, None, None] / 1000 * [1, 0, 0]).astype(np.float32)
        each = np.repeat(error[:, None], 3, axis=1).astype(np.float32)
        valid = (~np.isnan(error)).astype(np.uint8)
        predictions.append({"system": name, "joints": joints, "valid": valid, "error": error.astype(np.float32)})
        predictions[-1]["joint_error"] = each
    data = {
        "case": "p1_a1",
        "joints": ["pelvis", "spine", "head"],
        "bones": [[1, 0], [2, 1]],
        "up": [0, -1, 0],
        "frames": np.arange(100, 110, dtype=np.int32),
        "truth": truth,
        "truth_valid": np.ones((10, 3), dtype=np.uint8),
        "predictions": predictions,
        "worst": 3,
        "unit": "m",
    }
    return View("motion", "a motion", "motion", data)


@pytest.fixture(scope="module")
def scene_address():
    with serving(scene()) as address:
        yield address


@pytest.fixture(scope="module")
def motion_address():
    with serving(motion()) as address:
        yield address


def opens(page, address, query=""):
    page.goto(address + query)
    page.wait_for_function(READY)
    page.wait_for_timeout(100)
    return page


def camera(page):
    return page.evaluate("() => (mounted.scene ?? mounted.motion).camera.text()")


def legend(page):
    return [item.strip() for item in page.locator(".space-legend li").all_inner_texts()]


def test_every_pixel_shows_the_nearest_point(page, scene_address):
    """The depth buffer against brute force: numpy projects all points and takes the nearest of each pixel."""
    opens(page, scene_address)
    points = np.random.default_rng(4).uniform(-1.5, 1.5, (4_000, 3)).astype(np.float32)
    found = page.evaluate(
        """([xyz]) => {
          const stage = mounted.scene.stages[0];
          const look = { colour: [0, 0, 0], glyph: "dot", radius: 0.4, fade: 1, hidden: false };
          stage.show(Float32Array.from(xyz), new Uint8Array(xyz.length / 3), [look]);
          stage.draw();
          const { right, over, ahead, eye } = stage.view;
          const size = [stage.width, stage.height];
          return { index: [...stage.index], right, over, ahead, eye, focal: stage.focal, size };
        }""",
        [points.ravel().tolist()],
    )
    width, height = found["size"]
    away = points.astype(np.float64) - found["eye"]
    depth = away @ found["ahead"]
    x = (width / 2 + found["focal"] / depth * (away @ found["right"])).astype(int)
    y = (height / 2 - found["focal"] / depth * (away @ found["over"])).astype(int)
    expected = np.full(width * height, -1)
    for index in np.argsort(-depth):
        if 0 <= x[index] < width and 0 <= y[index] < height:
            expected[y[index] * width + x[index]] = index
    shown = np.array(found["index"])
    assert (shown >= 0).sum() > 2_000
    assert (shown != expected).mean() < 1e-4  # a point on the edge of a pixel may round to either side


def test_the_axes_of_the_picture_are_orthonormal_and_up_is_up(page, scene_address):
    opens(page, scene_address)
    turned = page.evaluate(
        """async () => {
          const { Camera } = await import("/static/space_camera.js");
          return [[0, 0, 1], [0, -1, 0], [1, 0, 0], [1, 2, 3]].map((up) => {
            const camera = new Camera(up);
            camera.orbit(0.7, -0.4);
            return { ...camera.frame(), up: camera.up };
          });
        }"""
    )
    for frame in turned:
        axes = np.array([frame["right"], frame["over"], frame["ahead"]])
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        assert np.dot(frame["over"], frame["up"]) > 0.5
        assert abs(np.dot(frame["right"], frame["up"])) < 1e-12
        np.testing.assert_allclose(np.cross(frame["right"], frame["over"]), -np.array(frame["ahead"]), atol=1e-12)


def test_both_scans_are_drawn_with_boxes_and_their_fate(page, scene_address):
    opens(page, scene_address)
    assert page.locator("figure canvas").count() == 2
    colours = page.evaluate(
        """() => [...document.querySelectorAll('figure canvas')].map((canvas) => {
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )
    assert min(colours) > 20
    rows = page.locator(".space-boxes button")
    assert [row.split("\n")[1:3] for row in rows.all_inner_texts()] == [
        ["true Add", "matched"],
        ["predicted Add", "matched"],
    ]
    assert "right Add (50)" in legend(page)
    page.select_option("select", "two")
    assert "missed Add (50)" in legend(page)
    assert "false Remove (20)" in legend(page)
    assert [row.split("\n")[1:3] for row in rows.all_inner_texts()] == [
        ["true Add", "missed"],
        ["predicted Add", "false"],
    ]
    facts = page.locator(".space-facts").inner_text()
    assert "one: " not in facts
    assert "F1 of boxes" in facts
    assert "system=two" in written(page)


def test_a_box_is_flown_to_and_a_reload_shows_the_same(page, scene_address):
    opens(page, scene_address, "?system=two")
    before = camera(page)
    page.locator(".space-boxes button").nth(1).click()
    after = camera(page)
    assert after != before
    target = [float(value) for value in after.split(",")][3:]
    np.testing.assert_allclose(target, [-1.5, -1.5, 0.5], atol=1e-3)
    assert "box of two: false" in page.locator(".space-status").inner_text()
    assert "1.00 × 1.00 × 1.00 m" in page.locator(".space-status").inner_text()
    page.get_by_label("only errors").check()
    address = written(page)
    assert "box=2" in address
    assert "errors=1" in address
    opens(page, address)
    assert camera(page) == after
    assert page.locator('.space-boxes [aria-pressed="true"]').count() == 1
    assert page.get_by_label("only errors").is_checked()


def test_keys_turn_zoom_reset_and_choose(page, scene_address):
    opens(page, scene_address)
    home = [float(value) for value in camera(page).split(",")]
    page.locator("figure canvas").first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("+")
    turned = [float(value) for value in camera(page).split(",")]
    assert turned[0] == pytest.approx(home[0] - 0.1, abs=2e-3)
    assert turned[1] == pytest.approx(home[1] - 0.1, abs=2e-3)
    assert turned[2] == pytest.approx(home[2] * 0.87, abs=2e-3)
    page.keyboard.press("Shift+ArrowRight")
    assert [float(value) for value in camera(page).split(",")][3:] != turned[3:]
    page.keyboard.press("0")
    assert [float(value) for value in camera(page).split(",")] == home
    page.keyboard.press("n")
    assert page.evaluate("mounted.scene.chosen") == 0
    page.keyboard.press("p")
    assert page.evaluate("mounted.scene.chosen") == 1


def test_dragging_turns_both_scans_and_pointing_tells(page, scene_address):
    opens(page, scene_address)
    box = page.locator("figure canvas").first.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = camera(page)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1] + 20, steps=4)
    page.mouse.up()
    assert camera(page) != before
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(100)
    assert page.evaluate("mounted.scene.stages[0].camera === mounted.scene.stages[1].camera")
    spot = page.evaluate(
        """() => {
          const stage = mounted.scene.stages[0];
          const at = stage.index.findIndex((value, i) => value >= 0 && i > stage.index.length / 2);
          const [x, y] = [at % stage.width, Math.floor(at / stage.width)];
          return [(x + 0.5) / stage.dpr, (y + 0.5) / stage.dpr, stage.index[at]];
        }"""
    )
    page.mouse.move(box["x"] + 1 + spot[0], box["y"] + 1 + spot[1])
    place = scene().data["clouds"][0]["points"][spot[2]]
    assert f"x {place[0]:.2f}, y {place[1]:.2f}, z {place[2]:.2f} m" in page.locator(".space-status").inner_text()


@pytest.mark.parametrize("dark", [False, True])
def test_panes_are_stacked_on_a_narrow_page_in_both_themes(opened, scene_address, dark):
    page = opened("narrow", dark=dark)
    opens(page, scene_address)
    tops = [canvas.bounding_box()["y"] for canvas in page.locator("figure canvas").all()]
    assert tops[1] > tops[0] + 200
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    corner = page.evaluate(
        "[...document.querySelector('figure canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
    )
    assert (sum(corner[:3]) < 200) is dark


def test_a_motion_begins_at_its_worst_frame_and_goes_on_from_there(page, motion_address):
    opens(page, motion_address)
    status = page.locator(".space-status")
    assert status.inner_text() == "frame 103 (4 of 10): a 90.0 mm, b 25.0 mm"
    assert [row.split("\n")[-1] for row in page.locator(".space-joints li").all_inner_texts()] == ["90 mm"] * 3
    page.get_by_role("button", name="one frame on").click()
    assert status.inner_text().startswith("frame 104 (5 of 10): a 30.0 mm")
    page.locator(".space-scrub").focus()
    page.keyboard.press("End")
    assert status.inner_text() == "frame 109 (10 of 10): a dropped, b 25.0 mm"
    page.keyboard.press("n")
    assert status.inner_text().startswith("frame 103 ")
    page.keyboard.press("n")
    assert status.inner_text().startswith("frame 107 ")
    assert page.locator(".space-scrub").get_attribute("aria-valuenow") == "8"
    assert "frame=7" in written(page)


def test_space_plays_and_nothing_plays_by_itself(page, motion_address):
    opens(page, motion_address)
    assert page.evaluate("mounted.motion.playing") is False
    page.locator("figure canvas").focus()
    page.keyboard.press(" ")
    page.wait_for_function("() => mounted.motion.frame !== 3")
    assert page.get_by_role("button", name="Pause").count() == 1
    page.keyboard.press(" ")
    assert page.evaluate("mounted.motion.playing") is False
    opens(page, motion_address, "?play=1")
    assert page.evaluate("mounted.motion.playing") is False  # the browser asks for reduced motion


def test_a_click_on_the_bar_of_time_goes_there(page, motion_address):
    opens(page, motion_address)
    box = page.locator(".space-scrub").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 10, box["y"] + 40)
    assert page.evaluate("mounted.motion.frame") == 9
    page.mouse.click(box["x"] + 10, box["y"] + 40)
    assert page.evaluate("mounted.motion.frame") == 0


def test_switches_and_frame_are_in_the_address(page, motion_address):
    opens(page, motion_address)
    page.get_by_label("error lines").uncheck()
    page.get_by_label("b", exact=True).uncheck()
    page.locator("select").nth(1).select_option("1")
    page.get_by_role("button", name="one frame back").click()
    address = written(page)
    opens(page, address)
    assert not page.get_by_label("error lines").is_checked()
    assert not page.get_by_label("b", exact=True).is_checked()
    assert page.evaluate("mounted.motion.frame") == 2
    assert page.locator("h3").inner_text() == "Error of each joint, b"


def test_bodies_are_drawn_where_they_are(page, motion_address):
    """A joint of the truth is ink in the middle of its disc; a hidden system leaves no colour of its own."""
    page.watch.expected = ("Multiple readback",)  # the test itself reads pixels back, twice
    opens(page, motion_address, "?frame=0&links=0")
    probe = """() => {
      const stage = mounted.motion.stage;
      stage.draw();
      const [x, y] = stage.project([0, -0.5, 3]);
      const data = stage.context.getImageData(0, 0, stage.width, stage.height).data;
      const at = 4 * (Math.round(y) * stage.width + Math.round(x));
      const [r, g, b] = mounted.motion.colours.c1;
      let own = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) own += 1;
      return { ink: [...data.slice(at, at + 3)], expected: mounted.motion.colours.ink, own };
    }"""
    both = page.evaluate(probe)
    assert both["own"] > 0
    page.get_by_label("a", exact=True).uncheck()
    page.get_by_label("b", exact=True).uncheck()
    alone = page.evaluate(probe)
    assert alone["own"] == 0
    assert alone["ink"] == alone["expected"]


def test_the_worst_frames_are_apart(page, motion_address):
    """Brute force over random errors: each next one is the largest that is not near to those before."""
    opens(page, motion_address)
    rng = np.random.default_rng(1)
    for n in (1, 5, 80, 300):
        errors = rng.random(n).round(3)
        found = page.evaluate(
            "async ([e]) => (await import('/static/motion.js')).peaks(Float64Array.from(e))", [errors.tolist()]
        )
        apart, expected, left = max(2, n // 20), [], list(range(n))
        while left and len(expected) < 12:
            best = min(left, key=lambda i: (-errors[i], i))
            expected.append(best)
            left = [i for i in left if abs(i - best) >= apart]
        assert found == expected


def test_a_narrow_motion_does_not_scroll_sideways(opened, motion_address):
    page = opened("narrow", dark=True)
    opens(page, motion_address)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("figure canvas").bounding_box()["width"] > 300
    page.evaluate("mounted.destroy()")
    assert page.locator("canvas").count() == 0
