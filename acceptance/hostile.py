"""Hostile files and hostile run directories, for tests and for scripts.

``PARQUET`` holds tables that are small as files and large in memory. ``RUNS`` changes a copy of a good run directory in
some way; its seal is made anew, so that it looks whole. Nothing here is large on disk, and none of it takes long.
"""

import io
import json
import os
import pickle
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gnomon
from gnomon.runs import seal

MIB, GIB = 1 << 20, 1 << 30
PAGE = 64 * MIB
SCRIPT = "<script>window.ran=1</script><img src=x onerror=window.ran=1>"
ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\u202e"
ODD = f"{SCRIPT}{ESCAPES}"
GOOD = "good"
"""The name of the run that hostile ones are copies of."""


def write(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "zstd", "dictionary_pagesize_limit": PAGE, **options})
    return sink.getvalue()


def repeat_groups(data: bytes, times: int) -> bytes:
    """Return a parquet file whose footer names its groups of rows many times (a power of two)."""
    body = data[: len(data) - 8 - int.from_bytes(data[-8:-4], "little")]
    for _ in range(times.bit_length() - 1):
        meta, again = (pq.read_metadata(io.BytesIO(data)) for _ in range(2))
        meta.append_row_groups(again)
        footer = io.BytesIO()
        meta.write_metadata_file(footer)
        data = body + footer.getvalue()[4:]
    return data


def coded(rows: int, entry: str) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([entry]))


def table(rows: int, label: Any) -> pa.Table:
    return pa.table({"id": np.arange(rows), "label": label})


def entries_of_every_group() -> bytes:
    """40 groups of rows, each with a dictionary of its own."""
    parts = [coded(1_000, chr(97 + number % 26) * 200_000) for number in range(40)]
    schema = pa.schema({"id": pa.int64(), "label": parts[0].type})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd", dictionary_pagesize_limit=PAGE) as writer:
        for number, part in enumerate(parts):
            ids = np.arange(1_000 * number, 1_000 * (number + 1))
            writer.write_table(pa.table({"id": ids, "label": part}))
    return sink.getvalue()


def delta_text() -> bytes:
    """Text that shares everything with the text before it."""
    long = pa.array(["x" * 100_000] * 2_000)
    data = write(table(2_000, long), use_dictionary=False, column_encoding={"label": "DELTA_BYTE_ARRAY"})
    return repeat_groups(data, 64)


def delta_integers() -> bytes:
    zeros = np.zeros(10_000_000, np.int64)
    return repeat_groups(
        write(table(len(zeros), zeros), use_dictionary=["label"], column_encoding={"id": "DELTA_BINARY_PACKED"}), 64
    )


def equal_rows(label: Any) -> bytes:
    return repeat_groups(write(pa.table({"id": np.zeros(len(label), np.int64), "label": label})), 64)


PARQUET: dict[str, Callable[[], bytes]] = {
    "one long entry": lambda: write(table(40_000, coded(40_000, "x" * 200_000))),
    "long entry in groups": lambda: write(table(40_000, coded(40_000, "x" * 200_000)), row_group_size=1_000),
    "entries of every group": entries_of_every_group,
    "lists": lambda: repeat_groups(write(table(1_000, pa.array([["x" * 200_000]] * 1_000))), 64),
    "equal integers": lambda: equal_rows(np.zeros(10_000_000, np.int64)),
    "nulls": lambda: equal_rows(pa.nulls(10_000_000, pa.string())),
    "delta text": delta_text,
    "delta integers": delta_integers,
    "wide bytes": lambda: repeat_groups(
        write(table(2_000, pa.array([b"x" * 100_000] * 2_000, pa.binary(100_000)))), 64
    ),
    "long lists": lambda: repeat_groups(write(table(4, pa.array([np.zeros(10_000_000)] * 4))), 64),
    "wide rows": lambda: write(table(9_000, pa.array([b"x" * 100_000] * 9_000, pa.binary(100_000)))),
    "empty text": lambda: repeat_groups(write(table(1_000_000, pa.array([""] * 1_000_000)), use_dictionary=False), 256),
    "compressed zeros": lambda: repeat_groups(write(table(1_000_000, np.zeros(1_000_000)), use_dictionary=False), 256),
    "many groups": lambda: repeat_groups(write(table(1, ["a"])), 1 << 16),
    "tiny pages": lambda: write(
        table(150_000, pa.array(["a"] * 150_000)),
        data_page_size=1,
        write_batch_size=1,
        use_dictionary=False,
        compression="none",
    ),
}


class Trap:
    """Creates a file when it is unpickled by Python."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.marker,)


def npy(shape: tuple[int, ...], kind: str = "|u1") -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": kind, "fortran_order": False, "shape": shape})
    return header.getvalue()


def archive(members: dict[str, tuple[bytes, int]]) -> bytes:
    """Return a zip archive of members, each some bytes and then so many MiB of zeros."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, (start, zeros) in members.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(start)
                for _ in range(zeros):
                    member.write(bytes(MIB))
    return sink.getvalue()


def as_text(value: bytes) -> bytes:
    """Return text as an array of bytes, which is how archives of runs hold it."""
    return npy((len(value),)) + value


def edit(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def replace_link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def replace_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def replace_hole(path: Path, size: int) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def members_of(path: Path) -> dict[str, tuple[bytes, int]]:
    with zipfile.ZipFile(path) as file:
        return {name.removesuffix(".npy"): (file.read(name), 0) for name in file.namelist()}


def change_members(path: Path, **changed: tuple[bytes, int]) -> None:
    held = members_of(path) if path.exists() else {}
    path.write_bytes(archive(held | {name.replace("__", "."): value for name, value in changed.items()}))


def with_samples(folder: Path, data: bytes) -> None:
    (folder / "samples.parquet").write_bytes(data)
    edit(folder / "manifest.json", lambda held: held["facts"].update(samples={"parts": {}, "stored": True}))


def samples(rows: int, text: pa.Array) -> pa.Table:
    texts = dict.fromkeys(("id", "case", "part", "digest"), text)
    ranges = dict.fromkeys(("input_start", "input_end", "target_start", "target_end"), np.zeros(rows))
    return pa.table({**texts, **ranges})


def nest_folders(folder: Path) -> None:
    """Make folders in folders until the path is as long as it may be, relative to each other."""
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(3_000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)


def objects(marker: Path) -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array([Trap(marker)], dtype=object), allow_pickle=True)
    return sink.getvalue()


def whole_pickle(marker: Path) -> bytes:
    return pickle.dumps({"classification.tp": Trap(marker)})


def evil_index(path: Path) -> None:
    """Put an index beside runs whose table is a view that never ends."""
    database = sqlite3.connect(path)
    loop = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS name, x AS stamp FROM c"
    database.execute(f"CREATE VIEW runs AS {loop}")
    database.execute("PRAGMA user_version = 4")
    database.commit()
    database.close()


def slice_by_many_tags(folder: Path, tags: int) -> None:
    """Give every case many tags, and let the protocol score every value of each."""
    names = [f"tag{number}" for number in range(tags)]
    edit(folder / "manifest.json", lambda held: held["protocol"].update(slices=names))
    values = list("abcd")
    edit(folder / "coverage.json", lambda held: held["roster"].update(tags=dict.fromkeys(names, values)))


def own_metric(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the choice of a metric of a user's own, whose file would run when it is imported."""
    name = f"{folder / 'metric.py'}:Metric"
    record = {"name": name, "source": name, "range": [0, 1], "direction": "up", "unit": "", "family": "x"}
    return {**manifest.get("metrics", {}), "own": [record], "chosen": [name]}


EMPTY_OBJECTS = b"{},"
Change = Callable[[Path], object]
RUNS: dict[str, Change] = {
    **{
        f"predictions: {name}": (lambda folder, make=make: (folder / "predictions.parquet").write_bytes(make()))
        for name, make in PARQUET.items()
    },
    "predictions: a hole": lambda folder: replace_hole(folder / "predictions.parquet", 100 * GIB),
    "predictions: link to zeros": lambda folder: replace_link(folder / "predictions.parquet", "/dev/zero"),
    "predictions: a pipe": lambda folder: replace_pipe(folder / "predictions.parquet"),
    "tallies: zip bomb": lambda folder: change_members(
        folder / "tallies.npz", classification__tp=(npy((300 * MIB, 1)), 300)
    ),
    "tallies: many bombs": lambda folder: change_members(
        folder / "tallies.npz", **{f"f{n}__tp": (npy((32 * MIB, 1)), 32) for n in range(12)}
    ),
    "tallies: narrow numbers": lambda folder: change_members(
        folder / "tallies.npz", **{f"classification__{name}": (npy((7 * MIB, 2)), 14) for name in ("tp", "truth")}
    ),
    "tallies: endless shape": lambda folder: change_members(
        folder / "tallies.npz", classification__tp=(npy((1 << 40, 1 << 20)), 0)
    ),
    "tallies: objects": lambda folder: change_members(
        folder / "tallies.npz", classification__tp=(objects(folder.parent / "executed"), 0)
    ),
    "tallies: a pickle": lambda folder: (folder / "tallies.npz").write_bytes(whole_pickle(folder.parent / "executed")),
    "tallies: large description": lambda folder: change_members(
        folder / "tallies.npz",
        classification__meta=(as_text(b'{"axes":{},"layout":[' + EMPTY_OBJECTS * 20_000_000 + b"0]}"), 0),
    ),
    "tallies: several descriptions": lambda folder: change_members(
        folder / "tallies.npz",
        **{
            f"f{n}__meta": (as_text(b'{"axes":{},"layout":[' + EMPTY_OBJECTS * 8_000_000 + b"0]}"), 0) for n in range(2)
        },
    ),
    "ledgers: a large description beside one of tallies": lambda folder: [
        change_members(
            folder / name,
            more__meta=(as_text(b'{"axes":{"a":[' + b'"ab",' * 5_000_000 + b'""]},"labels":{},"layout":[]}'), 0),
        )
        for name in ("tallies.npz", "ledgers.npz")
    ],
    "tallies: deep description": lambda folder: change_members(
        folder / "tallies.npz", classification__meta=(as_text(b"[" * 1_000_000), 0)
    ),
    "tallies: a hole": lambda folder: replace_hole(folder / "tallies.npz", 7 * GIB),
    "ledgers: zip bomb": lambda folder: change_members(
        folder / "ledgers.npz", confusion__case=(npy((300 * MIB,)), 300)
    ),
    "ledgers: narrow numbers": lambda folder: change_members(
        folder / "ledgers.npz", **{name: (npy((14 * MIB,)), 14) for name in ("a__case", "a__column.x", "b__case")}
    ),
    "samples: one long entry": lambda folder: with_samples(
        folder, write(samples(40_000, coded(40_000, "x" * 200_000)))
    ),
    "samples: equal rows": lambda folder: with_samples(
        folder, repeat_groups(write(samples(1_000_000, coded(1_000_000, "x"))), 64)
    ),
    "manifest: deep": lambda folder: (folder / "manifest.json").write_bytes(b"[" * 5_000_000),
    "manifest: a hole": lambda folder: replace_hole(folder / "manifest.json", 2 * GIB),
    "manifest: empty objects": lambda folder: (folder / "manifest.json").write_bytes(
        (folder / "manifest.json").read_bytes().rstrip().removesuffix(b"}")
        + b', "more": ['
        + EMPTY_OBJECTS * 5_000_000
        + b"0]}"
    ),
    "manifest: many measures": lambda folder: edit(
        folder / "manifest.json", lambda held: held["protocol"].update(measures=[1] * 5_000_000)
    ),
    "manifest: long names": lambda folder: edit(
        folder / "manifest.json", lambda held: held.update(system="x" * 15_000_000)
    ),
    "manifest: endless resampling": lambda folder: edit(
        folder / "manifest.json", lambda held: held["plan"].update(method="percentile", resamples=10**12)
    ),
    "manifest: large resampling": lambda folder: edit(
        folder / "manifest.json", lambda held: held["plan"].update(method="bca", resamples=2**62)
    ),
    "manifest: many slices": lambda folder: slice_by_many_tags(folder, 20_000),
    "manifest: a measure a thousand times": lambda folder: edit(
        folder / "manifest.json",
        lambda held: held["protocol"].update(measures=held["protocol"]["measures"] * 20_000),
    ),
    "manifest: link to a file": lambda folder: replace_link(folder / "manifest.json", "/etc/passwd"),
    "manifest: link to zeros": lambda folder: replace_link(folder / "manifest.json", "/dev/zero"),
    "manifest: a pipe": lambda folder: replace_pipe(folder / "manifest.json"),
    "manifest: not JSON": lambda folder: (folder / "manifest.json").write_bytes(b"\xff\xfe" + b"no manifest" * 9),
    "manifest: empty": lambda folder: (folder / "manifest.json").write_bytes(b"{}"),
    "manifest: other kinds of values": lambda folder: edit(
        folder / "manifest.json", lambda held: held.update({name: [held[name]] for name in held if name != "schema"})
    ),
    "manifest: names that are paths": lambda folder: edit(
        folder / "manifest.json", lambda held: held.update(system="../../../tmp/x", id="../../x", suite="../labels")
    ),
    "manifest: a system that is a path": lambda folder: edit(
        folder / "manifest.json", lambda held: held.update(system=f"/etc/../{folder.parent}/executed")
    ),
    "manifest: a metric in a file": lambda folder: [
        (folder / "metric.py").write_text(f"open({str(folder.parent / 'executed')!r}, 'w')\n"),
        edit(folder / "manifest.json", lambda held: held.update(metrics=own_metric(folder, held))),
    ],
    "manifest: counts that are not true": lambda folder: edit(
        folder / "manifest.json", lambda held: held["summary"].update(n=10**18, groups=-1, value=1e308, complete=False)
    ),
    "manifest: another schema": lambda folder: edit(
        folder / "manifest.json", lambda held: held.update(schema="gnomon.run/2")
    ),
    "coverage: empty objects": lambda folder: (folder / "coverage.json").write_bytes(
        b'{"complete": true, "roster": [' + EMPTY_OBJECTS * 30_000_000 + b"0]}"
    ),
    "coverage: wide text": lambda folder: (folder / "coverage.json").write_bytes(
        b'{"complete": true, "roster": "' + b"x" * (100 * MIB) + "🏠".encode() + b'"}'
    ),
    "coverage: two million cases": lambda folder: (folder / "coverage.json").write_text(
        json.dumps(
            {
                "complete": True,
                "roster": {
                    "ids": list(map(str, range(2_000_000))),
                    "groups": ["g"] * 2_000_000,
                    "tags": {},
                    "level": "g",
                },
            }
        )
    ),
    "coverage: a pipe": lambda folder: replace_pipe(folder / "coverage.json"),
    "scores: empty lists": lambda folder: (folder / "scores.json").write_bytes(
        b'{"scores": [' + b"[]," * 40_000_000 + b"0]}"
    ),
    "scores: link to a file": lambda folder: replace_link(folder / "scores.json", "/etc/passwd"),
    "audit: empty objects": lambda folder: (folder / "audit.json").write_bytes(
        b'{"claims": [], "findings": [' + EMPTY_OBJECTS * 30_000_000 + b"0]}"
    ),
    "exhibits: zip bomb": lambda folder: change_members(folder / "exhibits.npz", index=(npy((300 * MIB,)), 300)),
    "exhibits: large list": lambda folder: change_members(
        folder / "exhibits.npz", index=(as_text(b'{"entries":[' + EMPTY_OBJECTS * 20_000_000 + b'{}],"of":1}'), 0)
    ),
    "exhibits: objects": lambda folder: change_members(
        folder / "exhibits.npz", index=(objects(folder.parent / "executed"), 0)
    ),
    "coverage: cases of other kinds": lambda folder: edit(
        folder / "coverage.json", lambda held: held["roster"].update(ids=[{"a": 1}] * 12, groups=[None] * 12)
    ),
    "coverage: folders outside": lambda folder: edit(
        folder / "coverage.json", lambda held: held["roster"].update(ids=[f"../../{n}" for n in range(12)])
    ),
    "files: only an empty seal": lambda folder: [path.unlink() for path in folder.iterdir() if path.name != seal.NAME],
    "files: empty": lambda folder: [path.write_bytes(b"") for path in folder.iterdir()],
    "seal: a hole": lambda folder: replace_hole(folder / seal.NAME, 20 * GIB),
    "seal: a pipe": lambda folder: replace_pipe(folder / seal.NAME),
    "seal: link to a file": lambda folder: replace_link(folder / seal.NAME, "/etc/passwd"),
    "files: a hole": lambda folder: replace_hole(folder / "more.bin", 1 << 40),
    "files: small holes": lambda folder: [replace_hole(folder / f"more{n}.bin", 4 * GIB) for n in range(50)],
    "files: names with escapes": lambda folder: (folder / f"a{ESCAPES}b").write_text("x"),
    "files: thousands": lambda folder: [(folder / f"more{n}").touch() for n in range(12_000)],
    "files: folders in folders": nest_folders,
    "index: a view without end": lambda folder: evil_index(folder.parent / ".index.sqlite"),
    "index: a pipe": lambda folder: replace_pipe(folder.parent / ".index.sqlite"),
}
SMALL = (
    "manifest: not JSON",
    "manifest: empty",
    "manifest: other kinds of values",
    "manifest: names that are paths",
    "manifest: a system that is a path",
    "manifest: a metric in a file",
    "manifest: counts that are not true",
    "manifest: another schema",
    "manifest: link to a file",
    "manifest: link to zeros",
    "manifest: a pipe",
    "predictions: a pipe",
    "predictions: link to zeros",
    "tallies: a pickle",
    "tallies: objects",
    "tallies: endless shape",
    "coverage: cases of other kinds",
    "coverage: folders outside",
    "files: only an empty seal",
    "files: empty",
    "files: names with escapes",
    "seal: a pipe",
)
"""Those that are made in no time."""
UNSEALED = ("seal:", "files: empty", "a hole", "small holes", "thousands", "folders in folders")
"""Words of attacks whose directory is not sealed anew: on the seal itself, or so large that this would take long."""


def odd_tables() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return truth and predictions whose ids, labels and groups would be code for a page or a terminal."""
    ids = [f"{ODD}{number}" for number in range(12)]
    truth = {"id": ids, "label": [ODD, "b", "a"] * 4, "group": [ODD, "x", "y", "z"] * 3}
    return truth, {"id": ids, "label": ["b", ODD, "a"] * 4}


def make_good(root: Path) -> tuple[Path, Path]:
    """Make two small runs on the same data and return their folders."""
    truth = {"id": list(range(12)), "label": list("aabbabbaabab"), "group": list("xxxyyyzzzwww")}
    guess = {"id": list(range(12)), "label": list("aabbabbaabba")}
    other = {"id": list(range(12)), "label": list("abababababab")}
    first, second = (run.path for run in gnomon.score("labels", truth, {GOOD: guess, "other": other}, out=root).runs)
    assert first is not None
    assert second is not None
    return first, second


def make_events(root: Path) -> Path:
    """Make a small run of a suite that keeps cases to look at."""
    root.mkdir(parents=True, exist_ok=True)
    case = {"id": "a", "t1": 0, "t2": 60, "labels": [{"t1": 5, "t2": 20, "label": "x"}]}
    (root / "truth.json").write_text(json.dumps(case))
    (root / "results.json").write_text(json.dumps({"a": [{"t1": 6, "t2": 25, "label": "x"}]}))
    files = [str(root / "truth.json")], [f"{GOOD}={root / 'results.json'}"]
    made = gnomon.score("events", *files, out=root).runs[0].path
    assert made is not None
    return made


def make_odd(root: Path) -> Path:
    """Make a run whose names would be code for a page or a terminal."""
    truth, guess = odd_tables()
    made = gnomon.score("labels", truth, {ODD: guess}, out=root).runs[0].path
    assert made is not None
    return made


def place(root: Path, name: str) -> Path:
    """Return where a hostile run is made: in a folder of its own."""
    slug = "".join(letter if letter.isalnum() else "-" for letter in name)
    return root / slug / f"run-{slug}"


def make_run(good: Path, root: Path, name: str) -> None:
    """Make one hostile run of a good one."""
    folder = place(root, name)
    folder.parent.mkdir(parents=True)
    shutil.copytree(good, folder)
    RUNS[name](folder)
    if not any(word in name for word in UNSEALED):
        (folder / seal.NAME).write_bytes(seal.make(folder))
