"""The verbs in Python: what the command line calls, and what a notebook uses."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gnomon.core import options as opt
from gnomon.core import registry
from gnomon.core.errors import InputError
from gnomon.core.loading import limit_imports
from gnomon.core.stdout import divert_prints
from gnomon.core.suite import load as load_function
from gnomon.core.table import Table, View
from gnomon.result import Result

if TYPE_CHECKING:
    from gnomon.core.measure import Measure
    from gnomon.runs.comparison import Asked
    from gnomon.runs.run import Evaluation, Run
    from gnomon.runs.verify import Check

PLANNED = "a run with these options"
"""How messages name runs that are not made yet."""


def score(suite: str, truth: Any = None, predictions: Any = None, *, groups: Any = None, **options: Any) -> Result:
    """Score predictions made elsewhere.

    Parameters
    ----------
    suite
        Name of a suite, for example ``labels``.
    truth, predictions
        Paths, tables, or arrays in memory, of any library; several systems as a mapping by name. Arrays without ids are
        aligned by the order of their rows, which the run records.
    groups
        What may be resampled: the name of a column or tag, an array with a value for every row, a mapping by id, or the
        path of a table; the same as the option ``group``.
    options
        Any option of ``gnomon score SUITE``, with underscores. ``out`` is the folder that receives the runs;
        in Python nothing is written unless it is given.

    Raises
    ------
    NothingScoredError
        No case of any system was scored; ``unscored`` of a result names systems of which none was.

    Examples
    --------
    >>> result = score("labels", {"id": [1, 2, 3], "label": ["a", "b", "a"], "group": ["x", "y", "x"]},
    ...                {"id": [1, 2, 3], "label": ["a", "b", "b"]})
    >>> round(result.scores["predictions"]["accuracy"], 3)
    0.667
    >>> result = score("labels", ["a", "b", "a"], {"one": ["a", "b", "b"]}, groups=["x", "y", "x"])
    >>> round(result.scores["one"]["accuracy"], 3)
    0.667
    """
    named = {"truth": truth, "predictions": predictions}
    given = {**_with_groups(groups, options), **{name: value for name, value in named.items() if value is not None}}
    out = "none" if given.get("out") is None else given["out"]
    return perform(suite, "score", {**given, "out": out}).require_scored()


def run(suite: str, *, groups: Any = None, **options: Any) -> Result:
    """Predict with systems and score them; work that is stored already is not done again.

    Parameters
    ----------
    suite
        Name of a suite, for example ``labels``.
    groups
        What is kept together and resampled, where the suite has an option ``group``: the same as that.
    options
        Any option of ``gnomon run SUITE``, with underscores. Runs and stored work go to ``out`` (default ``runs``).

    Raises
    ------
    NothingScoredError
        No case of any system was scored. The runs are written first, and cells that are done are stored.
    """
    return perform(suite, "run", _with_groups(groups, options)).require_scored()


def _with_groups(groups: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with groups as the option ``group``; both at once are refused."""
    if groups is not None and options.get("group") is not None:
        raise InputError("both groups and group are given, which mean the same: give one of them")
    return {**options, **({} if groups is None else {"group": groups})}


@divert_prints()
def perform(suite: str, verb: str, given: Mapping[str, Any], stream: IO[str] | None = None) -> Result:
    """Do a verb of a suite that ends in scores, and publish its runs where asked; progress goes to ``stream``."""
    return present(*runs_of_verb(suite, verb, given, stream))


@divert_prints()
def runs_of_verb(
    suite: str,
    verb: str,
    given: Mapping[str, Any],
    stream: IO[str] | None = None,
    purpose: Callable[[tuple[Measure, ...]], Mapping[str, Any]] | None = None,
) -> tuple[list[Run], dict[str, str]]:
    """Do a verb as :func:`perform` does; return its runs, and the cells that are missing with the reason.

    ``purpose`` is called before the work, with the measures that the runs will have, the chosen ones first (none where
    the suite does not declare them). It may refuse; what it returns (plain data) is recorded with the options of the
    runs.
    """
    from gnomon.core.metric_choice import available, check_metrics, choose, load_metrics
    from gnomon.engine.job import Job, work
    from gnomon.inference.intervals import Plan
    from gnomon.intake import remote, unread
    from gnomon.runs.directory import check_targets, publish, usable
    from gnomon.runs.provenance import Clock
    from gnomon.runs.run import make

    clock = Clock()
    action = registry.suite(suite).verb(verb)
    options: Any = opt.build(action.options, given)
    check_targets(action.options, options)
    if options.out != "none":
        usable(Path(options.out))
    metrics = load_metrics(options.metrics)
    options = remote.resolved(options, stream)
    with remote.named(), unread.collecting() as notes, _scratch(options) as options:
        with limit_imports(getattr(options, "timeout", 0.0)):
            handed = action.load()(options)
        declared = handed.measures if isinstance(handed, Job) else _all_measures(handed)
        check_metrics(metrics, declared, PLANNED)
        recorded = purpose(choose(metrics, declared, PLANNED).metrics if declared else ()) if purpose else {}
        missing: dict[str, str] = {}
        if isinstance(handed, Job):
            outcome = work(handed.plan, options, stream=stream)
            notes.merge(outcome.unread)
            handed, missing = handed.assemble(outcome), outcome.missing
    plan = Plan(options.interval, options.level, options.resamples, options.seed)
    asked = {"asked": {name: opt.plain(value) for name, value in given.items()}, **recorded}
    runs = []
    every = _all_measures(handed)
    for evaluation in handed:
        findings, facts = unread.with_finding(evaluation.findings, evaluation.facts, notes, evaluation.system)
        chosen = available(metrics, evaluation.protocol.measures, every)
        run = _addressed(make(replace(evaluation, findings=findings, facts=facts), plan, clock, asked, chosen))
        runs.append(run if options.out == "none" else publish(run, options.out))
    return runs, remote.recorded(missing)


def _all_measures(evaluations: Sequence[Evaluation]) -> tuple[Measure, ...]:
    """Return the measures of several evaluations, each name once."""
    return tuple({m.name: m for one in evaluations for m in one.protocol.measures}.values())


def _addressed(run: Run) -> Run:
    """Let a run speak of addresses where its data came from some, and not of the copies that were read."""
    from gnomon.intake.remote import recorded

    findings = tuple(replace(finding, **recorded(finding.record())) for finding in run.findings)
    return replace(run, manifest=recorded(run.manifest), coverage=recorded(run.coverage), findings=findings)


@contextlib.contextmanager
def _scratch(options: Any) -> Iterator[Any]:
    """Give work that keeps nothing a store that goes with it."""
    if options.out != "none" or getattr(options, "store", None) != "":
        yield options
        return
    with tempfile.TemporaryDirectory(prefix="gnomon-") as folder:
        yield replace(options, store=folder)


def present(runs: Sequence[Run], missing: Mapping[str, str] | None = None) -> Result:
    """Make the tables of runs: one set for each ground (suite, data, protocol, plan), compared where possible."""
    from gnomon.runs import variants
    from gnomon.runs.grounds import with_audits

    runs = with_audits(distinguished(runs))
    grounds: dict[tuple[str, ...], list[Run]] = {}
    for run in sorted(runs, key=variants.variant):
        grounds.setdefault(run.ground, []).append(run)
    items: list[Table | View] = []
    for index, (ground, own) in enumerate(grounds.items(), start=1):
        tables: list[Table | View] = load_function(registry.suite(own[0].suite).tables)(own)
        if len(own) > 1:
            tables[:1] = _compared(tables[0], own)
        if len(grounds) > 1 and not variants.only(runs):
            where = f" (data {ground[1][:8]}, protocol {ground[2][:8]}, intervals {ground[3][:4]})"
            tables = [replace(item, title=item.title + where) for item in tables]
        if index > 1:
            tables = [replace(item, name=f"{item.name}_{index}") for item in tables]
        items += tables
    both = variants.gap(runs)
    items += [both] if both else []
    extra = {"suites": sorted({run.suite for run in runs}), "missing": dict(missing or {})}
    return Result(tuple(runs), tuple(items), extra)


def distinguished(runs: Sequence[Run]) -> list[Run]:
    """Give runs of one system names that differ: by their variant, where that tells them apart, else by their id."""
    from gnomon.runs import variants

    return variants.name_by_id(variants.told_apart(runs))


def _compared(first: Table | View, runs: Sequence[Run]) -> list[Table | View]:
    """Put the paired comparison behind the first table, or say under it why there is none."""
    from gnomon.runs.comparison import compare_runs, comparison_table, with_best

    try:
        table = comparison_table(compare_runs(runs), runs[0])
        return [with_best(first, runs) if isinstance(first, Table) else first, table]
    except InputError as error:
        return [replace(first, notes=(*first.notes, f"no paired comparison: {error}"))]


@divert_prints()
def compare(
    *runs: Any,
    metrics: Any = (),
    against: str = "",
    all_pairs: bool = False,
    common: bool = False,
    over: str = "",
    ragged: str = "error",
) -> Result:
    """Compare runs that were scored on the same data: the best with every other.

    Parameters
    ----------
    runs
        Run directories, folders of runs, or results in memory; a run that is given twice counts once.
    metrics
        Names of metrics, or your own (:mod:`gnomon.core.metric_choice`); default: the first that the runs show.
    against
        Compare every system with this one instead of the best.
    all_pairs
        Compare every system with every other.
    common
        Where runs lack cases, compare every pair on the cases that all runs scored; default: on those that the two
        scored. The table says which cases are left out.
    over
        ``datasets``: every system on every dataset, with a composite and average ranks. ``seeds``: runs of the same
        systems on the same data with different seeds. Default: one run per system on one dataset.
    ragged
        Over datasets, ``dash``: a system that was not scored on every one has no composite and no rank, and ``-`` where
        it has no score. Default: that is an error.

    Returns
    -------
    Result
        Tables ``comparison`` (difference with interval, p of the swap test, corrected after Holm for all pairs of
        systems where the best is compared) and ``effects`` (what
        single groups say); over datasets ``datasets``, ``comparison``, ``friedman`` and ``ranks``; over seeds
        ``seeds`` and ``comparison``.

    Examples
    --------
    >>> truth = {"id": range(6), "label": list("aabbab"), "group": list("xyzxyz")}
    >>> systems = {"good": {"id": range(6), "label": list("aabbab")}, "poor": {"id": range(6), "label": list("ababab")}}
    >>> found = compare(score("labels", truth, systems), metrics="accuracy")
    >>> row = found.tables["comparison"].rows[0]
    >>> row["a"].value, row["b"].value, round(row["difference"].value, 3), row["p"].value
    ('good', 'poor', 0.333, 0.5)
    """
    from gnomon.runs.comparison import Asked
    from gnomon.runs.run import raise_as_damage

    if ragged not in ("error", "dash") or (ragged == "dash" and over != "datasets"):
        raise InputError(f"ragged: expected error, or dash where datasets are compared over, but got {ragged!r}")
    if over not in ("", "datasets", "seeds"):
        raise InputError(f"over: expected datasets or seeds, but got {over!r}")
    given = [run for item in runs for run in _runs_of(item)]
    with raise_as_damage([run.path for run in given if run.path]):
        given, names = choose_metrics(given, metrics)
        return _compare_loaded(given, Asked(names, against, all_pairs, common, ragged), over)


def _compare_loaded(given: Sequence[Run], asked: Asked, over: str) -> Result:
    from gnomon.runs.alignment import distinct
    from gnomon.runs.comparison import compare_runs, comparison_table
    from gnomon.runs.grounds import with_audits

    loaded = with_audits(distinct(given))
    if over == "datasets":
        from gnomon.runs.datasets import compare_datasets

        return Result(tuple(loaded), tuple(compare_datasets(loaded, asked)))
    if over == "seeds":
        from gnomon.runs.seeds import compare_seeds

        return Result(tuple(loaded), tuple(compare_seeds(loaded, asked)))
    from gnomon.runs.effects import effects_table
    from gnomon.runs.tables import claims, part_of
    from gnomon.runs.variants import name_by_id

    loaded = name_by_id(loaded)
    comparisons = compare_runs(loaded, asked)
    table = comparison_table(comparisons, loaded[0])
    table = replace(table, title=table.title + part_of(loaded[0]), notes=(*table.notes, *claims(loaded)))
    single = [effects_table(comparisons, loaded[0])] if any(item.sides for item in comparisons) else []
    return Result(tuple(loaded), (table, *single))


def audit(*runs: Any, fail_on: str | None = None) -> Result:
    """Check runs for leaks and other faults: each by itself, then those on the same data side by side.

    What a run's stored samples, tallies and scores show is looked for again; see docs/audit.md for the checks.

    Parameters
    ----------
    runs
        Run directories, folders of runs, or results in memory.
    fail_on
        ``warning`` or ``error``: the severity from which on ``extra["audit"]["failed"]`` is true. A run that cannot be
        read, or is not as it was sealed, fails always.

    Returns
    -------
    Result
        Tables ``audit`` (a row per run and per ground), ``findings`` and ``not_made``; ``extra["audit"]`` is what
        ``gnomon audit --json`` prints.

    Examples
    --------
    >>> truth = {"id": range(4), "label": list("abab"), "group": list("xyzx")}
    >>> found = audit(score("labels", truth, {"id": range(4), "label": list("abba")}), fail_on="error")
    >>> found.extra["audit"]["failed"], found.to_pandas("findings").empty
    (False, True)
    """
    from gnomon.runs.audit_tables import tables
    from gnomon.runs.grounds import audit_folders

    if fail_on not in (None, "warning", "error"):
        raise InputError(f"fail_on: expected warning or error, but got {fail_on!r}")
    paths = [item for item in runs if isinstance(item, (str, os.PathLike))]
    folders = [folder for item in paths for folder in find_runs(item)]
    given = [run for item in runs if not isinstance(item, (str, os.PathLike)) for run in _runs_of(item)]
    if not folders and not given:
        raise InputError(f"no run in {', '.join(map(str, paths)) or 'what was given'}")
    on: Any = fail_on
    report = audit_folders(folders, given)
    loaded = tuple(item.runs[0] for item in report.runs)
    return Result(loaded, tables(report), {"audit": report.record(on), "report": report})


def verify(*runs: str | os.PathLike[str]) -> list[Check]:
    """Check that runs agree with themselves: hashes, identities, every score derived again.

    Parameters
    ----------
    runs
        Run directories, or folders of runs.

    Returns
    -------
    list of Check
        What was looked at in one run after the other; ``run`` of each says in which. A run can be trusted when every
        check of it has ``passed``.
    """
    from gnomon.runs.verify import verify as verify_run

    folders = list(dict.fromkeys(path for item in runs for path in find_runs(item)))
    if not folders:
        raise InputError(f"no run in {', '.join(map(str, runs)) or 'what was given'}")
    return [replace(check, run=os.fspath(folder)) for folder in folders for check in verify_run(folder)]


@divert_prints()
def load(*runs: Any, metrics: Any = ()) -> Result:
    """Read runs back (run directories, or folders of runs) and make their tables; ``metrics`` chooses their columns."""
    from gnomon.runs.run import raise_as_damage

    loaded = [run for item in runs for run in _runs_of(item)]
    if not loaded:
        raise InputError("no run given: give run directories, or a folder of runs")
    with raise_as_damage([run.path for run in loaded if run.path]):
        return present(choose_metrics(loaded, metrics)[0])


def choose_metrics(runs: Sequence[Run], metrics: Any) -> tuple[list[Run], tuple[str, ...]]:
    """Choose the metrics of runs; return them, and the names of what was chosen."""
    from gnomon.core.metric_choice import available, load_metrics
    from gnomon.runs.run import metrics_of, with_metrics

    asked = load_metrics(metrics)
    if not asked:
        return list(runs), ()
    known = [metrics_of(run, asked) for run in runs]
    every = tuple({metric.name: metric for own in known for metric in own}.values())
    found = [with_metrics(run, available(asked, own, every)) for run, own in zip(runs, known, strict=True)]
    return found, tuple(dict.fromkeys(name for run in found for name in run.chosen))


def find_runs(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the run directories at or directly under a folder."""
    path = Path(folder)
    if any((path / mark).is_file() for mark in ("manifest.json", "seal.sha256")):
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} is neither a run directory nor a folder of runs")
    marks = ("manifest.json", "seal.sha256", "scores.json")
    return sorted(
        folder
        for folder in path.iterdir()
        if folder.name[0] != "." and any((folder / mark).is_file() for mark in marks)
    )


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
