"""Whole scenes: whether anything changed.

Conventions
-----------
``truth, prediction`` are one boolean per scene: changed or not. A case is one scene and keeps which of the four it is.

Measures
--------
accuracy
    (TP + TN) / scenes.
change detection rate (CDR)
    TP / (TP + FN): share of the changed scenes that are called changed.
false alarm rate (FAR)
    FP / (FP + TN): share of the unchanged scenes that are called changed.

Undefined cases
---------------
No scenes: everything. No changed scene: CDR. No unchanged scene: FAR; a corpus of changes alone cannot tell false
alarms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, Scored, score_by_name
from gnomon.core.scans import Changed
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures.accumulate import Accumulator, add_tallies, score_function
from gnomon.numerics.foreign import to_native

CELLS = ("tp", "fp", "fn", "tn")
LAYOUT = (*(Field(cell) for cell in CELLS), Field("n"))


class SceneCounts(Measure):
    """Base of the measures over scenes."""

    signal: ClassVar[type] = Changed
    family: ClassVar[str] = "scenes"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def tally(self, truth: Changed, prediction: Changed) -> Tallies:
        """Count one scene."""
        return Tallies(
            LAYOUT, {}, {**_cells(np.array([[truth.value]]), np.array([[prediction.value]])), "n": np.array([1])}
        )

    def tally_scenes(self, truth: Array, prediction: Array) -> Tallies:
        """Count many scenes, of which booleans say whether they changed: a row each."""
        cells = _cells(truth[:, np.newaxis], prediction[:, np.newaxis])
        return Tallies(LAYOUT, {}, {**cells, "n": np.ones(len(truth), np.int64)})

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that every scene is one of the four."""
        del ledgers
        sums = np.sum([tallies.fields[cell] for cell in CELLS], axis=0)
        return [] if np.array_equal(sums, tallies.fields["n"]) else ["the four counts do not sum to the scenes"]


def _cells(truth: Array, prediction: Array) -> dict[str, Array]:
    """Count the four outcomes over the last axis."""
    found = truth & prediction, ~truth & prediction, truth & ~prediction, ~truth & ~prediction
    return {cell: np.count_nonzero(mask, axis=-1) for cell, mask in zip(CELLS, found, strict=True)}


@dataclass(frozen=True)
class SceneAccuracy(SceneCounts):
    """Share of scenes that are called right."""

    title: ClassVar[str] = "accuracy of scenes"

    @property
    def aliases(self) -> tuple[str, ...]:
        """As tables of scenes print it."""
        return ("accuracy",)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Right ones over all."""
        del frozen
        return Scored.ratio(totals["tp"] + totals["tn"], totals["n"])

    def why(self, totals: Totals) -> str:
        """Only without scenes."""
        del totals
        return "no scenes"


@dataclass(frozen=True)
class ChangeDetectionRate(SceneCounts):
    """Share of the changed scenes that are called changed."""

    title: ClassVar[str] = "change detection rate"

    @property
    def name(self) -> str:
        """Column key."""
        return "cdr"

    @property
    def aliases(self) -> tuple[str, ...]:
        """As tables of scenes print it."""
        return ("change detection rate",)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Found over changed."""
        del frozen
        return Scored.ratio(totals["tp"], totals["tp"] + totals["fn"])

    def why(self, totals: Totals) -> str:
        """No changed scene."""
        return "no changed scene in truth" if int(totals["n"]) else "no scenes"

    def count(self, totals: Totals) -> int:
        """Changed scenes."""
        return int(totals["tp"] + totals["fn"])


@dataclass(frozen=True)
class FalseAlarmRate(SceneCounts):
    """Share of the unchanged scenes that are called changed."""

    title: ClassVar[str] = "false alarm rate"
    direction: ClassVar[Direction] = "down"

    @property
    def name(self) -> str:
        """Column key."""
        return "far"

    @property
    def aliases(self) -> tuple[str, ...]:
        """As tables of scenes print it."""
        return ("false alarm rate",)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """False alarms over unchanged."""
        del frozen
        return Scored.ratio(totals["fp"], totals["fp"] + totals["tn"])

    def why(self, totals: Totals) -> str:
        """No unchanged scene."""
        return "no unchanged scene in truth" if int(totals["n"]) else "no scenes"

    def count(self, totals: Totals) -> int:
        """Unchanged scenes."""
        return int(totals["fp"] + totals["tn"])


MEASURES: tuple[Measure, ...] = (SceneAccuracy(), ChangeDetectionRate(), FalseAlarmRate())


def evaluate(truth: Sequence[bool] | Array, prediction: Sequence[bool] | Array) -> dict[str, Any]:
    """Score whether scenes changed.

    Parameters
    ----------
    truth, prediction
        One boolean (or 0 and 1) per scene, of equal length.

    Returns
    -------
    dict
        ``accuracy, cdr, far``; ``tp, fp, fn, tn, n``; ``undefined`` by name.

    Examples
    --------
    >>> result = evaluate([True, True, False], [True, False, False])
    >>> result["cdr"], result["far"]
    (0.5, 0.0)
    >>> evaluate([True], [True])["undefined"]
    {'far': 'no unchanged scene in truth'}
    """
    return _finish(_step(None, truth, prediction))


def accumulate() -> Accumulator[Tallies]:
    """Score whether scenes changed, of scenes that come in parts; see :func:`evaluate`.

    >>> accumulate().update([True, True], [True, False]).update([False], [False]).compute()["cdr"]
    0.5
    """
    return Accumulator(_step, _finish)


def _step(state: Tallies | None, truth: Any, prediction: Any) -> Tallies:
    """Count a part, and add it to the parts before it."""
    true, called = (_booleans(side, name) for side, name in ((truth, "truth"), (prediction, "prediction")))
    if len(true) != len(called):
        raise InputError(f"expected as many predictions as truths, but got {len(called)} and {len(true)}")
    fields = {**_cells(true, called), "n": len(true)}
    return add_tallies(state, Tallies(LAYOUT, {}, {name: np.array([value]) for name, value in fields.items()}))


def _finish(state: Tallies) -> dict[str, Any]:
    totals = state.total()
    undefined: dict[str, str] = {}
    result = score_by_name(dict(zip(("accuracy", "cdr", "far"), MEASURES, strict=True)), totals, undefined)
    return {**result, **{field.name: int(totals[field.name]) for field in LAYOUT}, "undefined": undefined}


accuracy = score_function(evaluate, "accuracy", "Share of scenes that are called rightly.")
cdr = score_function(evaluate, "cdr", "Change detection rate: share of changed scenes that are called changed.")
far = score_function(evaluate, "far", "False alarm rate: share of unchanged scenes that are called changed.")


def _booleans(values: Sequence[bool] | Array, side: str) -> Array:
    try:
        array = np.asarray(to_native(values, side))
    except ValueError as error:
        raise InputError(f"{side}: expected one True or False per scene: {error}") from error
    if array.ndim == 1 and not array.size:
        return np.zeros(0, np.bool_)
    if array.ndim != 1 or array.dtype.kind not in "biu" or not np.isin(array, (0, 1)).all():
        raise InputError(f"{side}: expected one True or False per scene, but got {values!r:.80}")
    return array.astype(np.bool_)
