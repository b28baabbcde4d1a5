"""What a split is made of, in the one form that every leak check reads.

A sample is what a model is trained or tested on (a window, a pair, a segment). It comes from a case,
belongs to a part of the split, *reads* a range of that case for its input and another for its
target, and has a digest of its input. Checks compare read ranges, digests and tags between parts;
they never see the name of a suite or of a protocol variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gnomon.core.errors import GnomonError, InputError
from gnomon.core.tallies import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """Columns of equal length, one row per sample; frozen.

    Attributes
    ----------
    ids, cases, parts
        Text per sample: its name, the case it was cut from, the part of the split (``train``, ``val``, ``test``).
    input_range, target_range
        ``(n, 2)`` half-open ranges of the case's own time or index axis that the input and the target read.
    digests
        Text per sample: hash of the input's content; empty where not computed.
    tags
        Further columns of text: subject, session, device, block kinds, ...
    """

    ids: tuple[str, ...]
    cases: tuple[str, ...]
    parts: tuple[str, ...]
    input_range: Array
    target_range: Array
    digests: tuple[str, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.ids)
        columns = [("cases", self.cases), ("parts", self.parts), *self.tags.items()]
        if self.digests:
            columns.append(("digests", self.digests))
        for name, column in columns:
            if len(column) != n:
                raise GnomonError(f"samples: column {name!r} has {len(column)} rows, expected {n}")
        for name in ("input_range", "target_range"):
            try:
                ranges = np.array(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise GnomonError(f"samples: {name} must be ranges of numbers: {error}") from error
            ranges = ranges.reshape(0, 2) if ranges.size == 0 else ranges
            if ranges.shape != (n, 2) or not np.isfinite(ranges).all() or (ranges[:, 1] < ranges[:, 0]).any():
                raise GnomonError(f"samples: {name} must be {n} finite ranges with start <= end")
            ranges.setflags(write=False)
            object.__setattr__(self, name, ranges)

    def __len__(self) -> int:
        return len(self.ids)

    def reads(self) -> Array:
        """Return the smallest range that covers input and target of each sample, ``(n, 2)``."""
        low = np.minimum(self.input_range[:, 0], self.target_range[:, 0])
        high = np.maximum(self.input_range[:, 1], self.target_range[:, 1])
        return np.stack([low, high], axis=1)

    def column(self, name: str) -> tuple[str, ...]:
        """Return a column of text by name: ``ids``, ``cases``, ``parts``, ``digests``, else a tag."""
        columns = {**self.tags, "ids": self.ids, "cases": self.cases, "parts": self.parts}
        if self.digests:
            columns["digests"] = self.digests
        if name not in columns:
            raise InputError(f"samples have no column {name!r}; they have {', '.join(sorted(columns))}")
        return columns[name]

    def part(self, name: str) -> Array:
        """Return a mask of the samples of one part."""
        return np.array([part == name for part in self.parts], dtype=np.bool_)
