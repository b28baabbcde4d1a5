"""Minimal heads: their steps are those of a plain loop, the ridge is scikit-learn's, and bad input is named.

Loops are written out here, in double precision and in the weights themselves; ridges are fitted by scikit-learn.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as Peer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

from gnomon.core.errors import InputError, MissingExtraError, WorkError
from gnomon.engine import torches
from gnomon.suites.episode import heads
from gnomon.suites.episode.heads import descent, minimal, scaling, weighting

NARROW, WIDE = (60, 7), (25, 90)
"""More rows than columns, and fewer: the two ways of solving."""


def features(n, d, seed=0):
    rng = np.random.default_rng(seed)
    out = (rng.normal(size=(n, d)) * rng.uniform(0.1, 30, size=d) + rng.normal(size=d) * 50).astype(np.float32)
    out[:, 0] = 4.0  # a column without spread
    return out


def scaled(x, by):
    spread = by.astype(np.float64).std(axis=0)
    return (x - by.astype(np.float64).mean(axis=0)) / np.where(spread < 1e-6, 1, spread)


def named(size):
    return [f"class {at}" for at in range(size)]


def softmax_loop(z, y, k, epochs, rate, l2):
    """One class after the other, straight from the loss."""
    n, (w, b) = len(z), (np.zeros((z.shape[1], k)), np.zeros(k))
    counts = [int((y == c).sum()) for c in range(k)]
    classes = sum(count > 0 for count in counts)
    losses = []
    for _ in range(epochs):
        loss, dw, db = 0.0, l2 * w, np.zeros(k)
        for row in range(n):
            out = z[row] @ w + b
            p = np.exp(out - out.max())
            p /= p.sum()
            weight = n / (classes * counts[y[row]])
            loss -= weight * np.log(p[y[row]]) / n
            p[y[row]] -= 1
            dw = dw + weight * np.outer(z[row], p) / n
            db = db + weight * p / n
        w, b = w - rate * dw, b - rate * db
        losses.append(loss)
    return w, b, losses


def logistic_loop(z, y, epochs, rate):
    n, k = y.shape
    w, b = np.zeros((z.shape[1], k)), np.zeros(k)
    for _ in range(epochs):
        for label in range(k):
            have = int(y[:, label].sum())
            odds = min(20.0, max(1.0, (n - have) / max(have, 1)))
            p = 1 / (1 + np.exp(-(z @ w[:, label] + b[label])))
            slope = np.where(y[:, label], odds * (p - 1), p) / n
            w[:, label] -= rate * z.T @ slope
            b[label] -= rate * slope.sum()
    return w, b


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_softmax_makes_the_steps_of_a_plain_loop(shape):
    x, other = features(*shape), features(30, shape[1], seed=1)
    y = np.random.default_rng(2).integers(3, size=shape[0])
    y[y == 2] = np.where(np.arange((y == 2).sum()) % 3, 0, 2)  # a rarer class; the fourth has no rows
    head = minimal.Softmax(epochs=25).fit(x, y, named(4))
    w, b, losses = softmax_loop(scaled(x, x), y, 4, 25, 0.12, 2e-3)
    exact = shape == WIDE
    outputs = scaled(other, x) @ w + b
    assert np.allclose(head.outputs(other), outputs, rtol=1e-9 if exact else 1e-4, atol=1e-9 if exact else 1e-4)
    assert np.allclose(head.facts["loss"], losses, rtol=1e-9 if exact else 1e-5)
    p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    assert np.allclose(head.scores(other), p, atol=1e-4)
    assert np.array_equal(head.predict(other), head.scores(other).argmax(axis=1))
    assert head.facts["parameters"] == shape[1] * 4 + 4
    assert head.facts["seen_classes"] == 3


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_logistic_makes_the_steps_of_a_plain_loop(shape):
    x, other = features(*shape), features(30, shape[1], seed=1)
    y = np.random.default_rng(3).random((shape[0], 4)) < np.array([0.5, 0.1, 0.02, 0.9])
    y[:, 2] = False
    y[0, 2] = True  # odds above 20 (clipped) where there are 60 rows
    head = minimal.Logistic(epochs=40).fit(x, y, named(4))
    w, b = logistic_loop(scaled(x, x), y, 40, 0.05)
    outputs = scaled(other, x) @ w + b
    assert np.allclose(head.outputs(other), outputs, atol=1e-9 if shape == WIDE else 1e-4)
    assert np.allclose(head.scores(other), 1 / (1 + np.exp(-outputs)), atol=1e-4)
    sets = head.predict(other)
    for row, p in zip(sets, head.scores(other), strict=True):
        wanted = p >= 0.5
        if not wanted.any():
            wanted[p.argmax()] = True
        assert np.array_equal(row, wanted)
    head.threshold = 1.1  # nobody reaches it, so every row has its likeliest label alone
    assert np.array_equal(head.predict(other), np.eye(4, dtype=bool)[head.scores(other).argmax(axis=1)])


def test_the_loss_of_the_logistic_is_the_mean_over_rows_and_labels():
    """By hand: at zero weights every term is log 2, four times over for the one row of four that has the label."""
    x = features(4, 3)
    y = np.array([[1], [0], [0], [0]], dtype=bool)
    head = minimal.Logistic(epochs=1).fit(x, y, ["a"])
    assert head.facts["loss"][0] == pytest.approx(np.log(2) * (3 + 1 + 1 + 1) / 4)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("kind", ["vector", "retrieval"])
def test_ridge_is_that_of_scikit_learn(shape, kind):
    x, other = features(*shape), features(30, shape[1], seed=1)
    y = (x[:, 1:3] @ [[0.1, 3.0, -1.0], [0.2, 0.0, 5.0]] + features(shape[0], 3, seed=4) * 0.1).astype(np.float32)
    head = heads.make("minimal", kind, 7).fit(x, y)
    back = StandardScaler().fit(y.astype(np.float64))
    peer = Peer(alpha=10.0, fit_intercept=False).fit(scaled(x, x), back.transform(y.astype(np.float64)))
    wanted = back.inverse_transform(peer.predict(scaled(other, x)))
    assert np.allclose(head.predict(other), wanted, rtol=1e-6, atol=1e-6)
    assert np.array_equal(head.scores(other), head.predict(other))
    assert head.facts["rows"] == shape[0]
    assert (head.facts["left_out"], head.facts["never_valid"]) == (0, 0)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_with_a_mask_every_column_is_the_ridge_on_its_valid_rows(shape):
    """Against scikit-learn's ridge with a bias, fitted on the valid rows of one column at a time."""
    n, d = shape
    x, other = features(n, d), features(30, d, seed=1)
    y = features(n, 5, seed=4).astype(np.float64)
    mask = np.random.default_rng(5).random((n, 5)) < 0.7
    mask[:, 2], mask[:, 3] = mask[:, 1], False
    mask[4] = False  # a row without a valid number
    mask[5, 0] = True
    y[~mask] = np.nan
    head = minimal.Ridge().fit(x, y, mask=mask)
    assert head.facts["rows"] == int(mask.any(axis=1).sum())
    assert head.facts["left_out"] == n - head.facts["rows"] > 0
    assert head.facts["never_valid"] == 1
    kept = x[mask.any(axis=1)]
    found = head.predict(other)
    for column in (0, 1, 2, 4):
        used = mask[:, column]
        back = StandardScaler().fit(y[used, column : column + 1])
        peer = Peer(alpha=10.0).fit(scaled(x[used], kept), back.transform(y[used, column : column + 1])[:, 0])
        wanted = back.inverse_transform(peer.predict(scaled(other, kept))[:, np.newaxis])[:, 0]
        assert np.allclose(found[:, column], wanted, rtol=1e-6, atol=1e-6)
    assert np.isnan(found[:, 3]).all()


def test_a_mask_that_is_true_everywhere_is_none():
    x, y = features(*WIDE), features(25, 3, seed=4)
    plain, masked = minimal.Ridge().fit(x, y), minimal.Ridge().fit(x, y, mask=np.ones(y.shape, dtype=bool))
    assert np.array_equal(plain.predict(x), masked.predict(x))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(1, 12), st.integers(0, 10_000), st.floats(0, 1))
def test_the_scaler_is_that_of_the_valid_numbers(n, d, seed, share):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 4, size=d) + rng.normal(size=d)
    mask = rng.random((n, d)) < share
    scaler = scaling.Scaler(x, mask)
    for column in range(d):
        own = x[mask[:, column], column]
        if len(own):
            assert scaler.mean[column] == pytest.approx(own.mean(), rel=1e-12, abs=1e-12)
            spread = own.std()
            if abs(spread - 1e-6) > 1e-9:
                assert scaler.scale[column] == pytest.approx(1.0 if spread < 1e-6 else spread, rel=1e-9, abs=1e-12)
        else:
            assert np.isnan(scaler.mean[column])
    plain = scaling.Scaler(x)
    assert np.allclose(plain.back(plain(x)), x, rtol=1e-12, atol=1e-12)


def test_columns_and_rows_are_taken_a_few_at_a_time(monkeypatch):
    """However many at a time, the answers are the same."""
    x, y = features(*WIDE), np.arange(25) % 3
    wide = minimal.Softmax(epochs=5).fit(x, y, named(3)).outputs(x)
    monkeypatch.setattr(scaling, "COLUMNS", 8)
    monkeypatch.setattr(descent, "ROWS", 4)
    assert np.allclose(minimal.Softmax(epochs=5).fit(x, y, named(3)).outputs(x), wide, rtol=1e-10, atol=1e-10)


def test_the_same_rows_give_the_same_bytes():
    x, y = features(*WIDE), np.arange(25) % 3
    first, second = (minimal.Softmax().fit(x, y, named(3)).scores(x) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_weights_are_those_of_scikit_learn():
    codes = np.array([0, 0, 0, 3, 3, 1])
    assert np.allclose(
        weighting.balanced(codes, 5)[[0, 1, 3]],
        compute_class_weight("balanced", classes=np.array([0, 1, 3]), y=codes),
    )
    assert weighting.balanced(codes, 5)[[2, 4]].tolist() == [0, 0]
    assert weighting.balanced(codes, 5)[codes].sum() == pytest.approx(6)
    sets = np.zeros((50, 3), dtype=bool)
    sets[:1, 0], sets[:10, 1], sets[:40, 2] = True, True, True
    assert weighting.positive(sets).tolist() == [20.0, 4.0, 1.0]  # 49, 4 and .25, clipped


def test_far_rows_overflow_nowhere():
    """Steps that are much too long for the features, and rows a million spreads away."""
    x = features(*WIDE) * 1e6
    y = np.arange(25) % 2
    for head in (minimal.Softmax(rate=1e3).fit(x, y, named(2)), minimal.Logistic(rate=1e3).fit(x, y[:, None], ["a"])):
        found = head.scores(x * 1e6)
        assert np.isfinite(found).all()
        assert found.min() >= 0
        assert found.max() <= 1


def test_one_class_is_learned_without_a_fuss():
    head = heads.make("minimal", "binary", 7).fit(features(*WIDE), np.ones(25, dtype=int), ["no", "yes"])
    assert (head.predict(features(9, WIDE[1], seed=3)) == 1).all()
    only = heads.make("minimal", "label", 7).fit(features(*WIDE), np.zeros(25, dtype=int), ["only"])
    assert only.facts["loss"][-1] == 0


def test_progress_and_facts_are_told_as_plain_data():
    lines = []
    head = heads.make("minimal", "label", 7, tell=lines.append).fit(features(*WIDE), np.arange(25) % 2, named(2))
    assert len(lines) == 20
    assert lines[-1] == f"epoch 400 of 400, loss {head.facts['loss'][-1]:.4f}"
    assert head.facts["loss"][-1] < head.facts["loss"][0] / 10
    assert json.loads(json.dumps(head.facts)) == head.facts
    lines.clear()
    heads.make("minimal", "vector", 7, tell=lines.append).fit(features(*WIDE), features(25, 3))
    assert lines == ["ridge, 3 of 3 columns on 25 rows"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("pair", {"family": "minimal", "head": "softmax", "epochs": 400, "rate": 0.12, "l2": 2e-3}),
        ("multilabel", {"family": "minimal", "head": "logistic", "epochs": 400, "rate": 0.05, "l2": 0.0}),
        ("vector", {"family": "minimal", "head": "ridge", "l2": 10.0}),
    ],
)
def test_identity_is_what_the_protocol_says(kind, expected):
    found = heads.make("minimal", kind, 7).identity()
    assert expected.items() <= found.items()
    assert json.loads(json.dumps(found)) == found


X, Y = features(*WIDE), np.arange(25) % 2


def holed(x, at, value):
    out = x.copy()
    out[at] = value
    return out


@pytest.mark.parametrize(
    ("kind", "x", "y", "more", "said"),
    [
        ("label", holed(X, (3, 5), np.nan), Y, {}, "row 3, column 5 is nan"),
        ("label", X[0], Y, {}, r"got float32 \(90,\)"),
        ("label", X.astype(int), Y, {}, "expected floats"),
        ("label", X, Y[:9], {}, "25 rows of features and 9 answers"),
        ("label", X[:0], Y[:0], {}, "no rows to learn from"),
        ("label", X, Y + 1, {}, "row 1 is 2, expected 0 to 1 for 2 classes"),
        ("label", X, Y.astype(float), {}, "whole numbers"),
        ("label", X, Y, {"classes": []}, "classes: got none"),
        ("label", X, Y, {"mask": Y > 0}, "for vectors alone"),
        ("multilabel", X, Y, {}, r"expected \(rows, 2\)"),
        ("multilabel", X, np.full((25, 2), 2), {}, "0 and 1 alone"),
        ("vector", X, Y, {}, "expected floats"),
        ("vector", X, holed(X, (1, 2), np.inf), {}, "row 1, column 2 is inf"),
        ("vector", X, X, {"mask": Y > 0}, "mask: expected booleans"),
        ("vector", X, X, {"mask": np.zeros(X.shape, dtype=bool)}, "no row has a valid target"),
    ],
)
def test_bad_input_is_named(kind, x, y, more, said):
    with pytest.raises(InputError, match=said):
        heads.make("minimal", kind, 7).fit(x, y, **{"classes": named(2), **more})


def test_a_head_answers_only_after_fitting_and_for_its_own_columns():
    for kind in heads.FORMS:
        with pytest.raises(InputError, match="not fitted"):
            heads.make("minimal", kind, 7).predict(X)
    head = heads.make("minimal", "label", 7).fit(X, Y, named(2))
    with pytest.raises(InputError, match="fitted on 90 columns, but got 3"):
        head.predict(X[:, :3])


def test_unknown_kinds_and_families_are_named():
    with pytest.raises(InputError, match="kind of task"):
        heads.make("minimal", "image", 7)
    with pytest.raises(InputError, match="family of heads"):
        heads.make("large", "label", 7)


def test_a_loss_that_is_no_number_ends_the_fit():
    with pytest.raises(WorkError, match="the loss is nan at epoch 1"):
        descent.descend(X, 2, lambda outputs: float("nan"), epochs=3, rate=0.1, l2=0.0)


def test_without_torch_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(torches.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"gnomon\[models\]"):
        heads.make("neural", "label", 7).fit(X, Y, named(2))
