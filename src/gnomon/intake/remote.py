"""Data by address: a URL where a path is expected, fetched once and kept.

A copy lies in ``CACHE/hash of the address/hash of the content/name``. It is fetched into a draft
(:mod:`gnomon.intake.drafts`) and published by one rename, under a lock that dies with its process, so that nothing
under its final name is half, and two processes fetch once. It is fetched again when the remote says that it changed,
or says nothing by which that could be known; a copy of other content lies beside it, and one that no process uses any
more goes. Of a folder that did not come whole, the files that came wait beside it for the next time. The time stamps
of a copy are made from its content: the same bytes have the same stamp on every machine.

``file://`` and ``local://`` lie on this machine already and are used where they are. An address of a folder ends in a
slash (or is one by what the remote says); ``https://host/day/./truth/a.json`` means a file in a folder that is fetched
whole, for files that need others beside them.

Who reads results must not see where copies lie, nor passwords and signatures: :func:`recorded` gives addresses back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from gnomon.core import options as opt
from gnomon.core.canonical import encode_pretty, fingerprint
from gnomon.core.errors import GnomonError, InputError, WorkError
from gnomon.intake import fetching
from gnomon.intake.addresses import (
    HERE,
    changed,
    cleaned,
    halves,
    is_address,
    name_of,
    parted,
    protocol,
    texts,
    under,
)
from gnomon.intake.drafts import new_draft, publish_draft, sweep_drafts
from gnomon.intake.faults import shown

CACHE = "GNOMON_CACHE"
DRAFT = "draft-"
LOCK = ".lock"
BEGUN = "begun"
"""The folder of files of a folder of which others did not come."""
_copies: dict[str, str] = {}
"""The copies that this process uses: their path, and the address, with all that is secret in it."""
_held: dict[str, int] = {}
"""Open handles of the lock files of these copies, which keep others from removing them."""


def cache() -> Path:
    """Return the folder of copies: ``GNOMON_CACHE``, else ``gnomon/remote`` in the user's folder of caches."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    named = os.environ.get(CACHE) or os.path.join(home, "gnomon", "remote")
    return Path(os.path.realpath(os.path.expanduser(named)))


def local(where: str | os.PathLike[str], *, content: str = "", stream: IO[str] | None = None) -> Path:
    """Return the path of data on this machine: a path itself, or that of a copy of what lies at an address.

    Parameters
    ----------
    where
        A path or an address.
    content
        Hash of the content that is wanted, as in the path of a copy; a copy of it is used without asking the remote,
        and a remote that has other content by now is an error.
    stream
        Where it is said that something is fetched.

    Raises
    ------
    InputError
        There is nothing, or nothing of an allowed size, or one is not let in.
    WorkError
        There is no connection, the transfer was cut off, or the disk is full.
    """
    text = os.fspath(where)
    if not is_address(text):
        return Path(text)
    if protocol(text) in HERE:
        return _here(text)
    url, inner = halves(text)
    copy = _copy(url, content, stream)
    _copies[os.fspath(copy)] = url
    path = Path(os.path.normpath(copy / inner))
    if not (path.exists() and path.is_relative_to(copy)):
        raise InputError(f"{cleaned(url)}: holds no {shown(inner)}; check the address")
    return path


def _here(url: str) -> Path:
    rest = url.partition("://")[2]
    path = Path(rest.removeprefix("localhost") if rest.startswith("localhost/") else rest)
    if not path.exists() and "%" in rest:
        from urllib.parse import unquote

        return Path(unquote(os.fspath(path)))
    return path


@dataclass(frozen=True)
class Known:
    """What is recorded of a copy, beside it."""

    content: str
    told: str
    bytes: int
    files: int


def _copy(url: str, content: str, stream: IO[str] | None) -> Path:
    """Return the copy of an address, fetched where there is none of what lies there now."""
    home = cache() / hashlib.sha256(url.encode()).hexdigest()[:24]
    name = name_of(url)
    with _locked(home, url):
        known = {item.content: item for item in _records(home) if _whole(home, item, name)}
        if content not in known:
            remote = fetching.look(url)
            same = [key for key, item in known.items() if remote.told and item.told == remote.told]
            found = same[0] if same else _fetched(home, name, remote, known, stream)
            if content and content != found:
                raise InputError(
                    f"{cleaned(url)}: changed since this work began; give the same command again, for what is there now"
                )
            content = found
        _hold(home / content)
    return home / content / name


@contextlib.contextmanager
def _locked(home: Path, url: str) -> Iterator[None]:
    """Hold the lock of an address; drafts of processes that died go, and faults of the disk are named."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.mkdir(exist_ok=True, mode=0o700)
        handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            sweep_drafts(home, DRAFT)
            yield
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in fetching.FULL:
            raise WorkError(fetching.full(url, "it could not be written")) from error
        why = f"no copy can be kept in {home.parent} ({error.strerror or error})"
        raise WorkError(f"{cleaned(url)}: {why}; set {CACHE} to a folder that can be written to") from error


def _records(home: Path) -> Iterator[Known]:
    for path in sorted(home.glob("*.json")):
        try:
            held = json.loads(path.read_bytes())
            yield Known(str(held["content"]), str(held["told"]), int(held["bytes"]), int(held["files"]))
        except (ValueError, KeyError, TypeError):  # not as it was written: as if it were not there
            continue


def _whole(home: Path, known: Known, name: str) -> bool:
    """Tell whether a copy has as many files and bytes as when it was published."""
    sizes = [path.stat().st_size for path in _files(home / known.content / name)]
    return (len(sizes), sum(sizes)) == (known.files, known.bytes)


def _files(copy: Path) -> list[Path]:
    return [copy] if copy.is_file() else sorted(path for path in copy.rglob("*") if path.is_file())


def _fetched(home: Path, name: str, remote: fetching.Remote, known: Mapping[str, Known], stream: IO[str] | None) -> str:
    """Fetch what lies at an address; return the hash of its content."""
    where = cleaned(remote.url)
    if stream is not None:
        stream.write(f"fetching {where} ({remote.bytes / 1e6:,.1f} MB)\n")
        stream.flush()
    with new_draft(home, DRAFT) as draft:
        remote.fetch(draft / name, home / BEGUN)
        content, sizes = _stamped(draft / name)
        same = Known(content, remote.told, sum(sizes), len(sizes))
        if content not in known:
            publish_draft(draft, home / content, lambda _: _whole(home, same, name))
        facts = {} if remote.folder else dict(remote.entries[0].facts)
        about = {**asdict(same), "url": where, "name": name, "facts": facts, "fetched": round(time.time())}
        written = home / f"{content}.record"
        written.write_bytes(encode_pretty(about))
        written.rename(home / f"{content}.json")
    _sweep(home, content)
    return content


def _stamped(copy: Path) -> tuple[str, list[int]]:
    """Give files time stamps by their content; return the hash of all of it, and the sizes of the files."""
    listed, sizes = [], []
    for path in _files(copy):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        sizes.append(path.stat().st_size)
        stamp = int(digest[:15], 16) % (2**31 * 10**9)
        os.utime(path, ns=(stamp, stamp))
        listed.append([path.relative_to(copy).as_posix(), digest])
    return (str(listed[0][1]) if copy.is_file() else fingerprint(listed))[:24], sizes


def _hold(folder: Path) -> None:
    """Keep others from removing a copy while this process lives.

    The lock is that of a file beside the copy: those of folders are not seen by other machines.
    """
    if os.fspath(folder) not in _held:
        handle = os.open(f"{folder}{LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_SH)
        _held[os.fspath(folder)] = handle


def _sweep(home: Path, kept: str) -> None:
    """Remove copies of other content that no process uses."""
    for folder in home.iterdir():
        if folder.name == kept or folder.name.startswith(DRAFT) or not folder.is_dir():
            continue
        handle = os.open(f"{folder}{LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            (home / f"{folder.name}.json").unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            os.unlink(f"{folder}{LOCK}")
        finally:
            os.close(handle)


def resolved(options: Any, stream: IO[str] | None = None) -> Any:
    """Return options of a verb in which addresses of data are paths of copies, alone, as ``NAME=ADDRESS`` or by name.

    What is in memory stays as it is, whatever texts it holds.
    """
    names = [item.name for item in opt.parameters(type(options)) if item.reads]
    return replace(options, **{name: _resolved(getattr(options, name), stream) for name in names})


def _resolved(value: Any, stream: IO[str] | None) -> Any:
    if isinstance(value, tuple):
        return tuple(_resolved(item, stream) for item in value)
    if isinstance(value, Mapping) and any(isinstance(item, str) for item in value.values()):
        return {key: _resolved(item, stream) if isinstance(item, str) else item for key, item in value.items()}
    name, url = parted(value) if isinstance(value, str) else ("", "")
    if not url:
        return value
    path = os.fspath(local(url, stream=stream))
    return f"{name}={path}" if name else path


def recorded(value: Any) -> Any:
    """Return plain data or a text with addresses in place of the paths of their copies, and nothing secret in them."""
    return changed(value, _recorded)


def _recorded(text: str) -> str:
    for copy, url in _copies.items():
        beside = os.path.dirname(copy)
        if beside in text:
            shown_url = cleaned(url).rstrip("/")
            text = text.replace(copy, shown_url).replace(beside, shown_url.partition("?")[0].rpartition("/")[0])
    return cleaned(text)


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Let errors inside speak of addresses and not of copies."""
    try:
        yield
    except GnomonError as error:
        error.args = tuple(recorded(error.args))
        raise


def sources(value: Any) -> dict[str, str]:
    """Return the copies that plain data names, with their addresses: what another machine needs to fetch them itself.

    Addresses are as they were given, with what is secret in them.
    """
    return {copy: _copies[copy] for copy in _used(value, _copies)}


def brought(value: Any, addresses: Mapping[str, str]) -> Any:
    """Return plain data with copies of another machine replaced by own ones, fetched where they are not seen here.

    Parameters
    ----------
    value
        Plain data that may name copies.
    addresses
        From :func:`sources` of the other machine.

    Raises
    ------
    InputError, WorkError
        As :func:`local`; also where the remote has other content than the copy of the other machine.
    """
    unseen = [copy for copy in _used(value, addresses) if not os.path.exists(copy)]
    moves = {copy: os.fspath(local(addresses[copy], content=Path(copy).parent.name)) for copy in unseen}

    def moved(text: str) -> str:
        copy = next((copy for copy in moves if under(text, copy)), "")
        return moves[copy] + text[len(copy) :] if copy else text

    return changed(value, moved) if moves else value


def _used(value: Any, copies: Mapping[str, str]) -> list[str]:
    """Return which of some copies plain data names."""
    found = set(texts(value)) if copies else set()
    return [copy for copy in copies if any(under(text, copy) for text in found)]
