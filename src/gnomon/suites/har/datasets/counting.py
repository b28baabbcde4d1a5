"""Counts of what was met while files were read, with the first place where it was met.

Places are told from the folder of the dataset on, so that counts do not depend on where a dataset lies.
"""

from __future__ import annotations

from collections import Counter


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
