"""A web server of the standard library on loopback, whose answers are up to whoever started it."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


@dataclass
class Answer:
    """What is answered to one path.

    Attributes
    ----------
    body, headers, status
        As they are sent.
    length
        The size that is announced; None announces none, and the default is that of the body.
    delay
        Seconds before each half of the body.
    """

    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    length: int | None = -1
    delay: float = 0.0


class Web:
    """Answers by path, and how often each was asked for; paths that are not there are 404."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.answers: dict[str, Answer] = {}
        self.asked: Counter[tuple[str, str]] = Counter()

    def put(self, path: str, body: bytes, tag: str = "", **more: object) -> str:
        """Serve a body, with an ETag where one is given; return its address."""
        headers = {"ETag": f'"{tag}"'} if tag else {}
        self.answers[path] = Answer(body, headers, **more)  # type: ignore[arg-type]
        return self.url + path

    def fetched(self, path: str) -> int:
        """Return how often a body was asked for."""
        return self.asked["GET", path]


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def _answer(self) -> None:
        web = self.server.web
        path = unquote(urlsplit(self.path).path)
        answer = web.answers.get(path, Answer(status=404))
        web.asked[self.command, path] += 1
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.length is not None:
            self.send_header("Content-Length", str(len(answer.body) if answer.length < 0 else answer.length))
        self.end_headers()
        if self.command == "GET":
            half = len(answer.body) // 2
            with contextlib.suppress(OSError):
                for part in (answer.body[:half], answer.body[half:]):
                    time.sleep(answer.delay)
                    self.wfile.write(part)
                    self.wfile.flush()

    do_GET = do_HEAD = _answer

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    web: Web


@contextlib.contextmanager
def serving() -> Iterator[Web]:
    """Start a server; it is stopped at the end."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.web = Web(server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.web
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
