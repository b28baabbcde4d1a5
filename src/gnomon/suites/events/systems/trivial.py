"""Recognisers that do not look: what is not better than they are has recognised nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gnomon.core.errors import InputError
from gnomon.suites.events.systems._results import within
from gnomon.suites.events.systems._walker import WALKING


class Never:
    """Nothing ever happens."""

    trivial = True

    def process(self, recs: Iterable[Any]) -> None:
        """Pass over records."""
        for _ in recs:
            pass

    def detected(self, time_range: tuple[float, float] | None = None) -> list[dict[str, Any]]:
        """Return nothing."""
        del time_range
        return []

    def labels(self) -> list[str]:
        """Return no class."""
        return []


class Always:
    """One thing happens all the time: from the first record to the last, in one stretch.

    Parameters
    ----------
    label
        What happens. The score is one half, since there is no evidence.
    """

    trivial = True

    def __init__(self, label: str = WALKING) -> None:
        if not label:
            raise InputError("label: expected the name of a class, but got nothing")
        self.label = label
        self.reset()

    def reset(self) -> None:
        """Forget the recording."""
        self._first: float | None = None
        self._last = 0.0

    def process(self, recs: Iterable[Any]) -> None:
        """Remember the time of the first record and of the last."""
        for record in recs:
            self._last = record["time"]
            self._first = self._last if self._first is None else self._first

    def detected(self, time_range: tuple[float, float] | None = None) -> list[dict[str, Any]]:
        """Return one stretch over all records so far; none before there are two times."""
        if self._first is None or self._last <= self._first:
            return []
        return within([{"t1": self._first, "t2": self._last, "label": self.label, "score": 0.5}], time_range)

    def labels(self) -> list[str]:
        """Return the class."""
        return [self.label]
