"""Options of the verbs of ``labels``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gnomon.core.options import PREDICTED, LabelOptions, Option
from gnomon.core.partition import PartOptions
from gnomon.engine.options import EngineOptions

FORMATS = ("csv", "tsv", "parquet", "jsonl", "npz")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(LabelOptions, EngineOptions):
    """``gnomon score labels``."""

    truth: Annotated[
        str,
        Option(
            "table with id, label[, group][, tags...], or a folder of such shards; with --table: its column of true "
            "labels",
            metavar="FILE",
            data=True,
        ),
    ]
    predictions: Annotated[
        tuple[str, ...],
        Option(
            "table with id, label, or a folder of shards; give NAME=FILE, several times, for several systems; with "
            "--table: NAME=COLUMN",
            metavar="FILE",
            data=True,
        ),
    ] = ()
    slice: Annotated[tuple[str, ...], Option("tag column to show scores by; may be repeated", metavar="COLUMN")] = ()
    missing: Annotated[
        str,
        Option("ids without a prediction: an error, counted wrong, or left out", choices=("error", "wrong", "skip")),
    ] = "error"
    extra: Annotated[str, Option("predictions for unknown ids: an error, or ignored", choices=("error", "ignore"))] = (
        "error"
    )
    classes: Annotated[
        str,
        Option(
            "class set of averages: union, present, or labels joined by commas; default: union, or present with "
            "--missing wrong",
            metavar="SET",
            data=True,
        ),
    ] = ""
    zero_division: Annotated[str, Option("value of 0/0 for one class", choices=("0", "1", "none"), data=True)] = "0"
    separator: Annotated[
        str,
        Option("labels are sets, joined by this text (multi-label); an empty cell is the empty set", metavar="TEXT"),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class RunOptions(PartOptions, EngineOptions):
    """``gnomon run labels``."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = PREDICTED

    truth: Annotated[str, Option("table with label, group and numeric features", metavar="FILE", data=True)]
    id: Annotated[
        str, Option("column of ids  [default: id, or the place of a row where there is none]", metavar="COLUMN")
    ] = ""
    label: Annotated[str, Option("column of labels  [default: label]", metavar="COLUMN")] = ""
    systems: Annotated[
        tuple[str, ...],
        Option(
            "built-in system, package.module:Class or file.py:Class, with parameters as NAME@key=value; "
            "several with commas or repeated; in Python also estimators with fit and predict",
            metavar="SYSTEM",
            data=True,
        ),
    ] = ("majority", "stratified", "nearest_mean")
    folds: Annotated[
        int, Option("folds over groups; parts val and test have none: systems are fitted on train", low=2, high=100_000)
    ] = 5
    group: Annotated[
        str,
        Option(
            "column whose values are kept together and resampled, or a table with id and group",
            metavar="COLUMN",
            data=True,
        ),
    ] = ""
    features: Annotated[
        tuple[str, ...],
        Option("feature column; default: every numeric one but group and slices; may be repeated", metavar="COLUMN"),
    ] = ()
    slice: Annotated[tuple[str, ...], Option("tag column to show scores by; may be repeated", metavar="COLUMN")] = ()
    classes: Annotated[
        str, Option("class set of averages: union, present, or labels joined by commas", metavar="SET", data=True)
    ] = "union"
    zero_division: Annotated[str, Option("value of 0/0 for one class", choices=("0", "1", "none"), data=True)] = "0"


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template labels``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    wide: Annotated[bool, Option("write one table with truth and predictions side by side, for --table")] = False
    format: Annotated[str, Option("file format", choices=FORMATS)] = "csv"


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate labels``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    groups: Annotated[int, Option("subjects", low=1, high=1_000_000)] = 20
    rows: Annotated[int, Option("rows per subject", low=1, high=10_000_000)] = 200
    classes: Annotated[int, Option("classes", low=2, high=1000)] = 6
    wide: Annotated[bool, Option("write one table with truth and predictions side by side, for --table")] = False
    format: Annotated[str, Option("file format", choices=FORMATS)] = "csv"
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
