"""A watched page, and a dashboard over runs of all suites."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance.browsing import served


def written(page):
    """Return the address once what waits to be written there is: a later and longer timer of the page ends after it."""
    return page.evaluate("new Promise((done) => setTimeout(() => done(window.location.href), 250))")


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
