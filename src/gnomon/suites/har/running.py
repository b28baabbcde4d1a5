"""Verb ``run``: models trained on some datasets and tested on others, through the engine.

One run per system, variant and seed. Its cells are its metrics on the test datasets (and the folds of supervised ones);
windows, fitted models and zero-shot scores are artefacts that cells share. Test windows are the same for all systems of
a variant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.metric_choice import split_names
from gnomon.core.protocol import Protocol
from gnomon.core.systems import Spec
from gnomon.core.systems import split as listed
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import WHOLE, Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.store import Reading
from gnomon.runs.auditing import SELECTION, TRIVIAL
from gnomon.runs.run import Evaluation
from gnomon.runs.tables import UNREADABLE
from gnomon.runs.variants import DIFFERS, REPORTED, REPORTED_BY
from gnomon.suites.har import assembling, cells, export, scoring, sources, systems
from gnomon.suites.har import protocol as rules
from gnomon.suites.har.counts import TaskCounts
from gnomon.suites.har.metrics import METRICS, RATES, native
from gnomon.suites.har.options import RunOptions
from gnomon.suites.har.predictions import Answers
from gnomon.suites.har.recordings import MODEL_HZ
from gnomon.suites.har.reference import CITED, FIGURES, REPORTED_ON, Deviation
from gnomon.suites.har.sources import Located
from gnomon.suites.har.splits import SEED, Mode
from gnomon.suites.har.systems import SYSTEMS

WEIGHED = {"moment": ("moment",), "text": ("tsfm", "lanhar")}
"""What ``--weights`` may be for, and the systems that it is given to as their parameter ``weights``."""


@dataclass(frozen=True)
class Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    specs: Mapping[str, Spec]
    metrics: tuple[str, ...]
    train: Mapping[str, tuple[Located, ...]]
    """By variant: strict drops a dataset whose people are in another one."""
    test: tuple[Located, ...]
    turns: int
    dropped: tuple[str, ...]

    @property
    def profile(self) -> rules.Profile:
        """How much is done."""
        return rules.PROFILES[self.options.profile]

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that were asked for."""
        return opt.list_variants(self.options.variant)

    @property
    def main(self) -> list[str]:
        """The test datasets that count in the mean."""
        return [one.name for one in self.test if one.manifest.role != "severe"]

    @property
    def apart(self) -> list[str]:
        """The test datasets that are reported apart."""
        return [one.name for one in self.test if one.manifest.role == "severe"]

    def seed(self, turn: int) -> int:
        """Return the seed of a turn."""
        return self.options.seed + turn

    def folds(self, variant: str) -> int:
        """Return how many folds the supervised metrics have."""
        return (self.options.folds or 1) if variant == "strict" else 1

    def drawing(self, variant: str, turn: int) -> rules.Drawing:
        """Return how labelled windows are drawn."""
        mode: Mode = "proportional" if self.options.subsample == "proportional" else "equal"
        return rules.Drawing(self.options.folds if variant == "strict" else 0, turn, mode)

    def conditions(self, variant: str, turn: int) -> systems.Conditions:
        """Return the conditions of a seed."""
        return rules.conditions(variant, self.options.profile, self.options.seed, turn)

    def most(self, variant: str, metric: str) -> int | None:
        """Return how many windows of a dataset are scored, in each fold."""
        cap = self.profile.scored_windows
        return cap if cap is None or metric not in RATES else -(-cap // self.folds(variant))

    def cutting(self, variant: str, role: str) -> str:
        """Return how windows are cut."""
        return self.options.windows if variant == "published" and role == "test" else sources.CONTINUOUS


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every system, variant, seed, dataset and metric."""
    work = _resolved(options)
    nodes = Nodes(work)
    planned = (
        nodes.cell(name, variant, turn, metric, place, fold)
        for name in work.specs
        for variant in work.variants
        for turn in range(work.turns)
        for place in work.test
        for metric in work.metrics
        for fold in range(work.folds(variant) if metric in RATES else 1)
    )
    measures = rules.measures(work.metrics, work.main, work.apart)
    return Job(Plan(planned), lambda outcome: _assemble(outcome, work, nodes), measures)


def _resolved(options: RunOptions) -> Work:
    given = _weighted(listed(options.systems), options.weights)
    specs = SYSTEMS.parse(given)
    metrics = opt.split_words(options.tasks)
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown or not metrics:
        raise InputError(f"--tasks: no task {some(unknown)}; there are {', '.join(METRICS)}")
    _refuse_tasks_as_metrics(options)
    supervised = any(metric in RATES for metric in metrics)
    if options.folds and (options.variant == "published" or not supervised):
        why = "the published split is one of windows" if supervised else "no supervised task was asked for"
        raise InputError(f"--folds {options.folds}: has no effect, since {why}; leave it out")
    if options.windows == "continuous" and options.variant == "strict":
        raise InputError("--windows continuous: strict always cuts so; leave it out, or give --variant published")
    train, test = sources.locate(options.data_root, opt.split_words(options.train), opt.split_words(options.test))
    kept = _apart(train)
    sides = {"published": tuple(train), "strict": kept}
    dropped = tuple(one.name for one in train if one not in kept)
    turns = options.seeds or rules.PROFILES[options.profile].seeds
    ordered = tuple(metric for metric in METRICS if metric in metrics)
    return Work(options, specs, ordered, sides, tuple(test), turns, dropped)


def _refuse_tasks_as_metrics(options: RunOptions) -> None:
    """Say how tasks are given, where they stand under ``--metrics``."""
    tasks = [name for name in split_names(options.metrics) if name in METRICS]
    if tasks:
        raise InputError(f"--metrics: {some(tasks)} is a task: give --tasks {','.join(tasks)}")


def _weighted(specs: Sequence[Spec], weights: Sequence[str]) -> list[Spec]:
    """Give systems the folders of weights that are meant for them; refuse a folder that none of them takes."""
    found = list(specs)
    for item in weights:
        name, equals, folder = item.partition("=")
        if not equals or not folder or name not in WEIGHED:
            known = ", ".join(f"{word}=DIR" for word in WEIGHED)
            raise InputError(f"--weights {item}: expected {known}")
        if "," in folder or "@" in folder:
            raise InputError(f"--weights {item}: the name of the folder holds a comma or an @; give it another name")
        if not any(spec.name in WEIGHED[name] for spec in found):
            raise InputError(f"--weights {item}: has no effect, since none of {', '.join(WEIGHED[name])} is asked for")
        found = [spec.take(weights=folder) if spec.name in WEIGHED[name] else spec for spec in found]
    return found


def _apart(train: Sequence[Located]) -> tuple[Located, ...]:
    """Keep one dataset of every group of people."""
    kept: dict[str, Located] = {}
    for one in train:
        kept.setdefault(one.manifest.people or one.name, one)
    return tuple(kept.values())


class Nodes:
    """The nodes of a plan, made from what they depend on."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.planner = Planner(work.options, SYSTEMS)

    def windows(self, place: Located, variant: str, role: str, native_rate: bool = False) -> Node:
        """Artefact: the windows of a dataset."""
        rate = None if native_rate else MODEL_HZ
        cutting = self.work.cutting(variant, role)
        return self.planner.artefact(
            f"windows of {place.name} {f'at {rate:g} Hz' if rate else 'at its own rate'} ({variant}, {cutting})",
            cells.windows,
            {
                "dataset": place.name,
                "content": place.content,
                "variant": variant,
                "rate_hz": rate,
                "cutting": cutting,
            },
            labels={"dataset": place.name, "variant": variant},
            context={"root": place.root},
            read=WHOLE,
        )

    def fitted(self, name: str, variant: str, turn: int) -> Node:
        """Artefact: a model fitted to the training datasets."""
        work, spec = self.work, self.work.specs[name]
        own = SYSTEMS.declares(spec, "native_rate")
        needs = {one.name: self.windows(one, variant, "train", own) for one in work.train[variant]}
        fitting = systems.for_fitting(spec)
        which = f"{fitting.text} ({variant}, seed {work.seed(turn)})"
        arguments = {
            "training": list(needs),
            "most": work.profile.training_windows,
            "conditions": work.conditions(variant, turn).record(),
        }
        labels = {"system": name, "variant": variant}
        node = partial(self.planner.trained, spec=fitting, labels=labels, heavy=systems.is_heavy(spec))
        if SYSTEMS.offers(spec, "pretrain"):
            needs = {**needs, "pretrained": node(f"pre-train {which}", cells.pretrain, arguments, needs=dict(needs))}
        return node(f"fit {which}", cells.fit, arguments, needs=needs, read=(cells.FACTS,))

    def cell(self, name: str, variant: str, turn: int, metric: str, place: Located, fold: int) -> Node:
        """Cell: a system under a metric on a dataset."""
        work, spec = self.work, self.work.specs[name]
        own = SYSTEMS.declares(spec, "native_rate")
        windows, fitted = self.windows(place, variant, "test", own), self.fitted(name, variant, turn)
        seed = work.seed(turn)
        which = f"({variant}, seed {seed}{f', fold {fold}' if metric in RATES and work.folds(variant) > 1 else ''})"
        labels = {"system": name, "variant": variant, "dataset": place.name, "task": metric, "seed": str(seed)}
        most = work.most(variant, metric)
        if metric in RATES:
            arguments = {
                "variant": variant,
                "task": metric,
                "fold": fold,
                "most": most,
                "drawing": asdict(work.drawing(variant, turn)),
                "conditions": work.conditions(variant, turn).record(),
            }
            needs = {"windows": windows, "fitted": fitted}
            return self.planner.cell(
                f"{name} {metric} {place.name} {which}",
                cells.fine_tune,
                arguments,
                spec=spec,
                needs=needs,
                labels=labels,
                heavy=systems.is_heavy(spec),
            )
        scores = self.planner.artefact(
            f"scores of {name} on {place.name} {which}",
            cells.zero_shot,
            {"most": most},
            spec=spec,
            needs={"windows": windows, "fitted": fitted},
            labels={"variant": variant},
        )
        needs = {"windows": windows, "scores": scores}
        return self.planner.cell(
            f"{name} {metric} {place.name} {which}", cells.answer, {"task": metric}, needs=needs, labels=labels
        )


def _assemble(outcome: Outcome, work: Work, nodes: Nodes) -> list[Evaluation]:
    store = Reading(work.options.store_folder())
    found = []
    for variant in work.variants:
        data = assembling.Data.read(store, work, nodes, variant)
        for turn in range(work.turns):
            evidence = assembling.collect_evidence(work, data, variant, turn)
            for name in work.specs:
                own = outcome.of(system=name, variant=variant, seed=str(work.seed(turn)))
                found.append(evidence.add(_evaluation(own, work, data, name, variant, turn)))
    if work.options.export_baseline:
        export.write(work.options.export_baseline, found)
    return found


def _evaluation(outcome: Outcome, work: Work, data: assembling.Data, name: str, variant: str, turn: int) -> Evaluation:
    """Make the evaluation of a system under one variant and seed, of what its cells answered."""
    answers = _answers(outcome, work, data, name)
    part, tasks = scoring.tally_answers(answers, data.cases()), [TaskCounts.of(item) for item in answers]
    made = scoring.make_evaluation(part, tasks, work.specs[name].text, _protocol(work, variant))
    broken = {place: list(one.broken) for place, one in data.about.items() if one.broken}
    return replace(
        made,
        data=fingerprint({"har": {one.name: one.content for one in work.test}}),
        table=part.table,
        facts={**_facts(work, data, name, variant, turn), **made.facts},
        options={
            **opt.record(work.options),
            "seed": work.seed(turn),
            "store": os.fspath(work.options.store_folder()),
            **SYSTEMS.record(work.specs[name]),
        },
        coverage={
            "complete": outcome.complete and not broken,
            "cells": outcome.coverage(),
            "policy": {"seed": work.seed(turn)},
            **({UNREADABLE: broken} if broken else {}),
        },
        inputs=tuple(
            {"name": one.name, "path": one.where, "bytes": None, "sha256": one.content}
            for one in (*work.test, *work.train[variant])
        ),
    )


def _answers(outcome: Outcome, work: Work, data: assembling.Data, name: str) -> list[Answers]:
    """Put the answers of the cells of a run together; folds of a metric are one."""
    aligned = SYSTEMS.declares(work.specs[name], "text_aligned")
    found = []
    for metric in work.metrics:
        for place in work.test:
            folders = outcome.of(task=metric, dataset=place.name).done.values()
            if not folders:
                continue
            done = [cells.Answered.read(folder) for folder in folders]
            rows = pa.array(np.concatenate([one.rows for one in done]))
            windows = data.windows[place.name]
            facts = [dict(one.facts) for one in done]
            ids, subjects, recordings, labels = (
                pa.array(texts, pa.string()).take(rows)
                for texts in (windows.ids, windows.subjects, windows.recordings, windows.labels)
            )
            found.append(
                Answers(
                    metric,
                    place.name,
                    ids,
                    subjects,
                    recordings,
                    labels,
                    pa.array([label or None for one in done for label in one.answers], pa.string()),
                    native(metric, aligned),
                    round(sum(fact["n_train"] for fact in facts) / len(facts)),
                    set(windows.labels),
                    {"windows": len(windows), **_training(facts)},
                )
            )
    return found


def _training(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what fine-tuning said of itself, by fold; of zero-shot nothing, since the fit says it."""
    tuned = [fact["fine_tuned"] for fact in facts if "fine_tuned" in fact]
    return {"fine_tuned": tuned} if tuned else {}


def _protocol(work: Work, variant: str) -> Protocol:
    split = {
        "by": "window" if variant == "published" else "subject",
        "shares": "80/10/10",
        "seed": SEED,
        "subsample": work.options.subsample,
        **({"folds": work.options.folds} if variant == "strict" and work.options.folds else {}),
    }
    settings = {
        "profile": rules.record(work.options.profile),
        "train": {one.name: one.content for one in work.train[variant]},
        "windows": work.cutting(variant, "test"),
    }
    return rules.protocol(variant, work.metrics, work.main, work.apart, split=split, settings=settings)


def _facts(work: Work, data: assembling.Data, name: str, variant: str, turn: int) -> dict[str, Any]:
    """Return what is known of a run besides its answers."""
    spec = work.specs[name]
    return {
        "seed": work.seed(turn),
        "seeds": work.turns,
        "subjects_apart": int(variant == "strict"),
        "real_people": int(not any(one.simulated for one in work.test)),
        "simulated": [one.name for one in (*work.train[variant], *work.test) if one.simulated],
        "fitted": data.fitted.get((name, turn), {}),
        "untaught": data.untaught(),
        "rates_hz": {place: dict(one.rates) for place, one in data.about.items()},
        "deviations": [asdict(item) for item in _deviations(work, variant, spec)],
        **_reported(spec, work.main),
        **_turned(work, spec, variant),
        TRIVIAL: SYSTEMS.declares(spec, "trivial"),
        **({DIFFERS: list(rules.DIFFERENT)} if variant == "strict" else {}),
        **_selection(work, variant, work.main or work.apart),
    }


def _deviations(work: Work, variant: str, spec: Spec) -> tuple[Deviation, ...]:
    """Return where a run deviates from what was published: the protocol's own, then those of its model."""
    train = [one.name for one in work.train[variant]]
    own = rules.own_deviations(work.options.profile, [spec.text], variant, work.cutting(variant, "test"), train)
    return (*own, *getattr(SYSTEMS.find(spec.name), "deviations", ()))


def _turned(work: Work, spec: Spec, variant: str) -> dict[str, Any]:
    """Record, of a model that turns windows by gravity, on which datasets it could not."""
    if not SYSTEMS.declares(spec, "aligns_gravity"):
        return {}
    removed = [
        one.name for one in (*work.train[variant], *work.test) if one.manifest.gravity.get(variant, "") == "removed"
    ]
    return {"not_aligned_by_gravity": removed}


def _reported(spec: Spec, main: Sequence[str]) -> dict[str, Any]:
    """Return the published figures of a model, where the mean is over the same datasets as theirs."""
    figures = FIGURES.get(spec.name, {})
    if not figures or set(main) != set(REPORTED_ON):
        return {}
    pairs = {
        f"{kind}[{metric}]": value / 100
        for metric, both in figures.items()
        for kind, value in zip(("accuracy", "macro_f1"), both, strict=True)
    }
    return {REPORTED: pairs, REPORTED_BY: CITED}


def _selection(work: Work, variant: str, tested: Sequence[str]) -> dict[str, Any]:
    """Record what settings are chosen by on validation windows."""
    tuned = [metric for metric in work.metrics if metric in RATES]
    if not tuned or not tested:
        return {}
    kind = work.conditions(variant, 0).selection
    return {SELECTION: {"metric": f"{kind}[{tuned[0]} {tested[0]}]", "on": "validation windows"}}
