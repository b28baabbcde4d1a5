"""What ``fit`` of a given object is handed: by its signature, never by place. With real scikit-learn estimators."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gnomon.core.fitting import fit_system

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "up", "down")


def fitted(system, seed=1):
    fit_system(system, X, Y, np.random.default_rng(seed))
    return system


@pytest.mark.parametrize(
    "make",
    [
        LogisticRegression,
        lambda: RandomForestClassifier(n_estimators=5),
        lambda: make_pipeline(StandardScaler(), SVC()),
        KNeighborsClassifier,
        GaussianNB,
        lambda: MLPClassifier(hidden_layer_sizes=(4,), max_iter=300),
    ],
    ids=["logistic", "forest", "pipeline", "neighbours", "bayes", "perceptron"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_estimators_are_fitted_and_the_seed_decides(make):
    first, again = fitted(make()), fitted(make())
    assert (first.predict(X) == Y).mean() > 0.7
    assert (first.predict(X) == again.predict(X)).all()


def test_a_random_state_that_is_open_comes_from_the_seed():
    states = [fitted(RandomForestClassifier(n_estimators=3), seed).random_state for seed in (1, 1, 2)]
    assert all(isinstance(state, int) for state in states)
    assert states[0] == states[1] != states[2]


def test_a_random_state_that_the_user_set_stays():
    assert fitted(RandomForestClassifier(n_estimators=3, random_state=7)).random_state == 7


def test_a_random_state_inside_a_pipeline_is_set_too():
    assert isinstance(fitted(make_pipeline(StandardScaler(), SVC())).get_params()["svc__random_state"], int)


class Named:
    def fit(self, features, labels, weight=None, *, rng=None):
        self.given = weight, rng


class Third:
    def fit(self, features, labels, source):
        self.given = source


class Any_:
    def fit(self, *everything):
        self.given = everything[2]


class Weighted:
    def fit(self, features, labels, sample_weight=None):
        self.given = sample_weight


class Plain:
    def fit(self, features, labels):
        self.given = None


def test_the_generator_goes_where_the_signature_has_a_place_for_it():
    assert fitted(Named()).given[0] is None
    assert isinstance(fitted(Named()).given[1], np.random.Generator)
    assert isinstance(fitted(Third()).given, np.random.Generator)
    assert isinstance(fitted(Any_()).given, np.random.Generator)


@pytest.mark.parametrize("kind", [Weighted, Plain])
def test_it_goes_nowhere_else(kind):
    assert fitted(kind()).given is None
