"""scikit-learn classifiers as systems of ``labels``. Expected values by fitting them without gnomon."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import gnomon
from gnomon.suites.labels.cells import deal

pytestmark = pytest.mark.usefixtures("in_this_process")

NAMES = (
    "sklearn.linear_model:LogisticRegression",
    "sklearn.ensemble:RandomForestClassifier@n_estimators=10",
    "sklearn.neighbors:KNeighborsClassifier",
    "sklearn.naive_bayes:GaussianNB",
    "sklearn.neural_network:MLPClassifier@max_iter=30",
)
PIPELINE = """
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

def scaled_svc(C: float = 1.0):
    return make_pipeline(StandardScaler(), SVC(C=C))

def nothing():
    return object()

model = scaled_svc()
"""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 120)
    features = rng.normal(size=(120, 2)) + labels[:, np.newaxis]
    return {
        "id": [f"{n:03}" for n in range(120)],
        "label": [f"class {label}" for label in labels],
        "group": [f"g{n % 8}" for n in range(120)],
        "x": features[:, 0].tolist(),
        "y": features[:, 1].tolist(),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_estimators_run(table, name):
    result = gnomon.run("labels", truth=table, systems=[name], folds=4, out="none")
    assert result.complete
    assert result.runs[0].find("accuracy").value > 0.5


@pytest.mark.parametrize(("name", "make"), [(NAMES[0], LogisticRegression), (NAMES[3], GaussianNB)])
def test_predictions_are_those_of_the_estimator_by_itself(table, name, make):
    import pyarrow as pa

    run = gnomon.run("labels", truth=table, systems=[name], folds=4, out="none", seed=3).runs[0]
    x, y = np.stack([table["x"], table["y"]], axis=1), np.array(table["label"])
    folds = deal(pa.array(table["group"]), 4, 3)
    right = [
        (make().fit(x[folds != fold], y[folds != fold]).predict(x[folds == fold]) == y[folds == fold]).sum()
        for fold in range(4)
    ]
    assert run.find("accuracy").value == pytest.approx(sum(right) / len(y))


def test_a_function_may_make_a_pipeline(table, tmp_path):
    (tmp_path / "mine.py").write_text(PIPELINE)
    name = f"{tmp_path / 'mine.py'}:scaled_svc"
    result = gnomon.run("labels", truth=table, systems=[name, f"{name}@C=0.01"], folds=4, out="none")
    assert result.complete
    assert len({run.find("accuracy").value for run in result.runs}) == 2
    found = gnomon.search(
        "labels", truth=table, systems=[name], grid={"C": (0.01, 1.0)}, metrics="accuracy", split="50/25/25", out="none"
    )
    assert [trial["failure"] for trial in found.extra["search"]["trials"]] == ["", ""]


def test_what_makes_no_system_is_named(table, tmp_path):
    (tmp_path / "mine.py").write_text(PIPELINE)
    with pytest.raises(gnomon.InputError, match=r"or a function that returns such an object, in .*but got Pipeline"):
        gnomon.run("labels", truth=table, systems=[f"{tmp_path / 'mine.py'}:model"], out="none")
    with pytest.raises(gnomon.NothingScoredError, match="made object, which has no fit and no predict"):
        gnomon.run("labels", truth=table, systems=[f"{tmp_path / 'mine.py'}:nothing"], folds=2, out="none")


INSTANCES = {
    "plain parameters": (LogisticRegression(C=0.1), "sklearn.linear_model:LogisticRegression@C=0.1"),
    "no parameters": (GaussianNB(), "sklearn.naive_bayes:GaussianNB"),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_is_the_system_that_the_command_line_names(table, name):
    """A seeded fold is fitted alike, so that every score is the same to the last bit."""
    instance, text = INSTANCES[name]
    ours, theirs = (gnomon.run("labels", truth=table, systems=one, folds=4, out="none") for one in (instance, text))
    assert ours.scores == theirs.scores
    assert list(ours.scores) == [text]


def test_a_pipeline_keeps_its_steps_and_parameters(table, tmp_path):
    """The pipeline of a file, by a function, is the long way round."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    (tmp_path / "own.py").write_text(PIPELINE)
    pipeline = make_pipeline(StandardScaler(), SVC(C=0.01))
    named = gnomon.run("labels", truth=table, systems={"svm": pipeline}, folds=4, out="none")
    alone = gnomon.run("labels", truth=table, systems=[pipeline], folds=4, out="none")
    long = gnomon.run("labels", truth=table, systems=f"{tmp_path / 'own.py'}:scaled_svc@C=0.01", folds=4, out="none")
    assert list(named.scores) == ["svm"]
    assert list(alone.scores) == ["StandardScaler + SVC"]
    assert [*named.scores.values()] == [*alone.scores.values()] == [*long.scores.values()]


def test_what_cannot_be_written_down_says_so(table):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    with pytest.raises(gnomon.InputError, match="'func' holds a ufunc, which cannot be written down"):
        gnomon.run("labels", truth=table, systems=make_pipeline(FunctionTransformer(np.abs), GaussianNB()), out="none")


def test_classes_and_searches_over_parameters(table):
    """A grid of one value is the estimator with that value, fitted by itself."""
    from sklearn.model_selection import GridSearchCV

    found = gnomon.run("labels", truth=table, systems=[LogisticRegression], folds=4, out="none")
    assert list(found.scores) == ["sklearn.linear_model:LogisticRegression"]
    search = GridSearchCV(LogisticRegression(), {"C": [0.1]}, cv=2)
    chosen = gnomon.run("labels", truth=table, systems={"search": search}, folds=4, out="none")
    alone = gnomon.run("labels", truth=table, systems=LogisticRegression(C=0.1), folds=4, out="none")
    assert [*chosen.scores.values()] == [*alone.scores.values()]
