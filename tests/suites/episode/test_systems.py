"""Systems of the twelve tasks: which answers what, what baselines say, and what can be reached at best.

Expected values: by hand from the declared tasks; counted in the test.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.suites.episode import systems
from gnomon.suites.episode.options import TRIVIAL
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import build
from gnomon.suites.episode.tasks.splitting import TEST, TRAIN


def labels_of(data, part):
    return [data.labels[place] for place in data.of(part).tolist()]


def test_trivial_is_all_baselines_and_each_system_is_there_once():
    assert systems.expanded(["random,trivial", "minimal"]) == (
        "random",
        *(t for t in TRIVIAL if t != "random"),
        "minimal",
    )
    with pytest.raises(InputError, match="no system 'svm'; there are minimal, neural, trivial"):
        systems.expanded(["minimal", "svm"])
    with pytest.raises(InputError, match="--systems"):
        systems.expanded([" , "])


def test_every_head_answers_every_task_and_baselines_those_that_they_make_sense_for():
    assert all(systems.answers(head, task) for head in ("minimal", "neural") for task in TASKS.values())
    found = {name: {task.name for task in TASKS.values() if systems.answers(name, task)} for name in TRIVIAL}
    ranked = {"caption_grounding", "cross_modal_retrieval"}
    assert found["majority"] == set(TASKS) - ranked
    assert found["random"] == set(TASKS)
    assert found["persistence"] == {"hand_trajectory_forecast"}
    assert found["always_positive"] == {
        "transition_detection",
        "contact_prediction",
        "temporal_order",
        "misalignment_detection",
    }
    assert found["copy_last"] == {
        "timeline_action",
        "timeline_subtask",
        "next_action",
        "contact_prediction",
        "object_relevance",
    }


@pytest.mark.parametrize("name", ["majority", "copy_last", "random"])
def test_baselines_answer_every_test_sample_with_a_class(recorded, name):
    data = build(TASKS["timeline_subtask"], recorded["published"], "published")
    found = systems.answer(name, data, 7)
    assert found.ids == tuple(data.ids[place] for place in data.of(TEST).tolist())
    assert set(found.values.tolist()) <= set(range(len(found.classes)))
    if name == "majority":
        most, _ = Counter(sorted(labels_of(data, TRAIN))).most_common(1)[0]
        assert {found.classes[code] for code in found.values.tolist()} == {most}


def test_what_was_observed_last_may_be_a_class_that_training_never_showed(recorded):
    """Frame by frame, here: the label of the frame before the window."""
    data = build(TASKS["timeline_action"], recorded["strict"], "strict")
    found = systems.answer("copy_last", data, 7)
    said = [found.classes[code] for code in found.values.tolist()]
    for place, label in zip(data.of(TEST).tolist(), said, strict=True):
        one = data.recorded[data.episode[place]]
        before = one.labels.action[int(data.input_range[place, 0]) - 1]
        assert label == before
    assert set(said) - set(data.classes)


def test_a_head_of_a_published_task_with_one_class_is_always_right(recorded):
    """A person who stands touches the ground: as published there is nothing to learn, and both heads have 1.0."""
    data = build(TASKS["contact_prediction"], recorded["published"], "published")
    assert set(data.labels) == {"contact"}
    found = systems.answer("minimal", data, 7)
    assert found.classes == ("contact",)
    assert not found.values.any()


def test_a_task_that_cannot_be_asked_is_refused(recorded):
    data = build(TASKS["timeline_action"], recorded["strict"], "strict")
    lacking = replace(data, part=("train",) * len(data))
    with pytest.raises(InputError, match="timeline_action: no sample to test on; give longer episodes"):
        systems.answer("majority", lacking, 7)
    same = replace(data, labels=("stir",) * len(data))
    with pytest.raises(InputError, match="all train targets are 'stir', so that a constant answer is perfect"):
        systems.answer("majority", same, 7)


def test_the_ceiling_of_classes_is_the_share_that_training_showed(recorded):
    data = build(TASKS["timeline_action"], recorded["strict"], "strict")
    known, test = set(labels_of(data, TRAIN)), labels_of(data, TEST)
    found = systems.ceiling(data)
    assert found["accuracy"] == pytest.approx(sum(label in known for label in test) / len(test))
    present = set(test)
    assert found["macro_f1"] == pytest.approx(sum(label in known for label in present) / len(present), abs=0.5)
    assert found["macro_f1"] >= len(present & known) / len(present)


def test_the_ceiling_of_captions_that_are_alike_is_that_of_their_order(recorded):
    """Published: m windows of one text share one ranking, in which they have the ranks 1 to m at best."""
    data = build(TASKS["caption_grounding"], recorded["published"], "published")
    texts = Counter(row.tobytes() for row in data.y(data.of(TEST)))
    best = sum(sum(1 / rank for rank in range(1, m + 1)) for m in texts.values()) / texts.total()
    assert systems.ceiling(data)["mrr"] == pytest.approx(best)
    strict = build(TASKS["caption_grounding"], recorded["strict"], "strict")
    assert systems.ceiling(strict)["mrr"] == 1.0


def test_the_ceiling_of_objects_leaves_out_names_that_training_never_showed(recorded):
    """Counted here: everything that can be found is found, nothing else is named."""
    data = build(TASKS["object_relevance"], recorded["strict"], "strict")
    vocabulary = set(data.classes)
    sets = [data.sets[place] for place in data.of(TEST).tolist()]
    hits, total = (sum(len(one & vocabulary) for one in sets), sum(map(len, sets)))
    assert systems.ceiling(data)["micro_f1"] == pytest.approx(2 * hits / (total + hits))


def test_the_persistent_hand_is_the_one_seen_last(recorded):
    data = build(TASKS["hand_trajectory_forecast"], recorded["strict"], "strict")
    found = systems.answer("persistence", data, 7)
    checked = 0
    for row, place in enumerate(data.of(TEST).tolist()):
        path = data.path(data.episode[place])
        last = int(data.input_range[place, 1]) - 1
        if path.valid[last].all():
            np.testing.assert_allclose(found.values[row], np.tile(path.xyz[last].reshape(-1), 10), atol=1e-6)
            checked += 1
    assert checked
