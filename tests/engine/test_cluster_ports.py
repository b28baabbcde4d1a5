"""Who can reach a cluster: no other account reaches one that is started here, and joining one without TLS says so.

The attack is that of another account of the machine: it looks for ports that the command opened, speaks Dask's protocol
to each of them, with and without a certificate of its own, and has a function run that writes a file. It is carried out
on a plain Dask cluster as well, where it has to succeed: else it would prove nothing.
"""

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.engine import joining
from gnomon.engine.job import work
from gnomon.engine.plan import Plan

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")
needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc, which lists open ports")

ATTACK = """
import asyncio, os, sys
import distributed
from distributed.comm.core import connect
from distributed.protocol.pickle import dumps

def deed(path):
    with open(path, "w") as file:
        file.write(str(os.getuid()))

async def ask(address, security, path):
    \"\"\"Have a worker, or a scheduler, run a function at once.\"\"\"
    for operation in ("run", "run_function"):
        comm = await connect(address, timeout=3, **security.get_connection_args("client"))
        await comm.write({"op": operation, "function": dumps(deed), "args": dumps((path,)), "reply": True})
        print(await comm.read())

async def submit(address, security, path):
    \"\"\"Have a scheduler hand a function to a worker.\"\"\"
    async with distributed.Client(address, security=security, asynchronous=True, timeout=3) as client:
        await client.submit(deed, path, pure=False)

async def attempt(way, *given):
    async with asyncio.timeout(6):
        await way(*given)

path, certificate, *ports = sys.argv[1:]
own = distributed.Security(tls_ca_file=certificate, tls_client_cert=certificate, require_encryption=True)
if os.getuid() == 0:  # another account
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for port in ports:
    for scheme, security in (("tcp", distributed.Security()), ("tls", own)):
        for way in (ask, submit):
            try:
                asyncio.run(attempt(way, f"{scheme}://{port}", security, path))
            except BaseException as error:
                print(port, scheme, way.__name__, type(error).__name__, str(error)[:200])
"""
VICTIM = """
import sys
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
sys.path.insert(0, sys.argv[1])
nodes = [Node(f"c{i}", "engine_toys:sleep", {"seconds": 60, "i": i}) for i in range(2)]
work(Plan(nodes), EngineOptions(out=sys.argv[2], executor="dask", workers=2))
"""
PLAIN = """
import time
import distributed
cluster = distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0")
time.sleep(60)
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate and its key in one file, which serves as its own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes certificates")
    return make_certificate(tmp_path_factory.mktemp("certificate") / "own.pem")


def make_certificate(path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gnomon-test"]
    subprocess.run([*command, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def processes_below(pid):
    """Return a process and all that it started."""
    found = {pid}
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def open_ports(pid):
    """Return the addresses at which a process, or one that it started, listens, as /proc tells."""
    sockets = set()
    for process in processes_below(pid):
        with contextlib.suppress(OSError):
            for handle in os.listdir(f"/proc/{process}/fd"):
                with contextlib.suppress(OSError):
                    sockets.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{process}/fd/{handle}")))
    found = []
    for table, bound in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in sockets and fields[3] == bound:
                found.append(f"127.0.0.1:{int(fields[1].rpartition(':')[2], 16)}")
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[6] in sockets and int(fields[3], 16) & 0x10000:  # accepts connections
            found.append(f"unix {' '.join(fields[7:])}")
    return found


@contextlib.contextmanager
def running(program, *arguments, **options):
    process = subprocess.Popen([sys.executable, "-P", "-c", program, *map(str, arguments)], **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for(condition, process, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the program ended"
        assert time.monotonic() < until
        time.sleep(0.2)


def attacked(ports, tmp_path, certificate):
    """Attack ports as another account; return whether code was run, and what was said."""
    target = tmp_path / "deed"
    command = [sys.executable, "-P", "-c", ATTACK, str(target), certificate.read_text(), *ports]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd="/")
    return target.exists(), done.stdout + done.stderr


@needs_proc
@pytest.mark.kill
def test_the_attack_succeeds_on_a_plain_cluster(tmp_path, certificate):
    with running(PLAIN) as victim:
        wait_for(lambda: len(open_ports(victim.pid)) >= 4, victim)
        done, said = attacked(open_ports(victim.pid), tmp_path, certificate)
    assert done, said


@needs_proc
@pytest.mark.kill
def test_another_account_cannot_run_code_through_a_cluster_that_is_started_here(tmp_path, certificate, toys):
    def at_work():
        log = tmp_path / "runs" / "store" / "progress.jsonl"
        return log.exists() and log.read_text().count('"started"') >= 2

    with running(VICTIM, Path(toys.__file__).parent, tmp_path / "runs") as victim:
        wait_for(at_work, victim)
        ports = open_ports(victim.pid)
        done, said = attacked(ports, tmp_path, certificate)
    assert not done, said
    assert not ports


@pytest.mark.kill
def test_the_scratch_folder_of_a_local_cluster_is_not_that_of_another_account(tmp_path, monkeypatch):
    """Dask's own is in the folder of temporary files, by a name that anybody can take first, and first on the path."""
    temporary = tmp_path / "temporary"
    taken = temporary / "dask-scratch-space"
    taken.mkdir(parents=True)
    taken.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = list(sys.path)
    with joining.started(2) as client:
        assert sys.path == before
        folders = [Path(one["local_directory"]) for one in client.scheduler_info(n_workers=-1)["workers"].values()]
        assert len(folders) == 2
        for folder in folders:
            private = folder.relative_to(temporary).parts[0]
            assert stat.S_IMODE((temporary / private).stat().st_mode) == 0o700
        joining.closed(client)
    assert sys.path == before
    assert os.listdir(temporary) == ["dask-scratch-space"]
    assert not os.listdir(taken)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory, certificate):
    from acceptance.cluster import programs

    options = ("--tls-ca-file", str(certificate), "--tls-cert", str(certificate))
    with programs(tmp_path_factory.mktemp("cluster"), workers=1, certificates=options) as found:
        yield found


@pytest.fixture
def configured(certificate):
    import dask

    names = {"ca-file": str(certificate), "client.cert": str(certificate)}
    with dask.config.set({f"distributed.comm.tls.{name}": value for name, value in names.items()}):
        yield


def test_a_cluster_with_tls_is_joined_by_certificate(node, options, encrypted, configured, capfd):
    for place in (f"tls://{encrypted.address}", encrypted.file):
        assert work(Plan([node(f"by {place}")]), options(executor=f"dask://{place}")).complete
    assert "certificate" not in capfd.readouterr().err


def test_an_address_without_a_scheme_has_tls_where_dask_is_told_to_encrypt(node, options, encrypted, configured):
    import dask

    with dask.config.set({"distributed.comm.require-encryption": True}):
        assert work(Plan([node("a")]), options(executor=f"dask://{encrypted.address}")).complete


def test_a_cluster_with_tls_is_not_joined_without_certificate(node, options, encrypted):
    with pytest.raises(InputError, match=r"asks for a certificate; name ca-file, client\.cert and client\.key under"):
        work(Plan([node("a")]), options(executor=f"dask://{encrypted.file}"))


def test_a_cluster_with_tls_is_not_joined_by_another_certificate(node, options, encrypted, tmp_path, monkeypatch):
    import dask

    monkeypatch.setattr(joining, "ANSWER", 2.0)
    other = str(make_certificate(tmp_path / "other.pem"))
    names = {"distributed.comm.tls.ca-file": other, "distributed.comm.tls.client.cert": other}
    with dask.config.set(names), pytest.raises(WorkError, match=r"no cluster answers at|no scheduler at"):
        work(Plan([node("a")]), options(executor=f"dask://tls://{encrypted.address}"))


def test_certificates_that_cannot_be_read(node, options, tmp_path):
    import dask

    with (
        dask.config.set({"distributed.comm.tls.ca-file": "/nowhere", "distributed.comm.tls.client.cert": "/nowhere"}),
        pytest.raises(InputError, match=r"the certificates of Dask cannot be used \(.*No such file.*\); name ca-file"),
    ):
        work(Plan([node("a")]), options(executor="dask://tls://127.0.0.1:1"))


def test_joining_a_cluster_without_tls_says_what_it_means(node, options, tmp_path, capfd):
    from acceptance.cluster import programs

    with programs(tmp_path, workers=1) as found:
        assert work(Plan([node("a")]), options(executor=f"dask://{found.address}")).complete
    said = [line for line in capfd.readouterr().err.splitlines() if "certificate" in line]
    assert said == [
        f"gnomon: tcp://{found.address} asks for no certificate: whoever reaches that port can run code as the "
        "accounts of its workers and, by its replies, as you; use TLS (docs/security.md)"
    ]
