"""Fetching through fsspec: what lies at an address, in which version, and a copy of it on this disk.

Whatever a protocol's library raises ends as one line that names the address, and the file where it is one of a
folder, without what is secret in it: an :class:`gnomon.core.errors.InputError` where another address or other rights
would help, a :class:`gnomon.core.errors.WorkError` where trying again may help.
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
from gnomon.core.errors import GnomonError, InputError, MissingExtraError, WorkError, some
from gnomon.intake.addresses import WEB, cleaned, protocol
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import DEFAULT, MAX_FILE_BYTES

SILENCE = 60.0
"""Seconds without a byte after which a web server is given up."""
MOST_FILES = 100_000
"""The most files of a folder."""
DEEPEST = 32
AT_ONCE = 8
MOST_FAULTS = 8
"""Files of a folder that may fail before no more of it are asked for."""
EARLY = "the answer ended too early"
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

    @property
    def version(self) -> str:
        """A hash of its name and of what is told of it; empty where nothing tells that it changed."""
        return fingerprint([self.name, self.size, dict(self.facts)]) if self.facts else ""


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

    def fetch(self, target: Path, begun: Path) -> None:
        """Fetch into a path where nothing is; what is cut off, too large or not to be stored is an error.

        Parameters
        ----------
        target
            The file or folder that is made; there is no folder unless every file of it came.
        begun
            Where files of a folder stay that came whole when others did not: the next time they are not fetched
            again, as long as the remote says the same of them.
        """
        with told_of(self.url):
            if self.folder:
                self._gather(target, begun)
            else:
                self._check_room(target.parent, self.entries)
                self._get(self.entries[0], target)

    def _gather(self, target: Path, begun: Path) -> None:
        """Fetch the files of a folder that did not come before, and make the folder of all of them."""
        begun.mkdir(exist_ok=True)
        places = {entry.name: begun / (entry.version or f"{place}.once") for place, entry in enumerate(self.entries)}
        versions = {entry.version for entry in self.entries if entry.version}
        for path in list(begun.iterdir()):
            if path.name not in versions:
                path.unlink()
        lacking = [entry for entry in self.entries if not places[entry.name].exists()]
        self._check_room(begun, lacking)
        _each(self.system, lambda entry: self._get(entry, places[entry.name]), lacking)
        for name, place in places.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            place.rename(target / name)
        begun.rmdir()

    def _check_room(self, folder: Path, entries: Iterable[Entry]) -> None:
        wanted, free = sum(entry.size or 0 for entry in entries), shutil.disk_usage(folder).free
        if wanted > free:
            raise WorkError(full(self.url, f"{wanted:,} bytes are wanted and {free:,} free"))

    def _get(self, entry: Entry, target: Path) -> None:
        """Fetch one file; it has its name when all of it came."""
        from fsspec.callbacks import Callback

        most = DEFAULT.raised().max_file_bytes
        _check_size(self.url, entry, entry.size or 0, most)
        bound = Callback(hooks={"most": lambda _, value, **__: _check_size(self.url, entry, value, most)})
        half = target.with_name(f"{target.name}.half")
        with told_of(self.url, entry.name, lambda: _ended(half, entry.size)):
            self.system.get_file(entry.path, str(half), callback=bound)
        if not half.is_file():
            raise WorkError(f"{_where(self.url, entry.name)}: no file any more; give the same command again")
        where, got = _where(self.url, entry.name), half.stat().st_size
        if entry.size is not None and got < entry.size:
            raise WorkError(_cut_off(where, _ended(half, entry.size)))
        if entry.size is not None and got > entry.size:
            raise WorkError(f"{where}: {got:,} bytes came, expected {entry.size:,}; give the same command again")
        half.rename(target)


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
            entries = tuple(_each(system, lambda one: _asked(url, system, one), _listed(url, system, path)))
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
    waiting = {f"{base}/" if web else path: ""}
    seen, found = set(waiting), dict[str, Entry]()
    while waiting:
        folder, called = waiting.popitem()
        with told_of(url, called):
            inside = system.ls(folder, detail=True)
        for about in inside:
            place = str(about["name"])
            name = place.removeprefix(f"{base}/") if base else place.lstrip("/")
            if (web and re.search("[?#]", name)) or not name.strip("/") or name == base:
                continue  # ways to sort a list, and the folder itself
            name = unquote(name) if web else name
            if about["type"] == "directory":
                waiting |= {place: name} if place not in seen else {}
                seen.add(place)
            elif not name.endswith("/"):
                found[name] = _entry(_safe(url, name), place, about)
            if len(found) + len(seen) > MOST_FILES or name.count("/") > DEEPEST:
                most = f"at most {MOST_FILES:,} files, {DEEPEST} folders deep"
                raise InputError(f"{cleaned(url)}: too many files, expected {most}; give a smaller folder")
    return [found[name] for name in sorted(found)]


def _safe(url: str, name: str) -> str:
    if "\0" in name or {"", ".", ".."} & set(name.split("/")):
        raise InputError(f"{cleaned(url)}: {shown(name)!r} is no name of a file below it")
    return name


def _asked(url: str, system: Any, entry: Entry) -> Entry:
    """Ask for a file of a folder itself where the list tells too little of it."""
    if entry.facts and entry.size is not None:
        return entry
    with told_of(url, entry.name):
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
    """Do something with every file, several at once where the file system can; one that fails does not end the rest."""
    waiting, faults = list(entries), dict[str, GnomonError]()

    def tried(entry: Entry) -> Any:
        if len(faults) < MOST_FAULTS:
            try:
                return do(entry)
            except GnomonError as error:
                faults[entry.name] = error
        return None

    if len(waiting) < 2 or not getattr(system, "async_impl", False):
        done = [tried(entry) for entry in waiting]
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                done = list(pool.map(tried, waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if faults:
        raise _together(faults)
    return done


def _together(faults: Mapping[str, GnomonError]) -> GnomonError:
    """Return the fault of the first file by name, which names the others."""
    first, *others = sorted(faults)
    if not others:
        return faults[first]
    return type(faults[first])(f"{faults[first]}; {len(others)} more failed: {some(others)}")


def _check_size(url: str, entry: Entry, size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"{_where(url, entry.name)}: {size:,} bytes or more, expected at most {most:,}; raise {MAX_FILE_BYTES}"
        )


def _where(url: str, name: str) -> str:
    """Return how what lies at an address is called, or a file of the folder that lies there."""
    return f"{cleaned(url)}: {shown(name)}" if name else cleaned(url)


def _ended(half: Path, size: int | None) -> str:
    """Say how much of an answer came."""
    came = half.stat().st_size if half.is_file() else 0
    return (
        f"the answer ended after {came:,} of {size:,} bytes" if size is not None else f"{EARLY}, after {came:,} bytes"
    )


def _cut_off(where: str, why: str) -> str:
    return f"{where}: the transfer was cut off ({why}); give the same command again"


@contextmanager
def told_of(url: str, name: str = "", ended: Callable[[], str] = lambda: EARLY) -> Iterator[None]:
    """Raise whatever happens inside as an error of the project; what caused it is left out, as it may hold secrets.

    Parameters
    ----------
    url, name
        The address, and the file of it that is meant where it is a folder.
    ended
        Says how much came, where an answer was cut off.
    """
    try:
        yield
    except GnomonError:
        raise
    # What the library of a protocol raises is not known beforehand.
    except Exception as error:
        raise _fault(url, name, error, ended) from None


def _fault(url: str, name: str, error: BaseException, ended: Callable[[], str]) -> GnomonError:
    where, causes = _where(url, name), list(_causes(error))
    lost = "check the address" if not name else "put it there, or take it out of what the folder lists"
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno in FULL:
            return WorkError(full(url, "it could not be written"))
        if isinstance(status := getattr(cause, "status", None), int):
            return _refused(where, status, lost)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    said = cleaned(reason(causes[-1])).replace(url, cleaned(url))
    if "ImportError" in names:
        lacking = next((cause.name for cause in causes if isinstance(cause, ImportError) and cause.name), "")
        what = f"the package {lacking}, which is not installed: pip install {lacking}" if lacking else f"more: {said}"
        return InputError(f"{where}: {protocol(url)}:// needs {what}")
    if names & {"ClientPayloadError", "IncompleteRead", "ServerDisconnectedError", "ConnectionResetError"}:
        return WorkError(_cut_off(where, ended()))
    if "TimeoutError" in names:
        return WorkError(f"{where}: no answer in time; check address and network, and give the same command again")
    if names & {"ConnectionError", "ClientConnectionError", "gaierror"}:
        return WorkError(f"{where}: no connection ({said}); check address and network")
    if "PermissionError" in names:
        return InputError(f"{where}: not allowed ({said}); check address and credentials")
    if names & {"FileNotFoundError", "NotADirectoryError", "IsADirectoryError"}:
        return InputError(f"{where}: nothing there; {lost}")
    if isinstance(error, ValueError) and "rotocol" in str(error):
        return InputError(f"{where}: the protocol {protocol(url)}:// is not known; see fsspec for those that are")
    return WorkError(f"{where}: cannot be fetched ({type(error).__name__}: {said}); check address and credentials")


def _refused(where: str, status: int, lost: str) -> GnomonError:
    """Say what an answer of a web server means."""
    if status in (401, 403, 407):
        return InputError(f"{where}: the server lets nobody in without rights (HTTP {status}); check the credentials")
    if 400 <= status < 500 and status not in (408, 425, 429):
        return InputError(f"{where}: nothing there (HTTP {status}); {lost}")
    return WorkError(f"{where}: the server cannot answer (HTTP {status}); give the same command again later")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
