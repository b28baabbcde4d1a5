"""What ``gnomon data`` shows of ``har``: the known datasets, what is in a folder, one dataset in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.core.errors import InputError, counted, some
from gnomon.core.suite import Listing
from gnomon.core.table import Cell, Column, Kind, Table
from gnomon.intake.faults import shown
from gnomon.suites.har.datasets import (
    REGISTRY,
    VARIANTS,
    Dataset,
    Found,
    Place,
    Report,
    TableDataset,
    found,
    said_skipped,
)
from gnomon.suites.har.datasets.base import MOST_TOLD
from gnomon.suites.har.datasets.tables import load as load_tables
from gnomon.suites.har.marks import simulated
from gnomon.suites.har.recordings import CHANNELS, Manifest

COUNTS = {"files": "files", "subjects": "people", "recordings": "recordings", "windows": "windows"}
"""What is counted of a dataset, and how its column is headed."""


def catalogue(verb: str, argument: str = "", *, variant: str = "strict", data_root: str = "") -> Listing | None:
    """Answer ``list``, ``check`` of a folder, or ``describe`` of a name or manifest; None for an unknown name.

    Parameters
    ----------
    verb, argument
        What is asked.
    variant
        As which one ``check`` reads, ``published`` or ``strict``.
    data_root
        Where ``describe`` looks for own datasets too.
    """
    if verb == "list":
        return Listing((listed(),))
    if verb == "check":
        return checked(argument, variant)
    if argument in REGISTRY:
        return Listing(described(REGISTRY[argument]))
    if argument.endswith(".toml"):
        return Listing(described(load_tables(argument)))
    there = found(data_root) if data_root else {}
    return Listing(described(there[argument][0])) if argument in there else None


def listed() -> Table:
    """Return the known datasets."""
    columns = (
        Column("dataset", "dataset"),
        Column("role", "role"),
        Column("hz", "Hz", "number", digits=0),
        Column("subjects", "subjects", "count"),
        Column("labels", "labels", "count"),
        Column("placement", "placement"),
        Column("verified", "loader verified on"),
    )
    rows = [
        {
            "dataset": Cell(one.name),
            "role": Cell(one.role),
            "hz": Cell(one.text_hz),
            "subjects": Cell(dataset.cohort.people),
            "labels": Cell(len(set(one.labels.values()))),
            "placement": Cell(one.placement),
            "verified": Cell(one.verified),
        }
        for dataset, one in ((dataset, dataset.manifest) for dataset in REGISTRY.values())
    ]
    notes = (
        "gnomon data describe NAME says where to obtain one, under which licence, and how its files are called",
        "gnomon data check DIR reads what is in a folder; archives need not be unpacked",
        "own tables with a TOML manifest in DIR are datasets too",
    )
    return Table("datasets", "datasets that har reads in their original files", columns, tuple(rows), notes)


def checked(folder: str, variant: str = "strict") -> Listing:
    """Read every dataset in a folder; those that are not there are listed with where to obtain them."""
    if variant not in VARIANTS:
        raise InputError(f"variant {variant!r}, expected one of {', '.join(VARIANTS)}")
    there = found(folder)
    reports = {name: _check(name, there, variant) for name in there.usable}
    notes = [f"{name}: {text}" for name, report in reports.items() for text in _told(folder, report, there[name][1])]
    notes += [f"{name}: {text}" for name, texts in there.strays.items() for text in texts]
    notes += [f"{name}: error: {why}" for name, why in there.faults.items()]
    notes += there.notes
    marked = [name for name in reports if simulated(there[name][1][0].path, there[name][1][0].inside, name)]
    notes += [f"simulated data, no recordings of people: {', '.join(marked)}"] if marked else []
    notes += ["rest: median length of the acceleration of people at rest, in m/s^2"] if reports else []
    if variant == "published" and any(REGISTRY[name].manifest.role != "train" for name in reports if name in REGISTRY):
        notes.append("windows are counted as cut once; a published run pre-cuts those of test sets, which makes more")
    absent = [dataset.manifest for name, dataset in REGISTRY.items() if name not in there]
    tables = [_found_table(folder, variant, reports, there.faults, notes)] if there else []
    tables += [_absent_table(folder, absent, bool(there))] if absent else []
    bad = sum(report.state in ("unusable", "doubtful") or bool(report.broken) for report in reports.values())
    bad += len(there.faults)
    return Listing(tuple(tables), bad or int(not there))


def _check(name: str, there: Found, variant: str) -> Report:
    dataset, places = there[name]
    if isinstance(dataset, TableDataset):
        return dataset.check(places[0], variant)
    return dataset.check(places[0], variant, there.skipped.get(name, ()))


def _found_table(
    folder: str, variant: str, reports: Mapping[str, Report], faults: Mapping[str, str], notes: Sequence[str]
) -> Table:
    columns = (
        Column("dataset", "dataset"),
        Column("state", "state"),
        *(Column(key, title, "count") for key, title in COUNTS.items()),
        Column("hz", "Hz", "number", digits=2),
        Column("rest", "rest", "number", digits=2),
    )
    rows = [_row(name, one.state, one) for name, one in reports.items()]
    rows += [_row(name, "unusable") for name in faults]
    return Table("found", f"datasets in {folder}, as {variant} reads them", columns, tuple(rows), tuple(notes))


def _row(name: str, state: str, one: Report | None = None) -> dict[str, Cell]:
    """Return a row; where nothing was read, numbers are undefined, and the notes say why."""
    counts = (one.files, len(one.subjects), one.recordings, one.windows) if one else (0, 0, 0, 0)
    row = {"dataset": Cell(name), "state": Cell(state)}
    row |= {key: Cell(count) for key, count in zip(COUNTS, counts, strict=True)}
    if one is None or one.rates_hz is None:
        return row | {"hz": Cell(None), "rest": Cell(None)}
    rest = Cell(None, why="no rest") if one.resting_ms2 is None else Cell(one.resting_ms2)
    return row | {"hz": Cell(one.rates_hz[1]), "rest": rest}


def _below(folder: str, where: str) -> str:
    """Return a place as it is called from the folder on."""
    return where.removeprefix(shown(folder).rstrip("/")).lstrip("/") or "."


def _absent_table(folder: str, absent: Sequence[Manifest], others: bool) -> Table:
    columns = (Column("dataset", "dataset"), Column("title", "title"), Column("obtain", "obtain"))
    rows = tuple({"dataset": Cell(one.name), "title": Cell(one.title), "obtain": Cell(one.source)} for one in absent)
    title = f"absent from {folder}" if others else f"{folder}: none of the datasets is here"
    notes = ["gnomon data describe NAME says how its files are called; archives need not be unpacked"]
    notes += [] if others else ["an own table needs a TOML manifest in the folder or one level below"]
    return Table("absent", title, columns, rows, tuple(notes))


def _told(folder: str, report: Report, places: Sequence[Place]) -> list[str]:
    told = [f"read from {_below(folder, report.where)}"]
    if report.error:
        told += [f"error: {report.error}", "reading stopped there; counts are of what was read before"]
    elif not report.recordings:
        told.append("error: no recording can be used")
    told += [f"not here: {text}" for text in report.missing]
    if report.broken:
        told.append(f"left out, cannot be read: {some(report.broken, show=MOST_TOLD, sentences=True)}")
    if report.unused:
        told.append(f"nothing could be used of {counted(len(report.unused), 'subject')}: {some(report.unused)}")
    if report.skipped:
        told.append(said_skipped(report.dataset, report.skipped))
    told += [f"doubtful: {text}" for text in report.doubts]
    told += list(report.odd)
    return told + [f"also in {place}, which is not used" for place in places[1:]]


def described(dataset: Dataset | TableDataset) -> tuple[Table, ...]:
    """Return everything that is known of a dataset beforehand."""
    one = dataset.manifest
    facts = {
        "title": one.title,
        "role": one.role,
        "stated rate": f"{one.text_hz:g} Hz",
        "placement": one.placement,
        "subjects": _subjects(dataset),
        "gravity": ", ".join(f"{variant}: {state}" for variant, state in one.gravity.items()),
        "shorter than a window": "left out" if one.short == "drop" else "filled up and masked",
        "patches in training": " to ".join(f"{value:g} s" for value in one.patch_s[:2]) + f" by {one.patch_s[2]:g} s",
        **({"loader verified on": one.verified} if isinstance(dataset, Dataset) else {}),
        "licence": one.licence,
        "cite": one.citation,
        "obtain": one.source,
        "files": _files(dataset),
    }
    table = _pairs(one.name, one.title, ("what", "value"), list(facts.items()), one.notes)
    channels = _pairs(
        "channels",
        f"channels of {one.name}",
        ("channel", "text"),
        [(name, text or "absent: zeros, masked") for name, text in zip(CHANNELS, one.channels, strict=True)],
    )
    codes = list(one.labels.items()) or [("any", "as written in the column")]
    labels = _pairs("labels", f"labels of {one.name}", ("code", "label"), codes)
    return table, channels, labels


def _subjects(dataset: Dataset | TableDataset) -> str:
    names = dataset.manifest.subjects
    if not names or isinstance(dataset, TableDataset):
        return "those in the table"
    return f"{dataset.cohort.people}: {names[0]} to {names[-1]}"


def _files(dataset: Dataset | TableDataset) -> str:
    if isinstance(dataset, TableDataset):
        return ", ".join(Path(name).name for name in dataset.files())
    return dataset.layout


def _pairs(
    name: str, title: str, headings: tuple[str, str], rows: Sequence[tuple[str, str]], notes: tuple[str, ...] = ()
) -> Table:
    kind: Kind = "text"
    cells = tuple({h: Cell(value) for h, value in zip(headings, row, strict=True)} for row in rows)
    return Table(name, title, tuple(Column(h, h, kind) for h in headings), cells, notes)
