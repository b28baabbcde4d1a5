"""The application: which address gives which page, and what is answered when something is wrong."""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from gnomon.core import registry
from gnomon.core.errors import GnomonError, InputError, IntegrityError, MissingExtraError, counted
from gnomon.core.table import View
from gnomon.dashboard import listing, live, shell
from gnomon.dashboard.guard import Guard
from gnomon.dashboard.library import Library, NotHereError
from gnomon.intake.faults import release
from gnomon.report.markup import shortened, tag

LOG = logging.getLogger("gnomon.dashboard")
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "tex": "text/x-tex; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "bytes": "application/octet-stream",
}
ROOMS = {"static": ("gnomon.dashboard", "static"), "assets": ("gnomon.report", "assets")}
"""Where the files of pages are, by the first word of their address."""
PAUSE = 1.5
"""Seconds that the first list has the machine to itself."""
CODES = {NotHereError: 404, IntegrityError: 422, MissingExtraError: 501}
Answer = Callable[[Request], Response]


def application(root: Path, token: str = "", most_streams: int = 32) -> Guard:
    """Return the application over a folder of runs, which begins to read their list at once."""
    library = Library(root)
    threading.Thread(target=library.listed, daemon=True).start()
    made: dict[str, Answer] = {
        "/": partial(_list, library),
        "/run/{key:path}": partial(_run, library),
        "/together": partial(_together, library),
        "/compare": partial(_compare, library),
        "/board": partial(_board, library),
        "/case": partial(_case, library),
        "/file/{path:path}": partial(_foreign, library),
        "/item/{kind}/{place:int}/{file}": partial(_item, library),
        "/data/case": partial(_case_data, library),
        "/data/file/{path:path}": partial(_foreign_data, library),
        "/{room}/{file}": _file,
    }
    routes: list[BaseRoute] = [Route("/live", partial(_live, library, _Streams(most_streams)))]
    routes += [Route(path, _answering(library, answer)) for path, answer in made.items()]
    handlers: Mapping[Any, Any] = {HTTPException: _http_error, Exception: _internal_error}
    return Guard(Starlette(routes=routes, exception_handlers=dict(handlers)), token)


def _answering(library: Library, answer: Answer) -> Any:
    """Return an endpoint that works beside others, and says what is wrong with what was asked."""

    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except OSError as error:
            return _refused(request, 404, f"A file cannot be read ({error.strerror}): it may have gone meanwhile.")
        except GnomonError as error:
            release(error)
            code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 400)
            return _refused(request, code, library.told(error))

    return endpoint


def _html(body: bytes, code: int = 200) -> Response:
    return Response(body, code, media_type=TYPES["html"])


def _refused(request: Request, code: int, text: str) -> Response:
    """Say what is wrong: as JSON to scripts, as a page to people."""
    if request.url.path.startswith(("/data/", "/item/")):
        return Response(msgspec.json.encode({"error": shortened(text, 500)}), code, media_type=TYPES["json"])
    titles = {404: "Not here", 422: "This run cannot be read", 501: "Something is not installed"}
    back = tag("p", tag("a", "To the list of runs", href="/"))
    title = titles.get(code, "This cannot be shown")
    return _html(shell.page(title, shell.message(title, shortened(text, 1000), back)), code)


async def _http_error(request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    return _refused(request, code, "There is no such page." if code == 404 else f"The request was refused ({code}).")


async def _internal_error(request: Request, error: Exception) -> Response:
    LOG.error("%s: %s: %s", request.url.path, type(error).__name__, error, exc_info=error)
    return _refused(request, 500, f"Something went wrong here ({type(error).__name__}); the terminal says more.")


def _list(library: Library, request: Request) -> Response:
    asked = listing.Asked.of(request.query_params)
    content = listing.content(library.listed(), library.foreign(list(openers())), asked)
    return _html(shell.page("Runs", *content, scripts=("runs.js", "live.js"), wide=True))


def warm() -> None:
    """Load what the first page of a run needs, once somebody could have seen the list."""
    time.sleep(PAUSE)
    from gnomon.dashboard import gathering
    from gnomon.report import figures

    del gathering
    with contextlib.suppress(MissingExtraError):
        figures.inline(View("warm", "", "curves", {"x": "x", "y": "y", "series": [{"name": "a", "x": [1], "y": [1]}]}))


def _run(library: Library, request: Request) -> Response:
    from gnomon.dashboard import gathering, pages

    key = request.path_params["key"]
    found = gathering.gather(library, "together", [key], {})
    kept, damage = gathering.kept(library, [key])
    content = pages.run_page(found, gathering.alike(library, key), kept, damage)
    return _html(shell.page(shortened(found.runs[0].system, 80), *content, scripts=("figures.js",)))


def _together(library: Library, request: Request) -> Response:
    from gnomon.dashboard import gathering, pages

    like = request.query_params.get("like")
    keys = [item.key for item in gathering.alike(library, like)] if like else request.query_params.getlist("run")
    found = gathering.gather(library, "together", keys[: gathering.MOST_RUNS] if like else keys, {})
    content = pages.together_page(found, len(keys), gathering.kept(library, found.keys)[0])
    return _html(shell.page(counted(len(found.runs), "run"), *content, scripts=("figures.js",)))


def _compare(library: Library, request: Request) -> Response:
    from gnomon import api
    from gnomon.dashboard import gathering, pages
    from gnomon.runs.tables import ranked

    query = request.query_params
    found = gathering.gather(library, "compare", query.getlist("run"), query)
    names = [run.system for run in ranked(api.distinguished(found.runs))]
    kept, _ = gathering.kept(library, found.keys)
    content = pages.compare_page(found, query, names, kept)
    return _html(shell.page("Comparison", *content, scripts=("figures.js", "board.js")))


def _board(library: Library, request: Request) -> Response:
    from gnomon.dashboard import gathering, pages

    query = request.query_params
    found = gathering.gather(library, "board", query.getlist("run"), query)
    content = pages.board_page(found, query)
    return _html(shell.page("Board", *content, scripts=("figures.js", "board.js")))


def _case(library: Library, request: Request) -> Response:
    from gnomon.dashboard import gathering, pages

    keys = gathering.checked(request.query_params.getlist("run"))
    runs = gathering.read_all(library, keys)
    kept, damage = gathering.kept(library, keys)
    if not kept.entries:
        why = damage or "it was made by a suite that keeps none, or with --exhibits 0"
        raise InputError(f"no case of {keys[0]} can be looked at: {why}")
    case = request.query_params.get("case") or kept.entries[0].case
    content = pages.case_page(keys, runs, kept, case, gathering.alike(library, keys[0]))
    return _html(
        shell.page(shortened(case or "Case", 80), *content, scripts=("view.js",), styles=shell.STAGE, wide=True)
    )


def _case_data(library: Library, request: Request) -> Response:
    from gnomon.dashboard import gathering, wire

    query = request.query_params
    view = gathering.exhibit(library, query.getlist("run"), query.get("case", ""))
    return Response(wire.encode(view), media_type=TYPES["bytes"])


def _opener(library: Library, path: str) -> tuple[Path, Any]:
    """Return a file of another tool, and the module that opens files of its name."""
    folder, _, name = path.rpartition("/")
    found = library.file(folder, name)
    module = openers().get(name)
    if module is None or (found.parent / "manifest.json").exists():
        raise NotHereError(f"{name[:80]!r} is no result file of another tool; {', '.join(openers())} can be opened")
    return found, importlib.import_module(module)


def openers() -> dict[str, str]:
    """Return the modules that open result files of other tools, by the name of the file."""
    return {name: module for suite in registry.suites().values() for name, module in suite.opens.items()}


def _foreign(library: Library, request: Request) -> Response:
    from gnomon.dashboard import pages

    path = request.path_params["path"]
    file, module = _opener(library, path)
    names: list[str] = module.results(file)
    name = request.query_params.get("result", names[0] if names else "")
    content = pages.file_page(path, names, name)
    return _html(shell.page(shortened(path, 80), *content, scripts=("view.js",), styles=shell.STAGE, wide=True))


def _foreign_data(library: Library, request: Request) -> Response:
    from gnomon.dashboard import wire

    file, module = _opener(library, request.path_params["path"])
    view = module.shown(file, request.query_params.get("result", ""))
    return Response(wire.encode(view), media_type=TYPES["bytes"])


def _item(library: Library, request: Request) -> Response:
    """Answer with one table or figure of a page, as a file."""
    from gnomon.core.table import Table
    from gnomon.dashboard import gathering, pages
    from gnomon.report import figures, render

    query = request.query_params
    file = request.path_params["file"]
    suffix = file.rpartition(".")[2]
    found = gathering.gather(library, request.path_params["kind"], query.getlist("run"), query)
    item = found.item(request.path_params["place"])
    if isinstance(item, Table) and suffix in ("json", "csv", "tex"):
        text = render([item], {"tex": "latex"}.get(suffix, suffix), "dash").encode()
    elif not isinstance(item, Table) and suffix in ("svg", "png", "pdf"):
        inline = suffix == "svg" and "inline" in query
        text = (
            figures.inline(item, f"f{request.path_params['place']}").encode() if inline else figures.files(item)[suffix]
        )
    else:
        raise HTTPException(404)
    name = f"{pages.slug(item.name)}.{suffix}"
    headers = {} if "inline" in query else {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=TYPES[suffix], headers=headers)


def _file(request: Request) -> Response:
    """Answer with a file of the package; only those that are there by name."""
    room, name = request.path_params["room"], request.path_params["file"]
    suffix = Path(name).suffix
    if room not in ROOMS or suffix not in (".js", ".css", ".svg"):
        raise HTTPException(404)
    package, folder = ROOMS[room]
    known = {item.name: item for item in (files(package) / folder).iterdir()}
    if name not in known:
        raise HTTPException(404)
    headers = {"cache-control": "no-cache"}
    return Response(known[name].read_bytes(), media_type=TYPES[suffix], headers=headers)


@dataclass
class _Streams:
    """How many clients follow work that is under way."""

    most: int
    now: int = 0


class _Stream(StreamingResponse):
    """A stream that counts as long as it lasts."""

    def __init__(self, streams: _Streams, library: Library) -> None:
        super().__init__(live.stream(library), media_type="text/event-stream")
        self.streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves."""
        self.streams.now += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.streams.now -= 1


async def _live(library: Library, streams: _Streams, request: Request) -> Response:
    if streams.now >= streams.most:
        return _refused(request, 503, f"{streams.most} pages follow what is under way already; close some of them.")
    return _Stream(streams, library)
