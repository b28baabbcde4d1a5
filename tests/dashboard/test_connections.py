"""Clients that hold connections: a server with few file descriptors still answers, and gets all of them back.

The server is a process of its own on loopback that may have 128 descriptors; it is ended by its process id.
"""

import contextlib
import http.client
import os
import re
import resource
import socket
import subprocess
import sys
import time

import pytest

DESCRIPTORS = 128
HELD = 300
ANSWER_S = 10.0
"""Seconds within which an ordinary request has to be answered, whatever others do; on a busy machine."""
SERVE = """
import sys
from pathlib import Path
from gnomon.dashboard import app, serving
app.warm = lambda: None  # which opens files of its own
bounds = dict(item.split("=") for item in sys.argv[2:])
if bounds:
    from gnomon.dashboard import connections, live
    streams = bounds.pop("streams", None)
    if streams:
        connections.most_streams = lambda: int(streams)
    for name, value in bounds.items():
        setattr(live if name == "LONGEST" else connections, name, int(value))
serving.serve(Path(sys.argv[1]), serving.Address(port=0), lambda url: print(url, flush=True))
"""


class Server:
    """A server that listens."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self.get("/")  # what is loaded once is loaded
        time.sleep(0.5)
        self.idle = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, data=b"", receive_buffer=0):
        made = socket.socket()
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.settimeout(ANSWER_S)
        made.connect(("127.0.0.1", self.port))
        made.sendall(data)
        return made

    def get(self, path):
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            asked.request("GET", path)
            found = asked.getresponse()
            found.read()
            return found.status
        finally:
            asked.close()

    def check_recovers(self, seconds=15.0):
        """Wait until the server holds no more than when it had nothing to do."""
        until = time.monotonic() + seconds
        while self.descriptors() > self.idle and time.monotonic() < until:
            time.sleep(0.2)
        assert self.descriptors() <= self.idle
        assert self.get("/") == 200


@pytest.fixture
def serve(made):
    """Start a server with some bounds changed."""
    with contextlib.ExitStack() as stack:

        def start(**bounds):
            limits = (DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(made), *(f"{name}={value}" for name, value in bounds.items())],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
            )
            stack.callback(process.stdout.close)
            stack.callback(process.wait, 30)
            stack.callback(process.kill)
            found = re.search(r":(\d+)/", process.stdout.readline())
            return Server(process, int(found[1]))

        yield start


@pytest.fixture
def held():
    """Sockets that are closed in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda made: stack.enter_context(contextlib.closing(made))


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_half_open_connections_do_not_stop_the_server(serve, held, sent):
    server = serve()
    for _ in range(HELD):
        held(server.connect(sent))
    begun = time.monotonic()
    assert [server.get("/") for _ in range(5)] == [200] * 5
    assert time.monotonic() - begun < ANSWER_S
    assert server.descriptors() < DESCRIPTORS * 3 // 4


@pytest.mark.slow
def test_all_descriptors_come_back(serve, held):
    """Of clients that leave, and of clients that stay, but do not go on."""
    server = serve(HEAD_S=2)
    gone = [server.connect(b"GET / HT") for _ in range(HELD)]
    for one in gone:
        one.close()
    server.check_recovers()
    for _ in range(HELD):
        held(server.connect(b"GET / HT"))
    server.check_recovers()


def test_a_head_that_comes_byte_by_byte_is_cut_off(serve, held):
    server = serve(HEAD_S=2)
    slow, begun = held(server.connect(b"GET / HTTP/1.1\r\nX-Slow: ")), time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - begun < 20:
            slow.sendall(b"x")
            time.sleep(0.2)
    assert time.monotonic() - begun < 15
    server.check_recovers()


@pytest.mark.slow
def test_a_used_connection_has_as_long_for_its_next_head(serve, held):
    server = serve(HEAD_S=2)
    slow = held(server.connect(b"GET /static/shell.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
    assert slow.recv(100).startswith(b"HTTP/1.1 200")
    time.sleep(3)  # nothing is asked, and nothing is half asked
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - begun < 20:
            slow.sendall(b"G" if time.monotonic() - begun < 0.1 else b"E")
            time.sleep(0.2)
    assert time.monotonic() - begun < 15
    server.check_recovers()


def test_a_body_that_nobody_asked_for_is_cut_off(serve, held):
    server = serve(HEAD_S=2)
    slow = held(server.connect(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n"))
    assert slow.recv(100).startswith(b"HTTP/1.1 405")
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - begun < 20:
            slow.sendall(b"x")
            time.sleep(0.2)
    assert time.monotonic() - begun < 15
    server.check_recovers()


def test_clients_that_never_read_are_cut_off(serve, held):
    """Each asks for more than the buffers of the kernel take; answers to the first requests stay in them."""
    server = serve(SEND_S=2)
    asked = b"GET /static/shell.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2000
    for _ in range(5):
        held(server.connect(asked, receive_buffer=4096))
    assert server.get("/") == 200
    time.sleep(1)
    assert server.descriptors() > server.idle
    server.check_recovers()


@pytest.mark.slow
def test_streams_leave_room_for_pages(serve, held):
    """Those that are too many are refused; those that are there go on, and end after a while."""
    server = serve(LONGEST=8)
    ask = b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answers = [held(server.connect(ask)).recv(100)[:12] for _ in range(50)]
    assert answers == [b"HTTP/1.1 200"] * 32 + [b"HTTP/1.1 503"] * 18
    for _ in range(HELD):
        held(server.connect(b"GET / HT"))
    assert server.get("/") == 200
    time.sleep(9)
    assert held(server.connect(ask)).recv(100)[:12] == b"HTTP/1.1 200"


def test_a_connection_too_many_is_refused_where_all_are_at_work(serve, held):
    server = serve(MOST=4, streams=4)
    ask = b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    streams = [held(server.connect(ask)) for _ in range(4)]
    assert [one.recv(100)[:12] for one in streams] == [b"HTTP/1.1 200"] * 4
    more = held(server.connect())
    told = more.recv(1000)
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b"Too many connections" in told
    assert more.recv(1000) == b""
    streams[0].close()
    time.sleep(1)
    assert server.get("/") == 200
