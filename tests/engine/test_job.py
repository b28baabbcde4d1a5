"""Plans worked on, inline and by processes: resume, retries, limits, deaths, blocked nodes, interruption."""

import io
import json
import os
import random
import re
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.core.errors import InputError
from gnomon.engine import bars, workers
from gnomon.engine.job import InterruptedWorkError, work
from gnomon.engine.plan import WHOLE, Limits, Node, Plan
from gnomon.engine.store import Store, StoreFullError

BOTH = pytest.mark.parametrize("executor", ["inline", "processes"])


@BOTH
def test_results_and_needs(node, options, executor):
    data = node("data", kind="artefact", text="d")
    outcome = work(Plan([node("x", needs={"data": data}), node("y", needs={"data": data})]), options(executor=executor))
    assert outcome.complete
    assert str(outcome) == "2 of 2 cells"
    assert {name: (path / "text").read_text() for name, path in outcome.done.items()} == {"x": "dx", "y": "dy"}


@BOTH
def test_done_work_is_not_done_again(node, options, tmp_path, executor):
    log = str(tmp_path / "log")
    plan = Plan([node(f"c{i}", log=log) for i in range(4)])
    work(plan, options(executor=executor))
    work(plan, options(executor=executor))
    assert sorted((tmp_path / "log").read_text().split()) == ["c0", "c1", "c2", "c3"]
    work(plan, options(executor=executor, fresh=True))
    assert len((tmp_path / "log").read_text().split()) == 8


def test_an_artefact_that_nothing_needs_any_more_is_not_made_again(node, options, tmp_path):
    """Its machine is gone, or somebody made room; all that came of it is here."""
    log = tmp_path / "log"
    first = node("first", kind="artefact", log=str(log))
    data = node("data", kind="artefact", needs={"first": first}, log=str(log))
    read = replace(node("read", kind="artefact", log=str(log)), read=WHOLE)
    cell = node("c", needs={"data": data, "read": read})
    work(Plan([cell]), options())
    log.unlink()
    store = Store(tmp_path / "store")
    for gone in (first, data, read):
        shutil.rmtree(store.path(gone.key))
    assert work(Plan([cell]), options()).complete
    assert log.read_text().split() == ["read"], "results are put together from it"
    assert work(Plan([cell, node("d", needs={"data": data})]), options()).complete
    assert log.read_text().split() == ["read", "first", "data"]
    assert work(Plan([node("alone", kind="artefact")]), options()).complete
    assert store.has(node("alone", kind="artefact").key), "it was asked for by itself"


def test_damaged_work_is_done_again(node, options):
    plan = Plan([node("a"), node("b")])
    done = work(plan, options()).done
    (done["a"] / "text").write_text("tampered")
    assert (work(plan, options()).done["a"] / "text").read_text() == "a"


@BOTH
@pytest.mark.parametrize("kind", ["artefact", "cell"])
def test_work_of_which_only_an_empty_seal_is_left_is_done_again(node, options, tmp_path, executor, kind):
    data = node("data", kind="artefact", text="d")
    plan = Plan([node("x", needs={"data": data})])
    done = work(plan, options(executor=executor)).done["x"]
    harmed = done if kind == "cell" else Store(tmp_path / "store").path(data.key)
    for folder in {done, harmed}:  # what needs it is gone, so that it is used
        shutil.rmtree(folder)
    harmed.mkdir()
    (harmed / "seal.sha256").touch()
    outcome = work(plan, options(executor=executor))
    assert outcome.complete
    assert (outcome.done["x"] / "text").read_text() == "dx"


@BOTH
@pytest.mark.parametrize("harm", ["removed", "emptied"])
def test_what_is_damaged_while_others_need_it_is_made_again(node, options, tmp_path, executor, harm):
    """Another command found it damaged and set it aside, or somebody made room, when the first cell had read it."""
    data = node("data", kind="artefact", text="d", log=str(tmp_path / "log"))
    path = Store(tmp_path / "store").path(data.key)
    first = node("first", "harm", needs={"data": data}, path=str(path), how=harm)
    cells = [node(name, needs={"data": data, "first": first}) for name in "xy"]
    stream = io.StringIO()
    outcome = work(Plan([first, *cells]), options(executor=executor, workers=1), stream=stream)
    assert outcome.complete
    assert (outcome.done["x"] / "text").read_text() == "dharmedx"
    assert (tmp_path / "log").read_text().split() == ["d", "d"]
    assert "data: lost: its result was damaged or removed" in stream.getvalue()
    assert "4 of 4 done" in stream.getvalue()


def test_what_is_damaged_again_and_again_is_given_up(node, options, tmp_path):
    data = node("data", kind="artefact", text="d")
    path = Store(tmp_path / "store").path(data.key)
    outcome = work(Plan([node("x", "harm_and_fail", needs={"data": data}, path=str(path)), node("y")]), options())
    assert outcome.missing == {"x": "what it needs was damaged or removed: 'data' (4 attempts)"}
    assert list(outcome.done) == ["y"]


def test_what_can_not_be_made_again_takes_along_all_that_need_it(node, options, tmp_path):
    marker = tmp_path / "marker"
    data = node("data", "write_once", kind="artefact", marker=str(marker))
    path = Store(tmp_path / "store").path(data.key)
    first = node("first", "harm", needs={"data": data}, path=str(path), how="removed")
    cells = [node(name, needs={"data": data, "first": first}) for name in "xy"]
    outcome = work(Plan([first, *cells]), options())
    assert list(outcome.done) == ["first"]
    assert all("needs 'data', which failed: ValueError: not again" in why for why in outcome.missing.values())


@BOTH
def test_a_poison_cell_fails_alone_with_its_error(node, options, executor):
    plan = Plan([node("good"), node("bad", "fail", message="broken sensor"), node("fine")])
    outcome = work(plan, options(executor=executor))
    assert list(outcome.done) == ["good", "fine"]
    assert outcome.missing == {"bad": "ValueError: broken sensor (engine_toys.py:13) (1 attempt)"}
    assert outcome.coverage() == {
        "total": 3,
        "done": 2,
        "missing": [{"cell": "bad", "why": "ValueError: broken sensor (engine_toys.py:13) (1 attempt)"}],
    }


def test_the_error_is_kept_with_its_traceback(node, options, tmp_path):
    bad = node("bad", "fail")
    work(Plan([bad]), options())
    record = json.loads((tmp_path / "store" / "failures" / f"{bad.key}.json").read_text())
    assert record["name"] == "bad"
    assert "engine_toys.py" in record["traceback"]


@BOTH
def test_what_needs_a_failed_node_is_blocked_and_says_so(node, options, executor):
    data = node("data", "fail", kind="artefact")
    middle = node("middle", needs={"data": data}, kind="artefact")
    outcome = work(Plan([node("x", needs={"m": middle}), node("free")]), options(executor=executor))
    assert list(outcome.done) == ["free"]
    why = "needs 'data', which failed: ValueError: no good (engine_toys.py:13) (1 attempt)"
    assert outcome.missing == {"x": why}


@BOTH
def test_retries(node, options, tmp_path, executor):
    cell = node("flaky", "once", limits=Limits(retries=1), marker=str(tmp_path / "marker"), how="fail")
    assert work(Plan([cell]), options(executor=executor)).complete


def test_no_retry_where_none_is_allowed(node, options, tmp_path):
    cell = node("flaky", "once", limits=Limits(retries=0), marker=str(tmp_path / "marker"), how="fail")
    assert not work(Plan([cell]), options()).complete


def test_a_death_is_contained_and_tried_again(node, options, tmp_path):
    cells = [node(f"c{i}") for i in range(6)]
    cells.insert(3, node("mortal", "once", limits=Limits(retries=0), marker=str(tmp_path / "marker"), how="die"))
    outcome = work(Plan(cells), options(executor="processes", workers=2))
    assert outcome.complete


def test_what_a_worker_printed_is_seen_although_it_dies(node, options, capfd):
    deadly = node("deadly", "tell_and_die", limits=Limits(retries=0, deaths=0))
    assert not work(Plan([deadly]), options(executor="processes", workers=1)).complete
    told = capfd.readouterr()
    assert told.out == ""
    assert "the last word" in told.err


def test_a_cell_that_always_kills_its_worker_fails_alone(node, options):
    deadly = node("deadly", "die", limits=Limits(deaths=2))
    outcome = work(Plan([deadly, *(node(f"c{i}") for i in range(4))]), options(executor="processes", workers=2))
    assert len(outcome.done) == 4
    assert outcome.missing == {"deadly": "its worker died (killed by SIGKILL) (3 attempts)"}


def test_time_limit(node, options):
    slow = node("slow", "sleep", limits=Limits(retries=0, seconds=0.5), seconds=60)
    start = time.monotonic()
    outcome = work(Plan([slow, node("quick")]), options(executor="processes", workers=2))
    assert time.monotonic() - start < 20
    assert outcome.missing == {"slow": "exceeded its time limit of 0.5 s (1 attempt)"}
    assert list(outcome.done) == ["quick"]


@pytest.mark.parametrize("seconds", [None, 0.5])
def test_a_worker_that_does_not_begin_is_given_up(node, options, tmp_path, monkeypatch, seconds):
    """The module of the work waits for ever when it is imported; a short time limit does not shorten the start."""
    (tmp_path / "waiting_module.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workers, "START", 2.0)
    slow = Node("slow", "waiting_module:f", {}, limits=Limits(retries=0, seconds=seconds))
    began = time.monotonic()
    outcome = work(Plan([slow, node("good")]), options(executor="processes", workers=2))
    assert 2 < time.monotonic() - began < 60
    assert list(outcome.done) == ["good"]
    assert outcome.missing["slow"] == (
        "its worker did not begin within 2 s: Python did not start, or waiting_module:f was not imported; "
        "give a longer --timeout where that takes longer (1 attempt)"
    )


def test_a_longer_time_limit_counts_for_the_start_too(options, tmp_path, monkeypatch):
    (tmp_path / "late_module.py").write_text(
        "import time\ntime.sleep(1)\ndef f(arguments, needs, out): (out / 'text').touch()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workers, "START", 0.5)
    late = Node("late", "late_module:f", {}, limits=Limits(retries=0, seconds=60))
    assert work(Plan([late]), options(executor="processes", workers=1)).complete


def test_a_worker_that_does_not_read_a_large_order_is_given_up(node, options, monkeypatch):
    """It is larger than what the pipe holds: handing it over must not wait for ever either."""
    monkeypatch.setattr(workers, "START", 1.0)
    monkeypatch.setattr(workers, "BOOT", "import time; time.sleep(600)")
    outcome = work(Plan([node("large", text="x" * 5_000_000)]), options(executor="processes", workers=1))
    assert outcome.missing == {
        "large": "its worker did not read its order within 1 s: Python did not start (1 attempt)"
    }


def test_memory_limit(node, options):
    hungry = node("hungry", "eat", limits=Limits(retries=0, memory_bytes=300_000_000), bytes=600_000_000)
    outcome = work(Plan([hungry, node("modest")]), options(executor="processes", workers=2))
    assert "exceeded its memory limit" in outcome.missing["hungry"]
    assert "of 300 MB" in outcome.missing["hungry"]
    assert list(outcome.done) == ["modest"]


def test_limits_need_processes(node, options):
    with pytest.raises(InputError, match="--executor processes"):
        work(Plan([node("a", limits=Limits(seconds=1))]), options(executor="inline"))


def test_order_does_not_matter(node, options, tmp_path):
    data = node("data", kind="artefact")
    plan = Plan([node(f"c{i}", needs={"d": data}) for i in range(8)])

    def shuffled(nodes):
        return random.Random(5).sample(nodes, len(nodes))

    outcome = work(plan, options(), order=shuffled)
    assert list(outcome.done) == [f"c{i}" for i in range(8)]
    events = [json.loads(line) for line in (tmp_path / "store/progress.jsonl").read_text().splitlines()]
    begun = [event["name"] for event in events if event["event"] == "started"]
    assert begun[0] == "data"
    assert begun[1:] != list(outcome.done)
    assert sorted(begun[1:]) == list(outcome.done)


def test_two_jobs_at_once_build_each_node_once(node, options, tmp_path):
    log = str(tmp_path / "log")
    plan = Plan([node(f"c{i}", log=log, seconds=0.02) for i in range(20)])
    threads = [threading.Thread(target=work, args=(plan, options(executor="processes", workers=1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((tmp_path / "log").read_text().split()) == sorted(f"c{i}" for i in range(20))


@BOTH
def test_a_full_disk_stops_the_work_and_says_how_to_continue(node, options, executor, monkeypatch, tmp_path):
    full = tmp_path / "full.py"
    full.write_text(
        "import errno\ndef fill(arguments, needs, out):\n    raise OSError(errno.ENOSPC, 'No space left')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    stuffed = type(node("x"))("stuffed", "full:fill")
    with pytest.raises(StoreFullError, match=r"1 of 2 cells are stored"):
        work(Plan([node("before"), stuffed]), options(executor=executor, workers=1))
    assert list(work(Plan([node("before")]), options()).done) == ["before"]


@pytest.fixture
def interruptible():
    """A process started in the background may ignore SIGINT from birth; here it must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@BOTH
def test_interruption_keeps_what_is_stored(node, options, executor, tmp_path, interruptible):
    plan = Plan([node("quick"), node("slow", seconds=30)])

    def interrupt():
        seen = tmp_path / "store" / "progress.jsonl"
        while not seen.exists() or '"event": "done"' not in seen.read_text():
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    start = time.monotonic()
    with pytest.raises(InterruptedWorkError, match=r"1 of 2 cells are stored; give the same command again") as caught:
        work(plan, options(executor=executor, workers=1))
    assert caught.value.exit_code == 130
    assert time.monotonic() - start < 25


def test_progress_in_a_pipe_and_in_the_file(node, options, tmp_path):
    stream = io.StringIO()
    work(Plan([node("a"), node("bad", "fail")]), options(), stream=stream)
    lines = stream.getvalue().splitlines()
    assert any(line.startswith("bad: failed: ValueError") for line in lines)
    assert lines[-1].startswith("1 of 2 done, 1 failed in ")
    assert "\r" not in stream.getvalue()
    events = [json.loads(line) for line in (tmp_path / "store/progress.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["plan", "started", "done", "started", "failed", "end"]
    assert events[-1] | {"time": 0} == {
        "time": 0,
        "event": "end",
        "name": "",
        "total": 2,
        "done": 1,
        "found": 0,
        "failed": 1,
        "interrupted": False,
    }


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal(node, options, monkeypatch):
    monkeypatch.setattr(bars, "DELAY_S", 0.05)
    monkeypatch.setenv("COLUMNS", "160")
    stream = Terminal()
    work(Plan([node(f"c{i}", seconds=0.15) for i in range(4)]), options(), stream=stream)
    text = stream.getvalue()
    assert "━" in text  # the bar of rich
    assert "left" in text
    assert "now: c" in text
    assert re.search(r"\n?4 of 4 done in [0-9.]+ s\n\Z", text)


def test_short_work_has_a_closing_line_and_no_bar(node, options):
    stream = Terminal()
    work(Plan([node("a"), node("bad", "fail")]), options(), stream=stream)
    first, *others, last = stream.getvalue().splitlines()
    assert first.startswith("bad: failed: ValueError")
    assert others == []
    assert last.startswith("1 of 2 done, 1 failed in ")


def test_auto_takes_processes_for_heavy_or_limited_nodes():
    from dataclasses import replace

    from gnomon.engine.job import chosen
    from gnomon.engine.plan import Limits, Node

    light = [Node(f"n{k}", "tests:x", {"k": k}) for k in range(3)]
    heavy = [replace(one, heavy=True) for one in light]
    limited = [replace(one, limits=Limits(seconds=1.0)) for one in light]
    assert [chosen(Plan(nodes), "auto", 2) for nodes in (light, heavy, limited)] == ["inline", "processes", "processes"]
    assert chosen(Plan(heavy), "auto", 1) == "inline"
    assert chosen(Plan(heavy), "inline", 2) == "inline"
    assert [one.key for one in heavy] == [one.key for one in light]


@pytest.mark.parametrize("place", ["progress.jsonl", "locks", "failures/{key}.json", "locks/{key}", "begun/{key}/part"])
def test_a_store_with_links_is_refused_and_nothing_is_written_to_where_they_lead(node, options, tmp_path, place):
    """A folder that was handed over could lead lines of progress, locks or errors to a file of the user."""
    cell, victim = node("cell"), tmp_path / "profile"
    victim.mkdir() if place == "locks" else victim.write_text("mine")
    link = Path(options().store_folder()) / place.format(key=cell.key)
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    with pytest.raises(InputError, match="a link in a store"):
        work(Plan([cell]), options())
    assert (list(victim.iterdir()) if place == "locks" else victim.read_text()) in ([], "mine")


def test_links_in_results_and_in_what_was_set_aside_do_not_end_later_commands(node, options):
    """A result with a link in it is damaged: it is set aside and made again."""
    cell, store = node("cell"), Store(options().store_folder())
    for _ in range(3):
        assert work(Plan([cell]), options()).complete
        (store.path(cell.key) / "link").symlink_to("text")
    assert len(list((store.folder / "damaged").iterdir())) == 2
