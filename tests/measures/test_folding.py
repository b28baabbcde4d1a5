"""Measures folded over recordings: equal to the functions that define them, on pooled recordings; and worked cases.

The functions in ``sequences``, ``detections`` and ``timing`` have references of their own; here recordings are clipped
in plain Python and given to them all at once, while the measures tally one recording after another.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core import registry
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.measure import by_family
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Plan
from gnomon.inference.scoring import derive
from gnomon.measures import detections, events, matching, recognition, segmentation, sequences, timing
from gnomon.measures.matching import CollarF1, FirstOnsetNoLater, OffsetError, OnsetError
from gnomon.measures.recognition import FalseAlarmsPerHour
from gnomon.measures.segmentation import EditScore, SegmentalF1
from gnomon.runs.packing import pack_tallies, unpack_tallies

CLASSES = ("a", "b", "c")
NOTHING = "nothing"


def drawn(rng):
    """A window and two sides of (start, end, class or nothing): overlapping, abutting, empty, beyond the window."""
    low = float(rng.integers(-5, 100))
    window = (low, low + float(rng.integers(5, 60)))
    step = float(rng.choice([1.0, 0.25, 0.1]))

    def side():
        n = int(rng.integers(0, 15))
        starts = low + step * rng.integers(-8, 200, n)
        ends = starts + step * rng.integers(0, 40, n)
        labels = rng.choice([*CLASSES, NOTHING], n, p=[0.4, 0.3, 0.2, 0.1])
        return list(zip(starts.tolist(), ends.tolist(), labels.tolist(), strict=True))

    truth = side()
    near = [(s + step * int(rng.integers(-2, 3)), e + step * int(rng.integers(0, 4)), c) for s, e, c in truth]
    returned = [(min(s, e), max(s, e), c) for s, e, c in near] if rng.random() < 0.6 else side()
    return window, truth, returned


def recordings(seed):
    rng = np.random.default_rng(seed)
    return [drawn(rng) for _ in range(int(rng.integers(1, 6)))]


def signal(stretches, window, classes=CLASSES):
    starts, ends = (np.array([row[k] for row in stretches], dtype=float) for k in (0, 1))
    codes = [classes.index(row[2]) if row[2] != NOTHING else -1 for row in stretches]
    return Intervals(starts, ends, np.array(codes, dtype=int), classes, window)


def folded(measure, cases):
    rows = [measure.tally(signal(truth, window), signal(returned, window)) for window, truth, returned in cases]
    totals = Tallies.stack(rows).total()
    scored = measure.score(totals)
    return (float(scored.values) if scored.defined else None), totals


def pooled(cases):
    """Both sides by recording as the functions take them, clipped by hand, and the windows."""
    sides = [
        {
            str(k): [
                (max(s, case[0][0]), min(e, case[0][1]), c)
                for s, e, c in case[side]
                if c != NOTHING and max(s, case[0][0]) < min(e, case[0][1])
            ]
            for k, case in enumerate(cases)
        }
        for side in (1, 2)
    ]
    return sides[0], sides[1], {str(k): case[0] for k, case in enumerate(cases)}


def same(found, want):
    return found is want is None or found == pytest.approx(want, rel=1e-12, abs=1e-12)


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_segmental_f1_is_the_one_of_the_function(seed):
    cases = recordings(seed)
    truth, returned, _ = pooled(cases)
    want = sequences.segmental_f1(truth, returned, thresholds=segmentation.OVERLAPS)
    for at in segmentation.OVERLAPS:
        value, totals = folded(SegmentalF1(at), cases)
        assert same(value, want[f"F1@{100 * at:.0f}"])
        assert (int(totals["truth"]), int(totals["returned"])) == (want["truth"], want["returned"])


@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_the_edit_score_is_the_one_of_the_function(seed):
    cases = recordings(seed)
    truth, returned, _ = pooled(cases)
    value, totals = folded(EditScore(), cases)
    assert int(totals["empty"]) == sum(not truth[k] and not returned[k] for k in truth)
    assert same(value, sequences.edit_score(truth, returned))


@settings(max_examples=150, deadline=None)
@given(
    seed=seeds,
    collar=st.sampled_from([0.2, 0.25, 1.0]),
    share=st.sampled_from([0.0, 0.2, 0.5]),
    offsets=st.booleans(),
)
def test_collar_f1_is_the_one_of_the_function(seed, collar, share, offsets):
    cases = recordings(seed)
    truth, returned, _ = pooled(cases)
    want = detections.collar_f1(truth, returned, collar_s=collar, length_share=share, offsets=offsets)
    rule = {"collar": collar, "share": share, "offsets": offsets}
    value, totals = folded(CollarF1(**rule), cases)
    assert same(value, want["f1"])
    assert int(totals["tp"].sum()) == want["tp"]
    assert same(folded(CollarF1("macro", **rule), cases)[0], want["macro_f1"])


@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_first_onset_errors_are_those_of_the_function(seed):
    cases = recordings(seed)
    truth, returned, _ = pooled(cases)
    want = timing.first_onset_errors(truth, returned, no_later_than=(0, 0.5, 1, 2.25))
    for x, share in want["no_later_than"].items():
        value, totals = folded(FirstOnsetNoLater(float(x)), cases)
        assert same(value, share)
        assert int(totals["n"]) == want["events"]


@settings(max_examples=150, deadline=None)
@given(seed=seeds, least=st.sampled_from([None, 0.25, 0.5]))
def test_errors_of_edges_are_those_of_the_function(seed, least):
    cases = recordings(seed)
    truth, returned, _ = pooled(cases)
    want = timing.boundary_offsets(truth, returned, least_iou=least)
    for measure in (OnsetError(least), OffsetError(least)):
        value, totals = folded(measure, cases)
        assert same(value, want[measure.edge]["mean_absolute"])
        assert int(totals["n"]) == want["matched"]


@settings(max_examples=150, deadline=None)
@given(seed=seeds, per=st.sampled_from(["total", "null"]))
def test_false_alarms_are_those_of_the_function(seed, per):
    cases = recordings(seed)
    truth, returned, windows = pooled(cases)
    want = timing.false_alarms_per_hour(truth, returned, window=windows, per=per)
    value, totals = folded(FalseAlarmsPerHour(per), cases)
    assert same(value, want["rate"])
    assert FalseAlarmsPerHour(per).count(totals) == want["returned"]


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_stretches_of_no_class_leave_the_categories_alone(seed):
    for case in recordings(seed):
        found = recognition.AnyOverlap().tally(*(signal(side, case[0]) for side in case[1:]))
        truth, returned, _ = pooled([case])
        want = events.evaluate(truth["0"], returned["0"], window=case[0])["classes"]
        for label in set(want) & set(CLASSES):
            row = want[label]
            seconds = found.fields["seconds"][0, CLASSES.index(label)]
            assert dict(zip(found.axes["category"], seconds.tolist(), strict=True)) == pytest.approx(
                {name: s for name, s in row["durations"].items() if name != "TN"}, abs=1e-9
            )


WORKED = [
    (
        (0.0, 3600.0),
        [(10, 20, "a"), (30, 40, "b"), (100, 110, "a")],
        [(11, 20, "a"), (33, 40, "b"), (60, 61, "c")],
    ),
    ((0.0, 1800.0), [(50, 60, "a")], [(48, 60, "a")]),
    ((0.0, 1800.0), [], []),
]
"""Two recordings with runs and an empty one: two hours, of which 40 s hold events; one alarm; one event is missed."""


@pytest.mark.parametrize(
    ("measure", "value", "n"),
    [
        (SegmentalF1(0.5), 2 * 3 / (4 + 4), 4),  # IoU 0.9, 0.7 and 10/12
        (SegmentalF1(0.75), 2 * 2 / 8, 4),
        (EditScore(), (100 * 2 / 3 + 100) / 2, 2),  # a b a against a b c
        (CollarF1(collar=1.0, share=0.5), 2 * 1 / 8, 4),
        (CollarF1("macro", collar=1.0, share=0.5), (2 / 5 + 0 + 0) / 3, 4),
        (CollarF1(collar=2.0, share=0.0), 2 * 2 / 8, 4),
        (FirstOnsetNoLater(1), 2 / 4, 4),
        (FirstOnsetNoLater(3), 3 / 4, 4),
        (OnsetError(), (1 + 3 + 2) / 3, 3),
        (OffsetError(), 0.0, 3),
        (FalseAlarmsPerHour(), 1 / 2, 4),
        (FalseAlarmsPerHour("null"), 1 / (2 - 40 / 3600), 4),
    ],
)
def test_worked_by_hand(measure, value, n):
    found, totals = folded(measure, WORKED)
    assert found == pytest.approx(value, rel=1e-12)
    assert measure.count(totals) == n


@pytest.mark.parametrize(
    ("measure", "cases", "why"),
    [
        (SegmentalF1(), [((0, 9), [], [])], "no runs in truth or prediction"),
        (EditScore(), [((0, 9), [], [(1, 1, "a")])], "no runs in truth or prediction"),
        (CollarF1(), [((0, 9), [], [])], "no class in truth or prediction has a defined value"),
        (FirstOnsetNoLater(), [((0, 9), [], [(1, 2, "a")])], "no events in truth"),
        (OnsetError(), [((0, 9), [(1, 2, "a")], [(1, 2, "b")])], "no matched events"),
        (FalseAlarmsPerHour("null"), [((0, 0.3), [(0, 0.1, "a"), (0.1, 0.3, "b")], [])], "no time without events"),
    ],
)
def test_undefined_has_a_reason(measure, cases, why):
    value, totals = folded(measure, cases)
    assert value is None
    assert why in measure.why(totals)


def test_runs_that_overlap_without_a_tie_have_an_order():
    cases = [((0, 20), [(0, 9, "a"), (5, 12, "b")], [(0, 8, "a"), (4, 12, "b")])]
    assert folded(EditScore(), cases)[0] == 100


def test_what_follows_from_no_recordings():
    for measure in (*segmentation.MEASURES, *matching.MEASURES, FalseAlarmsPerHour(), FalseAlarmsPerHour("null")):
        none = measure.tally(signal([], (0, 1)), signal([], (0, 1))).take(slice(0, 0)).total()
        assert not measure.score(none).defined
        assert measure.why(none)
        assert measure.count(none) == 0


def test_a_parameter_that_changes_the_tally_changes_the_family():
    families = [CollarF1(), CollarF1(collar=0.25), CollarF1(share=0.2), CollarF1(offsets=False)]
    families += [FirstOnsetNoLater(), FirstOnsetNoLater(1e-7), FirstOnsetNoLater(1e22), OnsetError(), OnsetError(0.3)]
    names = [measure.family for measure in families]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert SegmentalF1(0.1).family == SegmentalF1(0.5).family == EditScore().family
    assert OnsetError().family == OffsetError().family
    assert CollarF1("macro", "present").family == CollarF1().family


def test_whole_numbers_are_the_same_parameters():
    assert (
        repr(FirstOnsetNoLater(1)) == repr(FirstOnsetNoLater(np.int64(1))) == repr(FirstOnsetNoLater(np.float32(1.0)))
    )
    assert repr(CollarF1(collar=1, share=0)) == repr(CollarF1(collar=1.0, share=0.0))
    assert repr(OnsetError(1)) == repr(OnsetError(1.0))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SegmentalF1(0.33), "multiple of 0.05"),
        (lambda: SegmentalF1("50"), "multiple of 0.05"),
        (lambda: CollarF1(collar=-1), "collar: expected a number of 0 or more"),
        (lambda: CollarF1(share=float("nan")), "share: expected"),
        (lambda: CollarF1(offsets=1), "offsets: expected True or False"),
        (lambda: CollarF1("mean"), "average"),
        (lambda: FirstOnsetNoLater(float("inf")), "seconds: expected"),
        (lambda: FirstOnsetNoLater(10**400), "seconds: expected"),
        (lambda: FirstOnsetNoLater(True), "seconds: expected"),
        (lambda: OnsetError(0), "least_iou"),
        (lambda: FalseAlarmsPerHour("day"), "total or null"),
        (lambda: FirstOnsetNoLater().tally(signal([], (0, 1)), signal([], (0, 2))), "different windows"),
    ],
)
def test_bad_parameters_are_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("measure", "field", "words"),
    [
        (SegmentalF1(), "tp", "more runs are hit"),
        (EditScore(), "edit", "between 0 and 100"),
        (CollarF1(), "tp", "more pairs than events"),
        (FirstOnsetNoLater(), "reached", "more events with a first onset in time"),
        (OnsetError(), "n", "more pairs than events"),
        (FalseAlarmsPerHour(), "null_s", "more time without events"),
    ],
)
def test_impossible_tallies_are_noticed(measure, field, words):
    window, truth, returned = WORKED[0]
    good = measure.tally(signal(truth, window), signal(returned, window))
    assert measure.identities(good, {}) == []
    bad = Tallies(good.layout, good.axes, {**good.fields, field: good.fields[field] + 10_000})
    assert any(words in text for text in measure.identities(bad, {}))


def test_tallies_are_stored_and_scored_with_intervals():
    """All families of one protocol, through the store, to scores with intervals over subjects."""
    rng = np.random.default_rng(5)
    cases = [drawn(rng) for _ in range(24)]
    measures = [*segmentation.MEASURES[:3], *matching.MEASURES, FalseAlarmsPerHour()]
    rows = {
        family: Tallies.stack([m.tally(signal(t, w), signal(r, w)) for w, t, r in cases])
        for family, m in by_family(measures).items()
    }
    assert unpack_tallies(pack_tallies(rows)) == rows
    ids = tuple(map(str, range(len(cases))))
    roster = Roster(ids, tuple(str(k % 8) for k in range(len(cases))), level="subject")
    scores = derive(measures, rows, roster, (), Plan())
    for measure, score in zip(measures, scores, strict=True):
        assert score.value == pytest.approx(folded(measure, cases)[0], rel=1e-12)
        assert score.groups == 8
        assert score.low < score.value < score.high


def test_measures_are_registered():
    known = registry.measures()
    for measure in (*segmentation.MEASURES, *matching.MEASURES, FalseAlarmsPerHour("null")):
        assert measure in known
