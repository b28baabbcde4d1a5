"""How a cluster is started here, and how one that runs already is joined.

A cluster that is started here lives in this process: its scheduler and its workers are threads that hand objects to one
another, and no port is open. Whoever reaches a port of Dask that asks for no certificate can run code.

The address of a cluster that runs already is checked before anything is done with it. Whoever listens there has to
answer as a scheduler does, within a bound: Dask's own client waits without one for the answer of a program that is
none. With TLS, Dask takes certificate and key from its own configuration (``distributed.comm.tls``).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from gnomon.core.errors import InputError, MissingExtraError, WorkError
from gnomon.engine.options import CLUSTER

ANSWER = 10.0
"""Seconds within which a scheduler has to be reached; it has as many again to answer."""
FLUSH = 1.0
"""Seconds that a scheduler file may take to be written."""
PREFIX, TLS = f"{CLUSTER}://", "tls://"
FORM = f"expected {PREFIX}HOST:PORT or {PREFIX}FILE.json"
CERTIFICATES = (
    "name ca-file, client.cert and client.key under distributed.comm.tls in Dask's configuration, or in "
    "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..._TLS__CLIENT__CERT and ..._TLS__CLIENT__KEY"
)


def is_cluster(executor: str) -> bool:
    """Say whether an executor is a cluster, started here or joined.

    >>> is_cluster("dask"), is_cluster("dask://10.0.0.5:8786"), is_cluster("dasky")
    (True, True, False)
    """
    return executor == CLUSTER or executor.startswith(PREFIX)


def where(executor: str) -> str:
    """Return where a cluster is joined: ``HOST:PORT``, ``tls://HOST:PORT`` or a file; empty for one started here.

    >>> where("dask"), where("dask://10.0.0.5:8786"), where("dask://tls://10.0.0.5:8786"), where("dask://cluster.json")
    ('', '10.0.0.5:8786', 'tls://10.0.0.5:8786', 'cluster.json')
    """
    if executor == CLUSTER:
        return ""
    asked = executor.removeprefix(PREFIX)
    place = asked.removeprefix(TLS)
    if place.endswith(".json"):
        return place
    if not place:
        raise InputError(f"executor {executor!r}: no address; {FORM}, or {CLUSTER} for a cluster that is started here")
    if "://" in place:
        scheme, _, rest = place.partition("://")
        raise InputError(f"executor {executor!r}: {FORM}, without {scheme}://; give {PREFIX}{rest or 'HOST:PORT'}")
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^\s/:@\[\]]+)(?::([^:\[\]]*))?", place)
    if not found:
        raise InputError(f"executor {executor!r}: no address of a scheduler; {FORM}")
    port = found.group(2)
    if not port:
        raise InputError(f"executor {executor!r}: no port; {FORM}, such as {PREFIX}{found.group(1)}:8786")
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise InputError(f"executor {executor!r}: expected a port from 1 to 65535, but got {port!r}")
    return asked


def address(place: str, *, encrypted: bool = False) -> str:
    """Return the address of a scheduler as Dask writes it; reads a scheduler file.

    ``encrypted`` says that Dask's configuration wants encryption, so that an address without a scheme has TLS.
    """
    if place.endswith(".json"):
        return _in_file(place)
    return place if place.startswith(TLS) else f"{TLS if encrypted else 'tcp://'}{place}"


def _in_file(path: str) -> str:
    how = "dask scheduler --scheduler-file writes one"
    if not os.path.isfile(path):
        raise InputError(f"executor: no scheduler file {path}; {how}")
    until = time.monotonic() + FLUSH
    while True:
        try:
            with open(path, encoding="utf-8") as stream:
                held = json.load(stream)
            break
        except OSError as error:
            raise InputError(f"executor: {path}: cannot be read ({error.strerror}); check its permissions") from error
        except ValueError as error:  # a scheduler that starts has made it, but not written it yet
            if time.monotonic() > until:
                raise InputError(f"executor: {path}: no JSON ({error}), so no scheduler file; {how}") from error
            time.sleep(0.1)
    told = held.get("address") if isinstance(held, dict) else None
    if not isinstance(told, str) or not re.fullmatch(r"[a-z]+://\S+:[0-9]{1,5}", told):
        got = f"address {told!r}" if told is not None else "no address"
        raise InputError(f"executor: {path}: expected an address such as tcp://HOST:PORT, but got {got}; {how}")
    return told


def library() -> Any:
    """Return Dask's distributed, or say how to get it."""
    try:
        import distributed
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise MissingExtraError("executor dask needs distributed: pip install 'gnomon[cluster]'") from error
    return distributed


@contextlib.contextmanager
def started(workers: int) -> Iterator[Any]:
    """Start a cluster in this process and give its client; it ends with the block.

    Its workers are threads. Cells are done by processes of their own anyway, and processes of Dask's would run the
    script again that calls this, unless it is written for that. Dask puts the scratch folder of each worker first on
    the path of modules: it is a folder that no other account can write to, and it is taken off the path.
    """
    distributed = library()
    kinds = {name: type(name, (_Portless, getattr(distributed, name)), {}) for name in ("Scheduler", "Worker")}
    with tempfile.TemporaryDirectory(prefix="gnomon-") as scratch:
        common = {"protocol": "inproc://", "dashboard": False, "local_directory": scratch}
        # What this process holds is no reason for a worker to pause.
        options = {**common, "nthreads": 1, "memory_limit": None, "silence_logs": logging.CRITICAL}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # on a machine without a network, of no address being found
            cluster = distributed.SpecCluster(
                scheduler={"cls": kinds["Scheduler"], "options": common},
                workers={number: {"cls": kinds["Worker"], "options": options} for number in range(workers)},
                silence_logs=logging.CRITICAL,
            )
        try:
            sys.path[:] = [place for place in sys.path if not os.fspath(place).startswith(scratch)]
            yield distributed.Client(cluster, set_as_default=False)
        finally:
            cluster.close(timeout=5)


class _Portless:
    """A scheduler or worker of Dask without its web server, which listens even where the dashboard is off."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no port."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let Dask's client say nothing by itself: a scheduler that is away is told by whoever waits for it."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def joined(place: str) -> Any:
    """Return a client of the cluster at a place; raises WorkError where none answers."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    distributed = library()
    security = distributed.Security()
    found = address(place, encrypted=bool(security.require_encryption))
    said = place if found == f"tcp://{place}" else found if found == place else f"{found} ({place})"
    try:
        arguments = security.get_connection_args("client")
    except OSError as error:  # also those of OpenSSL
        raise InputError(f"executor: the certificates of Dask cannot be used ({error}); {CERTIFICATES}") from error
    if found.startswith(TLS) and arguments["ssl_context"] is None:
        raise InputError(f"executor: {said} asks for a certificate; {CERTIFICATES}")
    with ThreadPoolExecutor(1) as apart:  # this thread may have a loop of its own that runs
        apart.submit(asyncio.run, _greeted(distributed, found, said, arguments)).result()
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(found, timeout=ANSWER, set_as_default=False, security=security)
    except BaseException as error:
        closed(client)
        if isinstance(error, (OSError, ValueError)):
            raise WorkError(f"no cluster answers at {said} ({error}); is the scheduler running?") from error
        raise
    return client


def risk(client: Any) -> str:
    """Return what joining a cluster without TLS means; empty for one with TLS."""
    found = str(client.scheduler.address)
    if found.startswith(TLS):
        return ""
    return (
        f"{found} asks for no certificate: whoever reaches that port can run code as the accounts of its workers and, "
        "by its replies, as you; use TLS (docs/security.md)"
    )


async def _greeted(distributed: Any, address: str, said: str, arguments: Mapping[str, Any]) -> None:
    """Raise unless a scheduler answers."""
    import asyncio

    try:
        async with asyncio.timeout(2 * ANSWER):
            kind = await _kind(distributed.comm.core, address, arguments)
    except TimeoutError as error:
        raise WorkError(
            f"no scheduler at {said}: a program listens there, but says nothing that Dask does within "
            f"{2 * ANSWER:g} s; check the port"
        ) from error
    except OSError as error:
        raise WorkError(f"no cluster answers at {said} ({error}); is the scheduler running?") from error
    except Exception as error:
        raise WorkError(
            f"no scheduler at {said}: a program listens there, but does not answer as Dask does "
            f"({type(error).__name__}: {error}); check the port, and that both have the same dask"
        ) from error
    if kind != "Scheduler":
        raise WorkError(f"no scheduler at {said}: a {str(kind).lower()} answers; give the address of its scheduler")


async def _kind(comms: Any, address: str, arguments: Mapping[str, Any]) -> Any:
    """Return what the program at an address says that it is."""
    comm = await comms.connect(address, timeout=ANSWER, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
    finally:
        comm.abort()
    return answer.get("type") if isinstance(answer, dict) else None


def closed(client: Any) -> None:
    """Close a client, also one that is half made, so that nothing is said when it is collected."""
    with contextlib.suppress(Exception):
        client.close(timeout=2)
    client.status = "closed"
