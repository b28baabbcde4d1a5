"""Nodes side by side in threads of one process: overlap, output, errors, a full disk, interruption."""

import errno
import fcntl
import os
import signal
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from gnomon.engine import beside
from gnomon.engine.begun import stopping
from gnomon.engine.job import InterruptedWorkError, work
from gnomon.engine.plan import Limits, Node, Plan
from gnomon.engine.store import Store, StoreFullError

ASKED: ContextVar[str] = ContextVar("asked", default="nothing")
MET = threading.Barrier(2)
HERE = "tests.engine.test_beside"


def meet(arguments, needs, out):
    """End only when another node is under way too."""
    MET.wait(20)
    (out / "text").write_text(f"{arguments['text']} {ASKED.get()}")


def say(arguments, needs, out):
    print("said by", arguments["text"])
    time.sleep(arguments["seconds"])
    (out / "text").write_text(threading.current_thread().name)


def fail(arguments, needs, out):
    raise ValueError("no good")


def fill(arguments, needs, out):
    raise OSError(errno.ENOSPC, "no space")


def linger(arguments, needs, out):
    """Work until it is asked to stop."""
    while not stopping().wait(0.01):
        (out / "text").write_text("begun")
    raise KeyboardInterrupt


def node(name, function="say", threaded=True, needs=None, **arguments):
    given = {"text": name, "seconds": 0, **arguments}
    return Node(name, f"{HERE}:{function}", given, needs or {}, limits=Limits(retries=0), threaded=threaded)


def texts(outcome):
    return {name: (path / "text").read_text() for name, path in outcome.done.items()}


def test_two_are_under_way_at_a_time_in_the_context_of_who_asked(options):
    ASKED.set("for it")
    outcome = work(Plan([node(name, "meet") for name in "abcd"]), options())
    assert texts(outcome) == {name: f"{name} for it" for name in "abcd"}


def test_others_stay_in_the_main_thread(options):
    plain = node("plain", threaded=False)
    outcome = work(Plan([node("a"), plain, node("b", needs={"first": plain})]), options())
    assert texts(outcome) == {"a": "gnomon a", "plain": threading.main_thread().name, "b": "gnomon b"}


def test_what_they_print_does_not_mix_with_machine_output(options, capsys):
    before = sys.stdout
    work(Plan([node("long", seconds=0.2), node("short"), node("last", seconds=0.1)]), options())
    assert sys.stdout is before
    told = capsys.readouterr()
    assert told.out == ""
    assert sorted(told.err.split()) == sorted(["said", "by", "long", "said", "by", "short", "said", "by", "last"])


def test_one_fails_alone(options):
    outcome = work(Plan([node("a"), node("bad", "fail"), node("b")]), options())
    assert list(outcome.done) == ["a", "b"]
    assert "ValueError: no good" in outcome.missing["bad"]


def test_a_full_disk_ends_the_work(options):
    with pytest.raises(StoreFullError, match=r"1 of 3 cells are stored"):
        work(Plan([node("a", threaded=False), node("full", "fill"), node("other", "linger")]), options())
    assert not [thread for thread in threading.enumerate() if thread.name == "gnomon other"]


@pytest.fixture
def interruptible():
    """A process started in the background may ignore SIGINT from birth; here it must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(store, many):
    """Interrupt this process when so many drafts are there."""
    while len(list(store.folder.glob("drafts/*/text"))) < many:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interruption_reaches_what_is_under_way(options, tmp_path, interruptible):
    store = Store(tmp_path / "store")
    threading.Thread(target=interrupted, args=(store, 2), daemon=True).start()
    with pytest.raises(InterruptedWorkError, match=r"1 of 3 cells are stored"):
        work(Plan([node("done", threaded=False), node("a", "linger"), node("b", "linger")]), options())
    assert not {"gnomon a", "gnomon b"} & {thread.name for thread in threading.enumerate()}
    assert not list(store.folder.glob("drafts/*"))


def test_an_interruption_does_not_wait_for_a_lock_that_another_command_holds(
    options, tmp_path, interruptible, monkeypatch
):
    monkeypatch.setattr(beside, "PATIENCE", 0.2)
    store, held = Store(tmp_path / "store"), node("held")
    (store.folder / "locks").mkdir(parents=True)
    with (store.folder / "locks" / held.key).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Thread(target=interrupted, args=(store, 1), daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(InterruptedWorkError):
            work(Plan([held, node("a", "linger")]), options())
        assert time.monotonic() - begun < 10
    for thread in threading.enumerate():  # the lock is free: what waited for it ends
        if thread.name == "gnomon held":
            thread.join(10)
            assert not thread.is_alive()
    assert not store.has(held.key), "it was stopped before it began"


def test_an_interruption_may_come_before_a_thread_begins(tmp_path):
    found = beside.Beside(Store(tmp_path))
    found.threads["key"] = threading.Thread(target=print)
    found.stop()
