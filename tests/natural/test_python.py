"""Natural calls in Python: each gives the numbers of the long way round, to the last bit, or says how to mend it.

The long way round is ``gnomon.score`` with its tables, or ``evaluate`` of a task on plain NumPy arrays.
"""

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import GnomonError, InputError, NothingScoredError

ROWS = 60
RNG = np.random.default_rng(11)
WORDS = np.array(["run", "sit", "walk"])
TRUTH = WORDS[RNG.integers(0, 3, ROWS)]
SAID = np.where(RNG.random(ROWS) < 0.8, TRUTH, WORDS[RNG.integers(0, 3, ROWS)])
SUBJECT = np.array([f"s{row % 6}" for row in range(ROWS)])
NUMBERS = RNG.normal(0, 1, (ROWS, 2))
NEAR = NUMBERS + RNG.normal(0, 0.2, (ROWS, 2))
JOINTS = RNG.normal(0, 0.2, (ROWS, 4, 3)) + np.linspace(0, 1.6, 4)[:, np.newaxis] * [0, 0, 1]
FOUND = JOINTS + RNG.normal(0, 0.03, JOINTS.shape)


@pytest.fixture(scope="module")
def result():
    return gnomon.score("labels", TRUTH, {"A": SAID}, groups=SUBJECT)


@pytest.fixture(scope="module")
def score(result):
    """The long way round to the macro F1 of system A."""
    return next(s.value for run in result.runs for s in run.scores if (s.name, s.slice) == ("macro_f1", "all"))


def library(name):
    return pytest.importorskip(name)


OF_A_RESULT = {
    "by key": lambda result: result["A", "macro_f1"],
    "by key, as printed": lambda result: result["A", "macro f1"],
    "scores": lambda result: result.scores["A"]["macro_f1"],
    "pandas": lambda result: library("pandas") and result.to_pandas().set_index("system").loc["A", "macro_f1"],
    "polars": lambda result: library("polars") and result.to_polars().filter(system="A")["macro_f1"].item(),
    "arrow": lambda result: result.to_arrow().column("macro_f1")[0].as_py(),
    "figure": lambda result: result.plot().view.data["rows"][0]["value"],
    "run": lambda result: result.runs[0].find("macro_f1").value,
}


@pytest.mark.parametrize("name", OF_A_RESULT)
def test_a_number_of_a_result_is_the_same_by_every_way(name, result, score):
    assert OF_A_RESULT[name](result) == score


def test_a_saved_result_is_read_back(result, score, tmp_path):
    result.save(tmp_path / "runs")
    assert gnomon.load(tmp_path / "runs")["A", "macro_f1"] == score


def test_texts_hold_the_number(result, score):
    for text in (str(result), result.to_markdown(), result.to_latex(), result._repr_html_()):
        assert f"{score:.3f}" in text


def stream(start, *sides, parts=7, **named):
    """Give data to an accumulator in parts."""
    found = start
    for rows in np.array_split(np.arange(len(sides[0])), parts):
        found.update(*(side[rows] for side in sides), **{name: side[rows] for name, side in named.items()})
    return found.compute()


M = gnomon.measures
TASKS = {
    "labels: evaluate": (lambda: M.classification.evaluate(TRUTH, SAID)["macro_f1"], "macro_f1"),
    "labels: function": (lambda: M.classification.macro_f1(TRUTH, SAID), "macro_f1"),
    "labels: function on lists": (lambda: M.classification.macro_f1(TRUTH.tolist(), SAID.tolist()), "macro_f1"),
    "labels: function on Series": (
        lambda: M.classification.accuracy(library("pandas").Series(TRUTH), library("polars").Series(SAID)),
        "accuracy",
    ),
    "labels: weighted": (lambda: M.classification.weighted_f1(TRUTH, SAID), "weighted_f1"),
    "labels: balanced accuracy": (lambda: M.classification.balanced_accuracy(TRUTH, SAID), "balanced_accuracy"),
    "labels: kappa": (lambda: M.classification.kappa(TRUTH, SAID), "kappa"),
    "labels: stream": (lambda: stream(M.classification.accumulate(), TRUTH, SAID)["macro_f1"], "macro_f1"),
    "labels: stream by subject": (
        lambda: stream(M.classification.accumulate(), TRUTH, SAID, groups=SUBJECT)["kappa"],
        "kappa",
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_gives_the_score_of_a_run(name, result):
    """Averages of ``evaluate`` and of the suite are over the union of classes, with 0/0 as 0."""
    call, metric = TASKS[name]
    assert call() == result["A", metric]


ARRAYS = {
    "regression": (M.regression, NUMBERS, NEAR, "rmse"),
    "pose": (M.pose, JOINTS, FOUND, "pa_mpjpe"),
    "points": (M.points, RNG.integers(0, 3, ROWS), RNG.integers(0, 3, ROWS), "macro3_f1"),
    "scenes": (M.scenes, RNG.random(ROWS) < 0.5, RNG.random(ROWS) < 0.5, "accuracy"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_functions_and_streams_of_other_tasks(name):
    task, truth, prediction, metric = ARRAYS[name]
    whole = task.evaluate(truth, prediction)
    assert stream(task.accumulate(), truth, prediction) == whole
    assert task.evaluate(truth.tolist(), prediction.tolist()) == whole
    expected = whole["macro3"]["f1"] if metric == "macro3_f1" else whole[metric]
    assert getattr(task, metric)(truth, prediction) == expected


class Tensor:
    """What a tensor of torch offers: it is an array only without gradients, and on the processor."""

    def __init__(self, values, ready=()):
        self._values, self._ready = values, ready

    def detach(self):
        return Tensor(self._values, (*self._ready, "detach"))

    def cpu(self):
        return Tensor(self._values, (*self._ready, "cpu"))

    def __array__(self, dtype=None, copy=None):
        if self._ready != ("detach", "cpu"):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self._values


@pytest.mark.parametrize("name", ARRAYS)
def test_tensors_with_gradients_are_arrays(name):
    task, truth, prediction, _ = ARRAYS[name]
    assert task.evaluate(Tensor(truth), Tensor(prediction)) == task.evaluate(truth, prediction)


ERRORS = {
    "a system that is not there": (lambda r: r["B", "accuracy"], "no system 'B': there are A"),
    "a metric that is not there": (lambda r: r["A", "recal"], "no measure 'recal' in the run of 'A'; there are"),
    "a system alone": (lambda r: r["A"], r"expected result\[system, metric\]"),
    "a table that is not there": (lambda r: r.to_pandas("score"), "did you mean 'scores'"),
    "a figure that is not there": (lambda r: r.plot("interval"), "no figure 'interval': .*intervals_1"),
    "text for labels": (lambda r: M.classification.accuracy("a", "a"), "expected a sequence of labels"),
    "one side too short": (lambda r: M.classification.accuracy([1, 2], [1]), "as many predictions as truths"),
    "numbers as labels": (lambda r: M.classification.accuracy([0.5], [0.5]), "expected integers or text as labels"),
    "text as numbers": (lambda r: M.regression.mae(["a"], ["b"]), "truth: expected numbers"),
    "millimetres": (lambda r: M.pose.mpjpe(1000 * JOINTS, 1000 * FOUND), "unit='mm'"),
    "an empty stream": (lambda r: M.classification.accumulate().compute(), "call update"),
    "a metric that does not exist": (lambda r: M.classification.macro_f2, "has no attribute 'macro_f2'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_goes_wrong_is_said_in_one_line(name, result):
    call, said = ERRORS[name]
    with pytest.raises((GnomonError, AttributeError), match=said) as caught:
        call(result)
    assert "\n" not in str(caught.value)


RUNS = {
    "run": lambda **options: gnomon.run("labels", **options),
    "ablate": lambda **options: gnomon.ablate("labels", without="deep", **options),
    "search": lambda **options: gnomon.search("labels", grid={"depth": [1, 2]}, metrics="macro_f1", **options),
}


@pytest.mark.parametrize("verb", RUNS)
def test_a_run_in_which_every_cell_failed_raises(verb, tmp_path):
    table = {"id": range(ROWS), "label": TRUTH, "group": SUBJECT, "x1": NUMBERS[:, 0]}
    path = tmp_path / "fails.py"
    path.write_text(
        "class Fails:\n"
        "    def __init__(self, depth=1, deep=True):\n        self.depth, self.deep = depth, deep\n"
        "    def fit(self, x, y):\n        raise ValueError('no memory for this model')\n"
        "    def predict(self, x):\n        return x\n"
    )
    with pytest.raises(NothingScoredError, match="no memory for this model") as caught:
        RUNS[verb](truth=table, systems=f"{path}:Fails", out=tmp_path / "runs", executor="inline")
    assert isinstance(caught.value, InputError)
