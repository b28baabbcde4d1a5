"""Own tables with a TOML manifest. Expected values are written by hand."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.core.errors import InputError
from gnomon.suites.har.datasets import found
from gnomon.suites.har.datasets.catalogue import catalogue
from gnomon.suites.har.datasets.tables import load
from gnomon.suites.har.windows import at_rate, cut

MANIFEST = """
[dataset]
name = "office"
title = "Walks in an office"
files = ["rows.csv"]
text_hz = 50
role = "test"
placement = "pocket"
gravity = "present"
time = "ms"
acceleration = "g"
rotation = "deg/s"

[columns]
subject = "person"
acc_x = "ax"

[labels]
1 = "walking"
2 = "sitting"
0 = ""
"""
HEADER = "person,recording,time,label,ax,acc_y,acc_z,gyro_z"


def rows(n=400, person="p1", recording="r1", label="1", start=0):
    return [f"{person},{recording},{start + 20 * k},{label},1.0,0,0,180" for k in range(n)]


def written(tmp_path, lines=None, manifest=MANIFEST):
    (tmp_path / "office.toml").write_text(manifest)
    (tmp_path / "rows.csv").write_text("\n".join([HEADER, *(rows() if lines is None else lines)]) + "\n")
    return tmp_path / "office.toml"


def test_a_table_is_a_dataset(tmp_path):
    lines = [*rows(400), *rows(30, label="0", start=8000), *rows(320, label="2", start=8600), *rows(300, person="p2")]
    dataset = load(written(tmp_path, lines))
    faults = Counter()
    recordings = list(dataset.read(faults=faults))
    assert [one.id for one in recordings] == ["office/p1/r1_1", "office/p1/r1_2", "office/p2/r1_1"]
    assert [one.label for one in recordings] == ["walking", "sitting", "walking"]
    assert faults == {"rows of labels that the manifest leaves out": 30}
    one = recordings[0]
    assert one.rate_hz == 50
    assert one.mask.tolist() == [True, True, True, False, False, True]
    np.testing.assert_allclose(one.signals[5], [9.80665, 0, 0, 0, 0, np.pi], rtol=1e-6)
    assert len(at_rate(recordings, cut(recordings), 20.0)) == 3
    assert dataset.manifest.gravity["strict"] == "present"


def test_parquet_and_csv_give_the_same(tmp_path):
    lines = rows(300)
    csv = list(load(written(tmp_path, lines)).read())
    cells = [line.split(",") for line in lines]
    names = HEADER.split(",")
    columns = {name: [row[k] if k in (0, 1, 3) else float(row[k]) for row in cells] for k, name in enumerate(names)}
    columns["time"] = [1_700_000_000_000_000_000 + int(t) * 1_000_000 for t in columns["time"]]
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    manifest = MANIFEST.replace("rows.csv", "rows.parquet").replace('"ms"', '"ns"')
    (packed,) = load(written(tmp_path, lines, manifest)).read()
    np.testing.assert_array_equal(csv[0].signals, packed.signals)
    np.testing.assert_allclose(csv[0].times, packed.times, atol=1e-9)


def test_it_is_found_checked_and_described(tmp_path):
    path = written(tmp_path, [*rows(400), *rows(400, recording="r2", label="2")])
    (tmp_path / "other.toml").write_text("[tool]\nx = 1\n")
    assert list(found(tmp_path)) == ["office"]
    dataset, places = found(tmp_path)["office"]
    assert dataset.find(tmp_path) == places[0]
    assert dataset.find(tmp_path / "elsewhere") is None
    report = dataset.check()
    assert (report.recordings, report.windows, report.subjects) == (2, 2, ("p1",))
    assert report.resting_ms2 == pytest.approx(9.80665, rel=1e-6)
    assert catalogue("check", str(tmp_path)).faults == 0
    assert catalogue("describe", str(path)).tables[0].title == "Walks in an office"


def test_units_that_are_not_those_of_the_manifest_are_odd(tmp_path):
    manifest = MANIFEST.replace('"g"', '"m/s^2"')
    report = load(written(tmp_path, rows(400, label="2"), manifest)).check()
    assert any("it may be in g" in text for text in report.odd)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("p1,r1,40,", "p1,r1,later,"), "rows.csv: row 4, column 'time': is 'later', expected a number"),
        (("p1,r1,40,1,1.0", "p1,r1,40,1,x"), "rows.csv: row 4, column 'ax': is 'x', expected a number"),
        (("p1,r1,40,1,1.0", "p1,r1,40,1,"), "rows.csv: row 4, column 'ax': is missing or not finite"),
        (("p1,r1,40,1", "p1,r1,40,7"), "rows.csv: row 4, column 'label': '7' is not in [labels]"),
        (("p1,r1,40,1", ",r1,40,1"), "rows.csv: row 4, column 'person': is empty"),
        (("ax,", "bx,"), "rows.csv: no column 'ax'"),
    ],
)
def test_wrong_cells_are_named_by_file_row_and_column(tmp_path, change, message):
    path = written(tmp_path)
    table = tmp_path / "rows.csv"
    table.write_text(table.read_text().replace(*change, 1))
    with pytest.raises(InputError) as caught:
        list(load(path).read())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("name = ", "nome = "), "no 'name'"),
        (('"office"', '"Our Office"'), "name 'Our Office'"),
        (("text_hz = 50", 'text_hz = "fast"'), "text_hz 'fast'"),
        (('role = "test"', 'role = "best"'), "role is 'best'"),
        (('gravity = "present"', 'gravity = "up"'), "gravity is 'up'"),
        (('time = "ms"', 'time = "min"'), "time is 'min'"),
        (('acceleration = "g"', 'acceleration = "ft"'), "acceleration is 'ft'"),
        (('rotation = "deg/s"\n', ""), "no rotation"),
        (('files = ["rows.csv"]', "files = []"), "files []"),
        (('files = ["rows.csv"]', 'files = ["none.csv"]'), "none.csv: no such file"),
        (("[columns]", "[colums]"), "'colums'"),
        (('acc_x = "ax"', 'magnet = "ax"'), "'magnet'"),
        (("[labels]", "[labels"), "not TOML"),
        (('placement = "pocket"', 'placement = "pocket"\ncolour = "red"'), "unknown 'colour'"),
    ],
)
def test_wrong_manifests_are_refused(tmp_path, change, message):
    path = written(tmp_path, manifest=MANIFEST.replace(*change, 1))
    with pytest.raises(InputError) as caught:
        load(path)
    assert message in str(caught.value)


def test_names_are_taken_once(tmp_path):
    written(tmp_path)
    (tmp_path / "more.toml").write_text(MANIFEST)
    with pytest.raises(InputError, match="another dataset 'office'"):
        found(tmp_path)
    (tmp_path / "more.toml").write_text(MANIFEST.replace("office", "wisdm"))
    with pytest.raises(InputError, match="another dataset 'wisdm'"):
        found(tmp_path)


def test_a_recording_in_two_files_is_refused(tmp_path):
    manifest = MANIFEST.replace('files = ["rows.csv"]', 'files = ["rows.csv", "more.csv"]')
    path = written(tmp_path, manifest=manifest)
    (tmp_path / "more.csv").write_text((tmp_path / "rows.csv").read_text())
    with pytest.raises(InputError, match=r"more\.csv: row 2, column 'recording': 'r1' of 'p1' is in another file too"):
        list(load(path).read())
