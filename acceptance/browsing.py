"""A headless browser and a dashboard for scripts and tests; both are stopped by those who started them."""

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 30


def program() -> str | None:
    """Return where Chromium is: ``GNOMON_CHROMIUM``, or the usual names."""
    names = (os.environ.get("GNOMON_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


@contextlib.contextmanager
def chromium() -> Iterator:
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    path = program()
    if path is None:
        raise SystemExit("no Chromium here: install it, or name it in GNOMON_CHROMIUM")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Served:
    """A dashboard that listens."""

    address: str
    process: int

    def memory(self) -> float:
        """Return the most memory that it ever had, in MB."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))

    def descriptors(self) -> int:
        """Return how many files and connections it has open."""
        return len(os.listdir(f"/proc/{self.process}/fd"))


@contextlib.contextmanager
def served(folder: Path, *more: str, descriptors: int | None = None) -> Iterator[Served]:
    """Serve a folder of runs on any free port of loopback; the process may have so many descriptors."""

    def limit() -> None:
        if descriptors is not None:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))

    command = [str(Path(sys.executable).parent / "gnomon"), "serve", "--runs", str(folder), "--port", "0", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(f"the dashboard did not start: {line}")
        yield Served(found[0].rstrip("/"), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()
