"""What the verbs return in Python: runs with their tables, which print, show in a notebook, and become frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.core.errors import InputError, MissingExtraError, instead
from gnomon.core.table import Table, View
from gnomon.report import render

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from gnomon.report.figures.single import Figure
    from gnomon.runs.run import Run


@dataclass(frozen=True)
class Result:
    """Runs with their tables: prints as a table, shows as HTML with a figure in a notebook, gives frames.

    Examples
    --------
    >>> import gnomon
    >>> result = gnomon.score("labels", list("abab"), {"A": list("abaa"), "B": list("bbaa")}, groups=list("xyzx"))
    >>> result["A", "accuracy"], result["B", "macro F1"]
    (0.75, 0.5)
    >>> print(result.to_markdown("per_class").splitlines()[0])
    **labels: F1 by class**
    >>> result.plot().name
    'intervals_1'
    """

    runs: tuple[Run, ...]
    items: tuple[Table | View, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self.items, "terminal").rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the tables, then the leading figure where the first table is one of scores."""
        shown = render(self.items, "html")
        drawn = self._leading_view() if self.items and self.items[0].name == "scores" else None
        return f"{shown}\n{_figure(drawn)._repr_html_()}" if drawn else shown

    def __getitem__(self, key: tuple[str, str]) -> float | None:
        """Return the score of a system on the whole, ``result["A", "macro_f1"]``; ``None`` where it is undefined.

        A metric is named as it is stored or as tables print it.
        """
        from gnomon.core.measure import find_measure

        if not isinstance(key, tuple) or len(key) != 2 or not all(isinstance(part, str) for part in key):
            raise InputError(f"expected result[system, metric], such as result['A', 'macro_f1'], but got {key!r:.80}")
        system, metric = key
        run = next((run for run in self.runs if run.system == system), None)
        if run is None:
            raise InputError(f"no system {system!r}: {instead(system, [run.system for run in self.runs])}")
        score = run.find(find_measure(run.measures, metric, f"the run of {system!r}").name)
        return None if score is None else score.value

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for was done."""
        return not self.extra.get("missing") and all(run.complete for run in self.runs)

    @property
    def lost(self) -> dict[str, str]:
        """What is missing and is in no run at all, with the reason."""
        told = {cell["cell"] for run in self.runs for cell in run.coverage.get("cells", {}).get("missing", ())}
        return {name: why for name, why in self.extra.get("missing", {}).items() if name not in told}

    @property
    def unscored(self) -> dict[str, str]:
        """Systems of which no case was scored, with the reason."""
        from gnomon.runs.unscored import find_unscored

        return find_unscored(self.runs)

    def require_scored(self) -> Result:
        """Return this result, or raise ``NothingScoredError`` where no case of any system was scored."""
        from gnomon.runs.unscored import require_scored

        require_scored(self.runs)
        return self

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

    def to_pandas(self, table: str = "") -> pd.DataFrame:
        """Return one table (default: the first) as a pandas data frame; ``x_low`` and ``x_high`` stand beside ``x``."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError(
                "to_pandas() needs pandas, which is not installed: pip install 'gnomon[frames]', or use to_arrow()"
            ) from error
        return pd.DataFrame.from_records(self._table(table).flat())

    def to_polars(self, table: str = "") -> pl.DataFrame:
        """Return one table (default: the first) as a polars data frame, with the columns of :meth:`to_pandas`."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError(
                "to_polars() needs polars, which is not installed: pip install polars, or use to_arrow()"
            ) from error
        return pl.DataFrame(self._table(table).flat(), infer_schema_length=None)

    def to_markdown(self, table: str = "") -> str:
        """Return everything, or one table, as Markdown."""
        return render((self._table(table),) if table else self.items, "markdown")

    def to_latex(self, table: str = "") -> str:
        """Return everything, or one table, as LaTeX."""
        return render((self._table(table),) if table else self.items, "latex")

    def to(self, format: str, ragged: str = "error") -> str:
        """Return everything as text: terminal, json, csv, markdown, latex or html; ``ragged`` may be ``dash``."""
        return render(self.items, format, ragged)

    def plot(self, table: str = "") -> Figure:
        """Return a figure, which shows in a notebook and has ``save("figure.svg")``, also as PNG and PDF.

        Parameters
        ----------
        table
            Name of a figure, or of a table that a figure shows. Default: the leading metric of every system with its
            interval. A wrong name is refused with a list of those that there are.
        """
        drawn = self._view(table) if table else self._leading_view()
        if drawn is None:
            raise InputError("nothing to plot: no system has a score")
        return _figure(drawn)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the runs into a folder of runs, as the option ``out`` does, and return their directories.

        Runs that are stored already are copied.
        """
        from gnomon.runs.directory import publish
        from gnomon.runs.grounds import without_comparison

        target = Path(folder)
        return [target / str(publish(run, target).manifest["id"]) for run in without_comparison(self.runs)]

    def record(self) -> dict[str, Any]:
        """Return everything as plain data, as ``--json`` prints it."""
        return {
            **self.extra,
            "runs": [run.record() for run in self.runs],
            "tables": [item.record() for item in self.items if isinstance(item, Table)],
            "views": [item.record() for item in self.items if isinstance(item, View)],
        }

    def _table(self, name: str) -> Table:
        tables = self.tables
        if not tables:
            raise InputError("this result has no table")
        if name and name not in tables:
            raise InputError(f"no table {name!r}: {instead(name, tables)}")
        return tables[name] if name else next(iter(tables.values()))

    def _leading_view(self) -> View | None:
        """Return the figure of the leading metric; None where no system has a score."""
        from gnomon.report.sections import grounds
        from gnomon.runs import pictures

        scored = (views[0] for own in grounds(self.runs) if (views := pictures.intervals(own)))
        return next(scored, None)

    def _view(self, name: str) -> View:
        """Return the figure of this name, or the first one beside the table of this name."""
        from gnomon.report.figures import drawable
        from gnomon.report.sections import sections

        found: dict[str, View] = {}
        beside: dict[str, View] = {}
        for section in sections(self, "dash"):
            views = [item for item in section.items if isinstance(item, View) and drawable(item)]
            found |= {view.name: view for view in views}
            beside |= {item.name: views[0] for item in section.items if isinstance(item, Table) and views}
        if name not in found and name not in beside:
            raise InputError(f"no figure {name!r}: {instead(name, [*found, *beside])}")
        return found[name] if name in found else beside[name]


def _figure(view: View) -> Figure:
    from gnomon.report.figures.single import Figure  # drawing is loaded when it is asked for

    return Figure(view)
