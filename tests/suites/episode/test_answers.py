"""Answers: kept, read back, and compared with the truth of the test samples.

Expected values: counted or measured in the test; scikit-learn; by hand.
"""

import io
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from gnomon.core.errors import InputError
from gnomon.suites.episode import answers as answering
from gnomon.suites.episode.answers import Answers, alike, blocks, pool_of, tallied
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


@pytest.mark.parametrize(("n", "smaller"), [(90, True), (90, False), (0, False)])
def test_vectors_are_packed_small_where_they_repeat_themselves(n, smaller):
    """What is packed is what was given, in float32; noise is kept as it is."""
    values = np.tile(np.arange(126.0), (n, 10)) if smaller else np.random.default_rng(2).normal(size=(n, 1260))
    told = Answers(TASKS["hand_trajectory_forecast"], tuple(f"e/{k}" for k in range(n)), values)
    packed = told.packed()
    assert (len(packed) < values.size) == (smaller and n > 0)
    assert packed == told.packed()
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        assert tuple(file["samples"].tolist()) == told.ids
        np.testing.assert_array_equal(file["values"], values.astype(np.float32), strict=True)


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
    macro = partial(f1_score, truth, labels=sorted(set(truth)), average="macro", zero_division=0)
    said = [data.classes[code] for code in codes.tolist()]
    assert scored(data, Answers(data.task, ids(data), codes, data.classes))[1]["macro_f1"] == pytest.approx(macro(said))
    codes[0] = -1  # no answer is wrong, and costs as much as any answer
    done, found = scored(data, Answers(data.task, ids(data), codes, data.classes))
    lowest = min(macro([name, *said[1:]]) for name in data.classes if name != truth[0])
    assert 0.95 * lowest <= found["macro_f1"] <= lowest
    assert found["accuracy"] == pytest.approx(
        np.mean([t == s for t, s in zip(truth[1:], said[1:], strict=True)] + [False])
    )
    assert list(done.rows.to_pylist()[0].values())[4:] == [truth[0], "", None]


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
    values = done.rows["value"].to_pylist()
    assert values[0] == pytest.approx(apart[0][there[0]].mean(), rel=1e-5)


def test_a_number_that_was_never_valid_in_training_counts_as_zero_and_is_counted(recorded):
    data = built(recorded, "hand_trajectory_forecast")
    values = data.y(data.of(TEST)).astype(np.float64)
    values[:, 5] = np.nan
    done, _ = scored(data, Answers(data.task, ids(data), values))
    assert done.facts["never_valid_in_training"] == 1


def vectors(data, seed=6):
    """Answers that are near the truth, and the case of each."""
    truth = data.y(data.of(TEST))
    rng = np.random.default_rng(seed)
    return truth + rng.normal(0, 0.1, truth.shape), np.sort(rng.integers(0, 6, len(truth)))


def same(one, two):
    assert one.rows == two.rows
    assert one.facts == two.facts
    assert list(one.tallies) == list(two.tallies)
    for name, tallies in one.tallies.items():
        assert (tallies.layout, tallies.axes) == (two.tallies[name].layout, two.tallies[name].axes)
        for key, values in tallies.fields.items():
            assert values.dtype == two.tallies[name].fields[key].dtype
            np.testing.assert_array_equal(values, two.tallies[name].fields[key])


@pytest.mark.parametrize("task", ["hand_trajectory_forecast", "modality_reconstruction"])
@pytest.mark.parametrize("variant", ["strict", "published"])
def test_vectors_that_are_compared_in_blocks_are_tallied_as_at_once(recorded, monkeypatch, task, variant):
    data = built(recorded, task, variant)
    values, case = vectors(data)
    values[2, 5] = values[-1, 9] = np.nan
    case = np.maximum(case, 1)
    case[[0, 3]] = 0  # a case that is not in one piece
    told = Answers(data.task, ids(data), values)
    whole = tallied(told, data, data.of(TEST), case, 8)
    monkeypatch.setattr(answering, "blocks", partial(blocks, size=3))
    assert len(list(answering.blocks(case, 8))) > 2
    same(tallied(told, data, data.of(TEST), case, 8), whole)
    assert whole.facts["never_valid_in_training"] == 2


def test_vectors_are_tallied_alike_however_they_lie_in_memory(recorded):
    data = built(recorded, "hand_trajectory_forecast")
    values, case = vectors(data)
    wide = np.zeros((len(values), 2 * values.shape[1]))
    wide[:, ::2] = values
    found = [
        tallied(Answers(data.task, ids(data), one), data, data.of(TEST), case, 6)
        for one in (values, np.asfortranarray(values), wide[:, ::2])
    ]
    same(found[1], found[0])
    same(found[2], found[0])


@pytest.mark.parametrize("task", ["hand_trajectory_forecast", "modality_reconstruction"])
def test_no_vectors_are_tallied_as_nothing(recorded, task):
    """As where every test sample overlaps training."""
    data = built(recorded, task)
    values, case = vectors(data)
    whole = tallied(Answers(data.task, ids(data), values), data, data.of(TEST), case, 6)
    none = tallied(Answers(data.task, (), values[:0]), data, data.of(TEST)[:0], case[:0], 6)
    assert none.rows.num_rows == 0
    for name, tallies in whole.tallies.items():
        assert none.tallies[name].axes == tallies.axes
        for key, field in none.tallies[name].fields.items():
            assert (field.shape, field.dtype) == (tallies.fields[key].shape, tallies.fields[key].dtype)
            assert not field.any()


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(1, 9))
def test_blocks_hold_whole_cases_and_are_as_short_as_they_may_be(case, size):
    """No case is in two blocks, none can end earlier, and together they are all rows."""
    found = [range(len(case))[rows] for rows in blocks(np.array(case, dtype=np.int64), 7, size)]
    assert [row for rows in found for row in rows] == list(range(len(case)))
    sets = [{case[row] for row in rows} for rows in found]
    assert sum(map(len, sets)) == len(set(case))
    for rows in found:
        ends = [k for k in range(rows.start + size, rows.stop) if not {*case[rows.start : k]} & {*case[k:]}]
        assert not ends


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
