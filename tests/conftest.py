"""Settings and builders that several test files share."""

import atexit
import dataclasses
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import settings

# Before anything imports numba: kernels are compiled once for all test processes.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".numba_cache"))

if "XDG_STATE_HOME" not in os.environ:  # tests sign with a key of their own, not with that of whoever runs them
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="gnomon-tests-")
    atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")

TOGETHER = ("tests/suites/episode/",)
"""Folders whose files share what takes long to make: one process makes it, and has all of their tests."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile``, tests of a file stay together, and those of some folders do."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return Scheduling(config, log)


SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
"""Sizes of a browser's window by name."""


class Watch:
    """Records what the pages of one browser context complain about, and which hosts they ask."""

    def __init__(self, context):
        self.errors, self.hosts = [], set()
        self.expected = ()
        """Parts of complaints that a test provokes."""
        context.on("console", self._console)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def check(self):
        """Fail on any uncaught error, console error or warning that is not expected, and on any other host."""
        unexpected = [text for text in self.errors if not any(word in text for word in self.expected)]
        assert not unexpected, unexpected
        elsewhere = self.hosts - {"127.0.0.1", "localhost", None, ""}
        assert not elsewhere, f"pages asked {elsewhere}"


@pytest.fixture(scope="session")
def chromium_process():
    """A headless Chromium: one for all tests of a process, as Playwright drives one at a time.

    Tests open pages by ``opened``, which watches them.
    """
    from acceptance.browsing import FLAGS, program

    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra test)")
    path = program()
    if path is None:
        pytest.skip("no Chromium on this machine: install it, or name it in GNOMON_CHROMIUM")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium_process):
    """A function that opens a page: ``opened("narrow", dark=True)`` or ``opened(360)``, the width in pixels.

    Every browser test opens its pages here: the test fails where a page throws an error that nothing catches, writes an
    error or a warning to the console, or asks another host for anything.
    """
    made = []

    def open_page(size="wide", dark=False, **more):
        viewport = SIZES[size] if isinstance(size, str) else {"width": size, "height": 900}
        context = chromium_process.new_context(
            viewport=viewport, color_scheme="dark" if dark else "light", reduced_motion="reduce", **more
        )
        watch = Watch(context)
        page = context.new_page()
        page.watch = watch
        made.append((context, watch))
        return page

    yield open_page
    for context, _ in made:
        context.close()
    for _, watch in made:
        watch.check()


@pytest.fixture(scope="module")
def in_this_process():
    """Have the systems of a test file run in this process, unless an executor or limits are given.

    By default, systems that are not gnomon's own are imported in another process first, and run in worker processes:
    that takes seconds, and is tested in tests/engine/test_foreign_systems.py and wherever a process ends.
    """
    from gnomon.core import loading
    from gnomon.engine import job

    chosen = job.chosen

    def spared(plan, executor, workers):
        found = chosen(plan, executor, workers)
        limited = any(node.limits.seconds is not None or node.limits.memory_bytes is not None for node in plan)
        spare = executor == "auto" and any(node.foreign for node in plan) and not limited
        return "inline" if spare else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "chosen", spared)
        patch.setattr(loading, "_check_survived", lambda name, where, what: None)
        # Python takes the compiled file where a source file of the same size was written anew within a second.
        patch.setattr(sys, "dont_write_bytecode", True)
        yield


@pytest.fixture
def web():
    """A web server on loopback whose answers a test chooses."""
    from acceptance.webserver import serving

    pytest.importorskip("aiohttp", reason="aiohttp is not installed (extra cluster)")
    with serving() as found:
        yield found


@pytest.fixture(scope="session")
def count_cases():
    """Tally single labels by plain counting: one list of (truth, prediction or None) per case."""
    import numpy as np

    from gnomon.core.tallies import Tallies
    from gnomon.measures.classification import LAYOUT

    def build(*cases, classes=None):
        labels = sorted({x for case in cases for pair in case for x in pair if x is not None})
        axis = tuple(labels if classes is None else classes)
        rows = {"tp": [], "truth": [], "predicted": []}
        for case in cases:
            hits = Counter(t for t, p in case if t == p)
            truth, predicted = Counter(t for t, _ in case), Counter(p for _, p in case)
            for name, counted in (("tp", hits), ("truth", truth), ("predicted", predicted)):
                rows[name].append([counted[label] for label in axis])
        fields = {name: np.array(row, dtype=np.int64).reshape(len(cases), len(axis)) for name, row in rows.items()}
        return Tallies(LAYOUT, {"class": axis}, {**fields, "n": np.array([len(case) for case in cases])})

    return build


@pytest.fixture(scope="session")
def evaluation(count_cases):
    """A small evaluation: 4 cases of 3 groups, tagged by room, with a confusion ledger and a prediction table."""
    import numpy as np
    import pyarrow as pa

    from gnomon.core.cases import Roster
    from gnomon.core.evidence import Claim, Finding, Need
    from gnomon.core.ledgers import Ledger
    from gnomon.core.protocol import Protocol
    from gnomon.measures.classification import F1, Accuracy, Kappa
    from gnomon.runs.run import Evaluation

    cases = (
        [("sit", "sit"), ("walk", "walk"), ("walk", "sit")],
        [("sit", "sit"), ("sit", "walk")],
        [("walk", "walk"), ("sit", "sit"), ("run", "walk")],
        [("run", "run"), ("walk", "walk"), ("sit", "walk")],
    )
    classes = ("run", "sit", "walk")
    pairs = [(case, t, p) for case, rows in enumerate(cases) for t, p in rows]
    ledger = Ledger(
        np.array([case for case, _, _ in pairs]),
        {
            "truth": np.array([classes.index(t) for _, t, _ in pairs]),
            "predicted": np.array([classes.index(p) for _, _, p in pairs]),
            "count": np.ones(len(pairs), dtype=np.int64),
        },
        {"truth": classes, "predicted": classes},
    )
    return Evaluation(
        protocol=Protocol(
            "labels",
            "1",
            (F1("macro"), Accuracy(), Kappa()),
            slices=("room",),
            claims=(Claim("new-groups", "holds for other people", (Need("groups", 6, "at least 6 groups"),)),),
        ),
        suite="labels",
        system="nearest neighbour",
        roster=Roster(("a/1", "a/2", "b/1", "c/1"), ("a", "a", "b", "c"), {"room": ("hall", "lab", "lab", "lab")}),
        tallies={"classification": count_cases(*cases, classes=classes)},
        data="d" * 64,
        table=pa.table({"id": [str(i) for i in range(len(pairs))], "label": [p for _, _, p in pairs]}),
        ledgers={"confusion": ledger},
        coverage={"rows": {"truth": 11, "scored": 11, "missing": 1, "extra": 0}},
        findings=(Finding("missing-predictions", "warning", "predictions", "1 of 11 is missing", "predict every id"),),
        options={"interval": "jackknife-t"},
        facts={"least_class_groups": 2},
    )


@pytest.fixture(scope="session")
def small_run(evaluation):
    """The small evaluation, scored."""
    from gnomon.inference.intervals import Plan
    from gnomon.runs.provenance import Clock
    from gnomon.runs.run import make

    return make(evaluation, Plan(), Clock(), {"asked": {"out": "runs"}})


@pytest.fixture(scope="session")
def published_run(small_run, tmp_path_factory):
    """The small run as it was published; not to be changed."""
    from gnomon.runs.directory import publish

    return publish(small_run, tmp_path_factory.mktemp("published"))


@pytest.fixture
def stored_run(published_run, tmp_path):
    """The small run in a directory of its own: a copy, since publishing waits for the disk."""
    path = tmp_path / "runs" / published_run.path.name
    shutil.copytree(published_run.path, path)
    return dataclasses.replace(published_run, path=path)
