"""An annotation file as a file from outside: every dataset is looked at before a value of it is read.

Links are not followed, and neither are datasets whose values lie in other files; shapes and types must be those of
the layout, and no piece of a dataset may take much memory.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.tallies import Array
from gnomon.intake.faults import FAULTS, guarded, reason, shown
from gnomon.intake.limits import DEFAULT, GIB, MIB, check_file

LARGEST_CHUNK = 256 * MIB
"""What is decompressed at once."""
LARGEST_WHOLE = GIB
"""Of a dataset that is read as a whole."""
MOST_LEAVES = 1000
_DEEPEST = 6
_NUMERIC = "fiu"
Shape = tuple[int | None, ...]


class UnusableError(ValueError):
    """A dataset is not there, or is not what the layout says."""


class Annotation:
    """An open annotation file.

    Raises
    ------
    InputError
        The file is not there, is too large, or is not HDF5.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self._h5py = _h5py()
        check_file(path, DEFAULT.raised())
        advice = "the file is damaged or incomplete: copy it again"
        with guarded(path, "not a readable HDF5 file", advice):
            self._file = self._h5py.File(os.fspath(path), "r")

    def close(self) -> None:
        """Close the file; it may be closed already."""
        self._file.close()

    def marked(self, name: str) -> bool:
        """Say whether the file itself has an attribute of a name."""
        with guarded(self.path, "its attributes cannot be read", "the file is damaged: copy it again"):
            return name in self._file.attrs

    def dataset(self, name: str, shape: Shape, kinds: str = _NUMERIC) -> Any:
        """Return a dataset that has a shape (None: any length) and one of some kinds of values.

        Raises
        ------
        UnusableError
            It is missing, a link, stored elsewhere, or of another shape or type; the message is the reason.
        """
        found = self.node(name)
        with _opening(name):
            if not isinstance(found, self._h5py.Dataset):
                raise UnusableError(f"{name} is a group, expected a dataset")
            self._check(name, found, shape, kinds)
        return found

    def node(self, name: str) -> Any:
        """Return a group or dataset by its path, without following links."""
        node = self._file
        for part in name.split("/"):
            with _opening(name):
                link = node.get(part, getlink=True) if isinstance(node, self._h5py.Group) else None
                if link is None:
                    raise UnusableError(f"{name} is missing")
                if not isinstance(link, self._h5py.HardLink):
                    raise UnusableError(f"{name} is a link, which is not followed")
                node = node[part]
        return node

    def read(self, dataset: Any, part: Any = ()) -> Any:
        """Return values of a dataset: all of them, or a part."""
        if part == () and dataset.nbytes > LARGEST_WHOLE:
            raise self.refused(dataset, f"{dataset.nbytes} bytes, expected at most {LARGEST_WHOLE}")
        with guarded(self.path, f"{dataset.name} cannot be read", "the file is damaged: copy it again"):
            return dataset[part]

    def read_into(self, dataset: Any, start: int, stop: int, out: Array) -> None:
        """Read rows of a dataset into an array, which may be longer."""
        if stop > start:
            with guarded(self.path, f"{dataset.name} cannot be read", "the file is damaged: copy it again"):
                dataset.read_direct(out, np.s_[start:stop], np.s_[: stop - start])

    def refused(self, dataset: Any, why: str) -> InputError:
        """Return the error for values that cannot be used."""
        return InputError(f"{shown(self.path)}: {dataset.name}: {why}; correct the file")

    def names(self) -> list[str]:
        """Return the paths of all datasets and links, sorted, and at most :data:`MOST_LEAVES` of them.

        Links are not followed; what cannot be opened is named as it is.
        """
        found: list[str] = []
        waiting: list[tuple[str, int]] = [("", 0)]
        while waiting and len(found) < MOST_LEAVES:
            path, depth = waiting.pop()
            try:
                with _opening(path):
                    node = self._file if not path else self.node(path)
                    children = sorted(node) if isinstance(node, self._h5py.Group) and depth < _DEEPEST else None
            except UnusableError:
                children = None
            if children is None:
                found.append(path)
            else:
                waiting += [(f"{path}/{child}" if path else child, depth + 1) for child in reversed(children)]
        return found

    def leaves(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the paths and datasets of numbers below a group, in sorted order of their paths.

        Raises
        ------
        UnusableError
            Something below it is a link, or there is too much of it.
        """
        count = 0
        waiting = [(name, 0)]
        while waiting:
            path, depth = waiting.pop()
            node = self.node(path)
            if isinstance(node, self._h5py.Group):
                waiting += [(child, depth + 1) for child in reversed(self._children(path, node, depth))]
                continue
            count += 1
            if count > MOST_LEAVES:
                raise UnusableError(f"{name} has more than {MOST_LEAVES} datasets")
            if self._is_numeric(path, node):
                yield path.removeprefix(f"{name}/"), self.dataset(path, (None,) * node.ndim)

    def _children(self, name: str, group: Any, depth: int) -> list[str]:
        with _opening(name):
            if depth == _DEEPEST or len(group) > MOST_LEAVES:
                raise UnusableError(f"{name} has too many groups, expected few and at most {_DEEPEST} deep")
            return sorted(f"{name}/{child}" for child in group)

    def _is_numeric(self, name: str, node: Any) -> bool:
        with _opening(name):
            return isinstance(node, self._h5py.Dataset) and node.shape is not None and node.dtype.kind in _NUMERIC

    def _check(self, name: str, found: Any, shape: Shape, kinds: str) -> None:
        if found.is_virtual or found.external:
            raise UnusableError(f"{name} has its values in other files, which are not followed")
        if found.dtype.kind not in kinds:
            raise UnusableError(f"{name} holds values of type {found.dtype}, expected {_kinds(kinds)}")
        if found.shape is None or not _fits(found.shape, shape):
            expected = tuple("n" if length is None else length for length in shape)
            shown_shape = str(expected).replace("'", "")
            raise UnusableError(f"{name} has the shape {found.shape}, expected {shown_shape}")
        if math.prod(found.chunks or (1,)) * found.dtype.itemsize > LARGEST_CHUNK:
            stored = f"chunks of {found.chunks}" if found.chunks else f"values of {found.dtype.itemsize} bytes"
            raise UnusableError(f"{name} is stored in {stored}, expected at most {LARGEST_CHUNK} bytes")


@contextmanager
def _opening(name: str) -> Iterator[None]:
    """Give the reason of a fault in what a file says of a dataset."""
    try:
        yield
    except UnusableError:
        raise
    except FAULTS as error:
        raise UnusableError(f"{name} cannot be opened ({reason(error)})") from error


def _fits(got: tuple[int, ...], expected: Shape) -> bool:
    return len(got) == len(expected) and all(e in (None, g) for g, e in zip(got, expected, strict=True))


def _kinds(kinds: str) -> str:
    return "numbers" if set(kinds) <= set(_NUMERIC) else "text"


def _h5py() -> Any:
    """Return h5py, which is loaded when it is first needed."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "h5py":
            raise
        raise MissingExtraError(
            "reading episodes needs h5py, which is not installed: pip install 'gnomon[episode]'"
        ) from error
