"""Neural heads: the network of the protocol, trained as torch would by itself, the same again for the same seed.

Expected losses and steps are those of a loop written out here; numbers of parameters are counted by hand.
"""

import json

import numpy as np
import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.engine import torches
from gnomon.suites.episode import heads
from gnomon.suites.episode.heads import neural
from gnomon.suites.episode.heads.neural import Network

torch = pytest.importorskip("torch", reason="needs the extra models")

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(150, 12)) * 5 + 3).astype(np.float32)
CODES = (X[:, 0] > 3).astype(np.int64) + 2 * (X[:, 1] > 9)
SETS = np.stack([X[:, 0] > 3, X[:, 1] > 8, X[:, 2] > 3], axis=1)
VECTORS = (X[:, :2] @ [[1.0, 0.0, 3.0], [0.5, -2.0, 0.0]] + 7).astype(np.float32)
GIVEN = {"codes": (CODES, ["a", "b", "c", "d"]), "sets": (SETS, ["a", "b", "c"]), "vectors": (VECTORS, ())}
KINDS = [("label", "codes"), ("pair", "codes"), ("multilabel", "sets"), ("vector", "vectors")]


def fitted(form, seed=7, **more):
    y, classes = GIVEN[form]
    return Network(form=form, seed=seed, **{"epochs": 3, **more}).fit(X, y, classes)


@pytest.mark.parametrize("form", GIVEN)
def test_a_seed_gives_the_same_bytes_and_another_one_others(form):
    first, second, other = fitted(form), fitted(form), fitted(form, seed=8)
    assert first.scores(X).tobytes() == second.scores(X).tobytes()
    assert first.facts == second.facts
    assert first.scores(X).tobytes() != other.scores(X).tobytes()


def test_the_generator_of_torch_is_left_as_it_was():
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    fitted("codes")
    assert torch.equal(torch.rand(2), wanted)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_the_network_and_its_budget_are_those_of_the_protocol(kind, form):
    """Layer norm, 128, GELU, dropout .1, 128, GELU, dropout .1, outputs; parameters by hand."""
    head = heads.make("neural", kind, 7)
    found = head.identity()
    wanted = {"width": 128, "dropout": 0.1, "rate": 1e-3, "decay": 1e-4, "epochs": 80, "batch": 128, "seed": 7}
    assert wanted.items() <= found.items()
    assert found["balance"] == (kind != "pair")
    assert json.loads(json.dumps(found)) == found
    y, classes = GIVEN[form]
    head.epochs = 1
    head.fit(X, y, classes)
    k = 3 if form != "codes" else 4
    assert head.facts["parameters"] == 2 * 12 + 128 * 13 + 128 * 129 + 129 * k
    assert head.facts["updates"] == 2  # 128 rows and 22
    kinds = [type(layer).__name__ for layer in head.net]
    assert kinds == ["LayerNorm", *["Linear", "GELU", "Dropout"] * 2, "Linear"]
    assert [layer.p for layer in head.net if hasattr(layer, "p")] == [0.1, 0.1]
    assert not head.net.training


def standardised(values):
    return (values - values.mean(axis=0, dtype=np.float64)) / values.std(axis=0, dtype=np.float64)


def by_hand(head, loss, k):
    """Train as the protocol says, with AdamW that is not fused and the losses written out."""
    with torches.seeded(head.seed, *neural.PURPOSE, "training"):
        net = head._made(X.shape[1], k)
        optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=head.decay, foreach=False)
        x = torch.from_numpy(standardised(X).astype(np.float32))
        curve = []
        for epoch in range(head.epochs):
            total = 0.0
            for rows in head._batches(len(X), epoch):
                value = loss(net(x[rows]), rows)
                optimiser.zero_grad()
                value.backward()
                optimiser.step()
                total += value.item() * len(rows)
            curve.append(total / len(X))
    return net.eval(), curve


@pytest.mark.parametrize("balance", [True, False])
def test_codes_are_learned_by_cross_entropy_with_class_weights(balance):
    counts = np.bincount(CODES, minlength=4)
    weights = torch.from_numpy(150 / (np.count_nonzero(counts) * np.maximum(counts, 1))).float()
    if not balance:
        weights = torch.ones(4)

    def loss(out, rows):
        to = torch.from_numpy(CODES[rows])
        each = -out.log_softmax(dim=1)[torch.arange(len(to)), to]
        return (each * weights[to]).sum() / weights[to].sum()

    head = fitted("codes", balance=balance)
    net, curve = by_hand(head, loss, 4)
    assert np.allclose(head.facts["loss"], curve, rtol=1e-4)
    wanted = net(torch.from_numpy(standardised(X).astype(np.float32))).softmax(dim=1).detach().numpy()
    assert np.allclose(head.scores(X), wanted, atol=1e-4)
    assert np.array_equal(head.predict(X), head.scores(X).argmax(axis=1))


def test_sets_are_learned_by_binary_cross_entropy_with_odds():
    odds = torch.from_numpy(np.clip((~SETS).sum(axis=0) / SETS.sum(axis=0), 1, 20)).float()

    def loss(out, rows):
        to = torch.from_numpy(SETS[rows]).float()
        p = out.sigmoid()
        return -(odds * to * p.log() + (1 - to) * (1 - p).log()).mean()

    head = fitted("sets")
    net, curve = by_hand(head, loss, 3)
    assert np.allclose(head.facts["loss"], curve, rtol=1e-4)
    wanted = net(torch.from_numpy(standardised(X).astype(np.float32))).sigmoid().detach().numpy()
    assert np.allclose(head.scores(X), wanted, atol=1e-4)
    strict = fitted("sets", threshold=1.1)  # nobody reaches it, so every row has its likeliest label alone
    assert (strict.predict(X).sum(axis=1) == 1).all()
    assert np.array_equal(strict.predict(X).argmax(axis=1), strict.scores(X).argmax(axis=1))


@pytest.mark.parametrize("decay", [1e-4, 30.0])
def test_vectors_are_learned_by_the_squared_error_on_standardised_targets(decay):
    target = torch.from_numpy(standardised(VECTORS)).float()
    head = fitted("vectors", decay=decay)
    net, curve = by_hand(head, lambda out, rows: (out - target[rows]).square().mean(), 3)
    assert np.allclose(head.facts["loss"], curve, rtol=1e-4)
    out = net(torch.from_numpy(standardised(X).astype(np.float32))).detach().numpy()
    wanted = out * VECTORS.std(axis=0, dtype=np.float64) + VECTORS.mean(axis=0, dtype=np.float64)
    assert np.allclose(head.predict(X), wanted, atol=1e-3)


def test_what_is_not_valid_changes_nothing():
    """Targets under the mask may be anything, rows without a valid number are left out, such columns are NaN."""
    mask = np.random.default_rng(1).random(VECTORS.shape) < 0.7
    mask[:9], mask[:, 1] = False, False
    heads_ = []
    for junk in (0.0, 1e300, np.nan):
        y = np.where(mask, VECTORS.astype(np.float64), junk)
        heads_.append(Network(form="vectors", seed=7, epochs=2).fit(X, y, mask=mask))
    kept = mask.any(axis=1)
    only = VECTORS[kept].astype(np.float64)
    heads_.append(Network(form="vectors", seed=7, epochs=2).fit(X[kept], only, mask=mask[kept]))
    first = heads_[0].predict(X)
    assert all(head.predict(X).tobytes() == first.tobytes() for head in heads_)
    assert np.isnan(first[:, 1]).all()
    assert np.isfinite(first[:, [0, 2]]).all()
    assert heads_[0].facts["left_out"] == int((~kept).sum()) >= 9
    assert heads_[0].facts["never_valid"] == 1


def test_the_masked_loss_is_the_mean_over_valid_numbers():
    """By hand: errors 1, 2 and 3, of which the second is not valid: (1 + 9) / 2."""
    out, to = torch.tensor([[1.0, 2.0, 3.0]]), torch.zeros(1, 3)
    assert neural._squared(out, to, torch.tensor([[1.0, 0.0, 1.0]])).item() == 5
    assert neural._squared(out, to).item() == pytest.approx(14 / 3)


@pytest.mark.training
def test_what_can_be_learned_is_learned():
    """Classes, labels and vectors are plain functions of single columns; a row always gets a label, true or not."""
    assert (fitted("codes", epochs=80).predict(X) == CODES).mean() > 0.95
    some = SETS.any(axis=1)
    assert (fitted("sets", epochs=80).predict(X) == SETS)[some].mean() > 0.95
    error = fitted("vectors", epochs=80).predict(X) - VECTORS
    assert (error.std(axis=0) < 0.4 * VECTORS.std(axis=0)).all()


def test_losses_are_told():
    lines = []
    head = fitted("codes", tell=lines.append)
    assert lines == [f"epoch {at + 1} of 3, loss {loss:.4f}" for at, loss in enumerate(head.facts["loss"])]
    assert json.loads(json.dumps(head.facts)) == head.facts


def test_answers_do_not_depend_on_how_many_are_asked_for(monkeypatch):
    head = fitted("vectors")
    whole = head.predict(X)
    monkeypatch.setattr(neural, "ANSWERED", 7)
    assert np.allclose(head.predict(X), whole, rtol=1e-5, atol=1e-5)
    assert head.predict(X[:0]).shape == (0, 3)


def test_threads_and_device_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("GNOMON_THREADS", "2")
    monkeypatch.setenv("GNOMON_DEVICE", "cpu")
    facts = fitted("codes", epochs=1).facts
    assert (facts["threads"], facts["device"]) == (2, "cpu")


def test_bad_input_is_named():
    with pytest.raises(InputError, match="not fitted"):
        heads.make("neural", "label", 7).predict(X)
    with pytest.raises(InputError, match="for vectors alone"):
        Network(form="codes", seed=7).fit(X, CODES, ["a"], mask=SETS)
    with pytest.raises(InputError, match="expected 0 to 1 for 2 classes"):
        Network(form="codes", seed=7).fit(X, CODES, ["a", "b"])
    with pytest.raises(InputError, match="fitted on 12 columns, but got 4"):
        fitted("codes", epochs=1).predict(X[:, :4])
    with pytest.raises(WorkError, match="the loss is nan at epoch 1"):
        fitted("vectors", epochs=1, rate=float("inf"), batch=16)
