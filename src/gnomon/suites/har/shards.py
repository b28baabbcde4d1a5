"""Folders of shards: tables of windows, tallied one at a time.

A shard (:data:`gnomon.intake.tables.SUFFIXES`) is read and aligned by metric, dataset and id, like a file that is given
alone; a window is in one shard, and one without windows holds nothing. All shards of the truth have a column
``metric``, or none has.

Under zs-closed, scores over training labels are masked to what the whole truth of a dataset holds, so its labels are
read before, one shard after another; one that cannot be read fails in its own cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import natural_key
from gnomon.engine import folding, sharding
from gnomon.engine.folding import PREDICTIONS, TRUTH, Given, Stored
from gnomon.engine.job import Job, Outcome
from gnomon.intake import shards
from gnomon.intake.sources import Source, systems
from gnomon.intake.tables import SUFFIXES, read_table
from gnomon.intake.texts import hashes
from gnomon.intake.unread import CELL, note, reading_for
from gnomon.runs import once, parts
from gnomon.runs.alignment import LACKING
from gnomon.runs.content import table_digest
from gnomon.runs.run import Evaluation
from gnomon.suites.har import export, scoring
from gnomon.suites.har.counted import Counted
from gnomon.suites.har.metrics import family
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.predictions import CLOSED, read_answers, read_truth
from gnomon.suites.har.predictions import TRUTH as COLUMNS
from gnomon.suites.har.vocabulary import TEST_LABELS, asked_of

SETTINGS = ("metric", "text_aligned", "missing")
"""Options that a part depends on."""
OFFERS = ("--missing wrong or --missing skip", "")
COUNTED = ("truth", "predicted", "count")
KEYS = ("id", "dataset", "metric", "label")


def score(options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    truth = shards.listed(options.truth, SUFFIXES)
    others, given = shards.others(options.truth, SUFFIXES), []
    for source in systems(options.predictions, "id"):
        if not shards.is_folder(source.content):
            raise InputError(f"{source.where}: expected a folder of shards, as the truth {options.truth} is one")
        found = shards.listed(source.content, SUFFIXES)
        pairs = shards.paired(truth, found, source.where, missing=options.missing, offers=OFFERS)
        given.append(Given(source.name, source.where, pairs, [*others, *shards.others(source.content, SUFFIXES)]))
    settings = {name: getattr(options, name) for name in SETTINGS} | _surveyed(truth, options)
    job = sharding.job(
        "gnomon.suites.har.shards:tally",
        given,
        settings,
        options,
        lambda one, read, outcome: [_evaluation(one, read, outcome, options)],
    )

    def assembled(outcome: Outcome) -> Sequence[Evaluation]:
        found = job.assemble(outcome)
        if options.export_baseline:
            export.write(options.export_baseline, found)
        return found

    return Job(job.plan, assembled)


def _surveyed(truth: Mapping[str, Path], options: ScoreOptions) -> dict[str, Any]:
    """Return whether shards have metrics, and true labels under zs-closed that are not on the list of their dataset."""
    labels: dict[str, set[str]] = {}
    with_metric: bool | None = None
    for path in truth.values():
        try:
            table = read_table(path, text=KEYS, columns=None if with_metric is None else _survey(with_metric))
        except InputError:  # its cell says so
            continue
        if with_metric is None:
            if not set(COLUMNS) <= set(table.column_names):  # no truth, as its cell says
                continue
            with_metric = "metric" in table.column_names
        if not with_metric and options.metric != CLOSED:
            break
        if not set(_survey(with_metric)) <= set(table.column_names):  # its cell says so, too
            continue
        rows = table.select(_survey(with_metric)).group_by(_survey(with_metric)).aggregate([]).to_pylist()
        for row in rows:
            if row.get("metric", CLOSED) == CLOSED and row["label"] not in TEST_LABELS.get(str(row["dataset"]), ()):
                labels.setdefault(str(row["dataset"]), set()).add(str(row["label"]))
    return {"with_metric": with_metric, "labels": {name: sorted(labels[name]) for name in sorted(labels)}}


def _survey(with_metric: bool) -> list[str]:
    return ["dataset", "label", *(["metric"] if with_metric else [])]


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard; a cell of the engine."""
    del needs
    paths = arguments["paths"]
    given: dict[str, Any] = {name: arguments[name] for name in SETTINGS}
    options = ScoreOptions(truth=paths["truth"], predictions=(), **given)
    truth = replace(read_truth(options, empty=True), elsewhere=arguments["labels"])
    note(truth.source.where, truth.unused)
    if truth.has_metric != arguments["with_metric"]:
        has = "a column 'metric', which other shards of the truth do not have"
        lacks = "no column 'metric', which other shards of the truth have"
        raise InputError(f"{paths['truth']}: {has if truth.has_metric else lacks}; give it in all of them, or in none")
    empty = pa.table({name: pa.array([], pa.string()) for name in KEYS})
    source = Source(arguments["shard"], empty if paths["predictions"] is None else paths["predictions"])
    with reading_for(CELL):
        answers = read_answers(source, truth, options)
    facts = {
        "windows": len(truth),
        LACKING: scoring.lacking(truth, answers),
        "tasks": [Counted.of(item).record() for item in answers],
        "labels": [sorted(truth.there(task)) for task in truth.tasks],
        TRUTH: truth.fingerprint(),
        PREDICTIONS: table_digest(scoring.table(answers)),
    }
    once.write(hashes(truth.names()), out)
    parts.write(replace(scoring.tallied(answers), facts=facts), out)


def _evaluation(given: Given, read: Stored, outcome: Outcome, options: ScoreOptions) -> Evaluation:
    """Fold the parts of a system."""
    sharding.check_once(given, outcome, lambda path: read_truth(replace(options, truth=str(path)), empty=True).names())
    whole, facts = folding.gathered(read, COUNTED)
    every = [*facts.values(), *read.alone.values()]
    tasks = _tasks(every, given.where)
    asked = {(task.metric, task.dataset) for task in tasks}
    tasks = [task for task in tasks if family(task.metric, [task.dataset], "native") in whole.tallies]
    if not outcome.complete:
        asked |= {(metric, name) for metric in {metric for metric, _ in asked} for name in options.main}
    lacking = Counter[str]()
    for own in every if outcome.complete else ():
        lacking.update(own[LACKING])
    windows = sum(own["windows"] for own in every)
    seen = scoring.Seen(windows, asked, folding.content(given, facts, read), lacking=lacking)
    source, truth = Source(given.system, given.where), Source("truth", str(options.truth))
    made = scoring.judged(whole, tasks, seen, truth, source, options)
    coverage = folding.covered(made.coverage, given, read, outcome, options.missing)
    return replace(made, table=folding.table(facts), coverage=coverage)


def _tasks(every: Sequence[Mapping[str, Any]], where: str) -> list[Counted]:
    """Add up what was counted of every metric and dataset, in their order."""
    found: dict[tuple[str, str], list[tuple[Counted, list[str]]]] = {}
    for facts in every:
        for record, labels in zip(facts["tasks"], facts["labels"], strict=True):
            one = Counted.read(record)
            found.setdefault((one.metric, one.dataset), []).append((one, labels))
    ordered = sorted(found, key=lambda task: tuple(map(natural_key, task)))
    return [_added(found[task], where) for task in ordered]


def _added(shares: Sequence[tuple[Counted, list[str]]], where: str) -> Counted:
    """Add up one task; its fixed list follows from the labels of all shards."""
    first = shares[0][0]
    truth, answers = Counter[str](), Counter[str]()
    for one, _ in shares:
        truth.update(one.truth)
        answers.update(one.answers)
    trained = {one.n_train for one, _ in shares if one.answers.keys() - {""} or one.n_train is not None}
    if len(trained) > 1:
        task = f"{where}: {first.metric} {first.dataset}"
        raise InputError(
            f"{task}: 'n_train' is not the same in all shards ({some(map(str, trained))}); give one number"
        )
    labels = {label for _, own in shares for label in own}
    return replace(
        first,
        truth=dict(truth),
        answers=dict(answers),
        n_train=next(iter(trained), None),
        classes=asked_of(first.dataset, labels),
    )
