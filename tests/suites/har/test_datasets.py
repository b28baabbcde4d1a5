"""Datasets in their original files: miniatures written here in the same layouts, and real samples where they are.

Expected values of miniatures are written by hand. Figures of the real samples were counted with Python's ``csv`` and
``zipfile`` apart from the loaders (rows per file, subjects, median steps).
"""

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.report import render
from gnomon.suites.har.datasets import REGISTRY, Faults, found, motionsense
from gnomon.suites.har.datasets.catalogue import catalogue
from gnomon.suites.har.datasets.stamps import repair
from gnomon.suites.har.datasets.units import check_units, resting
from gnomon.suites.har.recordings import WINDOW_S, Recording
from gnomon.suites.har.sources import content, locate
from gnomon.suites.har.vocabulary import LABELS, SEVERE, TEST_LABELS, TRAIN_LABELS
from gnomon.suites.har.windows import at_rate, cut

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "har"
REAL_ZIPS = sorted(REAL.glob("*.zip"))
real = [pytest.mark.real, pytest.mark.skipif(not REAL_ZIPS, reason="needs GNOMON_REAL_DATA")]

MOTION, DSADS, WISDM = (REGISTRY[name] for name in ("motionsense", "dsads", "wisdm"))


def write_motionsense(root, rows=650, people=(1, 2), activities=("wlk_7", "std_6")):
    for activity in activities:
        for person in people:
            path = root / "A_DeviceMotion_data" / activity / f"sub_{person}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"{k},0,0,0,0.6,0.0,-0.8,0.1,0.2,0.3,{k % 7 / 100!r},0.0,0.0" for k in range(rows)]
            path.write_text(",".join(motionsense.COLUMNS) + "\n" + "\n".join(lines) + "\n")


def write_dsads(root, segments=(1, 2, 3), people=(1, 2), activities=(1, 9)):
    for activity in activities:
        for person in people:
            for segment in segments:
                path = root / "data" / f"a{activity:02d}" / f"p{person}" / f"s{segment:02d}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                row = ["8.0", "1.0", "5.0", f"{segment / 10}", "0.02", "-0.03", *["0.5"] * 39]
                path.write_text("\n".join([",".join(row)] * 125) + "\n")


def write_wisdm(root, people=(1600, 1601), letters="AD", rows=300, step=50_354_004, gyro_late=2.0e8):
    for person in people:
        for sensor in ("accel", "gyro"):
            path = root / "wisdm-dataset" / "raw" / "phone" / sensor / f"data_{person}_{sensor}_phone.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            late = int(gyro_late) if sensor == "gyro" else 0
            lines = []
            for turn, letter in enumerate(letters):
                for k in range(rows):
                    ns = 252_207_666_810_782 - turn * 10**12 + late + k * step
                    x = (ns - 252_207_666_810_782) / 1e9 if sensor == "gyro" else 0.0
                    lines.append(f"{person},{letter},{ns},{x!r},9.8,0.1;")
            path.write_text("\n".join(lines) + "\n")


WRITERS = {"motionsense": write_motionsense, "dsads": write_dsads, "wisdm": write_wisdm}


def zipped(root, target):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(root).as_posix())
    return target


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_and_its_archive_are_the_same(tmp_path, name):
    WRITERS[name](tmp_path / "a" / "deep")
    archive = zipped(tmp_path / "a", tmp_path / "some.zip")
    dataset = REGISTRY[name]
    plain, packed = (list(dataset.read(place)) for place in (tmp_path / "a", archive))
    assert [one.id for one in plain] == [one.id for one in packed]
    assert len({one.id for one in plain}) == len(plain) > 0
    for a, b in zip(plain, packed, strict=True):
        np.testing.assert_array_equal(a.signals, b.signals)
        np.testing.assert_array_equal(a.times, b.times)
        assert a.subject in dataset.manifest.subjects
        assert a.label in dataset.manifest.labels.values()
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("name", WRITERS)
def test_an_archive_in_an_archive_is_a_folder(tmp_path, name):
    WRITERS[name](tmp_path / "a")
    (tmp_path / "b").mkdir()
    zipped(tmp_path / "a", tmp_path / "b" / "inner.zip")
    (tmp_path / "b" / "broken.zip").write_bytes(b"PK no archive")
    (tmp_path / "root").mkdir()
    zipped(tmp_path / "b", tmp_path / "root" / "outer.zip")
    deep = tmp_path / "folder" / "x" / "y"
    deep.mkdir(parents=True)
    shutil.copy(tmp_path / "b" / "inner.zip", deep)
    dataset = REGISTRY[name]
    plain = list(dataset.read(tmp_path / "a"))
    for root, inside in ((tmp_path / "root", "outer.zip/inner.zip"), (tmp_path / "folder", "x/y/inner.zip")):
        place = dataset.find(root)
        assert inside in str(place)
        again = list(dataset.read(place))
        assert [one.id for one in again] == [one.id for one in plain]
        assert all(np.array_equal(one.signals, two.signals) for one, two in zip(plain, again, strict=True))
    before = content(dataset, dataset.find(tmp_path / "folder"))
    shutil.copy(tmp_path / "root" / "outer.zip", deep / "inner.zip")
    assert content(dataset, dataset.find(tmp_path / "folder")) != before


def test_members_are_streams_too(tmp_path):
    write_dsads(tmp_path / "a", segments=(1,), people=(1,), activities=(1,))
    (tmp_path / "b").mkdir()
    zipped(tmp_path / "a", tmp_path / "b" / "inner.zip")
    zipped(tmp_path / "b", tmp_path / "outer.zip")
    for root in (tmp_path / "a", tmp_path / "b", tmp_path / "outer.zip"):
        place = DSADS.find(root)
        with place.open() as files:
            for name in DSADS.files(place):
                with files.open(name) as stream:
                    assert stream.read() == files.read(name) == (tmp_path / "a/data/a01/p1/s01.txt").read_bytes()


@pytest.mark.parametrize("nested", [False, True])
def test_a_damaged_archive_says_so_before_its_rows_do(tmp_path, nested):
    """One byte of a stored member is changed: a row looks wrong, but it is the archive that is damaged."""
    row = " ".join(["{time:.2f}", "1", "NaN", "30", *["1.5"] * 16, *["NaN"] * 34])
    text = "".join(row.format(time=k / 100) + "\n" for k in range(3000))
    (tmp_path / "root").mkdir()
    path = tmp_path / "root" / "pamap2.zip"
    inner = tmp_path / "inner.zip" if nested else path
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("PAMAP2_Dataset/Protocol/subject101.dat", text)
    data = inner.read_bytes()
    at = data.index(b" 1 NaN 30", 200_000)
    inner.write_bytes(data[:at] + b" 1xNaN 30" + data[at + 9 :])
    if nested:
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(inner, "inner.zip")
    with pytest.raises(InputError) as caught:
        list(REGISTRY["pamap2"].read(tmp_path / "root"))
    assert "subject101.dat: is damaged in its archive (Bad CRC-32" in str(caught.value)
    assert "obtain the archive again" in str(caught.value)
    plain = tmp_path / "plain" / "PAMAP2_Dataset" / "Protocol" / "subject101.dat"
    plain.parent.mkdir(parents=True)
    plain.write_text(text.replace("0.02 1 NaN", "0.02 1xNaN", 1))
    with pytest.raises(InputError, match=r"subject101\.dat: line 3"):
        list(REGISTRY["pamap2"].read(tmp_path / "plain"))


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("dsads", "data/a01/p1/s01.txt", ("8.0", "8e30"), "s01.txt: line 1: a value of 8e+30, expected at most 1e+05"),
        (
            "wisdm",
            "wisdm-dataset/raw/phone/gyro/data_1600_gyro_phone.txt",
            (",9.8,", ",9.8e9,"),
            "data_1600_gyro_phone.txt: line 1: a value of 9.8e+09",
        ),
        (
            "motionsense",
            "A_DeviceMotion_data/std_6/sub_1.csv",
            (",-0.8,", ",-8e8,"),
            "sub_1.csv: line 2: a value of -8e+08, expected at most 1.02e+04",
        ),
    ],
)
def test_absurd_values_are_told_with_their_line(tmp_path, name, file, change, message):
    WRITERS[name](tmp_path)
    path = tmp_path / file
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(InputError) as caught:
        list(REGISTRY[name].read(tmp_path))
    assert message in str(caught.value)


def test_the_list_says_how_many_people_are_there():
    listed = {row["dataset"].value: row["subjects"].value for row in catalogue("list").tables[0].rows}
    assert (listed["ku_har"], listed["mobiact"], listed["wisdm"]) == (89, 57, 51)


def test_where_datasets_are(tmp_path):
    write_motionsense(tmp_path / "phone")
    write_dsads(tmp_path / "x")
    zipped(tmp_path / "x", tmp_path / "dsads.zip")
    shutil.rmtree(tmp_path / "x")
    there = found(tmp_path)
    assert sorted(there) == ["dsads", "motionsense"]
    assert WISDM.find(tmp_path) is None
    assert DSADS.find(tmp_path).is_archive
    assert str(MOTION.find(tmp_path)).endswith("/phone")
    with pytest.raises(InputError, match="wisdm is not in"):
        list(WISDM.read(tmp_path))
    write_motionsense(tmp_path / "copy")
    with pytest.raises(InputError, match="holds motionsense 2 times"):
        MOTION.find(tmp_path)


def test_motionsense_in_both_variants(tmp_path):
    write_motionsense(tmp_path, rows=8)
    whole = next(iter(MOTION.read(tmp_path, "strict")))
    assert (whole.id, whole.subject, whole.label) == ("motionsense/sub_1/std_6", "sub_1", "standing")
    np.testing.assert_allclose(whole.times, np.arange(8) / 50)
    expected = [(0.6 + 0.03) * 9.80665, 0.0, -0.8 * 9.80665, 0.1, 0.2, 0.3]
    np.testing.assert_allclose(whole.signals[3], expected, rtol=1e-6)
    moved = next(iter(MOTION.read(tmp_path, "published")))
    np.testing.assert_allclose(moved.signals[3], [0.03 * 9.80665, 0, 0, 0.1, 0.2, 0.3], rtol=1e-6)
    with pytest.raises(InputError, match="variant 'loose'"):
        list(MOTION.read(tmp_path, "loose"))


def test_dsads_joins_segments_and_breaks_at_gaps(tmp_path):
    write_dsads(tmp_path, segments=(1, 2, 5), people=(1,), activities=(1,))
    faults = Faults()
    first, second = DSADS.read(tmp_path, faults=faults)
    assert (len(first.times), len(second.times)) == (250, 125)
    assert (first.id, second.id) == ("dsads/p1/a01_s01", "dsads/p1/a01_s05")
    assert second.times[0] == 20
    np.testing.assert_allclose(first.signals[130], [8, 1, 5, 0.2, 0.02, -0.03], rtol=1e-6)
    assert sum(faults.values()) == 1


def test_wisdm_joins_its_sensors_by_time(tmp_path):
    write_wisdm(tmp_path, people=(1600,), letters="A")
    (one,) = WISDM.read(tmp_path)
    assert one.rate_hz == pytest.approx(1e9 / 50_354_004, rel=1e-6)
    assert len(one.times) == 296  # the gyroscope begins 200 ms later: four samples of acceleration have no turning
    expected = np.arange(4, 300) * 0.050354004
    np.testing.assert_allclose(one.signals[:, 3], expected, rtol=1e-5)
    np.testing.assert_allclose(one.signals[:, 1], 9.8, rtol=1e-6)


def test_wisdm_repairs_and_refuses_time_stamps(tmp_path):
    write_wisdm(tmp_path, people=(1600,), letters="AD")
    path = tmp_path / "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt"
    lines = path.read_text().splitlines()
    lines[11] = lines[10]  # a duplicate
    del lines[100:130]  # a gap of 1.5 s
    path.write_text("\n".join(lines) + "\n")
    faults = Faults()
    recordings = list(WISDM.read(tmp_path, faults=faults))
    assert [one.id for one in recordings] == ["wisdm/1600/A_1", "wisdm/1600/A_2", "wisdm/1600/D_1"]
    assert faults["accelerometer: duplicate time stamps, dropped"] == 1
    assert faults["accelerometer: gaps in time, cut there"] == 1
    path.write_text("\n".join([lines[0]] * 50 + lines[270:]) + "\n")
    faults = Faults.leaving_out()
    assert [one.label for one in WISDM.read(tmp_path, faults=faults)] == ["sitting"]
    told = "accelerometer: 98 % of 50 stamps repeat or jump back, at most 10 %; obtain the file again"
    assert faults.broken == [f"data_1600_accel_phone.txt from row 1 on, A: {told}"]
    with pytest.raises(InputError, match="98 % of 50 stamps repeat or jump back"):
        list(WISDM.read(tmp_path))


def test_a_recording_refused_for_its_stamps_makes_a_partial_run(tmp_path, write):
    write_wisdm(tmp_path, letters="AD")
    path = tmp_path / "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0]] * 50 + lines[300:]) + "\n")
    write(tmp_path, "target", "test", ("sitting", "walking"), subjects=2)
    asked = {"systems": "majority", "tasks": "zs-open", "profile": "smoke", "out": "none"}
    result = gnomon.run("har", data_root=str(tmp_path), train="wisdm", test="target", **asked)
    assert not result.complete
    (left,) = result.runs[0].coverage["unreadable"]["wisdm"]
    assert left.startswith("data_1600_accel_phone.txt from row 1 on, A: accelerometer: 98 % of 50 stamps")
    (said,) = [finding for finding in result.runs[0].findings if finding.id == "files-left-out"]
    assert (said.severity, left in said.evidence) == ("warning", True)


def test_wisdm_without_a_gyroscope_masks_it(tmp_path):
    write_wisdm(tmp_path, people=(1600,), letters="A")
    shutil.rmtree(tmp_path / "wisdm-dataset/raw/phone/gyro")
    faults = Faults()
    (one,) = WISDM.read(tmp_path, faults=faults)
    assert one.mask.tolist() == [True] * 3 + [False] * 3
    assert not one.signals[:, 3:].any()
    assert faults == {"subjects without gyroscope, its channels masked": 1}


def test_repair_of_stamps():
    fixed = repair(np.array([0.0, 0.1, 0.1, 0.2, 5.0, 5.1, 4.0, 4.1, *np.arange(5, 7, 0.1)]))
    assert [piece.tolist()[:4] for piece in fixed.pieces] == [[0, 1, 3], [4, 5], [6, 7], [8, 9, 10, 11]]
    assert (fixed.duplicates, fixed.backwards, fixed.gaps, fixed.refused) == (1, 1, 2, False)
    assert repair(np.zeros(20)).refused
    assert repair(np.array([])).pieces == ()


def broken(path, change):
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("motionsense", "A_DeviceMotion_data/wlk_7/sub_1.csv", lambda b: b[:-20], "line 651: ends after"),
        (
            "motionsense",
            "A_DeviceMotion_data/wlk_7/sub_1.csv",
            lambda b: b.replace(b"\n7,", b"\n9,", 1),
            "line 9: row nu",
        ),
        (
            "motionsense",
            "A_DeviceMotion_data/wlk_7/sub_1.csv",
            lambda b: b.replace(b"gravity.x", b"g.x"),
            "line 1: header",
        ),
        (
            "motionsense",
            "A_DeviceMotion_data/wlk_7/sub_1.csv",
            lambda b: b.replace(b"0.6", b"zero", 1),
            "line 2: cell 5",
        ),
        ("motionsense", "A_DeviceMotion_data/wlk_7/sub_1.csv", lambda b: b.split(b"\n")[0] + b"\n", "no rows after"),
        ("motionsense", "A_DeviceMotion_data/wlk_7/sub_1.csv", lambda b: b"", "the file is empty"),
        ("dsads", "data/a09/p1/s02.txt", lambda b: b[: len(b) // 2], "line 63: ends after"),
        ("dsads", "data/a09/p1/s02.txt", lambda b: b"\n".join(b.split(b"\n")[:124]), "124 rows, expected 125"),
        ("dsads", "data/a09/p1/s02.txt", lambda b: b.replace(b"8.0", b"8,0", 1), "line 1: goes on"),
        ("wisdm", "wisdm-dataset/raw/phone/gyro/data_1600_gyro_phone.txt", lambda b: b[:-9], "line 600: ends after"),
        (
            "wisdm",
            "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt",
            lambda b: b.replace(b"0,D", b"0,N", 1),
            "row 301",
        ),
        (
            "wisdm",
            "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt",
            lambda b: b.replace(b"1600,", b"1601,", 1),
            "row 1",
        ),
    ],
)
def test_damaged_files_are_named_with_their_line(tmp_path, name, file, change, message):
    WRITERS[name](tmp_path)
    broken(tmp_path / file, change)
    with pytest.raises(InputError) as caught:
        list(REGISTRY[name].read(tmp_path))
    assert message in str(caught.value)
    assert file in str(caught.value)
    report = REGISTRY[name].check(tmp_path)
    assert report.state != "complete"
    assert message in (report.error or report.broken[0])


def test_a_damaged_archive_is_refused(tmp_path):
    write_dsads(tmp_path / "a")
    path = zipped(tmp_path / "a", tmp_path / "a.zip")
    data = bytearray(path.read_bytes())
    data[60:70] = b"\0" * 10
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"s01\.txt: cannot be read from the archive"):
        list(DSADS.read(path))
    path.write_bytes(bytes(data[: len(data) // 2]))
    with pytest.raises(InputError, match="is no zip archive"):
        DSADS.find(path)
    with pytest.raises(InputError, match="no such folder"):
        DSADS.find(tmp_path / "nowhere")


def test_checking_says_what_is_missing_and_odd(tmp_path):
    write_wisdm(tmp_path, people=(1600, 1699), letters="AD")
    report = WISDM.check(tmp_path)
    assert report.found
    assert report.files == 4
    assert report.windows == 8
    assert any(text.startswith("50 subjects of 51") for text in report.missing)
    assert any("16 labels of 18" in text for text in report.missing)
    assert any("'1699'" in text for text in report.odd)
    assert any("measured one 19.86 Hz" in text for text in report.odd)
    assert report.resting_ms2 == pytest.approx(9.8, abs=0.01)


def at_rest(scale, gravity="present", subject="a"):
    signals = np.zeros((10, 6))
    signals[:, 2] = scale
    return Recording("d", subject, f"d/{subject}/1", "sitting", np.arange(10) / 50, signals, np.ones(6, bool), 50.0)


def test_units_are_seen_from_people_at_rest():
    kept = DSADS.manifest
    assert check_units(kept, "strict", [at_rest(9.8)]) == ()
    assert "in g" in check_units(kept, "strict", [at_rest(1.0)])[0].evidence
    assert "without gravity" in check_units(kept, "strict", [at_rest(0.2)])[0].evidence
    (odd,) = check_units(
        kept, "strict", [at_rest(9.8, subject="a"), at_rest(9.7, subject="b"), at_rest(1.0, subject="c")]
    )
    assert "d/c/1" in odd.evidence
    assert "g and m/s^2" in odd.evidence
    removed = MOTION.manifest
    assert check_units(removed, "published", [at_rest(0.2)]) == ()
    assert check_units(removed, "published", [at_rest(9.8)])[0].id == "resting-acceleration"
    assert check_units(removed, "strict", []) == ()


@pytest.mark.parametrize("dataset", REGISTRY.values(), ids=REGISTRY)
def test_manifests_are_complete(dataset):
    one = dataset.manifest
    for text in (one.title, one.placement, one.people, one.licence, one.citation, one.source, dataset.layout):
        assert text
    assert one.source.startswith("https://")
    assert len(one.channels) == 6
    assert all(one.channels[:3])
    assert all(one.channels[3:]) or one.name == "unimib"  # which has no gyroscope
    assert set(one.gravity) == {"published", "strict"}
    labels = TRAIN_LABELS[one.name] if one.role == "train" else TEST_LABELS[one.name]
    assert set(one.labels.values()) == set(labels)
    assert one.role != "train" or set(labels) <= set(LABELS)
    assert (one.role == "severe") == (one.name in SEVERE)
    low, high, step = one.patch_s
    assert 0 < low <= high <= WINDOW_S
    assert step > 0


def test_how_many_people_there_are():
    # as the distributions name them; KU-HAR numbers 1001 to 1090 and 1101, of which two have no files
    assert {name: len(one.manifest.subjects) for name, one in REGISTRY.items()} == {
        "uci_har": 30,
        "hhar": 9,
        "pamap2": 9,
        "wisdm": 51,
        "dsads": 8,
        "ku_har": 91,
        "unimib": 30,
        "hapt": 30,
        "mhealth": 10,
        "recgym": 10,
        "motionsense": 24,
        "realworld": 15,
        "mobiact": 57,
        "vtt_coniot": 13,
    }


def test_the_fourteen_are_known_in_the_order_of_the_vocabulary():
    assert list(REGISTRY) == [*TRAIN_LABELS, *TEST_LABELS]
    assert {label for name in TRAIN_LABELS for label in REGISTRY[name].manifest.labels.values()} == set(LABELS)


MEMBERS = {
    "uci_har": "UCI HAR Dataset/train/Inertial Signals/body_acc_x_train.txt",
    "hhar": "Activity recognition exp/Phones_accelerometer.csv",
    "pamap2": "PAMAP2_Dataset/Protocol/subject101.dat",
    "wisdm": "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt",
    "dsads": "data/a01/p1/s01.txt",
    "ku_har": "1.Raw_time_domian_data/0.Stand/1001_A_1.csv",
    "unimib": "UniMiB-SHAR/data/acc_data.mat",
    "hapt": "RawData/acc_exp01_user01.txt",
    "mhealth": "MHEALTHDATASET/mHealth_subject1.log",
    "recgym": "RecGym.csv",
    "motionsense": "A_DeviceMotion_data/wlk_7/sub_1.csv",
    "realworld": "proband1/data/acc_walking_csv.zip/acc_walking_waist.csv",
    "mobiact": "WAL/WAL_acc_1_1.txt",
    "vtt_coniot": "activity_1_user_1_combined.csv",
}
"""A file of every dataset as its authors call it; that of RealWorld is in an archive of its own."""


def write_member(root, name):
    """Write a file of a dataset, which holds nothing that could be read."""
    outer, _, inner = MEMBERS[name].rpartition(".zip/")
    path = root / (f"{outer}.zip" if outer else inner)
    path.parent.mkdir(parents=True, exist_ok=True)
    if outer:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(inner, "x")
    else:
        path.write_text("x")


@pytest.mark.parametrize("name", REGISTRY)
def test_archives_are_found_as_deep_as_folders(tmp_path, name):
    write_member(tmp_path / "plain" / "a" / "b", name)
    packed = zipped(tmp_path / "plain" / "a" / "b", tmp_path / "packed.zip")
    for where in ("here", "one/below", "motion-sense-master/data/two", "a/b/c/d/five"):
        target = tmp_path / where.split("/")[0] / where / "some name.zip"
        target.parent.mkdir(parents=True)
        shutil.copy(packed, target)
        root = tmp_path / where.split("/")[0]
        assert list(found(root).usable) == [name], where
        assert not found(root).faults
        assert "some name.zip" in str(REGISTRY[name].find(root))
    assert list(found(tmp_path / "plain").usable) == [name]


def test_a_bad_neighbour_stops_nothing_else(tmp_path):
    write_dsads(tmp_path / "x")
    for copy in ("a", "b"):
        write_motionsense(tmp_path / copy)
    (tmp_path / "wisdm.zip").write_bytes(b"PK no archive")
    deep = tmp_path / "c" / "d"
    deep.mkdir(parents=True)
    whole = zipped(tmp_path / "x", tmp_path / "whole.zip").read_bytes()
    (tmp_path / "whole.zip").unlink()
    (deep / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "._copy.zip").write_bytes(b"what a finder leaves behind")
    (tmp_path / "bad.toml").write_text("[dataset]\nname =")
    there = found(tmp_path)
    assert list(there.usable) == ["dsads"]
    assert sorted(there.faults) == ["bad.toml", "c/d/cut.zip", "motionsense", "wisdm.zip"]
    assert there["dsads"][0] is DSADS
    assert "remove one, or point --data-root at one of them" in there.faults["motionsense"]
    with pytest.raises(InputError, match="holds motionsense 2 times"):
        there["motionsense"]
    with pytest.raises(KeyError):
        there["wisdm"]
    assert "motionsense" in there
    assert "wisdm" not in there
    with pytest.raises(InputError):  # whoever takes all of them meets what is wrong
        dict(there)
    answer = catalogue("check", str(tmp_path))
    assert answer.faults == 4
    states = {row["dataset"].value: row["state"].value for row in answer.tables[0].rows}
    assert states == {"dsads": "a part"} | dict.fromkeys(there.faults, "unusable")
    assert json.loads(render(answer.tables, "json"))  # which refuses tables with holes
    notes = "\n".join(answer.tables[0].notes)
    assert all(
        name in notes for name in ("wisdm.zip: not a readable zip archive", "cut.zip: cannot be read", "bad.toml")
    )
    assert "_copy" not in notes


def test_a_run_meets_the_faults_of_what_it_uses_alone(tmp_path):
    write_dsads(tmp_path / "x")
    write_motionsense(tmp_path / "y")
    for copy in ("a", "b"):
        write_wisdm(tmp_path / copy)
    train, test = locate(str(tmp_path), ["dsads"], ["motionsense"])
    assert [one.name for one in (*train, *test)] == ["dsads", "motionsense"]
    with pytest.raises(InputError, match="holds wisdm 2 times"):
        locate(str(tmp_path), ["dsads", "wisdm"], ["motionsense"])
    with pytest.raises(InputError, match="holds wisdm 2 times"):
        locate(str(tmp_path), [], [])


def test_the_catalogue(tmp_path):
    listed = catalogue("list").tables[0]
    assert [row["dataset"].value for row in listed.rows] == list(REGISTRY)
    write_dsads(tmp_path)
    answer = catalogue("check", str(tmp_path))
    assert answer.faults == 0
    (row,) = answer.tables[0].rows
    assert (row["files"].value, row["windows"].value, row["state"].value) == (12, 8, "a part")
    assert any("6 subjects of 8" in note for note in answer.tables[0].notes)
    assert "dsads: read from data" in answer.tables[0].notes
    absent = {row["dataset"].value: row["obtain"].value for row in answer.tables[1].rows}
    assert absent == {name: one.manifest.source for name, one in REGISTRY.items() if name != "dsads"}
    assert len(catalogue("describe", "wisdm").tables) == 3
    assert catalogue("describe", "nothing") is None
    assert catalogue("describe", "nothing", data_root=str(tmp_path)) is None


def test_what_cannot_be_read_is_named_and_the_rest_is_counted(tmp_path):
    write_dsads(tmp_path)
    broken(tmp_path / "data/a09/p1/s02.txt", lambda data: data[:100])
    answer = catalogue("check", str(tmp_path))
    assert answer.faults == 1
    assert answer.tables[0].rows[0]["state"].value == "a part"
    notes = "\n".join(answer.tables[0].notes)
    assert "left out, cannot be read: " in notes
    assert "s02.txt: line" in notes
    assert len(DSADS.check(tmp_path).broken) == 1


def test_an_empty_folder_says_where_everything_is_obtained(tmp_path):
    answer = catalogue("check", str(tmp_path))
    assert answer.faults == 1
    (table,) = answer.tables
    assert "none of the datasets" in table.title
    assert [row["dataset"].value for row in table.rows] == list(REGISTRY)
    with pytest.raises(InputError, match="no such folder"):
        catalogue("check", str(tmp_path / "nowhere"))


def test_checking_as_published(tmp_path):
    write_motionsense(tmp_path)
    strict, published = (catalogue("check", str(tmp_path), variant=name) for name in ("strict", "published"))
    rest = [answer.tables[0].rows[0]["rest"].value for answer in (strict, published)]
    # gravity is (0.6, 0, -0.8) g, and 0 to 0.06 g are added to its x in turn; published has only the latter
    assert rest == pytest.approx([np.hypot(0.63, 0.8) * 9.80665, 0.03 * 9.80665], rel=1e-6)
    assert "published" in published.tables[0].title
    assert any("pre-cuts" in note for note in published.tables[0].notes)
    with pytest.raises(InputError, match="variant 'loose'"):
        catalogue("check", str(tmp_path), variant="loose")


class TestReal:
    """What the real samples hold."""

    pytestmark = real

    def test_motionsense(self):
        (path,) = [path for path in REAL_ZIPS if "motionsense" in path.name]
        report = MOTION.check(path)
        assert (report.files, report.recordings, report.windows) == (150, 150, 1901)
        assert len(report.subjects) == 10
        assert report.rates_hz == (50, 50, 50)
        assert report.resting_ms2 == pytest.approx(9.8, abs=0.1)
        assert MOTION.check(path, "published").resting_ms2 < 0.3
        assert not report.odd
        assert not report.doubts
        assert report.state == "a part"

    def test_dsads(self):
        (path,) = [path for path in REAL_ZIPS if "dsads" in path.name]
        report = DSADS.check(path)
        # 3 people, 19 activities, 15 segments of 5 s: 75 s give 12 windows
        assert (report.files, report.recordings, report.windows) == (855, 57, 684)
        assert report.subjects == ("p1", "p2", "p3")
        assert report.resting_ms2 == pytest.approx(9.8, abs=0.1)
        assert not report.odd

    def test_wisdm(self):
        (path,) = [path for path in REAL_ZIPS if "wisdm" in path.name]
        report = WISDM.check(path)
        # 6 people, 18 activities, one person without jogging; about 180 s each give 29 windows
        assert (report.files, report.recordings, report.windows) == (12, 107, 107 * 29)
        assert report.rates_hz[1] == pytest.approx(1 / 0.050354, rel=1e-4)
        assert report.resting_ms2 == pytest.approx(9.8, abs=0.1)
        told = ("gyroscope does not cover", "the measured one 19.86 Hz")
        assert all(any(words in text for words in told) for text in report.odd)
        assert not report.doubts

    def test_native_and_slow_windows_agree(self):
        (path,) = [path for path in REAL_ZIPS if "dsads" in path.name]
        recordings = list(DSADS.read(path))[:19]
        spans = cut(recordings)
        native, slow = at_rate(recordings, spans, None), at_rate(recordings, spans, 20.0)
        assert native.ids == slow.ids
        assert native.signals.shape[1:] == (150, 6)
        assert slow.signals.shape[1:] == (120, 6)
        np.testing.assert_allclose(native.signals.mean(axis=1), slow.signals.mean(axis=1), atol=0.35)
        assert resting(recordings)


@pytest.mark.parametrize(
    ("name", "file", "change"),
    [
        ("wisdm", "wisdm-dataset/raw/phone/gyro/data_1600_gyro_phone.txt", lambda b: b[:-9]),
        ("dsads", "data/a09/p1/s02.txt", lambda b: b.replace(b"8.0", b"8,0", 1)),
    ],
)
def test_a_damaged_file_is_left_out_where_that_is_asked_for(tmp_path, name, file, change):
    WRITERS[name](tmp_path)
    whole = [recording.id for recording in REGISTRY[name].read(tmp_path)]
    broken(tmp_path / file, change)
    faults = Faults.leaving_out()
    left = [recording.id for recording in REGISTRY[name].read(tmp_path, faults=faults)]
    assert set(left) < set(whole)
    assert len(faults.broken) == 1
    assert file in faults.broken[0]
