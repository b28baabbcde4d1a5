"""Starting the server: on loopback, unless it is asked to do otherwise in so many words."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.dashboard.addresses import is_loopback

LEAST_TOKEN = 16
"""Characters of a token that is given."""
QUEUE = 128
"""Connections that wait in the kernel until they are accepted."""


@dataclass(frozen=True)
class Address:
    """Where the server listens."""

    host: str = "127.0.0.1"
    port: int = 8765
    remote: bool = False
    """Whether other machines may ask; they need the token."""
    token: str = ""

    def settled(self) -> Address:
        """Return the address with its token, or say what is missing."""
        if is_loopback(self.host):
            return self
        if not self.remote:
            raise InputError(
                f"--host {self.host}: other machines could read your runs there; add --allow-remote if that is meant, "
                "and they will need a token"
            )
        if self.token and len(self.token) < LEAST_TOKEN:
            raise InputError(f"--token: got {len(self.token)} characters, expected at least {LEAST_TOKEN}")
        return Address(self.host, self.port, True, self.token or secrets.token_urlsafe(24))


def serve(runs: Path, address: Address, ready: Callable[[str], None]) -> None:
    """Serve a folder of runs until interrupted; ``ready`` is told the address to open."""
    try:
        import uvicorn

        from gnomon.dashboard import connections
        from gnomon.dashboard.app import application, warm
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("uvicorn", "starlette"):
            raise
        raise MissingExtraError(
            f"the dashboard needs {error.name}, which is not installed: pip install 'gnomon[dashboard]'"
        ) from error
    own = address.settled()
    app = application(runs, own.token, connections.most_streams())
    listening = _bound(own)
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - no address that anybody could open
        host = socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        http=connections.BoundedProtocol,
        ws="none",
        loop="asyncio",
        backlog=connections.ACCEPTED,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    threading.Thread(target=warm, daemon=True).start()
    ready(f"http://{shown}:{port}/" + (f"?token={own.token}" if own.token else ""))
    uvicorn.Server(config).run(sockets=[listening])


class _Listening(socket.socket):
    """A socket with a queue of its own length: asyncio would make it as long as what it accepts at a time."""

    def listen(self, backlog: int = QUEUE, /) -> None:
        """Listen, or go on listening."""
        del backlog
        super().listen(QUEUE)


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = _Listening(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address.host.strip("[]"), address.port))
        made.listen()
    except OSError as error:
        made.close()
        raise InputError(
            f"port {address.port} of {address.host} cannot be used ({error.strerror}); choose another with --port, "
            "or --port 0 for any"
        ) from error
    return made
