"""Ward's measures: the worked vectors, faults of other tools, a frame-by-frame oracle, and laws.

The oracle below was written from the definitions alone: it labels unit frames one by one, finds segments as runs of
frames, and counts events by brute force. The vectors in ``events/ward-vectors.json`` were computed independently and
are read where ``GNOMON_REAL_DATA`` points to them; the cases typed here were worked by hand.
"""

import json
import os
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures.events import evaluate

LENGTH = 24


def runs_of(flags):
    """Maximal runs of equal values as (start, end, value)."""
    out, start = [], 0
    for i in range(1, len(flags) + 1):
        if i == len(flags) or flags[i] != flags[start]:
            out.append((start, i, flags[start]))
            start = i
    return out


def cover(intervals):
    return [any(s <= i and i + 1 <= e for s, e in intervals) for i in range(LENGTH)]


def oracle_segments(truth, returned):
    """Segments of one class as (start, end, category), from runs of frames."""
    segments = runs_of(list(zip(cover(truth), cover(returned), strict=True)))
    kinds = [{(1, 1): "TP", (1, 0): "FN", (0, 1): "FP", (0, 0): "TN"}[int(t), int(r)] for _, _, (t, r) in segments]
    out = []
    for i, (start, end, _) in enumerate(segments):
        left = i > 0 and kinds[i - 1] == "TP"
        right = i + 1 < len(kinds) and kinds[i + 1] == "TP"
        if kinds[i] == "FP":
            name = {(0, 0): "I", (0, 1): "Os", (1, 0): "Oe", (1, 1): "M"}[int(left), int(right)]
        elif kinds[i] == "FN":
            name = {(0, 0): "D", (0, 1): "Us", (1, 0): "Ue", (1, 1): "F"}[int(left), int(right)]
        else:
            name = kinds[i]
        out.append((start, end, name))
    return out


def oracle_class(truth, returned, keep_identity=False):
    """Durations and event labels of one class by frames."""
    segments = oracle_segments(truth, returned)
    durations = dict.fromkeys(("TP", "TN", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe"), 0)
    for start, end, name in segments:
        durations[name] += end - start
    hits = [(s, e) for s, e, name in segments if name == "TP"]
    events, returns = (stretches(side, keep_identity) for side in (truth, returned))
    tp = {
        side: [sum(s < y and x < e for x, y in hits) for s, e in group]
        for side, group in (("t", events), ("r", returns))
    }

    def linked(s, e, others, counts):
        shared = [(x, y) for x, y in hits if s < y and x < e]
        return any(
            c >= 2 and any(os < y and x < oe for x, y in shared) for (os, oe), c in zip(others, counts, strict=True)
        )

    def label(s, e, n, others, counts, names):
        if n == 0:
            return names[0]
        if n >= 2:
            return names[2] if linked(s, e, others, counts) else names[1]
        return names[3] if linked(s, e, others, counts) else names[4]

    t = [
        label(s, e, n, returns, tp["r"], ["D", "F", "FM", "M", "C"]) for (s, e), n in zip(events, tp["t"], strict=True)
    ]
    r = [
        label(s, e, n, events, tp["t"], ["I'", "M'", "FM'", "F'", "C'"])
        for (s, e), n in zip(returns, tp["r"], strict=True)
    ]
    return durations, t, r


def stretches(intervals, keep_identity):
    """Unite overlapping (and, unless identity is kept, abutting) intervals, clipped to the window."""
    out = []
    for s, e in sorted((max(0, s), min(LENGTH, e)) for s, e in intervals):
        if s >= e:
            continue
        if out and (s < out[-1][1] or (s == out[-1][1] and not keep_identity)):
            out[-1][1] = max(out[-1][1], e)
        else:
            out.append([s, e])
    return [tuple(item) for item in out]


interval = st.tuples(st.integers(-3, LENGTH + 2), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1]))
intervals = st.lists(interval, max_size=8)


@settings(max_examples=400)
@given(truth=intervals, returned=intervals, keep=st.booleans())
def test_binary_against_the_oracle(truth, returned, keep):
    result = evaluate(truth, returned, window=(0, LENGTH), keep_identity=keep)["classes"]["event"]
    durations, t, r = oracle_class(truth, returned, keep)
    assert result["durations"] == durations
    assert result["truth_events"] == t
    assert result["returned_events"] == r


def track(draw):
    """A track without overlaps: runs of frames with a class or NULL."""
    frames = draw(st.lists(st.sampled_from("ABC--"), min_size=LENGTH, max_size=LENGTH))
    return frames, [(s, e, c) for s, e, c in runs_of(frames) if c != "-"]


@settings(max_examples=300)
@given(data=st.data())
def test_multiclass_against_the_oracle(data):
    (true_frames, truth), (returned_frames, returned) = track(data.draw), track(data.draw)
    result = evaluate(truth, returned, window=(0, LENGTH))
    for label, found in result["classes"].items():
        own = [[(s, e) for s, e, c in side if c == label] for side in (truth, returned)]
        durations, t, r = oracle_class(*own)
        assert (found["durations"], found["truth_events"], found["returned_events"]) == (durations, t, r)
    if not result["classes"]:
        return
    labels = result["confusion"]["labels"]
    want = np.zeros((len(labels), len(labels)))
    for a, b in zip(true_frames, returned_frames, strict=True):
        want[labels.index(a), labels.index(b)] += 1
    assert np.array_equal(result["confusion"]["seconds"], want)
    off = want.sum() - np.trace(want)
    assert sum(result["pairs"].values()) == off == result["serious"] + result["timing"]
    assert result["substitution"] == want[:-1, :-1].sum() - np.trace(want[:-1, :-1])


@settings(max_examples=200)
@given(truth=intervals, returned=intervals)
def test_laws(truth, returned):
    """Categories partition the window and the events; C equals C'; shifting and scaling time changes only durations."""
    result = evaluate(truth, returned, window=(0, LENGTH))["classes"]["event"]
    assert sum(result["durations"].values()) == LENGTH
    counts = result["counts"]
    assert counts["C"] == counts["C'"]
    assert sum(counts[k] for k in ("C", "D", "F", "FM", "M")) == len(result["truth_events"])
    assert sum(counts[k] for k in ("C'", "I'", "F'", "FM'", "M'")) == len(result["returned_events"])
    moved = [[(4 * s + 100, 4 * e + 100) for s, e in side] for side in (truth, returned)]
    again = evaluate(*moved, window=(100, 4 * LENGTH + 100))["classes"]["event"]
    assert again["counts"] == counts
    assert again["durations"] == {name: 4 * value for name, value in result["durations"].items()}
    for half in (("TPr", "Dr", "Fr", "Usr", "Uer"), ("TNr", "Ir", "Mr", "Osr", "Oer")):
        values = [result["rates"][name] for name in half]
        assert values == [None] * 5 or sum(values) == pytest.approx(1)


def test_input_is_never_changed_and_order_does_not_matter():
    truth, returned = [(5, 9), (0, 2)], [(6, 8), (1, 2)]
    kept = list(truth), list(returned)
    first = evaluate(truth, returned, window=(0, 10))
    assert (truth, returned) == kept
    assert evaluate(truth[::-1], returned[::-1], window=(0, 10)) == first


@pytest.mark.parametrize(
    ("truth", "returned", "durations"),
    [
        ([(0, 2), (2, 5), (5, 8)], [(0, 8)], {"TP": 8, "TN": 2}),  # three abutting windows are one
        ([], [], {"TN": 10}),
        ([(2, 2)], [], {"TN": 10}),  # nothing of no length
        ([], [(1, 3)], {"TN": 8, "I": 2}),  # P = 0
        ([(0, 10)], [(0, 10)], {"TP": 10}),  # N = 0
        ([(-5, 3)], [(8, 20)], {"D": 3, "TN": 5, "I": 2}),  # clipped to the window
        ([(2, 4)], [(4, 6)], {"TN": 6, "D": 2, "I": 2}),  # touching is not overlapping
    ],
)
def test_faults_of_other_tools(truth, returned, durations):
    """Worked by hand."""
    found = evaluate(truth, returned, window=(0, 10))["classes"]["event"]["durations"]
    assert {name: value for name, value in found.items() if value} == durations


def test_fragmenting_merge_is_not_a_plain_merge():
    """One event hit by two returns, one of which also hits a second event: FM and FM' with M and F' around."""
    result = evaluate([(0, 10), (12, 16)], [(1, 3), (5, 14)], window=(0, 20))["classes"]["event"]
    assert result["truth_events"] == ["FM", "M"]
    assert result["returned_events"] == ["F'", "FM'"]


def test_undefined_halves_have_reasons():
    result = evaluate([], [(1, 2)], window=(0, 10))
    assert result["classes"]["event"]["rates"]["TPr"] is None
    assert result["undefined"]["classes.event.rates.TPr"] == "no time of the class in truth"


def oracle_overlapping(truth, returned):
    """Pairs and confusion of classes that may overlap: frame by frame, the mean over all ways to pair what is wrong."""
    labels = sorted({c for side in (truth, returned) for _, _, c in side})
    frames = {}
    for label in labels:
        own = [[(s, e) for s, e, c in side if c == label] for side in (truth, returned)]
        frames[label] = [name for s, e, name in oracle_segments(*own) for _ in range(s, e)]
    pairs, confusion = Counter(), Counter()
    for x in range(LENGTH):
        now = {label: frames[label][x] for label in labels}
        right = [label for label in labels if now[label] == "TP"]
        missing = [label for label in labels if now[label] in ("D", "F", "Us", "Ue")]
        extra = [label for label in labels if now[label] in ("I", "M", "Os", "Oe")]
        confusion.update({(label, label): Fraction(1) for label in right})
        if not (right or missing or extra):
            confusion["-", "-"] += 1
        size = max(len(missing), len(extra))
        missing += ["-"] * (size - len(missing))
        ways = list(permutations(extra + ["-"] * (size - len(extra))))
        for way in ways:
            for a, b in zip(missing, way, strict=True):
                confusion[a, b] += Fraction(1, len(ways))
                pairs[f"{now.get(b, '-')}|{now.get(a, '-')}"] += Fraction(1, len(ways))
    return pairs, confusion


@settings(max_examples=300)
@given(
    *[st.lists(st.tuples(interval, st.sampled_from("ABCD")).map(lambda p: (*p[0], p[1])), max_size=9) for _ in range(2)]
)
def test_overlapping_classes_against_the_oracle(truth, returned):
    result = evaluate([*truth, (0, 0, "A")], returned, window=(0, LENGTH))
    pairs, confusion = oracle_overlapping(truth, returned)
    assert result["pairs"] == pytest.approx({name: float(value) for name, value in pairs.items()})
    labels = result["confusion"]["labels"]
    want = [[float(confusion[a, b]) for b in labels] for a in labels]
    assert np.allclose(result["confusion"]["seconds"], want)
    assert result["class_seconds"] == pytest.approx(float(sum(confusion.values())))
    right = float(sum(value for (a, b), value in confusion.items() if a == b))
    assert right + result["serious"] + result["timing"] == pytest.approx(result["class_seconds"])
    for side, names in ((0, ("I", "M", "Os", "Oe")), (1, ("D", "F", "Us", "Ue"))):
        for name in names:
            paired = sum(value for pair, value in result["pairs"].items() if pair.split("|")[side] == name)
            assert paired == pytest.approx(sum(own["durations"][name] for own in result["classes"].values()))


def test_overlapping_classes_by_hand():
    """Truth a 0-5 and b 3-8 of 10 s, returned a 0-5: b is deleted for 5 s; 3 to 5 counts twice, so 12 class-seconds."""
    result = evaluate([(0, 5, "a"), (3, 8, "b")], [(0, 5, "a")], window=(0, 10))
    assert result["pairs"] == {"-|D": 5.0}
    assert (result["serious"], result["timing"], result["substitution"], result["class_seconds"]) == (5, 0, 0, 12)
    assert result["confusion"]["seconds"] == [[5, 0, 0], [0, 0, 5], [0, 0, 2]]
    assert result["classes"]["a"]["durations"]["TP"] == 5
    assert result["undefined"] == {}


def test_labels_may_be_integers_and_arrays():
    truth = (np.array([0.0, 6.0]), np.array([4.0, 9.0]), np.array([3, 1]))
    returned = (np.array([6.0, 0.0]), np.array([9.0, 4.0]), np.array([1, 7]))
    result = evaluate(truth, returned, window=(0, 10))
    assert list(result["classes"]) == [1, 3, 7]
    assert result["pairs"] == {"I|D": 4.0}
    assert result["confusion"]["labels"] == [1, 3, 7, "-"]


def test_a_side_without_stretches_needs_no_labels():
    none = np.zeros(0)
    for returned in ([], (none, none), (none, none, np.zeros(0, dtype=int))):
        assert list(evaluate(np.array([[1, 2], [4, 6]]), returned, window=(0, 10))["classes"]) == ["event"]
        assert list(evaluate([(1, 2, "a")], returned, window=(0, 10))["classes"]) == ["a"]
    assert evaluate((none, none, none.astype(int)), [], window=(0, 10))["classes"] == {}


@pytest.mark.parametrize(
    ("truth", "returned", "window", "words"),
    [
        ([(3, 1)], [], (0, 10), "ends before it starts"),
        ([(0, 1)], [(0, 1, "a")], (0, 10), "give labels to both"),
        ([(0, 1), (2, 3, "a")], [], (0, 10), "rows of"),
        ([(0, float("nan"))], [], (0, 10), "finite"),
        ([("x", 1)], [], (0, 10), "seconds"),
        (3, [], (0, 10), "sequence of"),
        ([], [], (5, 5), "start < end"),
        ([], [], None, "window"),
        ([(0, 1, 1.5)], [(0, 1, 1.5)], (0, 10), "integers or text"),
        ((np.zeros((2, 1)), np.ones((2, 1))), [], (0, 10), "one dimension"),
        ((np.zeros(2), np.ones(2), np.array("a")), [], (0, 10), "one dimension"),
        ((np.zeros(2), np.ones(3)), [], (0, 10), "columns of one length"),
    ],
)
def test_bad_input_is_named(truth, returned, window, words):
    with pytest.raises(InputError, match=words):
        evaluate(truth, returned, window=window)


REAL = os.environ.get("GNOMON_REAL_DATA")


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="GNOMON_REAL_DATA does not point to the worked vectors")
def test_worked_vectors():
    vectors = json.loads(Path(REAL, "events", "ward-vectors.json").read_text())
    for case in vectors["binary"]:
        found = evaluate(case["gt"], case["det"], window=case["eval"])["classes"]["event"]
        want = case["expected"]
        assert found["durations"] == want["durations"], case["id"]
        assert found["truth_events"] == want["gt_scores"], case["id"]
        assert [x.rstrip("'") for x in found["returned_events"]] == [x.rstrip("'") for x in want["det_scores"]]
        for name, value in want["rates"].items():
            assert found["rates"][name] == (pytest.approx(value, abs=1e-6) if value is not None else None), (
                case["id"],
                name,
            )
        for name, value in want["event_counts"].items():
            assert name.startswith("n_") or found["counts"][name] == value, (case["id"], name)
    for case in vectors["multiclass"]:
        found = evaluate(case["gt"], case["det"], window=case["eval"])
        want = case["expected"]
        assert found["pairs"] == next(value for key, value in want.items() if key.startswith("pair")), case["id"]
        labels = found["confusion"]["labels"]
        for row in want["confusion"]:
            i, j = (labels.index("-" if row[side] is None else row[side]) for side in ("truth", "pred"))
            assert found["confusion"]["seconds"][i][j] == row["duration"], case["id"]
        for label, by_class in want["per_class"].items():
            assert found["classes"][label]["durations"] == by_class["durations"], case["id"]
            assert found["classes"][label]["truth_events"] == by_class["gt_scores"], case["id"]
