"""Episodes that runs keep. Expected values from the table of the run, from the samples, or by counting frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("h5py")
pytest.importorskip("av")

import gnomon
from gnomon.core.errors import InputError, IntegrityError
from gnomon.runs import exhibits as stored
from gnomon.runs.run import load
from gnomon.runs.variants import told_apart
from gnomon.suites.episode import cells, exhibits, videos
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import STRIDE
from gnomon.suites.episode.running import built_by
from gnomon.suites.episode.tasks.declared import TASKS

CODES = [name for name, task in TASKS.items() if task.kind in ("label", "binary", "pair", "multilabel")]


@pytest.fixture(scope="module")
def kept(runs):
    """Runs of the minimal heads as they are on disk, by variant."""
    return {variant: load(own["minimal"].path) for variant, own in runs.items()}


@pytest.fixture(scope="module")
def views(kept):
    """Timelines of the first kept episode, by variant."""
    return {variant: exhibits.shown([run], stored.listed(run.path).entries[0].case) for variant, run in kept.items()}


def lane(view, group, name):
    (found,) = (one for one in view.data["lanes"] if (one["group"], one["name"]) == (group, name))
    return found


def fps_of(places, case):
    with Episode.open(next(place for place in places if place.id == case)) as episode:
        return episode.fps


def test_every_tested_episode_is_kept_the_worst_first(kept):
    for run in kept.values():
        found = stored.listed(run.path)
        rows = run_rows(run)
        wrong = {}
        for row in rows:
            if row["value"] is None:
                wrong.setdefault(row["episode"], []).append(row["truth"] != row["prediction"])
        shares = {name: float(np.mean(values)) for name, values in wrong.items()}
        assert {entry.case: entry.badness for entry in found.entries} == pytest.approx(shares)
        assert [entry.case for entry in found.entries] == sorted(shares, key=lambda name: (-shares[name], name))


def run_rows(run):
    import pyarrow.parquet as pq

    return pq.read_table(run.path / "predictions.parquet").to_pylist()


def test_lanes_do_not_overlap_and_lie_in_the_episode(views):
    for view in views.values():
        low, high = view.data["window"]
        for one in view.data["lanes"]:
            assert (one["start"] <= one["end"]).all(), one["name"]
            assert (one["start"][1:] >= one["end"][:-1] - 1e-9).all(), one["name"]
            assert len(one["start"]) == 0 or (one["start"][0] >= low and one["end"][-1] <= high + 1e-9), one["name"]


@pytest.mark.parametrize("variant", ["published", "strict"])
def test_answers_and_outcomes_are_those_of_the_table(kept, views, variant):
    view = views[variant]
    for task in CODES:
        rows = [row for row in run_rows(kept[variant]) if row["task"] == task and row["episode"] == view.data["case"]]
        if not rows:
            continue
        said = lane(view, task, "prediction")
        given_labels = sorted(row["prediction"] for row in rows if row["prediction"])
        assert sorted(view.data["labels"][code] for code in said["code"]) == given_labels
        outcome = lane(view, task, "outcome")
        right = sum(row["truth"] == row["prediction"] for row in rows)
        assert ((outcome["code"] == 0).sum(), len(outcome["code"])) == (right, len(rows))


def test_the_annotation_is_that_of_the_frames(views, places, recorded):
    """Every frame has the label that the annotation gives it; a transition stands where the action changes."""
    view = views["strict"]
    case = view.data["case"]
    own = next(one for one in recorded["strict"] if one.id == case)
    fps = fps_of(places, case)
    assert view.data["window"] == [0.0, pytest.approx(own.n_frames / fps)]
    for name, texts in (("action", own.labels.action), ("sub-task", own.labels.subtask)):
        found = [""] * own.n_frames
        one = lane(view, "annotation", name)
        for start, end, code in zip(one["start"] * fps, one["end"] * fps, one["code"], strict=True):
            for frame in range(round(start), round(end)):
                found[frame] = view.data["labels"][code]
        assert found == list(texts)
    changes = [k for k in range(1, own.n_frames) if own.labels.action[k] != own.labels.action[k - 1]]
    assert np.rint(lane(view, "annotation", "transitions")["start"] * fps).astype(int).tolist() == changes


@pytest.mark.parametrize("variant", ["published", "strict"])
def test_zones_say_which_side_reads_a_frame(views, places, recorded, variant):
    """Counted frame by frame from the samples of every task."""
    view = views[variant]
    case = view.data["case"]
    fps = fps_of(places, case)
    from gnomon.suites.episode.options import RunOptions

    options = RunOptions(episodes=("x",))
    for task in TASKS:
        data = cells.built(task, recorded[variant], built_by(options, options.seed, variant))
        for what, ranges in (("input", data.input_range), ("target", data.target_range)):
            readers = [set() for _ in range(data.recorded[case].n_frames)]
            for episode, part, (low, high) in zip(data.episode, data.part, ranges, strict=True):
                for frame in range(int(low), int(high)) if episode == case else ():
                    readers[frame].add(part)
            wanted = [_zone(parts) for parts in readers]
            if not any(wanted):
                continue
            one = next(
                one
                for one in view.data["lanes"]
                if one["group"] == "split"
                and one["name"].startswith(what)
                and (one["name"].endswith("all tasks") or task in one["name"].partition(": ")[2].split(", "))
            )
            found = [""] * len(wanted)
            for start, end, code in zip(one["start"] * fps, one["end"] * fps, one["code"], strict=True):
                for frame in range(round(start), round(end)):
                    found[frame] = view.data["zones"][code]
            assert found == wanted, (task, what)


def _zone(parts):
    if {"train", "test"} <= parts:
        return "train and test"
    return next((part for part in ("test", "train", "purged") if part in parts), "")


def test_published_shows_frames_that_both_sides_read_and_strict_shows_none(views):
    for variant, leaks in (("published", True), ("strict", False)):
        view = views[variant]
        code = view.data["zones"].index("train and test")
        found = any((one["code"] == code).any() for one in view.data["lanes"] if one["group"] == "split")
        assert found == leaks


def test_vectors_leave_a_number_for_every_test_sample(kept, views, places):
    view, run = views["strict"], kept["strict"]
    signals = {one["name"]: one for one in view.data["signals"]}
    one = signals["hand_trajectory_forecast, error"]
    rows = [r for r in run_rows(run) if r["task"] == "hand_trajectory_forecast" and r["episode"] == view.data["case"]]
    wanted = {int(row["sample"].rpartition("/")[2]) // STRIDE: row["value"] for row in rows}
    found = {int(k): float(one["low"][k]) for k in np.flatnonzero(~np.isnan(one["low"]))}
    assert found == pytest.approx(wanted, rel=1e-6)
    assert one["unit"] == "m"
    fps = fps_of(places, view.data["case"])
    assert (one["start"] * fps, one["step"] * fps) == pytest.approx((7.5, 5.0))


def test_the_sound_is_the_envelope_of_the_first_video_that_has_some(views, places):
    view = views["strict"]
    place = next(place for place in places if place.id == view.data["case"])
    sound = view.data["signals"][-1]
    assert sound["name"] == "sound"
    low, high = videos.waveform(place.video("fisheye_cam0"), exhibits.BINS)
    assert np.array_equal(sound["low"], low.astype(np.float32))
    assert np.array_equal(sound["high"], high.astype(np.float32))
    assert sound["step"] * len(low) == pytest.approx(view.data["window"][1])


def test_sound_that_cannot_be_read_leaves_a_note(places, monkeypatch):
    def refuse(path, bins):
        raise InputError(f"{path}: the audio cannot be decoded")

    monkeypatch.setattr(videos, "waveform", refuse)
    known = exhibits._look(places[0], True)
    assert known.sound is None
    assert known.note == "no sound: stereo_right.mp4: the audio cannot be decoded"
    assert exhibits._look(places[0], False).note == ""


def test_two_systems_share_what_is_common(runs):
    pair = [load(runs["strict"][name].path) for name in ("minimal", "majority")]
    view = exhibits.shown(pair, stored.listed(pair[0].path).entries[0].case)
    names = [one["name"] for one in view.data["lanes"] if one["group"] == "timeline_action"]
    assert names == [
        "truth",
        "minimal: prediction",
        "minimal: outcome",
        "majority: prediction",
        "majority: outcome",
    ]
    assert [one["name"] for one in view.data["lanes"]].count("action") == 1


def test_two_variants_are_told_apart(kept):
    case = stored.listed(kept["strict"].path).entries[0].case
    view = exhibits.shown(told_apart([kept["published"], kept["strict"]]), case)
    names = {one["name"] for one in view.data["lanes"]}
    assert {"minimal [published]: outcome", "minimal [strict]: outcome"} <= names
    view = exhibits.shown([kept["strict"], kept["strict"]], case)
    assert {"minimal: outcome", "minimal (2): outcome"} <= {one["name"] for one in view.data["lanes"]}


def test_scored_answers_are_kept_as_run_ones_are(kept, episodes, tmp_path):
    """The labels of a run, scored as answers made elsewhere, show the same lanes; sound is of runs alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = kept["strict"]
    rows = [row for row in run_rows(run) if row["task"] == "timeline_action"]
    table = pa.table({key: [row[name] for row in rows] for key, name in _COLUMNS.items()})
    pq.write_table(table, tmp_path / "answers.parquet")
    done = gnomon.score(
        "episode", (str(episodes),), (f"mine={tmp_path / 'answers.parquet'}",), out=str(tmp_path / "runs")
    )
    case = stored.listed(run.path).entries[0].case
    ours, theirs = exhibits.shown([run], case), exhibits.shown([load(done.runs[0].path)], case)
    for name in ("truth", "prediction", "outcome"):
        one, two = (lane(view, "timeline_action", name) for view in (ours, theirs))
        assert np.array_equal(one["start"], two["start"])
        if name != "outcome":
            texts = [[view.data["labels"][c] for c in item["code"]] for view, item in ((ours, one), (theirs, two))]
            assert texts[0] == texts[1]
    assert theirs.data["signals"] == []


_COLUMNS = {"task": "task", "sample": "sample", "label": "prediction"}


def test_a_case_that_no_run_keeps_is_an_error(kept):
    with pytest.raises(InputError, match="no exhibit of case 'nowhere'"):
        exhibits.shown([kept["strict"]], "nowhere")


@pytest.mark.parametrize("change", [{"seconds": 0.0}, {"labels": []}, {"lanes": [{}]}, {"signals": 3}])
def test_an_exhibit_that_nobody_wrote_is_refused(kept, tmp_path, change):
    run = kept["strict"]
    case = stored.listed(run.path).entries[0].case
    item = stored.read(run.path, case)
    (tmp_path / stored.NAME).write_bytes(stored.pack([stored.Exhibit(case, {**item.data, **change}, item.arrays)], 1))
    with pytest.raises(IntegrityError, match="is damaged"):
        exhibits.shown([_moved(run, tmp_path)], case)


def _moved(run, folder):
    from dataclasses import replace

    return replace(run, path=folder)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), max_size=30))
def test_places_of_samples_never_overlap_and_hold_their_middle_when_alone(items):
    ranges = np.array([(a, a + n) for a, n in items], dtype=np.float64).reshape(-1, 2)
    start, end = exhibits._cells(ranges, 340)
    order = np.argsort(start, kind="stable")
    assert (start < end).all()
    assert len(start) == 0 or (start.min() >= 0 and end.max() <= 340)
    assert (end - start <= STRIDE + 1e-9).all()
    assert (start[order][1:] >= end[order][:-1] - 1e-9).all()
    middle = ranges.mean(axis=1)
    alone = np.array([(middle == own).sum() == 1 for own in middle], dtype=bool)
    assert ((start <= middle) & (middle <= end))[alone].all()
