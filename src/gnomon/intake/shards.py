"""Folders of shards: data that need not fit into memory, in files that are read one at a time.

A shard is a file of a folder, called by its path in it without suffix: ``kitchen/part-03.npy`` is ``kitchen/part-03``.
Truth and predictions are two folders with shards of the same names; what differs only on one side is an error that
names it. Files and folders whose name begins with a dot or an underscore are left alone.

An array file (``.npy``) is read in parts of a fixed size, so that its size costs no memory (:class:`Plain`).
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import natural_key
from gnomon.intake import disks, remote
from gnomon.intake.npy import HeaderError, read_header


def is_folder(content: Any) -> bool:
    """Tell whether what a user gave is a folder of shards, or a pattern of file names (``parts/*.csv``)."""
    return isinstance(content, (str, os.PathLike)) and (os.path.isdir(content) or is_pattern(content))


def is_pattern(content: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a pattern of file names: it has wildcards, and no file of that very name exists."""
    return glob.has_magic(os.fspath(content)) and "://" not in os.fspath(content) and not os.path.exists(content)


def folder_of(content: str | os.PathLike[str]) -> Path:
    """Return the folder that shards are in: of a pattern, the part before the first wildcard.

    >>> str(folder_of("data/parts/*/truth-*.csv"))
    'data/parts'
    """
    path = Path(content)
    if not is_pattern(content):
        return path
    wild = next(index for index, part in enumerate(path.parts) if glob.has_magic(part))
    return Path(*path.parts[:wild])


def refuse_folders(predictions: Iterable[Any]) -> None:
    """Refuse folders of predictions, where the truth is none."""
    if found := [content for content in predictions if is_folder(content)]:
        raise InputError(
            f"{found[0]}: a folder of shards, but the truth is none; give both as files, or both as folders of shards"
        )


def listed(folder: str | os.PathLike[str], suffixes: Sequence[str]) -> dict[str, Path]:
    """Return the shards of a folder by name, in natural order; one behind a link is called by the path through it.

    Files with other suffixes than these, in whatever case, are no shards (:func:`others`).

    Raises
    ------
    InputError
        There is none, or two files of one name; a folder that cannot be read; a link that leads nowhere, or from a
        folder into itself.
    """
    root = folder_of(folder)
    found: dict[str, Path] = {}
    for path in _files(root, ()) if not is_pattern(folder) else _matches(folder):
        suffix = _suffix(path, suffixes)
        if not suffix:
            continue
        name = path.relative_to(root).as_posix()[: -len(suffix)]
        if name in found:
            raise InputError(f"{root}: two shards are called {name!r}: {found[name].name} and {path.name}; keep one")
        found[name] = path
    if not found:
        raise InputError(f"{folder}: no shards: expected files that end in {', '.join(suffixes)}")
    order = sorted(found, key=lambda name: [natural_key(part) for part in name.split("/")])
    return {name: found[name] for name in order}


def others(folder: str | os.PathLike[str], suffixes: Sequence[str], known: Collection[str] = ()) -> list[Path]:
    """Return the files of a folder that are no shards by their suffix, by name; not those whose name is known.

    A pattern says which files are meant, so that none is beside them.
    """
    found = _files(Path(folder), ()) if not is_pattern(folder) else ()
    return [path for path in found if not _suffix(path, suffixes) and path.name not in known]


def _matches(pattern: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a pattern names, by name; ``**`` stands for any number of folders."""
    return [Path(name) for name in sorted(glob.glob(os.fspath(pattern), recursive=True)) if os.path.isfile(name)]


def _suffix(path: Path, suffixes: Sequence[str]) -> str:
    """Return the longest of some suffixes that a path ends in, or nothing."""
    name = path.name.lower()
    return max((suffix for suffix in suffixes if name.endswith(suffix)), key=len, default="")


def _files(folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[Path]:
    """Give the files below a folder, its own first, by name; `above` are device and inode of the folders it lies in."""
    try:
        at = folder.stat()
        with os.scandir(folder) as held:
            inside = sorted((one for one in held if not one.name.startswith((".", "_"))), key=lambda one: one.name)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror or error}); check path and rights") from error
    here = (at.st_dev, at.st_ino)
    if here in above:
        raise InputError(f"{folder}: by a link the same folder as one that it lies in, without end; remove the link")
    if broken := [one.name for one in inside if one.is_symlink() and not os.path.exists(one.path)]:
        raise InputError(f"{folder}: links that lead nowhere: {some(broken)}; mend or remove them")
    yield from (Path(one.path) for one in inside if not one.is_dir())
    for one in inside:
        if one.is_dir():
            yield from _files(Path(one.path), (*above, here))


def paired(
    truth: Mapping[str, Path],
    predictions: Mapping[str, Path],
    where: str,
    *,
    missing: str = "error",
    extra: str = "error",
    offers: tuple[str, str] = ("--missing wrong or --missing skip", "--extra ignore"),
) -> list[tuple[str, Path, Path | None]]:
    """Return name, truth and prediction of every shard.

    Parameters
    ----------
    truth, predictions
        Shards by name.
    where
        The predictions, for messages.
    missing, extra
        Whether shards of the truth without predictions are an ``error``, or have None in place of a path, and what
        becomes of predictions without truth (``error``, ``ignore``).
    offers
        What a user may choose in either case, for messages; empty where a suite has no such option.
    """
    lacking, more = [n for n in truth if n not in predictions], [n for n in predictions if n not in truth]
    if lacking and missing == "error":
        named = f" (there are {some(more)} instead: shards of one name belong together)" if more else ""
        raise InputError(
            f"{where}: no predictions for shards of the truth: {some(lacking)}{named}; add them"
            f"{', or choose ' + offers[0] if offers[0] else ''}"
        )
    if more and extra == "error":
        raise InputError(
            f"{where}: shards that the truth does not have: {some(more)}; remove them"
            f"{', or ' + offers[1] if offers[1] else ''}"
        )
    if len(lacking) == len(truth):
        raise InputError(f"{where}: no shard of the truth has predictions: nothing can be scored")
    return [(name, path, predictions.get(name)) for name, path in truth.items()]


def identity(path: Path | None) -> dict[str, Any] | None:
    """Return what tells a shard from others and from what it was: where it lies, its size and its time stamps.

    A copy of data by address is known by the address: its time stamp is made from its content.
    """
    if path is None:
        return None
    here = os.path.abspath(path)
    found, at = _stat(path), remote.recorded(here)
    known = {"at": at, "bytes": found.st_size, "modified_ns": found.st_mtime_ns}
    return known if at != here else {**known, "changed_ns": found.st_ctime_ns}


@contextlib.contextmanager
def unchanged(files: Sequence[tuple[str | os.PathLike[str] | None, Mapping[str, Any] | None]]) -> Iterator[None]:
    """Refuse shards that are not, or no more, what :func:`identity` said of them; a machine may have its own copies.

    Parameters
    ----------
    files
        Paths and what is known of them; None where there is none.
    """
    pairs = [(Path(path), known) for path, known in files if path is not None and known is not None]
    _check(pairs)
    yield
    _check(pairs)


def _check(pairs: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    for path, known in pairs:
        found = _stat(path)
        if (found.st_size, found.st_mtime_ns) != (known["bytes"], known["modified_ns"]):
            raise InputError(
                f"{path}: not what it was when the command began: {found.st_size} bytes, expected {known['bytes']}, or "
                "another time stamp; give the same command again, or keep time stamps where files are copied"
            )


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error


@dataclass(frozen=True)
class Plain:
    """An array file that is read in parts.

    Attributes
    ----------
    path, dtype, shape, start
        The file, the type and shape of its array, and where its values begin.
    """

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int

    @staticmethod
    def open(path: Path) -> Plain:
        """Read the header of an array file and check that all of its values are there."""
        try:
            with path.open("rb") as file:
                header = read_header(file)
                held = os.fstat(file.fileno()).st_size - header.length
        except HeaderError as error:
            raise InputError(f"{path}: {error}") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
        wanted = header.dtype.itemsize * int(np.prod(header.shape, dtype=object))
        if held != wanted:
            raise InputError(f"{path}: {held} bytes of values, expected {wanted} for {header.shape}; write it again")
        if header.fortran and len(header.shape) > 1:
            raise InputError(f"{path}: columns come first, which cannot be read in parts; save it in C order")
        return Plain(path, header.dtype, header.shape, header.length)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @contextlib.contextmanager
    def reading(self, most: int, *, past: bool = True) -> Iterator[Callable[[int, int], npt.NDArray[Any]]]:
        """Open the file; give what reads the rows from one place to another, at most so many; threads need one each.

        What it returns is there until it reads again. ``past`` is that of :func:`gnomon.intake.disks.opened`.
        """
        row = self.row_bytes
        with disks.room(most * row) as room, disks.opened(self.path, past=past) as file:

            def read(first: int, stop: int) -> npt.NDArray[Any]:
                held = file.read(self.start + first * row, (stop - first) * row, room)
                return held.view(self.dtype).reshape(stop - first, *self.shape[1:])

            yield read
