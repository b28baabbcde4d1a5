"""Which runs may be compared, and on which cases: one ground, one candidate pool, the same cases in one order.

Runs are aligned by case id, on the cases that all of them scored. Of cases whose rows may be scored in part, only those
count as common that every run scored in full, unless all runs scored the very same rows. What is left out is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array
from gnomon.inference.scoring import score
from gnomon.intake.columnar import read_parquet, read_schema
from gnomon.intake.limits import RUN
from gnomon.runs.content import column_digest
from gnomon.runs.run import INPUTS, Run
from gnomon.runs.tables import partial

POOL = "pool_fingerprint"
"""The fact under which a suite records the candidate pool that it ranked against."""
ROWS, WINDOWS = "rows", "windows"
"""Under which suites whose cases have many rows say in the coverage how many of them were scored."""
CASES = ("cases", "scenes")
"""Under which suites say in the coverage how many cases there are, and which were not scored."""
GROUND = (("suite", "suites"), ("data_fingerprint", "data"), ("protocol_fingerprint", "protocols"))


SAMPLES = "samples"
"""Under which suites that drop samples of a case say in the coverage how many are ``valid``."""
LACKING = "lacking"
"""Under which suites say in the coverage how many rows of which cases were not scored: counts by case id."""
LEFT_OUT = "left_out"
"""Under which suites say in the coverage which rows or samples of cases were not scored: fingerprints by case id."""


class NothingCommonError(InputError):
    """Runs of one ground that have no case in common, or of which that cannot be told."""


@dataclass(frozen=True)
class Aligned:
    """Runs over the same cases in the same order; ``scope`` and ``notes`` say which, where they are not all."""

    runs: tuple[Run, ...]
    scope: str = ""
    notes: tuple[str, ...] = ()


def distinct(runs: Sequence[Run]) -> list[Run]:
    """Return runs without those that are given again: the same id is the same work."""
    return list({str(run.manifest["id"]): run for run in reversed(runs)}.values())[::-1]


def have_same_coverage(runs: Sequence[Run]) -> bool:
    """Say whether runs were scored on the same cases, and on the same rows or samples of them."""
    if len({frozenset(run.roster.ids) for run in runs}) > 1 or find_differing_cases(runs):
        return False
    return len({count_scored(run) for run in runs}) < 2


def find_differing_cases(runs: Sequence[Run]) -> list[str]:
    """Return the cases of which runs left out different rows or samples, where they record which."""
    left_out = [run.coverage.get(LEFT_OUT, {}) for run in runs]
    cases = dict.fromkeys(case for own in left_out for case in own)
    return [case for case in cases if len({own.get(case) for own in left_out}) > 1]


def fingerprint_left_out(names: pa.Array, case: Array, ids: Sequence[str]) -> dict[str, str]:
    """Return, by case id, the fingerprint of the names of the rows of each case: those that were not scored.

    Parameters
    ----------
    names
        The names of the rows, ``(n,)``.
    case
        Place of the case of every row in ``ids``, ``(n,)``.
    """
    order = np.argsort(case, kind="stable")
    names, places = names.take(pa.array(order)), case[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    sizes = np.diff(starts, append=len(places))
    return {
        ids[places[start]]: column_digest(names.slice(start, size))
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    }


def merge_left_out(shards: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return, by case id, one fingerprint of the rows that shards, given by name, left out of each case.

    A file is one shard without a name: its fingerprints are those of the rows.
    """
    if list(shards) == [""]:
        return dict(shards[""])
    found: dict[str, list[list[str]]] = {}
    for shard, own in shards.items():
        for case, content in own.items():
            found.setdefault(case, []).append([shard, content])
    return {case: fingerprint(parts) for case, parts in found.items()}


def count_scored(run: Run) -> str:
    """Say how many rows, windows or samples of its cases a run was scored on, where it counts them."""
    for unit, key in ((ROWS, "scored"), (WINDOWS, "scored"), (SAMPLES, "valid")):
        counts: Any = run.coverage.get(unit)
        if counts and key in counts:
            return f"{counts[key]} {unit}"
    return ""


def align(runs: Sequence[Run], *, seeds: bool = False) -> Aligned:
    """Return runs over the cases that all of them scored; ``seeds`` lets the seed differ.

    Raises :class:`NothingCommonError` where they have no case in common, or where that cannot be told.
    """
    comparable(runs, seeds=seeds)
    first = runs[0]
    ids = set(first.roster.ids)
    fewer = _find_dropped(runs)
    if all(run.complete and set(run.roster.ids) == ids for run in runs) and not any(fewer):
        taken = [_take(run, first.roster.ids) for run in runs]
        _grouped_alike(taken)
        return Aligned(tuple(taken))
    shared, doubt = _common(runs)
    shared = tuple(case for case in shared if not any(case in own for own in fewer))
    if doubt or not shared:
        names = " and ".join(run.system for run in runs) if len(runs) == 2 else "all of them"
        raise NothingCommonError(doubt or f"no case was scored in full by {names}")
    taken = [_headlined(_take(run, shared)) for run in runs]
    _grouped_alike(taken)
    scope = _scope(runs, len(shared))
    return Aligned(tuple(taken), scope, (f"compared {scope}{_left_out(runs, fewer)}",))


def comparable(runs: Sequence[Run], *, seeds: bool = False) -> None:
    """Refuse runs of different suites, data, protocols, candidate pools or interval plans."""
    first = runs[0]
    for run in runs[1:]:
        both = f"{first.system} and {run.system}"
        for key, what in GROUND:
            if run.manifest[key] != first.manifest[key]:
                hint = ", or compare with --over datasets" if what == "data" else ""
                hint += _protocols_differ(first, run) if what == "protocols" else ""
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


def _protocols_differ(first: Run, other: Run) -> str:
    """Say in which parts the protocols of two runs differ, and which metrics one of them lacks."""
    ours, theirs = first.manifest["protocol"], other.manifest["protocol"]
    parts = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    text = f"; they differ in {', '.join(parts)}"
    for one, rest in ((first, other), (other, first)):
        names = {measure.name for measure in rest.measures}
        lacking = [measure.name for measure in one.measures if measure.name not in names]
        text += f"; only {one.system} has {some(lacking, show=3)}" if lacking else ""
    return text


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
    if _same_rows(runs):
        return shared, ""
    if all(run.complete or LACKING in run.coverage for run in runs):
        lacking = {case for run in runs for case in run.coverage.get(LACKING, ())}
        return tuple(case for case in shared if case not in lacking), ""
    rows = [found for run in runs if (found := _rows(run)) is not None]
    if len(rows) < len(runs):
        return shared, ""
    full = {
        case: tuple(map(max, *(found.get(case, own) for found in rows), own))
        for one in rows
        for case, own in one.items()
    }
    if not (any(run.complete for run in runs) or _whole(runs, full)):
        return shared, _doubt(runs)
    return tuple(case for case in shared if all(found[case] == full[case] for found in rows)), ""


def _find_dropped(runs: Sequence[Run]) -> list[set[str]]:
    """Return, for every run, the cases of which it dropped samples, where the runs did not all drop the same."""
    if not all(SAMPLES in run.coverage for run in runs):
        return [set() for _ in runs]
    differing = find_differing_cases(runs)
    return [{case for case in differing if case in run.coverage.get(LEFT_OUT, {})} for run in runs]


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
    first, *others = (_fingerprint_ids(run) for run in runs)
    return first is not None and all(found == first for found in others)


def _fingerprint_ids(run: Run) -> str | None:
    """Return the fingerprint of the distinct ids of a run's predictions, in order; None where they have no ids."""
    path = None if run.path is None else run.path / "predictions.parquet"
    if run.table is not None:
        ids = run.table["id"] if "id" in run.table.column_names else None
    elif path is None or not path.is_file() or "id" not in read_schema(path, RUN.raised())[0].names:
        ids = None
    else:
        ids = read_parquet(path, columns=["id"], limits=RUN.raised())["id"]
    if ids is None:
        return None
    distinct_ids = ids.unique()
    return column_digest(distinct_ids.take(pc.sort_indices(distinct_ids)))


def _scope(runs: Sequence[Run], count: int) -> str:
    """Say how many cases are common to all runs, of how many there are or were scored by any."""
    stated = [int(n) for run in runs if (n := _stated(run)) is not None]
    seen = {case for run in runs for case in (*run.roster.ids, *run.coverage.get(LACKING, ()))}
    known = [*stated, *(len(run.roster) for run in runs if run.complete or LACKING in run.coverage)]
    if known:
        return f"on {count} of {max(*known, len(seen))} cases"
    return f"on {count} of the {len(seen)} cases that any of them scored"


def _stated(run: Run) -> int | None:
    """Return how many cases the truth has, where the coverage says so."""
    counts = next((found for name in CASES if isinstance(found := run.coverage.get(name), Mapping)), {})
    return counts.get("truth")


def _left_out(runs: Sequence[Run], fewer: Sequence[Collection[str]]) -> str:
    """Say which cases were not scored by which runs, with their number; where no case is named, what each run lacks."""
    every = {case for run in runs for case in run.roster.ids}
    by_case: dict[str, list[str]] = {}
    unnamed = []
    for run, cut in zip(runs, fewer, strict=True):
        missing = [*_missing(run, every), *sorted(cut)]
        for case in missing:
            by_case.setdefault(case, []).append(run.system)
        if not missing and not run.complete:
            unnamed.append(f"{run.system} is {partial(run)}")
    held = {case for run in runs for case in run.coverage.get(LACKING, ()) if case in run.roster.ids}
    held |= {case for cut in fewer for case in cut}
    groups: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for case, systems in by_case.items():
        groups.setdefault((tuple(systems), case in held), []).append(case)
    said = [
        f"{some(cases, show=3)} {'was' if len(cases) == 1 else 'were'} not scored{' in full' * cut} by "
        f"{', '.join(systems)}"
        for (systems, cut), cases in groups.items()
    ]
    return ": " + "; ".join([*said, *unnamed]) if said or unnamed else ""


def _missing(run: Run, every: Collection[str]) -> list[str]:
    """Return the cases that a run did not score, or not in full: those it names, else those that others scored."""
    for name in CASES:
        counts = run.coverage.get(name)
        listed = counts.get("missing") if isinstance(counts, Mapping) else None
        if isinstance(listed, list) and listed:
            return [str(case) for case in listed]
    own = set(run.roster.ids)
    lacking = run.coverage.get(LACKING, {})
    return [*lacking, *sorted(case for case in every if case not in own and case not in lacking)]


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
    headline = run.computable[0]
    return replace(run, scores=(score(headline, run.groups(headline)),))
