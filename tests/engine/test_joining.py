"""Addresses of clusters: what is wrong with one is said in one line, within a bound, and nothing is said afterwards.

Expected texts are written by hand; who listens at a wrong port is a socket of the test.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading

import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.engine import joining
from gnomon.engine.executors import check
from gnomon.engine.job import work
from gnomon.engine.plan import Plan


@pytest.mark.parametrize(
    ("executor", "found"),
    [
        ("dask", ""),
        ("dask://node-3.local:8786", "node-3.local:8786"),
        ("dask://[::1]:8786", "[::1]:8786"),
        ("dask://tls://node-3.local:8786", "tls://node-3.local:8786"),
        ("dask://a folder/cluster.json", "a folder/cluster.json"),
    ],
)
def test_forms(executor, found):
    assert joining.is_cluster(executor)
    assert joining.where(executor) == found


@pytest.mark.parametrize(
    ("executor", "text"),
    [
        ("dasky", "expected one of auto, inline, processes, dask, dask://HOST:PORT, dask://FILE.json, but got 'dasky'"),
        ("dask:127.0.0.1:8786", "expected one of auto, .* but got 'dask:127.0.0.1:8786'"),
        ("", "expected one of auto"),
        ("dask://", "'dask://': no address; expected dask://HOST:PORT or dask://FILE.json, or dask for a cluster"),
        ("dask://127.0.0.1", "no port; expected dask://HOST:PORT .*, such as dask://127.0.0.1:8786"),
        ("dask://127.0.0.1:", "no port"),
        ("dask://tcp://127.0.0.1:8786", "without tcp://; give dask://127.0.0.1:8786"),
        ("dask://tls://h", "'dask://tls://h': no port"),
        ("dask://h:p", "expected a port from 1 to 65535, but got 'p'"),
        ("dask://h:65536", "expected a port from 1 to 65535, but got '65536'"),
        ("dask://h:0", "but got '0'"),
        ("dask://:8786", "no address of a scheduler; expected dask://HOST:PORT"),
        ("dask://::1", "no address of a scheduler"),
        ("dask://a b:1", "no address of a scheduler"),
    ],
)
def test_forms_that_are_none(executor, text):
    with pytest.raises(InputError, match=text) as caught:
        check(Plan([]), executor)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ("", r"no JSON \(.*\), so no scheduler file; dask scheduler --scheduler-file writes one"),
        ('{"address": ', "no JSON"),
        ("{}", "expected an address such as tcp://HOST:PORT, but got no address"),
        ("[1]", "but got no address"),
        ('{"address": 5}', "but got address 5"),
        ('{"address": "tcp://nowhere"}', "but got address 'tcp://nowhere'"),
    ],
)
def test_scheduler_files_that_are_none(held, text, tmp_path, monkeypatch):
    monkeypatch.setattr(joining, "FLUSH", 0.2)
    (tmp_path / "c.json").write_text(held)
    with pytest.raises(InputError, match=text) as caught:
        joining.address(str(tmp_path / "c.json"))
    assert str(tmp_path / "c.json") in str(caught.value)


def test_scheduler_files(tmp_path):
    path = tmp_path / "c.json"
    with pytest.raises(InputError, match=r"no scheduler file .*c\.json; dask scheduler --scheduler-file writes one"):
        joining.address(str(path))
    path.write_text("")
    threading.Timer(0.3, path.write_text, ['{"address": "tcp://10.0.0.5:8786", "id": "x"}']).start()
    assert joining.address(str(path)) == "tcp://10.0.0.5:8786", "a file that is still being written is waited for"


@contextlib.contextmanager
def listening(answer=b""):
    """A program that is no scheduler: it accepts, and says nothing, or something else."""
    held = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                held.append(server.accept()[0])
                held[-1].sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in held:
        one.close()


distributed = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("distributed"), reason="distributed is not installed"
)


@distributed
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "a program listens there, but says nothing that Dask does within 1 s; check the port"),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n" * 9, "no scheduler at|no cluster answers at"),
    ],
)
def test_another_program_at_the_port(answer, text, node, options, monkeypatch):
    monkeypatch.setattr(joining, "ANSWER", 0.5)
    with listening(answer) as port, pytest.raises(WorkError, match=text):
        work(Plan([node("a")]), options(executor=f"dask://127.0.0.1:{port}"))


@distributed
def test_nobody_at_the_port(node, options, monkeypatch):
    monkeypatch.setattr(joining, "ANSWER", 0.5)
    with pytest.raises(WorkError, match=r"no cluster answers at 127\.0\.0\.1:1 .*; is the scheduler running\?"):
        work(Plan([node("a")]), options(executor="dask://127.0.0.1:1"))


@pytest.mark.slow
@distributed
def test_the_address_of_a_worker(node, options, tmp_path):
    from acceptance.cluster import programs

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with programs(tmp_path, workers=0) as found:
        found.start_worker("--host", "127.0.0.1", "--worker-port", str(port))
        assert work(Plan([node("first")]), options(executor=f"dask://{found.address}")).complete
        with pytest.raises(WorkError, match="a worker answers; give the address of its scheduler"):
            work(Plan([node("a")]), options(executor=f"dask://127.0.0.1:{port}"))


@pytest.mark.slow
@distributed
@pytest.mark.parametrize("executor", ["dask://127.0.0.1", "dask://tcp://127.0.0.1:1", "dask://c.json", "LISTENING"])
def test_nothing_is_said_after_the_error(executor, tmp_path):
    rows = [f"{i},{'ab'[i % 2]},g{i % 4},{i}" for i in range(12)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,x", *rows]) + "\n")
    (tmp_path / "c.json").write_text("{}")
    code = "from gnomon.engine import joining; joining.ANSWER = 0.5\nfrom gnomon.cli.main import main; main()"
    with listening() as port:
        asked = executor.replace("LISTENING", f"dask://127.0.0.1:{port}")
        done = subprocess.run(
            [sys.executable, "-c", code, "run", "labels", "--truth", "truth.csv", "--folds", "2", "--executor", asked],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "NO_COLOR": "1"},
        )
    assert done.returncode == (1 if executor == "LISTENING" else 2)
    said = [line for line in done.stderr.splitlines() if not line.startswith("0 of ")]
    assert len(said) == 1, done.stderr
    assert said[0].startswith("gnomon: "), done.stderr
