"""What the runs of one variant have in common when their cells are done: windows, their audit, fits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.audit import Audit
from gnomon.core.errors import InputError, counted
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.engine.store import Store
from gnomon.runs.run import Evaluation
from gnomon.suites.har import cells, samples, sources
from gnomon.suites.har.metrics import RATES
from gnomon.suites.har.protocol import capped, split
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.splits import SEED

if TYPE_CHECKING:
    from gnomon.suites.har.running import Nodes, Work


FEW, SEEDS = 100, 5
"""Below so many labelled windows, fewer seeds than these are too few."""


@dataclass(frozen=True, eq=False)
class Data:
    """Windows of all datasets of a variant that could be prepared, and what is known of them and of the fits."""

    windows: Mapping[str, Windows]
    about: Mapping[str, sources.About]
    fitted: Mapping[tuple[str, int], Mapping[str, Any]]
    train: tuple[str, ...]
    test: tuple[str, ...]

    @staticmethod
    def read(store: Store, work: Work, nodes: Nodes, variant: str) -> Data:
        """Read what is in the store; at 20 Hz where that is there, else at native rate."""
        windows, about = {}, {}
        roles = [(one, "train") for one in work.train[variant]] + [(one, "test") for one in work.test]
        for place, role in roles:
            keys = [nodes.windows(place, variant, role, own).key for own in (False, True)]
            folder = next((store.path(key) for key in keys if store.has(key)), None)
            if folder is not None:
                windows[place.name], about[place.name] = sources.load(folder), sources.about(folder)
        fitted = {}
        for name in work.specs:
            for turn in range(work.turns):
                path = store.path(nodes.fitted(name, variant, turn).key) / cells.FACTS
                if path.is_file():
                    fitted[name, turn] = json.loads(path.read_bytes())
        train, test = (tuple(one.name for one, own in roles if own == role) for role in ("train", "test"))
        return Data(windows, about, fitted, train, test)

    def cases(self) -> tuple[tuple[str, str, str], ...]:
        """Return dataset, subject and recording of everything that could be tested."""
        tested = [self.windows[name] for name in self.test if name in self.windows]
        paths = {
            (one.dataset, *pair): None for one in tested for pair in zip(one.subjects, one.recordings, strict=True)
        }
        return tuple(paths)

    def untaught(self) -> dict[str, list[str]]:
        """Return, by test dataset, labels that no training window here is of."""
        taught = {label for name in self.train if name in self.windows for label in self.windows[name].labels}
        found = {n: sources.untaught(self.windows[n].labels, taught) for n in self.test if n in self.windows}
        return {name: lost for name, lost in found.items() if lost}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the audit of a run starts from: the same for all systems of a variant and seed."""

    samples: Samples | None
    audit: Audit
    findings: tuple[Finding, ...]

    def add(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation with it."""
        findings = (*evaluation.findings, *self.findings)
        return replace(evaluation, samples=self.samples, audit=self.audit, findings=findings)


def collect_evidence(work: Work, data: Data, variant: str, turn: int) -> Evidence:
    """Collect the windows that are trained on and tested on, and check units, people and the ends of windows."""
    manifests = {one.name: one.manifest for one in (*work.train[variant], *work.test) if one.name in data.windows}
    if not manifests:
        return Evidence(None, Audit(), ())
    audit = samples.audit(manifests, data.about, variant)
    findings = [f for name, found in data.windows.items() for f in samples.across(found, data.about[name])]
    findings += samples.conditions(manifests, data.about, variant)
    findings += [f for name in data.train if name in data.windows for f in samples.untrained(data.windows[name])]
    pieces = _pieces(work, data, variant, turn)
    findings += _scarce(pieces, work.turns)
    marked = [one.name for one in (*work.train[variant], *work.test) if one.simulated]
    if marked:
        text = f"{', '.join(marked)}: simulated data, no recordings of people"
        findings.append(Finding("simulated-data", "info", "data", text, "nothing: do not report them as real"))
    for one in (*work.train[variant], *work.test):
        if one.ignored:
            text, remedy = (
                f"{one.name}: {'; '.join(one.ignored)}",
                "move them to where they are expected, or away",
            )
            findings.append(Finding("files-not-read", "warning", "data", text, remedy))
    if work.dropped and variant == "strict":
        text = f"{', '.join(work.dropped)}: left out of training, since another training dataset is of the same people"
        findings.append(Finding("same-people-left-out", "info", "training", text, "nothing: strict does so"))
    return Evidence(samples.of(pieces), audit, tuple(findings))


def _pieces(work: Work, data: Data, variant: str, turn: int) -> list[samples.Piece]:
    found = []
    seed = work.conditions(variant, turn).seed
    trained = [name for name in data.train if name in data.windows]
    chosen = cells.training_rows([data.windows[name] for name in trained], work.profile.training_windows, seed)
    for name, rows in zip(trained, chosen, strict=True):
        found.append(samples.Piece(data.windows[name], data.about[name], rows, "train"))
    for name in (name for name in data.test if name in data.windows):
        windows, about = data.windows[name], data.about[name]
        zero = [metric for metric in work.metrics if metric not in RATES]
        if zero:
            rows = capped(np.arange(len(windows)), work.most(variant, zero[0]), SEED, "scored windows")
            found.append(samples.Piece(windows, about, rows, "test", f"zero-shot {name}"))
        for metric in (metric for metric in work.metrics if metric in RATES):
            try:
                parts = split(variant, windows.subjects, windows.labels, RATES[metric], work.drawing(variant, turn))
            except InputError:  # its cells have failed for this reason, and said so
                continue
            for fold, part in enumerate(parts):
                task = f"{metric} {name}{f' fold {fold}' if len(parts) > 1 else ''}"
                rows = capped(part.test, work.most(variant, metric), SEED, "scored windows", str(fold))
                sides = (("train", part.labelled), ("val", part.val), ("test", rows))
                found += [samples.Piece(windows, about, own, side, task) for side, own in sides]
    return found


def _scarce(pieces: Sequence[samples.Piece], turns: int) -> list[Finding]:
    """Say so where few labelled windows and few seeds leave much to luck."""
    labelled = {piece.fold: len(piece.rows) for piece in pieces if piece.part == "train" and piece.fold}
    least = min(labelled, key=lambda fold: labelled[fold], default="")
    if not least or labelled[least] >= FEW or turns >= SEEDS:
        return []
    text = f"{least}: {labelled[least]} labelled windows and {counted(turns, 'seed')}: another draw may score otherwise"
    return [Finding("few-labelled-windows", "warning", "labelled windows", text, f"give --seeds {SEEDS} or more")]
