"""Planted leaks: for every finding of every check a generated case that has it, and its clean twin.

``PLANTED`` drives the tests, the acceptance script and the table in the docs; a package with checks of its own can
plant cases the same way. A twin is made the same way as its case, without the fault.
"""

from collections.abc import Callable

from gnomon.testing.planted.callables import CALLABLES, selected
from gnomon.testing.planted.case import Findings, Outcome, Planted
from gnomon.testing.planted.numbers import NUMBERS
from gnomon.testing.planted.sequences import SEQUENCES
from gnomon.testing.planted.splits import SPLITS, described, nearly

PLANTED: tuple[Planted, ...] = (*SPLITS, *CALLABLES, *NUMBERS, *SEQUENCES)

DRAWN: dict[str, Callable[[bool, int], Findings]] = {
    "near-duplicates": nearly,
    "same-people": described,
    "permuted-above-chance": selected,
}
"""Cases of checks that decide by chance, by finding: from whether there is a leak and a seed to findings."""

__all__ = ["DRAWN", "PLANTED", "Outcome", "Planted"]
