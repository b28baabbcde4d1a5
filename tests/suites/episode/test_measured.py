"""Measures of the twelve tasks: names, order, and that runs which hold them can be read back.

Expected values: the declared tasks; scikit-learn; by hand.
"""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from gnomon.core import registry
from gnomon.core.signals import Labels
from gnomon.measures import classification
from gnomon.suites.episode.measured import MEASURES, measures, of_task
from gnomon.suites.episode.tasks.declared import TASKS


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_the_headline_of_a_task_comes_first_and_its_other_metrics_are_there(task):
    names = [measure.name for measure in of_task(task)]
    assert names[0] == f"{task.metric}[{task.name}]"
    assert of_task(task)[0].direction == task.direction
    assert {f"{name}[{task.name}]" for name in task.also} <= set(names)


def test_all_headlines_come_before_all_others():
    names = [measure.name for measure in measures(list(TASKS))]
    assert names[:12] == [f"{task.metric}[{name}]" for name, task in TASKS.items()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("measure", [*measures(list(TASKS)), *MEASURES], ids=lambda measure: measure.name)
def test_a_measure_is_read_back_as_it_was(measure):
    assert registry.measure(measure.record()) == measure


def test_macro_f1_is_over_the_classes_of_the_truth_and_its_union_form_over_answers_too():
    """scikit-learn, with the two class lists."""
    classes = ("a", "b", "c", "d")
    truth, answers = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 3, 1, 1, 0, 3])
    true, said = Labels(truth, classes), Labels(answers, classes)
    tallies = classification.tally_cases(true, said, np.zeros(6, dtype=np.int64), 1).total()
    found = {measure.name: float(measure.score(tallies).values) for measure in of_task(TASKS["timeline_action"])}
    present, union = ([0, 1, 2], [0, 1, 2, 3])
    for name, labels in (("macro_f1", present), ("macro_f1_union", union)):
        expected = f1_score(truth, answers, labels=labels, average="macro", zero_division=0)
        assert found[f"{name}[timeline_action]"] == pytest.approx(expected)
    assert found["accuracy[timeline_action]"] == pytest.approx(3 / 6)


def test_f1_of_a_pair_task_is_that_of_its_second_class():
    """By hand: 2 of 3 forward pairs are found, and 1 reversed pair is taken for one: 4 / 6."""
    task = TASKS["temporal_order"]
    truth, answers = np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])
    sides = [Labels(side, task.classes) for side in (truth, answers)]
    tallies = classification.tally_cases(*sides, np.zeros(5, dtype=np.int64), 1).total()
    assert float(of_task(task)[0].score(tallies).values) == pytest.approx(4 / 6)
