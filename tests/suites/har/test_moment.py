"""MOMENT: its encoder against loops and against the public package, its masks, its classifier, its weights from files.

Who computed what is expected: plain loops in the tests; scikit-learn for the support vector machine; and for public
weights momentfm 0.1.4 with transformers 4.46.3, which was given the numbers that :func:`public_weights` draws.
"""

import inspect
import json
import math

import numpy as np
import pytest

from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.systems import parse
from gnomon.engine.begun import doing
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import SYSTEMS, Conditions
from gnomon.suites.har.systems.neural import filling, kernel, moment, patches, public, t5, training
from gnomon.suites.har.systems.neural.moment import Moment
from gnomon.suites.har.systems.neural.t5 import Sizes
from gnomon.suites.har.vocabulary import LABELS

torch = pytest.importorskip("torch", reason="needs the extra models")
safetensors = pytest.importorskip("safetensors.torch", reason="needs the extra models")
svm = pytest.importorskip("sklearn.svm", reason="needs the extra classical")

SMOKE = Conditions(42, 3431, "smoke", "accuracy", 0, 200)
TINY = Sizes(8, 2, 2, 4, 12)
CLASSES = ("sitting", "walking", "jogging")


def windows(codes, seed=0, steps=120):
    """Sines whose frequency tells the class: sizes and offsets are not seen by MOMENT."""
    rng, codes = np.random.default_rng(seed), np.asarray(codes)
    n, t = len(codes), np.arange(steps) / 20
    wave = np.sin(2 * np.pi * (0.4 + 1.5 * codes[:, None]) * t + rng.uniform(0, 6, (n, 1)))
    signals = rng.normal(0, 0.1, (n, steps, 6)) + 3 * wave[..., None] + 5
    names = tuple(f"w{i}" for i in range(n))
    labels = tuple(CLASSES[c] for c in codes)
    spans = np.tile([0.0, 6.0], (n, 1))
    return Windows(
        "d",
        20.0,
        signals.astype(np.float32),
        np.ones((n, steps), bool),
        np.ones(6, bool),
        names,
        labels,
        names,
        names,
        spans,
    )


def drawn(sizes=TINY, seed=3):
    """An encoder in which no weight is zero or one."""
    layers = patches.network(sizes, seed).eval()
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in layers.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=draws)
    return layers


def test_buckets_are_those_of_the_definition():
    """Exact below 8, then 8 more up to 128 by logarithm, and 16 further for keys that come later (by hand)."""

    def plain(distance):
        far = abs(distance)
        if far >= 8:
            far = min(15, 8 + int(math.log(far / 8) / math.log(128 / 8) * 8 + 1e-6))
        return far + (16 if distance > 0 else 0)

    distances = list(range(-63, 64))
    assert t5.bucket(torch.tensor(distances)).tolist() == [plain(one) for one in distances]


def test_the_encoder_is_what_loops_give():
    layers = drawn()
    rng = np.random.default_rng(0)
    tokens = rng.normal(0, 1, (2, 5, 8))
    observed = np.array([[True] * 5, [False, True, True, False, True]])
    found = t5.encode(layers["encoder"], TINY, torch.tensor(tokens, dtype=torch.float32), torch.tensor(observed))
    own = {name: value.double().numpy() for name, value in layers["encoder"].state_dict().items()}

    def norm(x, name):
        return x / math.sqrt((x * x).mean() + 1e-6) * own[name]

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    for b in range(2):
        x = [tokens[b, i] for i in range(5)]
        for at in range(2):
            weight = {k: own[f"blocks.{at}.{k}.weight"] for k in ("q", "k", "v", "o", "gate", "value", "out")}
            y = [norm(one, f"blocks.{at}.attention_norm.weight") for one in x]
            added = []
            for i in range(5):
                heads = []
                for h in range(2):
                    part = slice(4 * h, 4 * h + 4)
                    keys = [j for j in range(5) if observed[b, j]]
                    bias = [own["distances.weight"][int(t5.bucket(torch.tensor(j - i))), h] for j in keys]
                    logits = np.array([(weight["q"] @ y[i])[part] @ (weight["k"] @ y[j])[part] for j in keys]) + bias
                    share = np.exp(logits - logits.max())
                    values = np.array([(weight["v"] @ y[j])[part] for j in keys])
                    heads.append((share / share.sum()) @ values)
                added.append(weight["o"] @ np.concatenate(heads))
            x = [one + more for one, more in zip(x, added, strict=True)]
            z = [norm(one, f"blocks.{at}.forward_norm.weight") for one in x]
            x = [
                one + weight["out"] @ (gelu(weight["gate"] @ w) * (weight["value"] @ w))
                for one, w in zip(x, z, strict=True)
            ]
        want = np.array([norm(one, "norm.weight") for one in x])
        assert np.abs(found[b].detach().numpy() - want)[observed[b]].max() < 1e-4


@pytest.mark.parametrize(
    ("size", "want"),
    [
        # 8 d + d + 32 heads + layers (4 d heads d_head + 3 d d_inner + 2 d) + d, by hand
        ("mini", 82_944),
        ("small", 18_887_872),
        ("base", 84_961_152),
        ("large", 308_341_248),
    ],
)
def test_sizes_have_the_parameters_that_they_should(size, want):
    shapes = {own: shape for own, (_, shape) in public.names(patches.SIZES[size]).items()}
    assert sum(map(math.prod, shapes.values())) == want
    if want < 20_000_000:
        layers = patches.network(patches.SIZES[size])
        assert {name: tuple(weight.shape) for name, weight in layers.state_dict().items()} == shapes
        assert training.parameters(layers) == want


def test_normalisation_is_over_observed_steps():
    rng = np.random.default_rng(0)
    series = rng.normal(7, 3, (3, 24)).astype(np.float32)
    observed = rng.random((3, 24)) < 0.6
    series[2] = 4.0
    found = patches.normalised(torch.tensor(series), torch.tensor(observed)).numpy()
    for row in range(2):
        own = series[row][observed[row]].astype(float)
        assert np.abs(found[row][observed[row]] - (own - own.mean()) / (own.std() + 1e-5)).max() < 1e-4
        assert (found[row][~observed[row]] == 0).all()
    assert np.abs(found[2]).max() == 0


def test_fifteen_patches_give_what_sixty_four_give():
    """The promise: the patches in front, in which nothing is observed, need not be computed."""
    layers, sizes = drawn(Sizes(32, 3, 4, 8, 48)), Sizes(32, 3, 4, 8, 48)
    rng = np.random.default_rng(1)
    series = torch.tensor(rng.normal(0, 1, (20, 120)).cumsum(axis=1), dtype=torch.float32)
    observed = torch.ones(20, 120, dtype=torch.bool)
    observed[3, 61:] = False
    observed[4, 10:30] = False
    front = torch.nn.functional.pad
    with torch.no_grad():
        few = patches.embedded(layers, sizes, series, observed)
        all_64 = patches.embedded(layers, sizes, front(series, (392, 0)), front(observed, (392, 0)))
    assert patches.cut(series, observed)[0].shape[1] == 15
    assert float((few - all_64).abs().max()) < 1e-5
    assert float(few.std()) > 0.1


def test_what_is_not_observed_is_not_read():
    layers = drawn()
    found = windows([0, 1, 2])
    valid = found.valid.copy()
    valid[1, 61:] = False
    mask = found.mask.copy()
    mask[2, 3:] = False
    own = Windows(
        "d", 20.0, found.signals, valid, mask, found.ids, found.labels, found.subjects, found.recordings, found.spans
    )
    other = found.signals.copy()
    other[1, 61:], other[2, :, 3:] = 1e3, 1e3
    changed = Windows(
        "d", 20.0, other, valid, mask, found.ids, found.labels, found.subjects, found.recordings, found.spans
    )
    a, b = (patches.embedding(layers, TINY, one) for one in (own, changed))
    assert a.shape == (3, 48)
    assert np.array_equal(a, b)
    assert (a[2, 24:] == 0).all()
    assert np.abs(a[2, :24]).min() > 0
    nothing = Windows(
        "d",
        20.0,
        found.signals,
        np.zeros_like(valid),
        mask,
        found.ids,
        found.labels,
        found.subjects,
        found.recordings,
        found.spans,
    )
    assert (patches.embedding(layers, TINY, nothing) == 0).all()


def test_windows_that_are_no_whole_patches_or_too_long():
    layers = drawn()
    assert np.isfinite(patches.embedding(layers, TINY, windows([0, 1], steps=117))).all()
    with pytest.raises(InputError, match="600 steps, expected at most 512"):
        patches.embedding(layers, TINY, windows([0], steps=600))


def test_three_tenths_of_the_observed_patches_are_hidden():
    rng = np.random.default_rng(5)
    seen = np.ones((4000, 15), bool)
    seen[2000:, 7:] = False
    hidden = filling.hide(seen, rng)
    assert not hidden[~seen].any()
    assert set(hidden[:2000].sum(axis=1)) == {4, 5}
    assert set(hidden[2000:].sum(axis=1)) == {2, 3}
    # .3 each, within 5 standard errors of a share over 2,000 series
    assert np.abs(hidden[:2000].mean(axis=0) - 0.3).max() < 5 * math.sqrt(0.21 / 2000)
    assert np.abs(hidden[2000:, :7].mean(axis=0) - 0.3).max() < 5 * math.sqrt(0.21 / 2000)
    assert not filling.hide(np.zeros((2, 15), bool), rng).any()


def test_the_loss_is_over_hidden_patches_alone():
    layers, head = drawn(), torch.nn.Linear(8, 8)
    rng = np.random.default_rng(2)
    cut = torch.tensor(rng.normal(0, 1, (4, 15, 8)), dtype=torch.float32)
    seen, hidden = torch.ones(4, 15, dtype=torch.bool), torch.tensor(rng.random((4, 15)) < 0.3)
    with torch.no_grad():
        found = float(filling.error(layers, head, TINY, cut, seen, hidden))
        outputs = head(patches.encoded(layers, TINY, cut, seen, hidden)).numpy()
        other = cut.clone()
        other[hidden] = 9.0
        unread = head(patches.encoded(layers, TINY, other, seen, hidden)).numpy()
    total, count = 0.0, 0
    for b in range(4):
        for p in range(15):
            for step in range(8):
                if hidden[b, p]:
                    total += (outputs[b, p, step] - float(cut[b, p, step])) ** 2
                    count += 1
    assert found == pytest.approx(total / count, rel=1e-5)
    assert np.array_equal(outputs, unread)


def machines(k, n=160, f=6, spread=1.0):
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, n) * 3 + 1
    return rng.normal(0, 1, (k, f))[codes // 3] * 2 + rng.normal(0, spread, (n, f)), codes


@pytest.mark.parametrize("k", [3, 7])
def test_scores_are_those_of_scikit_learn(k):
    rows, codes = machines(k)
    found, facts = kernel.fit(rows, codes, 1000, 1, (1.0, 10.0))
    peer = svm.SVC(C=facts["c"], gamma="scale").fit(rows, codes)
    asked = np.random.default_rng(9).normal(0, 2, (300, 6))
    assert np.abs(found.scores(asked) - peer.decision_function(asked)).max() < 2e-3  # it is content with 1e-3
    assert np.array_equal(found.classes, peer.classes_)
    gamma = 1 / (6 * rows.var())
    same = svm.SVC(C=facts["c"], kernel="precomputed").fit(kernel.gaussian(rows, rows, gamma), codes)
    want = same.decision_function(kernel.gaussian(asked, rows, gamma))
    assert np.abs(found.scores(asked) - want).max() < 1e-9
    plain = [[math.exp(-gamma * sum((a - b) ** 2)) for b in rows[:5]] for a in asked[:5]]
    assert np.abs(kernel.gaussian(asked[:5], rows[:5], gamma) - plain).max() < 1e-12
    kept = kernel.Machine.of(found.arrays())
    assert np.array_equal(kept.scores(asked), found.scores(asked))


def test_two_classes_one_class_and_no_row():
    rows, codes = machines(2)
    found, facts = kernel.fit(rows, codes, 1000, 1, (1.0,))
    peer = svm.SVC(C=1.0, gamma="scale").fit(rows, codes)
    assert facts["c"] == 1.0
    assert np.array_equal(found.classes[found.scores(rows).argmax(axis=1)], peer.predict(rows))
    assert found.scores(rows[:0]).shape == (0, 2)
    alone, facts = kernel.fit(rows, np.full(len(rows), 5), 1000, 1, (1.0,))
    assert facts["c"] is None
    assert alone.scores(rows[:2]).tolist() == [[0.0], [0.0]]


def test_c_is_chosen_by_folds():
    """Against a search written out here, over the same folds."""
    rows, codes = machines(4, spread=3.0)
    _, facts = kernel.fit(rows, codes, 1000, 1, kernel.GRID)
    parts = kernel._folds(codes, 1)
    gamma = 1 / (rows.shape[1] * rows.var())
    want = {}
    for c in kernel.GRID:
        right = []
        for fold in range(5):
            held = parts == fold
            peer = svm.SVC(C=c, gamma=gamma).fit(rows[~held], codes[~held])
            right.append(peer.score(rows[held], codes[held]))
        want[f"{c:g}"] = np.mean(right)
    assert facts["grid"] == pytest.approx(want, abs=1e-12)
    assert facts["grid"][f"{facts['c']:g}"] == max(want.values())
    for code in np.unique(codes):
        counts = np.bincount(parts[codes == code], minlength=5)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("k", "n"), [(2, 49), (40, 190)])
def test_few_rows_leave_nothing_to_choose(k, n):
    rows, codes = machines(k, n)
    assert kernel.fit(rows, codes, 1000, 1, kernel.GRID)[1]["c"] == 1e5


def test_a_stratified_part_holds_every_class():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(10), rng.integers(1, 400, 10))
    kept = kernel.stratified(codes, 300, 7)
    share = np.bincount(codes[kept], minlength=10) / np.bincount(codes)
    assert len(kept) == len(set(kept.tolist())) == 300
    assert (np.bincount(codes[kept], minlength=10) >= 1).all()
    many = np.bincount(codes) > 20
    assert np.abs(share[many] - 300 / len(codes)).max() < 0.06
    assert np.array_equal(kernel.stratified(codes, len(codes), 7), np.arange(len(codes)))


def fitted(conditions=SMOKE, **more):
    codes = np.arange(90) % 3
    found = windows(codes)
    model = Moment(**more)
    pieces = [found.take(np.arange(50)), found.take(np.arange(50, 90))]
    before = model.pretrain(pieces, conditions)
    labels = np.array([LABELS.index(CLASSES[c]) for c in codes])
    return model, before, model.fit(pieces, labels, conditions)


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_zero_shot_finds_frequencies_and_names_its_weights(model):
    own, before, facts = model
    codes = np.arange(30) % 3
    scores = own.scores(windows(codes, 5))
    assert scores.shape == (30, len(LABELS))
    assert np.isfinite(scores).all()
    assert [LABELS[i] for i in scores.argmax(axis=1)] == [CLASSES[c] for c in codes]
    assert own.scores(windows([])).shape == (0, len(LABELS))
    assert before["weights"] == facts["weights"] == "mini, pre-trained here"
    assert before["parameters"] == 82_944
    assert (before["epochs"], before["updates"]) == (1, 6)  # 90 windows in batches of 16
    assert facts["rows"] == 90
    assert json.loads(json.dumps([before, facts])) == [before, facts]


def test_equal_seeds_give_equal_models_and_others_do_not(model):
    again = fitted()[0]
    other = fitted(Conditions(43, 3431, "smoke", "accuracy", 0, 200))[0]
    asked = windows(np.arange(12) % 3, 7)
    assert np.array_equal(again.embed(asked), model[0].embed(asked))
    assert not np.array_equal(other.embed(asked), model[0].embed(asked))


def test_a_kept_model_answers_the_same(model, tmp_path):
    model[0].save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["machine.npz", "moment.safetensors"]
    other = Moment()
    other.load(tmp_path)
    asked = windows(np.arange(12) % 3, 7)
    assert np.array_equal(other.scores(asked), model[0].scores(asked))
    codes = np.arange(12) % 3
    a, b = (one.fine_tune(asked, codes, asked, codes, CLASSES, SMOKE).scores(asked) for one in (model[0], other))
    assert np.array_equal(a, b)


def test_fine_tuning_moves_a_copy_of_the_encoder(model):
    own = model[0]
    codes = np.arange(30) % 3
    train, val = windows(codes, 11), windows(codes, 12)
    before = training.weights({"network": own.network})
    conditions = Conditions(42, 3431, "smoke", "macro_f1", 25, 200)
    tuned = own.fine_tune(train, codes, val, codes, CLASSES, conditions)
    facts = tuned.facts
    assert training.moved({"network": own.network}, before) == 0
    # the 1e-5 group: AdamW moves a weight by little more than its rate in an update
    assert 1e-6 < facts["encoder_moved"] < 1e-5 * facts["updates"] * 5
    assert facts["updates"] == facts["epochs"] == 25
    assert len(facts["curve"]["losses"]) == 25
    assert facts["parameters"] == 82_944 + 6 * 64 * 3 + 3
    assert facts["weights"] == "mini, pre-trained here"
    assert facts["curve"]["losses"][-1] < facts["curve"]["losses"][0]
    assert (tuned.scores(val).argmax(axis=1) == codes).mean() > 0.8
    assert tuned.scores(val).shape == (30, 3)


def test_fine_tuning_without_validation_windows(model):
    codes = np.arange(6) % 3
    tuned = model[0].fine_tune(windows(codes), codes, windows([]), codes[:0], CLASSES, SMOKE)
    assert tuned.facts["curve"]["best_epoch"] is None
    assert np.isfinite(tuned.scores(windows(codes))).all()


def test_pre_training_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "KEEP_S", 0.0)
    monkeypatch.setattr(training, "KEEP_TIMES", 0.0)
    monkeypatch.setitem(moment.BUDGETS, "smoke", training.Budget(2, 0))
    found = [windows(np.arange(90) % 3)]
    whole = Moment()
    whole.pretrain(found, SMOKE)
    plain, calls = filling.error, []

    def dying(*arguments):
        calls.append(1)
        if len(calls) == 9:  # the third of six batches of the second epoch
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(filling, "error", dying)
    with pytest.raises(KeyboardInterrupt), doing(tmp_path, "key", "node"):
        Moment().pretrain(found, SMOKE)
    again = Moment()
    with doing(tmp_path, "key", "node"):
        facts = again.pretrain(found, SMOKE)
    assert len(calls) == 9 + 4
    assert facts["updates"] == 12
    assert training.moved({"network": again.network}, training.weights({"network": whole.network})) == 0


T5 = {"d_model": 8, "d_kv": 4, "num_heads": 2, "num_layers": 2, "d_ff": 12, "feed_forward_proj": "gated-gelu"}
CONFIG = {"seq_len": 512, "patch_len": 8, "patch_stride_len": 8, "transformer_backbone": "google/flan-t5-small"}
KEY = "encoder.block.1.layer.1.DenseReluDense.wo.weight"
EMBEDDED = [
    [0.268871, -0.217194, -0.013664, -0.21568, 0.369704, -0.167193, -0.054207, 0.005041],
    [0.124431, -0.759097, -0.147135, 0.10147, 0.385493, 0.244375, -0.001428, -0.009722],
    [-0.167181, -0.316237, 0.045638, -0.00827, 0.028829, -0.497523, -0.070073, -0.006153],
]
"""By momentfm, from the weights and series below, left-padded to 512 steps, reduction ``mean``."""


def public_weights():
    shapes = {
        "patch_embedding.mask_embedding": (8,),
        "patch_embedding.value_embedding.weight": (8, 8),
        "encoder.final_layer_norm.weight": (8,),
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (32, 2),
    }
    for at in range(2):
        block = f"encoder.block.{at}.layer"
        shapes |= {f"{block}.0.SelfAttention.{name}.weight": (8, 8) for name in "qkvo"}
        shapes |= {f"{block}.{layer}.layer_norm.weight": (8,) for layer in (0, 1)}
        shapes |= {f"{block}.1.DenseReluDense.wi_{way}.weight": (12, 8) for way in (0, 1)}
        shapes |= {f"{block}.1.DenseReluDense.wo.weight": (8, 12)}
    rng = np.random.RandomState(7)
    return {name: rng.normal(0, 0.6, shapes[name]).astype(np.float32) for name in sorted(shapes)}


def public_series():
    rng = np.random.RandomState(8)
    series = rng.normal(0, 1, (3, 120)).cumsum(axis=1).astype(np.float32)
    observed = np.ones((3, 120), bool)
    observed[1, 60:], series[1, 60:] = False, 0
    series[2] *= 1e-3
    return torch.tensor(series), torch.tensor(observed)


def public_folder(folder, config=None, inner=None, **changes):
    """Write a folder in the public layout; a change of a tensor may be None, which leaves it out."""
    folder.mkdir(exist_ok=True)
    own = {"t5_config": {**T5, **(inner or {})}, **CONFIG, **(config or {})}
    (folder / "config.json").write_text(json.dumps(own))
    weights = {**public_weights(), "head.linear.bias": np.zeros(8, np.float32), **changes}
    tensors = {name: torch.tensor(value) for name, value in weights.items() if value is not None}
    safetensors.save_file(tensors, folder / "model.safetensors")
    return str(folder)


def test_public_weights_give_the_public_embedding(tmp_path):
    found = public.read(public_folder(tmp_path / "w"))
    series, observed = public_series()
    with torch.no_grad():
        own = patches.embedded(found.layers, found.sizes, series, observed).numpy()
    assert np.abs(own - np.array(EMBEDDED)).max() < 1e-5
    assert found.sizes == Sizes(8, 2, 2, 4, 12)


def test_half_precision_and_positions_are_read(tmp_path):
    place = np.zeros((1, 5000, 8), np.float32)
    place[0, :64] = patches.positions(64, 8).numpy()
    halves = {name: value.astype(np.float16) for name, value in public_weights().items()}
    name = "patch_embedding.position_embedding.pe"
    found = public.read(public_folder(tmp_path / "w", **halves, **{name: place.astype(np.float16)}))
    assert {weight.dtype for weight in found.layers.parameters()} == {torch.float32}
    with pytest.raises(InputError, match="not the sines and cosines"):
        public.read(public_folder(tmp_path / "w", **{name: place + 1}))


def test_a_backbone_alone_says_the_size(tmp_path):
    folder = public_folder(tmp_path / "w", {"t5_config": None, "transformer_backbone": "google/flan-t5-large"})
    with pytest.raises(InputError, match=r"without \d+ tensors that MOMENT needs"):
        public.read(folder)
    assert public._sizes(tmp_path / "w" / "config.json") == patches.SIZES["large"]


@pytest.mark.parametrize(
    ("config", "inner", "changes", "message"),
    [
        ({"patch_len": 16}, {}, {}, "patch_len is 16, expected 8"),
        ({"t5_config": 3}, {}, {}, "t5_config is int"),
        ({"t5_config": None, "transformer_backbone": "t5"}, {}, {}, "no t5_config, and transformer_backbone is 't5'"),
        ({}, {"feed_forward_proj": "relu"}, {}, "feed_forward_proj is 'relu'"),
        ({}, {"num_layers": 0}, {}, "num_layers is 0, expected a whole number from 1 to 256"),
        ({}, {"num_layers": 10**9}, {}, "num_layers is 1000000000"),
        ({}, {"d_ff": "12"}, {}, "d_ff is '12'"),
        ({}, {"d_model": 16_384}, {}, r"is \(\d+.*expected \(.*16384"),
        ({}, {}, {KEY: None}, "without 1 tensor that MOMENT needs: 'encoder.block.1"),
        ({}, {}, {KEY: np.zeros((12, 8), np.float32)}, r"is \(12, 8\), expected \(8, 12\)"),
        ({}, {}, {KEY: np.full((8, 12), np.nan, np.float32)}, "not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, config, inner, changes, message):
    with pytest.raises(InputError, match=message):
        public.read(public_folder(tmp_path / "w", config, inner, **changes))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="expected a folder"):
        public.read(str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"no config\.json"):
        public.read(str(tmp_path))
    folder = public_folder(tmp_path / "w")
    (tmp_path / "w" / "model.safetensors").rename(tmp_path / "w" / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"'pytorch_model\.bin' and no model\.safetensors; such files may hold code"):
        public.read(folder)
    (tmp_path / "w" / "pytorch_model.bin").unlink()
    with pytest.raises(InputError, match=r"no model\.safetensors in it"):
        public.read(folder)
    for junk in (b"PK\x03\x04 a pickle in a zip", b"\xff" * 64, (2**62).to_bytes(8, "little") + b"{}"):
        (tmp_path / "w" / "model.safetensors").write_bytes(junk)
        with pytest.raises(InputError, match="not a whole safetensors file"):
            public.read(folder)
    (tmp_path / "w" / "config.json").write_text("[]")
    with pytest.raises(InputError, match="expected an object"):
        public.read(folder)


def test_a_model_with_public_weights_says_which_and_refuses_others(tmp_path):
    folder = public_folder(tmp_path / "w")
    own, before, facts = fitted(weights=folder)
    assert before["weights"] == facts["weights"]
    assert facts["weights_sha256"] in facts["weights"]
    assert (before["updates"], before["epochs"]) == (0, 0)
    (tmp_path / "kept").mkdir()
    own.save(tmp_path / "kept")
    other = Moment(weights=folder)
    other.load(tmp_path / "kept")
    asked = windows(np.arange(12) % 3, 7)
    assert np.array_equal(other.scores(asked), own.scores(asked))
    tuned = other.fine_tune(asked, np.arange(12) % 3, windows([]), np.zeros(0, int), CLASSES, SMOKE)
    assert tuned.facts["weights"] == facts["weights"]

    before = Moment.identify_parameters(weights=folder)
    public_folder(tmp_path / "w", **{KEY: np.ones((8, 12), np.float32)})
    assert Moment.identify_parameters(weights=folder) != before
    assert Moment.identify_parameters() == Moment.identify_parameters(size="mini") == ""
    with pytest.raises(IntegrityError, match="changed since the model was fitted"):
        Moment(weights=folder).load(tmp_path / "kept")


def test_parameters_and_what_they_refuse():
    assert SYSTEMS.find("moment") is Moment
    assert SYSTEMS.offers(parse("moment"), "pretrain")
    assert SYSTEMS.parameters("moment") == {"weights": None, "size": None}
    # the hash of what parameters name takes the same parameters
    assert set(inspect.signature(Moment.identify_parameters).parameters) == set(SYSTEMS.parameters("moment"))
    for given, message in (
        ({"size": "tiny"}, "no size 'tiny'; there are mini, small, base, large"),
        ({"weights": 5}, "expected a folder"),
        ({"weights": "w", "size": "small"}, "has no effect"),
    ):
        with pytest.raises(InputError, match=message):
            Moment(**given)
    for ask in (Moment().scores, Moment().embed):
        with pytest.raises(GnomonError, match="call"):
            ask(windows([0]))
    assert {item.system for item in Moment.deviations} == {"moment"}
