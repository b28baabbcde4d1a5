"""How a cluster that runs already is joined: the form of its address, its scheduler file, and who answers there.

An address is checked before anything is done with it. Whoever listens there has to answer as a scheduler does, within
a bound: Dask's own client waits without one for the answer of a program that is none.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from gnomon.core.errors import InputError, MissingExtraError, WorkError
from gnomon.engine.options import CLUSTER

ANSWER = 10.0
"""Seconds within which a scheduler has to be reached; it has as many again to answer."""
FLUSH = 1.0
"""Seconds that a scheduler file may take to be written."""
PREFIX = f"{CLUSTER}://"
FORM = f"expected {PREFIX}HOST:PORT or {PREFIX}FILE.json"


def is_cluster(executor: str) -> bool:
    """Say whether an executor is a cluster, started here or joined.

    >>> is_cluster("dask"), is_cluster("dask://10.0.0.5:8786"), is_cluster("dasky")
    (True, True, False)
    """
    return executor == CLUSTER or executor.startswith(PREFIX)


def where(executor: str) -> str:
    """Return where a cluster is joined: ``HOST:PORT`` or a file; empty for one that is started here.

    >>> where("dask"), where("dask://10.0.0.5:8786"), where("dask://cluster.json")
    ('', '10.0.0.5:8786', 'cluster.json')
    """
    if executor == CLUSTER:
        return ""
    place = executor.removeprefix(PREFIX)
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
    return place


def address(place: str) -> str:
    """Return the address of a scheduler as Dask writes it; reads a scheduler file."""
    return _in_file(place) if place.endswith(".json") else f"tcp://{place}"


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
    """Start a cluster here and give its client; it ends with the block.

    Its workers are threads that talk over loopback. Cells are done by processes of their own anyway, and processes of
    Dask's would run the script again that calls this, unless it is written for that.
    """
    distributed = library()
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=None,  # what this process holds is no reason for a worker to pause
        silence_logs=50,
    )
    try:
        yield distributed.Client(cluster, set_as_default=False)
    finally:
        cluster.close(timeout=5)


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

    distributed, found = library(), address(place)
    said = place if found == f"tcp://{place}" else f"{found} ({place})"
    if found.startswith("tcp://"):  # with TLS, reaching it is a handshake already, and bounded
        with ThreadPoolExecutor(1) as apart:  # this thread may have a loop of its own that runs
            apart.submit(asyncio.run, _greeted(distributed, found, said)).result()
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(found, timeout=ANSWER, set_as_default=False)
    except BaseException as error:
        closed(client)
        if isinstance(error, (OSError, ValueError)):
            raise WorkError(f"no cluster answers at {said} ({error}); is the scheduler running?") from error
        raise
    return client


async def _greeted(distributed: Any, address: str, said: str) -> None:
    """Raise unless a scheduler answers."""
    import asyncio

    try:
        async with asyncio.timeout(2 * ANSWER):
            kind = await _kind(distributed.comm.core, address)
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


async def _kind(comms: Any, address: str) -> Any:
    """Return what the program at an address says that it is."""
    comm = await comms.connect(address, timeout=ANSWER)
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
