"""A hostile run directory neither breaks the dashboard nor runs in its pages, and nothing outside is shown.

Hostile clients do not stop it either: those that hold connections and send half a request, or follow what is under way.
"""

import contextlib
import io
import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

import gnomon
from acceptance.browsing import chromium, served
from acceptance.support import Promise

SCRIPT = "<script>window.ran=1</script><img src=x onerror=window.ran=1>\"'><svg onload=window.ran=1>"
CLIENTS, DESCRIPTORS = 300, 128
"""Clients that hold a connection, and the descriptors of the server that they hold it to."""
SECRET = "the-content-of-a-file-outside"
TRAVERSALS = (
    "/run/../../secret.json",
    "/run/..%2f..%2fsecret.json",
    "/run/%2e%2e/%2e%2e/secret.json",
    "/run/link-out",
    "/run/link-out/inner",
    "/file/../secret.json",
    "/file/link-out/scores.json",
    "/file/..%2fscores.json",
    "/static/..%2f..%2f..%2fpyproject.toml",
    "/assets/%2e%2e/page.py",
    "/data/file/..%2fsecret.json",
    "/data/case?run=../&case=x",
    "/item/together/0/x.csv?run=..%2f..",
    "/together?like=..%2f..",
)


def populate(root: Path) -> list[str]:
    """Make runs, each with something hostile in it, and return their names."""
    ids = [f"{SCRIPT}{n}" for n in range(6)]
    truth = {"id": ids, "label": [SCRIPT, "b"] * 3, "group": [SCRIPT, "x", "y"] * 2}
    scored = gnomon.score("labels", truth, {"odd": {"id": ids, "label": ["b", SCRIPT] * 3}}, out=root)
    first = scored.runs[0].path
    assert first is not None
    bad = [first.name]

    def copy(name: str) -> Path:
        bad.append(name)
        shutil.copytree(first, root / name)
        return root / name

    said = json.loads((first / "manifest.json").read_text())
    said |= {"system": SCRIPT, "id": SCRIPT, "inputs": [{"path": SCRIPT}], "options": {"asked": {SCRIPT: SCRIPT}}}
    said["protocol"] |= {"name": SCRIPT, "version": SCRIPT, "variant": SCRIPT}
    said["summary"]["headline"] = SCRIPT
    audit = json.loads((first / "audit.json").read_text())
    words = ("id", "where", "evidence", "remedy")
    audit["findings"] = [{**dict.fromkeys(words, SCRIPT), "severity": "warning"}]
    audit["claims"] = [{"id": SCRIPT, "statement": SCRIPT, "supported": False, "missing": [SCRIPT]}]
    folder = copy("script-in-names")
    (folder / "manifest.json").write_text(json.dumps(said))
    (folder / "audit.json").write_text(json.dumps(audit))
    copy("a<script>window.ran=1<%2fscript>b".replace("/", "_"))
    with (copy("huge-json") / "manifest.json").open("r+b") as file:
        file.truncate(2 << 30)
    with (copy("huge-scores") / "scores.json").open("wb") as file:
        file.write(b'{"scores": [' + b"1," * (70 << 20) + b"1]}")
    (copy("deep-json") / "manifest.json").write_bytes(b"[" * 5_000_000)
    for name in ("manifest.json", "coverage.json", "scores.json", "audit.json", "tallies.npz", "predictions.parquet"):
        path = copy(f"truncated-{name}") / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        (copy(f"empty-{name}") / name).write_bytes(b"")
        (copy(f"missing-{name}") / name).unlink()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 29,)})
        with archive.open("index.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(1 << 9):
                member.write(bytes(1 << 20))
    for name in ("exhibits.npz", "tallies.npz"):
        (copy(f"bomb-{name}") / name).write_bytes(bomb.getvalue())
    (copy("link-inside") / "audit.json").unlink()
    (root / "link-inside" / "audit.json").symlink_to(root.parent / "secret.json")
    os.mkfifo(copy("pipe-inside") / "ledgers.npz.fifo")
    (root / "link-out").symlink_to(root.parent, target_is_directory=True)
    bad += _events(root)
    (root / "old").mkdir()
    result = {"recognizer": SCRIPT, "t1": 0, "t2": 9, "labels": [{"t1": 1, "t2": 2, "label": SCRIPT}], "detected": []}
    (root / "old" / "scores.json").write_text(json.dumps({"recognizers": [SCRIPT], "results": [result], "t": SCRIPT}))
    return bad


def _events(root: Path) -> list[str]:
    """Make a run whose labels, tags and ids are scripts, and copies of it whose exhibits are wrong in some way."""
    files = root.parent / "files"
    files.mkdir()
    case = {"id": SCRIPT, "t1": 0, "t2": 60, "subject": SCRIPT}
    true = [{"t1": 5, "t2": 20, "label": SCRIPT}, {"t1": 30, "t2": 40, "label": "b"}]
    (files / "truth.json").write_text(json.dumps({**case, "labels": true}))
    given = [{"t1": 6, "t2": 25, "label": SCRIPT}, {"t1": 41, "t2": 50, "label": f"{SCRIPT}2"}]
    (files / "results.json").write_text(json.dumps({SCRIPT: given}))
    truth, results = str(files / "truth.json"), str(files / "results.json")
    first = gnomon.score("events", [truth], [f"odd={results}"], out=root).runs[0].path
    assert first is not None
    with np.load(first / "exhibits.npz") as archive:
        arrays = dict(archive)
    wrong = {
        "nan": lambda array: np.full(array.shape, np.nan) if array.dtype.kind == "f" else array,
        "negative": lambda array: -array - 1 if array.dtype.kind == "f" else array,
        "shape": lambda array: array.reshape(1, -1) if array.dtype.kind == "f" else array,
        "empty": lambda array: array[:0] if array.dtype.kind == "f" else array,
        "text": lambda array: array.astype("U8") if array.dtype.kind == "f" else array,
        "codes": lambda array: np.full(array.shape, 60_000, "u2") if array.dtype.kind in "ui" and array.ndim else array,
    }
    names = [first.name]
    for name, change in wrong.items():
        shutil.copytree(first, root / f"exhibits-{name}")
        texts = ("index", "data")
        kept = {key: value if key.startswith(texts) else change(value) for key, value in arrays.items()}
        np.savez(root / f"exhibits-{name}" / "exhibits.npz", **kept)
        names.append(f"exhibits-{name}")
    return names


def asked(address: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def besiege(folder: Path, promise: Promise) -> None:
    """Hold connections to a server that may have few descriptors, ask for a page, and see what it keeps."""
    with served(folder, descriptors=DESCRIPTORS) as server:
        asked(server.address)
        time.sleep(5)  # what it loads beside the first page is loaded
        idle, port = server.descriptors(), urlsplit(server.address).port
        assert port is not None
        host = f"Host: 127.0.0.1:{port}".encode()
        kinds = {
            "that send nothing": b"",
            "with half a head": b"GET / HTTP/1.1\r\n" + host + b"\r\nX-Slow: ",
            "that follow what is under way": b"GET /live HTTP/1.1\r\n" + host + b"\r\n\r\n",
        }
        for kind, sent in kinds.items():
            with contextlib.ExitStack() as held:
                for _ in range(CLIENTS):
                    client = held.enter_context(socket.create_connection(("127.0.0.1", port), 10))
                    client.sendall(sent)
                begun = time.monotonic()
                code, _ = asked(server.address)
                promise.at_most(f"s to the list behind {CLIENTS} clients {kind} ({code})", time.monotonic() - begun, 5)
                promise.figure("it is answered", code, "200", code == 200)
                promise.at_most(f"of {DESCRIPTORS} descriptors in use", server.descriptors(), DESCRIPTORS * 3 // 4)
            until = time.monotonic() + 30
            while server.descriptors() > idle and time.monotonic() < until:
                time.sleep(0.2)
            promise.at_most("descriptors when they have left", server.descriptors(), idle)


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        root = Path(temporary) / "runs"
        root.mkdir()
        (root.parent / "secret.json").write_text(json.dumps({"findings": [], "claims": [], "secret": SECRET}))
        (root.parent / "scores.json").write_text(json.dumps({"secret": SECRET}))
        bad = populate(root)
        before = sorted(path.as_posix() for path in root.rglob("*"))
        page = browser.new_page()
        ran: list[str] = []
        broken: list[str] = []
        page.on("response", lambda found: broken.append(found.url) if found.status >= 500 else None)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
        with served(root) as server:
            base = server.address
            names = [*bad, "old"]
            paths = ["/", *(f"/run/{quote(name)}" for name in bad), *(f"/case?run={quote(name)}" for name in bad)]
            paths += [f"/together?like={quote(name)}" for name in bad] + [
                "/file/old/scores.json",
                f"/?q={quote(SCRIPT)}",
            ]
            paths += [f"/compare?run={quote(a)}&run={quote(b)}" for a, b in itertools.pairwise(bad)]
            codes: dict[int, int] = {}
            for path in paths:
                answer = page.goto(base + path, wait_until="load", timeout=120_000)
                codes[answer.status] = codes.get(answer.status, 0) + 1
                if "-v" in sys.argv:
                    print(answer.status, path, page.locator("main").inner_text()[:150].replace("\n", " | "))
                if page.locator("[data-source]").count():
                    page.locator("[data-source][data-ready], [data-source] [role=alert]").wait_for(timeout=60_000)
                page.wait_for_timeout(50)
                if page.evaluate("() => window.ran"):
                    ran.append(path)
            leaks = []
            for path in TRAVERSALS:
                code, body = asked(base + path)
                codes[code] = codes.get(code, 0) + 1
                if SECRET.encode() in body or code < 400:
                    leaks.append(path)
            code, body = asked(f"{base}/run/link-inside")
            leaks += ["link-inside"] if SECRET.encode() in body else []
            alive, body = asked(base)
            most = server.memory()
        page.close()
        shown = ", ".join(f"{count} x {code}" for code, count in sorted(codes.items()))
        print(f"   {len(paths)} pages of {len(names)} hostile folders and {len(TRAVERSALS)} ways out: {shown}")
        promise.figure("scripts that ran", len(ran), "0", not ran)
        promise.figure("ways out that showed something", ", ".join(leaks) or "0", "0", not leaks)
        promise.figure("errors of the server (500) or of a script", len(broken), "0", not broken)
        if "-v" in sys.argv:
            print("\n".join(broken))
        promise.at_most("MB of memory that the server needed", most, 1000)
        promise.figure("the list is still answered", alive, "200", alive == 200)
        after = sorted(path.as_posix() for path in root.rglob("*"))
        promise.figure("files written into the folder", len(set(after) - set(before)), "0", after == before)
        besiege(root, promise)
    promise.close()


if __name__ == "__main__":
    main()
