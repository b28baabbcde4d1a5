"""The guard: who may ask, and what every answer carries."""

import pytest

from gnomon.core.errors import InputError
from gnomon.dashboard.app import application
from gnomon.dashboard.serving import Address

from .conftest import Client

TOKEN = "t" * 24


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/shell.js", "/run/nope", "/data/case"])
def test_every_answer_carries_the_headers_of_safety(client, path):
    found = client.get(path).headers
    assert found["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in found["content-security-policy"]
    assert found["x-content-type-options"] == "nosniff"
    assert found["x-frame-options"] == "DENY"
    assert found["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_read_only(client, method):
    assert client.get("/", method).code == 405


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:8765", 200),
        ("localhost", 200),
        ("[::1]:8765", 200),
        ("127.0.0.2:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("localhost.evil.example:8765", 421),
    ],
)
def test_on_loopback_only_names_of_loopback_are_answered(made, host, code):
    """A page of another site that lets its own name resolve to 127.0.0.1 must not read the runs."""
    assert Client(application(made), host).get("/").code == code


def test_with_a_token_nothing_is_shown_without_it(made):
    client = Client(application(made, TOKEN), "machine.example:8765")
    assert client.get("/").code == 401
    assert client.get("/static/shell.js").code == 401
    assert client.get("/?token=wrong").code == 401
    assert client.get("/", cookie="gnomon_token_8765=wrong").code == 401
    assert "good" not in client.get("/").text


def test_the_token_becomes_a_cookie_and_leaves_the_address(made):
    client = Client(application(made, TOKEN), "machine.example:8765")
    found = client.get(f"/?suite=labels&token={TOKEN}")
    assert found.code == 303
    assert found.headers["location"] == "/?suite=labels"
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    for others in ("", "a={1: 2}; ", "odd; ", "x=a b@[c]; "):
        assert client.get("/", cookie=f"{others}gnomon_token_8765={TOKEN}").code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_nothing(host):
    assert Address(host).settled().token == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "machine.example"])
def test_beyond_loopback_needs_a_flag_and_makes_a_token(host):
    with pytest.raises(InputError, match="--allow-remote"):
        Address(host).settled()
    made = Address(host, remote=True).settled()
    assert len(made.token) >= 24
    assert made.token != Address(host, remote=True).settled().token


def test_a_short_token_is_refused():
    with pytest.raises(InputError, match="expected at least 16"):
        Address("0.0.0.0", remote=True, token="short").settled()


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    import sys

    from gnomon.core.errors import MissingExtraError
    from gnomon.dashboard import serving

    for name in [name for name in sys.modules if name.startswith(("starlette", "uvicorn", "gnomon.dashboard.app"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"gnomon\[dashboard\]"):
        serving.serve(tmp_path, Address(), lambda _: None)
