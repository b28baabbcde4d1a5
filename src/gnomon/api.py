"""The verbs in Python: what the command line calls, and what a notebook uses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gnomon.core import options as opt
from gnomon.core import registry
from gnomon.core.errors import InputError, MissingExtraError, WorkError, some
from gnomon.core.suite import load as load_function
from gnomon.core.table import Table, View
from gnomon.report import render

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from gnomon.runs.run import Run


@dataclass(frozen=True)
class Result:
    """Runs with their tables: prints as a table, shows as HTML in a notebook, gives frames."""

    runs: tuple[Run, ...]
    items: tuple[Table | View, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self.items, "terminal").rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return render(self.items, "html")

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for was done."""
        return not self.extra.get("missing") and all(run.complete for run in self.runs)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name."""
        return {item.name: item for item in self.items if isinstance(item, Table)}

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Scores on the whole, by system and measure; ``None`` where undefined."""
        return {run.system: {s.name: s.value for s in run.scores if s.slice == "all"} for run in self.runs}

    def to_arrow(self, table: str = "") -> pa.Table:
        """Return one table (default: the first) as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._table(table).flat())

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """Return one table (default: the first) as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError(
                "to_frame() needs pandas, which is not installed: pip install 'gnomon[frames]', or use to_arrow()"
            ) from error
        return pd.DataFrame.from_records(self._table(table).flat())

    def to(self, format: str) -> str:
        """Return everything as text: terminal, json, csv, markdown or html."""
        return render(self.items, format)

    def record(self) -> dict[str, Any]:
        """Return everything as plain data, as ``--json`` prints it."""
        return {
            **self.extra,
            "runs": [_run_record(run) for run in self.runs],
            "tables": [item.record() for item in self.items if isinstance(item, Table)],
            "views": [item.record() for item in self.items if isinstance(item, View)],
        }

    def _table(self, name: str) -> Table:
        tables = self.tables
        if name and name not in tables:
            raise InputError(f"no table {name!r}; there are {', '.join(tables)}")
        return tables[name] if name else next(iter(tables.values()))


def score(suite: str, truth: Any = None, predictions: Any = None, **options: Any) -> Result:
    """Score predictions made elsewhere.

    Parameters
    ----------
    suite
        Name of a suite, for example ``labels``.
    truth, predictions
        Paths, or tables in memory; several systems as a mapping by name.
    options
        Any option of ``gnomon score SUITE``, with underscores. ``out`` is the folder that receives the runs;
        in Python nothing is written unless it is given.

    Examples
    --------
    >>> result = score("labels", {"id": [1, 2, 3], "label": ["a", "b", "a"], "group": ["x", "y", "x"]},
    ...                {"id": [1, 2, 3], "label": ["a", "b", "b"]})
    >>> round(result.scores["predictions"]["accuracy"], 3)
    0.667
    """
    given = {"truth": truth, "predictions": predictions, "out": "none", **options}
    return perform(suite, "score", {name: value for name, value in given.items() if value is not None})


def run(suite: str, **options: Any) -> Result:
    """Predict with systems and score them; work that is stored already is not done again.

    Parameters
    ----------
    suite
        Name of a suite, for example ``labels``.
    options
        Any option of ``gnomon run SUITE``, with underscores. Runs and stored work go to ``out`` (default ``runs``).
    """
    return perform(suite, "run", options)


def perform(suite: str, verb: str, given: Mapping[str, Any], stream: IO[str] | None = None) -> Result:
    """Do a verb of a suite that ends in scores, and publish its runs where asked; progress goes to ``stream``."""
    from gnomon.engine.job import Job, work
    from gnomon.inference.intervals import Plan
    from gnomon.runs.directory import publish
    from gnomon.runs.provenance import Clock
    from gnomon.runs.run import make

    clock = Clock()
    action = registry.suite(suite).verb(verb)
    options: Any = opt.build(action.options, given)
    handed = action.load()(options)
    missing: dict[str, str] = {}
    if isinstance(handed, Job):
        outcome = work(handed.plan, options, stream=stream)
        evaluations, missing = handed.assemble(outcome), outcome.missing
        if not evaluations:
            raise WorkError(
                f"no cell was done: {some([f'{name}: {why}' for name, why in missing.items()], show=1, sentences=True)}"
            )
    else:
        evaluations = handed
    plan = Plan(options.interval, options.level, options.resamples, options.seed)
    asked = {"asked": {name: _plain(value) for name, value in given.items()}}
    runs = []
    for evaluation in evaluations:
        run = make(evaluation, plan, clock, asked)
        runs.append(run if options.out == "none" else publish(run, options.out))
    return present(runs, missing)


def present(runs: Sequence[Run], missing: Mapping[str, str] | None = None) -> Result:
    """Make the tables of runs, with the paired comparison where there are several."""
    from gnomon.runs.comparison import compare_runs, comparison_table

    suites = {run.suite for run in runs}
    items: list[Table | View] = []
    for name in dict.fromkeys(run.suite for run in runs):
        own = [run for run in runs if run.suite == name]
        tables: list[Table | View] = load_function(registry.suite(name).tables)(own)
        if len(own) > 1 and _same_ground(own):
            tables.insert(1, comparison_table(compare_runs(own), own[0].roster.level))
        items += tables
    return Result(tuple(runs), tuple(items), {"suites": sorted(suites), "missing": dict(missing or {})})


def compare(*runs: Any, measures: Sequence[str] = ()) -> Result:
    """Compare runs (directories, or results in memory) that were scored on the same data.

    The best is compared with every other: difference with interval, and the p-value of the swap test.
    """
    from gnomon.runs.comparison import compare_runs, comparison_table

    loaded = [run for item in runs for run in _runs_of(item)]
    table = comparison_table(compare_runs(loaded, measures), loaded[0].roster.level)
    return Result(tuple(loaded), (table,))


def load(*runs: Any) -> Result:
    """Read runs back (run directories, or folders of runs) and make their tables."""
    loaded = [run for item in runs for run in _runs_of(item)]
    if not loaded:
        raise InputError("no run given: give run directories, or a folder of runs")
    return present(loaded)


def find_runs(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the run directories at or directly under a folder."""
    path = Path(folder)
    if (path / "manifest.json").is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} is neither a run directory nor a folder of runs")
    return sorted(item.parent for item in path.glob("*/manifest.json") if not item.parent.name.startswith("."))


def _runs_of(item: Any) -> list[Run]:
    from gnomon.runs import run as stored

    if isinstance(item, Result):
        return list(item.runs)
    if isinstance(item, stored.Run):
        return [item]
    if isinstance(item, (str, os.PathLike)):
        found = find_runs(item)
        if not found:
            raise InputError(f"no run in {os.fspath(item)}")
        return [stored.load(path) for path in found]
    raise InputError(f"expected a run directory or a result, but got {type(item).__name__}")


def _same_ground(runs: Sequence[Run]) -> bool:
    from gnomon.runs.comparison import comparable

    try:
        comparable(runs)
    except InputError:
        return False
    return True


def _run_record(run: Run) -> dict[str, Any]:
    return {
        "id": run.manifest["id"],
        "suite": run.suite,
        "system": run.system,
        "path": None if run.path is None else os.fspath(run.path),
        "complete": run.complete,
        "coverage": dict(run.coverage),
        "scores": [score.record() for score in run.scores],
        "findings": [finding.record() for finding in run.findings],
        "claims": [verdict.record() for verdict in run.verdicts],
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return f"<{type(value).__name__} in memory>"
