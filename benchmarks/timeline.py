"""Frames of the timeline in a headless Chromium: a day with a million spans in each of three lanes, panned and zoomed.

There is no peer. ``ours_s`` is the median time from frame to frame over 300 frames in which the view moves; ``p95_s``
its 95th percentile; ``draw_s`` the median time of the drawing itself; ``first_s`` the time from asking for the page to
the first drawing, with the data on the way. The page is a folder served on loopback; it holds no code but the
dashboard's.
"""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import Context, Row

import gnomon.dashboard
import gnomon.report
from gnomon.core.table import View
from gnomon.dashboard.wire import encode
from gnomon.suites.events import lanes

STATIC = Path(gnomon.dashboard.__file__).parent / "static"
STYLE = Path(gnomon.report.__file__).parent / "assets" / "style.css"
DAY_S = 86_400.0
FRAMES = 300
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>timeline</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; \
img-src 'self' data:; connect-src 'self'">
<link rel="icon" href="data:,"><link rel="stylesheet" href="style.css"></head>
<body class="page"><main id="host"></main><script type="module" src="page.js"></script></body></html>
"""
SCRIPT = """import { addressed } from "./static/shell.js";
import { mount } from "./static/timeline.js";
import { decode } from "./static/wire.js";

const answer = await fetch("view.bin");
const view = decode(await answer.arrayBuffer());
window.view = view;
window.timeline = mount(document.getElementById("host"), view.data, addressed());
window.timeline.draw();
window.firstDraw = performance.now();
document.documentElement.dataset.ready = "yes";
"""
MOVES = """async (frames) => {
  const { view, timeline } = window;
  const [low, high] = view.data.window;
  const gaps = [];
  const draws = [];
  let before = null;
  for (let k = 0; k < frames; k++) {
    const now = await new Promise(requestAnimationFrame);
    if (before !== null) gaps.push(now - before);
    before = now;
    const wide = (high - low) * 10 ** (-2.5 * (1 - Math.cos((4 * Math.PI * k) / frames)));
    const from = low + (high - low - wide) * (0.5 - 0.5 * Math.cos((6 * Math.PI * k) / frames));
    timeline.show(from, from + wide);
    const start = performance.now();
    timeline.draw();
    draws.push(performance.now() - start);
  }
  return { gaps, draws };
}"""


def rows(context: Context) -> Iterator[Row]:
    from acceptance.browsing import FLAGS, program

    path = program()
    if path is None:
        print("timeline: left out, no Chromium here: install it, or name it in GNOMON_CHROMIUM", file=sys.stderr)
        return
    n = 100_000 if context.quick else 1_000_000
    found = measured(context.folder, day(n), path, FLAGS)
    yield Row("timeline", n, found.pop("frame_s"), None, None, found)


def measured(folder: Path, view: View, path: str, flags: tuple[str, ...]) -> dict[str, float]:
    """Return the seconds of frames, drawings and the first view."""
    from playwright.sync_api import sync_playwright

    with site(folder, view) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(flags))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.locator("html[data-ready=yes]").wait_for(state="attached", timeout=60_000)
        first = page.evaluate("window.firstDraw")
        page.wait_for_timeout(500)
        found: dict[str, list[float]] = page.evaluate(MOVES, FRAMES)
        browser.close()
    gaps, draws = (np.array(found[name]) / 1e3 for name in ("gaps", "draws"))
    return {
        "frame_s": float(np.median(gaps)),
        "p95_s": float(np.percentile(gaps, 95)),
        "draw_s": float(np.median(draws)),
        "draw95_s": float(np.percentile(draws, 95)),
        "first_s": float(first) / 1e3,
    }


def day(n: int, seed: int = 0) -> View:
    """Return a day of ``n`` spans in truth and in returns, and about as many outcomes."""
    rng = np.random.default_rng(seed)
    labels = ["walking", "running", "climbing", "sitting", "lying"]
    tracks = []
    for _ in range(2):
        edges = np.sort(rng.random(2 * n)) * DAY_S
        tracks.append((edges[::2], edges[1::2], rng.integers(0, len(labels), n)))
    edges = np.sort(rng.random(n + 1)) * DAY_S
    wrong = rng.integers(0, len(lanes.SEVERITY), n)
    shown = [
        lanes.lane("truth", "truth", "labels", tracks[0]),
        lanes.lane("returned", "system", "labels", tracks[1]),
        lanes.lane("errors", "system", "outcomes", (edges[:-1], edges[1:], wrong)),
    ]
    data = lanes.timeline("day", (0.0, DAY_S), None, labels, shown, [])
    return View("timeline", "day", "timeline", data)


@contextmanager
def site(folder: Path, view: View) -> Iterator[str]:
    """Serve a page that shows one timeline; return its address."""
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "page.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "style.css").write_bytes(STYLE.read_bytes())
    (folder / "view.bin").write_bytes(encode(view))
    if not (folder / "static").exists():
        (folder / "static").symlink_to(STATIC)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        del format, arguments


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as held:
        for row in rows(Context(Path(), Path(held))):
            print(json.dumps(row.as_dict()))
