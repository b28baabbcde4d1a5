"""Small files that decode to gigabytes are refused by name, early and in little memory; large honest ones are read.

Every file is read in a process of its own, which is forked from one that has loaded the readers, and whose peak of
resident memory the kernel reports.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from acceptance import hostile

ROOT = Path(__file__).resolve().parents[2]
MOST_MB = 1_000
MOST_SECONDS = 30
MILLION = 1_000_000
READING = """
import json, os, sys, time
from dataclasses import replace
from pathlib import Path
from gnomon.core.errors import GnomonError
from gnomon.intake.arrays import read_npz
from gnomon.intake.columnar import read_batches
from gnomon.intake.documents import read_json
from gnomon.intake.limits import DEFAULT
from gnomon.intake.pickles import read_pickle
from gnomon.intake.tables import read_table

def rows(path):
    limits = replace(DEFAULT, max_decoded_bytes=2 << 30)  # as long as it takes to scan 16 GiB, a test does not wait
    return sum(len(batch) for batch in read_batches(path, rows=1 << 16, needed=(), limits=limits))

readers = {
    "table": lambda path: len(read_table(path, text=("id", "label"))),
    "batches": rows,
    "arrays": lambda path: len(read_npz(path)),
    "json": lambda path: len(read_json(path)),
    "pickle": lambda path: len(read_pickle(path)),
}
for line in sys.stdin:
    reader, path = json.loads(line)
    output, inlet = os.pipe()
    start, child = time.monotonic(), os.fork()
    if not child:
        try:
            said = ["read", readers[reader](path)]
        except GnomonError as error:
            said = [type(error).__name__, str(error)]
        except BaseException as error:
            said = ["fault", f"{type(error).__name__}: {error}"]
        os.write(inlet, json.dumps(said).encode()[:60_000])
        os._exit(0)
    os.close(inlet)
    with os.fdopen(output, "rb") as pipe:
        said = json.loads(pipe.read() or b'["fault", "the process died"]')
    usage = os.wait4(child, 0)[2]
    print(json.dumps([*said, usage.ru_maxrss / 1000, time.monotonic() - start]), flush=True)
"""


@dataclass(frozen=True)
class Read:
    """How reading a file ended: its rows, or the kind and text of an error; and what it took."""

    kind: str
    said: object
    megabytes: float
    seconds: float


Reader = Callable[[str, Path], Read]


@pytest.fixture(scope="module")
def read() -> Reader:
    """Return a function that reads a file in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", READING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(reader: str, path: Path) -> Read:
        process.stdin.write(json.dumps([reader, str(path)]) + "\n")
        process.stdin.flush()
        return Read(*json.loads(process.stdout.readline()))

    yield ask
    process.stdin.close()
    process.stdout.close()
    process.wait(30)


def refuse(found: Read, path: Path) -> str:
    """Check that a file was refused in one line that names it, early and in little memory; return the line."""
    assert found.kind in ("InputError", "TooLargeError"), found
    assert isinstance(found.said, str)
    assert path.name in found.said
    assert "\n" not in found.said
    assert found.megabytes < MOST_MB, found
    assert found.seconds < MOST_SECONDS, found
    return found.said


@pytest.mark.slow
@pytest.mark.parametrize("name", list(hostile.PARQUET))
def test_parquet_that_is_small_as_a_file_and_large_in_memory(tmp_path: Path, read: Reader, name: str):
    path = tmp_path / "bomb.parquet"
    path.write_bytes(hostile.PARQUET[name]())
    assert path.stat().st_size < 20 * hostile.MIB
    refuse(read("table", path), path)
    found = read("batches", path)
    if found.kind == "read":  # memory does not grow with the number of rows
        assert found.megabytes < MOST_MB, found
        assert found.seconds < MOST_SECONDS, found
    else:
        refuse(found, path)


def test_the_dictionary_of_a_parquet_bomb_is_counted_before_it_is_repeated(tmp_path: Path, read: Reader):
    path = tmp_path / "bomb.parquet"
    path.write_bytes(hostile.PARQUET["one long entry"]())  # 40,000 rows of one text of 200,000 characters
    assert path.stat().st_size < 300_000
    found = read("table", path)
    said = refuse(found, path)
    assert "decompression bomb" in said
    assert int(said.split(" bytes take ")[1].split()[0]) > 7 * hostile.GIB
    assert found.megabytes < 500


def long_dictionary() -> bytes:
    """One row that uses a dictionary of 300 MB, most of whose entries nothing uses."""
    entries = pa.array([f"{n:08d}" + "x" * 100_000 for n in range(3_000)])
    codes = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), entries)
    return hostile.repeat_groups(hostile.write(pa.table({"label": codes}), dictionary_pagesize_limit=hostile.GIB), 64)


def promise_rows() -> bytes:
    """A footer that promises more rows than its pages hold: the number is a varint, changed in place."""
    data = hostile.write(pa.table({"label": ["a"] * 200}), compression="none", write_statistics=False)
    length = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - length], data[-8 - length : -8]
    assert footer.count(b"\x90\x03") >= 2  # 200, zigzag
    return body + footer.replace(b"\x90\x03", b"\xfe\x7f") + data[-8:]


def nest_lists() -> bytes:
    kind: pa.DataType = pa.string()
    value: object = "x"
    for _ in range(40):
        kind, value = pa.list_(kind), [value] * (2 if _ < 12 else 1)
    return hostile.write(pa.table({"id": [1], "label": pa.array([value], kind)}))


@pytest.mark.slow
@pytest.mark.parametrize("make", [long_dictionary, promise_rows, nest_lists])
def test_other_hostile_parquet(tmp_path: Path, read: Reader, make: Callable[[], bytes]):
    path = tmp_path / "bomb.parquet"
    path.write_bytes(make())
    refuse(read("table", path), path)


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".csv.zst", ".csv.bz2", ".csv.xz", ".orc"])
def test_formats_that_are_not_read_are_not_opened(tmp_path: Path, read: Reader, suffix: str):
    path = tmp_path / f"bomb{suffix}"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.schema({"label": pa.string()})) as writer:
        writer.write_table(pa.table({"label": ["a"]}))
    assert "unknown kind of table" in refuse(read("table", path), path)


def members(**given: tuple[bytes, int]) -> bytes:
    return hostile.archive(given)


def overlap() -> bytes:
    """Many members of the directory that share one compressed member."""
    data = members(a=(hostile.npy((32 * hostile.MIB,)), 32))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (one,) = archive.infolist()
        start = archive.start_dir
    sink = io.BytesIO(data[:start])
    with zipfile.ZipFile(sink, "a") as archive:
        for number in range(1_000):
            info = zipfile.ZipInfo(f"a{number}.npy")
            info.compress_type, info.flag_bits, info.CRC = one.compress_type, one.flag_bits, one.CRC
            info.compress_size, info.file_size, info.header_offset = one.compress_size, one.file_size, 0
            archive.filelist.append(info)
            archive.NameToInfo[info.filename] = info
        archive._didModify = True
    return sink.getvalue()


ARRAYS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: members(label=(hostile.npy((1_000 * hostile.MIB,)), 1_000)),
    "many zeros": lambda: members(**{f"a{n}": (hostile.npy((20 * hostile.MIB,)), 20) for n in range(50)}),
    "overlapping members": overlap,
    "endless shape": lambda: members(label=(hostile.npy((1 << 40, 1 << 20)), 0)),
    "negative by overflow": lambda: members(label=(hostile.npy((1 << 62, 4)), 0)),
    "wide text": lambda: members(label=(hostile.npy((1,), "<U999999999"), 0)),
    "many axes": lambda: members(label=(hostile.npy((1,) * 200), 0)),
    "a long header": lambda: members(label=(b"\x93NUMPY\x03\x00" + (1 << 31).to_bytes(4, "little"), 200)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ARRAYS))
@pytest.mark.parametrize("reader", ["arrays", "table"])
def test_archives_of_arrays(tmp_path: Path, read: Reader, name: str, reader: str):
    path = tmp_path / "bomb.npz"
    path.write_bytes(ARRAYS[name]())
    refuse(read(reader, path), path)


def gzipped(line: bytes, head: bytes = b"", megabytes: int = 500) -> bytes:
    """Return lines that compress a thousandfold."""
    sink = io.BytesIO()
    block = line * (hostile.MIB // len(line))
    with gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(megabytes):
            file.write(block)
    return sink.getvalue()


TEXTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "rows": (".csv.gz", lambda: gzipped(b"1,a\n", b"id,label\n")),
    "one line": (".csv.gz", lambda: gzipped(b"x", b"id,label\n")),
    "many columns": (".tsv.gz", lambda: gzipped(b"a\t")),
    "lines": (".jsonl.gz", lambda: gzipped(b'{"id":1,"label":"a"}\n')),
    "empty objects": (".jsonl.gz", lambda: gzipped(b"{}\n")),
    "gz in gz": (".csv.gz", lambda: gzip.compress(gzipped(b"1,a\n", b"id,label\n"))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TEXTS))
def test_compressed_text(tmp_path: Path, read: Reader, name: str):
    suffix, make = TEXTS[name]
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(make())
    assert path.stat().st_size < 10 * hostile.MIB
    refuse(read("table", path), path)


DOCUMENTS: dict[str, bytes] = {
    "deep lists": b"[" * 50_000_000,
    "deep objects": b'{"a":' * 10_000_000,
    "a long number": b"[" + b"9" * 20_000_000 + b"]",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_documents(tmp_path: Path, read: Reader, name: str):
    path = tmp_path / "bomb.json"
    path.write_bytes(DOCUMENTS[name])
    found = read("json", path)
    if name == "a long number":  # it is a number, and no decoder of it takes long
        assert found.seconds < MOST_SECONDS
        assert found.kind in ("read", "InputError")
    else:
        refuse(found, path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1 << 40, 1 << 62])
def test_a_file_that_is_a_hole(tmp_path: Path, read: Reader, size: int):
    for reader, name in (("table", "a.parquet"), ("table", "a.csv"), ("arrays", "a.npz"), ("json", "a.json")):
        path = tmp_path / name
        try:
            hostile.replace_hole(path, size)
        except OSError:
            pytest.skip("this file system has no files of that size")
        refuse(read(reader, path), path)


def constant(rows: int, label: str) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), [label])


GOOD: dict[str, tuple[str, Callable[[Path], object], int]] = {
    "ten million equal labels": (
        "table",
        lambda path: pq.write_table(pa.table({"label": constant(10 * MILLION, "standing")}), path),
        10 * MILLION,
    ),
    "ten million equal rows of three columns": (
        "table",
        lambda path: pq.write_table(
            pa.table(
                {
                    "time": np.zeros(10 * MILLION),
                    "label": constant(10 * MILLION, "lying down"),
                    "group": constant(10 * MILLION, "p1"),
                }
            ),
            path,
        ),
        10 * MILLION,
    ),
    "a hundred million equal labels, some rows at a time": (
        "batches",
        lambda path: pq.write_table(pa.table({"label": constant(100 * MILLION, "standing")}), path),
        100 * MILLION,
    ),
    "two million rows with ids": (
        "table",
        lambda path: pq.write_table(pa.table({"id": np.arange(2 * MILLION), "label": ["a", "b"] * MILLION}), path),
        2 * MILLION,
    ),
    "a long dictionary": (
        "table",
        lambda path: pq.write_table(pa.table({"label": [f"label {n}" for n in range(MILLION)]}), path),
        MILLION,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(GOOD))
def test_honest_files_that_are_large_or_compress_well_are_read(tmp_path: Path, read: Reader, name: str):
    reader, make, rows = GOOD[name]
    path = tmp_path / "good.parquet"
    make(path)
    found = read(reader, path)
    assert (found.kind, found.said) == ("read", rows), found
    assert found.megabytes < (MOST_MB if reader == "table" else 500), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "reader", "said"),
    [
        ("good.csv.gz", gzip.compress(b"id,label\n" + b"1,standing\n" * MILLION), "table", MILLION),
        ("good.jsonl.gz", gzip.compress(b'{"id":1,"label":"a"}\n' * MILLION), "table", MILLION),
        ("good.json", b"[" + b"0," * MILLION + b"0]", "json", MILLION + 1),
    ],
)
def test_honest_text_that_compresses_well_is_read(
    tmp_path: Path, read: Reader, name: str, data: bytes, reader: str, said: int
):
    path = tmp_path / name
    path.write_bytes(data)
    found = read(reader, path)
    assert (found.kind, found.said) == ("read", said), found


@pytest.mark.parametrize("command", ["score", "verify"])
def test_the_command_refuses_the_bomb_in_one_line(tmp_path: Path, command: str):
    good = {"id": [str(n) for n in range(4)], "label": list("abab")}
    bomb = tmp_path / "bomb.parquet"
    bomb.write_bytes(hostile.PARQUET["one long entry"]())
    pq.write_table(pa.table(good), tmp_path / "truth.parquet")
    if command == "score":
        given = ["score", "labels", "--truth", str(tmp_path / "truth.parquet"), "--predictions", str(bomb)]
        given += ["--out", str(tmp_path / "runs")]
    else:
        first, _ = hostile.make_good(tmp_path / "good")
        (first / "predictions.parquet").write_bytes(bomb.read_bytes())
        given = ["verify", str(first)]
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=60)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000, done.returncode)\n"
        "print(done.stdout + done.stderr)\n"
    )
    gnomon = str(Path(sys.executable).parent / "gnomon")
    done = subprocess.run([sys.executable, "-c", code, gnomon, *given], capture_output=True, text=True, check=True)
    figures, _, said = done.stdout.partition("\n")
    megabytes, left = map(int, figures.split())
    assert left in (1, 2), said
    assert megabytes < 500, said
    assert "decompression bomb" in said
    assert "Traceback" not in said
