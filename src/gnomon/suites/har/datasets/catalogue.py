"""What ``gnomon data`` shows of ``har``: the known datasets, what is in a folder, one dataset in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.core.errors import InputError, some
from gnomon.core.suite import Listing
from gnomon.core.table import Cell, Column, Kind, Table
from gnomon.suites.har.datasets import REGISTRY, Dataset, Place, Report, TableDataset, found
from gnomon.suites.har.datasets.tables import load as load_tables
from gnomon.suites.har.recordings import CHANNELS, Manifest

Rows = Sequence[Mapping[str, Cell]]


def catalogue(verb: str, argument: str = "") -> Listing | None:
    """Answer ``list``, ``check`` of a folder, or ``describe`` of a name or manifest; None for an unknown name."""
    if verb == "list":
        return Listing((listed(),))
    if verb == "check":
        return checked(argument)
    if argument in REGISTRY:
        return Listing(described(REGISTRY[argument]))
    return Listing(described(load_tables(argument))) if argument.endswith(".toml") else None


def listed() -> Table:
    """Return the known datasets."""
    columns = (
        Column("dataset", "dataset"),
        Column("title", "title"),
        Column("role", "role"),
        Column("hz", "Hz", "number", digits=0),
        Column("subjects", "subjects", "count"),
        Column("labels", "labels", "count"),
        Column("placement", "placement"),
        Column("licence", "licence"),
    )
    rows = [
        {
            "dataset": Cell(one.name),
            "title": Cell(one.title),
            "role": Cell(one.role),
            "hz": Cell(one.text_hz),
            "subjects": Cell(len(one.subjects)),
            "labels": Cell(len(set(one.labels.values()))),
            "placement": Cell(one.placement),
            "licence": Cell(one.licence),
        }
        for one in (dataset.manifest for dataset in REGISTRY.values())
    ]
    notes = (
        "gnomon data describe NAME says where to obtain one and how its files are called",
        "gnomon data check DIR reads what is in a folder; archives need not be unpacked",
        "own tables with a TOML manifest in DIR are datasets too",
    )
    return Table("datasets", "datasets that har reads in their original files", columns, tuple(rows), notes)


def checked(folder: str) -> Listing:
    """Read every dataset in a folder."""
    there = found(folder)
    if not there:
        raise InputError(
            f"{folder}: none of the datasets {some(REGISTRY)} and no TOML manifest of an own one; see gnomon data "
            "describe NAME for how its files are called"
        )
    reports = {name: dataset.check(places[0]) for name, (dataset, places) in there.items()}
    notes = [f"{name}: {text}" for name, report in reports.items() for text in _told(report, there[name][1])]
    faults = sum(not report.found for report in reports.values())
    return Listing((_found_table(folder, reports, notes),), faults)


def _found_table(folder: str, reports: Mapping[str, Report], notes: Sequence[str]) -> Table:
    counts = ("files", "subjects", "recordings", "windows")
    columns = (
        Column("dataset", "dataset"),
        *(Column(key, key, "count") for key in counts),
        Column("minutes", "minutes", "number", digits=1),
        Column("hz", "Hz", "number", digits=3),
        Column("rest", "|a| at rest", "number", "m/s^2", digits=2),
        Column("state", "state"),
        Column("where", "where"),
    )
    rows = [
        {
            "dataset": Cell(name),
            "files": Cell(one.files),
            "subjects": Cell(len(one.subjects)),
            "recordings": Cell(one.recordings),
            "windows": Cell(one.windows),
            "minutes": Cell(one.seconds / 60),
            "hz": Cell(one.rates_hz[1]) if one.rates_hz else Cell(None, why="no recordings"),
            "rest": Cell(one.resting_ms2) if one.resting_ms2 is not None else Cell(None, why="nobody rests"),
            "state": Cell(_state(one)),
            "where": Cell(one.where),
        }
        for name, one in reports.items()
    ]
    return Table("found", f"datasets in {folder}, as strict reads them", columns, tuple(rows), tuple(notes))


def _state(report: Report) -> str:
    if not report.found:
        return "unusable"
    return "a part" if report.missing else "complete"


def _told(report: Report, places: Sequence[Place]) -> list[str]:
    told = [f"error: {report.error}"] if report.error else []
    told += [f"not here: {text}" for text in report.missing]
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
        "subjects": _subjects(one),
        "gravity": ", ".join(f"{variant}: {state}" for variant, state in one.gravity.items()),
        "shorter than a window": "left out" if one.short == "drop" else "filled up and masked",
        "patches in training": " to ".join(f"{value:g} s" for value in one.patch_s[:2]) + f" by {one.patch_s[2]:g} s",
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
    labels = _pairs("labels", f"labels of {one.name}", ("code", "label"), list(one.labels.items()))
    return table, channels, labels


def _subjects(manifest: Manifest) -> str:
    names = manifest.subjects
    return f"{len(names)}: {names[0]} to {names[-1]}" if names else "those in the table"


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
