"""Scores of boxes over many scenes, folded from matches per class.

A case is one scene. It keeps, per class, how many boxes were matched (``tp``), true (``truth``) and predicted, and the
sum of the IoU of the matches; ``n`` counts scenes. Conventions, definitions and what is undefined are those of
:mod:`gnomon.measures.boxes`. The threshold of IoU and the order of matching are fields of every measure, and in its
name.

Measures
--------
BoxF1, BoxPrecision, BoxRecall      mean over a class set (``macro``) or pooled (``micro``)
BoxF1OfMeans                        harmonic mean of macro precision and macro recall
BoxClassF1, ...                     of one class
BoxIoU                              mean over the matches
BoxErrorsPerScene                   ``false`` predictions or ``missed`` truths per scene

:func:`per_scene` gives the numbers of true and predicted boxes themselves: they are no measures, having no best value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, Scored
from gnomon.core.signals import Boxes
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures import _boxed, averaging
from gnomon.measures._folding import family_of
from gnomon.measures._means import F1OfMeans
from gnomon.measures.averaging import AveragedRatio, Kind, ZeroDivision
from gnomon.numerics.assignment import Order, check_order
from gnomon.numerics.boxes import Overlaps

LAYOUT = (
    Field("tp", ("class",)),
    Field("truth", ("class",)),
    Field("predicted", ("class",)),
    Field("iou", ("class",), "sum"),
    Field("n"),
)


@dataclass(frozen=True, eq=False)
class Scenes:
    """Truth and prediction of many scenes, at least one, to be matched together."""

    truths: Sequence[Boxes]
    predictions: Sequence[Boxes]

    def __len__(self) -> int:
        return len(self.truths)

    def __iter__(self) -> Iterator[tuple[Boxes, Boxes]]:
        return zip(self.truths, self.predictions, strict=True)

    @cached_property
    def pair(self) -> _boxed.Pair | None:
        """All of them, apart from one another; None where they have to be taken one by one."""
        return _boxed.gathered(self.truths, self.predictions)


@dataclass(frozen=True)
class BoxMeasure(Measure):
    """Base of the measures over matched boxes; the threshold of IoU and the order of matching are part of each.

    Parameters
    ----------
    matching
        ``hungarian-then-filter``: matched for the largest sum of IoU, then struck out below the least IoU;
        ``gated-hungarian``: matched for the largest sum of IoU among pairs that reach the least IoU;
        ``max-cardinality``: as many matches as can reach the least IoU; ``greedy``: matched one by one, the surest
        first.
    """

    iou: float = 0.25
    matching: Order = "hungarian-then-filter"
    signal: ClassVar[type] = Boxes
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def __post_init__(self) -> None:
        object.__setattr__(self, "iou", _boxed.threshold(self.iou))
        check_order(self.matching)

    @property
    def family(self) -> str:  # type: ignore[override]
        """One tally for each order and threshold."""
        return family_of(f"boxes_{self.matching.replace('-', '_')}", self.iou)

    @property
    def rule(self) -> str:
        """What a name ends with: the threshold and the order of matching."""
        return f"@{self.iou:g}:{self.matching}"

    @property
    def common(self) -> str:
        """The name without the order of matching."""
        return self.name.removesuffix(f":{self.matching}")

    @property
    def aliases(self) -> tuple[str, ...]:
        """The name without ``box_``, as tables of boxes print it."""
        return (self.name.removeprefix("box_"),)

    def tally(self, truth: Boxes, prediction: Boxes) -> Tallies:
        """Match one scene."""
        pair = _boxed.paired(truth, prediction)
        fields = counts(pair, pair.matched(self.iou, self.matching))
        rows = {name: np.asarray(values)[np.newaxis] for name, values in fields.items()}
        return Tallies(LAYOUT, {"class": tuple(pair.labels)}, rows)

    def tally_scenes(self, scenes: Scenes) -> Tallies:
        """Match many scenes at once: the rows that :meth:`tally` gives, under one another."""
        pair = scenes.pair
        if pair is None:
            return Tallies.stack(self.tally(truth, prediction) for truth, prediction in scenes)
        fields = _counted(pair, pair.matched(self.iou, self.matching), len(scenes))
        return Tallies(LAYOUT, {"class": tuple(pair.labels)}, fields)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that counts and sums can come from matches."""
        del ledgers
        f, wrong = tallies.fields, []
        if (f["tp"] > np.minimum(f["truth"], f["predicted"])).any():
            wrong.append("more matches than true or predicted boxes")
        if (f["iou"] > f["tp"] * (1 + 1e-9)).any() or (f["iou"] < f["tp"] * (self.iou - 1e-6)).any():
            wrong.append("a sum of IoU is not one of matches from the threshold to 1")
        return wrong

    def count(self, totals: Totals) -> int:
        """True boxes."""
        return int(totals["truth"].sum())


def counts(pair: _boxed.Pair, matches: Any) -> dict[str, Any]:
    """Return the fields of the tally of one scene."""
    codes = pair.classes[0][matches.i]
    return {
        "tp": pair.count(codes),
        "truth": pair.count(pair.classes[0]),
        "predicted": pair.count(pair.classes[1]),
        "iou": np.array([math.fsum(matches.iou[codes == code]) for code in range(len(pair.labels))]),
        "n": 1,
    }


def _counted(pair: _boxed.Pair, matches: Overlaps, scenes: int) -> dict[str, Array]:
    """Return the fields of the tallies of many scenes."""
    size = len(pair.labels)

    def cells(codes: Array) -> Array:
        return np.bincount(codes, minlength=scenes * size).reshape(scenes, size)

    true, returned = (scene * size + code for scene, code in zip(pair.scenes, pair.classes, strict=True))
    of_match = true[matches.i]
    tp = cells(of_match)
    values = matches.iou[np.argsort(of_match, kind="stable")].tolist()
    ends = itertools.pairwise([0, *np.cumsum(tp).tolist()])
    sums = np.array([math.fsum(values[start:stop]) for start, stop in ends]).reshape(scenes, size)
    ones = np.ones(scenes, np.int64)
    return {"tp": tp, "truth": cells(true), "predicted": cells(returned), "iou": sums, "n": ones}


def matched(truth: Boxes, prediction: Boxes, iou: float, matching: Order) -> list[tuple[int, int, float]]:
    """Return the matches of one scene: truth, prediction and IoU, by the truth."""
    found = _boxed.paired(truth, prediction).matched(iou, matching)
    return list(zip(found.i.tolist(), found.j.tolist(), found.iou.tolist(), strict=True))


def per_scene(totals: Totals) -> dict[str, float | None]:
    """Return how many boxes a scene has on average: ``true`` and ``predicted``, ``None`` without scenes."""
    n = int(totals["n"])
    sides = {"true": "truth", "predicted": "predicted"}
    return {name: float(totals[field].sum()) / n if n else None for name, field in sides.items()}


@dataclass(frozen=True)
class _BoxRatio(AveragedRatio, BoxMeasure):
    """A ratio averaged over a class set."""

    zero_division: ZeroDivision = None

    def __post_init__(self) -> None:
        AveragedRatio.__post_init__(self)
        BoxMeasure.__post_init__(self)

    @property
    def name(self) -> str:
        """Column key."""
        return f"box_{super().name}{self.rule}"

    def why(self, totals: Totals) -> str:
        """Nothing on the side that the ratio is of."""
        return why_undefined(self.kind, totals)


class BoxF1(_BoxRatio):
    """F1 of boxes, the harmonic mean of precision and recall."""

    title, kind = "F1 of boxes", "f1"


class BoxPrecision(_BoxRatio):
    """Precision of boxes: of those predicted, the share that matches a true one."""

    title, kind = "precision of boxes", "precision"


class BoxRecall(_BoxRatio):
    """Recall of boxes: of the true ones, the share that a predicted one matches."""

    title, kind = "recall of boxes", "recall"


@dataclass(frozen=True)
class BoxF1OfMeans(F1OfMeans, BoxMeasure):
    """Harmonic mean of macro precision and macro recall of boxes, which is not the mean of the classes' F1."""

    title: ClassVar[str] = "F1 of macro precision and recall of boxes"

    def __post_init__(self) -> None:
        F1OfMeans.__post_init__(self)
        BoxMeasure.__post_init__(self)

    @property
    def name(self) -> str:
        """Column key."""
        return f"box_f1_of_macro_means{averaging.suffix(self.classes)}{self.rule}"

    def why(self, totals: Totals) -> str:
        """One of both is undefined."""
        return why_undefined("recall" if totals["predicted"].sum() else "precision", totals)


def why_undefined(kind: Kind, totals: Totals) -> str:
    """Say what a ratio of boxes lacks."""
    if int(totals["n"]) == 0:
        return "no scenes"
    side = {"precision": "predicted boxes", "recall": "true boxes", "f1": "boxes in truth or prediction"}[kind]
    return f"no {side}"


@dataclass(frozen=True)
class _OfClass(averaging.OfClass, BoxMeasure):
    """Base of the ratios of one class.

    Parameters
    ----------
    zero_division
        ``0``: 0/0 counts as 0; ``1``: 0/0 counts as 1; ``None``: 0/0 is undefined.
    """

    label: str = "Add"
    zero_division: ZeroDivision = None
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        super().__post_init__()
        averaging.check("union", self.zero_division)

    @property
    def name(self) -> str:
        """Column key."""
        return f"box_{self.kind}[{self.label}]{self.rule}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Ratio of one class."""
        del frozen
        return averaging.averaged(self.kind, "macro", totals, None, (self.label,), self.zero_division)

    def why(self, totals: Totals) -> str:
        """The class has nothing on that side."""
        what = why_undefined(self.kind, totals)
        return what if what == "no scenes" else f"{what} of class {self.label!r}"

    def count(self, totals: Totals) -> int:
        """True boxes of the class."""
        return int(_of(totals, "truth", self.label))


class BoxClassF1(_OfClass):
    """F1 of the boxes of one class."""

    title, kind = "F1 of the boxes of a class", "f1"


class BoxClassPrecision(_OfClass):
    """Precision of the boxes of one class: of those predicted, the share that matches a true one."""

    title, kind = "precision of the boxes of a class", "precision"


class BoxClassRecall(_OfClass):
    """Recall of the boxes of one class: of the true ones, the share that a predicted one matches."""

    title, kind = "recall of the boxes of a class", "recall"


def _of(totals: Totals, field: str, label: str | None) -> Array:
    """Return a field of one class, or of all together."""
    if label is None:
        return np.asarray(totals[field].sum(axis=-1))
    if label not in totals.axes["class"]:
        return np.zeros(totals.batch)
    return np.asarray(totals[field][..., totals.axes["class"].index(label)])


@dataclass(frozen=True)
class BoxIoU(BoxMeasure):
    """Mean IoU (common volume over joint volume) of matched boxes, of all classes or of one."""

    label: str | None = None
    title: ClassVar[str] = "mean IoU of matched boxes"

    @property
    def name(self) -> str:
        """Column key."""
        return f"box_mean_iou{'' if self.label is None else f'[{self.label}]'}{self.rule}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Sum of IoU over matches."""
        del frozen
        return Scored.ratio(_of(totals, "iou", self.label), _of(totals, "tp", self.label))

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Whether the class has true boxes here; all classes together do not hang on a rare one."""
        del frozen
        return None if self.label is None else averaging.held(self.label, totals)

    def why(self, totals: Totals) -> str:
        """No match."""
        return "no matched boxes" if int(totals["n"]) else "no scenes"

    def count(self, totals: Totals) -> int:
        """Matches."""
        return int(_of(totals, "tp", self.label))


@dataclass(frozen=True)
class BoxErrorsPerScene(BoxMeasure):
    """Boxes without a match, by the scene.

    Parameters
    ----------
    what
        ``false``: predicted boxes; ``missed``: true boxes.
    """

    what: Literal["false", "missed"] = "false"
    title: ClassVar[str] = "boxes per scene without a match"
    direction: ClassVar[Direction] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit: ClassVar[str] = "1/scene"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.what not in ("false", "missed"):
            raise InputError(f"what: expected false or missed, but got {self.what!r:.80}")

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.what}_boxes_per_scene{self.rule}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Boxes without a match over scenes."""
        del frozen
        side = totals["predicted" if self.what == "false" else "truth"]
        return Scored.ratio((side - totals["tp"]).sum(axis=-1), totals["n"])

    def why(self, totals: Totals) -> str:
        """Only without scenes."""
        del totals
        return "no scenes"

    def count(self, totals: Totals) -> int:
        """Scenes."""
        return int(totals["n"])


_STRICT: dict[str, Any] = {"matching": "max-cardinality"}
MEASURES: tuple[Measure, ...] = (
    BoxF1(),
    BoxF1(average="micro"),
    BoxF1(iou=0.5, matching="gated-hungarian", classes="present"),
    BoxF1(**_STRICT, classes=("Add", "Remove")),
    BoxPrecision(**_STRICT),
    BoxPrecision(matching="greedy", zero_division=0),
    BoxRecall(average="micro", matching="greedy"),
    BoxF1OfMeans(),
    BoxF1OfMeans(**_STRICT, classes=("Add", "Remove")),
    BoxClassF1(label="0"),
    BoxClassPrecision(),
    BoxClassRecall(**_STRICT, label="1", zero_division=0),
    BoxIoU(),
    BoxIoU(**_STRICT, label="0"),
    BoxErrorsPerScene(),
    BoxErrorsPerScene(**_STRICT, what="missed"),
)
