"""Scores of 3D skeletons over many sequences, folded from sums of joint errors.

A case (one sequence) keeps, per alignment, the sum of distances and the number of visible joints by joint, how many
distances are within each threshold, the distance of the roots, and its own mean distance. Definitions are those of
:mod:`gnomon.measures.pose`; units are metres.

Measures
--------
MPJPE       mean distance after an alignment: ``none`` (mpjpe), ``root`` (pelvis_mpjpe), ``rigid`` (rigid_mpjpe),
            ``similarity`` (pa_mpjpe), ``scale`` (n_mpjpe)
JointMPJPE  the same of one joint
RootError   mean distance of the roots
PCK, AUC    share of distances within a threshold, and its mean over the thresholds 0, 5, ... mm
PCK3D       share of distances *below* 150 mm after the roots were put on one another (3DPCK of Mehta et al., 2017);
AUC3D       its mean over the thresholds 0, 5, ... 150 mm (31, of which the first is always 0). A distance within a
            nanometre of a threshold is not below it

Averages: ``micro`` over all visible joints of all samples; ``macro`` the plain mean over sequences of their means.

What is visible is what the truth marks as valid. A prediction must have every joint that its truth has: a sample in
which it does not is dropped, and counted, before it is measured. The root is a parameter of the measures and part of
the labels of a tally; a score asked for another root than the tally was made with is undefined.

Undefined cases: no samples; the root hidden in all samples (root, scale, root error); an unknown joint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored, Shown
from gnomon.core.signals import Skeletons, same_frame
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures.pose import KEYS, RANGES_MM, STEP_MM, THRESHOLDS_MM, TOLERANCE_M, grid
from gnomon.numerics.folding import fold
from gnomon.numerics.procrustes import ALIGNMENTS, FINE, Aligned, align, root_pair

Alignment = Literal["none", "root", "rigid", "similarity", "scale"]
Average = Literal["micro", "macro"]

AT_ROOT = ("root", "scale")
BELOW_MM = 150
"""The threshold of 3DPCK: distances that reach it do not count."""
THRESHOLDS = (*map(str, THRESHOLDS_MM[:-1]), f"<{BELOW_MM}", str(BELOW_MM))  # numbers of distances rise along the axis
RANGES = (*(f"0-{upto}" for upto in RANGES_MM), f"<0-{BELOW_MM}")
PART = 1 << 14
"""Samples whose distances are held at a time; fixed, so that sums do not depend on anything else."""

LAYOUT = (
    Field("error", ("alignment", "joint"), "sum", "m"),
    Field("joints", ("alignment", "joint")),
    Field("hits", ("alignment", "threshold")),
    Field("area", ("alignment", "range")),
    Field("mean", ("alignment",), "sum", "m"),
    Field("cases", ("alignment",)),
    Field("apart", ("root",), "sum", "m"),
    Field("rooted", ("root",)),
    Field("apart_mean", ("root",), "sum", "m"),
    Field("rooted_cases", ("root",)),
    Field("n"),
)


@dataclass(frozen=True)
class _PoseMeasure(Measure):
    """Base of the measures over skeletons; ``n`` is the number of samples with a visible joint.

    Parameters
    ----------
    alignment
        ``none``: as they are; ``root``: after the roots were put on one another; ``rigid``: after the best rotation and
        translation; ``similarity``: after the best rotation, translation and scale; ``scale``: after the roots were put
        on one another and the prediction was scaled about them.
    average
        ``micro``: over all joints of all samples; ``macro``: mean over sequences of their means.
    """

    pelvis: tuple[int, ...] = (0,)
    signal: ClassVar[type] = Skeletons
    family: ClassVar[str] = "skeletons"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT
    direction: ClassVar[Literal["up", "down"]] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit: ClassVar[str] = "m"
    shown: ClassVar[Shown | None] = Shown(1000.0, "mm", 1)

    def __post_init__(self) -> None:
        fine = isinstance(self.pelvis, tuple) and len(self.pelvis) in (1, 2)
        if not fine or not all(type(joint) is int and joint >= 0 for joint in self.pelvis):
            raise InputError(f"pelvis: expected (joint,) or a pair of joints, but got {self.pelvis!r}")
        for name, known in (("alignment", ALIGNMENTS), ("average", ("micro", "macro"))):
            if getattr(self, name, known[0]) not in known:
                raise InputError(f"{name}: expected one of {', '.join(known)}, but got {getattr(self, name)!r}")

    @property
    def root(self) -> str:
        """Label of the root: ``0``, or ``1+2`` for the middle of a pair."""
        return "+".join(map(str, self.pelvis))

    def tally(self, truth: Skeletons, prediction: Skeletons) -> Tallies:
        """Sum one sequence."""
        names = _check(truth, prediction)
        root_pair((self.pelvis[0], self.pelvis[-1]), len(names))
        seen = np.asarray(truth.valid)
        return self.tally_many(truth.joints, prediction.joints, np.zeros(len(truth), dtype=np.int64), 1, names, seen)

    def tally_many(
        self,
        truth: Array,
        prediction: Array,
        codes: Array,
        cases: int,
        names: tuple[str, ...],
        seen: Array | None = None,
    ) -> Tallies:
        """Sum many sequences at once: one row for each code 0 .. cases - 1 of the samples."""
        pelvis = (self.pelvis[0], self.pelvis[-1])
        sums = []
        for start in range(0, max(len(truth), 1), PART):
            part = slice(start, start + PART)
            mask = None if seen is None or seen[part].all() else seen[part]
            found = align(truth[part], prediction[part], keep=ALIGNMENTS, pelvis=pelvis, mask=mask)
            _check_size(found, start)
            sums.append(_summed(found, codes[part], cases))
        return self._tallies({name: _added([part[name] for part in sums]) for name in sums[0]}, names)

    def tally_aligned(self, found: Aligned, codes: Array, cases: int, names: tuple[str, ...]) -> Tallies:
        """Sum what was aligned already, with this root and the distances of every alignment kept."""
        _check_size(found, 0)
        return self._tallies(_summed(found, codes, cases), names)

    def _tallies(self, fields: dict[str, Array], names: tuple[str, ...]) -> Tallies:
        axes = {
            "alignment": tuple(labelled(kind, self.root) for kind in ALIGNMENTS),
            "joint": names,
            "threshold": THRESHOLDS,
            "range": RANGES,
            "root": (self.root,),
        }
        return Tallies(LAYOUT, axes, {**fields, **_means(fields)})

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that sums and counts can come from sequences."""
        del ledgers
        f = tallies.fields
        joints = f["joints"].sum(axis=2)
        wrong = []
        if any((f[name] < 0).any() for name in ("error", "mean", "apart", "apart_mean")):
            wrong.append("a sum of distances is negative")
        if (f["error"][f["joints"] == 0] != 0).any() or (f["apart"][f["rooted"] == 0] != 0).any():
            wrong.append("distances of joints that were never visible")
        if (np.diff(f["hits"], axis=2) < 0).any() or (f["hits"].max(axis=2, initial=0) > joints).any():
            wrong.append("the numbers of distances within thresholds do not rise to that of all")
        if (f["joints"].max(axis=(1, 2), initial=0) > f["n"]).any() or (f["rooted"].sum(axis=1) > f["n"]).any():
            wrong.append("more joints of a kind than samples")
        return wrong

    def _aligned(self, totals: Totals, field: str, alignment: str) -> Array:
        """Return the part of a field that belongs to an alignment, zero where the tally does not know it."""
        return _along(totals, field, "alignment", labelled(alignment, self.root))

    def why(self, totals: Totals) -> str:
        """No samples, another root, or a root that is nowhere visible."""
        if int(totals["n"]) == 0:
            return "no samples"
        if self.root not in totals.axes["root"]:
            return f"tallied with the root {some(totals.axes['root'])}, not {self.root!r}"
        return "the root is visible in no sample"


def labelled(alignment: str, root: str) -> str:
    """Return the label of an alignment in a tally; the root is part of it where it matters.

    >>> labelled("root", "1+2"), labelled("rigid", "1+2")
    ('root@1+2', 'rigid')
    """
    return f"{alignment}@{root}" if alignment in AT_ROOT else alignment


def _check(truth: Skeletons, prediction: Skeletons) -> tuple[str, ...]:
    """Refuse sides that cannot be compared, and return the names of the joints."""
    same_frame(truth, prediction)
    if truth.joints.shape != prediction.joints.shape or not truth.joints.shape[1]:
        raise InputError(
            f"truth has shape {truth.joints.shape} and prediction {prediction.joints.shape}: "
            "expected the same (N, J, 3) with at least one joint"
        )
    if truth.names and prediction.names and truth.names != prediction.names:
        raise InputError(f"truth has joints {some(truth.names)} and prediction {some(prediction.names)}")
    names = truth.names or prediction.names or tuple(map(str, range(truth.joints.shape[1])))
    if len(set(names)) != len(names):
        raise InputError(f"joints: expected distinct names, but got {some(names, show=8)}")
    missing = np.asarray(truth.valid) & ~np.asarray(prediction.valid)
    if missing.any():
        sample, joint = np.argwhere(missing)[0].tolist()
        raise InputError(
            f"prediction lacks joint {names[joint]!r} of sample {sample}, which the truth has: "
            "drop and count such samples first, or mark the joint as invalid in the truth"
        )
    return names


def _check_size(found: Aligned, start: int) -> None:
    lost = np.flatnonzero((found.status != FINE) & (found.count > 0))
    if lost.size:
        raise InputError(f"sample {start + int(lost[0])} holds coordinates too large to be squared: expected metres")


def _summed(found: Aligned, codes: Array, cases: int) -> dict[str, Array]:
    """Sum aligned samples by case."""
    limits = grid(max(RANGES_MM)) / 1000 + TOLERANCE_M
    error, joints, curve = (
        np.stack(arrays, axis=1)
        for arrays in zip(*(fold(found.errors[kind], codes, cases, limits) for kind in ALIGNMENTS), strict=True)
    )
    strict = grid(BELOW_MM)[1:] / 1000 - TOLERANCE_M  # evenly spaced, as fold needs it; nothing is below 0
    below = np.stack([fold(found.errors[kind], codes, cases, strict)[2] for kind in ALIGNMENTS], axis=1)
    apart, rooted, _ = fold(np.where(found.rooted, found.apart, np.nan)[:, np.newaxis], codes, cases, limits)
    return {
        "error": error,
        "joints": joints,
        "hits": np.stack(
            [
                *(curve[:, :, limit // STEP_MM] for limit in THRESHOLDS_MM[:-1]),
                below[:, :, -1],
                curve[:, :, BELOW_MM // STEP_MM],
            ],
            axis=2,
        ),
        "area": np.stack(
            [*(curve[:, :, : upto // STEP_MM + 1].sum(axis=2) for upto in RANGES_MM), below.sum(axis=2)], axis=2
        ),
        "apart": apart,
        "rooted": rooted,
        "n": np.bincount(codes[found.count > 0], minlength=cases),
    }


def _added(parts: list[Array]) -> Array:
    """Add parts: counts as they are, floats without rounding on the way."""
    if len(parts) == 1 or parts[0].dtype.kind != "f":
        return np.asarray(sum(parts[1:], parts[0]))
    columns = np.stack(parts).reshape(len(parts), -1).T.tolist()
    return np.array([math.fsum(column) for column in columns]).reshape(parts[0].shape)


def _means(fields: Mapping[str, Array]) -> dict[str, Array]:
    """Return the means of the sequences themselves, for macro averages, and whether there are any."""
    mean = Scored.ratio(fields["error"].sum(axis=2), fields["joints"].sum(axis=2))
    apart = Scored.ratio(fields["apart"], fields["rooted"])
    return {
        "mean": mean.values,
        "cases": mean.defined.astype(np.int64),
        "apart_mean": apart.values,
        "rooted_cases": apart.defined.astype(np.int64),
    }


def _along(totals: Totals, field: str, axis: str, label: str) -> Array:
    """Return the entry of a label on the first axis of a field, ``(*batch, ...)``, or zeros."""
    array, labels = totals[field], totals.axes[axis]
    place = len(totals.batch)
    if label not in labels:
        return np.zeros(array.shape[:place] + array.shape[place + 1 :])
    entry: tuple[Any, ...] = (*(slice(None),) * place, labels.index(label))
    return np.asarray(array[entry], order="C")


@dataclass(frozen=True)
class MPJPE(_PoseMeasure):
    """Mean distance of predicted from true joints."""

    alignment: Alignment = "none"
    average: Average = "micro"
    title: ClassVar[str] = "mean joint error"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{'macro_' if self.average == 'macro' else ''}{KEYS[self.alignment]}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Distances over joints, or means over sequences."""
        del frozen
        if self.average == "macro":
            return Scored.ratio(
                self._aligned(totals, "mean", self.alignment), self._aligned(totals, "cases", self.alignment)
            )
        error, joints = (self._aligned(totals, field, self.alignment).sum(axis=-1) for field in ("error", "joints"))
        return Scored.ratio(error, joints)


@dataclass(frozen=True)
class JointMPJPE(_PoseMeasure):
    """Mean distance of one predicted joint from the true one."""

    joint: str = "0"
    alignment: Alignment = "none"
    title: ClassVar[str] = "mean error of one joint"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{KEYS[self.alignment]}[{self.joint}]"

    def _of(self, totals: Totals, field: str) -> Array:
        kinds, joints = totals.axes["alignment"], totals.axes["joint"]
        label = labelled(self.alignment, self.root)
        if self.joint not in joints or label not in kinds:
            return np.zeros(totals.batch)
        return np.asarray(totals[field][..., kinds.index(label), joints.index(self.joint)])

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Distances over how often the joint is visible."""
        del frozen
        return Scored.ratio(self._of(totals, "error"), self._of(totals, "joints"))

    def why(self, totals: Totals) -> str:
        """A joint that is never visible, or as for all."""
        if int(totals["n"]) and not self._aligned(totals, "joints", "none")[..., self._place(totals)].any():
            return f"joint {self.joint!r} is visible in no sample"
        return super().why(totals)

    def _place(self, totals: Totals) -> list[int]:
        axis = totals.axes["joint"]
        return [axis.index(self.joint)] if self.joint in axis else []

    def count(self, totals: Totals) -> int:
        """Samples that show the joint."""
        return int(self._of(totals, "joints"))


@dataclass(frozen=True)
class RootError(_PoseMeasure):
    """Mean distance of the predicted from the true root.

    Parameters
    ----------
    average
        ``micro``: over all samples; ``macro``: mean over sequences of their means.
    """

    average: Average = "micro"
    title: ClassVar[str] = "mean error of the root"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{'macro_' if self.average == 'macro' else ''}root_error"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Distances over samples, or means over sequences."""
        del frozen
        fields = ("apart_mean", "rooted_cases") if self.average == "macro" else ("apart", "rooted")
        top, bottom = (_along(totals, field, "root", self.root) for field in fields)
        return Scored.ratio(top, bottom)

    def count(self, totals: Totals) -> int:
        """Samples that show the root."""
        return int(_along(totals, "rooted", "root", self.root))


@dataclass(frozen=True)
class _Share(_PoseMeasure):
    """Share of the distances after an alignment."""

    alignment: Alignment = "none"
    direction: ClassVar[Literal["up", "down"]] = "up"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = ""
    shown: ClassVar[Shown | None] = None

    @property
    def prefix(self) -> str:
        """What the alignment adds to the name: ``pa_`` and so on."""
        return KEYS[self.alignment].removesuffix("mpjpe")

    def _share(self, totals: Totals, field: str, axis: str, label: str, steps: int) -> Scored:
        if label not in totals.axes[axis]:  # tallied before this threshold was counted
            return Scored.ratio(np.zeros(totals.batch), np.zeros(totals.batch))
        hits = self._aligned(totals, field, self.alignment)[..., totals.axes[axis].index(label)]
        return Scored.ratio(hits, steps * self._aligned(totals, "joints", self.alignment).sum(axis=-1))


@dataclass(frozen=True)
class PCK(_Share):
    """Share of the joints that are within a distance of the true ones."""

    threshold_mm: int = 150
    title: ClassVar[str] = "share of joints within a distance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold_mm not in THRESHOLDS_MM:
            raise InputError(f"threshold_mm: expected one of {THRESHOLDS_MM}, but got {self.threshold_mm!r}")

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.prefix}pck@{self.threshold_mm}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over joints."""
        del frozen
        return self._share(totals, "hits", "threshold", str(self.threshold_mm), 1)


@dataclass(frozen=True)
class AUC(_Share):
    """Share of the joints within a distance of the true ones, mean over the distances 0, 5, ... mm."""

    upto_mm: int = 150
    title: ClassVar[str] = "area under the curve of the share of joints"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.upto_mm not in RANGES_MM:
            raise InputError(f"upto_mm: expected one of {RANGES_MM}, but got {self.upto_mm!r}")

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.prefix}auc@{self.upto_mm}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over joints and thresholds."""
        del frozen
        return self._share(totals, "area", "range", f"0-{self.upto_mm}", len(grid(self.upto_mm)))


@dataclass(frozen=True)
class PCK3D(_Share):
    """3DPCK: share of the joints that are less than 150 mm from the true ones, roots put on one another."""

    alignment: Alignment = "root"
    title: ClassVar[str] = "share of joints below 150 mm, roots aligned (3DPCK)"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.alignment}_3dpck@{BELOW_MM}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over joints."""
        del frozen
        return self._share(totals, "hits", "threshold", f"<{BELOW_MM}", 1)


@dataclass(frozen=True)
class AUC3D(_Share):
    """Mean of 3DPCK over the distances 0, 5, ... 150 mm."""

    alignment: Alignment = "root"
    title: ClassVar[str] = "area under the curve of 3DPCK, roots aligned"
    bounds: ClassVar[tuple[float, float]] = (0.0, BELOW_MM / STEP_MM / len(grid(BELOW_MM)))  # nothing is below 0 mm

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.alignment}_3dauc@{BELOW_MM}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over joints and thresholds."""
        del frozen
        return self._share(totals, "area", "range", f"<0-{BELOW_MM}", len(grid(BELOW_MM)))


MEASURES: tuple[Measure, ...] = (
    *(MPJPE(alignment=kind) for kind in ("none", "root", "rigid", "similarity", "scale")),
    MPJPE(average="macro"),
    RootError(),
    RootError(average="macro"),
    JointMPJPE(),
    JointMPJPE(joint="absent", alignment="root"),
    PCK(),
    PCK(threshold_mm=50, alignment="similarity"),
    AUC(upto_mm=200, alignment="root"),
    PCK3D(),
    AUC3D(),
)
