"""Samples of a run in a file beside it, so that its split can be checked again without the data.

``samples.parquet`` has a row per sample: ``id``, ``case``, ``part``, ``input_start``, ``input_end``, ``target_start``,
``target_end``, ``digest`` (empty where none was computed), and a column ``tag:NAME`` for every tag. More samples than
``MOST_STORED`` are checked when the run is made, and not stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.errors import GnomonError, IntegrityError
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array
from gnomon.intake.columnar import read_parquet, read_schema
from gnomon.intake.limits import RUN
from gnomon.intake.writing import write_table

NAME = "samples.parquet"
MOST_STORED = 250_000
"""About 20 MB on disk with digests that do not compress."""
TAG = "tag:"
TEXTS = {"id": "ids", "case": "cases", "part": "parts", "digest": "digests"}
RANGES = {"input": "input_range", "target": "target_range"}


def write(samples: Samples, folder: Path) -> None:
    """Write the samples of a run into its folder; nothing where there are too many."""
    if len(samples) <= MOST_STORED:
        write_table(table(samples), folder / NAME)


def read(folder: Path) -> Samples | None:
    """Read the samples of a stored run; None where it has none."""
    path = folder / NAME
    if not path.is_file():
        return None
    _, rows = read_schema(path, RUN.raised())
    if rows > MOST_STORED:
        raise IntegrityError(f"{path}: {rows} samples, but a run stores at most {MOST_STORED}; make the run again")
    found = read_parquet(path, columns=None, limits=RUN.raised())
    try:
        ids, cases, parts, digests = (_texts(found[name]) for name in TEXTS)
        tags = {n.removeprefix(TAG): _texts(found[n]) for n in found.column_names if n.startswith(TAG)}
        inputs, targets = (_range(found, side) for side in RANGES)
        return Samples(ids, cases, parts, inputs, targets, digests if any(digests) else (), tags)
    except (KeyError, pa.ArrowException, GnomonError) as error:
        raise IntegrityError(f"{path}: does not hold samples ({error}); run 'gnomon verify' on the run") from error


def table(samples: Samples) -> pa.Table:
    """Return samples as a table."""
    columns: dict[str, Any] = {name: pa.array(_column(samples, name), pa.string()) for name in TEXTS}
    for side, attribute in RANGES.items():
        ranges = getattr(samples, attribute)
        columns |= {f"{side}_start": pa.array(ranges[:, 0]), f"{side}_end": pa.array(ranges[:, 1])}
    columns |= {TAG + name: pa.array(column, pa.string()) for name, column in samples.tags.items()}
    return pa.table(columns)


def counts(samples: Samples) -> dict[str, Any]:
    """Return how many samples of each part there are, and whether they are stored, as a fact of the run."""
    parts = {part: samples.parts.count(part) for part in sorted(set(samples.parts))}
    return {"parts": parts, "stored": len(samples) <= MOST_STORED}


def _column(samples: Samples, name: str) -> tuple[str, ...]:
    return getattr(samples, TEXTS[name]) or ("",) * len(samples)


def _texts(column: pa.ChunkedArray) -> tuple[str, ...]:
    return tuple(column.cast(pa.string()).fill_null("").to_pylist())


def _range(found: pa.Table, side: str) -> Array:
    ends = [found[f"{side}_{end}"].cast(pa.float64()).to_numpy() for end in ("start", "end")]
    return np.stack(ends, axis=1)
