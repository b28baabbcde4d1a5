"""Bounds on connections: what a client can hold of the server that is slow, or means harm.

uvicorn bounds how long an idle connection is kept, but neither how long a client may take to send the head of a request
or to read an answer, nor how many connections there are. 300 connections that send half a head each use up the file
descriptors of a process that may have 256; after that no page is answered and no file of a run is opened. The bounds:

- The head of a request has to be complete :data:`HEAD_S` seconds after the connection was made, or after the first byte
  where the connection was used before. So has whatever a client still sends after it was answered.
- Of an answer that waits to be sent, a client has to take :data:`LEAST_SENT` bytes in :data:`SEND_S` seconds.
- There are at most :func:`most_connections` connections: half of the descriptors that the process may have. The other
  half is for files. Beyond that, the oldest connection on which no request is worked on is closed for a new one; where
  all of them are at work, the new one is refused with code 503.
- At most :func:`most_streams` of them follow work that is under way, so that these cannot take all.
"""

from __future__ import annotations

import asyncio
import functools
import resource
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
SEND_S = 30.0
LEAST_SENT = 1 << 16
LOOK_S = 1.0
"""Seconds between looks at a connection."""
MOST, MOST_STREAMS = 512, 32
"""Connections and streams where descriptors are many."""
ACCEPTED = 4
"""Connections that asyncio accepts before it looks at the first: each holds a descriptor before it can be counted."""
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"retry-after: 5\r\n\r\nToo many connections: try again in a few seconds.\n"
)


@functools.cache
def most_connections() -> int:
    """Return how many connections there may be at a time."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if limit == resource.RLIM_INFINITY else max(4, min(MOST, limit // 2))


def most_streams() -> int:
    """Return how many of the connections may follow work that is under way."""
    return min(MOST_STREAMS, most_connections() // 2)


class BoundedProtocol(H11Protocol):
    """HTTP on one connection, within the bounds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection, and make room for it where there are too many."""
        super().connection_made(transport)
        now = self.loop.time()
        self.opened = now
        self.head_since: float | None = now
        """Since when a head is waited for; None while a request is worked on, or where nothing of the next came."""
        self.unsent, self.sent_at = 0, now
        """Bytes that waited to be sent when enough of them was last taken, and when that was."""
        self.is_ended = False
        """Whether it was closed for one of the bounds; its descriptor is free in a moment."""
        self.timer = self.loop.call_later(LOOK_S, self._look)
        others = [one for one in cast("set[BoundedProtocol]", self.connections) if one is not self and not one.is_ended]
        if len(others) < most_connections():
            return
        waiting = [one for one in others if not one.is_at_work]
        if waiting:
            min(waiting, key=lambda one: (one.transport.get_write_buffer_size() > 0, one.opened)).end()
        else:
            self.is_ended = True
            transport.write(REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self.timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what a client sent; a complete head of a request ends the wait for it."""
        if self.head_since is None and not self.is_at_work:
            self.head_since = self.loop.time()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self.head_since = None

    @property
    def is_at_work(self) -> bool:
        """Whether a request was received that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def end(self) -> None:
        """Close the connection at once; what waits to be sent is dropped."""
        self.is_ended = True
        self.transport.abort()

    def _look(self) -> None:
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if unsent == 0 or self.unsent == 0 or self.unsent - unsent >= LEAST_SENT:
            self.unsent, self.sent_at = unsent, now
        late = self.head_since is not None and now - self.head_since > HEAD_S
        if late or now - self.sent_at > SEND_S:
            self.end()
        else:
            self.timer = self.loop.call_later(LOOK_S, self._look)
