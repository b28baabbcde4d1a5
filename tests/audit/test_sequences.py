"""Checks of sequences against loops over positions, pairs and orders; counts of the public episode are by hand."""

import dataclasses
from fractions import Fraction
from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.sequences import (
    Entries,
    Ties,
    clamped_targets,
    cut_points,
    invalid_values,
    overlapping_units,
    reciprocal_ceiling,
    tied_ranks,
)
from gnomon.audit.split import Split
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples
from gnomon.testing.planted.splits import episode

RANGE = st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
SAMPLE = st.tuples(st.sampled_from("ab"), st.sampled_from(["train", "test", "purged"]), RANGE, RANGE)
TASK = st.lists(SAMPLE, min_size=2, max_size=8).filter(lambda rows: {"train", "test"} <= {row[1] for row in rows})


def build(rows, tags=None):
    ids = tuple(f"s{i}" for i in range(len(rows)))
    cases, parts, inputs, targets = zip(*rows, strict=True)
    return Samples(ids, cases, parts, np.array(inputs), np.array(targets), tags=tags or {})


def cut(samples, train):
    """The windows of a task cut after so many of them."""
    parts = tuple("train" if i < train else "test" for i in range(len(samples)))
    return dataclasses.replace(samples, parts=parts)


def taken(samples, rows):
    ids, cases, parts = (tuple(column[i] for i in rows) for column in (samples.ids, samples.cases, samples.parts))
    return Samples(ids, cases, parts, samples.input_range[rows], samples.target_range[rows])


def side(rows, case, position):
    """The side of a task that a position is on, by the definition."""
    here = [row for row in rows if row[0] == case and row[1] in ("train", "test")]
    sides = {part for _, part, *ranges in here if any(a <= position < b for a, b in ranges)}
    if len(sides) < 2:
        return next(iter(sides), "")
    begun = [row for row in here if row[2][0] <= position]
    latest = max(row[2][0] for row in begun) if begun else min(row[2][0] for row in here)
    return "test" if any(row[1] == "test" and row[2][0] == latest for row in here) else "train"


@given(st.lists(TASK, min_size=2, max_size=4))
def test_positions_of_two_sides_are_those_of_a_loop_over_all_positions(tasks):
    both, read = set(), set()
    for case in "ab":
        for position in range(17):
            sides = {side(rows, case, position) for rows in tasks} - {""}
            read |= {(case, position)} if sides else set()
            both |= {(case, position)} if len(sides) > 1 else set()
    findings = cut_points({f"t{i}": build(rows) for i, rows in enumerate(tasks)})
    assert [f.id for f in findings] == (["cuts-differ"] if both else [])
    if both:
        cases = {row[0] for rows in tasks for row in rows}
        assert findings[0].evidence.startswith(
            f"{len(both)} of {len(read)} positions are train in one task and test in another "
            f"(in {len({case for case, _ in both})} of {len(cases)} cases); "
        )


def test_a_cut_that_moves_with_what_a_task_drops_is_found():
    """1,159 of 1,161 windows have ten frames after them: 70 % of each list end two windows of five frames apart.

    Windows end before 5820; four of the targets 20 frames ahead lie beyond.
    """
    window, forecast = episode(), taken(cut(episode(0, 10), 811), range(1159))
    (finding,) = cut_points({"window": window, "next": episode(19, 20), "forecast": forecast})
    assert (finding.severity, finding.where) == ("warning", "cases")
    assert finding.evidence == (
        "10 of 5824 positions are train in one task and test in another (in 1 of 1 cases); cases 'episode': train to "
        "4080 and test from 4065 (window); train to 4100 and test from 4065 (next); train to 4080 and test from 4055 "
        "(forecast)"
    )


@pytest.mark.parametrize("purge", [None, 0, 20])
def test_one_cut_is_clean_however_far_targets_reach(purge):
    tasks = {
        "window": episode(purge=purge),
        "next": episode(19, 20, purge=purge),
        "forecast": episode(0, 10, purge=purge),
    }
    assert cut_points(tasks) == ()


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([(0, 0), (0, 10), (19, 20)])), min_size=2, max_size=4))
def test_one_cut_is_clean_whatever_is_dropped_before_and_after_it(drops):
    """Purged by reads at one position; each task then loses other samples next to the cut."""
    tasks = {}
    for number, (lost, reach) in enumerate(drops):
        samples = episode(*reach, purge=20)
        tests = samples.part("test")
        kept = np.flatnonzero(~tests)[: 800 - lost].tolist() + np.flatnonzero(tests)[lost // 2 :].tolist()
        tasks[f"t{number}"] = taken(samples, kept)
    assert cut_points(tasks) == ()


def test_a_recording_that_one_task_trains_on_and_another_tests_on_is_found():
    first = build([("a", "train", (0, 9), (0, 9)), ("b", "test", (0, 9), (0, 9))])
    second = build([("b", "train", (0, 9), (0, 9)), ("a", "test", (3, 5), (5, 5))])
    (finding,) = cut_points({"first": first, "second": second})
    assert finding.evidence == (
        "11 of 18 positions are train in one task and test in another (in 2 of 2 cases); cases 'a': "
        "train to 9 and no test (first); no train and test from 3 (second)"
    )


def test_what_training_reads_ahead_counts_where_its_own_task_does_not_test():
    far = build(
        [("a", "train", (0, 5), (15, 16)), ("a", "test", (10, 12), (10, 12)), ("a", "test", (20, 22), (20, 22))]
    )
    other = build([("a", "train", (0, 5), (0, 5)), ("a", "test", (10, 22), (10, 22))])
    (finding,) = cut_points({"far": far, "other": other})
    assert finding.evidence.startswith("1 of 17 positions")


def test_where_both_sides_of_a_task_begin_together_its_test_counts():
    torn = build([("a", "test", (0, 5), (0, 5)), ("a", "train", (0, 5), (0, 5))])
    other = build([("a", "train", (0, 5), (0, 5)), ("a", "test", (8, 9), (8, 9))])
    (finding,) = cut_points({"torn": torn, "other": other})
    assert finding.evidence.startswith("5 of 6 positions")


def test_recordings_of_tasks_may_be_named_by_a_tag_and_sides_by_a_split():
    rows = [("s1", "old", (0, 5), (0, 5)), ("s2", "new", (5, 9), (5, 9))]
    other = [("s3", "old", (0, 7), (0, 7)), ("s4", "new", (7, 9), (7, 9))]
    tasks = {name: build(kind, {"episode": ("e", "e")}) for name, kind in (("a", rows), ("b", other))}
    split = Split(("old",), ("new",))
    assert cut_points(tasks, split) == ()
    (finding,) = cut_points(tasks, split, axis="episode")
    assert finding.evidence.startswith("2 of 9 positions are old in one task and new in another (in 1 of 1 episode)")


@pytest.mark.parametrize("tasks", [{}, {"window": episode()}])
def test_cuts_of_fewer_than_two_tasks_are_not_compared(tasks):
    with pytest.raises(InputError, match="expected the samples of at least two tasks"):
        cut_points(tasks)


def clamped(frames=5821):
    """The next action of the public episode: one frame, 20 after the last of the window, or the last frame there is."""
    samples = episode()
    last = np.minimum(samples.input_range[:, 1] + 19, frames - 1)
    return dataclasses.replace(samples, target_range=np.stack([last, last + 1], axis=1))


def test_targets_that_were_clamped_to_the_end_are_counted():
    """The last windows begin at 5785, 5790, 5795 and 5800; frames end with 5820."""
    (finding,) = clamped_targets(clamped(), 20)
    assert (finding.id, finding.severity) == ("target-clamped", "warning")
    assert finding.evidence == (
        "4 of 1161 samples have a target nearer than their horizon (4 of 348 test); "
        "first: 'w1157' 16 after its input instead of 20"
    )
    assert clamped_targets(clamped(5840), 20) == ()
    assert clamped_targets(taken(clamped(), range(1157)), 20) == ()


@given(st.lists(st.tuples(SAMPLE, st.integers(-2, 12)), min_size=1, max_size=9))
def test_each_sample_may_have_its_own_horizon(rows):
    samples, horizons = [row for row, _ in rows], [horizon for _, horizon in rows]
    total = sum(part != "purged" for _, part, _, _ in samples)
    if not total:
        return
    short = sum(p != "purged" and t[1] - i[1] < horizon for (_, p, i, t), horizon in rows)
    found = clamped_targets(build(samples), horizons)
    assert len(found) == (short > 0)
    assert all(f.evidence.startswith(f"{short} of {total} samples have a target") for f in found)


def test_rounding_does_not_make_a_target_short():
    ends = 1.7e9 + np.arange(2000) * 0.1
    inputs, targets = np.stack([ends - 2, ends], axis=1), np.stack([ends + 0.6, ends + 0.6 + 0.1], axis=1)
    names = tuple(map(str, range(2000)))
    samples = Samples(names, ("r",) * 2000, ("test",) * 2000, inputs, targets)
    assert clamped_targets(samples, 0.7) == ()
    assert len(clamped_targets(samples, 0.701)) == 1


@pytest.mark.parametrize("horizon", [float("nan"), [20.0, 20.0], [[20.0]]])
def test_a_horizon_is_a_number_or_one_per_sample(horizon):
    with pytest.raises(InputError, match="horizon: expected a finite number, or one for each of 1161 samples"):
        clamped_targets(episode(), horizon)


def test_samples_of_neither_side_have_no_horizon():
    with pytest.raises(InputError, match="no sample has parts train or val or test"):
        clamped_targets(build([("a", "purged", (0, 1), (0, 1))]), 20)


def test_invalid_entries_that_enter_as_values_are_counted():
    found = invalid_values({"hands": Entries(420, 60, 42), "masked": Entries(420, 60, 0), "body": Entries(9, 0, 0)})
    assert [(f.id, f.severity, f.where) for f in found] == [("invalid-as-values", "error", "hands")]
    assert found[0].evidence == "hands: 42 of 60 invalid entries were scored or fitted as values (420 entries in all)"


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_entries_are_counted_from_masks(rows):
    valid, used = np.array(rows, dtype=bool).reshape(-1, 2).T
    wrong = [use for good, use in rows if not good]
    assert Entries.counted(valid, used) == Entries(len(rows), len(wrong), sum(wrong))


@pytest.mark.parametrize("counts", [(3, 4, 0), (3, 2, 3), (3, 2, -1)])
def test_counts_of_entries_fit_in_each_other(counts):
    with pytest.raises(InputError, match="expected 0 <= used <= invalid <= total"):
        Entries(*counts)


def test_masks_of_entries_have_one_shape_and_something_is_given():
    with pytest.raises(InputError, match=r"expected masks of one shape, but got \(2,\) and \(3,\)"):
        Entries.counted(np.ones(2, bool), np.ones(3, bool))
    with pytest.raises(InputError, match="invalid values: none given"):
        invalid_values({})


def reads(row):
    return [r for r in row[2:] if r[0] < r[1]]


def meet(one, other):
    return any(a < d and c < b for a, b in one for c, d in other)


def most_apart(spans):
    """The largest set of spans of which no two meet, by trying all sets."""
    for size in range(len(spans), 0, -1):
        for chosen in combinations(spans, size):
            if all(a[0] != b[0] or not meet([a[1]], [b[1]]) for a, b in combinations(chosen, 2)):
                return size
    return 0


UNITS = st.lists(st.tuples(st.sampled_from("ab"), st.just("test"), RANGE, RANGE, st.sampled_from("xyzuvw")), max_size=9)


@given(UNITS, st.booleans())
def test_overlaps_are_those_of_all_pairs_and_independent_units_those_of_all_choices(rows, each):
    rows = [row for row in rows if reads(row[:4])]
    if not rows:
        return
    names = [f"s{i}" if each else f"{row[0]}{row[4]}" for i, row in enumerate(rows)]
    tags = {"segment": tuple(f"{row[0]}{row[4]}" for row in rows)}
    met = [
        any(a[0] == b[0] and m != n and meet(reads(a[:4]), reads(b[:4])) for b, n in zip(rows, names, strict=True))
        for a, m in zip(rows, names, strict=True)
    ]
    spans = {}
    for row, name in zip(rows, names, strict=True):
        ends = [end for r in reads(row[:4]) for end in r] + list(spans.get(name, (0, ()))[1])
        spans[name] = (row[0], (min(ends), max(ends)))
    samples = build([row[:4] for row in rows], tags)
    unit = "ids" if each else "segment"
    found = overlapping_units(samples, unit, most=0)
    assert len(found) == any(met)
    if found:
        assert found[0].evidence == (
            f"{sum(met)} of {len(rows)} test samples overlap a sample of another unit, about "
            f"{most_apart(list(spans.values()))} of {len(spans)} units are independent (unit: {unit})"
        )
    assert bool(overlapping_units(samples, unit)) == (sum(met) > len(rows) / 2)


def test_overlapping_windows_of_the_public_episode():
    """348 windows of 20 frames, every 5 frames from 4065 to 5800: the first of every four, 87, share nothing."""
    (finding,) = overlapping_units(episode())
    assert (finding.id, finding.severity, finding.where) == ("overlapping-units", "warning", "ids")
    assert finding.evidence == (
        "348 of 348 test samples overlap a sample of another unit, about 87 of 348 units are independent (unit: ids)"
    )
    windows = episode()
    for size, clean in ((400, True), (5, False)):
        segments = tuple(f"g{start // size:.0f}" for start in windows.input_range[:, 0])
        samples = dataclasses.replace(windows, tags={"segment": segments, "episode": windows.cases})
        assert (overlapping_units(samples, "segment") == ()) == clean
        assert overlapping_units(samples, "episode") == ()


def test_windows_of_training_may_overlap_and_other_parts_can_be_asked_for():
    rows = [("a", "train", (i, i + 9), (i, i + 9)) for i in range(4)] + [("a", "test", (20, 29), (20, 29))]
    assert overlapping_units(build(rows)) == ()
    assert "4 of 4 train samples" in overlapping_units(build(rows), part="train")[0].evidence


def test_a_unit_in_two_recordings_is_one():
    """In each recording the second person overlaps the first, and the third overlaps nobody."""
    rows = [(case, "test", (i, i + 4), (i, i + 4)) for case in "ab" for i in (0, 2, 8)]
    (finding,) = overlapping_units(build(rows, {"person": ("p", "q", "r", "p", "q", "r")}), "person")
    assert "4 of 6 test samples overlap a sample of another unit, about 2 of 3 units" in finding.evidence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 1.0}, "most: expected a share"),
        ({"part": "val"}, "no val sample names a range that it reads"),
        ({"part": "empty"}, "no empty sample names a range that it reads"),
        ({"unit": "person"}, "some test samples have no person"),
        ({"unit": "room"}, "samples have no column 'room'"),
    ],
)
def test_units_that_cannot_be_compared_are_refused(options, message):
    rows = [("a", "test", (0, 4), (0, 4)), ("a", "empty", (3, 3), (3, 3))]
    with pytest.raises(InputError, match=message):
        overlapping_units(build(rows, {"person": ("", "p")}), **options)


def test_scores_that_hang_on_ties_are_found_unless_they_are_averages():
    scores = {
        "mrr": Ties("optimistic", 0.52, 0.31, 0.4),
        "top5": Ties("order", 0.6, 0.5),
        "fair": Ties("average", 0.9, 0.1, 0.4),
        "untied": Ties("order", 0.4004, 0.4),
        "median_rank": Ties("pessimistic", 3, 9),
    }
    found = tied_ranks(scores)
    assert [(f.id, f.severity, f.where) for f in found] == [
        ("ties-decide", "warning", "mrr"),
        ("ties-decide", "warning", "top5"),
        ("ties-decide", "warning", "median_rank"),
    ]
    assert found[0].evidence == (
        "mrr is reported in the form 'optimistic', but ties leave it between 0.31 and 0.52, 0.4 on average"
    )
    assert found[1].evidence.endswith("ties leave it between 0.5 and 0.6")
    assert [f.where for f in tied_ranks(scores, tolerance=1e-4)][-2:] == ["untied", "median_rank"]


@pytest.mark.parametrize(
    ("ties", "message"),
    [(("best", 1.0, 0.5), "one of the forms average"), (("order", 1.0, float("nan")), "expected finite scores")],
)
def test_ties_are_declared_in_full(ties, message):
    with pytest.raises(InputError, match=message):
        Ties(*ties)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0, 1, 2])), min_size=1, max_size=9))
def test_the_ceiling_is_that_of_the_best_of_all_rankings(rows):
    """One ranking of three candidates for each distinct query, chosen with the answers in sight."""
    best = Fraction(0)
    for query in "ab":
        asked = [positive for text, positive in rows if text == query]
        best += max(sum(Fraction(1, order.index(p) + 1) for p in asked) for order in permutations(range(3)))
    queries, positives = zip(*rows, strict=True)
    assert reciprocal_ceiling(queries, positives) == pytest.approx(float(best / len(rows)), abs=1e-12)


@pytest.mark.parametrize("m", range(1, 7))
def test_a_random_order_of_identical_queries_scores_the_ceiling(m):
    """Expected 1 / rank of one of m tied candidates, over all orders: H_m / m, and no order does better in the mean."""
    orders = list(permutations(range(m)))
    expected = sum(Fraction(1, order.index(0) + 1) for order in orders) / len(orders)
    assert len(orders) == prod(range(1, m + 1))
    assert reciprocal_ceiling(["same"] * m) == pytest.approx(float(expected), abs=1e-12)


def test_identical_queries_with_different_positives_are_said_with_the_ceiling():
    """By hand: a group of 3 gives 1 + 1/2 + 1/3, the pair that shares its positive gives 2, the single one 1."""
    queries, positives = ["a", "a", "a", "b", "b", "c"], [0, 1, 2, 3, 3, 4]
    (finding,) = tied_ranks({}, queries, positives)
    assert (finding.id, finding.severity, finding.where) == ("duplicate-queries", "info", "queries")
    assert finding.evidence == (
        "6 queries have 3 distinct contents, and 3 equal a query with another positive: "
        "mean reciprocal rank cannot exceed 0.8056, nor top-1 accuracy 0.6667"
    )
    assert tied_ranks({}, queries[2:], positives[2:]) == ()
    assert tied_ranks({}, ["a", "b"]) == ()
    assert tied_ranks({"mrr": Ties("average", 0.5, 0.4)}, ["a", "a"])[0].id == "duplicate-queries"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "expected scores of a ranking or digests of its queries, but got neither"),
        (({}, []), "expected queries, each with one positive, but got 0 and 0"),
        (({}, ["a", "b"], [1]), "expected queries, each with one positive, but got 2 and 1"),
    ],
)
def test_rankings_without_content_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        tied_ranks(*arguments)
