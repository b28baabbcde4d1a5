"""Windows on disk: more of them than memory holds, written as they come and read without being loaded.

A folder holds ``signals.npy`` ``(n, steps, 6)`` float32, ``valid.npy`` ``(n, steps)``, ``mask.npy`` ``(n, 6)``,
``windows.parquet`` (id, label, subject, recording, start, end) and ``stored.json`` (dataset, rate, counts, channels).
It appears complete or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_json
from gnomon.intake.faults import guarded, shown
from gnomon.suites.har.recordings import CHANNELS, Windows

SIGNALS, VALID, MASK, ROWS, RECORD = "signals.npy", "valid.npy", "mask.npy", "windows.parquet", "stored.json"
_KEYS = {"dataset", "rate_hz", "n", "steps", "channels", "gravity", "patch_s"}
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("id", "label", "subject", "recording")]
    + [(name, pa.float64()) for name in ("start", "end")]
)


def store(batches: Iterable[Windows], folder: str | os.PathLike[str]) -> Path:
    """Write windows to a new folder, batch by batch; memory is that of one batch.

    Parameters
    ----------
    batches
        Windows of one dataset at one rate, as :func:`gnomon.suites.har.windows.stream` gives them.
    folder
        Must not be there yet, or be empty.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{shown(target)}: is there already; choose another folder or remove it")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    with guarded(target, "cannot be written", "check the folder and the space on the disk"):
        beside.mkdir(parents=True)
        try:
            _write(batches, beside)
            if target.exists():
                target.rmdir()
            beside.rename(target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    return target


def load(folder: str | os.PathLike[str]) -> Windows:
    """Return stored windows; signals stay on disk until they are looked at."""
    base = Path(folder)
    about = read_json(base / RECORD)
    if not isinstance(about, dict) or set(about) != _KEYS:
        raise InputError(f"{shown(base / RECORD)}: not what windows are stored with; store them again")
    signals, valid, mask = (_mapped(base / name) for name in (SIGNALS, VALID, MASK))
    with guarded(base / ROWS, "not a readable parquet file", "store the windows again"):
        rows = pq.read_table(base / ROWS, memory_map=True)
    n, steps = about["n"], about["steps"]
    shapes = (signals.shape, valid.shape, mask.shape)
    if shapes != ((n, steps, len(CHANNELS)), (n, steps), (n, len(CHANNELS))) or rows.num_rows != n:
        raise InputError(
            f"{shown(base)}: signals {shapes[0]}, valid {shapes[1]}, mask {shapes[2]} and {rows.num_rows} rows do not "
            f"belong together, expected {n} windows of {steps} steps; store them again"
        )
    texts = {name: _shared(rows.column(name)) for name in ("label", "subject", "recording")}
    spans = np.stack([rows.column(name).to_numpy() for name in ("start", "end")], axis=1)
    return Windows(
        dataset=str(about["dataset"]),
        rate_hz=float(about["rate_hz"]),
        signals=signals,
        valid=valid,
        mask=mask,
        ids=tuple(rows.column("id").to_pylist()),
        labels=texts["label"],
        subjects=texts["subject"],
        recordings=texts["recording"],
        spans=spans,
        channels=tuple(about["channels"]),
        gravity=about["gravity"],
        patch_s=tuple(about["patch_s"]),
    )


def _write(batches: Iterable[Windows], folder: Path) -> None:
    first: Windows | None = None
    count = 0
    with (
        (folder / SIGNALS).open("wb") as signals,
        (folder / VALID).open("wb") as valid,
        (folder / MASK).open("wb") as mask,
        pq.ParquetWriter(folder / ROWS, _SCHEMA, compression="zstd") as rows,
    ):
        for batch in batches:
            if first is None:
                first = batch.take(np.arange(0))
                _header(signals, batch.signals, 0)
                _header(valid, batch.valid, 0)
                _header(mask, batch.mask, 0)
            _same(first, batch)
            signals.write(np.ascontiguousarray(batch.signals, dtype="<f4").data)
            valid.write(np.ascontiguousarray(batch.valid, dtype=np.bool_).data)
            mask.write(np.ascontiguousarray(batch.mask, dtype=np.bool_).data)
            rows.write_table(_rows(batch))
            count += len(batch)
        if first is None:
            raise InputError("store: no windows to write")
        _header(signals, first.signals, count)
        _header(valid, first.valid, count)
        _header(mask, first.mask, count)
    about = {
        "dataset": first.dataset,
        "rate_hz": first.rate_hz,
        "n": count,
        "steps": first.signals.shape[1],
        "channels": list(first.channels),
        "gravity": first.gravity,
        "patch_s": list(first.patch_s),
    }
    (folder / RECORD).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _same(first: Windows, batch: Windows) -> None:
    for name in ("dataset", "rate_hz", "channels", "gravity", "patch_s"):
        if getattr(first, name) != getattr(batch, name):
            raise InputError(
                f"store: windows of {name} {getattr(batch, name)!r} after {getattr(first, name)!r}; store them apart"
            )
    if first.signals.shape[1:] != batch.signals.shape[1:]:
        raise InputError("store: windows of another length; store them apart")


def _header(file: BinaryIO, array: Array, count: int) -> None:
    """Write the header of an array of ``count`` rows at the front; it has the same length for every count."""
    kind = "<f4" if array.dtype.kind == "f" else "|b1"
    shape = (count, *array.shape[1:])
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}".encode("ascii")
    file.seek(0)
    file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117) + b"\n")


def _rows(batch: Windows) -> pa.Table:
    columns = [batch.ids, batch.labels, batch.subjects, batch.recordings, batch.spans[:, 0], batch.spans[:, 1]]
    return pa.table([pa.array(column) for column in columns], schema=_SCHEMA)


def _shared(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return texts of which equal ones are one object: a million windows have few subjects."""
    coded = column.combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    return tuple([names[k] for k in coded.indices.to_numpy().tolist()])


def _mapped(path: Path) -> Array:
    with guarded(path, "not a readable array", "store the windows again"):
        found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return found
