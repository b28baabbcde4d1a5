"""Segmental F1 and the edit score: references after Lea et al. (2017), worked cases, and laws.

The references below were written from the published definitions: a table of IoU for every pair, and the full table of
edit distances.
"""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures.sequences import edit_score, evaluate, segmental_f1
from gnomon.numerics.matching1d import edit_distance


def runs(frames):
    """Stretches of equal frames; '-' is background."""
    out, start = [], 0
    for i in range(1, len(frames) + 1):
        if i == len(frames) or frames[i] != frames[start]:
            if frames[start] != "-":
                out.append((start, i, frames[start]))
            start = i
    return out


def reference_f1(recordings, k):
    tp = fp = fn = 0
    for truth, returned in recordings:
        hit = [False] * len(truth)
        for s, e, label in returned:
            ious = [
                max(0, min(e, te) - max(s, ts)) / (max(e, te) - min(s, ts)) if tl == label else 0
                for ts, te, tl in truth
            ]
            best = max(range(len(truth)), key=ious.__getitem__) if truth else None
            if best is not None and ious[best] >= k and not hit[best]:
                hit[best] = True
                tp += 1
            else:
                fp += 1
        fn += hit.count(False)
    return {"tp": tp, "fp": fp, "fn": fn}


def reference_distance(a, b):
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return table[-1][-1]


frames = st.lists(st.sampled_from("ABC-"), max_size=40)
pairs = st.lists(st.tuples(frames, frames), min_size=1, max_size=4)


@settings(max_examples=300)
@given(pairs=pairs)
def test_against_the_references(pairs):
    recordings = [(runs(a), runs(b)) for a, b in pairs]
    truth, returned = ({str(k): sides[i] for k, sides in enumerate(recordings)} for i in (0, 1))
    result = segmental_f1(truth, returned)
    for name, k in (("F1@10", 0.1), ("F1@25", 0.25), ("F1@50", 0.5)):
        want = reference_f1(recordings, k)
        assert result["counts"][name] == want
        whole = 2 * want["tp"] + want["fp"] + want["fn"]
        assert result[name] == (2 * want["tp"] / whole if whole else None)
    scores = [
        100 * (1 - reference_distance([x[2] for x in a], [x[2] for x in b]) / max(len(a), len(b)))
        for a, b in recordings
        if a or b
    ]
    assert edit_score(truth, returned) == (pytest.approx(np.mean(scores)) if scores else None)


def test_classes_that_begin_and_end_together_are_one_place():
    """By hand: b and c together are one label; only the same set of classes equals it. One in three is exchanged."""
    truth = [(0, 4, "a"), (4, 9, "b"), (9, 12, "a")]
    together = [(0, 4, "a"), (4, 9, "c"), (4, 9, "b"), (9, 12, "a")]
    assert edit_score(truth, together) == pytest.approx(100 * 2 / 3)
    assert edit_score(together, together[::-1]) == 100
    assert edit_score(together, [(0, 4, "a"), (4, 9, "c"), (4, 9, "d"), (9, 12, "a")]) == pytest.approx(100 * 2 / 3)
    assert edit_score({"x": truth, "y": truth}, {"x": truth, "y": together}) == pytest.approx(100 * 5 / 6)


@settings(max_examples=200)
@given(
    *[st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from("ABC")), max_size=6) for _ in range(2)]
)
def test_ties_against_the_reference_and_whatever_classes_are_called(truth, returned):
    sides = [[(3 * s, 3 * s + n, c) for s, n, c in side] for side in (truth, returned)]
    places = []
    for side in sides:
        ends = {(s, c): max(e for t, e, d in side if (t, d) == (s, c)) for s, _, c in side}  # those of a class unite
        runs_ = sorted({(s, e) for (s, _), e in united(ends).items()})
        places.append([frozenset(c for (s, c), e in united(ends).items() if (s, e) == run) for run in runs_])
    if not any(places):
        assert edit_score(*sides) is None
        return
    want = 100 * (1 - reference_distance(*places) / max(map(len, places)))
    assert edit_score(*sides) == pytest.approx(want)
    renamed = [[(s, e, {"A": "Z", "B": "M", "C": "C"}[c]) for s, e, c in side] for side in sides]
    assert edit_score(*renamed) == edit_score(*sides)


def united(ends):
    """Join stretches of 1 to 3 s, one for each class and start at a multiple of 3 s, with those they abut."""
    out = {}
    for s, c in sorted(ends):
        before = next((t for t, d in out if d == c and out[t, d] == s), None)
        out[s if before is None else before, c] = ends[s, c]
    return out


@settings(max_examples=200)
@given(a=st.lists(st.integers(0, 3), max_size=200), b=st.lists(st.integers(0, 3), max_size=200))
def test_edit_distance_over_several_words(a, b):
    a, b = np.array(a, dtype=np.int64), np.array(b, dtype=np.int64)
    assert edit_distance(a, b) == reference_distance(a.tolist(), b.tolist()) == edit_distance(b, a)


def test_no_second_choice():
    """Worked by hand: both returns overlap the long event most, so that the short one stays missed though it is hit."""
    truth = [(0, 10, "a"), (11, 13, "a")]
    result = segmental_f1(truth, [(0, 6, "a"), (6.5, 12, "a")], thresholds=[0.1])
    assert result["counts"]["F1@10"] == {"tp": 1, "fp": 1, "fn": 1}


def test_background_is_nothing_and_keeps_runs_apart():
    truth = [(0, 3, "a"), (3, 5, "bg"), (5, 8, "a")]
    assert edit_score(truth, [(0, 8, "a")], background="bg") == 50
    assert edit_score(truth, [(0, 8, "a")]) == pytest.approx(100 / 3)
    assert segmental_f1(truth, truth, background=["bg"])["truth"] == 2
    assert segmental_f1(truth, truth)["truth"] == 3


def test_abutting_stretches_of_a_class_are_one_run():
    assert edit_score([(0, 2, 1), (2, 4, 1), (4, 6, 2)], [(0, 4, 1), (4, 6, 2)]) == 100


def test_undefined_has_a_reason():
    result = evaluate([], [])
    assert (result["F1@10"], result["edit"]) == (None, None)
    assert set(result["undefined"]) == {"F1@10", "F1@25", "F1@50", "edit"}
    assert evaluate({"a": [], "b": [(0, 1, "x")]}, {"a": [], "b": [(0, 1, "x")]})["edit"] == 100
    assert evaluate({}, {})["edit"] is None


@pytest.mark.parametrize(
    ("truth", "returned", "options", "words"),
    [
        ([(3, 1, "a")], [], {}, "ends before it starts"),
        ([(0, 1)], [(0, 1, "a")], {}, "give labels to both"),
        ({"a": []}, [], {}, "same form"),
        ({"a": []}, {"b": []}, {}, "recordings differ"),
        ([(0, 1, "a", 0.5)], [], {}, "one width"),
        ([(0, 1, "a"), (0, 1)], [], {}, "one width"),
        ([(0, float("inf"), "a")], [], {}, "finite"),
        (3, [], {}, "sequence of"),
        ([], [], {"thresholds": [0]}, "above 0"),
        ([], [], {"thresholds": []}, "above 0"),
        ([], [], {"thresholds": "ab"}, "numbers"),
        ([], [], {"background": 1.5}, "a label or several"),
        ((np.zeros(2), np.ones(2), np.array([1])), [], {}, "one length"),
        ({"a": [(0, 1)], "b": [(0, 1, "x")]}, {"a": [], "b": []}, {}, "others have none"),
    ],
)
def test_bad_input_is_named(truth, returned, options, words):
    with pytest.raises(InputError, match=words):
        segmental_f1(truth, returned, **options)


def test_many_events_take_little_time():
    rng = np.random.default_rng(5)
    n = 100_000
    starts = np.arange(n) * 10.0
    truth = starts, starts + 8, rng.integers(0, 20, n)
    returned = starts + rng.normal(0, 2, n), starts + 9, rng.integers(0, 20, n)
    segmental_f1(truth, returned)
    begun = time.process_time()
    assert 0 < segmental_f1(truth, returned)["F1@50"] < 1
    assert time.process_time() - begun < 2
