"""Metrics by name, a user's own metrics, and what a run keeps of them."""

import math
from dataclasses import dataclass

import pytest

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.metric_choice import (
    Own,
    available,
    check_metrics,
    choose,
    describe,
    load_metrics,
    load_own,
    restore,
    split_names,
    stored_metric,
)
from gnomon.measures.classification import F1, Accuracy, ClassCounts, ClassF1, Kappa
from gnomon.suites.change.protocol import protocol as change_protocol
from gnomon.suites.skeleton.protocol import protocol as skeleton_protocol

METRICS = (F1("macro"), Accuracy(), Kappa(), ClassF1("walk"), ClassF1("sit, down"))
BOTH = tuple(
    metric
    for variant, order in (("published", "hungarian-then-filter"), ("strict", "max-cardinality"))
    for metric in change_protocol(variant, order, 0.25, ()).measures
)
FILE = """
from dataclasses import dataclass
from gnomon.core.measure import Scored
from gnomon.measures.classification import ClassCounts
from gnomon.measures.skeletons import MPJPE


class Hits(ClassCounts):
    def score(self, totals, frozen=None):
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


@dataclass(frozen=True)
class Fbeta(ClassCounts):
    beta: float = 1.0

    def score(self, totals, frozen=None):
        square = self.beta**2
        below = square * totals["truth"].sum(axis=-1) + totals["predicted"].sum(axis=-1)
        return Scored.ratio((1 + square) * totals["tp"].sum(axis=-1), below)


class Kappa(ClassCounts):
    def score(self, totals, frozen=None):
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


class Unfinished(ClassCounts):
    pass


class Plain:
    def score(self, totals):
        return 1.0


class Joints(MPJPE):
    name = "joints"
"""


class Mine(ClassCounts):
    """A metric that is defined in memory."""

    def score(self, totals, frozen=None):
        """Return the share of right rows."""
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("macro_f1", ["macro_f1"]),
        ("macro_f1, accuracy ,kappa", ["macro_f1", "accuracy", "kappa"]),
        (("macro_f1,accuracy", "kappa"), ["macro_f1", "accuracy", "kappa"]),
        ("f1[sit, down],f1[walk]", ["f1[sit, down]", "f1[walk]"]),
        ("", []),
        ((), []),
        (None, []),
        (Mine, [Mine]),
        ((Mine(), "kappa"), [Mine(), "kappa"]),
    ],
)
def test_names_are_separated_by_commas_outside_of_brackets(given, names):
    assert split_names(given) == names


def test_chosen_metrics_come_first_in_the_order_given():
    choice = choose(load_metrics("f1[sit, down],Macro F1"), METRICS, "these runs")
    assert choice.chosen == ("f1[sit, down]", "macro_f1")
    assert [metric.name for metric in choice.metrics] == ["f1[sit, down]", "macro_f1", "accuracy", "kappa", "f1[walk]"]
    assert choice.record() == {"chosen": ["f1[sit, down]", "macro_f1"], "own": []}


def test_a_name_given_twice_counts_once():
    assert choose(load_metrics("kappa,Kappa,kappa"), METRICS, "these runs").chosen == ("kappa",)


def test_nothing_chosen_leaves_all_as_it_is():
    choice = choose([], METRICS, "these runs")
    assert (choice.metrics, choice.chosen, choice.record()) == (METRICS, (), {})


def test_a_name_may_stand_for_one_metric_in_each_variant():
    check_metrics(["box_macro_f1", "cdr"], BOTH, "these runs")
    strict = change_protocol("strict", "max-cardinality", 0.25, ()).measures
    assert available(["box_macro_f1"], strict, BOTH) == ["box_macro_f1"]
    published = "box_macro_f1@0.25:hungarian-then-filter"
    assert available([published], strict, BOTH) == []
    for name, said in (("beauty", "no measure 'beauty'"), ("box_f1", "may be any of")):
        with pytest.raises(InputError, match=said):
            available([name], strict, BOTH)


def test_an_own_metric_is_named_after_its_class_and_the_parameters_given(file):
    assert load_own(f"{file}:Hits").metric.name == "hits"
    assert load_own(f"{file}:Fbeta").metric.name == "fbeta"
    two = load_own(f"{file}:Fbeta@beta=2").metric
    assert (two.name, two.beta) == ("fbeta@beta=2.0", 2.0)


def test_a_class_or_a_value_is_taken_as_it_is():
    for given in (Mine, Mine()):
        own = load_own(given)
        assert (own.metric, own.record["name"]) == (Mine(), "mine")
        assert own.record["source"].endswith(":Mine")


def test_a_file_is_read_once_for_all_runs(file):
    counting = f"with open({str(file.parent / 'count')!r}, 'a') as count:\n    count.write('x')\n"
    file.write_text(f"{FILE}\n{counting}")
    (own,) = load_metrics(f"{file}:Hits")  # once to see whether the process survives, once in earnest
    read = len((file.parent / "count").read_text())
    assert load_metrics([own]) == [own]
    for _ in range(3):
        assert choose([own], METRICS, "these runs").metrics[0] is own.metric
    assert len((file.parent / "count").read_text()) == read


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("own.py:Plain", "expected a class that extends the counts it is computed from"),
        ("own.py:Missing", "expected a class with score in"),
        ("own.py:Unfinished", "cannot be made .*abstract method"),
        ("own.py:Fbeta@gamma=2", "has no parameter 'gamma'; it has 'beta'"),
        ("own.py:Fbeta@beta=deep", "parameter 'beta': expected a number"),
        ("absent.py:Hits", "no such file"),
        ("dies.py:Hits", r"importing .*dies.py ends the process \(exit code 3\)"),
        ("broken.py:Hits", "cannot be imported .*ZeroDivisionError"),
        ("no.such.module:Hits", "metric module no.such.module: cannot be imported"),
    ],
)
def test_what_is_no_metric_is_refused_with_the_reason(file, monkeypatch, given, said):
    monkeypatch.chdir(file.parent)
    (file.parent / "dies.py").write_text("import os\nos._exit(3)\n")
    (file.parent / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=said):
        load_own(given)


@pytest.mark.parametrize("given", [3, int, object()])
def test_other_values_are_refused(given):
    with pytest.raises(InputError, match="expected a class that extends the counts"):
        load_own(given)


def test_a_metric_of_other_counts_a_taken_name_and_one_name_twice_are_refused(file):
    skeleton = skeleton_protocol(["pelvis"], (0,), "strict", (), "sequence", {}).measures
    refused = {
        "is computed from 'skeletons', which is not among the counts of these runs: 'classification'": [
            "own.py:Joints"
        ],
        "is called 'kappa', as one of the suite is: rename it": ["own.py:Kappa"],
    }
    for said, given in refused.items():
        with pytest.raises(InputError, match=said):
            check_metrics(load_metrics([f"{file.parent}/{name}" for name in given]), METRICS, "these runs")
    check_metrics(load_metrics(f"{file}:Joints"), skeleton, "these runs")

    @dataclass(frozen=True)
    class Named(Mine):
        weight: float = 1.0
        name = "named"

    with pytest.raises(InputError, match="two metrics are called 'named'"):
        check_metrics(load_metrics([Named(1.0), Named(2.0)]), METRICS, "these runs")


def test_a_record_is_enough_to_show_stored_scores(file):
    own = load_own(f"{file}:Joints")
    stored = stored_metric(own.record)
    shared = ("name", "title", "direction", "unit", "bounds", "shown", "family", "best")
    assert [getattr(stored, name) for name in shared] == [getattr(own.metric, name) for name in shared]
    assert own.record["bounds"] == [0.0, None]
    assert stored.bounds == (0.0, math.inf)
    assert not stored.computable
    for call in (lambda: stored.score(None), lambda: stored.tally(None, None)):
        with pytest.raises(
            InputError, match=r"the metric 'joints' is your own .*: give --metrics .*own.py:Joints again"
        ):
            call()


def test_the_choice_of_a_stored_run_is_restored_without_the_class(file):
    choice = choose(load_metrics(f"kappa,{file}:Hits"), METRICS, "these runs")
    file.unlink()
    found = restore(choice.record(), METRICS)
    assert [metric.name for metric in found] == ["kappa", "hits", "macro_f1", "accuracy", "f1[walk]", "f1[sit, down]"]
    assert [metric.computable for metric in found] == [True, False, True, True, True, True]
    assert restore({}, METRICS) == METRICS


def test_a_record_that_says_nonsense_is_refused():
    record = {**describe(Mine()), "source": "x", "identity": ""}
    with pytest.raises(InputError, match="expected direction up or down, but got 'sideways'"):
        stored_metric({**record, "direction": "sideways"})
    assert isinstance(Own(Mine(), record).metric, Measure)
