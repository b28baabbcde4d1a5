"""Own tables with a TOML manifest. Expected values are written by hand."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.suites.har.datasets import Faults, found
from gnomon.suites.har.datasets import rows as rows_module
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
    faults = Faults()
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
    assert report.doubts == ("at rest the acceleration is 1 m/s^2, expected about 9.8; it may be in g",)
    assert report.state == "doubtful"
    answer = catalogue("check", str(tmp_path))
    assert answer.faults == 1
    assert answer.tables[0].rows[0]["state"].value == "doubtful"
    assert not any("office: office" in note or "doubtful: office" in note for note in answer.tables[0].notes)


def test_turning_in_another_unit_is_doubtful(tmp_path):
    lines = [f"p1,r1,{20 * k},1,1.0,0,0,0,0,{180 + k % 2}" for k in range(400)]
    manifest = MANIFEST.replace('"deg/s"', '"rad/s"')
    path = written(tmp_path, [], manifest)
    header = HEADER.replace("gyro_z", "gyro_x,gyro_y,gyro_z")
    (tmp_path / "rows.csv").write_text("\n".join([header, *lines]) + "\n")
    (doubt,) = load(path).check().doubts
    assert "it may be in deg/s" in doubt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("p1,r1,40,", "p1,r1,later,"), "rows.csv: row 4, column 'time': is 'later', expected a number"),
        (("p1,r1,40,1,1.0", "p1,r1,40,1,x"), "rows.csv: row 4, column 'ax': is 'x', expected a number"),
        (("p1,r1,40,1,1.0", "p1,r1,40,1,"), "rows.csv: row 4, column 'ax': is missing or not finite"),
        (("p1,r1,40,1,1.0", "p1,r1,40,1,1e300"), "rows.csv: row 4, column 'ax': is 9.80665e+300 in SI units"),
        (("p1,r1,40,1", "p1,r1,4e300,1"), "rows.csv: row 4, column 'time': is 4e+297 in SI units"),
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
    assert not found(tmp_path).usable
    with pytest.raises(InputError, match=r"another dataset 'office', in .*office\.toml"):
        found(tmp_path)["office"]
    (tmp_path / "more.toml").write_text(MANIFEST.replace("office", "wisdm"))
    there = found(tmp_path)
    assert list(there.usable) == ["office"]
    assert "another dataset 'wisdm', which gnomon knows" in there.faults["more.toml"]


def test_a_faulty_manifest_leaves_the_others(tmp_path):
    written(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bad.toml").write_text(MANIFEST.replace('"office"', '"other"'))  # its table is not there
    there = found(tmp_path)
    assert list(there.usable) == ["office"]
    assert "rows.csv: no such file" in there.faults["other"]
    with pytest.raises(InputError, match=r"rows\.csv: no such file"):
        there["other"]
    answer = catalogue("check", str(tmp_path))
    assert {row["dataset"].value: row["state"].value for row in answer.tables[0].rows} == {
        "office": "a part",  # nobody sits
        "other": "unusable",
    }
    assert answer.faults == 1


def test_names_of_columns_come_from_the_first_row_alone(tmp_path):
    path = written(tmp_path)
    with (tmp_path / "rows.csv").open("a") as table:
        table.write("no,row,at,all\n")
    dataset = load(path)
    with pytest.raises(InputError, match=r"rows\.csv: row 402: 4 cells, expected 8"):
        list(dataset.read())


def many(people=3, recordings=2, n=350):
    return [
        line
        for p in range(people)
        for r in range(recordings)
        for line in rows(n, person=f"p{p}", recording=f"r{r}", label=str(1 + r % 2))
    ]


@pytest.mark.parametrize("block", [1 << 9, 1 << 13, 1 << 20])
def test_blocks_change_nothing(tmp_path, monkeypatch, block):
    lines = many()
    lines[5] = "  "  # a line of blanks is no row
    lines = [line for line in lines if line.strip()]
    dataset = load(written(tmp_path, lines))
    whole = list(dataset.read())
    monkeypatch.setattr(rows_module, "BLOCK", block)
    parts = list(dataset.read())
    assert [one.id for one in whole] == [one.id for one in parts]
    assert len(whole) == 6
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.signals, other.signals)
        np.testing.assert_array_equal(one.times, other.times)
    table = tmp_path / "rows.csv"
    table.write_text(table.read_text().replace("p2,r1,6000,2,1.0", "p2,r1,6000,2,x"))
    # 5 recordings of 350 rows, one row of them taken out, and 300 rows of the sixth; the header is row 1
    with pytest.raises(InputError, match=r"row 2051, column 'ax': is 'x', expected a number"):
        list(dataset.read())


def test_row_groups_change_nothing(tmp_path):
    cells = [line.split(",") for line in many()]
    names = HEADER.split(",")
    columns = {name: [row[k] if k in (0, 1, 3) else float(row[k]) for row in cells] for k, name in enumerate(names)}
    manifest = MANIFEST.replace("rows.csv", "rows.parquet")
    taken = []
    for size in (100_000, 97):
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=size)
        taken.append(list(load(written(tmp_path, [], manifest)).read()))
    assert [one.id for one in taken[0]] == [one.id for one in taken[1]]
    assert len(taken[0]) == 6
    for one, other in zip(*taken, strict=True):
        np.testing.assert_array_equal(one.signals, other.signals)
        np.testing.assert_array_equal(one.times, other.times)
    columns["ax"][1900] = float("nan")
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=97)
    with pytest.raises(InputError, match=r"rows\.parquet: row 1901, column 'ax': is missing or not finite"):
        list(load(tmp_path / "office.toml").read())


@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "jsonl"])
def test_other_formats_give_the_same(tmp_path, kind):
    lines = many(people=2)
    csv = list(load(written(tmp_path, lines)).read())
    cells = [line.split(",") for line in [HEADER, *lines]]
    text = "\n".join("\t".join(row) for row in cells) if kind == "tsv" else "\n".join(",".join(row) for row in cells)
    if kind == "jsonl":
        text = "\n".join(
            json.dumps(
                {n: v if n in ("person", "recording", "label") else float(v) for n, v in zip(*pair, strict=True)}
            )
            for pair in ((cells[0], row) for row in cells[1:])
        )
    data = text.encode() + b"\n"
    (tmp_path / f"rows.{kind}").write_bytes(gzip.compress(data) if kind == "csv.gz" else data)
    again = list(load(written(tmp_path, lines, MANIFEST.replace("rows.csv", f"rows.{kind}"))).read())
    assert [one.id for one in again] == [one.id for one in csv]
    for one, other in zip(csv, again, strict=True):
        np.testing.assert_array_equal(one.signals, other.signals)
        np.testing.assert_array_equal(one.times, other.times)


def test_a_recording_that_comes_back_is_refused(tmp_path):
    lines = [*rows(10), *rows(10, recording="r2"), *rows(10, start=200)]
    with pytest.raises(InputError) as caught:
        list(load(written(tmp_path, lines)).read())
    assert "rows.csv: row 22, column 'recording': 'r1' of 'p1' comes back" in str(caught.value)
    assert "sort the rows by subject, recording and time" in str(caught.value)


@pytest.mark.parametrize("order", ["backwards", "shuffled"])
def test_a_recording_whose_times_are_out_of_order_cannot_be_read(tmp_path, order, capsys):
    bad = rows(400)[::-1] if order == "backwards" else np.random.default_rng(0).permutation(rows(400)).tolist()
    path = written(tmp_path, [*bad, *rows(400, recording="r2")])
    report = load(path).check()
    assert report.recordings == 1
    assert report.state == "a part"
    (told,) = report.broken
    assert "rows.csv: recording 'r1' of 'p1', column 'time': " in told
    assert "% of 400 stamps repeat or jump back, at most 10 %; sort its rows by time" in told
    with pytest.raises(InputError, match=r"rows.csv: recording 'r1' of 'p1', column 'time'"):
        list(load(path).read())
    with pytest.raises(SystemExit, match="1"):
        main(["data", "check", str(tmp_path)])
    assert "left out, cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('"walking', "row 4: a quote is opened and not closed"),
        ('"wal\nking"', "row 4"),
        ("\udcff", "row 4: not UTF-8"),
    ],
)
def test_text_that_is_damaged_is_named_by_its_row(tmp_path, cell, message):
    manifest = MANIFEST[: MANIFEST.index("[labels]")]
    path = written(tmp_path, manifest=manifest)
    table = tmp_path / "rows.csv"
    text = table.read_text().replace("p1,r1,40,1,", f"p1,r1,40,{cell},", 1)
    table.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        list(load(path).read())
    assert message in str(caught.value)


def test_quoted_cells_are_text(tmp_path):
    lines = [line.replace("p1", '"p ""1"", left"', 1) for line in rows(320)]
    (one,) = load(written(tmp_path, lines)).read()
    assert one.subject == 'p "1", left'


def test_patches_are_a_field_of_the_manifest(tmp_path):
    assert load(written(tmp_path)).manifest.patch_s == (1.0, 1.0, 0.25)
    line = 'placement = "pocket"'
    given = MANIFEST.replace(line, f"{line}\npatch_s = [1, 1.75, 0.25]")
    assert load(written(tmp_path, manifest=given)).manifest.patch_s == (1.0, 1.75, 0.25)
    for bad in ("1", "[1, 2]", "[2, 1, 0.5]", "[0, 1, 0.5]", "[1, 7, 0.5]", "[1, 2, 0]", '[1, 2, "x"]', "[1, 2, true]"):
        with pytest.raises(InputError, match="patch_s"):
            load(written(tmp_path, manifest=MANIFEST.replace(line, f"{line}\npatch_s = {bad}")))


def labelled(tmp_path, role, *labels):
    manifest = MANIFEST[: MANIFEST.index("[labels]")].replace('role = "test"', f'role = "{role}"')
    lines = [line for k, label in enumerate(labels) for line in rows(320, recording=f"r{k}", label=label)]
    return load(written(tmp_path, lines, manifest))


def test_labels_outside_the_vocabulary_are_named(tmp_path):
    labels = ("Walking", "runing", "car_step_in", "knitting", "sitting")
    (told,) = labelled(tmp_path, "train", *labels).check().odd
    assert told == (
        "3 labels outside the vocabulary: 'Walking' (did you mean 'walking'?), 'knitting', "
        "'runing' (did you mean 'running'?)"
    )
    (told,) = labelled(tmp_path, "test", *labels).check().odd  # where a new label is one to be tested on
    assert "'Walking'" in told
    assert "knitting" not in told
    assert labelled(tmp_path, "test", "knitting").check().odd == ()


def test_windows_are_counted_as_a_run_cuts_them(tmp_path):
    lines = [*rows(100), *rows(400, recording="r2"), *rows(650, recording="r3")]
    assert load(written(tmp_path, lines)).check().windows == 3  # 2, 8 and 13 seconds
    line = 'placement = "pocket"'
    padded = load(written(tmp_path, lines, MANIFEST.replace(line, f'{line}\nshort = "pad"')))
    assert padded.check().windows == len(cut(padded.read(), short="pad")) == 4


def test_rates_that_differ_are_told(tmp_path):
    slow = [f"p2,r1,{25 * k},1,1.0,0,0,180" for k in range(300)]
    report = load(written(tmp_path, [*rows(400), *rows(400, recording="r2"), *slow])).check()
    assert report.odd == ("rates differ between recordings: 40 to 50 Hz; windows of all have one rate",)


def test_an_own_dataset_is_described_by_name_and_by_file(tmp_path):
    path = written(tmp_path, manifest=MANIFEST[: MANIFEST.index("[labels]")])
    by_file, by_name = catalogue("describe", str(path)), catalogue("describe", "office", data_root=str(tmp_path))
    assert by_file == by_name
    (row,) = by_name.tables[2].rows
    assert row["label"].value == "as written in the column"
    assert catalogue("describe", "office") is None


def test_a_recording_in_two_files_is_refused(tmp_path):
    manifest = MANIFEST.replace('files = ["rows.csv"]', 'files = ["rows.csv", "more.csv"]')
    path = written(tmp_path, manifest=manifest)
    (tmp_path / "more.csv").write_text((tmp_path / "rows.csv").read_text())
    with pytest.raises(InputError, match=r"more\.csv: row 2, column 'recording': 'r1' of 'p1' is in another file too"):
        list(load(path).read())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_damaged_bytes_give_input_errors_alone(tmp_path, kind):
    lines = [*rows(60), *rows(60, recording="r2", label="2")]
    path = written(tmp_path, lines, MANIFEST.replace("rows.csv", f"rows.{kind}"))
    table = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        cells = [line.split(",") for line in lines]
        names = HEADER.split(",")
        columns = {n: [row[k] if k in (0, 1, 3) else float(row[k]) for row in cells] for k, n in enumerate(names)}
        pq.write_table(pa.table(columns), table, row_group_size=50)
    whole, draw = table.read_bytes(), np.random.default_rng(5)
    told = []
    for _ in range(150):
        data = bytearray(whole)
        for at in draw.integers(len(data), size=draw.integers(1, 6)).tolist():
            data[at] = int(draw.integers(256))
        cut_at = int(draw.integers(len(data))) if draw.random() < 0.3 else len(data)
        table.write_bytes(bytes(data[:cut_at]))
        try:
            list(load(path).read())
        except InputError as error:
            told.append(str(error))
    assert len(told) > 50
    assert all("\n" not in text and f"rows.{kind}" in text for text in told)


def test_a_table_without_rows_is_unusable(tmp_path):
    report = load(written(tmp_path, [])).check()
    assert (report.state, report.error, report.recordings) == ("unusable", "", 0)
    assert any("no recording can be used" in note for note in catalogue("check", str(tmp_path)).tables[0].notes)


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["data", *arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out + captured.err


def test_the_command_line(tmp_path, capsys):
    path = written(tmp_path, rows(400, label="2"))
    for arguments in (["office", "--data-root", str(tmp_path)], [str(path)]):
        code, said = command(capsys, "describe", *arguments)
        assert code == 0
        assert "Walks in an office" in said
    code, said = command(capsys, "describe", "office")
    assert code == 2
    assert "--data-root" in said
    code, said = command(capsys, "check", str(tmp_path), "--variant", "published")
    assert code == 0
    assert "as published reads them" in said
    path.write_text(MANIFEST.replace('acceleration = "g"', 'acceleration = "m/s^2"'))
    assert command(capsys, "check", str(tmp_path))[0] == 1
