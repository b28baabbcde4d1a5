"""What a figure shows, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.core.errors import counted
from gnomon.core.table import View
from gnomon.report.figures.style import named, written

Data = Mapping[str, Any]


def summary(view: View) -> str:
    """Return one sentence about a view; what kind it is where nothing else is known."""
    return WORDS[view.kind](view.data) if view.kind in WORDS else f"A view of the kind {view.kind}."


def _bars(data: Data) -> str:
    return f"{counted(len(data['bars']), 'divided bar')}; right: {', '.join(data['right'])}."


def _curves(data: Data) -> str:
    kept = [own for own in data["series"] if own["y"]]
    ends = "; ".join(f"{named(own['name'])} from {own['y'][0]:.3g} to {own['y'][-1]:.3g}" for own in kept[:4])
    return f"{counted(len(kept), 'curve')} of {data['y']} by {data['x']}: {ends}."


def _gap(data: Data) -> str:
    pairs = counted(sum(len(panel["rows"]) for panel in data["panels"]), "pair")
    return f"{pairs} of {' and '.join(map(str, data['names']))} over {counted(len(data['panels']), 'measure')}."


def _heat(data: Data) -> str:
    known = [value for row in data["values"] for value in row if value is not None]
    ends = f", from {min(known):.3g} to {max(known):.3g}{_unit(data)}" if known else ", all undefined"
    return f"{counted(len(data['rows']), 'row')} by {counted(len(data['columns']), 'column')}{ends}."


def _intervals(data: Data) -> str:
    digits = int(data.get("digits", 3))
    said = [f"{named(row['system'])} {written(row['value'], digits)}" for row in data["rows"][:4]]
    said += [f"and {len(data['rows']) - 4} more"] if len(data["rows"]) > 4 else []
    return f"{data['measure']} of {counted(len(data['rows']), 'system')}: {', '.join(said)}."


def _matrix(data: Data) -> str:
    total = sum(sum(row) for row in data["counts"])
    right = sum(
        data["counts"][i][data["predicted"].index(label)]
        for i, label in enumerate(data["labels"])
        if label in data["predicted"]
    )
    share = f"; {100 * right / total:.1f} % on the diagonal" if total else ""
    return f"Truth by prediction over {counted(len(data['labels']), 'class')}, {total:,.6g} in all{share}."


def _ranks(data: Data) -> str:
    said = ", ".join(f"{named(row['system'])} {row['rank']:.2f}" for row in data["ranks"][:6])
    apart = "" if data["distance"] is None else f"; critical difference {data['distance']:.2f}"
    return f"Mean ranks, 1 is best: {said}{apart}."


def _strips(data: Data) -> str:
    means = ", ".join(f"{named(row['system'])} {row['value']:.3g}" for row in data.get("means", ())[:6])
    return f"{counted(len(data['points']), 'score')} of single cases{f'; means: {means}' if means else ''}."


def _unit(data: Data) -> str:
    return f" {data['unit']}" if data.get("unit") else ""


WORDS: Mapping[str, Callable[[Data], str]] = {
    "bars": _bars,
    "curves": _curves,
    "gap": _gap,
    "heat": _heat,
    "intervals": _intervals,
    "matrix": _matrix,
    "ranks": _ranks,
    "strips": _strips,
}
