"""The fourteen distributions: native files, the same bytes for the same seed, and the way back through the loaders.

Files are parsed here by plain code (``split``, ``float``, ``zipfile``, ``scipy.io``), apart from the loaders. Digits
are compared with Python's own formatting. What a loader gives back is compared with what was planned before writing.
"""

import hashlib
import io
import json
import re
import zipfile
from collections import defaultdict
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat
from scipy.spatial import cKDTree

from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.suites.har.datasets import REGISTRY, found
from gnomon.suites.har.datasets.catalogue import catalogue
from gnomon.suites.har.datasets.mobiact import MOBIFALL
from gnomon.suites.har.distributions import DISTRIBUTIONS, Request, base, clocks, ku_har, mobiact, smartlab, text
from gnomon.suites.har.options import SimulateOptions
from gnomon.suites.har.recordings import WINDOW_S
from gnomon.suites.har.simulate import simulate
from gnomon.suites.har.vocabulary import TEST_LABELS, TRAIN_LABELS

LABELS = {**TRAIN_LABELS, **TEST_LABELS}
ASKED = {"subjects": 2, "minutes": 0.5, "seed": 5}
REQUEST = Request(**ASKED)
G = 9.80665
EXACT = 2e-6
"""Relative rounding of single precision, in which loaders keep signals, and a little."""
PRECISION = {
    "uci_har": (1e-6, 1e-6),
    "hapt": (1e-6, 1e-6),
    "dsads": (6e-4, 6e-5),
    "pamap2": (6e-4, 6e-5),
    "ku_har": (6e-4, 6e-5),
    "mhealth": (6e-4, 2e-4),
    "motionsense": (1.1e-5, 6e-7),
    "vtt_coniot": (1e-5, 1e-7),
}
"""Half of the last digit of acceleration and angular rate in m/s^2 and rad/s, where files do not hold singles."""
REMOVED = {"ku_har", "recgym"}
"""Datasets whose acceleration is without gravity."""
RATES = {
    "uci_har": (50, 50),
    "hhar": (49, 205),
    "pamap2": (100, 100),
    "wisdm": (19.8, 20.2),
    "dsads": (25, 25),
    "ku_har": (99, 101),
    "unimib": (50, 50),
    "hapt": (50, 50),
    "mhealth": (50, 50),
    "recgym": (20, 20),
    "motionsense": (50, 50),
    "realworld": (49, 51),
    "mobiact": (80, 84),
    "vtt_coniot": (97, 100),
}


def options(folder, **changes):
    return build(SimulateOptions, {"directory": str(folder), **ASKED, **changes})


def digests(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "simulated.json"]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def lines(path):
    data = path.read_text("utf-8") if not isinstance(path, bytes) else path.decode()
    assert data.endswith("\n")
    return data.split("\n")[:-1]


def is_single(cell):
    """Whether a cell is the shortest text of a single-precision number as Java writes it."""
    assert re.fullmatch(r"-?\d+\.\d+(E-?\d+)?", cell), cell
    shortest = np.format_float_scientific(np.float32(cell), trim="-")
    digits = shortest.partition("e")[0].replace(".", "").lstrip("-")
    got = cell.partition("E")[0].replace(".", "").lstrip("-").lstrip("0").rstrip("0")
    return len(got) <= max(len(digits), 6)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distributions")
    assert simulate(options(folder)) == [folder / name for name in DISTRIBUTIONS]
    return folder


@pytest.fixture(scope="module")
def planned():
    return {name: list(distribution.plan(REQUEST)) for name, distribution in DISTRIBUTIONS.items()}


numbers = st.floats(-1e5, 1e5) | st.floats(-1, 1) | st.floats(-1e-3, 1e-3)


def written(cell, values):
    return text.joined(text.Form((cell,)), np.array(values, dtype=float)).decode().split("\n")[:-1]


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=50), st.integers(3, 9))
def test_significant_digits_are_those_of_python(values, digits):
    for got, value in zip(written(text.general(digits), values), values, strict=True):
        assert got == f"{value:.{digits}g}".replace("-0", "0", value == 0) or float(got) == pytest.approx(
            value, rel=0.501 * 10.0 ** (1 - digits), abs=1e-40
        )
        assert len(got.partition("e")[0].replace(".", "").lstrip("-").lstrip("0")) <= digits


@settings(max_examples=60)
@given(st.lists(numbers.map(lambda value: round(value, 6)), min_size=1, max_size=50))
def test_rounded_numbers_are_written_as_python_does(values):
    assert written(text.fixed(6), values) == [repr(value + 0.0) for value in values]


@settings(max_examples=60)
@given(st.lists(st.floats(-1e5, 1e5, width=32), min_size=1, max_size=50))
def test_single_numbers_come_back_from_their_shortest_text(values):
    for got, value in zip(written(text.SINGLE, values), values, strict=True):
        assert np.float32(got) == np.float32(value if abs(value) > 1e-40 else 0)
        assert is_single(got)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=50))
def test_powers_have_three_digits_and_a_place_for_the_sign(values):
    for got, value in zip(written(text.powers(8), values), values, strict=True):
        assert re.fullmatch(r"[ -]\d\.\d{7}e[+-]\d{3}", got)
        assert float(got) == pytest.approx(value, rel=5.01e-8, abs=1e-40)


def test_cells_that_are_not_numbers():
    form = text.Form((text.WHOLE, text.WORD, text.general(5)), separator="; ", end="!\n", words=("a", "long"))
    whole = np.array([0, -5, 2**63 - 1])
    got = text.joined(form, whole, np.array([1, 0, 1]), np.array([np.nan, 0.0, -2.5]), header="head\n")
    assert got == b"head\n0; long; NaN!\n-5; a; 0!\n9223372036854775807; long; -2.5!\n"


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e13])
def test_numbers_without_a_place_are_refused(value):
    with pytest.raises(ValueError, match="cannot be written"):
        written(text.general(5), [1.0, value])


def test_clocks_jitter_lose_and_repeat():
    rng = np.random.default_rng(0)
    times = clocks.jittering(rng, 100.0, 100.0, jitter=0.05, lost=0.1, late_s=0.25)
    steps = np.diff(times)
    assert times[0] == 0.25
    assert times[-1] <= 100.0
    assert (steps > 0).all()
    assert np.median(steps) == pytest.approx(0.01, rel=0.02)
    assert 0.02 < steps.max() < clocks.LONGEST_LOSS_S + 0.05
    stamps = clocks.stamped(rng, times, 1e-3, repeated=0.01)
    assert 0.005 < (np.diff(stamps) == 0).mean() < 0.03
    assert (np.diff(stamps) >= 0).all()


def test_the_mark_says_that_the_data_are_simulated(made):
    assert json.loads((made / "simulated.json").read_text()) == {
        "by": "gnomon simulate har",
        **ASKED,
        "datasets": list(DISTRIBUTIONS),
    }
    assert sorted(path.name for path in made.iterdir()) == sorted([*DISTRIBUTIONS, "simulated.json"])


@pytest.mark.slow
def test_each_dataset_alone_has_the_bytes_of_the_whole(made, tmp_path):
    for name in reversed(DISTRIBUTIONS):
        simulate(options(tmp_path, datasets=(name,)))
    assert digests(tmp_path) == digests(made)
    assert json.loads((tmp_path / "simulated.json").read_text())["datasets"] == list(DISTRIBUTIONS)


def test_another_seed_differs_and_more_subjects_leave_the_first_as_they_were(made, tmp_path):
    few = ("motionsense", "hapt")
    simulate(options(tmp_path / "seed", seed=6, datasets=few))
    simulate(options(tmp_path / "more", subjects=3, datasets=few))
    whole = {name: value for name, value in digests(made).items() if name.split("/")[0] in few}
    other, more = digests(tmp_path / "seed"), digests(tmp_path / "more")
    signals = [name for name in whole if "label" not in name]
    assert set(other) == set(whole)
    assert all(other[name] != whole[name] for name in signals)
    assert all(more[name] == whole[name] for name in signals)
    assert len(more) > len(whole)


def test_subjects_are_those_of_the_original_and_never_more():
    counts = [len(set(distribution.subjects)) for distribution in DISTRIBUTIONS.values()]
    assert counts == [30, 9, 9, 51, 8, 89, 30, 30, 10, 10, 24, 15, 57, 13]
    people = DISTRIBUTIONS["dsads"].subjects
    assert [scene.subject for scene in base.scenes(Request(subjects=100), "dsads", people)] == list(people)


def test_folders_with_other_things_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt.*would not be replaced; choose an empty folder"):
        simulate(options(tmp_path, datasets=("dsads",)))
    mine = tmp_path / "mine"
    (mine / "dsads" / "data").mkdir(parents=True)
    with pytest.raises(InputError, match="'dsads', which would not be replaced"):
        simulate(options(mine, datasets=("dsads",)))
    once = tmp_path / "once"
    simulate(options(once, datasets=("unimib",), subjects=1))
    before = digests(once)
    simulate(options(once, datasets=("unimib",), subjects=1))
    assert digests(once) == before
    with pytest.raises(InputError, match="was simulated with seed 5 instead of 7; choose an empty folder"):
        simulate(options(once, datasets=("unimib",), subjects=1, seed=7))
    (once / "simulated.json").write_text("{")
    with pytest.raises(InputError, match=r"simulated\.json: not what this verb writes"):
        simulate(options(once, datasets=("unimib",), subjects=1))


def test_an_interrupted_simulation_is_told_and_written_anew(tmp_path, monkeypatch):
    def stopped(folder, request):
        for subject in DISTRIBUTIONS["dsads"].write(folder, request):
            yield subject
            raise KeyboardInterrupt

    whole = DISTRIBUTIONS["dsads"]
    few = options(tmp_path / "a", datasets=("unimib", "dsads", "hapt"))
    with monkeypatch.context() as patch:
        patch.setattr(
            "gnomon.suites.har.simulate.DISTRIBUTIONS", {**DISTRIBUTIONS, "dsads": replace(whole, write=stopped)}
        )
        with pytest.raises(KeyboardInterrupt):
            simulate(few)
    mark = tmp_path / "a" / "simulated.json"
    order = [name for name in DISTRIBUTIONS if name in ("unimib", "dsads", "hapt")]
    done = order[: order.index("dsads")]
    assert json.loads(mark.read_text())["datasets"] == done
    assert json.loads(mark.read_text())["unfinished"] == [name for name in order if name not in done]
    there = found(tmp_path / "a")
    assert "unfinished simulation" in there.faults["dsads"]
    with pytest.raises(InputError, match=r"unfinished simulation \(.*simulated\.json says so\); simulate it again"):
        there["dsads"]
    rows = {row["dataset"].value: row["state"].value for row in catalogue("check", str(tmp_path / "a")).tables[0].rows}
    assert rows["dsads"] == "unusable"
    simulate(few)
    assert json.loads(mark.read_text())["datasets"] == order
    assert "unfinished" not in json.loads(mark.read_text())
    assert not found(tmp_path / "a").faults
    simulate(options(tmp_path / "b", datasets=("unimib", "dsads", "hapt")))
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_no_name_is_not_all_names(tmp_path):
    for names in (("",), (" , ",)):
        with pytest.raises(InputError, match="datasets: none is named, expected some of uci_har"):
            simulate(options(tmp_path / "x", datasets=names))
    assert not (tmp_path / "x").exists()


def test_releases_of_mobiact_have_their_own_people():
    assert {layout: len(names) for layout, names in mobiact.PEOPLE.items()} == {
        "mobiact": 57,
        "mobifall": 24,
        "annotated": 66,
    }
    assert mobiact.PEOPLE["mobifall"] == MOBIFALL
    plans = mobiact.plan_as("mobifall", Request(subjects=100, minutes=0.1))
    assert tuple(dict.fromkeys(plan.subject for plan in plans)) == MOBIFALL


def test_unknown_datasets_are_named():
    with pytest.raises(InputError, match="datasets: no 'opportunity', expected some of uci_har, hhar"):
        simulate(options("anywhere", datasets=("wisdm,opportunity",)))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_label_and_subject_is_planned_long_enough(planned, name):
    plans = planned[name]
    wanted = set(DISTRIBUTIONS[name].subjects[:2])
    assert {plan.subject for plan in plans} == wanted
    assert {(plan.subject, plan.label) for plan in plans} == {(who, label) for who in wanted for label in LABELS[name]}
    longest = defaultdict(float)
    for plan in plans:
        longest[plan.label] = max(longest[plan.label], plan.acc.times.max() - plan.acc.times.min())
    short = {label for label, seconds in longest.items() if seconds < WINDOW_S}
    events = {label for label in LABELS[name] if re.search(r"fall|syncope|_to_|car_|_from_|sitting_|running", label)}
    assert short == set(LABELS[name]) if name == "unimib" else short <= events


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_people_rest_under_gravity_and_differ(planned, name):
    rests = [plan for plan in planned[name] if plan.label in ("sitting", "standing", "lying", "laying", "lying_back")]
    lengths = [np.nanmedian(np.linalg.norm(plan.acc.values, axis=1)) for plan in rests]
    if name in REMOVED:
        assert all(length < 1.0 for length in lengths)
    elif rests:
        assert all(abs(length / G - 1) < 0.1 for length in lengths)
    first, second = DISTRIBUTIONS[name].subjects[:2]
    by = {plan.subject: plan.acc.values for plan in planned[name] if plan.label == LABELS[name][0]}
    count = min(len(by[first]), len(by[second]))
    assert not np.allclose(by[first][:count], by[second][:count], equal_nan=True)


def test_uci_har_files(made):
    top = made / "uci_har" / "UCI HAR Dataset"
    found = {}
    for split, subject in (("train", "1"), ("test", "2")):
        people, codes = (lines(top / split / f"{what}_{split}.txt") for what in ("subject", "y"))
        assert set(people) == {subject}
        assert set(codes) == set("123456")
        for signal in ("body_acc", "body_gyro", "total_acc"):
            for axis in "xyz":
                rows = lines(top / split / "Inertial Signals" / f"{signal}_{axis}_{split}.txt")
                assert len(rows) == len(codes)
                assert all(re.fullmatch(r"(  ?-?\d\.\d{7}e[+-]\d{3}){128}", row) for row in rows)
                assert all(len(row) == 128 * 16 for row in rows)
                found[signal, axis] = np.array([row.split() for row in rows], dtype=float)
        values = found["total_acc", "x"]
        follows = zip(pairwise(values), pairwise(codes), strict=True)
        same = [bool((a[64:] == b[:64]).all()) for (a, b), (c, d) in follows if c == d]
        assert sum(same) > len(same) / 2
        length = np.sqrt(sum(found["total_acc", axis] ** 2 for axis in "xyz"))
        assert np.median(length) == pytest.approx(1.0, abs=0.1)
        body = np.sqrt(sum(found["body_acc", axis] ** 2 for axis in "xyz"))
        assert np.median(body) < 0.5
    assert lines(top / "activity_labels.txt")[5] == "6 LAYING"


def test_hapt_files_have_the_recordings_of_uci_har(made):
    raw = made / "hapt" / "RawData"
    assert sorted(path.name for path in raw.iterdir())[:2] == ["acc_exp01_user01.txt", "acc_exp03_user02.txt"]
    told = np.array([row.split(" ") for row in lines(raw / "labels.txt")], dtype=int)
    assert told.shape[1] == 5
    assert set(told[:, 2]) == set(range(1, 13))
    assert {tuple(pair) for pair in told[:, :2].tolist()} == {(1, 1), (3, 2)}
    rows = lines(raw / "acc_exp01_user01.txt")
    acc = np.array([row.split(" ") for row in rows], dtype=float)
    assert acc.shape[1] == 3
    assert max(len(cell.lstrip("-").lstrip("0.")) for row in rows[:200] for cell in row.split(" ")) in (15, 16, 17)
    assert np.abs(acc * 720 - np.rint(acc * 720)).max() < 1e-9
    assert len(lines(raw / "gyro_exp01_user01.txt")) == len(acc)
    mine = told[told[:, 0] == 1]
    assert mine[0, 3] > 1
    assert (mine[1:, 3] > mine[:-1, 4]).all()
    assert mine[-1, 4] <= len(acc)
    walk = mine[mine[:, 2] == 1][0]
    stretch = acc[walk[3] - 1 : walk[4]]
    top = made / "uci_har" / "UCI HAR Dataset" / "train"
    codes = lines(top / "y_train.txt")
    line = lines(top / "Inertial Signals" / "total_acc_y_train.txt")[codes.index("1")]
    smooth = np.array(line.split(), dtype=float)
    assert np.corrcoef(smooth, stretch[:128, 1])[0, 1] > 0.9


def test_experiments_are_numbered_as_in_the_original():
    every = [number for subject in smartlab.SUBJECTS for number in smartlab.numbers(subject)]
    assert every == list(range(1, 62))


def test_hhar_files(made):
    top = made / "hhar" / "Activity recognition exp"
    assert len(list(top.iterdir())) == 4
    for kind, sensor in (("Phones", "accelerometer"), ("Watch", "gyroscope")):
        head, *rows = lines(top / f"{kind}_{sensor}.csv")
        assert head == "Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt"
        cells = [row.split(",") for row in rows]
        assert {len(row) for row in cells} == {10}
        assert all(is_single(cell) for row in cells[::500] for cell in row[3:6])
        assert {row[9] for row in cells} == {"stand", "sit", "walk", "stairsup", "stairsdown", "bike", "null"}
        devices = {(row[6], row[8]): row[7] for row in cells}
        models = ["nexus4", "s3", "s3mini", "samsungold"] if kind == "Phones" else ["gear", "lgwatch"]
        assert devices == {(user, f"{name}_{k}"): name for user, k in (("a", 1), ("b", 2)) for name in models}
        blocks = [key for key, _ in groupby((row[6], row[8]) for row in cells)]
        assert len(blocks) == 2 * len(devices)
        for who in devices:
            mine = [row for row in cells if (row[6], row[8]) == who]
            assert [int(row[0]) for row in mine] == list(range(len(mine)))
            created = np.array([int(row[2]) for row in mine])
            rate = 1e9 / np.median(np.diff(created))
            assert rate == pytest.approx(RATE_OF[devices[who]], rel=0.02)
            assert {len(row[1]) for row in mine} == {13}
            assert {len(row[2]) for row in mine} <= ({19} if devices[who] in ("nexus4", "s3", "lgwatch") else {14, 15})


RATE_OF = {"nexus4": 200, "s3": 150, "s3mini": 100, "samsungold": 50, "gear": 100, "lgwatch": 200}


def test_pamap2_files(made):
    top = made / "pamap2" / "PAMAP2_Dataset"
    assert sorted(path.name for path in (top / "Protocol").iterdir()) == ["subject101.dat", "subject102.dat"]
    assert [path.name for path in (top / "Optional").iterdir()] == ["subject101.dat"]
    cells = [row.split(" ") for row in lines(top / "Protocol" / "subject101.dat")]
    assert {len(row) for row in cells} == {54}
    table = np.array(cells, dtype=float)
    assert np.diff(table[:, 0]) == pytest.approx(0.01)
    assert set(table[:, 1].astype(int)) == {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 16, 17, 24}
    assert np.isfinite(table[:, 2]).mean() == pytest.approx(1 / 11, abs=0.01)
    hand = table[:, 3:20]
    lost = np.isnan(hand).any(axis=1)
    assert 0.001 < lost.mean() < 0.1
    assert (np.isnan(hand[lost])).all()
    assert (table[~np.isnan(table[:, 19])][:, 16:20] == [1, 0, 0, 0]).all()
    assert all(row[k] == f"{float(row[k]):.6g}" for row in cells[::97] for k in range(4, 16) if row[k] != "NaN")
    lying = table[(table[:, 1] == 1) & ~lost]
    assert np.median(np.linalg.norm(lying[:, 4:7], axis=1)) == pytest.approx(G, rel=0.1)
    assert np.linalg.norm(lying[:, 4:7] - lying[:, 7:10], axis=1).max() < 0.5
    optional = np.array([row.split(" ") for row in lines(top / "Optional" / "subject101.dat")], dtype=float)
    assert set(optional[:, 1].astype(int)) == {0, 9, 10, 11, 18, 19}


def test_wisdm_files(made):
    raw = made / "wisdm" / "wisdm-dataset" / "raw"
    for device in ("phone", "watch"):
        starts = {}
        for sensor in ("accel", "gyro"):
            names = sorted(path.name for path in (raw / device / sensor).iterdir())
            assert names == [f"data_{who}_{sensor}_{device}.txt" for who in (1600, 1601)]
            rows = lines(raw / device / sensor / names[0])
            assert all(re.fullmatch(r"1600,[A-S],\d{15},\S+,\S+,\S+;", row) for row in rows)
            cells = [row[:-1].split(",") for row in rows]
            assert all(is_single(cell) for row in cells[::40] for cell in row[3:])
            letters = [key for key, _ in groupby(row[1] for row in cells)]
            assert "".join(letters) == "ABCDEFGHIJKLMOPQRS"
            starts[sensor] = {row[1]: int(row[2]) for row in reversed(cells)}
        ahead = [starts["gyro"][letter] - starts["accel"][letter] for letter in letters]
        assert all(4e7 < ns < 2.1e8 for ns in ahead)
        assert sorted(starts["accel"].values()) != list(starts["accel"].values())


def test_dsads_files(made):
    data = made / "dsads" / "data"
    assert sorted(path.name for path in data.iterdir()) == [f"a{k:02d}" for k in range(1, 20)]
    assert sorted(path.name for path in (data / "a09" / "p2").iterdir()) == ["s01.txt", "s02.txt"]
    for path in sorted(data.glob("a*/p1/s01.txt")):
        cells = [row.split(",") for row in lines(path)]
        assert len(cells) == 125
        assert {len(row) for row in cells} == {45}
        assert all(cell == f"{float(cell):.5g}" for row in cells[::25] for cell in row)
    sitting = np.array([row.split(",") for row in lines(data / "a01" / "p1" / "s01.txt")], dtype=float)
    for unit in range(5):
        part = sitting[:, 9 * unit : 9 * unit + 9]
        assert np.median(np.linalg.norm(part[:, :3], axis=1)) == pytest.approx(G, rel=0.1)
        assert 0.5 < np.median(np.linalg.norm(part[:, 6:], axis=1)) < 1.5


@pytest.mark.parametrize(("unit", "step"), [("s", 0.01), ("ms", 10.0)])
def test_ku_har_files(tmp_path, unit, step):
    list(ku_har.write_in(unit, tmp_path, REQUEST))
    top = tmp_path / "1.Raw_time_domian_data"
    classes = sorted((path.name for path in top.iterdir()), key=lambda name: int(name.split(".")[0]))
    assert [name.split(".")[0] for name in classes] == [str(k) for k in range(18)]
    assert classes[0] == "0.Stand"
    assert classes[17] == "17.Table-tennis"
    assert (top / "10.Sit-up" / "1002_K_1.csv").is_file()
    assert (top / "17.Table-tennis" / "1001_U_1.csv").is_file()
    fewer = 0
    for path in sorted(top.glob("*/*.csv")):
        cells = [row.split(",") for row in lines(path)]
        assert {len(row) for row in cells} == {8}
        assert all(row[k] == f"{float(row[k]):.5g}" for row in cells[::50] for k in (1, 2, 3, 5, 6, 7))
        table = np.array(cells, dtype=float)
        assert np.median(np.diff(table[:, 0])) == pytest.approx(step, rel=0.02)
        assert np.median(np.diff(table[:, 4])) == pytest.approx(step, rel=0.02)
        fewer += bool((table[-1, 4:] == 0).all() or (table[-1, :4] == 0).all())
    assert fewer
    stand = np.array([row.split(",") for row in lines(top / "0.Stand" / "1001_A_1.csv")], dtype=float)
    assert np.median(np.linalg.norm(stand[:-5, 1:4], axis=1)) < 1.0


def test_unimib_files(made, planned):
    data = made / "unimib" / "UniMiB-SHAR" / "data"
    assert sorted(path.name for path in data.iterdir()) == ["acc_data.mat", "acc_labels.mat", "acc_names.mat"]
    assert (data / "acc_data.mat").read_bytes().startswith(b"MATLAB 5.0 MAT-file")
    values, labels, names = (loadmat(data / f"acc_{what}.mat")[f"acc_{what}"] for what in ("data", "labels", "names"))
    assert values.shape == (len(labels), 453)
    assert labels.shape[1] == 3
    assert set(labels[:, 0]) == set(range(1, 18))
    assert set(labels[:, 1]) == {1, 2}
    assert labels[:, 2].min() == 1
    assert names.shape == (2, 17)
    assert str(names[1, 0][0]) == "StandingUpFS"
    assert str(names[0, 16][0]) == "Falling leftward"
    assert len(values) == len(planned["unimib"])
    plan = planned["unimib"][0]
    found = np.flatnonzero((labels[:, :2] == [LABELS["unimib"].index(plan.label) + 1, 1]).all(axis=1))
    assert (plan.acc.values == values[found[0]].reshape(3, 151).T).all()


def test_mhealth_files(made):
    top = made / "mhealth" / "MHEALTHDATASET"
    assert sorted(path.name for path in top.iterdir()) == ["mHealth_subject1.log", "mHealth_subject2.log"]
    cells = [row.split("\t") for row in lines(top / "mHealth_subject1.log")]
    assert {len(row) for row in cells} == {24}
    assert all(cell == f"{float(cell):.5g}" for row in cells[::31] for cell in row)
    table = np.array(cells, dtype=float)
    codes = [int(key) for key, _ in groupby(table[:, 23])]
    assert codes == [code for k in range(1, 13) for code in (0, k)] + [0]
    still, walking = table[table[:, 23] == 1], table[table[:, 23] == 4]
    for first in (0, 5, 14):
        assert np.median(np.linalg.norm(still[:, first : first + 3], axis=1)) == pytest.approx(G, rel=0.1)
    assert np.abs(walking[:, 8:11]).max() > 30  # degrees per second; in rad/s no ankle is so fast


def test_recgym_file(made):
    head, *rows = lines(made / "recgym" / "RecGym.csv")
    assert head == "Subject,Position,Session,A_x,A_y,A_z,G_x,G_y,G_z,C_1,Workout"
    cells = [row.split(",") for row in rows]
    assert {len(row) for row in cells} == {11}
    blocks = [key for key, _ in groupby((row[0], row[1], row[2]) for row in cells)]
    assert blocks == [(who, place, "1") for who in "12" for place in ("wrist", "pocket", "leg")]
    workouts = {row[10] for row in cells}
    assert len(workouts) == 12
    assert {"Null", "StairsClimber", "ArmCurl"} <= workouts
    values = np.array([row[3:10] for row in cells], dtype=float)
    assert ((values > 0) & (values < 1)).all()
    assert np.median(values, axis=0) == pytest.approx(0.5, abs=0.05)
    assert np.abs(values[:, :3] * 8000 - np.rint(values[:, :3] * 8000)).max() < 1e-4
    assert np.abs(values[:, 3:6] * 25600 - np.rint(values[:, 3:6] * 25600)).max() < 1e-4


def test_motionsense_files(made):
    top = made / "motionsense" / "A_DeviceMotion_data"
    trials = "dws_1 dws_11 dws_2 jog_16 jog_9 sit_13 sit_5 std_14 std_6 ups_12 ups_3 ups_4 wlk_15 wlk_7 wlk_8"
    assert sorted(path.name for path in top.iterdir()) == trials.split()
    head, *rows = lines(top / "std_6" / "sub_1.csv")
    sensors = [f"{what}.{axis}" for what in ("gravity", "rotationRate", "userAcceleration") for axis in "xyz"]
    assert head.split(",") == ["", "attitude.roll", "attitude.pitch", "attitude.yaw", *sensors]
    cells = [row.split(",") for row in rows]
    assert [row[0] for row in cells] == [str(k) for k in range(len(cells))]
    assert all(cell == repr(round(float(cell), 6)) for row in cells[::37] for cell in row[1:])
    table = np.array(cells, dtype=float)
    assert np.linalg.norm(table[:, 4:7], axis=1) == pytest.approx(1.0, abs=2e-3)
    assert np.median(np.linalg.norm(table[:, 10:], axis=1)) < 0.1


def test_realworld_files(made):
    top = made / "realworld" / "realworld2016_dataset"
    assert sorted(path.name for path in top.iterdir()) == ["proband1", "proband4"]
    activities = ["climbingdown", "climbingup", "jumping", "lying", "running", "sitting", "standing", "walking"]
    places = ["chest", "forearm", "head", "shin", "thigh", "upperarm", "waist"]
    names = [f"{sensor}_{act}_csv.zip" for sensor in ("acc", "gyr", "mag") for act in activities]
    assert sorted(path.name for path in (top / "proband4" / "data").iterdir()) == names

    def inside(who, name):
        return zipfile.ZipFile(top / who / "data" / name)

    with inside("proband1", "gyr_walking_csv.zip") as archive:
        assert sorted(archive.namelist()) == [f"Gyroscope_walking_{place}.csv" for place in places]
        head, *rows = lines(archive.read("Gyroscope_walking_waist.csv"))
    assert head == "id,attr_time,attr_x,attr_y,attr_z"
    cells = [row.split(",") for row in rows]
    assert [row[0] for row in cells] == [str(k) for k in range(1, len(cells) + 1)]
    assert {len(row[1]) for row in cells} == {13}
    assert np.median(np.diff([int(row[1]) for row in cells])) == 20
    assert all(is_single(cell) for row in cells for cell in row[2:])
    with inside("proband4", "acc_walking_csv.zip") as archive:
        assert "acc_walking_2_waist.csv" in archive.namelist()
    for sensor, file, first in (("acc", "acc", "_1"), ("gyr", "Gyroscope", ""), ("mag", "MagneticField", "")):
        with inside("proband4", f"{sensor}_climbingup_csv.zip") as archive:
            parts = [f"{sensor}_climbingup{part}_csv.zip" for part in (first, "_2", "_3")]
            assert archive.namelist() == parts
            for part, infix in zip(parts, ("", "_2", "_3"), strict=True):
                with zipfile.ZipFile(io.BytesIO(archive.read(part))) as inner:
                    assert sorted(inner.namelist()) == [f"{file}_climbingup{infix}_{place}.csv" for place in places]


CODES = ("STD", "WAL", "JOG", "JUM", "STU", "STN", "SCH", "CSI", "CSO", "FOL", "FKL", "BSC", "SDL")


@pytest.mark.parametrize("layout", ["mobiact", "mobifall"])
def test_mobiact_text_files(tmp_path, layout):
    list(mobiact.write_as(layout, tmp_path, REQUEST))
    if layout == "mobiact":
        folders = {code: tmp_path / "MobiAct_Dataset" / code for code in CODES}
    else:
        top = tmp_path / "MobiFall_Dataset_v2.0" / "sub2"
        folders = {code: top / ("FALLS" if k > 8 else "ADL") / code for k, code in enumerate(CODES)}
    for code, folder in folders.items():
        rates = []
        for sensor, unit in (("acc", "(m/s^2)"), ("gyro", "(rad/s)"), ("ori", "(degrees)")):
            rows = lines(folder / f"{code}_{sensor}_2_1.txt")
            assert rows[1].startswith("#timestamp(ns),")
            assert rows[1].endswith(unit)
            assert re.fullmatch(rf"#Activity: \d+ - {code} - [A-Z][a-z ]+ - \d+[sm]", rows[4])
            assert rows[5] == "#Subject ID: 2"
            assert rows[13:16] == ["", "", "@DATA"]
            cells = [row.split(", ") for row in rows[16:]]
            assert {len(row) for row in cells} == {4}
            assert all(row[0].endswith("000") for row in cells)
            assert all(is_single(cell) for row in cells[::50] for cell in row[1:])
            rates.append(1e9 / np.median(np.diff([int(row[0]) for row in cells])))
        assert rates == pytest.approx([82, 200, 200], rel=0.02)


def test_mobiact_annotated_tables(tmp_path):
    list(mobiact.write_as("annotated", tmp_path, REQUEST))
    top = tmp_path / "MobiAct_Dataset_v2.0" / "Annotated Data"
    assert sorted(path.name for path in top.iterdir()) == sorted(CODES)
    after = {"SCH": "SIT", "CSI": "SIT", "CSO": "STD", "FOL": "LYI", "FKL": "LYI", "BSC": "LYI", "SDL": "LYI"}
    for code in CODES:
        head, *rows = lines(top / code / f"{code}_1_1_annotated.csv")
        names = "timestamp,rel_time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,azimuth,pitch,roll,label"
        assert head == names
        cells = [row.split(",") for row in rows]
        assert {len(row) for row in cells} == {12}
        told = [key for key, _ in groupby(row[11] for row in cells)]
        assert told == (["STD", code, after[code]] if code in after else [code])
        ns = np.array([int(row[0]) for row in cells])
        assert (ns - ns[0]) / 1e9 == pytest.approx(np.array([float(row[1]) for row in cells]))
        assert set(np.diff(ns)) == {5_000_000}


def test_vtt_coniot_files(made):
    top = made / "vtt_coniot" / "VTT_ConIot_Dataset" / "VTT-ConIot-IMU-Data"
    assert len(list(top.iterdir())) == 2 * 16
    orders = []
    for user in (1, 2):
        head, *rows = lines(top / f"activity_13_user_{user}_combined.csv")
        names = head.split(",")
        axes = [f"{part}{axis}_{unit}" for part, unit in (("A", "g"), ("G", "dps"), ("M", "uT")) for axis in "xyz"]
        wanted = {"timestamp", *(f"{place}_{end}" for place in ("trousers", "back", "hand") for end in axes)}
        assert set(names) == wanted
        orders.append(names)
        table = np.array([row.split(",") for row in rows], dtype=float)
        assert 1000 / np.median(np.diff(table[:, 0])) == pytest.approx(98.5, rel=0.01)
        hip = [names.index(f"trousers_A{axis}_g") for axis in "xyz"]
        assert np.median(np.linalg.norm(table[:, hip], axis=1)) == pytest.approx(1.0, abs=0.1)
    assert orders[0] != orders[1]


def compared(name, plans, recordings, acc_step, gyro_step):
    """Compare what a loader gives with what was planned: every row of it, and how much of the plan is there."""
    by = defaultdict(list)
    for recording in recordings:
        by[recording.subject, recording.label].append(recording)
    assert set(by) == {(plan.subject, plan.label) for plan in plans}
    for key, group in by.items():
        mine = [plan for plan in plans if (plan.subject, plan.label) == key]
        acc = np.concatenate([plan.acc.values for plan in mine])
        known = np.isfinite(acc).all(axis=1)
        got = np.concatenate([recording.signals for recording in group]).astype(float)
        far, nearest = cKDTree(acc[known]).query(got[:, :3])
        near = far <= 2 * acc_step + 2 * EXACT * np.abs(got[:, :3]).max()
        filled = 1 - known.mean()  # rows that a loader may have interpolated
        assert near.mean() >= 1 - filled - 1e-9, (key, far.max())
        assert len(got) >= 0.93 * known.sum(), key
        if mine[0].gyro is None:
            assert not got[:, 3:].any()
            continue
        turned = [np.stack([interpolated(plan, k) for k in range(3)], axis=1) for plan in mine]
        wrong = np.abs(got[near, 3:] - np.concatenate(turned)[known][nearest[near]]).max(axis=1)
        scale = np.nanmax(np.abs(np.concatenate([plan.gyro.values for plan in mine])))
        smoothed, noise = SMOOTHED.get(name, (0.0, 0.0))
        assert np.median(wrong) <= 2 * gyro_step + (2 * EXACT + smoothed) * scale + noise, key


def interpolated(plan, axis):
    """Return the planned angular rate at the planned times of the acceleration."""
    order = np.argsort(plan.gyro.times, kind="stable")
    return np.interp(plan.acc.times, plan.gyro.times[order], plan.gyro.values[order, axis])


SMOOTHED = {"mobiact": (0.05, 0.01)}
"""By what a loader may change the angular rate where it filters before it joins: a share, and noise in rad/s."""


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_loaders_give_back_what_was_planned(made, planned, name):
    dataset = REGISTRY[name]
    place = dataset.find(made)
    assert place is not None
    assert place.inside.startswith(f"{name}/")
    recordings = list(dataset.read(place, "strict"))
    low, high = RATES[name]
    assert all(low - 1e-9 <= recording.rate_hz <= high + 1e-9 for recording in recordings)
    compared(name, planned[name], recordings, *PRECISION.get(name, (0.0, 0.0)))
    report = dataset.check(place)
    assert not report.error
    assert not [line for line in report.odd if "at rest" in line or "refused" in line]
    assert [line for line in report.missing if "label" in line] == []


@pytest.mark.parametrize("layout", ["mobifall", "annotated"])
def test_the_other_layouts_of_mobiact_come_back(tmp_path, layout):
    dataset = REGISTRY["mobiact"]
    list(mobiact.write_as(layout, tmp_path, REQUEST))
    plans = list(mobiact.plan_as(layout, REQUEST))
    compared("mobiact", plans, list(dataset.read(tmp_path, "strict")), 0.0, 0.0)


def test_milliseconds_of_ku_har_come_back(tmp_path, planned):
    dataset = REGISTRY["ku_har"]
    list(ku_har.write_in("ms", tmp_path, REQUEST))
    compared("ku_har", planned["ku_har"], list(dataset.read(tmp_path, "strict")), *PRECISION["ku_har"])
