"""The laws themselves. Each takes a measure and some drawn cases and says what is broken, or nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core import registry
from gnomon.core.canonical import encode
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.rows import LedgerMeasure, Rows
from gnomon.core.tallies import Array, Tallies, Totals
from gnomon.testing.drawing import Drawer, drawer

Case = tuple[Any, Any]
CLOSE = 1e-12


@dataclass(frozen=True)
class Drawn:
    """Cases, and what a measure keeps of each and of all: worked out once for all laws."""

    cases: Sequence[Case]
    kept: Sequence[Tallies | Rows]
    whole: Tallies | Rows


Law = Callable[[Measure, Drawn, Drawer, np.random.Generator], str]


def check(measure: Measure, seed: int) -> list[str]:
    """Try every law on cases drawn with a seed; return what is broken."""
    rng = np.random.default_rng(seed)
    draw = drawer(measure.signal)
    cases = [draw.draw(rng) for _ in range(int(rng.integers(1, 7)))]
    kept = [_kept(measure, case) for case in cases]
    drawn, broken = Drawn(cases, kept, _stacked(kept)), []
    for name, law in LAWS.items():
        complaint = law(measure, drawn, draw, rng)
        if complaint:
            broken.append(f"{measure!r} breaks '{name}' (seed {seed}): {complaint}")
    return broken


def value(measure: Measure, totals: Totals) -> float | None:
    """Return a score, or ``None`` where it is undefined."""
    scored = measure.score(totals)
    return float(scored.values) if bool(scored.defined) else None


def _kept(measure: Measure, case: Case) -> Tallies | Rows:
    """Return what one case leaves: a tally, or rows."""
    if not isinstance(measure, LedgerMeasure):
        return measure.tally(*case)
    ledger = measure.rows(*case)
    return Rows(ledger, np.zeros(len(ledger), dtype=np.int64), 1)


def _stacked(parts: Sequence[Tallies | Rows]) -> Tallies | Rows:
    """Put what cases left under one another."""
    rows = [part for part in parts if isinstance(part, Rows)]
    if not rows:
        return Tallies.stack([part for part in parts if isinstance(part, Tallies)])
    starts = np.cumsum([0, *(part.n_cases for part in rows)]).tolist()
    group = np.concatenate([part.group + start for part, start in zip(rows, starts, strict=False)])
    return Rows(Ledger.stack([(part.ledger, 0) for part in rows]), group, starts[-1])


def _tally(measure: Measure, cases: Sequence[Case]) -> Tallies | Rows:
    return _stacked([_kept(measure, case) for case in cases])


def merges(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """Shards in any order score exactly as the whole."""
    del draw
    rows = drawn.kept
    whole = value(measure, drawn.whole.total())
    order = rng.permutation(len(rows)).tolist()
    cut = int(rng.integers(0, len(rows) + 1))
    shards = [_stacked([rows[i] for i in part]) for part in (order[:cut], order[cut:]) if part]
    merged = value(measure, _stacked(shards).total())
    return "" if merged == whole else f"whole {whole!r}, merged shards {merged!r}"


def perfect(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """A prediction without error reaches the declared best value, or is undefined with a reason."""
    del rng
    totals = _tally(measure, [(truth, draw.perfect(truth)) for truth, _ in drawn.cases]).total()
    found = value(measure, totals)
    if found is None:
        return "" if measure.why(totals) else "undefined without a reason"
    absent = getattr(measure, "label", None)
    if absent is not None and (absent not in totals.axes["class"] or not measure.count(totals)):
        return ""  # a class that does not occur takes the value of the zero-division policy
    return "" if math.isclose(found, measure.best, abs_tol=CLOSE) else f"perfect scores {found}, best is {measure.best}"


def bounded(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """Scores stay in the declared range, and an undefined score says why."""
    del draw, rng
    totals = drawn.whole.total()
    found = value(measure, totals)
    if found is None:
        return "" if measure.why(totals) else "undefined without a reason"
    low, high = measure.bounds
    return "" if low - CLOSE <= found <= high + CLOSE else f"{found} is outside [{low}, {high}]"


def renaming(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """Renaming classes changes nothing."""
    names = {str(i): f"class {j}" for i, j in enumerate(rng.permutation(10).tolist())}
    renamed = [(draw.renamed(truth, names), draw.renamed(prediction, names)) for truth, prediction in drawn.cases]
    if renamed[0][0] is None:
        return ""
    parameters = {f.name: _renamed(getattr(measure, f.name), f.name, names) for f in dataclasses.fields(measure)}
    before = value(measure, drawn.whole.total())
    after = value(type(measure)(**parameters), _tally(measure, renamed).total())
    return "" if _close(before, after) else f"{before} became {after}"


def absent_class(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """A class that nobody uses changes nothing, unless the class set names it."""
    del rng
    wider = [(draw.widened(truth, "absent"), draw.widened(prediction, "absent")) for truth, prediction in drawn.cases]
    if wider[0][0] is None:
        return ""
    before = value(measure, drawn.whole.total())
    after = value(measure, _tally(measure, wider).total())
    return "" if _close(before, after) else f"{before} became {after}"


def batches(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """Scoring many totals at once gives what scoring each gives."""
    del draw
    tallies = drawn.whole
    weights = rng.integers(0, 3, size=(4, tallies.n_cases))
    batch = tallies.weighted(weights)
    scored = measure.score(batch)
    if scored.values.shape != (4,) or scored.defined.shape != (4,):
        return f"expected shape (4,), but got {scored.values.shape} and {scored.defined.shape}"
    for row in range(4):
        alone = _repeated(tallies, weights[row]) if isinstance(tallies, Rows) else _entry(batch, row)
        together = float(scored.values[row]) if scored.defined[row] else None
        if not _close(value(measure, alone), together):
            return f"alone {value(measure, alone)}, in a batch {together}"
    return ""


def _entry(batch: Totals, row: int) -> Totals:
    return Totals({name: array[row] for name, array in batch.fields.items()}, batch.axes)


def _repeated(rows: Rows, weights: Array) -> Totals:
    """Return the total of rows that stand there as often as the weight of their group says."""
    times = np.repeat(np.arange(len(rows.ledger)), weights[rows.group])
    columns = {name: column[times] for name, column in rows.ledger.columns.items()}
    ledger = Ledger(rows.ledger.case[times], columns, rows.ledger.labels)
    return Rows(ledger, rows.group[times], rows.n_cases).total()


def frozen(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """On the whole, the frozen class set gives the same score."""
    del draw, rng
    totals = drawn.whole.total()
    scored = measure.score(totals, measure.freeze(totals))
    again = float(scored.values) if bool(scored.defined) else None
    return "" if again == value(measure, totals) else f"{value(measure, totals)} became {again} when frozen"


def identities(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """What the measure says cannot be true of tallies is not said of true ones."""
    del draw, rng
    kept = drawn.whole
    if isinstance(kept, Rows):
        return "; ".join(measure.identities(None, {measure.family: kept.ledger}))  # type: ignore[arg-type]
    return "; ".join(measure.identities(kept, {}))


def recorded(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """A measure can be rebuilt from its record, and equal measures have equal names."""
    del drawn, draw, rng
    encode(measure.record())
    again = type(measure).from_parameters(measure.record()["parameters"])
    if again != measure or repr(again) != repr(measure) or hash(again) != hash(measure):
        return f"the record gives {again!r}"
    known = any(type(example) is type(measure) for example in registry.measures())
    return "" if not known or registry.measure(measure.record()) == measure else "the registry gives another measure"


def silence(measure: Measure, drawn: Drawn, draw: Drawer, rng: np.random.Generator) -> str:
    """Leaving answers out, where they count as wrong, never makes a score better; an undefined score says why."""
    silenced = [(truth, draw.silenced(prediction, rng)) for truth, prediction in drawn.cases]
    if silenced[0][1] is None or not measure.direction:
        return ""
    totals = _tally(measure, silenced).total()
    before, after = value(measure, drawn.whole.total()), value(measure, totals)
    if after is None:
        return "" if measure.why(totals) else "undefined without a reason"
    if before is None:
        return ""
    gain = after - before if measure.direction == "up" else before - after
    return "" if gain <= CLOSE else f"{before} became {after} without some of the answers"


def _renamed(parameter: Any, name: str, names: dict[str, str]) -> Any:
    if name == "label":
        return names.get(parameter, parameter)
    if isinstance(parameter, tuple):
        return tuple(names.get(item, item) for item in parameter)
    return parameter


def _close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)


LAWS: dict[str, Law] = {
    "shards merge": merges,
    "a perfect prediction is best": perfect,
    "scores stay in range": bounded,
    "names of classes do not matter": renaming,
    "an absent class does not matter": absent_class,
    "batches agree": batches,
    "freezing on the whole changes nothing": frozen,
    "silence does not help": silence,
    "identities hold": identities,
    "records rebuild": recorded,
}
"""Every law by what it says."""
