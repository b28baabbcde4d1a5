"""perfboard's ``scores.json``. Expected values are worked by hand, or by brute force over single seconds."""

import itertools
import json
import math
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.events import files, perfboard
from gnomon.suites.events.times import Stretch

POSITIVE, NEGATIVE = ("TP", "D", "F", "Us", "Ue"), ("TN", "I", "M", "Os", "Oe")
COUNTS = {"TP", "TN", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe", "P", "N"}
EVENTS, RETURNS = {"C", "D", "F", "FM", "M"}, {"C'", "I'", "F'", "FM'", "M'"}
ONE = {
    "t1": 0,
    "t2": 100,
    "device": "phone",
    "subject": {"id": "s1", "age": 30},
    "labels": [
        {"t1": 10, "t2": 30, "label": "A", "body_position": "hip", "data": {"shoes": "none"}},
        {"t1": 50, "t2": 60, "label": "B"},
    ],
}
FOUND = [Stretch(15.0, 35.0, "A"), Stretch(80.0, 90.0, "B", 0.5)]


def load(path):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture
def export(tmp_path):
    """Write truth files and the export of results ``{system: {case: stretches}}``; return what is in it."""

    def build(truths, results, variant="published"):
        for name, truth in truths.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(truth))
        cases = files.read_truth(*(tmp_path / f"{name}.json" for name in truths))
        perfboard.write(tmp_path / "out" / "scores.json", cases, results, variant)
        return load(tmp_path / "out" / "scores.json")

    return build


def check_frame(frame):
    counts = frame["frame_counts"]
    assert set(frame) == {"frame_counts", "p_rates", "n_rates", "acc", "p_rate", "n_rate"}
    assert set(counts) == COUNTS
    for total, names, rates in (("P", POSITIVE, frame["p_rates"]), ("N", NEGATIVE, frame["n_rates"])):
        assert list(rates) == [f"{name}r" for name in names]
        assert counts[total] == pytest.approx(sum(counts[name] for name in names))
        if counts[total]:
            assert rates == pytest.approx({f"{name}r": counts[name] / counts[total] for name in names})
            assert sum(rates.values()) == pytest.approx(1)
        else:
            assert set(rates.values()) == {None}
    whole = counts["P"] + counts["N"]
    assert frame["acc"] == pytest.approx((counts["TP"] + counts["TN"]) / whole)
    assert frame["p_rate"] == pytest.approx(counts["P"] / whole)
    assert frame["n_rate"] == pytest.approx(counts["N"] / whole)


def check_events(scores):
    assert set(scores["t_counts"]) == set(scores["t_rates"]) == EVENTS
    assert set(scores["d_counts"]) == set(scores["d_rates"]) == RETURNS
    assert scores["t_counts"]["C"] == scores["d_counts"]["C'"]
    for side in "td":
        total = sum(scores[f"{side}_counts"].values())
        for name, count in scores[f"{side}_counts"].items():
            assert scores[f"{side}_rates"][name] == (pytest.approx(count / total) if total else None)


def check_result(result, seconds=float):
    """Check the keys and the laws of one result; `seconds` reads its times."""
    scores = result["scores"]
    assert set(scores) == {"segments", "frame_score", "events"}
    check_frame(scores["frame_score"])
    assert set(scores["events"]) == {"truths", "detected", "t_counts", "d_counts", "t_rates", "d_rates"}
    check_events(scores["events"])
    for side, counts in (("truths", "t_counts"), ("detected", "d_counts")):
        labels = [event["score"] for event in scores["events"][side]]
        assert all(set(event) == {"t1", "t2", "score"} for event in scores["events"][side])
        assert scores["events"][counts] == {name: labels.count(name) for name in scores["events"][counts]}
    segments = scores["segments"]
    assert segments[0]["t1"] == result["t1"]
    assert segments[-1]["t2"] == result["t2"]
    assert all(a["t2"] == b["t1"] for a, b in itertools.pairwise(segments))
    time = dict.fromkeys((*POSITIVE, *NEGATIVE), 0.0)
    for segment in segments:
        assert set(segment) == {"t1", "t2", "score"} | ({"err"} if segment["score"] in ("FP", "FN") else set())
        kinds = {"FN": POSITIVE[1:], "FP": NEGATIVE[1:]}.get(segment["score"], (segment["score"],))
        kind = segment.get("err", segment["score"])
        assert kind in kinds
        time[kind] += seconds(segment["t2"]) - seconds(segment["t1"])
    counts = scores["frame_score"]["frame_counts"]
    assert {name: counts[name] for name in time} == pytest.approx(time)
    assert counts["P"] + counts["N"] == pytest.approx(seconds(result["t2"]) - seconds(result["t1"]))


def check_aggregate(found, results):
    """The top of a file adds up the given results."""
    assert set(found) == {"t", "recognizers", "stats", "scores", "results"}
    assert datetime.fromisoformat(found["t"]).utcoffset() == timedelta(0)
    assert set(found["scores"]) == {"frame_scores", "event_scores"}
    assert set(found["scores"]["event_scores"]) == {"d_counts", "t_counts", "d_rates", "t_rates"}
    parts = [result["scores"] for result in results]
    assert found["stats"] == {
        "truth_count": sum(len(part["events"]["truths"]) for part in parts),
        "detected_count": sum(len(part["events"]["detected"]) for part in parts),
        "segment_count": sum(len(part["segments"]) for part in parts),
    }
    check_frame(found["scores"]["frame_scores"])
    check_events(found["scores"]["event_scores"])
    for name, value in found["scores"]["frame_scores"]["frame_counts"].items():
        assert value == pytest.approx(math.fsum(part["frame_score"]["frame_counts"][name] for part in parts))
    for key in ("t_counts", "d_counts"):
        for name, value in found["scores"]["event_scores"][key].items():
            assert value == sum(part["events"][key][name] for part in parts)


def test_worked_by_hand(export):
    """All labels pooled: late by 5, over by 5, one deletion, one insertion."""
    found = export({"one": ONE}, {"mine": {"one": FOUND}})
    (result,) = found["results"]
    check_result(result)
    check_aggregate(found, [result])
    assert found["recognizers"] == ["mine"]
    assert found["stats"] == {"truth_count": 2, "detected_count": 2, "segment_count": 9}
    assert {key: result[key] for key in ONE} == ONE
    assert set(result) == {*ONE, "recognizer", "labels_file", "detected", "scores"}
    assert result["recognizer"] == "mine"
    assert result["labels_file"].endswith("/one.json")
    assert result["detected"] == [
        {"t1": 15, "t2": 35, "label": "A"},
        {"t1": 80, "t2": 90, "label": "B", "score": 0.5},
    ]
    segments = [(s["t1"], s["t2"], s["score"], s.get("err")) for s in result["scores"]["segments"]]
    assert segments == [
        (0, 10, "TN", None),
        (10, 15, "FN", "Us"),
        (15, 30, "TP", None),
        (30, 35, "FP", "Oe"),
        (35, 50, "TN", None),
        (50, 60, "FN", "D"),
        (60, 80, "TN", None),
        (80, 90, "FP", "I"),
        (90, 100, "TN", None),
    ]
    frame = result["scores"]["frame_score"]
    expected = {"TP": 15, "TN": 55, "D": 10, "F": 0, "Us": 5, "Ue": 0, "I": 10, "M": 0, "Os": 0, "Oe": 5}
    assert frame["frame_counts"] == {**expected, "P": 30, "N": 70}
    assert frame["p_rates"] == {"TPr": 0.5, "Dr": 1 / 3, "Fr": 0, "Usr": 1 / 6, "Uer": 0}
    assert frame["n_rates"] == {"TNr": 55 / 70, "Ir": 1 / 7, "Mr": 0, "Osr": 0, "Oer": 1 / 14}
    assert (frame["acc"], frame["p_rate"], frame["n_rate"]) == (0.7, 0.3, 0.7)
    events = result["scores"]["events"]
    assert events["truths"] == [{"t1": 10, "t2": 30, "score": "C"}, {"t1": 50, "t2": 60, "score": "D"}]
    assert events["detected"] == [{"t1": 15, "t2": 35, "score": "C'"}, {"t1": 80, "t2": 90, "score": "I'"}]
    assert events["t_rates"] == {"C": 0.5, "D": 0.5, "F": 0, "FM": 0, "M": 0}
    assert events["d_rates"] == {"C'": 0.5, "I'": 0.5, "F'": 0, "FM'": 0, "M'": 0}


def test_by_class(export):
    """By hand, A: TP 15, Us 5, Oe 5; B: D 10, I 10. Only what belongs to the class is in its result."""
    found = export({"one": ONE}, {"mine": {"one": FOUND}}, "strict")
    first, second = found["results"]
    assert [first["label"], second["label"]] == ["A", "B"]
    assert set(first) == {*ONE, "recognizer", "label", "labels_file", "detected", "scores"}
    assert first["labels"] == ONE["labels"][:1]
    assert second["labels"] == ONE["labels"][1:]
    assert [item["label"] for item in first["detected"]] == ["A"]
    counts = [result["scores"]["frame_score"]["frame_counts"] for result in found["results"]]
    assert {name: s for name, s in counts[0].items() if s} == {"TP": 15, "Us": 5, "Oe": 5, "TN": 75, "P": 20, "N": 80}
    assert {name: s for name, s in counts[1].items() if s} == {"D": 10, "I": 10, "TN": 80, "P": 10, "N": 90}
    for result in found["results"]:
        check_result(result)
    check_aggregate(found, found["results"])


def test_both_kinds_are_not_added_up(export):
    arguments = {"one": ONE}, {"mine": {"one": FOUND}}
    found = export(*arguments, "both")
    assert ["label" in result for result in found["results"]] == [False, True, True]
    check_aggregate(found, found["results"][:1])
    assert found["results"][:1] == export(*arguments, "published")["results"]
    assert found["results"][1:] == export(*arguments, "strict")["results"]


def test_two_recognisers_and_two_truths(export):
    """Every window counts for every class, so that seconds of a class add up to all windows."""
    other = {"t1": 0, "t2": 20, "labels": [{"t1": 5, "t2": 9, "label": "B"}]}
    results = {"mine": {"one": FOUND, "two": [Stretch(5.0, 9.0, "B")]}, "idle": {"one": [], "two": []}}
    found = export({"one": ONE, "two": other}, results)
    names = [(result["labels_file"].rpartition("/")[2], result["recognizer"]) for result in found["results"]]
    assert names == list(itertools.product(("one.json", "two.json"), ("mine", "idle")))
    for result in found["results"]:
        check_result(result)
    check_aggregate(found, found["results"])
    assert found["scores"]["event_scores"]["t_counts"] == {"C": 2, "D": 4, "F": 0, "FM": 0, "M": 0}
    by_class = export({"one": ONE, "two": other}, results, "strict")["results"]
    assert [result["label"] for result in by_class] == ["A", "B"] * 4
    for label in "AB":
        counts = [r["scores"]["frame_score"]["frame_counts"] for r in by_class if r["label"] == label]
        assert sum(c["P"] + c["N"] for c in counts) == 2 * (100 + 20)


def test_a_case_without_results_is_left_out(export):
    found = export({"one": ONE, "two": {**ONE, "device": "watch"}}, {"mine": {"two": FOUND}, "none": {}}, "both")
    assert {result["device"] for result in found["results"]} == {"watch"}
    assert found["recognizers"] == ["mine", "none"]
    nothing = export({"one": ONE}, {"none": {}})
    assert nothing["results"] == []
    assert nothing["scores"]["frame_scores"]["acc"] is None
    assert set(nothing["scores"]["event_scores"]["t_rates"].values()) == {None}


@pytest.mark.parametrize("variant", ["published", "strict", "both"])
def test_nothing_true_and_nothing_else(export, variant):
    """P = 0: no label at all. N = 0: the label fills the window. Rates of that half are null."""
    empty = {"t1": 0, "t2": 10, "labels": []}
    full = {"t1": 0, "t2": 10, "labels": [{"t1": -5, "t2": 15, "label": "A"}]}
    found = export({"empty": empty, "full": full}, {"x": {"empty": [Stretch(2.0, 4.0, "A")], "full": []}}, variant)
    for result in found["results"]:
        check_result(result)
        frame = result["scores"]["frame_score"]
        total, rates = ("P", "p_rates") if result["labels"] == [] else ("N", "n_rates")
        assert frame["frame_counts"][total] == 0
        assert set(frame[rates].values()) == {None}
    check_aggregate(found, found["results"][:2])


def test_what_reaches_out_is_clipped_in_scores_alone(export):
    found = export({"one": ONE}, {"mine": {"one": [Stretch(-20.0, 20.0, "A"), Stretch(95.0, 300.0, "A")]}})
    (result,) = found["results"]
    check_result(result)
    assert [(item["t1"], item["t2"]) for item in result["detected"]] == [(-20, 20), (95, 300)]
    assert [(item["t1"], item["t2"]) for item in result["scores"]["events"]["detected"]] == [(0, 20), (95, 100)]


@pytest.mark.parametrize("offset", ["-08:00", "+05:30", "+00:00", ""])
def test_dates_have_the_zone_of_the_header(export, offset):
    """A label may name another zone and keeps it; all that is computed has the zone of ``t1``."""
    truth = {
        "t1": f"2012-05-16T23:59:00{offset}",
        "t2": f"2012-05-17T00:01:00{offset}",
        "labels": [{"t1": f"2012-05-16T23:59:30{offset}", "t2": f"2012-05-17T00:00:10.250{offset}", "label": "A"}],
    }
    if offset:
        moment = datetime.fromisoformat(truth["labels"][0]["t1"])
        truth["labels"][0]["t1"] = moment.astimezone(tz=datetime.fromisoformat("2012-01-01T00:00-03:00").tzinfo)
        truth["labels"][0]["t1"] = truth["labels"][0]["t1"].isoformat()
    found = export({"one": truth}, {"mine": {"one": [Stretch(25.0, 60.0, "A")]}})
    (result,) = found["results"]
    check_result(result, lambda text: datetime.fromisoformat(text).timestamp())
    assert result["labels"] == truth["labels"]
    events = result["scores"]["events"]
    times = [
        item[key]
        for part in (result["detected"], result["scores"]["segments"], events["truths"], events["detected"])
        for item in part
        for key in ("t1", "t2")
    ]
    zone = datetime.fromisoformat(truth["t1"]).utcoffset()
    assert {datetime.fromisoformat(time).utcoffset() for time in times} == {zone}
    assert result["detected"] == [
        {"t1": f"2012-05-16T23:59:25{offset}", "t2": f"2012-05-17T00:00:00{offset}", "label": "A"}
    ]
    assert result["scores"]["segments"][3] == {
        "t1": f"2012-05-17T00:00:00{offset}",
        "t2": f"2012-05-17T00:00:10.250000{offset}",
        "score": "FN",
        "err": "Ue",
    }


spans = st.lists(st.tuples(st.integers(-3, 33), st.integers(0, 9), st.sampled_from("AB")), max_size=8)


@given(truth=spans, returned=spans)
def test_segments_against_single_seconds(tmp_path_factory, truth, returned):
    """Brute force: each second of the window by itself, runs of equal seconds, neighbours looked up in the table."""
    folder = tmp_path_factory.mktemp("grid")
    labels = [{"t1": a, "t2": a + n, "label": label} for a, n, label in truth]
    (folder / "g.json").write_text(json.dumps({"t1": 0, "t2": 30, "labels": labels}))
    found = [Stretch(float(a), float(a + n), label) for a, n, label in returned]
    document = perfboard.assemble(files.read_truth(folder / "g.json"), {"x": {"g": found}}, "both")
    for result in document["results"]:
        check_result({**result, "t1": 0.0, "t2": 30.0})
        label = result.get("label")
        sides = [
            [any(a <= s < a + n and label in (None, own) for a, n, own in spans) for s in range(30)]
            for spans in (truth, returned)
        ]
        runs = [(pair, len(list(group))) for pair, group in itertools.groupby(zip(*sides, strict=True))]
        kinds = [{(1, 1): "TP", (0, 0): "TN", (0, 1): "FP", (1, 0): "FN"}[pair] for pair, _ in runs]
        table = {"FP": ("I", "Os", "Oe", "M"), "FN": ("D", "Us", "Ue", "F")}
        expected, at = [], 0
        for (before, kind, after), (_, length) in zip(
            zip(["", *kinds], kinds, [*kinds[1:], ""], strict=False), runs, strict=True
        ):
            err = {"err": table[kind][2 * (before == "TP") + (after == "TP")]} if kind in table else {}
            expected.append({"t1": at, "t2": at + length, "score": kind, **err})
            at += length
        assert result["scores"]["segments"] == expected


def test_the_verbs_write_it(tmp_path):
    """Seconds of a class over all results give the rates that ``gnomon score`` prints."""
    two = {**ONE, "t2": 80, "labels": [{"t1": 20, "t2": 40, "label": "B"}]}
    for name, truth in (("one", ONE), ("two", two)):
        (tmp_path / f"{name}.json").write_text(json.dumps(truth))
    results = {
        "one": [{"t1": 12, "t2": 28, "label": "A"}],
        "two": [{"t1": 18, "t2": 41, "label": "B"}, {"t1": 60, "t2": 61, "label": "A"}],
    }
    (tmp_path / "mine.json").write_text(json.dumps(results))
    truths = tuple(str(tmp_path / f"{name}.json") for name in ("one", "two"))
    target = tmp_path / "new" / "scores.json"
    result = gnomon.score("events", truths, (str(tmp_path / "mine.json"),), export_perfboard=target)
    found = load(target)
    assert found["recognizers"] == ["mine"]
    for label in "AB":
        counts = [r["scores"]["frame_score"]["frame_counts"] for r in found["results"] if r["label"] == label]
        for half, total in ((POSITIVE, "P"), (NEGATIVE, "N")):
            for name in half:
                share = sum(c[name] for c in counts) / sum(c[total] for c in counts)
                assert result.scores["mine"][f"{name}r[{label}]"] == pytest.approx(share)


def test_what_cannot_be_written_leaves_the_old_file(export, tmp_path):
    truth = {"t1": "2012-05-16T09:00:00Z", "t2": "2012-05-16T10:00:00Z", "labels": []}
    export({"one": truth}, {"x": {"one": []}})
    before = (tmp_path / "out" / "scores.json").read_bytes()
    with pytest.raises(InputError, match="not a date"):
        export({"one": truth}, {"x": {"one": [Stretch(0.0, 1e15, "A")]}})
    assert (tmp_path / "out" / "scores.json").read_bytes() == before
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scores.json"]


def test_bad_places_are_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a folder"):
        perfboard.write(tmp_path, [], {}, "published")
    with pytest.raises(InputError, match="no folder to write into"):
        perfboard.check(tmp_path / "file" / "below" / "scores.json")
    perfboard.check(tmp_path / "a" / "b" / "scores.json")
    assert not (tmp_path / "a").exists()
