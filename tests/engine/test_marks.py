"""Marks of a store: one that a killed process left is swept, one whose owner lives is not."""

import signal
import subprocess
import sys

import pytest

from gnomon.engine.job import work
from gnomon.engine.plan import Plan
from gnomon.engine.store import MARK, Store
from gnomon.intake import drafts

OWNER = """
import sys, time
from gnomon.engine.store import Store
with Store(sys.argv[1]).marked() as mark:
    print(mark, flush=True)
    time.sleep(60)
"""


def marks(store):
    return sorted(path for path in store.folder.glob(f"*{MARK}*") if path.is_dir())


@pytest.mark.kill
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_mark_of_a_process_that_was_killed(tmp_path, how):
    store = Store(tmp_path / "store")
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(store.folder)], stdout=subprocess.PIPE, text=True)
    try:
        said = owner.stdout.readline().strip()
        store.sweep()
        assert list(map(str, marks(store))) == [said], "its owner lives"
    finally:
        owner.send_signal(how)
        owner.wait()
        owner.stdout.close()
    assert list(map(str, marks(store))) == [said], "nobody removed it"
    store.sweep()
    assert not marks(store)


def test_the_next_command_sweeps(node, options, tmp_path):
    left = tmp_path / "store" / f"{MARK}{drafts._kernel()}-{'0' * 32}"
    left.mkdir(parents=True)
    left.with_name(f"{left.name}.lock").touch()
    assert work(Plan([node("a")]), options(executor="inline")).complete
    assert not list(left.parent.glob(f"{MARK}*"))


def test_a_mark_goes_with_its_block(tmp_path):
    store = Store(tmp_path / "store")
    with store.marked() as one, store.marked() as other:
        store.sweep()
        assert marks(store) == sorted([one, other])
    assert not marks(store)
