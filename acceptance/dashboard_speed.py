"""1,000 runs are listed in under 1 s, and the first view of a dashboard is there in under 2 s."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from acceptance.browsing import chromium, served
from acceptance.list_thousand_runs import RUNS, populate
from acceptance.support import Promise


def shown(page: Any, address: str) -> float:
    """Return the seconds from asking for a page to its being loaded and laid out."""
    start = time.perf_counter()
    page.goto(address, wait_until="load")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.perf_counter() - start


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)
        populate(folder)
        page = browser.new_page()
        page.goto("data:text/html,<p>a browser that is already open</p>")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        begun = time.perf_counter()
        with served(folder) as server:
            started = time.perf_counter() - begun
            first = shown(page, server.address)
            print(f"   the server was ready after {started:.2f} s, its first page after {first:.2f} s more")
            rows = page.locator("table.runs tbody tr").count()
            times = [shown(page, server.address) for _ in range(5)]
            search = page.locator("#search")
            search.fill("system0123")
            page.locator(".count", has_text="1 of").wait_for()
            found = page.locator("table.runs tbody tr").count()
        promise.figure("runs listed", rows, str(RUNS), rows == RUNS)
        promise.at_most("seconds from the address to the first list, laid out (nothing read before)", first, 1.0)
        promise.at_most("seconds to list them again, laid out, median of 5", statistics.median(times), 1.0)
        promise.figure("found while typing", found, "1", found == 1)
        promise.at_most("seconds from the command to its first view", started + first, 2.0)
        page.close()
    promise.close()


if __name__ == "__main__":
    main()
