"""Options of the verbs of ``events``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gnomon.core.options import PREDICTED, ExhibitOptions, Option
from gnomon.core.partition import PartOptions
from gnomon.engine.options import EngineOptions

VARIANTS = ("published", "strict", "both")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ExhibitOptions, EngineOptions):
    """``gnomon score events``."""

    truth: Annotated[
        tuple[str, ...],
        Option(
            "true events: a table (CSV, TSV, JSON lines, parquet), Audacity labels, ELAN, Praat TextGrid, RTTM or "
            "JSON; may be repeated; or a folder or a pattern of such files, or a folder of .npy with a class code per "
            "frame",
            metavar="FILE",
            data=True,
        ),
    ]
    predictions: Annotated[
        tuple[str, ...],
        Option(
            "detections in any of these formats, or a folder or a pattern; NAME=FILE for several systems",
            metavar="FILE",
            data=True,
        ),
    ]
    duration: Annotated[
        str,
        Option(
            "how long recordings last whose truth does not say it: seconds, a table with recording and duration, or "
            "last-event; default: what the file says (TextGrid), else last-event",
            metavar="SECONDS|TABLE|last-event",
            data=True,
        ),
    ] = ""
    tier: Annotated[str, Option("tier of ELAN and TextGrid files with several", metavar="NAME")] = ""
    predictions_tier: Annotated[
        str, Option("tier of the predictions, where it has another name than that of the truth", metavar="NAME")
    ] = ""
    group: Annotated[
        str,
        Option(
            "tag or column of the truth whose values are resampled, or a table with recording and group; default: "
            "subject where every case has one, else recording",
            metavar="TAG",
            data=True,
        ),
    ] = ""
    slice: Annotated[
        tuple[str, ...], Option("tag or column of the truth to show scores by; may be repeated", metavar="TAG")
    ] = ()
    variant: Annotated[
        str, Option("published: one class, all labels pooled; strict: by class, with pairs", choices=VARIANTS)
    ] = "strict"
    missing: Annotated[
        str, Option("cases without a result: an error, taken as empty, or left out", choices=("error", "empty", "skip"))
    ] = "error"
    classes: Annotated[str, Option("class set of averages: union or present", choices=("union", "present"))] = "union"
    background: Annotated[
        tuple[str, ...], Option("label that means nothing happens; may be repeated", metavar="LABEL")
    ] = ()
    unit: Annotated[
        str,
        Option(
            "unit of times of the predictions that are numbers; default: s, refused where they look like another; "
            "s insists",
            choices=("", "s", "ms", "us", "ns"),
        ),
    ] = ""
    truth_unit: Annotated[
        str,
        Option(
            "unit of times of the truth that are numbers; default: s, refused where they look like another; s insists",
            choices=("", "s", "ms", "us", "ns"),
        ),
    ] = ""
    export_perfboard: Annotated[str, Option("also write perfboard's scores.json here", metavar="FILE")] = ""


@dataclass(frozen=True, kw_only=True)
class RunOptions(PartOptions, ExhibitOptions, EngineOptions):
    """``gnomon run events``."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **PREDICTED,
        "truth": "truth files are given without an option: gnomon run events TRUTH.json ... --recognizers LIST",
    }

    truth: Annotated[tuple[str, ...], Option("truth files (JSON)", metavar="TRUTH...", argument=True)]
    recognizers: Annotated[
        tuple[str, ...],
        Option(
            "built-in name, package.module.Class or file.py:Class, with parameters as NAME@key=value; "
            "several with commas or repeated",
            metavar="LIST",
        ),
    ]
    select: Annotated[tuple[str, ...], Option("only cases with TAG=VALUE; may be repeated", metavar="TAG=VALUE")] = ()
    group: Annotated[
        str, Option("tag whose values are resampled; default: subject if every case has one, else recording")
    ] = ""
    slice: Annotated[tuple[str, ...], Option("tag to show scores by; may be repeated", metavar="TAG")] = ()
    variant: Annotated[
        str, Option("published: one class, all labels pooled; strict: by class, with pairs", choices=VARIANTS)
    ] = "strict"
    classes: Annotated[str, Option("class set of averages: union or present", choices=("union", "present"))] = "union"
    background: Annotated[
        tuple[str, ...], Option("label that means nothing happens; may be repeated", metavar="LABEL")
    ] = ()
    unit: Annotated[
        str,
        Option("s insists that times are seconds, where they would be refused as another unit", choices=("", "s")),
    ] = ""
    chunk: Annotated[int, Option("records handed over at a time; never changes a result", low=1)] = 10_000
    train: Annotated[
        tuple[str, ...],
        Option(
            "truth file that recognisers are trained on first; may be repeated  [default: the train part, with --part]",
            metavar="FILE",
        ),
    ] = ()
    leave_out: Annotated[
        str, Option("test each value of this tag with recognisers trained on the others", metavar="TAG")
    ] = ""
    export_perfboard: Annotated[str, Option("also write perfboard's scores.json here", metavar="FILE")] = ""


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template events``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    format: Annotated[str, Option("format of the results", choices=("json", "csv"))] = "json"


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate events``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    subjects: Annotated[int, Option("people, each with one recording of walking and one of places", low=1)] = 12
    minutes: Annotated[float, Option("length of a recording of walking in minutes", low=1)] = 20.0
    hours: Annotated[float, Option("length of a recording of places in hours", low=1)] = 12.0
    format: Annotated[str, Option("raw files", choices=("json", "json.gz", "jsonl", "csv", "parquet"))] = "json.gz"
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
