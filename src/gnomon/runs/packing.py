"""Tallies and ledgers as npz files whose bytes depend on their content alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from gnomon.core.canonical import encode
from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Field, Tallies
from gnomon.intake.arrays import read_npz
from gnomon.intake.documents import count_parsed_bytes, parse_json
from gnomon.intake.limits import RUN, Limits
from gnomon.runs.index import Name

EPOCH = (1980, 1, 1, 0, 0, 0)
NOTHING = b"PK\5\6" + bytes(18)
"""An archive without members: the tallies of a run that is scored from ledgers alone."""


def write_npz(target: Path | IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays as npz with fixed time stamps and order."""
    with zipfile.ZipFile(target, "w") as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, buffer.getbuffer(), compresslevel=1)


def pack_tallies(tallies: Mapping[str, Tallies]) -> dict[str, Array]:
    """Return tallies of several families as named arrays."""
    arrays: dict[str, Array] = {}
    for family, part in tallies.items():
        _check_names(family, *part.fields)
        layout = [[f.name, list(f.axes), f.kind, f.unit] for f in part.layout]
        arrays[f"{family}.meta"] = as_text({"layout": layout, "axes": {k: list(v) for k, v in part.axes.items()}})
        for name, array in part.fields.items():
            arrays[f"{family}.{name}"] = _narrow(array)
    return arrays


def unpack_tallies(arrays: Mapping[str, Array]) -> dict[str, Tallies]:
    """Rebuild what :func:`pack_tallies` packed."""
    tallies = {}
    for family, meta, part in _families(arrays):
        layout = tuple(Field(name, tuple(axes), kind, unit) for name, axes, kind, unit in meta["layout"])
        tallies[family] = Tallies(layout, _labels(meta["axes"], family), part)
    return tallies


def pack_ledgers(ledgers: Mapping[str, Ledger]) -> dict[str, Array]:
    """Return ledgers as named arrays."""
    arrays: dict[str, Array] = {}
    for family, ledger in ledgers.items():
        _check_names(family, *ledger.columns)
        arrays[f"{family}.meta"] = as_text({"labels": {k: list(v) for k, v in ledger.labels.items()}})
        arrays[f"{family}.case"] = _narrow(ledger.case)
        for name, column in ledger.columns.items():
            arrays[f"{family}.column.{name}"] = _narrow(column)
    return arrays


def unpack_ledgers(arrays: Mapping[str, Array]) -> dict[str, Ledger]:
    """Rebuild what :func:`pack_ledgers` packed."""
    ledgers = {}
    for family, meta, part in _families(arrays):
        columns = {name.removeprefix("column."): _wide(array) for name, array in part.items() if name != "case"}
        ledgers[family] = Ledger(_wide(part["case"]), columns, _labels(meta["labels"], family))
    return ledgers


def read_packed(path: Path, limits: Limits = RUN) -> dict[str, Array]:
    """Read an npz of a run directory, whose arrays keep the limits also once they are widened."""
    if path.is_file() and path.stat().st_size == len(NOTHING) and path.read_bytes() == NOTHING:
        return {}
    arrays = read_npz(path, limits=limits)
    limits.raised().check_decoded(path, count_wide_bytes(arrays))
    return arrays


def count_wide_bytes(arrays: Mapping[str, Array]) -> int:
    """Return what stored arrays take as tallies or ledgers: eight bytes a number, and descriptions once parsed."""
    return sum(
        count_parsed_bytes(array.tobytes()) if name.endswith(".meta") else 8 * array.size
        for name, array in arrays.items()
    )


def _families(arrays: Mapping[str, Array]) -> list[tuple[str, dict[str, Any], dict[str, Array]]]:
    found: dict[str, dict[str, Array]] = {}
    for key, array in arrays.items():
        family, dot, name = key.partition(".")
        if not dot:
            raise IntegrityError(f"unexpected array {key!r} in a run's npz: expected family.name")
        found.setdefault(family, {})[name] = array
    out = []
    for family, part in found.items():
        if "meta" not in part:
            raise IntegrityError(f"family {family!r} in a run's npz has no meta array")
        out.append((family, from_text(part.pop("meta"), family), part))
    return out


def from_text(meta: Array, family: str, limits: Limits = RUN) -> dict[str, Any]:
    """Return what :func:`as_text` stored; `family` is what it describes."""
    try:
        parsed, _ = parse_json(meta.tobytes(), f"the description of {family!r}", limits=limits)
    except InputError as error:
        raise IntegrityError(f"the description of {family!r} in a run's npz is damaged: {error}") from error
    if not isinstance(parsed, dict):
        raise IntegrityError(f"the description of {family!r} in a run's npz is not an object")
    return parsed


def _labels(held: Any, family: str) -> dict[str, tuple[str, ...]]:
    """Return the labels of axes or columns by name, which are texts of a bounded length."""
    try:
        return msgspec.convert(held, dict[Name, tuple[Name, ...]])
    except msgspec.ValidationError as error:
        raise IntegrityError(f"the labels of {family!r} in a run's npz are damaged: {error}") from error


def _check_names(*names: str) -> None:
    for name in names:
        if not name.isidentifier() or name == "meta":
            raise GnomonError(f"{name!r} cannot name a stored family, field or column: use letters, digits and _")


def as_text(value: object) -> Array:
    """Return plain data as an array of bytes."""
    return np.frombuffer(encode(value), dtype=np.uint8)


def _narrow(array: Array) -> Array:
    """Store integers in the smallest type that holds them; reading widens them again."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        info = np.iinfo(dtype)
        if info.min <= low and high <= info.max:
            return array.astype(dtype)
    return array


def _wide(array: Array) -> Array:
    return array.astype(np.int64) if array.dtype.kind in "iu" else array
