"""What a worker of a cluster does, without a cluster: processes that leave, faults of its machine, late results."""

import errno
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gnomon.core.errors import InputError
from gnomon.engine import carrying, cluster
from gnomon.engine.carrying import Carried, Hands, Task
from gnomon.engine.plan import Limits, Plan
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import Store
from gnomon.engine.work import Order, Reply, carry_out
from gnomon.engine.workers import Place


def _wait(done, seconds=30):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_processes_that_nobody_asks_leave(tmp_path, monkeypatch):
    """Commands come with stores of their own: what the last one left idle must not stay for ever."""
    monkeypatch.setattr(carrying, "IDLE", 0.3)
    hands = Hands()
    one, other = (Place.here(Store(tmp_path / name)) for name in ("one", "other"))
    with hands.lent(one) as first:
        pass
    assert hands.free[one] == [first]
    _wait(lambda: first.gone)
    assert first.process.returncode == 0
    with hands.lent(other):
        assert one not in hands.free, "those that left are taken in, whatever is asked for"
    hands.dismiss()
    assert not hands.free


def test_a_process_that_is_asked_stays(tmp_path, monkeypatch, node):
    monkeypatch.setattr(carrying, "IDLE", 0.5)
    hands, place = Hands(), Place.here(Store(tmp_path / "s"))
    slow = Order.of(node("slow", seconds=1.5))
    with hands.lent(place) as worker:
        assert worker.send(slow, Limits())
        assert worker.receive() is None
        assert worker.receive().state == "done"
    hands.dismiss()


@pytest.mark.parametrize(("number", "state"), [(errno.EAGAIN, None), (errno.ENOSPC, "full")])
def test_a_fault_of_the_machine_is_not_the_end(node, tmp_path, monkeypatch, number, state):
    """A machine that can start no process loses the node; one whose disk is full says which it is."""

    def broken(*_):
        raise OSError(number, "no more")

    monkeypatch.setattr(carrying, "_wanted", lambda: lambda: True)
    monkeypatch.setattr(carrying, "_carried", broken)
    order, place = Order.of(node("a")), Place.here(Store(tmp_path / "s"))
    found = carrying.carried(Task(order, Limits(), (), place, "", (), 1))
    assert (found.reply and found.reply.state) == state
    said = found.lost or found.reply.error
    assert "no more" in said
    assert "(worker on " in said
    assert not found.begun or state


@pytest.fixture
def handed(node, tmp_path):
    """A cluster that was handed its only cell."""
    schedule = Schedule(Plan([node("c")]), Store(tmp_path / "store"), lambda *_: None)
    found = cluster.Cluster(schedule, "dask://h:1", 1)
    return found, schedule.take()


def test_what_is_stored_in_a_shared_folder_may_be_seen_late(handed):
    """File systems of networks may hide for a while what another machine stored."""
    found, cell = handed
    found._settle(cell, Carried(Reply(cell.key, "done"), shared=True))
    found._see_late()
    assert found.schedule.open, "not seen yet"
    carry_out(found.schedule.store, Order.of(cell))
    found._see_late()
    assert found.schedule.done == {cell.key}
    assert not found.late


def test_what_is_never_seen_is_done_again(handed, monkeypatch):
    monkeypatch.setattr(cluster, "LATE", 0.0)
    found, cell = handed
    found._settle(cell, Carried(Reply(cell.key, "done"), shared=True))
    found._see_late()
    assert found.schedule.waiting == {cell.key: cell}
    assert found.schedule.attempts[cell.key].last == "a worker stored it, but it is not seen here after 0 s"


def test_an_artefact_that_nobody_reads_need_not_be_seen(node, tmp_path):
    data = node("data", kind="artefact")
    schedule = Schedule(Plan([replace(data), node("c", needs={"data": data})]), Store(tmp_path), lambda *_: None)
    found = cluster.Cluster(schedule, "dask://h:1", 1)
    schedule.take()
    found._settle(data, Carried(Reply(data.key, "done"), shared=True))
    assert data.key in schedule.done


@pytest.mark.parametrize(
    ("owner", "mode", "refused"),
    [
        (None, 0o700, False),
        (None, 0o775, False),
        (None, 0o777, True),
        (None, 0o1777, False),
        (65534, 0o755, True),
    ],
)
def test_a_store_that_another_account_can_change_is_refused(tmp_path, owner, mode, refused):
    folder = tmp_path / "space"
    folder.mkdir()
    folder.chmod(mode)
    if owner is not None:
        if os.geteuid():
            pytest.skip("only the administrator can give a folder to another account")
        os.chown(folder, owner, owner)
    with pytest.raises(InputError, match="another account can put results there") if refused else nullcontext():
        carrying.check_own(str(folder))


def test_a_link_of_another_account_is_refused(tmp_path):
    if os.geteuid():
        pytest.skip("only the administrator can give a link to another account")
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "own")
    carrying.check_own(str(tmp_path / "link"))
    os.lchown(tmp_path / "link", 65534, 65534)
    with pytest.raises(InputError, match="another account"):
        carrying.check_own(str(tmp_path / "link"))


def test_results_of_another_account_in_the_scratch_space_are_not_used(node, tmp_path, monkeypatch):
    """The scratch space was there before, open to all, with a result of the very key in it."""
    space = tmp_path / "dask-scratch-space"
    (space / "worker-1").mkdir(parents=True)
    space.chmod(0o777)
    order = Order.of(node("a"))
    with Store(space / carrying.STORE).draft(order.key) as out:
        (out / "text").write_text("planted")
    worker = SimpleNamespace(local_directory=str(space / "worker-1"))
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=lambda: worker))
    monkeypatch.setattr(carrying, "_wanted", lambda: lambda: True)
    place = Place.here(Store(tmp_path / "far"))
    found = carrying.carried(Task(order, Limits(), (), place, str(tmp_path / "nowhere"), ("**",), 1000))
    assert found.reply.state == "error"
    assert found.reply.bad_input
    assert "start workers with --local-directory" in found.reply.error
    assert not found.files
