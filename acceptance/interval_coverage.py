"""The default interval covers: 92-97.5 % of drawn samples, for every family whose classes rest on 10 groups or more.

Over seeds it covers 92 % or more: with two or three of them it is on the wide side.

Tallies of groups are drawn from models with effects of their own for every group (some are easy, some are large). What
an interval has to cover is the score of 40,000 groups of the same model. The other half: p-values of the swap test are
uniform where both systems come from one model, judged by the Kolmogorov-Smirnov distance.

``--markdown`` prints the table of coverage as it stands in docs/statistics.md; without it, the page is compared too.
"""

import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from acceptance.support import ROOT, Promise
from gnomon.core.measure import Measure
from gnomon.core.tallies import Array, Tallies
from gnomon.inference.composites import compare_composites, composite
from gnomon.inference.crossed import crossed
from gnomon.inference.intervals import Groups, Interval, Plan, interval
from gnomon.inference.paired import compare
from gnomon.measures.classification import F1, Accuracy, BalancedAccuracy, Kappa
from gnomon.measures.matching import CollarF1, FirstOnsetNoLater, OnsetError
from gnomon.measures.multilabel import LAYOUT as SETS
from gnomon.measures.multilabel import SetF1
from gnomon.measures.recognition import AnyOverlap, EventF1, FalseAlarmsPerHour, TimeF1
from gnomon.measures.scene_boxes import BoxErrorsPerScene, BoxF1, BoxIoU, BoxPrecision
from gnomon.measures.scenes import ChangeDetectionRate, FalseAlarmRate
from gnomon.measures.segmentation import EditScore, SegmentalF1
from gnomon.measures.skeletons import MPJPE, PCK
from gnomon.runs.seeds import mean_difference

Model = Callable[[np.random.Generator, int], Tallies]

SAMPLES = 2000
TESTS = 1000
WHOLE = 40_000
LOW, HIGH = 0.92, 0.975
WIDE = 0.995
"""What is allowed over seeds, where few of them say little about their spread."""
SIZE, ERROR = 0.5, 0.4
"""How far groups differ in size and in mean error: standard deviations of the logarithms."""
CLASSES = 8
PRIOR = np.linspace(0.5, 2.0, CLASSES) / np.linspace(0.5, 2.0, CLASSES).sum()
PLAN = Plan(resamples=999)


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def filled(measure: Measure, axes: dict[str, tuple[str, ...]], groups: int, **fields: Array) -> Tallies:
    """Tallies of a family; fields that the measure does not read are 0."""
    made = {}
    for field in measure.layout:
        shape = (groups, *(len(axes[axis]) for axis in field.axes))
        kind = np.int64 if field.kind == "count" else np.float64
        made[field.name] = np.asarray(fields.get(field.name, np.zeros(shape)), dtype=kind).reshape(shape)
    return Tallies(measure.layout, axes, made)


def counted(rng: np.random.Generator, groups: int, rare: int = 0) -> dict[str, Array]:
    """Counts of single labels: groups differ in size, in skill, and in skill by class.

    With ``rare`` every class is found in so many groups only; the 40,000 are then made of sets of 40.
    """
    size = rng.lognormal(math.log(120), SIZE, groups)[:, np.newaxis]
    truth = rng.poisson(size * rng.dirichlet(6 * CLASSES * PRIOR, groups))
    if rare:
        order = rng.random((groups // 40, 40, CLASSES)).argsort(axis=1).argsort(axis=1)
        truth = np.where((order < rare).reshape(groups, CLASSES), truth + 1, 0)
    skill = np.linspace(0.3, 2.0, CLASSES) + rng.normal(0, 0.7, (groups, 1)) + rng.normal(0, 0.5, (groups, CLASSES))
    tp = rng.binomial(truth, logistic(skill))
    wrong = PRIOR * (1 - np.eye(CLASSES))
    moved = rng.multinomial(truth - tp, wrong / wrong.sum(axis=1, keepdims=True)).sum(axis=1)
    return {"tp": tp, "truth": truth, "predicted": tp + moved, "n": truth.sum(axis=1)}


def labels(rng: np.random.Generator, groups: int, rare: int = 0) -> Tallies:
    axes = {"class": tuple(map(str, range(CLASSES)))}
    return filled(Accuracy(), axes, groups, **counted(rng, groups, rare))


def rare_labels(rng: np.random.Generator, groups: int) -> Tallies:
    return labels(rng, groups, rare=10)


def thin_labels(rng: np.random.Generator, groups: int) -> Tallies:
    return labels(rng, groups, rare=4)


def label_sets(rng: np.random.Generator, groups: int) -> Tallies:
    counts = counted(rng, groups)
    axes = {"class": tuple(map(str, range(CLASSES)))}
    return Tallies(SETS, axes, {**counts, "exact": rng.binomial(counts["n"], 0.4)})


def recordings(rng: np.random.Generator, groups: int) -> Tallies:
    """Ward's categories: events by outcome, their seconds by category, returns without an event."""
    axes = {
        "class": tuple("abcd"),
        "category": ("TP", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe"),
        "outcome": ("C", "D", "F", "FM", "M", "C'", "I'", "F'", "FM'", "M'"),
        "fp": ("I", "M", "Os", "Oe", "-"),
        "fn": ("D", "F", "Us", "Ue", "-"),
    }
    hours = rng.lognormal(0.5, SIZE, groups)
    n = rng.poisson(6 * hours[:, np.newaxis] * rng.gamma(3, 1 / 3, (groups, 4))) + 1
    luck = rng.normal(0, 0.6, (groups, 1, 5))
    share = np.exp(np.log([0.6, 0.12, 0.08, 0.05, 0.15]) + luck)
    outcome = rng.multinomial(n, share / share.sum(axis=-1, keepdims=True))
    alarms = rng.poisson(n * 0.3 * rng.gamma(2, 0.5, (groups, 1)))
    returns = np.stack([outcome[..., 0], alarms, 2 * outcome[..., 2], outcome[..., 3], outcome[..., 4] // 2], axis=-1)
    true = rng.gamma(4, 5, (groups, 4, 1)) * n[..., np.newaxis]
    parts = rng.gamma(10 * share / share.sum(axis=-1, keepdims=True), size=(groups, 4, 5)) + 1e-9
    false = rng.gamma(0.5, 0.15, (groups, 4, 4)) * np.exp(rng.normal(0, 0.4, (groups, 1, 1)))
    seconds = true * np.concatenate([parts / parts.sum(axis=-1, keepdims=True), false], axis=-1)
    window = 3600 * hours + seconds.sum(axis=(1, 2))
    fields = {"seconds": seconds, "events": np.concatenate([outcome, returns], axis=-1), "window_s": window}
    return filled(TimeF1(), axes, groups, **fields, n=n.sum(axis=1))


def collars(rng: np.random.Generator, groups: int) -> Tallies:
    return filled(CollarF1(), {"class": tuple(map(str, range(CLASSES)))}, groups, **counted(rng, groups))


def first_onsets(rng: np.random.Generator, groups: int) -> Tallies:
    n = rng.poisson(rng.lognormal(3, SIZE, groups)) + 1
    return filled(FirstOnsetNoLater(), {}, groups, n=n, reached=rng.binomial(n, logistic(rng.normal(1, 0.8, groups))))


def edges(rng: np.random.Generator, groups: int) -> Tallies:
    n = rng.poisson(rng.lognormal(3, SIZE, groups)) + 1
    return filled(OnsetError(), {}, groups, n=n, onset_s=rng.gamma(n, 0.4 * rng.lognormal(0, ERROR, groups)))


def runs(rng: np.random.Generator, groups: int) -> Tallies:
    axes = SegmentalF1.axes
    truth = rng.poisson(rng.lognormal(2.5, SIZE, groups)) + 1
    hard = rng.normal(0.5, 0.6, (groups, 1))
    chance = logistic(hard + np.linspace(2, -2, len(axes["overlap"])))
    tp = np.sort(rng.binomial(truth[:, np.newaxis], chance), axis=1)[:, ::-1]
    edit = 100 * rng.beta(8 * logistic(hard[:, 0]) + 1, 3)
    fields = {"tp": tp, "truth": truth, "returned": truth + rng.poisson(truth / 4), "edit": edit}
    return filled(SegmentalF1(), dict(axes), groups, **fields, n=np.ones(groups))


def sequences(rng: np.random.Generator, groups: int) -> Tallies:
    axes = {
        "alignment": ("none",),
        "joint": tuple(map(str, range(17))),
        "threshold": tuple(map(str, (50, 100, 150))),
        "range": ("0-150",),
        "root": ("0",),
    }
    frames = rng.poisson(rng.lognormal(5, SIZE, groups)) + 1
    level = 0.06 * rng.lognormal(0, ERROR, (groups, 1)) * np.linspace(0.5, 2, 17)
    error = rng.gamma(frames[:, np.newaxis] / 4, 4 * level)
    joints = np.repeat(frames[:, np.newaxis], 17, axis=1)
    near = 1 - np.exp(-0.15 / level.mean(axis=1))
    hits = np.zeros((groups, 1, 3))
    hits[:, 0, 2] = rng.binomial(17 * frames, near)
    fields = {"error": error, "joints": joints, "hits": hits, "n": frames, "cases": np.ones(groups)}
    return filled(MPJPE(), axes, groups, **fields, mean=error.sum(axis=1) / joints.sum(axis=1))


def scanned_rooms(rng: np.random.Generator, groups: int) -> Tallies:
    """Boxes of rooms: five scenes each, added and removed things, some rooms cluttered, some easy."""
    truth = rng.poisson(rng.lognormal(1.2, 0.4, (groups, 1)), (groups, 2)) + 1
    skill = rng.normal(0.4, 0.6, (groups, 1)) + rng.normal(0, 0.4, (groups, 2))
    tp = rng.binomial(truth, logistic(skill))
    false = rng.poisson(rng.lognormal(1.3, 0.6, (groups, 1)), (groups, 2))
    overlap = tp * np.clip(rng.normal(0.55, 0.08, (groups, 1)), 0.25, 1.0)
    axes = {"class": ("Add", "Remove")}
    fields = {"tp": tp, "truth": truth, "predicted": tp + false, "iou": overlap, "n": np.full(groups, 5)}
    return filled(BoxF1(), axes, groups, **fields)


def called_scenes(rng: np.random.Generator, groups: int) -> Tallies:
    """Eight changed and four unchanged scenes of every room."""
    tp = rng.binomial(8, logistic(rng.normal(1.2, 0.6, groups)))
    fp = rng.binomial(4, logistic(rng.normal(-0.6, 0.6, groups)))
    fields = {"tp": tp, "fn": 8 - tp, "fp": fp, "tn": 4 - fp, "n": np.full(groups, 12)}
    return filled(FalseAlarmRate(), {}, groups, **fields)


FAMILIES: list[tuple[str, Model, tuple[Measure, ...], tuple[int, ...]]] = [
    ("labels", labels, (Accuracy(), F1(), F1("weighted"), BalancedAccuracy(), Kappa()), (12, 40)),
    ("labels, classes on 10 of 40", rare_labels, (Accuracy(), F1(), F1("macro", "present")), (40,)),
    ("label sets", label_sets, (SetF1("macro"), SetF1("micro")), (12, 40)),
    ("recognition", recordings, (TimeF1(), EventF1(), AnyOverlap(), FalseAlarmsPerHour()), (12, 40)),
    ("collar", collars, (CollarF1(), CollarF1("macro")), (12, 40)),
    ("first onset error", first_onsets, (FirstOnsetNoLater(),), (12, 40)),
    ("edges", edges, (OnsetError(),), (12, 40)),
    ("segmentation", runs, (SegmentalF1(), EditScore()), (12, 40)),
    ("skeletons", sequences, (MPJPE(), MPJPE(average="macro"), PCK()), (12, 40)),
    ("boxes", scanned_rooms, (BoxF1(), BoxPrecision(), BoxIoU(), BoxErrorsPerScene()), (12, 40)),
    ("scenes", called_scenes, (ChangeDetectionRate(), FalseAlarmRate()), (12, 40)),
]


TIED = ("scenes",)
"""Families of a few scenes per room: many swaps give the same difference."""


class Held:
    """Whether intervals held the score of the whole: those that say they are unreliable, and the others."""

    def __init__(self) -> None:
        self.hits: dict[bool, list[bool]] = {False: [], True: []}

    def add(self, found: Interval, goal: float) -> None:
        """Take one more; an interval that is undefined is not taken."""
        if found.low is not None and found.high is not None:
            unreliable = any(note.startswith("interval unreliable") for note in found.notes)
            self.hits[unreliable].append(found.low <= goal <= found.high)


def covered(measures: Sequence[Measure], model: Callable[..., Any], groups: int, seed: int) -> dict[str, Held]:
    """Draw samples and see what their intervals hold, by measure."""
    rng = np.random.default_rng([seed, groups])
    whole = model(rng, WHOLE).total()
    goal = {measure.name: float(measure.score(whole).values) for measure in measures}
    held = {measure.name: Held() for measure in measures}
    for _ in range(SAMPLES):
        drawn = Groups(model(rng, groups), PLAN)
        for measure in measures:
            held[measure.name].add(interval(measure, drawn), goal[measure.name])
    return held


def seeded(rng: np.random.Generator, groups: int, seeds: int, effect: float = 0.25) -> list[Tallies]:
    """Counts of one system trained several times: groups and seeds have effects, and every pair of them one more."""
    truth = rng.poisson(rng.lognormal(math.log(15), SIZE, (groups, 1)), (groups, CLASSES)) + 1
    hard, luck = rng.normal(1, 0.6, (groups, 1)), rng.normal(0, effect, seeds)
    wrong = PRIOR * (1 - np.eye(CLASSES))
    made = []
    for seed in range(seeds):
        tp = rng.binomial(truth, logistic(hard + luck[seed] + rng.normal(0, 0.4, (groups, CLASSES))))
        moved = rng.multinomial(truth - tp, wrong / wrong.sum(axis=1, keepdims=True)).sum(axis=1)
        fields = {"tp": tp, "truth": truth, "predicted": tp + moved, "n": truth.sum(axis=1)}
        made.append(filled(F1(), {"class": tuple(map(str, range(CLASSES)))}, groups, **fields))
    return made


def covered_over_seeds(groups: int, seeds: int, effect: float = 0.25) -> float:
    """Share of intervals over seeds that hold the mean over 2,000 seeds of 400 groups each."""
    rng = np.random.default_rng([100, groups, seeds])
    measure, held = F1(), []
    goal = np.mean([float(measure.score(seeded(rng, 400, 1, effect)[0].total()).values) for _ in range(2000)])
    for _ in range(SAMPLES):
        found = crossed(measure, [Groups(one, PLAN) for one in seeded(rng, groups, seeds, effect)])
        held.append(found.low <= goal <= found.high)  # type: ignore[operator]
    return float(np.mean(held))


def covered_differences_over_seeds(groups: int, seeds: int) -> float:
    """Share of intervals over seeds that hold 0: two systems of one model on the same groups."""
    rng = np.random.default_rng([150, groups, seeds])
    held = []
    for _ in range(SAMPLES):
        both = [Groups(one, PLAN) for one in seeded(rng, groups, 2 * seeds)]
        sides = [dict(enumerate(side)) for side in (both[:seeds], both[seeds:])]
        found = mean_difference(F1(), ("A", sides[0]), ("B", sides[1])).interval
        held.append(found.low <= 0 <= found.high)  # type: ignore[operator]
    return float(np.mean(held))


def covered_by_composites() -> float:
    """Share of intervals of a mean over three datasets of 10, 20 and 40 groups that hold the score of the whole."""
    rng = np.random.default_rng(200)
    models = {"labels": (labels, 20), "rare": (rare_labels, 40), "small": (labels, 10)}
    goal = np.mean([float(F1().score(model(rng, WHOLE).total()).values) for model, _ in models.values()])
    held = []
    for _ in range(SAMPLES):
        found = composite(F1(), {name: Groups(model(rng, n), PLAN) for name, (model, n) in models.items()})
        held.append(found.low <= goal <= found.high)  # type: ignore[operator]
    return float(np.mean(held))


def distance(p_values: list[float], tied: bool = False) -> float:
    """Kolmogorov-Smirnov distance of p-values from the uniform distribution.

    Where counts are so small that swaps tie, p cannot be uniform and is on the safe side: only what is too small
    counts.
    """
    ordered, n = np.sort(p_values), len(p_values)
    below = float((np.arange(1, n + 1) / n - ordered).max())
    return below if tied else max(below, float((ordered - np.arange(n) / n).max()))


def null_p(measure: Measure, model: Model, groups: int, seed: int) -> list[float]:
    """p-values of systems that come from one model."""
    rng = np.random.default_rng([300 + seed, groups])
    return [compare(measure, *(Groups(model(rng, groups), PLAN) for _ in range(2))).p or 0.0 for _ in range(TESTS)]


def null_p_of_composites() -> list[float]:
    rng = np.random.default_rng(400)

    def side() -> dict[str, Groups]:
        return {"small": Groups(labels(rng, 5), PLAN), "large": Groups(labels(rng, 8), PLAN)}

    return [compare_composites(F1(), side(), side()).p or 0.0 for _ in range(TESTS)]


Row = tuple[str, str, str, float, int]
"""Family, measure, groups, share of intervals that hold the score of the whole, intervals."""


def rows() -> list[Row]:
    """Draw all samples; the seeds are fixed, so that the figures are the same everywhere."""
    found: list[Row] = []
    for seed, (family, model, measures, sizes) in enumerate(FAMILIES):
        for groups in sizes:
            for name, held in covered(measures, model, groups, seed).items():
                hits = held.hits[False]
                found.append((family, name, str(groups), float(np.mean(hits)), len(hits)))
    for groups, seeds in ((12, 2), (12, 5), (40, 2), (40, 3), (40, 10)):
        share = covered_over_seeds(groups, seeds)
        found.append(("labels, crossed with seeds", "macro_f1", f"{groups} x {seeds} seeds", share, SAMPLES))
    for groups, seeds in ((12, 2), (40, 3)):
        share = covered_over_seeds(groups, seeds, 0.5)
        found.append(("labels, seeds of large effect", "macro_f1", f"{groups} x {seeds} seeds", share, SAMPLES))
    for groups, seeds in ((12, 2), (12, 3), (12, 5), (40, 2), (40, 3)):
        share = covered_differences_over_seeds(groups, seeds)
        found.append(("labels, A - B over seeds", "macro_f1", f"{groups} x {seeds} seeds", share, SAMPLES))
    found.append(("labels, mean over 3 datasets", "macro_f1", "20, 40, 10", covered_by_composites(), SAMPLES))
    return found


def markdown(found: list[Row]) -> str:
    """Lay the table out as a page shows it."""
    lines = ["| family | measure | groups | covered |", "| --- | --- | --- | --- |"]
    lines += [f"| {family} | `{name}` | {groups} | {100 * share:.1f} % |" for family, name, groups, share, _ in found]
    return "\n".join(lines)


def state(promise: Promise, found: list[Row]) -> None:
    """Hold the figures against the bounds, and against the table of the page."""
    for family, name, groups, share, made in found:
        high = WIDE if groups.endswith("seeds") else HIGH
        holds = LOW <= share <= high and made >= 0.95 * SAMPLES
        what = f"{family}: {name}, {groups} groups, {made} intervals: covered (%)"
        promise.figure(what, 100 * share, f"{100 * LOW:g}-{100 * high:g} %", holds)
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    stale = [line for line in markdown(found).splitlines() if _near(line) not in map(_near, page.splitlines())]
    promise.figure("rows of the table that docs/statistics.md does not show", len(stale), "0", not stale)


def coverage(promise: Promise) -> None:
    found = rows()
    state(promise, found)
    thin = covered((F1(),), thin_labels, 40, 99)["macro_f1"].hits
    what = f"labels, classes on 4 of 40: macro_f1, {100 * float(np.mean(thin[True])):.4g} % covered: called unreliable"
    promise.figure(what, len(thin[True]), f"all {SAMPLES}", len(thin[True]) == SAMPLES)


def _near(line: str) -> str:
    """Return a row with its figure rounded to whole per cents: the last digit may differ between machines."""
    return re.sub(r"(\d+\.\d) %", lambda match: f"{float(match[1]) // 1:g} %", line)


def main() -> None:
    if "--markdown" in sys.argv[1:]:
        print(markdown(rows()))
        return
    promise = Promise()
    coverage(promise)
    most = 1.63 / math.sqrt(TESTS)
    for seed, (family, model, measures, sizes) in enumerate(FAMILIES):
        for groups in sizes:
            what = f"{family}: {measures[-1].name}, {groups} groups, {TESTS} p-values under the null"
            found = distance(null_p(measures[-1], model, groups, seed), tied=family in TIED)
            promise.at_most(f"{what}: distance {'below' if family in TIED else 'from'} uniform", found, most)
    what = f"labels: macro_f1, mean over 2 datasets, {TESTS} p-values under the null"
    promise.at_most(f"{what}: distance from uniform", distance(null_p_of_composites()), most)
    promise.close()


if __name__ == "__main__":
    main()
