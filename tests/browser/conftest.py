"""A real browser, pages that fail on errors and on requests to other hosts, and a dashboard over runs of all suites."""

import fcntl
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from acceptance.browsing import served

SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}


class Watch:
    """What pages of one context complained about, and whom they asked."""

    def __init__(self, context):
        self.errors, self.hosts = [], set()
        self.expected = ()
        context.on("console", self._console)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def check(self):
        unexpected = [text for text in self.errors if not any(word in text for word in self.expected)]
        assert not unexpected, unexpected
        elsewhere = self.hosts - {"127.0.0.1", "localhost", None, ""}
        assert not elsewhere, f"pages asked {elsewhere}"


def written(page):
    """Return the address once what waits to be written there is: a later and longer timer of the page ends after it."""
    return page.evaluate("new Promise((done) => setTimeout(() => done(window.location.href), 250))")


@pytest.fixture
def opened(chromium):
    """A function that opens a watched page: ``opened(size="narrow", dark=True)``."""
    made = []

    def open_page(size="wide", dark=False, **more):
        context = chromium.new_context(
            viewport=SIZES[size], color_scheme="dark" if dark else "light", reduced_motion="reduce", **more
        )
        watch = Watch(context)
        page = context.new_page()
        page.watch = watch
        made.append((context, watch))
        return page

    yield open_page
    for context, watch in made:
        context.close()
        watch.check()


@pytest.fixture
def page(opened):
    """One watched page, wide and light."""
    return opened()


def gnomon(*arguments, cwd):
    """Give a command of the installed command line."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "gnomon"), *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return done


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of simulated runs of all suites, made once for all workers of a test run."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared
    folder = shared / "dashboard"
    with (shared / "dashboard.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "dashboard.made").exists():
            gnomon("demo", "--quick", "--out", folder, cwd=shared)
            (shared / "dashboard.made").touch()
    return folder


@pytest.fixture(scope="session")
def dashboard(runs):
    """The address of a dashboard over these runs."""
    with served(runs) as server:
        yield server.address
