"""A folder of small runs, and a client that calls the application without a network."""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

import gnomon

TRUTH = {"id": list(range(12)), "label": list("aabbabbaabab"), "group": list("xxxyyyzzzwww")}
GOOD = {"id": list(range(12)), "label": list("aabbabbaabba")}
POOR = {"id": list(range(12)), "label": list("abababababab")}


@dataclass
class Answer:
    code: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


class Client:
    """Speaks ASGI to an application."""

    def __init__(self, app, host="127.0.0.1:8765"):
        self.app, self.host = app, host

    def get(self, address, method="GET", **headers):
        return asyncio.run(self._ask(address, method, headers))

    async def _ask(self, address, method, headers):
        parts = urlsplit(address)
        given = {"host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "scheme": "http",
            "server": ("127.0.0.1", 8765),
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        head = sent[0]
        names = {name.decode(): value.decode() for name, value in head["headers"]}
        return Answer(head["status"], names, b"".join(part.get("body", b"") for part in sent[1:]))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Two runs in one folder and one in another."""
    root = tmp_path_factory.mktemp("library")
    gnomon.score("labels", TRUTH, {"good": GOOD, "poor": POOR}, out=root / "first")
    gnomon.score("labels", TRUTH, {"<b>odd</b>": POOR}, out=root / "second")
    return root


@pytest.fixture
def client(made):
    from gnomon.dashboard.app import application

    return Client(application(made))


@pytest.fixture
def keys(made):
    from gnomon.dashboard.library import Library

    return [item.key for item in Library(made).listed()]
