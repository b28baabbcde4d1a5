"""The table ``training``: what the models of a run learned from, for how long, and how far their loss came down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.table import Cell, Column, Table
from gnomon.runs.run import Run

Facts = Mapping[str, Any]


def training(runs: Sequence[Run]) -> Table | None:
    """Return a row for each stage of every model that trains by updates; None where there is none."""
    columns = (
        Column("system", "system"),
        Column("stage", "stage"),
        Column("parameters", "parameters", "count"),
        Column("windows", "windows", "count"),
        Column("epochs", "epochs", "text"),
        Column("updates", "updates", "text"),
        Column("loss", "loss, first to last", "text"),
        Column("seconds", "wall", "number", "s", digits=1),
        Column("cpu", "CPU", "number", "s", digits=1),
    )
    rows = [row for run in runs for row in _stages(run)]
    notes = ["fine-tuning: over all test datasets and folds; times add up, updates and epochs are from least to most"]
    used = {str(run.manifest["facts"].get("fitted", {}).get("text_encoder", "")) for run in runs} - {""}
    notes += [f"text encoder: {_encoder(run)}" for run in runs if _encoder(run)] if used else []
    notes += [f"{run.system}: {said}" for run in runs if (said := _weights(run))]
    for run in runs:
        flat = run.manifest["facts"].get("not_aligned_by_gravity")
        notes += [f"{run.system}: not turned by gravity, which is removed there: {', '.join(flat)}"] if flat else []
    return Table("training", "har: training", columns, tuple(rows), tuple(dict.fromkeys(notes))) if rows else None


def _weights(run: Run) -> str:
    """Say where weights come from, where a model tells."""
    fitted = run.manifest["facts"].get("fitted", {})
    found = fitted.get("weights") or fitted.get("pretrained", {}).get("weights") or ""
    if isinstance(found, Mapping):
        found = ", ".join(f"{key} {value}" for key, value in found.items() if value not in (None, ""))
    return f"weights: {found}" if found else ""


def _encoder(run: Run) -> str:
    fitted = run.manifest["facts"].get("fitted", {})
    found = fitted.get("text_encoder") or fitted.get("pretrained", {}).get("text_encoder") or ""
    return str(found.get("name", found)) if isinstance(found, Mapping) else str(found)


def _stages(run: Run) -> Iterator[dict[str, Cell]]:
    facts = run.manifest["facts"]
    fitted: Facts = facts.get("fitted", {})
    before: Facts = fitted.get("pretrained", {})
    stages: list[tuple[str, list[Facts]]] = [("pre-training", [before]), ("zero-shot classifier", [fitted])]
    if not before:
        stages = [("training", [fitted])]
    for metric in run.manifest["protocol"]["tasks"]:
        tuned = [item for key, task in facts["tasks"].items() if key.startswith(f"{metric} ") for item in _tuned(task)]
        stages.append((f"fine-tuning {metric}", tuned))
    for name, found in stages:
        kept = [item for item in found if item.get("updates") is not None or _curves(item)]
        if kept:
            yield _row(run.system, name, kept)


def _tuned(task: Facts) -> list[Facts]:
    found: list[Facts] = task.get("fine_tuned", [])
    return found


def _row(system: str, stage: str, found: Sequence[Facts]) -> dict[str, Cell]:
    losses = [losses for item in found for losses in [_losses(item)] if losses]
    first, last = ([float(own[at]) for own in losses] for at in (0, -1))
    return {
        "system": Cell(system),
        "stage": Cell(stage),
        "parameters": _count([item.get("parameters") for item in found]),
        "windows": _count([item.get("windows", item.get("rows")) for item in found]),
        "epochs": Cell(_range([item.get("epochs") for item in found])),
        "updates": Cell(_range([item.get("updates") for item in found])),
        "loss": Cell(f"{np.mean(first):.3g} to {np.mean(last):.3g}" if losses else "-"),
        "seconds": Cell(float(sum(item.get("seconds", 0.0) for item in found))),
        "cpu": Cell(float(sum(item.get("cpu_seconds", 0.0) for item in found))),
    }


def _count(values: Sequence[Any]) -> Cell:
    known = [int(value) for value in values if value is not None]
    return Cell(max(known)) if known else Cell(None, why="not told")


def _range(values: Sequence[Any]) -> str:
    known = [int(value) for value in values if value is not None]
    if not known:
        return "-"
    return f"{min(known):,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"


def _losses(item: Facts) -> list[float]:
    """Return the losses of the last curve."""
    curves = _curves(item)
    return list(curves[-1].get("losses", [])) if curves else []


def _curves(item: Facts) -> list[Facts]:
    if "curve" in item:
        return [item["curve"]]
    found = item.get("curves", [])
    return list(found.values()) if isinstance(found, Mapping) else list(found)
