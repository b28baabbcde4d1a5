"""MHEALTH, RecGym, RealWorld, MobiAct and VTT-ConIoT: miniatures as their distributions write them.

Files are written by plain code in the form of the originals (header spelling, separators, digits, names); expected
values are those that were written, converted by hand. The first rows of RecGym and MobiAct are what public copies show.
"""

import io
import random
import shutil
import zipfile
from collections import Counter

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.suites.har.datasets import Faults, mhealth, mobiact, realworld, recgym, vtt_coniot
from gnomon.suites.har.datasets.joining import joined, together, turning, unbroken
from gnomon.suites.har.datasets.units import resting
from gnomon.suites.har.vocabulary import TEST_LABELS, TRAIN_LABELS
from gnomon.suites.har.windows import cut

MHEALTH, RECGYM, REALWORLD, MOBIACT, VTT = (
    module.DATASET for module in (mhealth, recgym, realworld, mobiact, vtt_coniot)
)
DATASETS = (MHEALTH, RECGYM, REALWORLD, MOBIACT, VTT)
DEG = np.pi / 180


UNCOVERED = "samples of the accelerometer that the gyroscope does not cover, left out"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def packed(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def read(dataset, root, variant="strict"):
    faults = Faults()
    return list(dataset.read(root, variant, faults)), faults


# MHEALTH -------------------------------------------------------------------------------------------------------------


def write_mhealth(root, subjects=(1, 2), runs=((0, 30), (1, 320), (0, 10), (4, 350), (1, 5))):
    for subject in subjects:
        lines = []
        for code, rows in runs:
            for k in range(rows):
                row = [-9.8, 0.1, 0.2, 0.004, -0.02, 2.1, -9.6, 0.6, -45.0, 90.0, k / 100, 0.7, 0.3, 0.2]
                row += [-3.0, 9.3, 0.5, 180.0, -90.0, 1.5, 0.6, -0.9, 0.5]
                lines.append("\t".join(f"{value:.5g}" for value in row) + f"\t{code}")
        put(root / "MHEALTHDATASET" / f"mHealth_subject{subject}.log", "\n".join(lines) + "\n")
    put(root / "MHEALTHDATASET" / "README.txt", "mHealth dataset\n")


def test_mhealth_takes_both_sensors_from_the_arm(tmp_path):
    write_mhealth(tmp_path)
    found, faults = read(MHEALTH, tmp_path)
    names = [f"mhealth/subject{s}/{run}" for s in (1, 2) for run in ("1_1", "4_1", "1_2")]
    assert [one.id for one in found] == names
    assert [one.label for one in found[:3]] == ["standing", "walking", "standing"]
    np.testing.assert_allclose(found[0].signals[7], [-3, 9.3, 0.5, np.pi, -np.pi / 2, 1.5 * DEG], rtol=1e-6)
    np.testing.assert_allclose(found[0].times, np.arange(320) / 50)
    assert all(one.tags == {"acceleration": "right lower arm", "rotation": "right lower arm"} for one in found)
    assert faults == {"rows without an activity, left out": 80}
    assert resting(found)["mhealth/subject1/1_1"] == pytest.approx((9 + 9.3**2 + 0.25) ** 0.5, rel=1e-6)


def test_mhealth_as_published_mixes_placements_and_says_so(tmp_path):
    write_mhealth(tmp_path, subjects=(1,))
    found, faults = read(MHEALTH, tmp_path, "published")
    expected = [-9.8, 0.1, 0.2, -45 * DEG, 90 * DEG, 0.07 * DEG]
    np.testing.assert_allclose(found[0].signals[7], expected, rtol=1e-6)
    assert found[0].tags == {"acceleration": "chest", "rotation": "left ankle"}
    assert faults["recordings with acceleration of the chest and angular rate of the left ankle"] == 3
    assert any("mixes placements" in note for note in MHEALTH.manifest.notes)
    assert any("left ankle" in text for text in MHEALTH.check(tmp_path, "published").odd)


# RecGym --------------------------------------------------------------------------------------------------------------

RECGYM_HEADER = "Subject,Position,Session,A_x,A_y,A_z,G_x,G_y,G_z,C_1,Workout"
RECGYM_FIRST = "1,wrist,1,0.501125,0.500625,0.5005,0.50015625,0.4999625,0.5003125,0.501227,Null"


def write_recgym(root, header=RECGYM_HEADER, order=None, runs=(("Null", 40), ("Squat", 130), ("StairClimber", 125))):
    lines = [RECGYM_FIRST]
    for subject in (1, 2):
        for position in ("wrist", "pocket", "leg"):
            for session in (1, 2):
                for workout, rows in runs:
                    lines += [
                        f"{subject},{position},{session},{0.5 + k % 9 / 8000!r},0.4875,0.5125,"
                        f"0.55,0.45,{0.5 + k % 5 / 25600!r},0.51,{workout}"
                        for k in range(rows)
                    ]
    cells = [header.split(","), *(line.split(",") for line in lines)]
    order = range(len(cells[0])) if order is None else order
    put(root / "RecGym.csv", "".join(",".join(row[k] for k in order) + "\n" for row in cells))


def test_recgym_reads_the_wrist_by_session_and_workout(tmp_path):
    write_recgym(tmp_path)
    found, faults = read(RECGYM, tmp_path)
    keys = [f"recgym/{p}/s{s}_{w}_1" for p in (1, 2) for s in (1, 2) for w in ("Squat", "StairClimber")]
    assert [one.id for one in found] == keys
    assert {one.label for one in found} == {"squat", "stairclimber"}
    assert [len(one.times) for one in found[:2]] == [130, 125]
    expected = [3 * 0.01, -1.0, 1.0, 80 * DEG, -80 * DEG, 3 / 16 * DEG]  # k = 3: 3 steps of .01 m/s^2 and 1/16 deg/s
    np.testing.assert_allclose(found[0].signals[3], expected, rtol=1e-5)
    assert found[0].rate_hz == 20
    assert faults == {
        "rows without a workout, left out": 4 * 40 + 1,
        "rows of other positions than the wrist, left out": 8 * 295,
    }


def test_recgym_takes_columns_by_name_and_streams(tmp_path, monkeypatch):
    write_recgym(tmp_path / "a")
    plain, _ = read(RECGYM, tmp_path / "a")
    turned = RECGYM_HEADER.replace("Subject", "Object")
    write_recgym(tmp_path / "b", header=turned, order=[0, 10, 1, 5, 4, 3, 9, 8, 7, 6, 2])
    monkeypatch.setattr(recgym, "_BLOCK", 2000)
    other, _ = read(RECGYM, tmp_path / "b")
    assert [one.id for one in other] == [one.id for one in plain]
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_array_equal(a.signals, b.signals)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("Workout", "Exercise", 1), "line 1: expected one column 'Workout'"),
        (lambda t: t.replace("Subject", "Who", 1), "line 1: expected one column 'Subject' or 'Object'"),
        (lambda t: t.replace(",A_y,", ",A_x,", 1), "line 1: column 'A_x' more than once"),
        (
            lambda t: t.replace("\n1,wrist,1,0.5,", "\n1,wrist,1,zero,", 1),
            "line 3, column 'A_x': is 'zero', expected a number; correct",
        ),
        (lambda t: t.replace("\n1,wrist,1,0.5,", "\n1,wrist,1,nan,", 1), "line 3: a value is not finite"),
        (lambda t: t.replace("\n1,wrist,1,0.5,", "\n1,wrist,1,", 1), "line 3: 10 cells, expected 11 as in the header"),
        (
            lambda t: t.replace("\n1,wrist,1,0.5,", "\n1,wrist,1.5,0.5,", 1),
            "line 3, column 'Session': is '1.5', expected a whole",
        ),
        (lambda t: t.replace("wrist", "nose", 1), "line 2: position 'nose'"),
        (lambda t: t.replace("Squat", "Yoga"), "line 43: workout 'Yoga'"),
        (lambda t: t.replace("0.4875", "-9.81"), "median of A_y is -9.81, expected about 0.5"),
        (lambda t: t.replace("wrist", "leg"), "no rows of the position 'wrist'"),
        (lambda t: t[: t.rindex(",")], "10 cells, expected 11 as in the header"),
        (lambda t: "", "the file is empty"),
        (lambda t: "\n", "line 1: expected one column"),
    ],
)
def test_recgym_refuses_other_files(tmp_path, change, message):
    write_recgym(tmp_path)
    path = tmp_path / "RecGym.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as caught:
        read(RECGYM, tmp_path)
    assert message in str(caught.value)
    assert "RecGym.csv" in str(caught.value)


# RealWorld -----------------------------------------------------------------------------------------------------------


def realworld_csv(rows=400, step=20, start=1_435_993_888_123, value=lambda k: (0.5, 9.7, k / 8)):
    lines = ["id,attr_time,attr_x,attr_y,attr_z"]
    lines += [f"{k + 1},{start + k * step}," + ",".join(f"{v:.7g}" for v in value(k)) for k in range(rows)]
    return "\n".join(lines) + "\n"


def gyro_csv(late=100, **more):
    return realworld_csv(start=1_435_993_888_123 + late, value=lambda k: (0.01 * k, 0.0, -1.0), **more)


def write_realworld(root, unpacked=False):
    """Proband 1 with plain archives, 4 with archives inside archives and a second part alone."""
    data = root / "realworld2016_dataset"
    readme = {"readMe": b"about the files"}

    def activity(person, sensor, name, files):
        folder = data / f"proband{person}" / "data"
        if unpacked:
            for inner, text in files.items():
                put(folder / f"{sensor}_{name}_csv" / inner, text)
        else:
            put(folder / f"{sensor}_{name}_csv.zip", packed({**files, **readme}))

    for name in ("walking", "sitting"):
        places = ("chest", "waist")
        activity(1, "acc", name, {f"acc_{name}_{place}.csv": realworld_csv() for place in places})
        activity(1, "gyr", name, {f"Gyroscope_{name}_{place}.csv": gyro_csv() for place in places})
    activity(4, "acc", "walking", {"acc_walking_2_waist.csv": realworld_csv()})
    activity(4, "gyr", "walking", {"Gyroscope_walking_2_waist.csv": gyro_csv()})
    up = [("", "_1"), ("_2", "_2"), ("_3", "_3")]
    acc = {f"acc_climbingup{z}_csv.zip": {f"acc_climbingup{f}_waist.csv": realworld_csv()} for f, z in up}
    gyr = {f"gyr_climbingup{f}_csv.zip": {f"Gyroscope_climbingup{f}_waist.csv": gyro_csv()} for f, _ in up}
    for sensor, parts in (("acc", acc), ("gyr", gyr)):
        if unpacked:
            flat = {f"{zipped[:-4]}/{name}": text for zipped, files in parts.items() for name, text in files.items()}
            activity(4, sensor, "climbingup", flat)
        else:
            activity(4, sensor, "climbingup", {name: packed(files) for name, files in parts.items()})


REALWORLD_IDS = [
    "realworld/proband1/sitting_1",
    "realworld/proband1/walking_1",
    *(f"realworld/proband4/climbingup_{part}" for part in (1, 2, 3)),
    "realworld/proband4/walking_2",
]


@pytest.mark.parametrize("unpacked", [False, True])
def test_realworld_reads_archives_in_archives_and_folders(tmp_path, unpacked):
    write_realworld(tmp_path, unpacked)
    found, faults = read(REALWORLD, tmp_path)
    assert [one.id for one in found] == REALWORLD_IDS
    assert [one.label for one in found] == ["sitting", "walking", *["stairs_up"] * 3, "walking"]
    one = found[1]
    assert len(one.times) == 395  # the gyroscope begins 100 ms later: five samples have no angular rate
    np.testing.assert_allclose(one.signals[:, 2], np.arange(5, 400) / 8)
    np.testing.assert_allclose(one.signals[:, 3], np.arange(395) / 100, atol=1e-6)
    assert one.mask.all()
    assert one.rate_hz == 50
    assert faults == {UNCOVERED: 30}
    assert {one.subject for one in found} <= set(REALWORLD.manifest.subjects)


def test_realworld_in_one_archive_and_as_published(tmp_path):
    write_realworld(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "realworld.zip", "w") as archive:
        for path in sorted((tmp_path / "a").rglob("*.zip")):
            archive.write(path, path.relative_to(tmp_path / "a").as_posix())
    found, _ = read(REALWORLD, tmp_path / "realworld.zip")
    assert [one.id for one in found] == REALWORLD_IDS
    found, faults = read(REALWORLD, tmp_path / "realworld.zip", "published")
    assert [one.id for one in found] == REALWORLD_IDS
    assert all(one.mask.tolist() == [True] * 3 + [False] * 3 and not one.signals[:, 3:].any() for one in found)
    assert [len(one.times) for one in found] == [400] * 6
    assert not faults


def test_realworld_names_an_archive_that_cannot_be_opened(tmp_path):
    write_realworld(tmp_path)
    path = next(tmp_path.rglob("acc_walking_csv.zip"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"acc_walking_csv\.zip: not a readable zip archive"):
        read(REALWORLD, tmp_path)


def test_realworld_names_archives_that_hold_something_else(tmp_path):
    write_realworld(tmp_path)
    path = next(tmp_path.rglob("acc_walking_csv.zip"))
    path.write_bytes(packed({"acc_running_waist.csv": realworld_csv()}))
    with pytest.raises(InputError) as caught:
        read(REALWORLD, tmp_path, "published")
    said = "holds acc of 'running', expected acc of 'walking' in acc_walking_csv.zip; mixed-up files"
    assert f"acc_running_waist.csv: {said}" in str(caught.value)
    path.write_bytes(packed({"acc_walking_waist.csv": b""}))
    with pytest.raises(InputError, match=r"acc_walking_waist\.csv: is empty, expected rows; obtain the archive again"):
        read(REALWORLD, tmp_path, "published")
    path.write_bytes(packed({"acc_walking_waist.csv": realworld_csv().replace("9.7,", "9.7e7,", 1)}))
    with pytest.raises(
        InputError, match=r"acc_walking_waist\.csv: line 2: a value of 9\.7e\+07, expected at most 1e\+05"
    ):
        read(REALWORLD, tmp_path, "published")


def test_realworld_without_a_gyroscope(tmp_path):
    write_realworld(tmp_path)
    (tmp_path / "realworld2016_dataset/proband1/data/gyr_sitting_csv.zip").unlink()
    found, faults = read(REALWORLD, tmp_path)
    assert [one.id for one in found] == [REALWORLD_IDS[1], *REALWORLD_IDS[2:]]
    assert faults == {"recordings without gyroscope, left out": 1, UNCOVERED: 25}
    assert len(read(REALWORLD, tmp_path, "published")[0]) == 6


def test_realworld_refuses_what_it_cannot_tell(tmp_path):
    data = tmp_path / "proband3" / "data"
    put(data / "acc_walking_csv.zip", packed({"acc_walking_waist.csv": realworld_csv()}))
    put(data / "acc_walking_csv" / "acc_walking_waist.csv", realworld_csv())
    with pytest.raises(InputError, match="is there twice"):
        read(REALWORLD, tmp_path, "published")
    shutil.rmtree(data / "acc_walking_csv")
    (data / "acc_walking_csv.zip").unlink()
    put(data / "acc_swimming_csv.zip", packed({"acc_swimming_waist.csv": realworld_csv()}))
    with pytest.raises(InputError, match="activity 'swimming'"):
        read(REALWORLD, tmp_path, "published")


# MobiAct -------------------------------------------------------------------------------------------------------------

MOBIACT_HEAD = """#{what}
#timestamp(ns),x,y,z({unit})
#Datetime: 02/06/2014 15:24:25
##########################################
#Activity: 12 - {code} - Back-sitting-chair - 10s
#Subject ID: {subject}
#First Name: sub{subject}
#Last Name: sub{subject}
#Age: 22
#Height(cm): 187
#Weight(kg): 90
#Gender: Male
##########################################

@DATA
"""
ZERO_NS = 46_449_824_617_000


def mobiact_text(sensor, code, subject, seconds, start_ns=ZERO_NS):
    what = {"acc": "Acceleration force along the x y z axes (including gravity)."}
    what["gyro"] = "Rate of rotation around the x y z axes (Angular velocity)."
    step = {"acc": 12_200_000, "gyro": 5_000_000}[sensor]
    head = MOBIACT_HEAD.format(
        what=what[sensor], unit="m/s^2" if sensor == "acc" else "rad/s", code=code, subject=subject
    )
    rows = []
    for k in range(int(seconds * 1e9 / step)):
        t = k * step / 1e9
        values = (1.1971009, 9.615114, 0.1 * t) if sensor == "acc" else (0.5 * t, -1.5, 0.25)
        rows.append(f"{start_ns + k * step}, " + ", ".join(f"{value:.8g}" for value in values))
    return head + "\n".join(rows) + "\n"


def write_mobiact(root, layout="mobiact", codes=(("WAL", 20), ("BSC", 4), ("LYI", 9)), subjects=(2, 31)):
    for subject in subjects:
        for code, seconds in codes:
            kind = "FALLS" if code == "BSC" else "ADL"
            folder = root / f"sub{subject}" / kind / code if layout == "mobifall" else root / code
            for sensor in ("acc", "gyro"):
                text = mobiact_text(sensor, code, subject, seconds)
                put(folder / f"{code}_{sensor}_{subject}_1.txt", text)
            put(folder / f"{code}_ori_{subject}_1.txt", "#Angle\n@DATA\n1, 2, 3, 4\n")


def write_annotated(root, subject=60):
    header = "timestamp,rel_time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,azimuth,pitch,roll,label"
    for code, labels in (("FOL", ["STD"] * 200 + ["FOL"] * 300 + ["LYI"] * 400), ("SLH", ["STD"] * 50)):
        rows = [
            f"{ZERO_NS + k * 5_000_000},{k * 0.005:.6f},{k / 10:.8g},9.5,0.25,-0.5,0.5,1.5,180.0,-80.1,2.2,{label}"
            for k, label in enumerate(labels)
        ]
        text = "\n".join([header, *rows]) + "\n"
        put(root / "Annotated Data" / code / f"{code}_{subject}_1_annotated.csv", text)


@pytest.mark.parametrize("layout", ["mobiact", "mobifall"])
def test_mobiact_joins_sensors_in_both_text_layouts(tmp_path, layout):
    write_mobiact(tmp_path / "MobiAct_Dataset", layout)
    found, faults = read(MOBIACT, tmp_path)
    assert [one.id for one in found] == [f"mobiact/sub{s}/{c}_1" for s in (2, 31) for c in ("BSC", "WAL")]
    fall, walk = found[:2]
    assert (fall.label, walk.label) == ("fall_backward_sitting", "walking")
    assert walk.rate_hz == pytest.approx(1e9 / 12_200_000, rel=1e-6)
    np.testing.assert_allclose(walk.signals[:, 2], 0.1 * walk.times, rtol=1e-5)
    inner = slice(60, -60)  # away from the ends, which the filter mirrors
    np.testing.assert_allclose(walk.signals[inner, 3], 0.5 * walk.times[inner], rtol=1e-4)
    np.testing.assert_allclose(walk.signals[:, 4:], [[-1.5, 0.25]] * len(walk.times), rtol=1e-6)
    assert faults == {"files of LYI, which is none of the 13 activities, left out": 4}
    assert MOBIACT.manifest.short == "pad"
    assert len(cut([fall], short="pad")) == 1
    odd = MOBIACT.check(tmp_path).odd
    assert any("the stated rate is 50 Hz, the measured one 81.97 Hz" in text for text in odd)


def test_mobiact_annotated_uses_the_rows_of_its_code(tmp_path):
    write_annotated(tmp_path / "MobiAct_Dataset_v2.0")
    raw = tmp_path / "MobiAct_Dataset_v2.0" / "Raw Data" / "FOL"
    put(raw / "FOL_acc_60_1.txt", mobiact_text("acc", "FOL", 60, 4))
    (one,), faults = read(MOBIACT, tmp_path)
    assert (one.id, one.label, one.subject) == ("mobiact/sub60/FOL_1", "fall_forward", "sub60")
    assert one.rate_hz == pytest.approx(200)
    assert len(one.times) == 300
    np.testing.assert_allclose(one.signals[0], [20, 9.5, 0.25, -0.5, 0.5, 1.5])
    assert faults == {
        "annotated rows with another label than their file, left out": 600,
        "raw files beside annotated ones, not used": 1,
        "files of SLH, which is none of the 13 activities, left out": 1,
    }


@pytest.mark.parametrize(
    ("layout", "numbers", "missing"),
    [
        ("mobiact", range(1, 58), []),
        ("mobifall", [*range(1, 22), *range(29, 32)], []),
        ("mobifall", [*range(1, 22), *range(29, 31)], ["1 subject of 24: 'sub31'"]),
        ("annotated", [*range(1, 40), *range(41, 68)], []),
        ("annotated", [*range(1, 40), *range(42, 68)], ["1 subject of 66: among 'sub40', 'sub41'"]),
        ("raw", [*range(1, 67)], []),
    ],
)
def test_mobiact_expects_the_people_of_each_release(tmp_path, layout, numbers, missing):
    """MobiAct has 57 people, MobiFall 24 of them, the second version 66 of the numbers to 67."""
    if layout == "annotated":
        for number in numbers:
            write_annotated(tmp_path, subject=number)
    else:
        root = tmp_path / "Raw Data" if layout == "raw" else tmp_path
        write_mobiact(root, layout, codes=(("BSC", 2),), subjects=numbers)
    report = MOBIACT.check(tmp_path)
    assert len(report.subjects) == len(numbers)
    assert [text for text in report.missing if "subject" in text] == missing
    assert not [text for text in report.odd if "does not name" in text]


def test_mobiact_leaves_out_what_has_one_sensor_or_none_at_the_time(tmp_path):
    write_mobiact(tmp_path, codes=(("WAL", 20), ("JOG", 8)), subjects=(1,))
    (tmp_path / "WAL" / "WAL_gyro_1_1.txt").unlink()
    put(tmp_path / "JOG" / "JOG_gyro_1_1.txt", mobiact_text("gyro", "JOG", 1, 8, start_ns=2 * ZERO_NS))
    found, faults = read(MOBIACT, tmp_path)
    assert found == []
    assert faults == {
        UNCOVERED: 655,
        "recordings without gyroscope, left out": 1,
        "recordings of which nothing is left, such as sensors that do not overlap in time": 1,
    }


def test_mobiact_cuts_at_gaps(tmp_path):
    write_mobiact(tmp_path, codes=(("WAL", 20),), subjects=(1,))
    path = tmp_path / "WAL" / "WAL_acc_1_1.txt"
    lines = path.read_text().splitlines()
    del lines[400:500]  # 1.2 s
    path.write_text("\n".join(lines) + "\n")
    found, faults = read(MOBIACT, tmp_path)
    assert [one.id for one in found] == ["mobiact/sub1/WAL_1", "mobiact/sub1/WAL_1_2"]
    assert faults == {"accelerometer: gaps in time, cut there": 1}


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("WAL/WAL_acc_1_1.txt", lambda t: t.replace("@DATA", "DATA"), "no line @DATA"),
        ("WAL/WAL_acc_1_1.txt", lambda t: t.partition("@DATA")[0] + "@DATA\n", "no rows after @DATA"),
        ("WAL/WAL_acc_1_1.txt", lambda t: t.replace("9.615114", "x", 1), "line 16: cell 3"),
        ("WAL/WAL_acc_1_1.txt", lambda t: t.replace("9.615114", "1e30", 1), "line 16: a value of 1e+30"),
        ("WAL/WAL_gyro_1_1.txt", lambda t: t[: t.rindex(",")], "ends after 3 cells"),
        ("WAL/WAL_acc_1_1.txt", lambda t: t.replace("ID: 1", "ID: 2"), "line 6: the head says '2', the name '1'"),
        ("WAL/WAL_acc_1_1.txt", lambda t: t.replace("- WAL -", "- JOG -"), "line 5: the head says 'JOG'"),
        ("WAL/WAL_acc_1_1.txt", lambda t: mobiact_text("gyro", "WAL", 1, 20), "line 1: '#rate of rotation"),
        ("sub1/ADL/WAL/WAL_acc_2_1.txt", lambda t: mobiact_text("acc", "WAL", 2, 9), "in the folder of sub1"),
        ("sub1/ADL/WAL/WAL_acc_1_1.txt", lambda t: mobiact_text("acc", "WAL", 1, 9), "is there twice"),
    ],
)
def test_mobiact_names_what_is_damaged_or_mixed_up(tmp_path, file, change, message):
    write_mobiact(tmp_path, codes=(("WAL", 20),), subjects=(1,))
    path = tmp_path / file
    put(path, change(path.read_text() if path.exists() else ""))
    with pytest.raises(InputError) as caught:
        read(MOBIACT, tmp_path)
    assert message in str(caught.value)
    assert file.rpartition("/")[2] in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("gyro_z", "gz", 1), "line 1: no column 'gyro_z'"),
        (lambda t: t.replace(",FOL", ",SDL"), "no row has the label 'FOL'"),
        (lambda t: t.replace("9.5", "?", 1), "line 2: cell 4"),
        (lambda t: t.split("\n")[0] + "\n", "no rows after the header"),
    ],
)
def test_mobiact_annotated_names_what_is_wrong(tmp_path, change, message):
    write_annotated(tmp_path)
    path = tmp_path / "Annotated Data" / "FOL" / "FOL_60_1_annotated.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as caught:
        read(MOBIACT, tmp_path)
    assert message in str(caught.value)


# VTT-ConIoT ----------------------------------------------------------------------------------------------------------


def vtt_csv(clock=("time", lambda k: f"{k * 0.00985:.5f}"), rows=650, turned=False):
    names = [f"{s}_{c}" for s in ("trousers", "back", "hand") for c in ("Ax_g", "Ay_g", "Az_g", "Gx_dps", "Gy_dps")]
    names += [f"{s}_{c}" for s in ("trousers", "back", "hand") for c in ("Gz_dps", "Mx_uT", "My_uT", "Mz_uT")]
    cells = {"Ax_g": "0.6", "Ay_g": "0.0", "Az_g": "-0.8", "Gx_dps": "90", "Gy_dps": "-45.0", "Gz_dps": "{k}"}
    table = [names, *([_vtt_cell(name, cells, k) for name in names] for k in range(rows))]
    if clock is not None:
        table = [[clock[0] if k == 0 else clock[1](k - 1), *row] for k, row in enumerate(table)]
    return "\n".join(",".join(reversed(row) if turned else row) for row in table) + "\n"


def _vtt_cell(name, cells, k):
    sensor, _, what = name.partition("_")
    return cells.get(what, "31.5").format(k=k) if sensor == "trousers" else "7.25"


def write_vtt(root, text=None, activities=(1, 13), users=(1, 2)):
    folder = root / "VTT_ConIot_Dataset" / "VTT-ConIot-IMU-Data"
    for activity in activities:
        for user in users:
            put(folder / f"activity_{activity}_user_{user}_combined.csv", text or vtt_csv())
    return folder


@pytest.mark.parametrize("turned", [False, True])
def test_vtt_takes_the_hip_by_name(tmp_path, turned):
    write_vtt(tmp_path, vtt_csv(turned=turned))
    found, faults = read(VTT, tmp_path)
    assert [one.id for one in found] == [f"vtt_coniot/user_{u}/activity_{a}" for u in (1, 2) for a in (1, 13)]
    assert [one.label for one in found[:2]] == ["roll_painting", "sitting"]
    expected = [0.6 * 9.80665, 0, -0.8 * 9.80665, np.pi / 2, -np.pi / 4, 7 * DEG]
    np.testing.assert_allclose(found[0].signals[7], expected, rtol=1e-6)
    assert found[0].rate_hz == pytest.approx(1 / 0.00985, rel=1e-3)
    assert not faults
    assert any("the stated rate is 50 Hz, the measured one 101.5 Hz" in text for text in VTT.check(tmp_path).odd)


@pytest.mark.parametrize(
    ("clock", "rate"),
    [
        (("Timestamp", lambda k: str(1_599_000_000_000 + 10 * k)), 100),
        (("time_us", lambda k: str(9875 * k)), 1e6 / 9875),
        (("trousers_time", lambda k: f"{1.6e9 + 0.01 * k:.3f}"), 100),
        (("time", lambda k: f"2020-09-14 10:11:{12 + k * 0.0125:09.6f}" if k < 3200 else ""), 80),
        (("Time", lambda k: f"2020/09/14T10:11:{12 + k * 0.0125:09.6f}Z"), 80),
    ],
)
def test_vtt_reads_time_as_it_is_written(tmp_path, clock, rate):
    write_vtt(tmp_path, vtt_csv(clock), activities=(5,), users=(3,))
    (one,), faults = read(VTT, tmp_path)
    assert one.rate_hz == pytest.approx(rate, rel=1e-4)
    assert len(one.times) == 650
    assert one.times[-1] == pytest.approx(649 / rate, rel=1e-4)
    assert not faults


def test_vtt_without_time_and_with_holes(tmp_path):
    text = vtt_csv(None).replace("0.6,0.0,", "nan,0.0,", 4).replace("-0.8,90,", ",90,", 4)
    write_vtt(tmp_path, text, activities=(5,), users=(3,))
    (one,), faults = read(VTT, tmp_path)
    assert faults == {"files without a time column, taken at 100 Hz": 1, "rows with an empty cell, left out": 4}
    assert len(one.times) == 646
    assert one.times[-1] == pytest.approx(6.45)
    assert one.rate_hz == pytest.approx(100)


def test_vtt_labels_are_data_of_the_user(tmp_path):
    folder = write_vtt(tmp_path, activities=(1, 4, 13), users=(1,))
    put(folder / "vtt_coniot_labels.toml", '4 = ""\n13 = "walking_straight"\nunit_g = 0.5\n')
    found, faults = read(VTT, tmp_path)
    assert [one.label for one in found] == ["roll_painting", "walking_straight"]
    assert found[0].signals[7, 0] == pytest.approx(0.3 * 9.80665, rel=1e-6)
    assert faults == {"files of activity 4, which vtt_coniot_labels.toml leaves out": 1}
    assert any(name.endswith("vtt_coniot_labels.toml") for name in VTT.files(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4 = walking", "not TOML"),
        ('17 = "sitting"', "'17', expected numbers from 1 to 16"),
        ('4 = "vacuum_cleaning"', "4 is 'vacuum_cleaning', expected one of carrying"),
        ("4 = 3", "4 is 3, expected one of"),
        ('unit_g = "half"', "unit_g is 'half'"),
        ("unit_g = -1", "unit_g is -1"),
        (b"\xff\xfe", "not TOML"),
    ],
)
def test_vtt_refuses_odd_labels(tmp_path, text, message):
    folder = write_vtt(tmp_path, activities=(1,), users=(1,))
    put(folder / "vtt_coniot_labels.toml", text)
    with pytest.raises(InputError) as caught:
        read(VTT, tmp_path)
    assert message in str(caught.value)
    assert "vtt_coniot_labels.toml" in str(caught.value)


def test_vtt_labels_alone_are_no_dataset(tmp_path):
    put(tmp_path / "vtt_coniot_labels.toml", '4 = ""\n')
    with pytest.raises(InputError, match="no recordings beside it"):
        read(VTT, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("trousers_Gz_dps", "trousers_Gz", 1), "line 1: no column 'trousers_Gz_dps'"),
        (lambda t: t.replace("0.6,", "up,", 1), "line 2: cell 2 is 'up'"),
        (lambda t: t[:-40], "line 651: ends after"),
        (lambda t: vtt_csv(("time", lambda k: "5")), "rises by 0 from row to row"),
        (lambda t: vtt_csv(("time", lambda k: str(7 * k))), ""),
        (lambda t: vtt_csv(("time", lambda k: "noon")), "line 2: 'time' is 'noon', expected a date"),
        (lambda t: t.split("\n")[0], "ends in its header"),
    ],
)
def test_vtt_names_what_is_wrong(tmp_path, change, message):
    folder = write_vtt(tmp_path, activities=(1,), users=(1,))
    path = folder / "activity_1_user_1_combined.csv"
    path.write_text(change(path.read_text()))
    if not message:  # 7 ms: a clock in milliseconds
        assert read(VTT, tmp_path)[0][0].rate_hz == pytest.approx(1000 / 7)
        return
    with pytest.raises(InputError) as caught:
        read(VTT, tmp_path)
    assert message in str(caught.value)
    assert "activity_1_user_1_combined.csv" in str(caught.value)


def test_vtt_refuses_activities_that_there_are_not(tmp_path):
    write_vtt(tmp_path, activities=(17,), users=(1,))
    with pytest.raises(InputError, match="activity 17, expected 1 to 16"):
        read(VTT, tmp_path)


# What they share -----------------------------------------------------------------------------------------------------


def test_joining_by_straight_lines_and_by_the_filter():
    at = np.arange(0, 4, 0.005)
    fast = np.sin(2 * np.pi * 70 * at)  # above half of 80 Hz: folds to 10 Hz where it is not filtered
    slow = np.sin(2 * np.pi * 2 * at)
    times = np.arange(0.5, 3.5, 0.0125)
    pieces = [(at, np.stack([fast, slow, fast + slow], axis=1))]
    ((rows, straight),) = joined(times, pieces)
    ((_, clean),) = joined(times, pieces, filtered=True)
    assert len(rows) == len(times)
    inner = slice(40, -40)
    assert straight[inner, 0].std() > 0.4
    assert np.abs(clean[inner, 0]).max() < 1e-3
    np.testing.assert_allclose(clean[inner, 1], np.sin(2 * np.pi * 2 * times[inner]), atol=1e-3)
    np.testing.assert_allclose(straight[:, 1], np.sin(2 * np.pi * 2 * times), atol=1e-3)


def test_joining_leaves_out_short_pieces_and_breaks():
    times = np.concatenate([np.arange(0, 3, 0.02), np.arange(5, 5.5, 0.02)])
    values = np.ones((len(times), 3))
    faults = Faults()
    ((at, signals, rate),) = together(times, values, turning(times, 2 * values, faults, where="g"), faults, where="a")
    assert (at[0], len(at), rate) == (0, 150, pytest.approx(50))
    np.testing.assert_array_equal(signals, [[1, 1, 1, 2, 2, 2]] * 150)
    assert faults == {
        "gyroscope: gaps in time, cut there": 1,
        "accelerometer: gaps in time, cut there": 1,
        "pieces shorter than a second, left out": 1,
    }
    both = list(unbroken(times, np.ones((len(times), 6)), Counter(), "table", where="t"))
    assert [len(one[0]) for one in both] == [150]


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda one: one.name)
def test_manifests_fit_the_vocabulary(dataset):
    one = dataset.manifest
    known = {**TRAIN_LABELS, **TEST_LABELS}[one.name]
    assert set(one.labels.values()) == set(known)
    assert one.role == ("severe" if one.name == "vtt_coniot" else "test" if one.name in TEST_LABELS else "train")
    assert len(one.channels) == 6
    assert all(one.channels)
    assert (
        len(one.subjects) == {"mhealth": 10, "recgym": 10, "realworld": 15, "mobiact": 57, "vtt_coniot": 13}[one.name]
    )
    assert one.source.startswith("https://")
    assert "doi:" in one.citation


WRITERS = {
    "mhealth": lambda root: write_mhealth(root, subjects=(1,), runs=((0, 4), (1, 60), (4, 60))),
    "recgym": lambda root: write_recgym(root, runs=(("Null", 3), ("Squat", 12))),
    "realworld": write_realworld,
    "mobiact": lambda root: write_mobiact(root, codes=(("WAL", 3), ("BSC", 2)), subjects=(1,)),
    "annotated": write_annotated,
    "vtt_coniot": lambda root: write_vtt(root, vtt_csv(rows=60), activities=(1,), users=(1,)),
    "dates": lambda root: write_vtt(
        root, vtt_csv(("time", lambda k: f"2020-09-14 10:11:{12 + k / 100:06.3f}"), 60), activities=(1,), users=(1,)
    ),
}
OF = {"annotated": MOBIACT, "dates": VTT, **{one.name: one for one in DATASETS}}


def damaged(data, draw):
    """Flip bytes, cut, repeat, swap cells or lines."""
    way, at = draw.randrange(5), draw.randrange(len(data))
    if way == 0:
        return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
    if way == 1:
        return data[:at]
    if way == 2:
        return data[:at] + data[draw.randrange(len(data)) :]
    lines = data.split(b"\n")
    row = draw.randrange(len(lines))
    if way == 3:
        cells = lines[row].split(b",")
        draw.shuffle(cells)
        lines[row] = b",".join(cells)
    else:
        lines[row] = draw.choice([b"", b"nan", b",,,,,", b"1e999,-1e999,nan,inf", lines[row] * 2])
    return b"\n".join(lines)


@pytest.mark.parametrize("kind", WRITERS)
def test_damage_is_an_input_error_or_a_recording(tmp_path, kind):
    WRITERS[kind](tmp_path)
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "ori" not in path.name)
    draw = random.Random(kind)
    refused = []
    for _ in range(60):
        path = draw.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, draw))
        try:
            for variant in ("strict", "published"):
                for one in OF[kind].read(tmp_path, variant):
                    assert np.isfinite(one.signals).all()
        except InputError as error:
            refused.append(str(error))
        finally:
            path.write_bytes(whole)
    assert len(refused) > 5
    assert all(str(tmp_path) in message and "\n" not in message for message in refused)
