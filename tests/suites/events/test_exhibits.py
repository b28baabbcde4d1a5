"""Recordings that runs of ``events`` keep. Expected values by hand, or by brute force over whole seconds."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import InputError, IntegrityError
from gnomon.measures.events import evaluate
from gnomon.numerics import segments as kernel
from gnomon.runs import exhibits as stored
from gnomon.runs.run import load
from gnomon.suites.events import envelopes, exhibits, files, lanes, raw

WINDOW = (0.0, 40.0)
LETTERS = ("a", "b", "c")
spans = st.tuples(st.integers(0, 38), st.integers(1, 12), st.sampled_from(LETTERS)).map(
    lambda item: (item[0], min(item[0] + item[1], 40), item[2])
)
tracks = st.lists(spans, max_size=8)


def by_second(start, end, code, n=40):
    """Return the code of every second, -1 where there is none; every second has one at most."""
    found = np.full(n, -1)
    for a, b, c in zip(start, end, code, strict=True):
        seconds = np.arange(int(a), int(b))
        assert (found[seconds] == -1).all(), "spans overlap"
        found[seconds] = c
    return found


def category(truth, returned, label):
    """Return Ward's category of every second for a class, by its rules: from runs of seconds and their neighbours."""
    states = []
    for second in range(40):
        sides = [any(a <= second < b and name == label for a, b, name in side) for side in (truth, returned)]
        states.append(
            {(True, True): "TP", (True, False): "FN", (False, True): "FP", (False, False): "TN"}[tuple(sides)]
        )
    edges = [0, *(k for k in range(1, 40) if states[k] != states[k - 1]), 40]
    found = []
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        before = k > 0 and states[edges[k - 1]] == "TP"
        after = k + 2 < len(edges) and states[edges[k + 1]] == "TP"
        own = states[low]
        if own == "FN":
            own = {(0, 0): "D", (0, 1): "Us", (1, 0): "Ue", (1, 1): "F"}[before, after]
        elif own == "FP":
            own = {(0, 0): "I", (0, 1): "Os", (1, 0): "Oe", (1, 1): "M"}[before, after]
        found += [own] * (high - low)
    return found


def track(stretches, classes=LETTERS):
    starts, ends = (np.array([s[side] for s in stretches], dtype=np.float64) for side in (0, 1))
    codes = np.array([classes.index(s[2]) for s in stretches], dtype=np.int64)
    return kernel.tidy(starts, ends, codes, len(classes), WINDOW)


@given(st.lists(st.tuples(st.integers(0, 38), st.integers(1, 12), st.integers(0, 8)), max_size=12))
def test_painted_spans_hold_the_largest_code_of_every_second(items):
    start = np.array([a for a, _, _ in items], dtype=np.float64)
    end = np.array([min(a + n, 40) for a, n, _ in items], dtype=np.float64)
    code = np.array([c for _, _, c in items], dtype=np.int64)
    found = lanes.painted(start, end, code)
    wanted = [max((c for a, b, c in zip(start, end, code, strict=True) if a <= s < b), default=-1) for s in range(40)]
    assert by_second(*found).tolist() == wanted
    assert (np.diff(found[0]) > 0).all()


@given(tracks, tracks, st.booleans())
def test_an_error_lane_shows_the_worst_category_of_every_second(truth, returned, pooled):
    if pooled:
        truth, returned = ([(a, b, "a") for a, b, _ in side] for side in (truth, returned))
    found = lanes.error_spans(track(truth), track(returned), WINDOW, pooled=pooled)
    by_class = [category(truth, returned, label) for label in LETTERS]
    wanted = []
    for second in range(40):
        known = [lanes.SEVERITY.index(own[second]) for own in by_class if own[second] != "TN"]
        wanted.append(max(known, default=-1))
    assert by_second(*found).tolist() == wanted


@given(tracks, tracks)
def test_time_in_an_error_lane_of_one_class_is_that_of_the_measure(truth, returned):
    truth, returned = ([(a, b) for a, b, _ in side] for side in (truth, returned))
    named = [[(a, b, "a") for a, b in side] for side in (truth, returned)]
    start, end, code = lanes.error_spans(track(named[0]), track(named[1]), WINDOW, pooled=True)
    seconds = np.bincount(code, weights=end - start, minlength=len(lanes.SEVERITY))
    durations = evaluate(truth, returned, window=WINDOW)["classes"]["event"]["durations"]
    assert dict(zip(lanes.SEVERITY, seconds.tolist(), strict=True)) == pytest.approx(
        {name: durations[name] for name in lanes.SEVERITY}
    )


def test_deletions_that_touch_stay_two_errors():
    found = lanes.error_spans(track([(0, 10, "a"), (10, 20, "b")]), track([]), WINDOW, pooled=False)
    assert [part.tolist() for part in found[:2]] == [[0, 10], [10, 20]]


@given(st.lists(st.lists(st.tuples(st.integers(0, 38), st.integers(1, 6)), max_size=5), min_size=2, max_size=4))
def test_differences_say_who_is_wrong_at_every_second(systems):
    wrong = []
    for number, items in enumerate(systems):
        start, end, code = lanes.painted(
            np.array([a for a, _ in items], dtype=np.float64),
            np.array([a + n for a, n in items], dtype=np.float64).clip(max=40),
            np.array([8] * len(items), dtype=np.int64),
        )
        wrong.append((f"s{number}", (start, end, code)))
    outcomes, found = lanes.differences(wrong)
    known = [*lanes.OUTCOMES, *outcomes]
    seconds = by_second(*found)
    for second in range(40):
        who = [any(a <= second < a + n for a, n in items) for items in systems]
        title = known[seconds[second]]["title"] if seconds[second] >= 0 else ""
        if len(systems) == 2:
            assert title == (
                "only s0 wrong" if who == [True, False] else "only s1 wrong" if who == [False, True] else ""
            )
        else:
            count, n = sum(who), len(who)
            assert title == ("" if not count else f"all {n} wrong" if count == n else f"{count} of {n} wrong")


def test_ranks_make_serious_errors_worse_than_timing():
    rank = {item["name"]: item["rank"] for item in lanes.OUTCOMES}
    assert rank["TP"] == 0 < rank["Os"] == rank["Oe"] < rank["Us"] == rank["Ue"] < rank["F"] == rank["M"] < rank["D"]
    assert rank["D"] == rank["I"]
    assert [item["wrong"] for item in lanes.OUTCOMES] == [False] + [True] * 8


@pytest.fixture
def data(tmp_path):
    """Three recordings of 100 s; the returns of ``mine`` are wrong for 30 s in one, 5 in two, 5 in three."""
    truth = {"one": [(10, 30, "A")], "two": [(10, 30, "A")], "three": [(10, 30, "A")]}
    mine = {"one": [(40, 50, "A")], "two": [(15, 30, "A")], "three": [(15, 30, "A")]}
    for name, stretches in truth.items():
        labels = [{"t1": a, "t2": b, "label": label} for a, b, label in stretches]
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 100, "labels": labels}))
    for name, results in {"mine": mine, "yours": truth}.items():
        plain = {c: [{"t1": a, "t2": b, "label": label} for a, b, label in s] for c, s in results.items()}
        (tmp_path / f"{name}.json").write_text(json.dumps(plain))
    return tmp_path


def scored(data, name="mine", truths=("one", "two", "three"), out="runs", **options):
    paths = tuple(str(data / f"{truth}.json") for truth in truths)
    done = gnomon.score("events", paths, (f"{name}={data / name}.json",), out=str(data / out), **options)
    return [load(run.path) for run in done.runs]


def test_the_worst_are_kept_first_and_ties_go_by_id(data):
    (run,) = scored(data)
    found = stored.listed(run.path)
    assert [(entry.case, entry.badness) for entry in found.entries] == [("one", 0.3), ("three", 0.05), ("two", 0.05)]
    assert found.entries[0].note == "30 % of the window is wrong"
    assert found.of == 3
    (fewer,) = scored(data, exhibits=2, out="fewer")
    assert [entry.case for entry in stored.listed(fewer.path).entries] == ["one", "three"]
    assert stored.listed(fewer.path).of == 3


def test_nothing_is_kept_where_nothing_is_asked_for(data):
    (run,) = scored(data, exhibits=0)
    assert not (run.path / stored.NAME).exists()
    truths = tuple(str(data / f"{name}.json") for name in ("one", "two", "three"))
    done = gnomon.score("events", truths, (str(data / "mine.json"),))
    assert stored.NAME not in done.runs[0].files


def test_the_same_work_keeps_the_same_bytes(data):
    (one,), (two,) = scored(data), scored(data, out="again")
    assert (one.path / stored.NAME).read_bytes() == (two.path / stored.NAME).read_bytes()


def test_a_timeline_of_two_systems(data):
    """Hand-worked: mine misses 10-30 and inserts 40-50; yours is right, so that only mine is wrong in both."""
    (mine,), (yours,) = scored(data), scored(data, "yours")
    view = exhibits.shown([mine, yours], "one")
    assert (view.kind, view.data["window"], view.data["labels"]) == ("timeline", [0.0, 100.0], ["A"])
    found = [(lane["group"], lane["name"], lane["kind"]) for lane in view.data["lanes"]]
    assert found == [
        ("truth", "truth", "labels"),
        ("mine", "returned", "labels"),
        ("mine", "errors", "outcomes"),
        ("yours", "returned", "labels"),
        ("yours", "errors", "outcomes"),
        ("", "difference", "outcomes"),
    ]
    names = [outcome["name"] for outcome in view.data["outcomes"]]
    told = {
        (lane["group"], lane["name"]): [
            (a, b, names[c]) for a, b, c in zip(lane["start"], lane["end"], lane["code"], strict=True)
        ]
        for lane in view.data["lanes"]
        if lane["kind"] == "outcomes"
    }
    assert told["mine", "errors"] == [(10, 30, "D"), (40, 50, "I")]
    assert told["yours", "errors"] == [(10, 30, "TP")]
    assert told["", "difference"] == [(10, 30, "only A wrong"), (40, 50, "only A wrong")]
    assert view.data["outcomes"][names.index("only A wrong")]["title"] == "only mine wrong"


def test_a_run_without_the_case_is_left_out_and_said(data):
    (mine,) = scored(data)
    (few,) = scored(data, "yours", exhibits=1, out="few")
    kept = stored.listed(few.path).entries[0].case
    other = next(case for case in ("one", "two") if case != kept)
    view = exhibits.shown([few, mine], other)
    assert view.notes == (f"yours is left out: its run does not keep {view.data['case']} (option --exhibits)",)
    assert {lane["group"] for lane in view.data["lanes"]} == {"truth", "mine"}
    with pytest.raises(InputError, match="no exhibit of case 'nowhere'"):
        exhibits.shown([mine, few], "nowhere")
    with pytest.raises(InputError, match="in 0 runs"):
        exhibits.shown([], "one")


def test_a_run_with_another_truth_is_left_out(data):
    (mine,) = scored(data)
    labels = [{"t1": 11, "t2": 30, "label": "A"}]
    (data / "one.json").write_text(json.dumps({"t1": 0, "t2": 100, "labels": labels}))
    (other,) = scored(data, out="other")
    view = exhibits.shown([mine, other], "one")
    assert view.notes == ("mine is left out: its run has another truth for this recording",)


def test_classes_that_overlap_have_a_lane_each(tmp_path):
    labels = [{"t1": 0, "t2": 20, "label": "A"}, {"t1": 10, "t2": 30, "label": "B"}]
    (tmp_path / "one.json").write_text(json.dumps({"t1": 0, "t2": 100, "labels": labels}))
    (tmp_path / "mine.json").write_text(json.dumps([{"t1": 0, "t2": 30, "label": "A"}]))
    (run,) = scored(tmp_path, truths=("one",))
    view = exhibits.shown([run], "one")
    names = [lane["name"] for lane in view.data["lanes"]]
    assert names == ["truth: A", "truth: B", "returned", "errors"]


def test_variants_have_their_own_errors(data):
    """Hand-worked: B for A is a deletion and an insertion by class, and right time once pooled."""
    (data / "mine.json").write_text(json.dumps({"one": [{"t1": 10, "t2": 30, "label": "B"}]}))
    runs = scored(data, truths=("one",), variant="both")
    for run in runs:
        (lane,) = (lane for lane in exhibits.shown([run], "one").data["lanes"] if lane["name"] == "errors")
        wanted = {"published": ["TP"], "strict": ["D"]}[run.manifest["protocol"]["variant"]]
        assert [lanes.SEVERITY[code] for code in lane["code"]] == wanted


def test_dates_give_the_clock(tmp_path):
    truth = {"t1": "2012-05-16T09:00:00-08:00", "t2": "2012-05-16T09:10:00-08:00", "labels": []}
    (tmp_path / "one.json").write_text(json.dumps(truth))
    (tmp_path / "mine.json").write_text("[]")
    (run,) = scored(tmp_path, truths=("one",))
    view = exhibits.shown([run], "one")
    assert (view.data["clock"], view.data["window"]) == ("2012-05-16T09:00:00-08:00", [0.0, 600.0])
    assert [len(lane["start"]) for lane in view.data["lanes"]] == [0, 0, 0]


def recording(folder, records, window=(0, 100), name="one"):
    """Write a truth file and its raw data, and read the case."""
    (folder / "raw.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    labels = [{"t1": window[0], "t2": window[0] + 1, "label": "A"}]
    truth = {"data_path": "raw.jsonl", "t1": window[0], "t2": window[1], "labels": labels}
    (folder / f"{name}.json").write_text(json.dumps(truth))
    return files.read_truth(folder / f"{name}.json")[0]


def test_few_samples_are_kept_as_they_are(tmp_path):
    """A gap of three samples is three bins of nothing; values are the samples themselves."""
    times = [t for t in range(20) if t not in (8, 9, 10)]
    case = recording(tmp_path, [{"time": t, "type": "accel", "values": [t, -t, 9.5]} for t in times])
    signals, arrays, note = envelopes.envelope(case)
    assert ([signal["name"] for signal in signals], note) == (["accel x", "accel y", "accel z"], "")
    first = signals[0]
    assert (first["start"], first["step"]) == (-0.5, 1.0)
    low, high = arrays["low0"], arrays["high0"]
    assert len(low) == 20
    assert np.isnan(low[8:11]).all()
    assert low[~np.isnan(low)].tolist() == high[~np.isnan(high)].tolist() == times


def test_many_samples_become_least_and_greatest_by_bin(tmp_path):
    """Expected values by brute force over all samples."""
    rng = np.random.default_rng(0)
    n = 40_000
    times = np.sort(rng.random(n) * 120 - 10).round(6)
    values = rng.normal(size=n).round(6)
    case = recording(
        tmp_path,
        [{"time": t, "type": "x", "values": [v]} for t, v in zip(times.tolist(), values.tolist(), strict=True)],
    )
    (signal,), arrays, _ = envelopes.envelope(case)
    assert (signal["name"], signal["start"], len(arrays["low0"])) == ("x 1", 0.0, envelopes.BINS)
    for bin_number in (0, 1, 777, envelopes.BINS - 1):
        low = signal["start"] + bin_number * signal["step"]
        own = values[(times >= max(low, 0)) & (times < min(low + signal["step"], 100))].astype(np.float32)
        if len(own):
            assert (arrays["low0"][bin_number], arrays["high0"][bin_number]) == (own.min(), own.max())
        else:
            assert np.isnan(arrays["low0"][bin_number])
    inside = values[(times >= 0) & (times < 100)].astype(np.float32)
    assert (np.nanmin(arrays["low0"]), np.nanmax(arrays["high0"])) == (inside.min(), inside.max())


def test_channels_are_bounded_and_the_rest_is_counted(tmp_path):
    case = recording(tmp_path, [{"time": t, "type": "many", "values": list(range(15))} for t in range(5)])
    signals, _, note = envelopes.envelope(case)
    assert (len(signals), note) == (envelopes.CHANNELS, "3 channels of the raw signal left out")


def test_raw_data_is_read_of_kept_recordings_alone_and_once(data, monkeypatch):
    asked = []
    monkeypatch.setattr(raw, "records", lambda case: asked.append(case.id) or iter(()))
    for name in ("one", "two", "three"):
        truth = json.loads((data / f"{name}.json").read_text())
        (data / f"{name}.json").write_text(json.dumps({**truth, "data_path": "raw.jsonl"}))
    scored(data, exhibits=1, variant="both")
    assert asked == ["one"]


@pytest.mark.parametrize("sharded", [False, True])
def test_raw_data_is_read_once_for_all_systems(data, monkeypatch, sharded):
    asked = []
    monkeypatch.setattr(raw, "records", lambda case: asked.append(case.id) or iter(()))
    truth = {**json.loads((data / "one.json").read_text()), "data_path": "raw.jsonl"}
    sides = {"truth/one": truth, **{f"{name}/one": truth["labels"] for name in ("mine", "yours")}}
    for name, content in sides.items():
        (data / name).parent.mkdir()
        (data / f"{name}.json").write_text(json.dumps(content))
    names = {side: f"{side}{'' if sharded else '/one.json'}" for side in ("truth", "mine", "yours")}
    given = tuple(f"{side}={data / names[side]}" for side in ("mine", "yours"))
    done = gnomon.score("events", str(data / names["truth"]), given, out=str(data / "runs"))
    assert [len(stored.listed(run.path).entries) for run in done.runs] == [1, 1]
    assert asked == ["one"]


def test_raw_data_that_cannot_be_read_leaves_a_note(tmp_path):
    recording(tmp_path, [])
    (tmp_path / "raw.jsonl").write_text('{"time": 1, "type": "accel", "values": [1]}\n{"time": 0')
    (tmp_path / "mine.json").write_text("[]")
    (run,) = scored(tmp_path, truths=("one",))
    view = exhibits.shown([run], "one")
    assert view.data["signals"] == []
    assert view.notes[0].startswith("no raw signal: ")


@pytest.mark.parametrize(
    "change",
    [
        {"window": [0.0]},
        {"window": [1.0, 0.0]},
        {"labels": []},
        {"labels": [3]},
        {"signals": [{"name": "x", "unit": "", "start": 0.0, "step": 1.0, "at": 0}]},
        {"note": None},
    ],
)
def test_an_exhibit_that_nobody_wrote_is_refused(data, change):
    (run,) = scored(data)
    item = stored.read(run.path, "one")
    wrong = stored.Exhibit("one", {**item.data, **change}, item.arrays)
    (run.path / stored.NAME).write_bytes(stored.pack([wrong], 1))
    with pytest.raises(IntegrityError, match="the exhibit of case 'one' is damaged"):
        exhibits.shown([run], "one")


@pytest.mark.parametrize("name", ["truth_start", "truth_code", "returned_end"])
def test_arrays_that_do_not_fit_are_refused(data, name):
    (run,) = scored(data)
    item = stored.read(run.path, "one")
    for array in (np.array([np.nan]), np.zeros(7), np.array([9], dtype=np.uint16), np.zeros((1, 1))):
        if array.dtype != np.uint16 or name != "truth_code":
            wrong = stored.Exhibit("one", item.data, {**item.arrays, name: array})
            (run.path / stored.NAME).write_bytes(stored.pack([wrong], 1))
            with pytest.raises(IntegrityError, match="damaged"):
                exhibits.shown([run], "one")
