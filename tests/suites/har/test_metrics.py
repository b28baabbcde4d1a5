"""Metrics of ``har``: answers, scorings, measures over datasets. Expected values by hand or by scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.signals import Labels
from gnomon.core.tallies import Tallies
from gnomon.inference.composites import composite
from gnomon.inference.intervals import Plan
from gnomon.inference.scoring import grouped, score
from gnomon.measures.classification import F1, Accuracy, tally_cases
from gnomon.suites.har import metrics
from gnomon.suites.har.metrics import MeanAccuracy, MeanF1, TaskAccuracy, TaskF1, best, listed, native, spread
from gnomon.suites.har.vocabulary import LABELS, group_of, mask
from gnomon.testing import check


@pytest.mark.parametrize("measure", metrics.MEASURES, ids=repr)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []


def test_names_and_families_tell_metric_dataset_and_scoring():
    assert TaskAccuracy("sup-1", "motionsense").name == "accuracy[sup-1 motionsense]"
    assert TaskF1("macro", "present", 0, "zs-open", "x", "exact").name == "exact_macro_f1_present[zs-open x]"
    assert MeanF1("zs-open", ("a", "b")).name == "macro_f1[zs-open]"
    assert (
        len({m.family for m in (TaskAccuracy("sup-1", "a"), TaskAccuracy("sup-1", "b"), MeanAccuracy("sup-1", ("a",)))})
        == 3
    )


def test_a_measure_comes_back_from_its_record():
    for measure in (*metrics.MEASURES, MeanF1("sup-1", ("a", "b"), "exact", "weighted")):
        again = type(measure).from_parameters(measure.record()["parameters"])
        assert again == measure
        assert again.family == measure.family


def test_native_scorings_are_those_of_the_protocol():
    assert [native(m, False) for m in metrics.METRICS] == ["group", "group", "exact", "exact"]
    assert [native(m, True) for m in metrics.METRICS] == ["group", "exact", "exact", "exact"]
    with pytest.raises(InputError, match="no task 'open'"):
        native("open", False)


def test_the_closed_set_masks_scores():
    """By hand: the best of all is outside of the closed set of MotionSense, the second inside."""
    scores = np.zeros((1, len(LABELS)))
    scores[0, LABELS.index("ironing")] = 3
    scores[0, LABELS.index("nordic_walking")] = 2
    assert best(scores, LABELS).tolist() == ["ironing"]
    assert best(scores, LABELS, mask("motionsense")).tolist() == ["nordic_walking"]
    with pytest.raises(InputError, match="no training label"):
        best(scores, LABELS, np.zeros(len(LABELS), dtype=bool))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_answer_of_the_closed_set_is_always_allowed(seed):
    scores = np.random.default_rng(seed).normal(size=(5, len(LABELS)))
    allowed = {label for label, kept in zip(LABELS, mask("vtt_coniot"), strict=True) if kept}
    assert set(best(scores, LABELS, mask("vtt_coniot"))) <= allowed


def _joined(parts, datasets):
    """Tallies of several datasets with one case per subject, under an axis of datasets."""
    stacked = Tallies.stack(parts)
    place = np.repeat(np.arange(len(parts)), [part.n_cases for part in parts])
    return spread(stacked, place, datasets)


def _drawn(rng, classes, subjects, n):
    truth, answer = rng.integers(0, classes, n), rng.integers(0, classes, n)
    answer = np.where(rng.random(n) < 0.6, truth, answer)
    names = tuple(f"c{i}" for i in range(classes))
    counted = tally_cases(Labels(truth, names), Labels(answer, names), rng.integers(0, subjects, n), subjects)
    return truth, answer, listed(counted)


def test_means_over_datasets_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    drawn = [_drawn(rng, k, 6, n) for k, n in ((4, 300), (7, 90), (3, 1000))]
    totals = _joined([d[2] for d in drawn], ("a", "b", "c")).total()
    names = ("a", "b", "c")
    expected = np.mean([accuracy_score(t, p) for t, p, _ in drawn])
    assert float(MeanAccuracy("zs-open", names).score(totals).values) == pytest.approx(expected, abs=1e-12)
    for average in ("macro", "weighted"):
        expected = np.mean([f1_score(t, p, average=average, zero_division=0) for t, p, _ in drawn])
        measure = MeanF1("zs-open", names, "native", average)
        assert float(measure.score(totals).values) == pytest.approx(expected, abs=1e-12)


def test_macro_f1_over_a_fixed_list_agrees_with_scikit_learn():
    """Labels that nobody has and nobody answers count as 0; answers outside the list are wrong and no class."""
    rng = np.random.default_rng(5)
    names, asked = tuple("abcdef"), ("a", "b", "c", "f")
    parts, expected = [], []
    for n in (200, 70):
        truth, answer = rng.integers(0, 3, n), rng.integers(0, 5, n)
        answer = np.where(rng.random(n) < 0.5, truth, answer)
        counted = tally_cases(Labels(truth, names), Labels(answer, names), rng.integers(0, 4, n), 4)
        parts.append(listed(counted, asked))
        expected.append(f1_score(truth, answer, labels=[0, 1, 2, 5], average="macro", zero_division=0))
        one = TaskF1("macro", "fixed", 0, "sup-1", "x")
        assert float(one.score(parts[-1].total()).values) == pytest.approx(expected[-1], abs=1e-12)
        frozen = one.score(parts[-1].total(), one.freeze(parts[-1].total()))
        assert float(frozen.values) == pytest.approx(expected[-1], abs=1e-12)
    joined = _joined(parts, ("x", "y")).total()
    mean = MeanF1("sup-1", ("x", "y"))
    assert float(mean.score(joined, mean.freeze(joined)).values) == pytest.approx(np.mean(expected), abs=1e-12)


def test_a_mean_without_a_dataset_is_undefined_with_its_name():
    part = _drawn(np.random.default_rng(2), 3, 2, 20)[2]
    totals = spread(part, np.zeros(2, dtype=np.int64), ("here", "nowhere")).total()
    for measure in (MeanAccuracy("zs-open", ("here", "nowhere")), MeanF1("zs-open", ("here", "nowhere"))):
        assert not bool(measure.score(totals).defined)
        assert measure.why(totals) == "no window was scored of nowhere"


def test_the_interval_of_a_mean_is_that_of_the_stratified_composite():
    """Independent: inference.composites computes the same mean dataset by dataset."""
    rng = np.random.default_rng(3)
    parts = {name: _drawn(rng, 5, 20, 600)[2] for name in ("a", "b", "c")}
    plan = Plan("jackknife-t", 0.95, 1000, 0)
    ids = tuple(f"{d}/{s}" for d in parts for s in range(20))
    roster = Roster(ids, ids, {}, "subject")
    for one, mean in ((Accuracy(), MeanAccuracy("zs-open", tuple(parts))), (F1(), MeanF1("zs-open", tuple(parts)))):
        own = {name: grouped(part, Roster(ids[:20], ids[:20], {}, "subject"), plan) for name, part in parts.items()}
        expected = composite(one, own)
        found = score(mean, grouped(_joined(list(parts.values()), tuple(parts)), roster, plan))
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.06)


def test_groups_of_the_text():
    """By hand, from the text: jogging and running are one group."""
    assert group_of("jogging") == group_of("running_treadmill") == "running"
