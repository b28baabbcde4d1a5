"""Verb ``run``: models trained on some datasets and tested on others, through the engine.

One run per system, variant and seed. Its cells are its metrics on the test datasets (and the folds of supervised ones);
windows, fitted models and zero-shot scores are artefacts that cells share. Test windows are the same for all systems of
a variant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.loading import is_foreign
from gnomon.core.systems import Spec
from gnomon.core.systems import split as listed
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import WHOLE, Node, Plan
from gnomon.engine.store import Reading
from gnomon.runs.auditing import SELECTION, TRIVIAL
from gnomon.runs.run import Evaluation
from gnomon.runs.variants import DIFFERS, REPORTED, REPORTED_BY
from gnomon.suites.har import assembling, cells, export, scoring, sources, systems
from gnomon.suites.har import protocol as rules
from gnomon.suites.har.metrics import METRICS, RATES, native
from gnomon.suites.har.options import VARIANTS, RunOptions
from gnomon.suites.har.predictions import Answers
from gnomon.suites.har.recordings import MODEL_HZ
from gnomon.suites.har.reference import CITED, FIGURES, REPORTED_ON, Deviation
from gnomon.suites.har.sources import Located
from gnomon.suites.har.splits import SEED, Mode

CELLS = "gnomon.suites.har.cells"
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
        return VARIANTS[:2] if self.options.variant == "both" else (self.options.variant,)

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
    planned = {
        (name, variant, turn, metric, place.name, fold): nodes.cell(name, variant, turn, metric, place, fold)
        for name in work.specs
        for variant in work.variants
        for turn in range(work.turns)
        for place in work.test
        for metric in work.metrics
        for fold in range(work.folds(variant) if metric in RATES else 1)
    }
    return Job(Plan(planned.values()), lambda outcome: _assemble(outcome, work, nodes, planned))


def _resolved(options: RunOptions) -> Work:
    given = _weighted(listed(options.systems), options.weights)
    specs = {spec.text: spec for spec in map(systems.known, given)}
    if not specs:
        raise InputError("no system given: --systems NAME, package.module:Class or file.py:Class")
    metrics = _words(options.metrics)
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown or not metrics:
        raise InputError(f"--metrics: no metric {some(unknown)}; there are {', '.join(METRICS)}")
    supervised = any(metric in RATES for metric in metrics)
    if options.folds and (options.variant == "published" or not supervised):
        why = "the published split is one of windows" if supervised else "no supervised metric was asked for"
        raise InputError(f"--folds {options.folds}: has no effect, since {why}; leave it out")
    if options.windows == "continuous" and options.variant == "strict":
        raise InputError("--windows continuous: strict always cuts so; leave it out, or give --variant published")
    train, test = sources.locate(options.data_root, _words(options.train), _words(options.test))
    kept = _apart(train)
    sides = {"published": tuple(train), "strict": kept}
    dropped = tuple(one.name for one in train if one not in kept)
    turns = options.seeds or rules.PROFILES[options.profile].seeds
    ordered = tuple(metric for metric in METRICS if metric in metrics)
    return Work(options, specs, ordered, sides, tuple(test), turns, dropped)


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


def _words(given: Sequence[str]) -> list[str]:
    return [word for item in given for word in map(str.strip, item.split(",")) if word]


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
        self.node = partial(Node, limits=work.options.limits())

    def windows(self, place: Located, variant: str, role: str, native_rate: bool = False) -> Node:
        """Artefact: the windows of a dataset."""
        rate = None if native_rate else MODEL_HZ
        cutting = self.work.cutting(variant, role)
        return self.node(
            f"windows of {place.name} {f'at {rate:g} Hz' if rate else 'at its own rate'} ({variant}, {cutting})",
            f"{CELLS}:windows",
            {
                "dataset": place.name,
                "content": place.content,
                "variant": variant,
                "rate_hz": rate,
                "cutting": cutting,
            },
            kind="artefact",
            labels={"dataset": place.name, "variant": variant},
            context={"root": place.root},
            read=WHOLE,
        )

    def fitted(self, name: str, variant: str, turn: int) -> Node:
        """Artefact: a model fitted to the training datasets."""
        work, spec = self.work, self.work.specs[name]
        own = systems.native_rate(systems.find(spec.name))
        needs = {one.name: self.windows(one, variant, "train", own) for one in work.train[variant]}
        which = f"{systems.for_fitting(spec).text} ({variant}, seed {work.options.seed + turn})"
        arguments = {
            **self._system(systems.for_fitting(spec)),
            "training": list(needs),
            "most": work.profile.training_windows,
            "conditions": work.conditions(variant, turn).record(),
        }
        labels = {"system": name, "variant": variant}
        heavy, foreign = systems.heavy(spec.name), is_foreign(spec.name, systems.BUILTIN)
        node = partial(self.node, kind="artefact", labels=labels, heavy=heavy, foreign=foreign)
        if systems.pretrained(systems.find(spec.name)):
            needs = {**needs, "pretrained": node(f"pre-train {which}", f"{CELLS}:pretrain", arguments, dict(needs))}
        return node(f"fit {which}", f"{CELLS}:fit", arguments, needs, read=(cells.FACTS,))

    def cell(self, name: str, variant: str, turn: int, metric: str, place: Located, fold: int) -> Node:
        """Cell: a system under a metric on a dataset."""
        work, spec = self.work, self.work.specs[name]
        own, foreign = systems.native_rate(systems.find(spec.name)), is_foreign(spec.name, systems.BUILTIN)
        windows, fitted = self.windows(place, variant, "test", own), self.fitted(name, variant, turn)
        seed = work.options.seed + turn
        which = f"({variant}, seed {seed}{f', fold {fold}' if metric in RATES and work.folds(variant) > 1 else ''})"
        labels = {"system": name, "variant": variant, "dataset": place.name, "task": metric, "seed": str(seed)}
        most = work.most(variant, metric)
        if metric in RATES:
            arguments = {
                **self._system(spec),
                "variant": variant,
                "metric": metric,
                "fold": fold,
                "most": most,
                "drawing": asdict(work.drawing(variant, turn)),
                "conditions": work.conditions(variant, turn).record(),
            }
            needs = {"windows": windows, "fitted": fitted}
            heavy = systems.heavy(spec.name)
            told = f"{name} {metric} {place.name} {which}"
            node = partial(self.node, labels=labels, heavy=heavy, foreign=foreign)
            return node(told, f"{CELLS}:fine_tune", arguments, needs)
        scores = self.node(
            f"scores of {name} on {place.name} {which}",
            f"{CELLS}:zero_shot",
            {**self._system(spec), "most": most},
            {"windows": windows, "fitted": fitted},
            kind="artefact",
            labels={"system": name, "variant": variant},
            foreign=foreign,
        )
        needs = {"windows": windows, "scores": scores}
        return self.node(
            f"{name} {metric} {place.name} {which}", f"{CELLS}:answer", {"metric": metric}, needs, labels=labels
        )

    def _system(self, spec: Spec) -> dict[str, Any]:
        content = systems.content(spec)
        own = {"system": spec.text, "identity": systems.identity(spec.name)}
        return {**own, **({"content": content} if content else {})}


def _assemble(outcome: Outcome, work: Work, nodes: Nodes, planned: Mapping[tuple[Any, ...], Node]) -> list[Evaluation]:
    store = Reading(work.options.store_folder())
    found = []
    for variant in work.variants:
        data = assembling.Data.read(store, work, nodes, variant)
        for turn in range(work.turns):
            shared = assembling.audited(work, data, variant, turn)
            for name in work.specs:
                own = {key[3:]: node for key, node in planned.items() if key[:3] == (name, variant, turn)}
                answers = _answers(outcome, work, data, name, own)
                about = _about(work, data, outcome, name, variant, turn, [node.name for node in own.values()])
                found.append(shared.add(scoring.evaluation(answers, about)))
    if work.options.export_baseline:
        export.write(work.options.export_baseline, found)
    return found


def _answers(
    outcome: Outcome, work: Work, data: assembling.Data, name: str, own: Mapping[tuple[Any, ...], Node]
) -> list[Answers]:
    """Put the answers of the cells of a run together; folds of a metric are one."""
    aligned = systems.text_aligned(systems.find(work.specs[name].name))
    found = []
    for metric in work.metrics:
        for place in work.test:
            nodes = [node for key, node in own.items() if key[:2] == (metric, place.name)]
            done = [cells.Answered.read(outcome.done[node.name]) for node in nodes if node.name in outcome.done]
            if not done:
                continue
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
                    cells.classes_of(windows),
                    {"windows": len(windows), **_training(facts)},
                )
            )
    return found


def _training(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what fine-tuning said of itself, by fold; of zero-shot nothing, since the fit says it."""
    tuned = [fact["fine_tuned"] for fact in facts if "fine_tuned" in fact]
    return {"fine_tuned": tuned} if tuned else {}


def _about(
    work: Work, data: assembling.Data, outcome: Outcome, name: str, variant: str, turn: int, names: Sequence[str]
) -> scoring.Scored:
    options, spec = work.options, work.specs[name]
    seed = options.seed + turn
    severe = [one.name for one in work.test if one.manifest.role == "severe"]
    main = [one.name for one in work.test if one.name not in severe]
    part = _part(outcome, names)
    split = {
        "by": "window" if variant == "published" else "subject",
        "shares": "80/10/10",
        "seed": SEED,
        "subsample": options.subsample,
        **({"folds": options.folds} if variant == "strict" and options.folds else {}),
    }
    settings = {
        "profile": rules.record(options.profile),
        "train": {one.name: one.content for one in work.train[variant]},
        "windows": work.cutting(variant, "test"),
    }
    facts = {
        "seed": seed,
        "seeds": work.turns,
        "subjects_apart": int(variant == "strict"),
        "real_people": int(not any(one.simulated for one in work.test)),
        "simulated": [one.name for one in (*work.train[variant], *work.test) if one.simulated],
        "fitted": data.fitted.get((name, turn), {}),
        "untaught": data.untaught(),
        "rates_hz": {place: dict(one.rates) for place, one in data.about.items()},
        "deviations": [asdict(item) for item in _deviations(work, variant, spec)],
        **_reported(spec, main),
        **_turned(work, spec, variant),
        TRIVIAL: systems.trivial(systems.find(spec.name)),
        **({DIFFERS: list(rules.DIFFERENT)} if variant == "strict" else {}),
        **_selection(work, variant, main or severe),
    }
    return scoring.Scored(
        system=spec.text,
        protocol=rules.protocol(variant, work.metrics, main, severe, split=split, settings=settings),
        data=scoring.data_fingerprint({one.name: one.content for one in work.test}),
        facts=facts,
        options={
            **opt.record(options),
            "seed": seed,
            "store": os.fspath(options.store_folder()),
            "system": spec.text,
            "parameters": dict(spec.parameters),
            "system_source": systems.identity(spec.name),
        },
        cases=data.cases(),
        coverage={"complete": part.complete, "cells": part.coverage(), "policy": {"seed": seed}},
        inputs=tuple(
            {"name": one.name, "path": one.where, "bytes": None, "sha256": one.content}
            for one in (*work.test, *work.train[variant])
        ),
    )


def _deviations(work: Work, variant: str, spec: Spec) -> tuple[Deviation, ...]:
    """Return where a run deviates from what was published: the protocol's own, then those of its model."""
    train = [one.name for one in work.train[variant]]
    own = rules.own_deviations(work.options.profile, [spec.text], variant, work.cutting(variant, "test"), train)
    return (*own, *getattr(systems.find(spec.name), "deviations", ()))


def _turned(work: Work, spec: Spec, variant: str) -> dict[str, Any]:
    """Record, of a model that turns windows by gravity, on which datasets it could not."""
    if not getattr(systems.find(spec.name), "aligns_gravity", False):
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


def _part(outcome: Outcome, names: Sequence[str]) -> Outcome:
    wanted = set(names)
    done = {name: path for name, path in outcome.done.items() if name in wanted}
    missing = {name: why for name, why in outcome.missing.items() if name in wanted}
    return Outcome(done, missing, tuple(cell for cell in outcome.cells if cell.name in wanted))
