"""Generated recordings: read back as written, the same for the same seed, and physically plausible."""

import itertools
import json

import numpy as np
import pytest

from gnomon.core.options import build
from gnomon.core.seeds import generator
from gnomon.simulation.gait import step_frequency
from gnomon.suites.events import files, raw
from gnomon.suites.events.options import SimulateOptions
from gnomon.suites.events.simulate import simulate
from gnomon.suites.events.simulation import days, places
from gnomon.suites.events.simulation.days import UPRIGHT, Worn
from gnomon.suites.events.simulation.gait import RATE, walk_at
from gnomon.suites.events.simulation.people import PLACEMENTS, person

FORMATS = ("json", "json.gz", "jsonl", "csv", "parquet")


def made(folder, **options):
    return simulate(
        build(SimulateOptions, {"directory": str(folder), "subjects": 2, "minutes": 2, "hours": 2, **options})
    )


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def records(case):
    return list(itertools.chain.from_iterable(raw.records(case)))


@pytest.mark.parametrize("suffix", FORMATS)
def test_same_seed_same_bytes(tmp_path, suffix):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        made(tmp_path / name, seed=seed, format=suffix)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert not set(content(tmp_path / "a").values()) & set(content(tmp_path / "c").values())
    assert len(content(tmp_path / "a")) == 8


def test_all_formats_hold_the_same_records(tmp_path):
    read = {}
    for suffix in FORMATS:
        cases = files.read_truth(*made(tmp_path / suffix, format=suffix, subjects=1)[:1])
        read[suffix] = [records(case) for case in cases]
    assert all(found == read["json"] for found in read.values())


def test_truth_says_who_and_when(tmp_path):
    paths = made(tmp_path, subjects=4)
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"{kind}/s0{index}.json" for kind in ("walking", "visits") for index in (1, 2, 3, 4)
    ]
    walking = files.read_truth(*paths[:4])
    assert {case.tags["placement"] for case in walking} == set(PLACEMENTS)
    assert len({case.zone.zone for case in walking}) == 2
    for case in walking:
        assert case.window == (0, 120)
        assert {s.label for s in case.stretches} <= {"walking"}
        assert set(case.fields["subject"]) == {"id", "age", "height"}
        assert case.tags["subject"] == case.id
        assert json.loads(case.path.read_text())["t1"].endswith(("+02:00", "+01:00"))


def test_walks_are_apart_and_samples_in_order(tmp_path):
    for case in files.read_truth(*made(tmp_path, minutes=20)[:2]):
        found = records(case)
        times = np.array([record["time"] for record in found])
        assert (np.diff(times) > 0).all()
        assert 0 <= times[0] < times[-1] < 1200
        assert 0.9 * 1200 * RATE < len(times) < 1200 * RATE
        assert {record["type"] for record in found} == {"accel"}
        assert len(case.stretches) >= 5
        assert all(s.end - s.start >= 4 for s in case.stretches if s.end < 1200)
        assert all(b.start - a.end > 2 for a, b in itertools.pairwise(case.stretches))


@pytest.mark.parametrize("index", range(6))
def test_magnitudes_are_those_of_a_body_on_earth(index):
    """About 1 g on average (bias and gain are within a few percent), never above three axes at 4 g."""
    parts = list(days.day(person(index, 3), 600, generator(3, "test", str(index))))
    size = np.concatenate([np.linalg.norm(values, axis=1) for *_, values in parts])
    assert 9.2 < size.mean() < 11.0
    assert size.max() <= np.sqrt(3) * 4 * 9.81 + 0.1
    walks = [np.linalg.norm(values, axis=1).std() for label, *_, values in parts if label]
    assert all(0.3 < spread < 8 for spread in walks)


@pytest.mark.parametrize("speed", [0.7, 1.0, 1.3, 1.7])
@pytest.mark.parametrize("index", [0, 2])
def test_the_dominant_frequency_is_that_of_the_steps(index, speed):
    """A pocket and a bag; the spectrum by numpy, over more than a minute of one walk."""
    who, rng = person(index, 0), generator(0, "test", str(index), str(speed))
    _, values = Worn(who, rng).measure(walk_at(speed, who, 80, rng), UPRIGHT, 0)
    size = np.linalg.norm(values, axis=1)
    pieces = (size - size.mean())[: len(size) // 500 * 500].reshape(-1, 500) * np.hanning(500)
    power = np.square(np.abs(np.fft.rfft(pieces, axis=1))).mean(axis=0)
    hertz = np.fft.rfftfreq(500, 1 / RATE)
    power[hertz < 0.4] = 0
    expected = step_frequency(who.height, speed)
    assert hertz[power.argmax()] == pytest.approx(expected, rel=0.12)


def test_slow_walkers_shake_the_device_less():
    who, spread = person(2, 0), {}
    for speed in (0.7, 1.5):
        rng = generator(0, "test", "slow")
        _, values = Worn(who, rng).measure(walk_at(speed, who, 60, rng), UPRIGHT, 0)
        spread[speed] = np.linalg.norm(values, axis=1).std()
    assert spread[1.5] > 2 * spread[0.7]


def test_long_recordings_are_made_part_by_part():
    who = person(0, 0)
    for day in (days.day, places.day):
        first = next(iter(day(who, 1e9, generator(0, "test"))))
        assert first[1] == 0
        assert len(first[3]) == len(first[4]) < 50_000


def test_visits_and_paths_take_turns_and_fill_the_window(tmp_path):
    for case in files.read_truth(*made(tmp_path, hours=12)[2:]):
        assert [s.label for s in case.stretches] == [("visit", "path")[i % 2] for i in range(len(case.stretches))]
        assert case.stretches[0].start == case.window[0]
        assert case.stretches[-1].end == case.window[1]
        assert all(a.end == b.start for a, b in itertools.pairwise(case.stretches))
        found = records(case)
        times = [record["time"] for record in found]
        assert 20 < np.median(np.diff(times)) < 40
        assert max(np.diff(times)) > 120
        latitude, longitude, accuracy = np.array([record["values"] for record in found]).T
        assert np.ptp(latitude) < 0.3
        assert np.ptp(longitude) < 0.4
        assert (accuracy > 0).all()


def test_fixes_stay_near_a_place_and_move_on_a_path():
    """Distances from the mean, in metres by the length of a degree, in the simulated fixes themselves."""
    spread = {"visit": [], "path": []}
    for label, _, _, times, values in places.day(person(0, 0), 86_400, generator(0, "test", "places")):
        if len(times) > 8:
            metres = (values[:, :2] - values[:, :2].mean(axis=0)) * 111_320 * (1, np.cos(np.radians(values[0, 0])))
            spread[label].append(np.median(np.linalg.norm(metres, axis=1)))
    assert max(spread["visit"]) < 60
    assert min(spread["path"]) > 100
