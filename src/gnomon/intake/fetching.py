"""Fetching through fsspec: what lies at an address, in which version, and a copy of it on this disk.

Whatever a protocol's library raises ends as one line that names the address, without what is secret in it: an
:class:`gnomon.core.errors.InputError` where another address or other rights would help, a
:class:`gnomon.core.errors.WorkError` where trying again may help.
"""

from __future__ import annotations

import errno
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import GnomonError, InputError, MissingExtraError, WorkError
from gnomon.intake.addresses import WEB, cleaned, protocol
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import DEFAULT, MAX_FILE_BYTES

SILENCE = 60.0
"""Seconds without a byte after which a web server is given up."""
MOST_FILES = 100_000
"""The most files of a folder."""
DEEPEST = 32
AT_ONCE = 8
YOUNG = 2.0
"""Seconds in which a file that is dated in seconds may change unseen."""
FULL = (errno.ENOSPC, errno.EDQUOT)
VERSIONS = re.compile(
    r"etag|md5(hash)?|content[-_]md5|digest|crc32c|checksum|sha256|generation|version_?id|oid|commit|"
    r"last[-_]?modified|[mc]time|modified|updated|created|date_time"
)
"""What file systems call that by which a file is known to have changed, in small letters."""


@dataclass(frozen=True)
class Entry:
    """A remote file: its path in what was asked for (empty: it is that itself), and what is told of it."""

    name: str
    path: str = field(repr=False)
    size: int | None
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Remote:
    """What lies at an address: one file, or a folder of files."""

    url: str = field(repr=False)
    system: Any = field(repr=False)
    entries: tuple[Entry, ...]

    @property
    def folder(self) -> bool:
        """Whether it is a folder."""
        return bool(self.entries[0].name)

    @property
    def bytes(self) -> int:
        """The size, as far as it is told."""
        return sum(entry.size or 0 for entry in self.entries)

    @property
    def told(self) -> str:
        """A hash that changes when the remote says that something changed; empty where it says nothing of a file."""
        if not all(entry.facts for entry in self.entries):
            return ""
        return fingerprint([[entry.name, entry.size, dict(entry.facts)] for entry in self.entries])

    def fetch(self, target: Path) -> None:
        """Fetch into a path where nothing is; what is cut off, too large or not to be stored is an error."""
        free = shutil.disk_usage(target.parent).free
        if self.bytes > free:
            raise WorkError(full(self.url, f"{self.bytes:,} bytes are wanted and {free:,} free"))
        with told_of(self.url):
            for entry in self.entries:
                (target / entry.name).parent.mkdir(parents=True, exist_ok=True)
            _each(self.system, lambda entry: self._get(entry, target / entry.name), self.entries)

    def _get(self, entry: Entry, target: Path) -> None:
        from fsspec.callbacks import Callback

        most = DEFAULT.raised().max_file_bytes
        _check_size(self.url, entry, entry.size or 0, most)
        bound = Callback(hooks={"most": lambda _, value, **__: _check_size(self.url, entry, value, most)})
        self.system.get_file(entry.path, str(target), callback=bound)
        if not target.is_file():
            raise WorkError(
                f"{cleaned(self.url)}: {shown(entry.name) or 'it'} is no file any more; give the same again"
            )
        got = target.stat().st_size
        if entry.size is not None and got != entry.size:
            raise WorkError(_cut_off(self.url, f"{got:,} of {entry.size:,} bytes came"))


def look(url: str) -> Remote:
    """Ask what lies at an address.

    Raises
    ------
    MissingExtraError
        fsspec is not installed.
    InputError
        The protocol is not known, nothing lies there, or one is not let in.
    WorkError
        There is no connection, or no answer in time.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError(f"{cleaned(url)}: needs fsspec: pip install 'gnomon[cluster]'") from error
    with told_of(url):
        system, path = url_to_fs(url, **_settings(url))
        system.invalidate_cache()
        about = {} if url.endswith("/") else system.info(path)
        if url.endswith("/") or about["type"] == "directory":
            entries = tuple(_each(system, lambda entry: _asked(system, entry), _listed(url, system, path)))
        else:
            entries = (_entry("", path, about),)
    if not entries:
        raise InputError(f"{cleaned(url)}: no files there; check the address")
    return Remote(url, system, entries)


def full(url: str, why: str) -> str:
    """Say that the disk is full."""
    return f"{cleaned(url)}: the disk of fetched data is full ({why}); free space, or set GNOMON_CACHE to another disk"


def _settings(url: str) -> dict[str, Any]:
    """Return what a web server is asked with: bytes as they are stored, no limit of time but for silence."""
    if protocol(url) not in WEB or "::" in url:
        return {}
    import aiohttp

    patience = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE)
    client = {
        "timeout": patience,
        "auto_decompress": False,
        "headers": {"Accept-Encoding": "identity"},
        "trust_env": True,
    }
    return {"client_kwargs": client, "simple_links": False}


def _listed(url: str, system: Any, path: str) -> list[Entry]:
    """Return the files of a folder, in the order of their names.

    Folders are asked for one by one: what looks for files in all of them at once may leave out those that fail.
    """
    web = protocol(url) in WEB
    base = path.rstrip("/")
    waiting = [f"{base}/" if web else path]
    seen, found = set(waiting), []
    while waiting:
        for about in system.ls(waiting.pop(), detail=True):
            place = str(about["name"])
            name = place.removeprefix(f"{base}/") if base else place.lstrip("/")
            if (web and re.search("[?#]", name)) or not name.strip("/") or name == base:
                continue  # ways to sort a list, and the folder itself
            name = unquote(name) if web else name
            if about["type"] == "directory":
                waiting += [place] if place not in seen else []
                seen.add(place)
            elif not name.endswith("/"):
                found.append(_entry(_safe(url, name), place, about))
            if len(found) + len(seen) > MOST_FILES or name.count("/") > DEEPEST:
                most = f"at most {MOST_FILES:,} files, {DEEPEST} folders deep"
                raise InputError(f"{cleaned(url)}: too many files, expected {most}; give a smaller folder")
    return sorted(found, key=lambda entry: entry.name)


def _safe(url: str, name: str) -> str:
    if "\0" in name or {"", ".", ".."} & set(name.split("/")):
        raise InputError(f"{cleaned(url)}: {shown(name)!r} is no name of a file below it")
    return name


def _asked(system: Any, entry: Entry) -> Entry:
    """Ask for a file of a folder itself where the list tells too little of it."""
    if entry.facts and entry.size is not None:
        return entry
    return _entry(entry.name, entry.path, system.info(entry.path))


def _entry(name: str, path: str, about: Mapping[str, Any]) -> Entry:
    told = {key.lower(): str(value) for key, value in about.items() if value is not None}
    facts = {key: value for key, value in told.items() if VERSIONS.fullmatch(key)}
    if set(facts) == {"last-modified"} and _young(facts["last-modified"]):
        facts = {}
    size = about.get("size")
    return Entry(name, path, None if size is None else int(size), facts)


def _young(stamp: str) -> bool:
    """Tell whether a file was changed so lately that a second change may bear the same stamp, which is in seconds."""
    try:
        return time.time() - parsedate_to_datetime(stamp).timestamp() < YOUNG
    except ValueError:
        return True


def _each(system: Any, do: Callable[[Entry], Any], entries: Iterable[Entry]) -> list[Any]:
    """Do something with every file; several at once where the file system can."""
    waiting = list(entries)
    if len(waiting) < 2 or not getattr(system, "async_impl", False):
        return [do(entry) for entry in waiting]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            return list(pool.map(do, waiting))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _check_size(url: str, entry: Entry, size: int, most: int) -> None:
    if size > most:
        which = f"{cleaned(url)}{': ' + shown(entry.name) if entry.name else ''}"
        raise InputError(f"{which}: {size:,} bytes or more, expected at most {most:,}; raise {MAX_FILE_BYTES}")


def _cut_off(url: str, why: str) -> str:
    return f"{cleaned(url)}: the transfer was cut off ({why}); give the same command again"


@contextmanager
def told_of(url: str) -> Iterator[None]:
    """Raise whatever happens inside as an error of the project; what caused it is left out, as it may hold secrets."""
    try:
        yield
    except GnomonError:
        raise
    # What the library of a protocol raises is not known beforehand.
    except Exception as error:
        raise _fault(url, error) from None


def _fault(url: str, error: BaseException) -> GnomonError:
    where, causes = cleaned(url), list(_causes(error))
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno in FULL:
            return WorkError(full(url, "it could not be written"))
        if isinstance(status := getattr(cause, "status", None), int):
            return _refused(where, status)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    said = cleaned(reason(causes[-1])).replace(url, where)
    if "ImportError" in names:
        lacking = next((cause.name for cause in causes if isinstance(cause, ImportError) and cause.name), "")
        what = f"the package {lacking}, which is not installed: pip install {lacking}" if lacking else f"more: {said}"
        return InputError(f"{where}: {protocol(url)}:// needs {what}")
    if names & {"ClientPayloadError", "IncompleteRead", "ServerDisconnectedError", "ConnectionResetError"}:
        return WorkError(_cut_off(url, said))
    if "TimeoutError" in names:
        return WorkError(f"{where}: no answer in time; check address and network, and give the same command again")
    if names & {"ConnectionError", "ClientConnectionError", "gaierror"}:
        return WorkError(f"{where}: no connection ({said}); check address and network")
    if "PermissionError" in names:
        return InputError(f"{where}: not allowed ({said}); check address and credentials")
    if names & {"FileNotFoundError", "NotADirectoryError", "IsADirectoryError"}:
        return InputError(f"{where}: nothing there; check the address")
    if isinstance(error, ValueError) and "rotocol" in str(error):
        return InputError(f"{where}: the protocol {protocol(url)}:// is not known; see fsspec for those that are")
    return WorkError(f"{where}: cannot be fetched ({type(error).__name__}: {said}); check address and credentials")


def _refused(where: str, status: int) -> GnomonError:
    """Say what an answer of a web server means."""
    if status in (401, 403, 407):
        return InputError(f"{where}: the server lets nobody in without rights (HTTP {status}); check the credentials")
    if 400 <= status < 500 and status not in (408, 425, 429):
        return InputError(f"{where}: nothing there (HTTP {status}); check the address")
    return WorkError(f"{where}: the server cannot answer (HTTP {status}); give the same command again later")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
