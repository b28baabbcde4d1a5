"""Answers: kept, read back, and compared with the truth of the test samples.

Expected values: counted or measured in the test; scikit-learn; by hand.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from gnomon.core.errors import InputError
from gnomon.suites.episode.answers import Answers, alike, pool_of, tallied
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import build
from gnomon.suites.episode.tasks.splitting import TEST


def built(recorded, task, variant="strict"):
    return build(TASKS[task], recorded[variant], variant)


def scored(data, answers):
    """Tally answers as one case, and score them by every measure of the task that needs no ledger."""
    test = data.of(TEST)
    done = tallied(answers, data, test, np.zeros(len(test), dtype=np.int64), 1)
    found = {}
    for measure in of_task(data.task):
        if measure.layout:
            value = measure.score(done.tallies[measure.family].total())
            found[measure.name.partition("[")[0]] = float(value.values) if value.values.ndim == 0 else value.values
    return done, found


def ids(data):
    return tuple(data.ids[place] for place in data.of(TEST).tolist())


def test_answers_are_read_back_as_they_were(tmp_path):
    told = Answers(TASKS["next_action"], ("e/0", "e/5"), np.array([1, -1]), ("a", "b"), {"rows": 3})
    told.write(tmp_path)
    back = Answers.read(TASKS["next_action"], tmp_path)
    assert (back.ids, back.classes, back.facts, back.digest) == (told.ids, told.classes, told.facts, told.digest)
    np.testing.assert_array_equal(back.values, told.values)


def test_the_digest_tells_answers_apart():
    task = TASKS["next_action"]
    digests = {
        Answers(task, ("e/0",), np.array([code]), classes).digest
        for code in (0, 1)
        for classes in (("a", "b"), ("b", "a"))
    }
    assert len(digests) == 4


def test_answers_of_another_form_or_number_are_refused(recorded):
    with pytest.raises(InputError, match=r"next_action: expected 2 answers in 1 dimension\(s\), but got \(1,\)"):
        Answers(TASKS["next_action"], ("e/0", "e/5"), np.array([1]), ("a",))
    data = built(recorded, "next_action")
    other = Answers(data.task, ("nobody/0",), np.zeros(1, dtype=np.int64), data.classes)
    with pytest.raises(InputError, match="next_action: answers are for 1 samples, expected the"):
        scored(data, other)


def test_classes_are_tallied_as_scikit_learn_counts_them(recorded):
    data = built(recorded, "timeline_subtask", "published")
    truth = [data.labels[place] for place in data.of(TEST).tolist()]
    codes = np.random.default_rng(3).integers(0, len(data.classes), len(truth))
    codes[0] = -1  # no answer is wrong, and of no class
    done, found = scored(data, Answers(data.task, ids(data), codes, data.classes))
    said = [data.classes[code] if code >= 0 else "none" for code in codes.tolist()]
    expected = f1_score(truth, said, labels=sorted(set(truth)), average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(expected)
    assert found["accuracy"] == pytest.approx(np.mean([t == s for t, s in zip(truth, said, strict=True)]))
    assert done.rows[0][4:] == (truth[0], "", None)


def test_sets_are_tallied_by_name(recorded):
    """Counted here; a name that no sample of the test has counts against the answer."""
    data = built(recorded, "object_relevance")
    classes = (*data.classes, "unicorn")
    members = np.random.default_rng(4).random((len(ids(data)), len(classes))) < 0.3
    _, found = scored(data, Answers(data.task, ids(data), members, classes))
    counts = Counter()
    exact = 0
    for row, place in enumerate(data.of(TEST).tolist()):
        told = {name for name, there in zip(classes, members[row].tolist(), strict=True) if there}
        counts += Counter(hits=len(told & data.sets[place]), told=len(told), true=len(data.sets[place]))
        exact += told == data.sets[place]
    assert found["micro_f1"] == pytest.approx(2 * counts["hits"] / (counts["told"] + counts["true"]))
    assert found["exact_match"] == pytest.approx(exact / len(ids(data)))


def test_the_error_of_a_forecast_is_the_mean_over_joints_that_were_seen(recorded):
    data = built(recorded, "hand_trajectory_forecast")
    test = data.of(TEST)
    truth, seen = data.y(test), data.valid(test)
    given_values = truth + np.random.default_rng(5).normal(0, 0.1, truth.shape)
    given_values[~seen] = 99.0  # is not looked at
    done, found = scored(data, Answers(data.task, ids(data), given_values))
    apart = np.linalg.norm((given_values - truth).reshape(len(test), 10, 42, 3), axis=3)
    there = seen.reshape(len(test), 10, 42, 3)[..., 0]
    assert not there.all()
    assert found["mpjpe"] == pytest.approx(apart[there].mean(), rel=1e-5)
    assert found["final_error"] == pytest.approx(apart[:, -1][there[:, -1]].mean(), rel=1e-5)
    values = [row[6] for row in done.rows]
    assert values[0] == pytest.approx(apart[0][there[0]].mean(), rel=1e-5)


def test_a_number_that_was_never_valid_in_training_counts_as_zero_and_is_counted(recorded):
    data = built(recorded, "hand_trajectory_forecast")
    values = data.y(data.of(TEST)).astype(np.float64)
    values[:, 5] = np.nan
    done, _ = scored(data, Answers(data.task, ids(data), values))
    assert done.facts["never_valid_in_training"] == 1


def test_windows_of_one_caption_are_all_right_in_strict_and_only_the_own_one_in_published(recorded):
    """Perfect projections: strict ranks are all 1; as published the mean over the order of ties is left."""
    for variant, best in (("strict", 1.0), ("published", None)):
        data = built(recorded, "caption_grounding", variant)
        test = data.of(TEST)
        texts = Counter(row.tobytes() for row in data.y(test) + 0.0)
        _, found = scored(data, Answers(data.task, ids(data), data.y(test)))
        harmonic = sum(sum(1 / rank for rank in range(1, m + 1)) for m in texts.values()) / texts.total()
        assert found["mrr"] == pytest.approx(best or harmonic)
        if variant == "published":
            assert found["mrr_pessimistic"] < found["mrr"] < found["mrr_optimistic"] == 1.0


def test_the_pool_is_named_after_the_test_windows_alone(recorded):
    strict, published = (built(recorded, "cross_modal_retrieval", variant) for variant in ("strict", "published"))
    assert pool_of(strict) != pool_of(published)
    assert pool_of(strict).startswith(f"cross_modal_retrieval {len(strict.of(TEST))} ")


@given(arrays(np.float32, st.tuples(st.integers(0, 8), st.integers(1, 2)), elements=st.sampled_from([0.0, -0.0, 1.0])))
def test_rows_that_are_alike_find_each_other(rows):
    """Every pair is compared here; -0.0 equals 0.0."""
    expected = [[k for k in range(len(rows)) if (rows[k] == row).all()] for row in rows]
    assert alike(rows) == expected
