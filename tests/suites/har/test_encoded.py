"""LiMU-BERT and CrossHAR as systems: what they give, keep, refuse, and that they are the same from run to run."""

import pickle
import sys

import numpy as np
import pytest

from gnomon.core.errors import InputError, IntegrityError, MissingExtraError
from gnomon.core.systems import parse
from gnomon.engine.begun import doing
from gnomon.suites.har.metrics import best
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import SYSTEMS, Conditions
from gnomon.suites.har.systems.neural import training
from gnomon.suites.har.systems.neural.encoded import ENCODER_RATE, Encoded
from gnomon.suites.har.systems.neural.pools import Pool
from gnomon.suites.har.vocabulary import LABELS

torch = pytest.importorskip("torch", reason="needs the extra models")
pytest.importorskip("safetensors", reason="needs the extra models")

CONDITIONS = Conditions(42, 3431, "smoke", "accuracy", 0, 200)
CLASSES = ("sitting", "walking", "jogging")


def windows(codes, seed=0, steps=120):
    """Sines whose amplitude and frequency tell the class; every fifth window is half padding and has no gyroscope."""
    rng = np.random.default_rng(seed)
    t, n = np.arange(steps) / 20, len(codes)
    codes = np.asarray(codes)
    wave = np.sin(2 * np.pi * (1 + codes[:, None]) * t + rng.uniform(0, 6, n)[:, None])
    signals = rng.normal(0, 0.3, (n, steps, 6))
    signals[..., :3] += (4.0 * codes[:, None] * wave)[..., None] + [0.0, 0.0, 9.8]
    valid, mask = np.ones((n, steps), bool), np.ones((n, 6), bool)
    valid[::5, steps // 2 :] = False
    mask[::5, 3:] = False
    signals[~valid] = 0
    signals[::5, :, 3:] = 0
    names = tuple(f"w{i}" for i in range(n))
    labels = tuple(CLASSES[code] for code in codes.tolist())
    spans = np.tile([0.0, 6.0], (n, 1))
    return Windows("d", 20.0, signals.astype(np.float32), valid, mask, names, labels, names, names, spans)


@pytest.fixture(params=["limubert", "crosshar"])
def name(request):
    return request.param


def taught(n=45):
    codes = np.arange(n) % 3
    found = windows(codes)
    pieces = [found.take(np.arange(n // 3)), found.take(np.arange(n // 3, n))]
    return pieces, np.array([LABELS.index(CLASSES[code]) for code in codes])


@pytest.fixture(scope="module")
def fitted_models():
    found = {}
    for name in ("limubert", "crosshar"):
        pieces, codes = taught()
        model = SYSTEMS.make(name)
        facts = model.pretrain(pieces, CONDITIONS), model.fit(pieces, codes, CONDITIONS)
        found[name] = model, facts
    return found


def tune(model, conditions=CONDITIONS, n=24):
    train, val = np.arange(n) % 3, np.arange(9) % 3
    return model.fine_tune(windows(train, 2), train, windows(val, 3), val, CLASSES, conditions)


def test_scores_are_over_all_labels_and_masked_to_the_closed_set(fitted_models, name):
    model, (before, facts) = fitted_models[name]
    scores = model.scores(windows(np.arange(8) % 3, 5))
    assert scores.shape == (8, len(LABELS))
    assert np.isfinite(scores).all()
    allowed = np.zeros(len(LABELS), bool)
    allowed[[3, 40]] = True
    assert set(best(scores, LABELS, allowed)) <= {LABELS[3], LABELS[40]}
    assert before["parameters"] > 0
    assert facts["parameters"] > training.parameters(model.encoder)
    assert facts["updates"] == facts["curve"]["updates"] > 0
    assert facts["by"] == {"limubert": "accuracy", "crosshar": "loss"}[name]
    assert all(np.isfinite(curve["losses"]).all() for curve in before["curves"])


def test_fine_tuning_moves_the_encoder_a_little_and_leaves_the_model_alone(fitted_models, name):
    """Adam's steps are about as long as its rate, 1e-5, so that the largest change is at most a few of them."""
    model, _ = fitted_models[name]
    before = training.weights(model._modules())
    tuned = tune(model, Conditions(42, 3431, "smoke", "accuracy", 7, 200))
    facts = tuned.facts
    assert facts["updates"] == facts["epochs"] == 7  # 24 windows are one batch
    assert 0.5 * ENCODER_RATE < facts["encoder_moved"] < 2 * 7 * ENCODER_RATE
    assert training.moved({"encoder": tuned.encoder}, training.weights({"encoder": model.encoder})) == pytest.approx(
        facts["encoder_moved"]
    )
    assert training.moved(model._modules(), before) == 0
    assert tuned.scores(windows(np.arange(5) % 3, 4)).shape == (5, 3)
    assert (facts["windows"], facts["held_windows"]) == (24, 9)
    assert len(facts["curve"]["scores"]) == 7


def test_without_validation_windows_all_epochs_are_made(fitted_models, name):
    model, _ = fitted_models[name]
    train = np.arange(6) % 3
    tuned = model.fine_tune(windows(train), train, windows([]), np.zeros(0, int), CLASSES, CONDITIONS)
    assert tuned.facts["epochs"] == 2
    assert tuned.facts["curve"]["best_epoch"] is None


def test_what_is_saved_gives_the_same_scores(fitted_models, name, tmp_path):
    model, _ = fitted_models[name]
    model.save(tmp_path)
    other = SYSTEMS.make(name)
    other.load(tmp_path)
    asked = windows(np.arange(7) % 3, 5)
    assert np.array_equal(model.scores(asked), other.scores(asked))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    states, about = training.read(tmp_path / "model.safetensors")
    training.write(tmp_path / "model.safetensors", states, {**about, "classes": 3})
    with pytest.raises(IntegrityError, match="do not fit"):
        other.load(tmp_path)


def test_an_encoder_alone_is_saved_too(name, tmp_path):
    pieces, codes = taught(12)
    model, other = SYSTEMS.make(name), SYSTEMS.make(name)
    model.pretrain(pieces, CONDITIONS)
    model.save(tmp_path)
    other.load(tmp_path)
    assert training.moved({"encoder": other.encoder}, training.weights({"encoder": model.encoder})) == 0
    facts = [one.fit(pieces, codes, CONDITIONS) for one in (model, other)]
    assert facts[0]["curve"]["losses"] == facts[1]["curve"]["losses"]
    assert "pretrained" not in facts[0]


def test_the_same_seed_gives_the_same_model_and_another_one_another(name):
    pieces, codes = taught(15)
    asked = windows(np.arange(4) % 3, 5)
    found = []
    for seed in (42, 42, 43):
        model = SYSTEMS.make(name)
        facts = model.fit(pieces, codes, Conditions(seed, 3431, "smoke", "accuracy", 0, 200))
        assert facts["pretrained"]["updates"] > 0
        found.append((model.scores(asked), tune(model, n=6).scores(asked)))
    assert all(np.array_equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(found[0], found[2], strict=True))


@pytest.mark.parametrize("work", ["pretrain", "fit", "fine_tune"])
def test_what_is_interrupted_and_done_again_gives_the_same_scores(fitted_models, name, work, tmp_path, monkeypatch):
    """Interrupted at the third update; done again in the same node, from the checkpoint before it."""
    monkeypatch.setattr(training, "KEEP_S", 0.0)
    monkeypatch.setattr(training, "KEEP_TIMES", 0.0)
    pieces, codes = taught(75)
    asked = windows(np.arange(4) % 3, 5)

    def do():
        with doing(tmp_path, work, work):
            if work == "fine_tune":
                return tune(fitted_models[name][0], Conditions(42, 3431, "smoke", "macro_f1", 5, 200)).scores(asked)
            model = SYSTEMS.make(name)
            if work == "fit":
                model.encoder = fitted_models[name][0].encoder
                model.fit(pieces, codes, CONDITIONS)
                return model.scores(asked)
            model.pretrain(pieces, CONDITIONS)
            return np.concatenate([value.flatten() for value in training.weights(model._modules()).values()])

    unbroken = do()
    update, made = training._Loop._update, 0

    def interrupted(self, *given):
        nonlocal made
        made += 1
        if made == 3:
            raise KeyboardInterrupt
        update(self, *given)

    monkeypatch.setattr(training._Loop, "_update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do()
    assert list((tmp_path / "begun" / work).iterdir())
    assert np.array_equal(do(), unbroken)


def test_what_is_refused(name):
    codes = np.arange(6) % 3
    model = SYSTEMS.make(name)
    with pytest.raises(InputError, match="no classifier yet"):
        model.scores(windows(codes))
    with pytest.raises(InputError, match="nothing to fine-tune yet"):
        tune(model)
    with pytest.raises(InputError, match=r"windows of \(150, 6\), expected \(120, 6\)"):
        model.pretrain([windows(codes, steps=150)], CONDITIONS)


def test_signals_are_in_g_and_padding_and_absent_channels_do_not_count():
    found = windows(np.zeros(10, int))
    signals, counts = Pool(found.take(np.arange(4)), found.take(np.arange(4, 10))).take(np.array([7, 0, 5]))
    assert np.allclose(signals[0, :, :3], found.signals[7, :, :3] / 9.8)
    assert np.array_equal(signals[0, :, 3:], found.signals[7, :, 3:])
    assert counts[0].all()
    assert counts[1].sum() == counts[2].sum() == 60 * 3
    assert not signals[1][~counts[1]].any()


@pytest.mark.training
def test_it_learns_what_is_plain_to_see(fitted_models, name):
    """Three classes that differ in size and frequency: after 150 updates on 30 windows most others are right.

    Chance is a third; with 60 windows, four standard errors above it is .58.
    """
    tuned = tune(fitted_models[name][0], Conditions(42, 3431, "smoke", "macro_f1", 150, 200), 30)
    test = np.arange(60) % 3
    assert (tuned.scores(windows(test, 9)).argmax(axis=1) == test).mean() > 0.58


def test_a_model_is_described_without_torch(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = SYSTEMS.make(name)
    assert isinstance(model, Encoded)
    assert SYSTEMS.offers(parse(name), "pretrain")
    assert all(item.system == name for item in model.deviations)
    assert pickle.dumps(model.deviations)
    with pytest.raises(MissingExtraError, match=r"gnomon\[models\]"):
        model.pretrain(taught(6)[0], CONDITIONS)
