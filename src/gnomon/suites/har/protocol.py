"""The protocol of ``har``: four metrics on held-out datasets, as published and strict, in three profiles.

A case is a recording (dataset / subject / recording), a group is a subject of a dataset. All metrics share the cases of
a run: tallies are kept by metric and dataset (:mod:`gnomon.suites.har.metrics`), so that each score rests on the
subjects that were tested under its metric and on no others, and a run of a system holds its whole row of the table. The
alternatives were one run per metric, which tears the table and the gap between variants apart, and cases by metric with
slices, whose "all" would mix metrics that have nothing in common.

Seeds are runs of their own: ``gnomon compare --over seeds`` and the tables cross them with subjects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.evidence import Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, natural_key
from gnomon.measures.averaging import Average, ClassSet
from gnomon.suites.har import splits, vocabulary
from gnomon.suites.har.metrics import RATES, SCORINGS, MeanAccuracy, MeanF1, Scoring, TaskAccuracy, TaskF1
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions

VERSION = "1"
F1S: tuple[tuple[Average, ClassSet], ...] = (("macro", "fixed"), ("macro", "present"), ("weighted", "fixed"))
DIFFERENT = (
    "strict keeps people apart: nobody of the test part is in training; the published split is one of windows, so that "
    "everybody is on both sides",
    "strict cuts every recording once; the published pre-cutting of random overlapping sessions puts the same samples "
    "into training and test",
    "strict keeps gravity where the sensor has it; published leaves it out where the published data did",
    "strict chooses on validation macro-F1 and gives every model a floor of updates; published chooses on accuracy",
)


@dataclass(frozen=True)
class Profile:
    """How much is done.

    Attributes
    ----------
    training_windows, scored_windows
        Most windows to train on in all, and to score of a test dataset under a metric; None is no limit. Splits and
        labelled windows are drawn before, from everything.
    seeds
        Runs of every system.
    kernel_rows
        Most rows of a kernel machine.
    least_updates
        Floor of the updates of fine-tuning (strict).
    """

    training_windows: int | None
    scored_windows: int | None
    seeds: int
    kernel_rows: int
    least_updates: int


PROFILES: Mapping[str, Profile] = {
    "smoke": Profile(400, 200, 1, 400, 5),
    "cpu": Profile(3000, 600, 1, 2000, 50),
    "paper": Profile(None, None, 5, 10_000, 500),
}

SUPERVISED = (
    Claim(
        "new-people",
        "the supervised scores describe people that are not in the data",
        (
            Need("subjects_apart", 1, "subjects kept apart between training and test"),
            Need("least_groups", 6, "at least 6 test subjects under every metric (--folds tests all of them)"),
        ),
    ),
    Claim(
        "few-shot",
        "the scores with few labels do not hang on which windows happened to be labelled",
        (Need("seeds", 5, "at least 5 draws of the labelled windows (--seeds)"),),
    ),
)
ZERO_SHOT = (
    Claim(
        "zero-shot-people",
        "the zero-shot scores describe people that are not in the data",
        (Need("least_zero_shot_groups", 6, "at least 6 test subjects in every dataset"),),
    ),
)


REAL = Claim(
    "real-people",
    "the scores hold for recordings of real people",
    (Need("real_people", 1, "test datasets that were not simulated", if_known=True),),
)


UNLISTED = "classes without a list"
"""The setting that says which classes macro F1 is over where a dataset has no list of labels; absent: the union.

It is set where missing answers count as wrong: a mean over the union has no lowest value then, and the classes must not
depend on whether an answer is missing, or leaving one out could raise the score.
"""


def claims(metrics: Sequence[str]) -> tuple[Claim, ...]:
    """Return what scores under these metrics may be said to show."""
    supervised = any(metric in RATES for metric in metrics)
    zero_shot = any(metric not in RATES for metric in metrics)
    return (*(SUPERVISED if supervised else ()), *(ZERO_SHOT if zero_shot else ()), REAL)


def conditions(variant: str, profile: str, seed: int, turn: int) -> Conditions:
    """Return the conditions of the turn-th seed; the first of the published variant has the published seeds."""
    own = PROFILES[profile]
    strict = variant == "strict"
    return Conditions(
        seed=seed + turn,
        classifier_seed=splits.SEED + turn + (seed - 42),
        profile=profile,
        selection="macro_f1" if strict else "accuracy",
        least_updates=own.least_updates if strict else 0,
        kernel_rows=own.kernel_rows,
    )


def measures(metrics: Sequence[str], main: Sequence[str], apart: Sequence[str]) -> tuple[Measure, ...]:
    """Return all measures: means over the main datasets first, then dataset by dataset; natively scored ones first."""
    found: list[Measure] = []
    for scoring in SCORINGS:
        kind: Any = scoring
        if main:
            found += [m for metric in metrics for m in _mean(metric, main, kind)[:2]]
        found += [m for name in (*main, *apart) for metric in metrics for m in _task(metric, name, kind)[:2]]
    for scoring in SCORINGS:
        kind = scoring
        if main:
            found += [m for metric in metrics for m in _mean(metric, main, kind)[2:]]
        found += [m for name in (*main, *apart) for metric in metrics for m in _task(metric, name, kind)[2:]]
    return tuple(found)


def _mean(metric: str, datasets: Sequence[str], scoring: Scoring) -> list[Measure]:
    own = tuple(datasets)
    return [
        MeanAccuracy(metric, own, scoring),
        *(MeanF1(metric, own, scoring, average, classes) for average, classes in F1S),
    ]


def _task(metric: str, dataset: str, scoring: Scoring) -> list[Measure]:
    return [
        TaskAccuracy(metric, dataset, scoring),
        *(TaskF1(average, classes, 0, metric, dataset, scoring) for average, classes in F1S),
    ]


def protocol(
    variant: str,
    metrics: Sequence[str],
    main: Sequence[str],
    apart: Sequence[str],
    *,
    split: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Protocol:
    """Return the protocol of a variant over some metrics and datasets; those `apart` do not count in means."""
    if not main and not apart:
        raise InputError("no dataset to test on: give --test NAME, or put one of the test datasets into --data-root")
    return Protocol(
        name="har",
        version=VERSION,
        measures=measures(metrics, main, apart),
        group="subject",
        tasks=tuple(metrics),
        split=dict(split or {}),
        settings={
            "vocabulary": vocabulary.digest(),
            "main": list(main),
            "apart": list(apart),
            **(settings or {}),
        },
        claims=claims(metrics),
        variant=variant,
    )


@dataclass(frozen=True)
class Drawing:
    """How labelled windows are drawn: in folds of subjects or one split, the turn-th draw, equal or proportional."""

    folds: int = 0
    turn: int = 0
    mode: splits.Mode = "equal"


def deal(
    subjects: Sequence[str],
    labels: Sequence[str] | Array,
    rate: float,
    folds: int,
    seed: int = splits.SEED,
    turn: int = 0,
    mode: splits.Mode = "equal",
) -> list[splits.Split]:
    """Deal subjects into folds, each tested once; the fold after it validates, the others train.

    The labelled windows of every fold are drawn as those of one split are.
    """
    people = sorted(set(subjects), key=natural_key)
    if folds < 3 or len(people) < folds:
        raise InputError(
            f"--folds {folds}: expected at least 3 and at most as many as there are subjects, of whom there are "
            f"{len(people)}"
        )
    order = generator(seed, "har", "folds").permutation(len(people)).tolist()
    of = {people[index]: turn % folds for turn, index in enumerate(order)}
    place = np.array([of[name] for name in subjects], dtype=np.int64)
    classes, found = np.asarray(labels), []
    for fold in range(folds):
        test, val = place == fold, place == (fold + 1) % folds
        train = np.flatnonzero(~test & ~val)
        rng = generator(seed + turn, "har", "folds", str(fold))
        labelled = splits.balanced_subsample(train, classes, rate, rng, mode)
        found.append(splits.Split(train, np.flatnonzero(val), np.flatnonzero(test), labelled))
    return found


def split(
    variant: str, subjects: Sequence[str], labels: Sequence[str] | Array, rate: float, how: Drawing
) -> list[splits.Split]:
    """Return the split of a test dataset, or its folds.

    The parts are the same for every turn; the labelled windows of turn 0 are those of the published draw, others are
    drawn anew.
    """
    if variant == "strict" and how.folds:
        return deal(subjects, labels, rate, how.folds, splits.SEED, how.turn, how.mode)
    if variant == "strict":
        found = splits.strict(subjects, labels, rate, splits.SEED, how.mode)
    else:
        found = splits.published(len(subjects), labels, rate, how.mode)
    if how.turn:
        rng = generator(splits.SEED + how.turn, "har", "labelled")
        drawn = splits.balanced_subsample(found.train, np.asarray(labels), rate, rng, how.mode)
        found = splits.Split(found.train, found.val, found.test, drawn)
    return [found]


def own_deviations(
    profile: str, systems: Sequence[str], variant: str, cutting: str, train: Sequence[str]
) -> tuple[Deviation, ...]:
    """Return where a run deviates from the published one."""
    own, found = PROFILES[profile], []
    ten = tuple(vocabulary.TRAIN_LABELS)
    if set(train) != set(ten):
        said = f"{len(train)}: {', '.join(train)}"
        found.append(Deviation("all", "training datasets", "ten", said, "other labels and sensors were seen"))
    if variant == "published" and cutting == "precut":
        found.append(
            Deviation(
                "all",
                "pre-cutting",
                "sessions of unknown length",
                "random sessions of 10 to 60 s, 12,080 / 4,534 as many windows as without overlap",
                "shares samples between parts as the published windows do; they are not the same windows",
            )
        )
    if any(name.partition("@")[0] == "svm_rbf" for name in systems):
        said = f"at most {own.kernel_rows:,} rows, classes in turn"
        found.append(Deviation("svm_rbf", "rows of the kernel", "not in the published table", said, "lower scores"))
    if own.training_windows is not None:
        found.append(
            Deviation(
                "all",
                f"profile {profile}",
                "all windows",
                f"at most {own.training_windows} windows to train on, {own.scored_windows} scored of a dataset",
                "lower scores, wider intervals",
            )
        )
    classical = [name for name in systems if name.partition("@")[0] in ("nearest_mean", "random_forest", "svm_rbf")]
    if classical:
        found.append(
            Deviation(
                ", ".join(classical),
                "no encoder",
                "not in the published table",
                "features of windows; supervised metrics fit to the labelled windows alone",
                "nothing is carried over from the training datasets",
            )
        )
    return tuple(found)


def capped(rows: Array, most: int | None, seed: int, *purpose: str) -> Array:
    """Return at most so many rows, drawn at random and in their order."""
    if most is None or len(rows) <= most:
        return rows
    return np.sort(generator(seed, "har", *purpose).permutation(rows)[:most])


def record(profile: str) -> dict[str, Any]:
    """Return a profile as plain data."""
    return {"name": profile, **asdict(PROFILES[profile])}
