"""Who may ask, and what a page may do: host names, a token beyond loopback, a strict content-security policy."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlencode

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gnomon.dashboard import shell
from gnomon.dashboard.addresses import is_loopback

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
COOKIE = "gnomon_token"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
METHODS = ("GET", "HEAD")


class Guard:
    """Wraps an application: refuses what may not be asked, and puts the headers of safety on every answer."""

    def __init__(self, app: ASGIApp, token: str = "") -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refusal(scope)
        await (refused or self.app)(scope, receive, _safe(send))

    def _refusal(self, scope: Scope) -> Response | None:
        if scope["method"] not in METHODS:
            return PlainTextResponse("This dashboard is read-only.\n", 405, {"allow": ", ".join(METHODS)})
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.token:
            # A page of another site could reach loopback by a name of its own that resolves to it.
            name = _host(headers.get("host", ""))
            allowed = name in LOOPBACK or is_loopback(name)
            return None if allowed else PlainTextResponse("Unknown host: use localhost or 127.0.0.1.\n", 421)
        return self._checked(scope, headers)

    def _checked(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = query.pop("token", [""])[0]
        if given and hmac.compare_digest(given.encode(), self.token.encode()):
            rest = urlencode(query, doseq=True)
            path = "/" + scope["path"].lstrip("/\\")
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(_cookie(headers), self.token, httponly=True, samesite="lax", path="/")
            return answer
        cookies = dict(part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";"))
        if hmac.compare_digest(cookies.get(_cookie(headers), "").encode(), self.token.encode()):
            return None
        text = "Open the address that 'gnomon serve' printed, with its ?token=..."
        return HTMLResponse(shell.page("Token needed", shell.message("A token is needed", text)), 401)


def _cookie(headers: dict[str, str]) -> str:
    """Name the cookie after the port, since cookies of one host are shared by all of its ports."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _host(value: str) -> str:
    """Return the name in a Host header without its port.

    >>> _host("localhost:8000"), _host("[::1]:8000"), _host("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0].lower()


def _safe(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            caching = [] if b"cache-control" in names else [(b"cache-control", b"no-store")]
            message = {**message, "headers": [*message["headers"], *more, *caching]}
        await send(message)

    return sending
