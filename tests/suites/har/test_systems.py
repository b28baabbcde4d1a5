"""The classical systems: what they answer on windows whose classes are plain to see, and what they refuse."""

import inspect
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from gnomon.core.code_identity import graph
from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.systems import parse
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import SYSTEMS, Conditions, is_heavy
from gnomon.suites.har.systems.learned import balanced
from gnomon.suites.har.vocabulary import LABELS

CONDITIONS = Conditions(42, 3431, "smoke", "accuracy", 0, 200)
CLASSES = ("sitting", "walking", "jogging")


def windows(codes, seed=0, dataset="d"):
    """Sines whose amplitude and frequency tell the class."""
    rng = np.random.default_rng(seed)
    t = np.arange(120) / 20
    n = len(codes)
    signals = rng.normal(0, 0.1, (n, 120, 6))
    phase = rng.uniform(0, 6, n)
    wave = np.sin(2 * np.pi * (1 + np.array(codes)[:, None]) * t + phase[:, None])
    signals[..., 0] += 3 * np.array(codes)[:, None] * wave
    names = tuple(f"w{i}" for i in range(n))
    labels = tuple(CLASSES[c] for c in codes)
    spans = np.tile([0.0, 6.0], (n, 1))
    people = tuple(f"s{i % 4}" for i in range(n))
    return Windows(
        dataset,
        20.0,
        signals.astype(np.float32),
        np.ones((n, 120), bool),
        np.ones(6, bool),
        names,
        labels,
        people,
        names,
        spans,
    )


@pytest.fixture(params=["majority", "nearest_mean", "random_forest", "svm_rbf"])
def name(request):
    return request.param


def fitted(name):
    codes = np.random.default_rng(1).choice(3, 120, p=(0.2, 0.5, 0.3))
    found = windows(codes)
    model = SYSTEMS.make(name)
    facts = model.fit(
        [found.take(np.arange(60)), found.take(np.arange(60, 120))],
        np.array([LABELS.index(CLASSES[c]) for c in codes]),
        CONDITIONS,
    )
    return model, facts


def test_zero_shot_scores_are_over_all_labels_and_the_best_was_seen(name):
    model, facts = fitted(name)
    codes = np.arange(30) % 3
    scores = model.scores(windows(codes, 5))
    assert scores.shape == (30, len(LABELS))
    assert np.isfinite(scores).all()
    answers = [LABELS[i] for i in scores.argmax(axis=1)]
    assert set(answers) <= set(CLASSES)
    assert facts["parameters"] > 0
    if name == "majority":
        assert set(answers) == {"walking"}
    else:
        assert answers == [CLASSES[c] for c in codes]


def test_fine_tuning_learns_other_classes_and_leaves_the_model_alone(name):
    model, _ = fitted(name)
    before = pickle.dumps(model)
    train, val = np.arange(60) % 3, np.arange(12) % 3
    tuned = model.fine_tune(windows(train, 2), train, windows(val, 3), val, CLASSES, CONDITIONS)
    test = np.arange(15) % 3
    scores = tuned.scores(windows(test, 4))
    assert scores.shape == (15, 3)
    if name != "majority":
        assert scores.argmax(axis=1).tolist() == test.tolist()
        assert tuned.facts["by"] == "accuracy"
    assert pickle.dumps(model) == before


def test_the_same_seed_gives_the_same_scores(name):
    codes = np.arange(30) % 3
    first, second = (fitted(name)[0].scores(windows(codes, 5)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_class_without_a_window_is_never_the_best(name):
    train = np.array([0, 0, 2, 2])
    tuned = SYSTEMS.make(name).fine_tune(
        windows(train, 2), train, windows([], 3), np.zeros(0, int), CLASSES, CONDITIONS
    )
    assert 1 not in tuned.scores(windows(np.arange(9) % 3, 4)).argmax(axis=1)


def test_one_class_is_learned_as_that_class(name):
    train = np.array([1, 1, 1])
    tuned = SYSTEMS.make(name).fine_tune(windows(train, 2), train, windows(train, 3), train, CLASSES, CONDITIONS)
    assert set(tuned.scores(windows(np.arange(6) % 3, 4)).argmax(axis=1)) == {1}


def test_validation_chooses_the_setting():
    """Selection by macro-F1 and by accuracy both name the setting that was chosen."""
    train, val = np.arange(60) % 3, np.arange(12) % 3
    for selection in ("accuracy", "macro_f1"):
        conditions = Conditions(42, 3431, "smoke", selection, 0, 200)
        tuned = SYSTEMS.make("svm_rbf@c=2").fine_tune(
            windows(train, 2), train, windows(val, 3), val, CLASSES, conditions
        )
        assert tuned.facts["by"] == selection
        assert tuned.facts["chosen"]["c"] in (2.0, 1.0, 10.0, 100.0)


def test_rows_of_a_kernel_machine_are_capped_with_equal_shares():
    codes = np.repeat([0, 1, 2], [500, 40, 10])
    rows = balanced(codes, 60, 1)
    assert np.bincount(codes[rows]).tolist() == [25, 25, 10]
    assert np.array_equal(rows, balanced(codes, 60, 1))
    assert not np.array_equal(rows, balanced(codes, 60, 2))
    assert balanced(codes, 1000, 1).tolist() == list(range(550))


def test_what_is_refused():
    with pytest.raises(InputError, match="no system 'svm'"):
        SYSTEMS.find("svm")
    with pytest.raises(InputError, match="no parameter 'trees'"):
        SYSTEMS.make("svm_rbf@trees=3")
    for text in ("svm_rbf@c=0", "random_forest@leaf=0", "nearest_mean@shrinkage=1"):
        with pytest.raises(InputError, match="expected"):
            SYSTEMS.make(text)


def test_a_class_of_ones_own_needs_scores(tmp_path):
    (tmp_path / "own.py").write_text("class M:\n    def fit(self, w, c, k): ...\n    def fine_tune(self, *a): ...\n")
    with pytest.raises(InputError, match=r"expected a class with scores\(\)"):
        SYSTEMS.find(f"{tmp_path}/own.py:M")
    (tmp_path / "text.py").write_text(
        "class M:\n    text_aligned = True\n    def fit(self, w, c, k): ...\n    def fine_tune(self, *a): ...\n"
    )
    with pytest.raises(InputError, match=r"score_labels\(\)"):
        SYSTEMS.find(f"{tmp_path}/text.py:M")


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    train = np.arange(6) % 3
    with pytest.raises(MissingExtraError, match=r"gnomon\[classical\]"):
        SYSTEMS.make("random_forest").fine_tune(windows(train), train, windows(train), train, CLASSES, CONDITIONS)


def test_code_that_suites_share_is_part_of_what_neural_systems_are():
    neural = [name for name in SYSTEMS.builtin if is_heavy(parse(name))]
    code = {name: graph([Path(inspect.getfile(SYSTEMS.find(name)))]) for name in SYSTEMS.builtin}
    assert neural
    assert [name for name, own in code.items() if "gnomon/engine/torches.py" in own.files] == neural
    assert [name for name, own in code.items() if "torch" in own.packages] == neural
    assert len({SYSTEMS.identity(parse(name))["identity"] for name in SYSTEMS.builtin}) == len(SYSTEMS.builtin)
