"""Counts of what was met while files were read, with the first place where it was met.

Places are told from the folder of the dataset on, so that counts do not depend on where a dataset lies.
"""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gnomon.core.errors import InputError
from gnomon.intake.faults import reason

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError)
"""What reading a file or a member of an archive raises."""


class Faults(Counter[str]):
    """What was met while files were read and how often, in words, and what could not be read.

    A part of a dataset (a file, a trial, all files of a person) that cannot be read raises its error, unless
    :attr:`broken` is a list: then the part is left out and the error is added to the list. Whole recordings that were
    read of the part before are kept.
    """

    broken: list[str] | None = None
    people: frozenset[str] = frozenset()
    """People of whom there are rows by what was read of the dataset, whether the rows can be read or not."""

    @staticmethod
    def leaving_out() -> Faults:
        """Return counts for a reading that leaves out what cannot be read."""
        faults = Faults()
        faults.broken = []
        return faults

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """Leave out what is read inside, where it cannot be read; ``where`` names it in errors that do not."""
        try:
            yield
        except InputError as error:
            self.leave_out(error)
        except UNREADABLE as error:
            self.leave_out(InputError(f"{where}: cannot be read ({reason(error)}); obtain it again"))

    def leave_out(self, error: InputError) -> None:
        """Note that a part of a dataset cannot be read; raise the error where nothing may be left out."""
        if self.broken is None:
            raise error
        self.broken.append(str(error))


def first(faults: Counter[str], what: str, where: str, number: int = 1) -> None:
    """Count something; the place of the first time stays in its name.

    >>> faults = Counter()
    >>> first(faults, "files left out", "a.txt")
    >>> first(faults, "files left out", "b.txt", 2)
    >>> faults
    Counter({'files left out (first: a.txt)': 3})
    """
    head = f"{what} (first: "
    faults[next((known for known in faults if known.startswith(head)), f"{head}{where})")] += number
