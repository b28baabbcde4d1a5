"""Segmental F1 and the edit score over many recordings, folded from what every recording leaves.

:mod:`gnomon.measures.sequences` defines both, :mod:`gnomon.measures._folding` the conventions: a run is what
overlapping and abutting stretches of one class make up within the window, and background is never one.

Measures
--------
F1@k
    2 tp / (runs of truth + runs returned) over all classes and recordings, at an overlap of 5, 10, ... 95 %. It may be
    kept without an edit score, whose cost grows with the product of the runs of both sides (:class:`RunF1`).
edit score
    Mean over recordings, from 0 to 100; a recording without a run on either side is left out and counted.

Undefined cases
---------------
F1@k: no run on either side. Edit score: no recording with a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.tallies import Array, Field, Totals
from gnomon.measures._folding import Folded
from gnomon.measures._stretches import Pair
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.recordings import Stored, accumulate_recordings, evaluate_recordings
from gnomon.measures.sequences import NO_RUNS, best_overlaps, edit_scores
from gnomon.numerics.segments import Track

OVERLAPS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""The overlaps at which F1@k is kept."""


def _percent(at: float) -> str:
    return f"{100 * at:.0f}"


class _Segmentation(Folded):
    axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"overlap": tuple(map(_percent, OVERLAPS))}
    family: ClassVar[str] = "segmentation"
    layout: ClassVar[tuple[Field, ...]] = (
        Field("tp", ("overlap",)),
        Field("truth"),
        Field("returned"),
        Field("edit", (), "sum"),
        Field("n"),
        Field("empty"),
    )

    def kept(self, pair: Pair) -> dict[str, Any]:
        """Hits by overlap, runs of both sides, and the edit score of a recording that has one."""
        true, returned = pair.tracks()
        edits = edit_scores(pair)
        return {
            **_hits(true, returned),
            "edit": sum(edits),
            "n": len(edits),
            "empty": 1 - len(edits),
        }

    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """More hits than runs, more hits at a larger overlap, an edit score out of range."""
        edit = fields["edit"]
        return {
            **_impossible(fields),
            "an edit score is not between 0 and 100": (edit < 0) | (edit > 100 * fields["n"]),
        }


@dataclass(frozen=True)
class SegmentalF1(_Segmentation):
    """F1 of runs that meet a true run with at least this IoU; see :func:`gnomon.measures.sequences.segmental_f1`."""

    at: float = 0.5
    title: ClassVar[str] = "segmental F1 at an overlap"

    def __post_init__(self) -> None:
        if self.at not in OVERLAPS:
            raise InputError(f"at: expected a multiple of 0.05 from 0.05 to 0.95, but got {self.at!r:.80}")
        object.__setattr__(self, "at", float(self.at))

    @property
    def name(self) -> str:
        """Column key."""
        return f"f1@{_percent(self.at)}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over runs."""
        del frozen
        tp = totals["tp"][..., totals.axes["overlap"].index(_percent(self.at))]
        return Scored.ratio(2 * tp, totals["truth"] + totals["returned"])

    def why(self, totals: Totals) -> str:
        """Nothing on either side."""
        del totals
        return NO_RUNS

    def count(self, totals: Totals) -> int:
        """True runs."""
        return int(totals["truth"])


class RunF1(SegmentalF1):
    """F1 of runs at an overlap, of recordings that are too long for an edit score; nothing else is kept of them."""

    family: ClassVar[str] = "runs"
    layout: ClassVar[tuple[Field, ...]] = _Segmentation.layout[:3]

    def kept(self, pair: Pair) -> dict[str, Any]:
        """Hits by overlap, and runs of both sides."""
        return _hits(*pair.tracks())

    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """More hits than runs, more hits at a larger overlap."""
        return _impossible(fields)


@dataclass(frozen=True)
class EditScore(_Segmentation):
    """How alike the sequences of labels are, from 0 to 100, mean over recordings.

    See :func:`gnomon.measures.sequences.edit_score`.
    """

    title: ClassVar[str] = "edit score"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)

    @property
    def name(self) -> str:
        """Column key."""
        return "edit"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Mean over recordings with a run."""
        del frozen
        return Scored.ratio(totals["edit"], totals["n"])

    def why(self, totals: Totals) -> str:
        """No recording with a run."""
        del totals
        return NO_RUNS


def _hits(true: Track, returned: Track) -> dict[str, Any]:
    best = best_overlaps(true, returned)
    return {
        "tp": [int((best >= at).sum()) for at in OVERLAPS],
        "truth": len(true.starts),
        "returned": len(returned.starts),
    }


def _impossible(fields: Mapping[str, Array]) -> dict[str, Array]:
    tp = fields["tp"]
    return {
        "more runs are hit than there are": tp.max(axis=-1) > np.minimum(fields["truth"], fields["returned"]),
        "a larger overlap has more hits": np.diff(tp, axis=-1) > 0,
    }


MEASURES: tuple[Measure, ...] = (SegmentalF1(0.1), SegmentalF1(0.25), SegmentalF1(0.5), EditScore(), RunF1(0.5))
SCORED = MEASURES[:4]
"""What :func:`evaluate` computes."""


def evaluate(truth: Any, prediction: Any, *, window: Any, background: Any = ()) -> dict[str, Any]:
    """Score segmentations of one recording, or of several as mappings by recording.

    Parameters
    ----------
    truth, prediction
        Sequences of ``(start, end)`` or ``(start, end, label)``, or a tuple of arrays ``(starts, ends[, labels])``.
    window
        Start and end of the time that is scored; a mapping where recordings differ in it.
    background
        Labels that are no class.

    Returns
    -------
    dict
        The score of each measure in ``SCORED`` by its name; ``recordings``; ``undefined`` by name.

    Examples
    --------
    >>> truth, prediction = [(0, 4, "cut"), (4, 9, "stir")], [(0, 5, "cut"), (5, 9, "pour")]
    >>> evaluate(truth, prediction, window=(0, 9))["edit"]
    50.0
    """
    return evaluate_recordings(SCORED, truth, prediction, window=window, background=background)


def accumulate(*, background: Any = ()) -> Accumulator[Stored]:
    """Score a stream of recordings: ``update(truth, prediction, window=...)`` takes one; see :func:`evaluate`."""
    return accumulate_recordings(SCORED, background=background)


f1_10 = score_function(evaluate, "f1@10", "F1 of segments that overlap a true one by at least 10 %.")
f1_25 = score_function(evaluate, "f1@25", "F1 of segments that overlap a true one by at least 25 %.")
f1_50 = score_function(evaluate, "f1@50", "F1 of segments that overlap a true one by at least 50 %.")
edit = score_function(evaluate, "edit", "Edit score of the sequence of labels, 0 to 100.")
