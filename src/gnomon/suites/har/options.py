"""Options of the verbs of ``har``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gnomon.core.options import PREDICTED, LabelOptions, Option
from gnomon.engine.options import EngineOptions

VARIANTS = ("published", "strict", "both")
PROFILES = ("smoke", "cpu", "paper")
TASKS = ("zs-open", "zs-closed", "sup-1", "sup-10")
SYSTEMS = ("majority", "nearest_mean", "random_forest", "svm_rbf")
"""Those that need no training library; they stay in every table."""
FORMATS = ("csv", "parquet")
SEED = 42
"""The published seed of everything but splits and classifiers."""
TASK_HELP = "tasks, with commas or repeated"
EXPORT_HELP = "folder that receives MODEL_evaluation.json for every system, in the published shape"


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(LabelOptions, EngineOptions):
    """``gnomon score har``."""

    truth: Annotated[
        str,
        Option(
            "table with id, label, subject, recording, dataset[, task], or a folder of such shards; with --table: its "
            "column of true labels",
            metavar="FILE",
            data=True,
        ),
    ]
    predictions: Annotated[
        tuple[str, ...],
        Option(
            "table with id[, dataset][, task] and label, or a column score:LABEL for each label, or a folder of "
            "shards; give NAME=FILE, several times, for several systems; with --table: NAME=COLUMN",
            metavar="FILE",
            data=True,
        ),
    ] = ()
    classes: Annotated[
        str, Option("labels of the columns of scores that are an array, in their order", metavar="LIST", data=True)
    ] = ""
    task: Annotated[str, Option("task of tables without a column task", choices=TASKS)] = "zs-open"
    text_aligned: Annotated[
        bool, Option("the systems embed label texts: zs-closed is scored by exact labels, not by groups")
    ] = False
    main: Annotated[
        tuple[str, ...],
        Option("dataset that counts in the mean  [default: all but those reported apart]", metavar="NAME"),
    ] = ()
    missing: Annotated[
        str,
        Option(
            "windows without a prediction: an error, counted wrong, or left out", choices=("error", "wrong", "skip")
        ),
    ] = "error"
    export_baseline: Annotated[str, Option(EXPORT_HELP, metavar="DIR")] = ""


@dataclass(frozen=True, kw_only=True)
class RunOptions(EngineOptions):
    """``gnomon run har``."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **PREDICTED,
        "truth": "the datasets below --data-root hold the truth",
    }

    data_root: Annotated[str, Option("folder that holds the datasets, each as a folder or a zip", metavar="DIR")]
    train: Annotated[
        tuple[str, ...],
        Option("datasets to train on, with commas or repeated  [default: those found of the ten]", metavar="NAME"),
    ] = ()
    test: Annotated[
        tuple[str, ...],
        Option("datasets to test on, with commas or repeated  [default: those found of the four]", metavar="NAME"),
    ] = ()
    systems: Annotated[
        tuple[str, ...],
        Option(
            "built-in system, package.module:Class or file.py:Class, with parameters as NAME@key=value; "
            "several with commas or repeated; in Python also estimators with fit and predict",
            metavar="SYSTEM",
            data=True,
        ),
    ] = SYSTEMS
    tasks: Annotated[tuple[str, ...], Option(TASK_HELP, metavar="TASK")] = TASKS
    variant: Annotated[
        str,
        Option(
            "published: random split of windows, pre-cut as published; strict: subjects kept apart, windows cut once",
            choices=VARIANTS,
        ),
    ] = "strict"
    profile: Annotated[
        str,
        Option("smoke: seconds; cpu: minutes, capped; paper: as published, nothing capped", choices=PROFILES),
    ] = "cpu"
    seeds: Annotated[int, Option("runs of every system with different seeds; 0 is what the profile has", low=0)] = 0
    folds: Annotated[
        int,
        Option("strict: deal the subjects of a test dataset into folds, each tested once; 0 is one split", low=0),
    ] = 0
    windows: Annotated[
        str,
        Option(
            "published: precut cuts random overlapping sessions as published; continuous cuts recordings once",
            choices=("precut", "continuous"),
        ),
    ] = "precut"
    subsample: Annotated[
        str,
        Option("labelled windows: equal per class as executed, or proportional", choices=("equal", "proportional")),
    ] = "equal"
    seed: Annotated[int, Option("seed of every random number but that of the published split", low=0)] = SEED
    weights: Annotated[
        tuple[str, ...],
        Option(
            "folder of public weights: moment=DIR (MOMENT), text=DIR (text encoder of tsfm and lanhar); safetensors",
            metavar="NAME=DIR",
        ),
    ] = ()
    export_baseline: Annotated[str, Option(EXPORT_HELP, metavar="DIR")] = ""


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template har``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    format: Annotated[str, Option("file format", choices=FORMATS)] = "csv"


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate har``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    subjects: Annotated[int, Option("subjects of each dataset, at most as many as it has", low=1, high=1_000)] = 3
    minutes: Annotated[
        float,
        Option(
            "minutes of each subject, over all its activities; each gets eight seconds or more", low=0.1, high=600.0
        ),
    ] = 3.0
    datasets: Annotated[
        tuple[str, ...], Option("datasets to write, with commas or repeated  [default: all fourteen]", metavar="NAME")
    ] = ()
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
