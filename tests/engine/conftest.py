"""Work for the engine's tests: functions that write, fail, sleep, die or eat memory, importable by workers."""

import importlib
import sys
import textwrap

import pytest

from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Limits, Node

TOYS = textwrap.dedent(
    '''
    import os, shutil, signal, time
    from pathlib import Path

    def write(arguments, needs, out):
        time.sleep(arguments.get("seconds", 0))
        read = "".join((path / "text").read_text() for path in needs.values())
        (out / "text").write_text(read + arguments["text"])
        log(arguments)

    def fail(arguments, needs, out):
        (out / "half").write_text("unfinished")
        raise ValueError(arguments.get("message", "no good"))

    def die(arguments, needs, out):
        os.kill(os.getpid(), signal.SIGKILL)

    def tell_and_die(arguments, needs, out):
        print("the last word")
        os.kill(os.getpid(), signal.SIGKILL)

    def once(arguments, needs, out):
        """Fail or die on the first attempt, succeed on the second."""
        marker = Path(arguments["marker"])
        if not marker.exists():
            marker.touch()
            if arguments["how"] == "die":
                os._exit(3)
            raise ValueError("first attempt")
        (out / "text").write_text("second attempt")

    def write_once(arguments, needs, out):
        if os.path.exists(arguments["marker"]):
            raise ValueError("not again")
        Path(arguments["marker"]).touch()
        (out / "text").write_text("once")

    def harm(arguments, needs, out):
        """Remove or empty another result."""
        shutil.rmtree(arguments["path"])
        if arguments["how"] == "emptied":
            os.mkdir(arguments["path"])
            Path(arguments["path"], "seal.sha256").touch()
        (out / "text").write_text("harmed")

    def harm_and_fail(arguments, needs, out):
        shutil.rmtree(arguments["path"])
        (next(iter(needs.values())) / "text").read_text()

    def sleep(arguments, needs, out):
        time.sleep(arguments["seconds"])

    def eat(arguments, needs, out):
        held = bytearray(arguments["bytes"])
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(30)

    def log(arguments):
        """Append a line: one write each, so that lines of several processes do not mix."""
        if "log" in arguments:
            handle = os.open(arguments["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, (arguments["text"] + "\\n").encode())
            os.close(handle)
    '''
)


@pytest.fixture(scope="session")
def _toys_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    (folder / "engine_toys.py").write_text(TOYS)
    return folder


@pytest.fixture(autouse=True)
def toys(_toys_folder, monkeypatch):
    monkeypatch.syspath_prepend(str(_toys_folder))
    importlib.invalidate_caches()
    yield importlib.import_module("engine_toys")
    sys.modules.pop("engine_toys", None)


@pytest.fixture
def node():
    """Make a node of a toy function."""

    def make(name, function="write", needs=None, kind="cell", limits=None, **arguments):
        if function == "write":
            arguments.setdefault("text", name)
        limits = limits or Limits(retries=0)
        return Node(name, f"engine_toys:{function}", arguments, needs or {}, kind, {"system": "toy"}, limits=limits)

    return make


@pytest.fixture
def options(tmp_path):
    """Make engine options over a store in the test's folder."""

    def make(**values):
        return EngineOptions(**{"out": str(tmp_path), "retries": 0, **values})

    return make
