"""Loaders of UCI HAR, HAPT, HHAR, PAMAP2, KU-HAR and UniMiB SHAR over miniatures in their original layouts.

The files are written here by plain code, as the original distributions have them; expected values are those that the
writers put in, computed by hand. Matlab files are written by ``scipy.io.savemat``, an independent implementation.
"""

import contextlib
import functools
import io
import itertools
import re
import struct
import zipfile

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.har.datasets import Faults, hapt, hhar, ku_har, matlab, pamap2, tails, uci_har, unimib
from gnomon.suites.har.datasets.catalogue import catalogue
from gnomon.suites.har.vocabulary import TRAIN_LABELS
from gnomon.suites.har.windows import at_rate, cut

G = 9.80665
LOADERS = {one.DATASET.name: one.DATASET for one in (uci_har, hapt, hhar, pamap2, ku_har, unimib)}
UCI, HAPT, HHAR, PAMAP2, KU, UNIMIB = LOADERS.values()


def c_number(value):
    """A number as UCI HAR writes it: ten characters of mantissa, three digits of exponent."""
    mantissa, exponent = f"{value:.7e}".split("e")
    return f"{mantissa:>11}e{exponent[0]}{int(exponent[1:]):03d}"


def uci_signal(subject, code, name, count):
    """One channel of a subject and activity; no two of them share a value."""
    base = 1.0 if name == "total_acc_x" else 0.0
    shift = (subject * 31 + code * 7 + sum(map(ord, name))) / 5000
    return base + shift + np.arange(count) / 100_000


UCI_NAMES = [f"{signal}_{axis}" for signal in ("total_acc", "body_acc", "body_gyro") for axis in "xyz"]


def write_uci(root, runs=((1, 5, 4), (1, 1, 3), (3, 1, 2)), part="train"):
    """Write runs of (subject, activity, lines)."""
    folder = root / "UCI HAR Dataset" / part
    (folder / "Inertial Signals").mkdir(parents=True, exist_ok=True)
    for name in UCI_NAMES:
        lines = []
        for subject, code, count in runs:
            signal = uci_signal(subject, code, name, 64 * (count + 1))
            lines += [" ".join(map(c_number, signal[64 * k : 64 * k + 128])) for k in range(count)]
        (folder / "Inertial Signals" / f"{name}_{part}.txt").write_text("\n".join("  " + line for line in lines) + "\n")
    for name, column in (("subject", 0), ("y", 1)):
        rows = [str(run[column]) for run in runs for _ in range(run[2])]
        (folder / f"{name}_{part}.txt").write_text("\n".join(rows) + "\n")


def write_hapt(root, labels=((1, 1, 5, 11, 400), (1, 1, 7, 401, 530), (2, 1, 6, 1, 350)), rows=600):
    folder = root / "HAPT Data Set" / "RawData"
    folder.mkdir(parents=True, exist_ok=True)
    for experiment, user in sorted({row[:2] for row in labels}):
        for sensor in ("acc", "gyro"):
            lines = [f"{(1.0 if sensor == 'acc' else 0.1) + k / 1e4!r} {experiment / 100} -0.25" for k in range(rows)]
            (folder / f"{sensor}_exp{experiment:02d}_user{user:02d}.txt").write_text("\n".join(lines) + "\n")
    (folder / "labels.txt").write_text("\n".join(" ".join(map(str, row)) for row in labels) + "\n")


HHAR_HEADER = "Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt"
EPOCH_NS, BOOT_NS, EPOCH_MS = 1_424_696_631_913_248_572, 92_263_852_409_000, 1_424_696_633_908
HHAR_PLAN = (("a", "nexus4", 1, EPOCH_NS, 5_000_000), ("i", "samsungold", 2, BOOT_NS, 20_000_000))


def hhar_rows(sensor, plan=HHAR_PLAN, activities=("stand", "null", "stairsdown"), seconds=8, late=2_000_000, drift=0.0):
    """Rows of both phones; the gyroscope is sampled a little later, and its x is the seconds since the phone's zero."""
    for user, model, number, zero, step in plan:
        index = itertools.count()
        begin = 0
        for activity in activities:
            for k in range(seconds * 10**9 // step):
                ns = begin + k * step + (late if sensor == "gyroscope" else 0)
                x = ns / 1e9 if sensor == "gyroscope" else 0.5
                arrival = EPOCH_MS + int(ns * (1 + drift)) // 20_000_000 * 20  # in bursts of 20 ms
                yield f"{next(index)},{arrival},{zero + ns},{x!r},0.25,9.75,{user},{model},{model}_{number},{activity}"
            begin += seconds * 10**9


def write_hhar(root, sensors=("accelerometer", "gyroscope"), **options):
    folder = root / "Activity recognition exp"
    folder.mkdir(parents=True, exist_ok=True)
    for sensor in sensors:
        lines = [HHAR_HEADER, *hhar_rows(sensor, **options)]
        (folder / f"Phones_{sensor}.csv").write_text("\n".join(lines) + "\n")


def pamap_row(time, code, x="1.5", turn="0.25"):
    hand = ["30.5", x, "2.5", "9.25", "7", "7", "7", turn, "0.5", "-0.75", "1", "2", "3", "1", "0", "0", "0"]
    return " ".join([f"{time:.2f}", str(code), "NaN", *hand, *["NaN"] * 34])


def write_pamap2(root, subject=101, session="Protocol", plan=((0, 2), (1, 9), (19, 1), (24, 4))):
    path = root / "PAMAP2_Dataset" / session / f"subject{subject}.dat"
    path.parent.mkdir(parents=True, exist_ok=True)
    ticks = itertools.count(838)
    lines = [pamap_row(next(ticks) / 100, code) for code, seconds in plan for _ in range(seconds * 100)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_ku(root, name="0.Stand/1001_A_1.csv", rows=900, unit=1.0, gyro_rows=None, filler=",,,"):
    path = root / "1.Raw_time_domian_data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for k in range(rows):
        accel = f"{(0.0012 + k * 0.01) / unit:.8g},0.125,{k / 1000!r},-0.25"
        gyro = f"{k * 0.01 / unit:.8g},{k * 0.01!r},0.5,0.75"
        lines.append(f"{accel},{gyro if gyro_rows is None or k < gyro_rows else filler}")
    path.write_text("\r\n".join(lines) + "\r\n")
    return path


UNIMIB_NAMES = unimib.NAMES.split()


def unimib_tables(rows=40):
    data = np.arange(rows * 453, dtype=float).reshape(rows, 453) / 1000
    labels = np.array([[1 + k % 17, 1 + k % 3, 1 + k % 2] for k in range(rows)], dtype=float)
    return data, labels


def write_unimib(root, *, compressed=True, names=UNIMIB_NAMES, tables=None):
    folder = root / "UniMiB-SHAR" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    data, labels = tables or unimib_tables()
    cells = np.empty((2, len(names)), dtype=object)
    cells[0], cells[1] = [f"what {name} is" for name in names], names
    for what, value in (("data", data), ("labels", labels), ("names", cells)):
        scipy.io.savemat(folder / f"acc_{what}.mat", {f"acc_{what}": value}, do_compression=compressed)


WRITERS = {
    "uci_har": write_uci,
    "hapt": write_hapt,
    "hhar": write_hhar,
    "pamap2": write_pamap2,
    "ku_har": write_ku,
    "unimib": write_unimib,
}


def met(faults):
    """What was counted, without the few samples at the ends of one sensor before or after the other."""
    return {what: count for what, count in faults.items() if not what.startswith("samples of the accelerometer that")}


def zipped(root, target):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(root).as_posix())
    return target


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_and_archives_of_it_are_the_same(tmp_path, name):
    WRITERS[name](tmp_path / "a" / "deep")
    (tmp_path / "outer").mkdir()
    inner = zipped(tmp_path / "a", tmp_path / "outer" / "original.zip")
    outer = zipped(tmp_path / "outer", tmp_path / "outer.zip")  # as UCI ships it: an archive in an archive
    read = [list(LOADERS[name].read(place)) for place in (tmp_path / "a", inner, outer)]
    for other in read[1:]:
        assert [one.id for one in read[0]] == [one.id for one in other]
        for one, two in zip(read[0], other, strict=True):
            np.testing.assert_array_equal(one.signals, two.signals)
            np.testing.assert_array_equal(one.times, two.times)
    assert len({one.id for one in read[0]}) == len(read[0]) > 0
    for one in read[0]:
        assert one.subject in LOADERS[name].manifest.subjects
        assert one.label in TRAIN_LABELS[name]


@pytest.mark.parametrize("dataset", LOADERS.values(), ids=LOADERS)
def test_manifests_are_complete(dataset):
    one = dataset.manifest
    for text in (one.title, one.placement, one.people, one.licence, one.citation, one.source, dataset.layout):
        assert text
    assert one.role == "train"
    assert one.source.startswith("https://")
    assert "doi:" in one.citation
    assert set(one.gravity) == {"published", "strict"}
    assert set(one.labels.values()) == set(TRAIN_LABELS[one.name])
    assert len(one.channels) == 6
    assert one.mask.tolist() == [True] * 3 + [one.name != "unimib"] * 3
    assert one.patch_s[0] < one.patch_s[1]


def test_what_the_spec_fixes():
    shapes = {name: (one.manifest.text_hz, len(one.manifest.subjects)) for name, one in LOADERS.items()}
    assert shapes == {
        "uci_har": (50, 30),
        "hapt": (50, 30),
        "hhar": (50, 9),
        "pamap2": (100, 9),
        "ku_har": (100, 91),  # numbers; two of them have no files
        "unimib": (50, 30),
    }
    assert UCI.manifest.people == HAPT.manifest.people == "uci_har"
    assert [name for name, one in LOADERS.items() if one.manifest.short == "pad"] == ["hapt", "ku_har", "unimib"]


class TestUciHar:
    def test_lines_are_joined(self, tmp_path):
        write_uci(tmp_path)
        write_uci(tmp_path, runs=((2, 6, 2),), part="test")
        faults = Faults()
        recordings = list(UCI.read(tmp_path, faults=faults))
        assert [(one.subject, one.label, len(one.times)) for one in recordings] == [
            ("1", "standing", 320),
            ("1", "walking", 256),
            ("3", "walking", 192),
            ("2", "laying", 192),
        ]
        assert recordings[1].id == "uci_har/1/train_1_l00005"
        expected = uci_signal(1, 1, "total_acc_x", 256) * G
        np.testing.assert_allclose(recordings[1].signals[:, 0], expected, rtol=1e-6)
        np.testing.assert_allclose(recordings[1].signals[:, 5], uci_signal(1, 1, "body_gyro_z", 256), rtol=1e-6)
        np.testing.assert_allclose(recordings[1].times, np.arange(256) / 50)
        assert not faults

    def test_published_uses_the_body_acceleration(self, tmp_path):
        write_uci(tmp_path)
        one = next(iter(UCI.read(tmp_path, "published")))
        np.testing.assert_allclose(one.signals[:, 0], uci_signal(1, 5, "body_acc_x", 320) * G, rtol=1e-6)

    def test_a_break_in_a_run_begins_a_recording(self, tmp_path):
        write_uci(tmp_path, runs=((1, 4, 3), (1, 4, 2)))
        faults = Faults()
        assert [len(one.times) for one in UCI.read(tmp_path, faults=faults)] == [256, 192]
        assert faults["lines that do not go on from the one before, a new recording begins"] == 1
        assert faults["part 'test' is not there"] == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [("total_acc_y", "body_gyro_y"), ("body_acc_z", "body_gyro_z"), ("total_acc_x", "total_acc_z")],
    )
    @pytest.mark.parametrize("variant", ["strict", "published"])
    def test_exchanged_files_of_signals_are_named(self, tmp_path, one, other, variant):
        """Gravity of 1 g leans slowly; the body and its turning shake at 2 Hz and more, each in its own way."""
        folder = tmp_path / "UCI HAR Dataset/train"
        (folder / "Inertial Signals").mkdir(parents=True)
        t, lean = np.arange(64 * 41) / 50, 0.3 * np.sin(np.arange(64 * 41) / 400)
        gravity = np.stack([np.cos(lean), np.sin(lean) * 0.6, np.sin(lean) * 0.8])
        body = np.stack([0.4 * np.sin(2 * np.pi * hz * t + hz) for hz in (1.9, 2.1, 3.2)])
        turning = np.stack([0.9 * np.sin(2 * np.pi * hz * t + 2 * hz) for hz in (1.7, 2.3, 2.9)])
        signals = dict(zip(UCI_NAMES, [*(gravity + body), *body, *turning], strict=True))
        for name, values in signals.items():
            lines = [" ".join(map(c_number, values[64 * k : 64 * k + 128])) for k in range(40)]
            (folder / "Inertial Signals" / f"{name}_train.txt").write_text("\n".join(lines) + "\n")
        for name in ("subject", "y"):
            (folder / f"{name}_train.txt").write_text("1\n" * 40)
        assert len(list(UCI.read(tmp_path, variant))) == 1
        first, second = (folder / "Inertial Signals" / f"{name}_train.txt" for name in (one, other))
        kept = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(kept)
        with pytest.raises(InputError) as caught:
            list(UCI.read(tmp_path, variant))
        assert f"{one}_train.txt: does not differ from" in str(caught.value)
        assert f"{other}_train.txt holds what belongs there; mixed-up files" in str(caught.value)

    def test_gravity_of_another_unit_is_refused(self, tmp_path):
        """By hand: x of subject 1, standing, is about 1.25 g in all and .23 g of the body: 9.8 * 1.25 - .23 = 12."""
        write_uci(tmp_path)
        path = tmp_path / "UCI HAR Dataset/train/Inertial Signals/total_acc_x_train.txt"
        rows = [
            " ".join(c_number(9.80665 * float(cell)) for cell in line.split()) for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(rows) + "\n")
        with pytest.raises(InputError, match=r"has the length 12, expected gravity of about 1 g"):
            list(UCI.read(tmp_path))

    def test_a_missing_file_is_named(self, tmp_path):
        write_uci(tmp_path)
        (tmp_path / "UCI HAR Dataset/train/Inertial Signals/body_gyro_y_train.txt").unlink()
        with pytest.raises(InputError, match=r"train lacks 'body_gyro_y_train\.txt'"):
            list(UCI.read(tmp_path))


class TestHapt:
    def test_rows_of_labels(self, tmp_path):
        write_hapt(tmp_path)
        first, second, third = HAPT.read(tmp_path)
        assert (first.id, first.subject, first.label) == ("hapt/1/exp01_5_1", "1", "standing")
        assert (second.label, third.label) == ("stand_to_sit", "lying")
        assert [len(one.times) for one in (first, second, third)] == [390, 130, 350]
        assert first.times[0] == 0.2  # sample 11 of 50 a second
        expected = [(1.0 + 10 / 1e4) * G, 0.01 * G, -0.25 * G, 0.1 + 10 / 1e4, 0.01, -0.25]
        np.testing.assert_allclose(first.signals[0], expected, rtol=1e-6)
        np.testing.assert_allclose(first.signals[-1, 0], (1.0 + 399 / 1e4) * G, rtol=1e-6)
        assert len(cut([second], short=HAPT.manifest.short)) == 1

    def test_parts_that_are_not_there_are_counted(self, tmp_path):
        write_hapt(tmp_path)
        (tmp_path / "HAPT Data Set/RawData/gyro_exp02_user01.txt").unlink()
        faults = Faults()
        assert len(list(HAPT.read(tmp_path, faults=faults))) == 2
        assert faults == {
            "files of one sensor without the other, left out (first: acc_exp02_user01.txt)": 1,
            "rows of labels whose signals are not there, left out "
            "(first: experiment 2 of user 1 at line 3 of labels.txt)": 1,
        }
        (tmp_path / "HAPT Data Set/RawData/gyro_exp02_user01.txt").write_text("0.1 0.2 0.3\n" * 400)
        (tmp_path / "HAPT Data Set/RawData/labels.txt").write_text("\n1 1 5 11 400\n")
        faults = Faults()
        assert len(list(HAPT.read(tmp_path, faults=faults))) == 1
        assert faults == {"experiments without rows of labels, left out (first: 2 of user 1)": 1}

    def test_one_experiment_of_two_users_is_refused(self, tmp_path):
        write_hapt(tmp_path, labels=((1, 1, 5, 11, 400), (2, 1, 6, 1, 350)))
        folder = tmp_path / "HAPT Data Set/RawData"
        for sensor in ("acc", "gyro"):
            (folder / f"{sensor}_exp02_user02.txt").write_bytes((folder / f"{sensor}_exp02_user01.txt").read_bytes())
        with pytest.raises(InputError) as caught:
            list(HAPT.read(tmp_path))
        assert "acc_exp02_user02.txt: experiment 2 is also that of user 1, in acc_exp02_user01.txt" in str(caught.value)

    def test_labels_with_swapped_columns_are_refused(self, tmp_path):
        write_hapt(tmp_path, labels=((1, 1, 5, 11, 400), (7, 4, 6, 1, 350)))
        path = tmp_path / "HAPT Data Set/RawData/labels.txt"
        path.write_text("1 1 5 11 400\n4 7 6 1 350\n")
        with pytest.raises(InputError) as caught:
            list(HAPT.read(tmp_path))
        said = "labels.txt: experiment 4 of user 7 at line 2 has no signals, but experiment 7 of user 4 has"
        assert said in str(caught.value)


class TestHhar:
    def test_runs_by_device_on_the_clock_of_creation(self, tmp_path):
        write_hhar(tmp_path)
        faults = Faults()
        recordings = list(HHAR.read(tmp_path, faults=faults))
        assert [one.id for one in recordings] == [
            "hhar/a/nexus4_1_stand_1",
            "hhar/a/nexus4_1_stairsdown_1",
            "hhar/i/samsungold_2_stand_1",
            "hhar/i/samsungold_2_stairsdown_1",
        ]
        assert [one.rate_hz for one in recordings] == [200, 200, 50, 50]
        assert [one.label for one in recordings[:2]] == ["standing", "walking_downstairs"]
        assert not met(faults)
        # the first sample of acceleration is before the first of the gyroscope, 2 ms later, and has no turning
        assert [len(one.times) for one in recordings] == [1599, 1600, 399, 400]
        np.testing.assert_allclose(recordings[0].signals[:, 3], np.arange(1, 1600) * 0.005, atol=1e-6)
        np.testing.assert_allclose(recordings[3].signals[:, 3], 16 + np.arange(400) * 0.02, atol=1e-5)
        np.testing.assert_allclose(recordings[3].signals[7, :3], [0.5, 0.25, 9.75])

    def test_rows_of_devices_may_alternate(self, tmp_path):
        write_hhar(tmp_path / "a")
        expected = list(HHAR.read(tmp_path / "a"))
        for sensor in ("accelerometer", "gyroscope"):
            path = tmp_path / "b" / "Activity recognition exp" / f"Phones_{sensor}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            halves = [list(hhar_rows(sensor, plan=(phone,))) for phone in HHAR_PLAN]
            parts = [[rows[k : k + 100] for k in range(0, len(rows), 100)] for rows in halves]
            mixed = [row for pair in itertools.zip_longest(*parts, fillvalue=[]) for part in pair for row in part]
            path.write_text("\n".join([HHAR_HEADER, *mixed]) + "\n")
        for one, two in zip(expected, HHAR.read(tmp_path / "b"), strict=True):
            assert one.id == two.id
            np.testing.assert_array_equal(one.signals, two.signals)

    def test_sensors_with_other_zeros_meet_by_their_arrival(self, tmp_path):
        write_hhar(tmp_path, plan=HHAR_PLAN[:1])
        write_hhar(tmp_path, sensors=("gyroscope",), plan=(("a", "nexus4", 1, BOOT_NS, 5_000_000),))
        faults = Faults()
        first, second = HHAR.read(tmp_path, faults=faults)
        # arrival is written in steps of 20 ms, which is how far the join can be off
        np.testing.assert_allclose(first.signals[:, 3], first.times + 0.005, atol=0.021)
        assert len(second.times) > 1590
        assert faults["pieces of gyroscopes on another clock, moved by their arrival"] == 2

    def test_a_clock_that_drifts_is_still_one_clock(self, tmp_path):
        write_hhar(tmp_path / "a", plan=HHAR_PLAN[:1])
        write_hhar(tmp_path / "b", plan=HHAR_PLAN[:1], drift=0.2)  # nearly five seconds later in the end
        faults = Faults()
        for one, two in zip(HHAR.read(tmp_path / "a"), HHAR.read(tmp_path / "b", faults=faults), strict=True):
            np.testing.assert_array_equal(one.signals, two.signals)
        assert not met(faults)

    def test_without_a_gyroscope_channels_are_masked(self, tmp_path):
        write_hhar(tmp_path, sensors=("accelerometer",))
        write_hhar(tmp_path, sensors=("gyroscope",), plan=HHAR_PLAN[1:])
        faults = Faults()
        recordings = list(HHAR.read(tmp_path, faults=faults))
        assert [one.mask.tolist()[3:] for one in recordings] == [[False] * 3] * 2 + [[True] * 3] * 2
        assert not recordings[0].signals[:, 3:].any()
        assert met(faults) == {"users and devices without gyroscope, its channels masked": 1}
        (tmp_path / "Activity recognition exp/Phones_gyroscope.csv").unlink()
        assert not any(one.mask[3:].any() for one in HHAR.read(tmp_path))

    def test_a_run_without_turning_is_counted(self, tmp_path):
        write_hhar(tmp_path, plan=HHAR_PLAN[:1])
        path = tmp_path / "Activity recognition exp/Phones_gyroscope.csv"
        path.write_text("\n".join(path.read_text().splitlines()[:1500]) + "\n")
        faults = Faults()
        assert [one.label for one in HHAR.read(tmp_path, faults=faults)] == ["standing"]
        assert faults["activity runs that the gyroscope does not cover, left out"] == 1

    def test_time_stamps_are_repaired(self, tmp_path):
        write_hhar(tmp_path, plan=HHAR_PLAN[1:], activities=("sit",))
        path = tmp_path / "Activity recognition exp/Phones_accelerometer.csv"
        lines = path.read_text().splitlines()
        lines[20] = lines[19]
        del lines[100:200]
        path.write_text("\n".join(lines) + "\n")
        faults = Faults()
        assert len(list(HHAR.read(tmp_path, faults=faults))) == 2
        assert faults["accelerometer: duplicate time stamps, dropped"] == 1
        assert faults["accelerometer: gaps in time, cut there"] == 1

    def test_blocks_and_runs_do_not_depend_on_how_much_is_read(self, tmp_path, monkeypatch):
        write_hhar(tmp_path, seconds=3)
        whole = list(HHAR.read(tmp_path))
        monkeypatch.setattr(tails, "BLOCK", 1000)
        parts = list(HHAR.read(tmp_path))
        assert [one.id for one in whole] == [one.id for one in parts]
        for one, two in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(one.signals, two.signals)

    def test_a_file_that_alternates_too_much_is_refused(self, tmp_path, monkeypatch):
        write_hhar(tmp_path)
        monkeypatch.setattr(tails, "MOST", 3)
        with pytest.raises(InputError, match=r"Phones_accelerometer\.csv: line .*sort the file"):
            list(HHAR.read(tmp_path))


@given(
    lines=st.lists(st.tuples(st.integers(0, 99), st.sampled_from([",", "a,", "a,b", "ab,b", ",b"])), max_size=30),
    block=st.integers(1, 40),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_runs_are_those_that_a_loop_finds(lines, block, ending):
    text = "".join(f"{k},{tail}{ending}" for k, tail in lines).encode()
    expected = []  # brute force: line by line
    for number, (_, tail) in enumerate(lines, start=7):
        if not expected or expected[-1][1] != tail:
            expected.append([number, tail])
    was, tails.BLOCK = tails.BLOCK, block
    try:
        found = tails.runs(io.BytesIO(text), "text", 1, line=7, start=100)
    finally:
        tails.BLOCK = was
    assert [[run.line, run.tail] for run in found] == expected
    assert b"".join(text[run.start - 100 : run.stop - 100] for run in found) == text


class TestPamap2:
    def test_runs_of_used_activities(self, tmp_path):
        write_pamap2(tmp_path)
        write_pamap2(tmp_path, session="Optional", plan=((10, 3), (17, 8)))
        write_pamap2(tmp_path, subject=109, plan=((1, 7),))
        faults = Faults()
        recordings = list(PAMAP2.read(tmp_path, faults=faults))
        assert [(one.id, one.label, len(one.times)) for one in recordings] == [
            ("pamap2/101/protocol_1_1", "lying", 900),
            ("pamap2/101/protocol_24_1", "rope_jumping", 400),
            ("pamap2/101/optional_17_1", "ironing", 800),
            ("pamap2/109/protocol_1_1", "lying", 700),
        ]
        np.testing.assert_allclose(recordings[0].signals[5], [1.5, 2.5, 9.25, 0.25, 0.5, -0.75])
        assert recordings[0].rate_hz == pytest.approx(100, rel=1e-6)
        assert not faults

    def test_short_gaps_are_filled_and_long_ones_cut(self, tmp_path):
        path = write_pamap2(tmp_path, plan=((1, 9),))
        lines = path.read_text().splitlines()
        for k in range(100, 109):  # nine samples missing: .1 s between those around
            lines[k] = pamap_row(8.38 + k / 100, 1, x="NaN")
        lines[99], lines[109] = pamap_row(9.37, 1, x="1.0"), pamap_row(9.47, 1, x="3.0")
        for k in range(500, 510):  # ten: .11 s
            lines[k] = pamap_row(8.38 + k / 100, 1, turn="NaN")
        path.write_text("\n".join(lines) + "\n")
        faults = Faults()
        first, second = PAMAP2.read(tmp_path, faults=faults)
        assert (len(first.times), len(second.times)) == (500, 390)
        np.testing.assert_allclose(first.signals[99:110, 0], np.linspace(1, 3, 11), rtol=1e-6)
        assert faults == {"samples missing for up to .1 s, interpolated": 9, "hand: gaps in time, cut there": 1}

    def test_blocks_do_not_matter(self, tmp_path, monkeypatch):
        write_pamap2(tmp_path)
        whole = list(PAMAP2.read(tmp_path))
        monkeypatch.setattr(tails, "BLOCK", 777)
        for one, two in zip(whole, PAMAP2.read(tmp_path), strict=True):
            assert one.id == two.id
            np.testing.assert_array_equal(one.signals, two.signals)


class TestKuHar:
    @pytest.mark.parametrize("unit", [1.0, 1e-3], ids=["s", "ms"])
    def test_seconds_and_milliseconds(self, tmp_path, unit):
        write_ku(tmp_path, unit=unit)
        (one,) = KU.read(tmp_path)
        assert (one.id, one.label) == ("ku_har/1001/0_1_1", "standing")
        assert one.rate_hz == pytest.approx(100, rel=1e-3)
        # the gyroscope ends 1.2 ms before the accelerometer: its last sample has no turning
        assert len(one.times) == 899
        np.testing.assert_allclose(one.signals[:, 3], one.times, atol=1e-6)  # x of the gyroscope is its time
        np.testing.assert_allclose(one.signals[:, 1], np.arange(899) / 1000, atol=1e-7)
        assert KU.check(tmp_path).resting_ms2 < 1  # without gravity, as the manifest says
        assert not [text for text in KU.check(tmp_path).odd if "rest" in text]

    @pytest.mark.parametrize("filler", [",,,", "NaN,NaN,NaN,NaN", "0,0,0,0"])
    def test_sensors_of_unequal_length(self, tmp_path, filler):
        write_ku(tmp_path, gyro_rows=700, filler=filler)
        faults = Faults()
        (one,) = KU.read(tmp_path, faults=faults)
        assert len(one.times) == 699
        assert not met(faults)

    def test_letters_and_short_files(self, tmp_path):
        write_ku(tmp_path, "15.Stair-up/1002_S_1.csv", rows=300)
        write_ku(tmp_path, "17.Table-tennis/1101_U_2_1.csv", rows=300)
        recordings = list(KU.read(tmp_path))
        assert [(one.subject, one.label) for one in recordings] == [
            ("1002", "walking_upstairs"),
            ("1101", "playing_sports"),
        ]
        assert len(cut(recordings, short=KU.manifest.short)) == 2
        write_ku(tmp_path, "16.Stair-down/1002_S_2.csv")
        with pytest.raises(InputError, match=r"16\.Stair-down/1002_S_2\.csv: letter 'S', expected 'T' in folder 16"):
            list(KU.read(tmp_path))

    def test_rows_with_a_part_missing_are_counted(self, tmp_path):
        path = write_ku(tmp_path)
        path.write_text(path.read_text().replace("0.125,0.01,", "NaN,0.01,", 1))
        faults = Faults()
        (one,) = KU.read(tmp_path, faults=faults)
        assert len(one.times) == 898
        assert met(faults) == {"samples of which a part is missing, left out": 1}

    def test_without_a_gyroscope(self, tmp_path):
        write_ku(tmp_path, gyro_rows=0)
        faults = Faults()
        (one,) = KU.read(tmp_path, faults=faults)
        assert one.mask.tolist() == [True] * 3 + [False] * 3
        assert met(faults) == {"files without gyroscope, its channels masked": 1}


class TestUnimib:
    @pytest.mark.parametrize("compressed", [True, False])
    def test_rows(self, tmp_path, compressed):
        write_unimib(tmp_path, compressed=compressed)
        recordings = list(UNIMIB.read(tmp_path))
        assert len(recordings) == 40
        assert [one.subject for one in recordings] == sorted(one.subject for one in recordings)
        (one,) = [one for one in recordings if one.id == "unimib/2/5_1_r00005"]  # row 5: 5, 2, 1
        assert (one.label, one.tags["trial"], one.rate_hz) == ("going_up_stairs", "1", 50)
        start = 4 * 453
        expected = np.stack([(start + 151 * axis + np.arange(151)) / 1000 for axis in range(3)], axis=1)
        np.testing.assert_allclose(one.signals[:, :3], expected, rtol=1e-6)
        assert not one.signals[:, 3:].any()
        windows = at_rate([one], cut([one], short=UNIMIB.manifest.short), 20.0)
        assert 58 <= int(windows.valid.sum()) <= 61  # 3.02 s of 6
        assert np.atleast_2d(windows.mask).tolist() == [[True] * 3 + [False] * 3]

    def test_names_in_another_order(self, tmp_path):
        write_unimib(tmp_path, names=[*UNIMIB_NAMES[1:], UNIMIB_NAMES[0]])
        with pytest.raises(InputError, match=r"acc_names\.mat: short names .*labels mean something else"):
            list(UNIMIB.read(tmp_path))
        (tmp_path / "UniMiB-SHAR/data/acc_names.mat").unlink()
        assert len(list(UNIMIB.read(tmp_path))) == 40

    def test_rows_that_repeat_are_counted(self, tmp_path):
        data, labels = unimib_tables()
        data[7] = data[3]
        write_unimib(tmp_path, tables=(data, labels))
        faults = Faults()
        assert len(list(UNIMIB.read(tmp_path, faults=faults))) == 40
        assert faults == {"pieces that repeat another one, kept": 1}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda d, y: (d[:, :450], y), "acc_data is (40, 450), expected numbers (n, 453)"),
            (lambda d, y: (d[:-1], y), "39 rows, expected 40 as in acc_labels.mat"),
            (
                lambda d, y: (d, np.add(y, [[0, 30, 0]])),
                "acc_labels.mat: row 1: subject 31, expected a whole number from 1 to 30",
            ),
            (lambda d, y: (d, y * [[0.5, 1, 1]]), "row 1: activity 0.5"),
            (lambda d, y: (np.where(d == d[2, 9], np.nan, d), y), "row 3 holds what is no number"),
            (lambda d, y: (np.where(d == d[2, 9], -1e9, d), y), "acc_data: row 3: a value of -1e+09"),
        ],
    )
    def test_tables_that_do_not_fit(self, tmp_path, change, message):
        write_unimib(tmp_path, tables=change(*unimib_tables()))
        with pytest.raises(InputError) as caught:
            list(UNIMIB.read(tmp_path))
        assert message in str(caught.value)

    def test_a_file_of_another_version(self, tmp_path):
        write_unimib(tmp_path)
        path = tmp_path / "UniMiB-SHAR/data/acc_data.mat"
        path.write_bytes(b"MATLAB 7.3 MAT-file, Platform".ljust(124) + b"\x00\x02IM" + b"\x89HDF")
        with pytest.raises(InputError, match=r"acc_data\.mat: is a Matlab file of version 7\.3.*-v7"):
            list(UNIMIB.read(tmp_path))


def test_who_is_missing_of_ku_har(tmp_path):
    """89 of 91 numbers are people; which two are not is unknown. Refused files are not missing ones."""
    for number in (*range(1001, 1089), 1101):
        write_ku(tmp_path, name=f"0.Stand/{number}_A_1.csv", rows=120)
    report = KU.check(tmp_path)
    assert len(report.subjects) == 89
    assert [text for text in report.missing if "subject" in text] == []
    (tmp_path / "1.Raw_time_domian_data/0.Stand/1001_A_1.csv").unlink()
    assert KU.check(tmp_path).missing[0] == "1 subject of 89: among '1001', '1089', '1090'"
    frozen = "1,0.1,0.2,0.3,1,4,5,6\n" * 300
    (tmp_path / "1.Raw_time_domian_data/0.Stand/1002_A_1.csv").write_text(frozen)
    report = KU.check(tmp_path)
    assert report.unused == ("1002",)
    assert report.state == "a part"
    told = "accelerometer: 100 % of 300 stamps repeat or jump back, at most 10 %; obtain the file again"
    assert f"1.Raw_time_domian_data/0.Stand/1002_A_1.csv: {told}" in report.broken
    assert not [text for text in report.odd if "duplicate" in text]
    for path in tmp_path.rglob("*.csv"):
        path.write_text(frozen)
    listing = catalogue("check", str(tmp_path))
    notes = listing.tables[0].notes
    assert any(note.startswith("ku_har: error: 1.Raw_time_domian_data/0.Stand/1002_A_1.csv: gyro") for note in notes)
    assert not [note for note in notes if "not here" in note and "88" in note]
    assert not [note for note in notes if "labels" in note]


ARRAYS = st.sampled_from(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8"])


class TestMatlab:
    @given(
        shape=st.tuples(st.integers(0, 5), st.integers(0, 5)),
        kind=ARRAYS,
        text=st.text("abc äß∑", max_size=9),
        compressed=st.booleans(),
        seed=st.integers(0, 99),
    )
    @settings(deadline=None)
    def test_what_scipy_writes_is_read(self, shape, kind, text, compressed, seed):
        array = np.random.default_rng(seed).integers(0, 100, shape).astype(kind)
        cells = np.empty((1, 2), dtype=object)
        cells[0, 0], cells[0, 1] = text, array
        file = io.BytesIO()
        scipy.io.savemat(file, {"x": array, "s": text, "c": cells}, do_compression=compressed)
        found = matlab.read(file.getvalue(), "file")
        assert list(found) == ["x", "s", "c"]
        np.testing.assert_array_equal(found["x"], array)
        assert found["x"].shape == shape
        assert (found["s"] or "") == text
        assert found["c"].shape == (1, 2)
        assert (found["c"].items[0] or "") == text
        np.testing.assert_array_equal(found["c"].items[1], array)

    def test_big_endian_and_small_elements(self):
        def element(kind, data, small=False):
            if small:
                return struct.pack(">HH", len(data), kind) + data.ljust(4, b"\0")
            return struct.pack(">II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

        body = (
            element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 1, 2)) + element(1, b"x", small=True)
        )
        body += element(4, struct.pack(">HH", 300, 7), small=True)  # doubles kept as 16 bits
        data = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + element(14, body)
        np.testing.assert_array_equal(matlab.read(data, "file")["x"], [[300.0, 7.0]])

    def test_other_classes_are_passed_over(self):
        file = io.BytesIO()
        scipy.io.savemat(file, {"a": {"field": 1.0}, "b": np.array([1 + 2j]), "c": 5.0})
        found = matlab.read(file.getvalue(), "file")
        assert (found["a"], found["b"]) == (None, None)
        assert found["c"].tolist() == [[5.0]]

    def test_a_bomb_is_refused(self):
        file = io.BytesIO()
        scipy.io.savemat(file, {"x": np.zeros((20_000, 1000))}, do_compression=True)
        with pytest.raises(InputError, match="bomb"):
            matlab.read(file.getvalue(), "file")

    @given(at=st.integers(0, 2000), value=st.integers(0, 255), cut_at=st.integers(0, 2000), compressed=st.booleans())
    @settings(max_examples=300, deadline=None)
    def test_damaged_bytes_give_an_error_or_an_answer(self, at, value, cut_at, compressed):
        data = bytearray(mat_file(compressed))
        data[at % len(data)] = value
        for damaged in (bytes(data), bytes(data[: cut_at % len(data)])):
            with contextlib.suppress(InputError):
                matlab.read(damaged, "file")


@functools.cache
def mat_file(compressed):
    cells = np.empty((1, 2), dtype=object)
    cells[0] = ["text", np.arange(3.0)]
    file = io.BytesIO()
    scipy.io.savemat(file, {"x": np.arange(60.0).reshape(12, 5), "c": cells}, do_compression=compressed)
    return file.getvalue()


def replaced(old, new, count=1):
    return lambda data: data.replace(old, new, count)


def unlike(kind):
    """A number in place of another, far beyond what a sensor measures."""
    return {
        "uci_har": lambda b: re.sub(rb"\S+", b"1e7", b, count=1),
        "hapt": lambda b: b.replace(b"\n", b"\n\n", 1).replace(b"-0.25", b"-25e6", 3).replace(b"-25e6", b"-0.25", 2),
        "hhar": lambda b: b.replace(b",9.75,", b",9.75e8,", 4).replace(b",9.75e8,", b",9.75,", 3),
        "pamap2": lambda b: b.replace(b" 9.25 ", b" 9e25 ", 3).replace(b" 9e25 ", b" 9.25 ", 2),
        "ku_har": lambda b: b.replace(b"-0.25", b"-1e38", 2).replace(b"-1e38", b"-0.25", 1),
    }[kind]


UCI_X = "UCI HAR Dataset/train/Inertial Signals/total_acc_x_train.txt"
DAMAGES = [
    ("uci_har", UCI_X, lambda b: b[: len(b) // 2], "line 5: ends after"),
    ("uci_har", UCI_X, lambda b: b"\n".join(b.split(b"\n")[:3]), "3 rows, expected 9"),
    ("uci_har", UCI_X, replaced(b"e+000", b"e+00x"), "line 1: cell 1"),
    ("uci_har", "UCI HAR Dataset/train/y_train.txt", replaced(b"5", b"7"), "row 1: activity 7, expected 1 to 6"),
    ("uci_har", "UCI HAR Dataset/train/subject_train.txt", replaced(b"3", b"31"), "row 8: subject 31"),
    ("uci_har", "UCI HAR Dataset/train/subject_train.txt", lambda b: b"\n", "no rows"),
    ("hapt", "HAPT Data Set/RawData/labels.txt", replaced(b"530", b"901"), "row 2: samples 401 to 901"),
    ("hapt", "HAPT Data Set/RawData/labels.txt", replaced(b"1 7 401", b"1 13 401"), "row 2: activity 13"),
    ("hapt", "HAPT Data Set/RawData/labels.txt", replaced(b" 530", b""), "line 2: ends after 4 cells"),
    ("hapt", "HAPT Data Set/RawData/acc_exp01_user01.txt", lambda b: b[:3000], "line "),
    ("hapt", "HAPT Data Set/RawData/gyro_exp01_user01.txt", replaced(b"-0.25", b"-0.25 1"), "line 1: goes on"),
    ("hhar", "Phones_accelerometer.csv", lambda b: b[:-30], "line 6001: ends in"),
    (
        "hhar",
        "Phones_accelerometer.csv",
        replaced(b"Arrival_Time,Creation", b"Creation_Time,Arrival"),
        "line 1: header",
    ),
    ("hhar", "Phones_accelerometer.csv", replaced(b",a,", b",z,"), "line 2: user 'z'"),
    ("hhar", "Phones_gyroscope.csv", replaced(b",stairsdown", b",stairs"), "line 3202: activity 'stairs'"),
    ("hhar", "Phones_gyroscope.csv", replaced(b",0.25,", b",a quarter,"), "line 2: cell 5"),
    ("hhar", "Phones_accelerometer.csv", lambda b: b.split(b"\n")[0] + b"\n", "no rows after the header"),
    ("hhar", "Phones_accelerometer.csv", replaced(b"0.5,0.25,9.75,i,", b"0.25,9.75,i,"), "line 4802: ends in"),
    ("pamap2", "PAMAP2_Dataset/Protocol/subject101.dat", lambda b: b[:-70], "line 1600: ends after"),
    (
        "pamap2",
        "PAMAP2_Dataset/Protocol/subject101.dat",
        replaced(b" 1 NaN 30.5", b" 8 NaN 30.5"),
        "line 201: activity 8",
    ),
    ("pamap2", "PAMAP2_Dataset/Protocol/subject101.dat", replaced(b"8.40", b"NaN"), "line 3: no time"),
    ("pamap2", "PAMAP2_Dataset/Protocol/subject101.dat", lambda b: b.replace(b" ", b","), "line 1: cell 1"),
    ("ku_har", "1.Raw_time_domian_data/0.Stand/1001_A_1.csv", lambda b: b[:-9], "line 900: ends after"),
    (
        "ku_har",
        "1.Raw_time_domian_data/0.Stand/1001_A_1.csv",
        lambda b: b"\r\n".join(b.split()[:1]),
        "1 samples of the",
    ),
    ("ku_har", "1.Raw_time_domian_data/0.Stand/1001_A_1.csv", lambda b: b"t,x,y,z,t,x,y,z\n" + b, "line 1: cell 1"),
    ("uci_har", UCI_X, unlike("uci_har"), "line 1: a value of 1e+07, expected at most 1.02e+04"),
    ("hapt", "HAPT Data Set/RawData/acc_exp01_user01.txt", unlike("hapt"), "line 4: a value of -2.5e+07"),
    ("hhar", "Phones_accelerometer.csv", unlike("hhar"), "line 5: a value of 9.75e+08, expected at most 1e+05"),
    ("pamap2", "PAMAP2_Dataset/Protocol/subject101.dat", unlike("pamap2"), "line 3: a value of 9e+25"),
    ("ku_har", "1.Raw_time_domian_data/0.Stand/1001_A_1.csv", unlike("ku_har"), "line 2: a value of -1e+38"),
    ("unimib", "UniMiB-SHAR/data/acc_data.mat", lambda b: b[:-100], "byte 128:"),
    ("unimib", "UniMiB-SHAR/data/acc_labels.mat", lambda b: b"\0" * 200, "is no Matlab file of level 5"),
    ("unimib", "UniMiB-SHAR/data/acc_labels.mat", lambda b: b[:60], "is no Matlab file of level 5"),
]


@pytest.mark.parametrize(("name", "file", "change", "message"), DAMAGES)
def test_damaged_files_are_named_with_their_line(tmp_path, name, file, change, message):
    WRITERS[name](tmp_path)
    path = tmp_path / ("Activity recognition exp" if name == "hhar" else "") / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        list(LOADERS[name].read(tmp_path))
    assert message in str(caught.value)
    assert file in str(caught.value)
    report = LOADERS[name].check(tmp_path)
    assert report.state != "complete"
    assert message in (report.error or report.broken[0])


@pytest.mark.parametrize("name", WRITERS)
def test_any_damage_gives_an_error_or_recordings(tmp_path, name):
    """Flip bytes, cut, repeat and swap pieces of files: nothing but InputError may come out."""
    small = {
        "hhar": {"seconds": 2, "plan": HHAR_PLAN[1:]},
        "pamap2": {"plan": ((0, 1), (1, 2))},
        "ku_har": {"rows": 150},
    }
    WRITERS[name](tmp_path, **small.get(name, {}))
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(60):
        path = paths[rng.integers(len(paths))]
        whole = path.read_bytes()
        a, b = sorted(rng.integers(0, len(whole), 2).tolist())
        flipped = bytearray(whole)
        for k in rng.integers(0, len(whole), rng.integers(1, 4)).tolist():
            flipped[k] = int(rng.integers(256))
        damages = [
            bytes(flipped),
            whole[:a],
            whole[a:],
            whole[:a] + whole[b:],
            whole[:b] + whole[a:],
            whole[b:] + whole[:b],
        ]
        path.write_bytes(damages[rng.integers(len(damages))])
        try:
            for one in LOADERS[name].read(tmp_path, ("published", "strict")[rng.integers(2)]):
                assert np.isfinite(one.signals).all()
        except InputError:
            refused += 1
        path.write_bytes(whole)
    assert refused > 10


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (
            "Inertial Signals/body_gyro_x_train.txt",
            "body_gyro_x_train.txt: line 6: cell 3 is 'what', expected a number",
        ),
        ("y_train.txt", "y_train.txt: line 6: cell 1 is 'what', expected a whole number"),
        ("subject_train.txt", "subject_train.txt: line 6: cell 1 is 'what', expected a whole number"),
    ],
)
def test_uci_har_a_bad_cell_leaves_out_the_window_of_its_line(tmp_path, file, said):
    write_uci(tmp_path)
    path = tmp_path / "UCI HAR Dataset" / "train" / file
    lines = path.read_text().split("\n")
    cells = lines[5].split()
    cells[min(2, len(cells) - 1)] = "what"
    lines[5] = " ".join(cells)
    path.write_text("\n".join(lines))
    faults = Faults.leaving_out()
    found = list(UCI.read(tmp_path, faults=faults))
    # Subject 1 walks in lines 5 to 7: without line 6, two recordings of a line each.
    assert [one.id.rpartition("/")[2] for one in found] == [
        "train_5_l00001",
        "train_1_l00005",
        "train_1_l00007",
        "train_1_l00008",
    ]
    assert [len(one.times) for one in found] == [320, 128, 128, 192]
    assert all(np.isfinite(one.signals).all() for one in found)
    assert list(faults) == ["part 'test' is not there"]
    (told,) = faults.broken
    assert said in told
    assert "(1 of 9 windows left out, one for each bad line of this file)" in told
    assert UCI.check(tmp_path).subjects == ("1", "3")


@pytest.mark.parametrize("variant", ["strict", "published"])
def test_uci_har_a_bad_cell_of_a_file_that_is_not_used_loses_nothing(tmp_path, variant):
    write_uci(tmp_path)
    other = {"strict": "body_acc", "published": "total_acc"}[variant]
    path = tmp_path / "UCI HAR Dataset" / "train" / "Inertial Signals" / f"{other}_x_train.txt"
    path.write_bytes(replaced(b"e+000", b"e+00x")(path.read_bytes()) if other == "total_acc" else path.read_bytes()[3:])
    whole = list(UCI.read(tmp_path, variant, Faults.leaving_out()))
    assert sum(int(one.tags["lines"]) for one in whole) == 9


def test_uci_har_a_part_that_is_lost_says_how_much_and_its_people_are_not_called_absent(tmp_path):
    write_uci(tmp_path)
    write_uci(tmp_path, runs=((2, 5, 4),), part="test")
    (tmp_path / "UCI HAR Dataset/train/Inertial Signals/body_gyro_x_train.txt").write_text("1 2 3\n")
    report = UCI.check(tmp_path)
    (told,) = report.broken
    assert "body_gyro_x_train.txt: line 1: ends after 3 cells" in told
    assert told.endswith("(all of the part 'train' is left out: 9 windows of 2 subjects)")
    assert report.unused == ("1", "3")
    assert report.missing[0].startswith("27 subjects of 30, or in what cannot be read: '4', '5'")


def test_uci_har_without_readable_subjects_says_that_people_may_be_in_what_cannot_be_read(tmp_path):
    write_uci(tmp_path)
    write_uci(tmp_path, runs=((2, 5, 4),), part="test")
    (tmp_path / "UCI HAR Dataset/train/subject_train.txt").write_text("who\n")
    report = UCI.check(tmp_path)
    assert report.missing[0].startswith("29 subjects of 30, or in what cannot be read")
