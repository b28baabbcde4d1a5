"""Commands and schedulers that go away: what nobody waits for is stopped, and a scheduler may be away for long.

Schedulers, workers and commands are programs of their own; who is killed, and when, is up to the test.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from acceptance.cluster import programs

from gnomon.engine import joining
from gnomon.engine.job import work
from gnomon.engine.plan import Plan

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
executor, out, seconds = sys.argv[1:]
nodes = [Node(f"c{i}", "engine_toys:sleep", {"seconds": float(seconds), "i": i}) for i in range(2)]
print(work(Plan(nodes), EngineOptions(executor=executor, out=out, workers=2)).complete)
"""


def _wait(done, seconds=60):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def _command(code, toys, *words, **more):
    paths = [os.path.dirname(toys.__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen([sys.executable, *code, *words], env=env, text=True, **more)


@pytest.mark.kill
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_cells_of_a_command_that_is_gone_are_stopped(node, options, toys, tmp_path, how):
    (tmp_path / "programs").mkdir()
    with programs(tmp_path / "programs", workers=2) as found:
        executor, out = f"dask://{found.address}", tmp_path / "gone"
        command = _command(["-c", COMMAND], toys, executor, str(out), "300", stderr=subprocess.PIPE)
        try:
            _wait(lambda: len(list((out / "store" / "drafts").glob("*.lock"))) == 2)
            command.send_signal(how)
            command.communicate(timeout=30)
        finally:
            command.kill()
            command.wait()
        start = time.monotonic()
        assert work(Plan([node("next")]), options(executor=executor)).complete
        assert time.monotonic() - start < 60, "workers are free again"


@pytest.mark.kill
def test_a_scheduler_that_is_away_for_long(node, options, tmp_path, monkeypatch, capfd):
    """Longer than Dask's client waits: it is closed by then, and nothing that it says may end the command."""
    monkeypatch.setattr(joining, "ANSWER", 1.0)
    log = tmp_path / "log"
    plan = Plan(node(f"c{i}", seconds=0.3, log=str(log)) for i in range(12))
    (tmp_path / "programs").mkdir()
    with programs(tmp_path / "programs", workers=1) as found:
        result, asked, said = [], options(executor=f"dask://{found.address}"), []

        def told():
            said.append(capfd.readouterr().err)
            return "gnomon: the scheduler is away" in "".join(said)

        thread = threading.Thread(target=lambda: result.append(work(plan, asked)), daemon=True)
        thread.start()
        _wait(lambda: log.exists() and len(log.read_text().split()) > 2)
        found.kill(found.scheduler)
        found.kill(found.workers[0])
        _wait(told)
        time.sleep(2)
        found.start_scheduler()
        found.start_worker()
        thread.join(timeout=90)
    assert result, "the command ended in an error, or not at all"
    assert result[0].complete
    assert sorted(set(log.read_text().split())) == sorted(cell.name for cell in plan.cells)
    assert "distributed" not in "".join(said), "who waits says so, and Dask does not"


@pytest.mark.slow
def test_a_script_that_is_not_written_for_processes(toys, tmp_path):
    """Dask's own processes would run it again from its beginning."""
    script = tmp_path / "script.py"
    script.write_text(COMMAND)
    command = _command([str(script)], toys, "dask", str(tmp_path / "out"), "0", stdout=subprocess.PIPE)
    assert command.communicate(timeout=90)[0].split() == ["True"]
