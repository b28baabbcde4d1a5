"""Metrics by name: what ``--metrics`` chooses, and a user's own metrics.

A metric is given by its name (as stored or as tables print it, see :func:`gnomon.core.measure.find_measure`), as
``file.py:Class`` or ``module:Class`` with parameters as ``@key=value``, or, in Python, as a metric or its class.
A user's class extends the base of the counts that it needs and defines ``score``::

    class Hits(gnomon.measures.classification.ClassCounts):
        def score(self, totals, frozen=None):
            return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])

Reading a run executes nothing that the run names: the scores of a user's metric are read as they were stored, and the
metric itself is only computed again where ``--metrics`` names its class.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.loading import find_class, source_identity
from gnomon.core.measure import Measure, Scored, Shown, find_measure, matching_measures
from gnomon.core.systems import checked, known_parameters, parse
from gnomon.core.tallies import Array, Tallies, Totals

OWN = re.compile(r"(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*(@.*)?", re.DOTALL)
"""How a user's own metric is named: ``file.py:Class`` or ``module:Class``, perhaps with parameters."""


@dataclass(frozen=True)
class Choice:
    """The metrics of a run, the chosen ones first."""

    metrics: tuple[Measure, ...]
    chosen: tuple[str, ...] = ()
    """Names of the metrics that tables show; empty where nothing was chosen."""
    own: tuple[Mapping[str, Any], ...] = ()
    """Records of the metrics that are not part of the protocol."""

    def record(self) -> dict[str, Any]:
        """Return what a manifest keeps of the choice; nothing where nothing was chosen."""
        return {"chosen": list(self.chosen), "own": [dict(item) for item in self.own]} if self.chosen else {}


def split_names(given: Any) -> list[Any]:
    """Return the single metrics of an option that may be repeated and may hold several, separated by commas.

    A comma inside brackets or parentheses belongs to a name.

    >>> split_names(["macro_f1, f1[sit, down]", "kappa"])
    ['macro_f1', 'f1[sit, down]', 'kappa']
    >>> split_names("F1(average='macro', classes='union'),kappa")
    ["F1(average='macro', classes='union')", 'kappa']
    """
    items = [given] if isinstance(given, (str, Measure, type, Own)) else list(given or ())
    found: list[Any] = []
    for item in items:
        texts = re.split(r",(?![^\[]*\])(?![^(]*\))", item) if isinstance(item, str) else [item]
        found += [text.strip() if isinstance(text, str) else text for text in texts]
    return [item for item in found if item != ""]


def is_own(item: Any) -> bool:
    """Say whether a metric is given as a user's own class or value, not by the name of a known one.

    >>> is_own("mcc.py:Matthews"), is_own("macro_f1"), is_own("f1[a:b]")
    (True, False, False)
    """
    return not isinstance(item, str) or bool(OWN.fullmatch(item))


@dataclass(frozen=True)
class Own:
    """A user's own metric, loaded, and the record that a run keeps of it."""

    metric: Measure
    record: Mapping[str, Any]


Asked = str | Own
"""A metric that was asked for: the name of a known one, or a user's own."""


def load_metrics(given: Any) -> list[Asked]:
    """Return the single metrics of an option; each own one is loaded, once."""
    return [item if isinstance(item, Own) or not is_own(item) else load_own(item) for item in split_names(given)]


def load_own(item: Any) -> Own:
    """Load a user's own metric from ``file.py:Class`` or ``module:Class``, or take a metric or its class as it is."""
    if isinstance(item, str):
        spec = parse(item)
        name, source = spec.name, item
        kind = find_class(name, ("score",), "metric", {})
    else:
        kind = item if isinstance(item, type) else type(item)
        name = source = f"{kind.__module__}:{kind.__qualname__}"
    if not issubclass(kind, Measure):
        raise InputError(
            f"metric {source!r}: expected a class that extends the counts it is computed from, such as "
            f"gnomon.measures.classification.ClassCounts, but got {kind.__name__}"
        )
    metric: Measure
    try:
        if isinstance(item, str):
            metric = kind(**checked(spec, known_parameters(kind), "metric").parameters)
        else:
            metric = kind() if isinstance(item, type) else item
    except InputError:
        raise
    except Exception as error:  # an abstract method is not defined, a parameter has no default, the user's code fails
        raise InputError(f"metric {source!r}: cannot be made ({type(error).__name__}: {error})") from error
    return Own(metric, {**describe(metric), "source": source, "identity": source_identity(name, kind)})


def describe(metric: Measure) -> dict[str, Any]:
    """Return a metric as plain data that is enough to show its scores; infinite bounds are None."""
    shown = metric.shown and {"factor": metric.shown.factor, "unit": metric.shown.unit, "digits": metric.shown.digits}
    return {
        **metric.record(),
        "name": metric.name,
        "title": metric.title,
        "direction": metric.direction,
        "unit": metric.unit,
        "bounds": [bound if math.isfinite(bound) else None for bound in metric.bounds],
        "shown": shown,
    }


def check_metrics(asked: Sequence[Asked], metrics: Sequence[Measure], where: str) -> None:
    """Refuse names that no run will have, and own metrics that cannot be scored, before any work is done.

    `metrics` may hold those of several variants of a protocol: a name may stand for one metric in each of them.
    """
    known = {metric.name: metric for metric in metrics}
    counts = {_counts_of(metric) for metric in metrics}
    own: dict[str, Own] = {}
    for item in asked if metrics else ():
        if isinstance(item, str):
            if len({metric.common for metric in matching_measures(metrics, item)}) != 1:
                find_measure(metrics, item, where)
            continue
        metric, source = item.metric, item.record["source"]
        if _counts_of(metric) not in counts:
            raise InputError(
                f"metric {source!r} is computed from {_counts_of(metric)!r}, which is not among the counts of {where}: "
                f"{some(sorted(counts), show=20)}"
            )
        if known.get(metric.name, metric) != metric:
            raise InputError(f"metric {source!r} is called {metric.name!r}, as one of the suite is: rename it")
        if own.setdefault(metric.name, item).metric != metric:
            raise InputError(
                f"two metrics are called {metric.name!r} ({own[metric.name].record['source']} and {source})"
            )


def _counts_of(metric: Measure) -> str:
    """Return the name of the stored counts, or of the stored rows, that a metric is computed from."""
    return str(getattr(metric, "ledger", metric.family))


def available(asked: Sequence[Asked], metrics: Sequence[Measure], every: Sequence[Measure]) -> list[Asked]:
    """Leave out names that a protocol lacks where another of the same work has them: variants differ in metrics."""
    check_metrics(asked, every, "these runs")
    return [item for item in asked if isinstance(item, Own) or matching_measures(metrics, item)]


def choose(asked: Sequence[Asked], metrics: Sequence[Measure], where: str) -> Choice:
    """Choose among the metrics of a protocol, and add a user's own; `where` names the runs in messages."""
    check_metrics(asked, metrics, where)
    found = [item.metric if isinstance(item, Own) else find_measure(metrics, item, where) for item in asked]
    chosen = {metric.name: metric for metric in found}
    known = {metric.name for metric in metrics}
    own = {item.metric.name: item.record for item in asked if isinstance(item, Own) and item.metric.name not in known}
    rest = (metric for metric in metrics if metric.name not in chosen)
    return Choice((*chosen.values(), *rest), tuple(chosen), tuple(own.values()))


def restore(record: Mapping[str, Any], metrics: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the metrics of a stored run from the record of its choice, the chosen ones first."""
    own = {item["name"]: stored_metric(item) for item in record.get("own", ())}
    known = {**{metric.name: metric for metric in metrics}, **own}
    chosen = [known[name] for name in record.get("chosen", ())]
    return (*chosen, *(metric for metric in metrics if metric not in chosen))


class StoredMetric(Measure):
    """A user's metric as a run stored it: its scores can be shown, but not computed again."""

    computable = False
    source = ""
    stored_name = ""

    @property
    def name(self) -> str:
        """Column key."""
        return self.stored_name

    def tally(self, truth: Any, prediction: Any) -> Tallies:
        """Refuse: the class is not loaded."""
        del truth, prediction
        raise self._refusal()

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Refuse: the class is not loaded."""
        del totals, frozen
        raise self._refusal()

    def _refusal(self) -> InputError:
        return InputError(f"the metric {self.name!r} is your own ({self.source}): give --metrics {self.source} again")


def stored_metric(record: Mapping[str, Any]) -> StoredMetric:
    """Return what is known of a user's metric from its record, without loading its class."""
    low, high = record["bounds"]
    if record["direction"] not in ("up", "down"):
        raise InputError(f"metric {record['name']!r}: expected direction up or down, but got {record['direction']!r}")
    attributes = {
        "stored_name": str(record["name"]),
        "source": str(record["source"]),
        "title": str(record["title"]),
        "family": str(record["family"]),
        "direction": record["direction"],
        "unit": str(record["unit"]),
        "bounds": (-math.inf if low is None else float(low), math.inf if high is None else float(high)),
        "shown": Shown(**record["shown"]) if record["shown"] else None,
    }
    kind: type[StoredMetric] = type("StoredMetric", (StoredMetric,), attributes)
    return kind()
