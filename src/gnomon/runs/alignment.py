"""Which runs may be compared, and on which cases: one ground, one candidate pool, the same cases in one order.

Runs are aligned by case id. A run that lacks cases is refused, unless it is asked to compare on the cases that all
runs scored; of cases whose rows may be scored in part, only those count as common that every run scored in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.parquet as pq

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array
from gnomon.inference.scoring import score
from gnomon.runs.run import INPUTS, Run
from gnomon.runs.tables import partial

POOL = "pool_fingerprint"
"""The fact under which a suite records the candidate pool that it ranked against."""
ROWS, WINDOWS = "rows", "windows"
"""Under which suites whose cases have many rows say in the coverage how many of them were scored."""
GROUND = (("suite", "suites"), ("data_fingerprint", "data"), ("protocol_fingerprint", "protocols"))


@dataclass(frozen=True)
class Aligned:
    """Runs over the same cases in the same order; ``scope`` says which, where they are not all."""

    runs: tuple[Run, ...]
    scope: str = ""
    notes: tuple[str, ...] = ()


def distinct(runs: Sequence[Run]) -> list[Run]:
    """Return runs without those that are given again: the same id is the same work."""
    return list({str(run.manifest["id"]): run for run in reversed(runs)}.values())[::-1]


def align(runs: Sequence[Run], *, common: bool = False, seeds: bool = False) -> Aligned:
    """Return runs over the same cases; ``common`` leaves out what some lack, ``seeds`` lets the seed differ."""
    comparable(runs, seeds=seeds)
    first = runs[0]
    ids = set(first.roster.ids)
    why = next((f"{run.system} is {partial(run)}" for run in runs if not run.complete), "")
    other = next((run for run in runs if set(run.roster.ids) != ids), None)
    if other is not None:
        why = why or f"{first.system} and {other.system} do not hold the same cases"
    if not why:
        taken = [_take(run, first.roster.ids) for run in runs]
        _grouped_alike(taken)
        return Aligned(tuple(taken))
    shared, doubt = _common(runs)
    doubt = doubt or ("" if shared else "no case was scored in full by all of them")
    scope = _scope(runs, len(shared))
    if not common:
        hint = doubt or f"--common (in Python: common=True) compares {scope}"
        raise InputError(f"{why}: complete the runs before comparing; {hint}")
    if doubt:
        raise InputError(f"{why}; {doubt}")
    taken = [_headlined(_take(run, shared)) for run in runs]
    _grouped_alike(taken)
    return Aligned(tuple(taken), scope, tuple(f"{run.system}: {partial(run)}" for run in runs if not run.complete))


def comparable(runs: Sequence[Run], *, seeds: bool = False) -> None:
    """Refuse runs of different suites, data, protocols, candidate pools or interval plans."""
    first = runs[0]
    for run in runs[1:]:
        both = f"{first.system} and {run.system}"
        for key, what in GROUND:
            if run.manifest[key] != first.manifest[key]:
                hint = ", or compare with --over datasets" if what == "data" else ""
                raise InputError(
                    f"{both} were scored on different {what} "
                    f"({str(first.manifest[key])[:12]} and {str(run.manifest[key])[:12]}): score both on the same{hint}"
                )
        ours, theirs = (one.manifest["facts"].get(POOL) for one in (first, run))
        if ours != theirs:
            raise InputError(
                f"{both} were ranked against different candidate pools "
                f"({str(ours or 'none')[:12]} and {str(theirs or 'none')[:12]}): score both against the same"
            )
        ours, theirs = (one.manifest["facts"].get(INPUTS) for one in (first, run))
        if ours and theirs and ours != theirs:
            raise InputError(
                f"{both} were given different inputs for the same truth ({ours[:12]} and {theirs[:12]}): run both on "
                "the same files"
            )
        same_plan(first, run, seeds=seeds)


def same_plan(first: Run, run: Run, *, seeds: bool = False) -> None:
    """Refuse runs of different interval plans; ``seeds`` lets their seed differ."""
    if run.plan == first.plan:
        return
    both = f"{first.system} and {run.system} were scored with different"
    if run.plan != replace(first.plan, seed=run.plan.seed):
        raise InputError(f"{both} interval plans ({first.plan} and {run.plan}): score both with the same options")
    if not seeds:
        known = f"{first.plan.seed} and {run.plan.seed}"
        raise InputError(f"{both} seeds ({known}): score both with the same, or compare with --over seeds")


def _grouped_alike(runs: Sequence[Run]) -> None:
    for run in runs[1:]:
        if run.roster.groups != runs[0].roster.groups:
            raise InputError(f"{runs[0].system} and {run.system} group their cases differently")


def _common(runs: Sequence[Run]) -> tuple[tuple[str, ...], str]:
    """Return the cases that every run scored in full, and why that cannot be told."""
    held = set.intersection(*(set(run.roster.ids) for run in runs))
    shared = tuple(case for case in runs[0].roster.ids if case in held)
    rows = [found for run in runs if (found := _rows(run)) is not None]
    if len(rows) < len(runs):
        return shared, ""
    full = {
        case: tuple(map(max, *(found.get(case, own) for found in rows), own))
        for one in rows
        for case, own in one.items()
    }
    if not (any(run.complete for run in runs) or _whole(runs, full) or _same_rows(runs)):
        return shared, _doubt(runs)
    return tuple(case for case in shared if all(found[case] == full[case] for found in rows)), ""


def _whole(runs: Sequence[Run], full: Mapping[str, tuple[int, ...]]) -> bool:
    """Say whether what all runs have of every case is all of it.

    Cells are of whole cases, unless they are shards: rows of one case may be in several of them.
    """
    if all(run.complete or ("cells" in run.coverage and "shards" not in run.coverage) for run in runs):
        return True
    counts = runs[0].coverage.get(ROWS)
    return counts is not None and sum(own[0] for own in full.values()) == counts["truth"]


def _doubt(runs: Sequence[Run]) -> str:
    remedy = "score again without these rows, or with --missing wrong"
    if any("shards" in run.coverage for run in runs):
        remedy = "complete one of them"
    return (
        "it cannot be told which cases all runs scored in full, since some rows of the truth have no prediction "
        f"in any of them: {remedy}"
    )


def _rows(run: Run) -> Mapping[str, tuple[int, ...]] | None:
    """Return how many rows of each case were scored, by family of tallies, where the run counts rows."""
    if not any(name in run.coverage for name in (ROWS, WINDOWS)):
        return None
    found = [part.fields.get("n") for _, part in sorted(run.tallies.items())]
    counts = [own for own in found if own is not None and own.ndim == 1]
    if ROWS in run.coverage:  # some tallies add up to them
        counts = [own for own in counts if int(own.sum()) == run.coverage[ROWS]["scored"]][:1]
    return (
        dict(zip(run.roster.ids, zip(*(own.tolist() for own in counts), strict=True), strict=True)) if counts else None
    )


def _same_rows(runs: Sequence[Run]) -> bool:
    """Say whether the stored predictions of all runs are of the same ids."""
    first, *others = (_ids(run) for run in runs)
    return first is not None and all(found == first for found in others)


def _ids(run: Run) -> frozenset[str] | None:
    if run.table is not None:
        return frozenset(run.table["id"].to_pylist()) if "id" in run.table.column_names else None
    path = None if run.path is None else run.path / "predictions.parquet"
    if path is None or not path.is_file() or "id" not in pq.read_schema(path).names:
        return None
    return frozenset(pq.read_table(path, columns=["id"])["id"].to_pylist())


def _scope(runs: Sequence[Run], count: int) -> str:
    """Say how many cases are common to all runs, of how many there are or were scored by any."""
    stated = [int(cases["truth"]) for run in runs if isinstance(cases := run.coverage.get("cases"), Mapping)]
    known = [*stated, *(len(run.roster) for run in runs if run.complete)]
    seen = len({case for run in runs for case in run.roster.ids})
    if known:
        return f"on {count} of {max(*known, seen)} cases that all runs scored"
    return f"on {count} cases that all runs scored, of {seen} that any did"


def _take(run: Run, ids: Sequence[str]) -> Run:
    """Return a run with some of its cases, in the order given."""
    if run.roster.ids == tuple(ids):
        return run
    place = {case: index for index, case in enumerate(run.roster.ids)}
    index = np.array([place[case] for case in ids], dtype=np.int64)
    code = np.full(len(run.roster), -1, dtype=np.int64)
    code[index] = np.arange(len(index))
    return replace(
        run,
        roster=run.roster.take(index),
        tallies={name: part.take(index) for name, part in run.tallies.items()},
        ledgers={name: _recoded(ledger, code) for name, ledger in run.ledgers.items()},
    )


def _recoded(ledger: Ledger, code: Array) -> Ledger:
    rows = code[ledger.case] >= 0
    columns = {name: column[rows] for name, column in ledger.columns.items()}
    return Ledger(code[ledger.case[rows]], columns, ledger.labels)


def _headlined(run: Run) -> Run:
    """Return a run with no score but the headline of the cases that it has left: it decides the order of systems."""
    headline = run.measures[0]
    return replace(run, scores=(score(headline, run.groups(headline)),))
