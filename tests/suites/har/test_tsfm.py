"""TSFM: patches, masks, the loss against loops, rates, labels never seen, and what is kept."""

import dataclasses
import math

import numpy as np
import pytest

from gnomon.core.errors import InputError, IntegrityError
from gnomon.core.seeds import generator
from gnomon.suites.har.recordings import CHANNELS, WINDOW_S, Windows
from gnomon.suites.har.systems import SYSTEMS, Conditions
from gnomon.suites.har.vocabulary import LABELS, group_of

torch = pytest.importorskip("torch", reason="needs the extra models")
pytest.importorskip("safetensors", reason="needs the extra models")

from gnomon.suites.har.systems.neural import (  # noqa: E402
    text,
    training,
    tsfm_alignment,
    tsfm_loss,
    tsfm_network,
    tsfm_patches,
)
from gnomon.suites.har.systems.neural.tsfm import TEMPERATURE, Tsfm, Tuned  # noqa: E402
from gnomon.suites.har.systems.neural.tsfm_network import SIZES  # noqa: E402
from gnomon.suites.har.systems.neural.tsfm_patches import Cut  # noqa: E402
from gnomon.suites.har.systems.neural.tsfm_texts import phrasings  # noqa: E402

SMOKE = Conditions(seed=3, classifier_seed=5, profile="smoke", least_updates=3)
MOTION = {"sitting": (0.1, 0.4), "walking": (2.0, 1.8), "jogging": (6.0, 3.1)}
ALIKE = {(50, 100): 0.005, (20, 50): 0.08, (20, 100): 0.1}
"""Median cosine distance below which the same smooth motion stays at two rates; 20 Hz hardly carries 8 Hz."""


class Words:
    """A text encoder of eight numbers a token, drawn for every word: the same word is the same token."""

    width = 8

    def __init__(self):
        self.asked = []

    def facts(self):
        return {"name": "words", "width": self.width, "sha256": "0" * 64}

    def tokens(self, texts):
        self.asked += list(texts)
        rows = [[generator(0, word).normal(size=self.width) for word in one.replace("_", " ").split()] for one in texts]
        mask = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.bool)
        states = torch.zeros(*mask.shape, self.width)
        for place, row in enumerate(rows):
            states[place, : len(row)] = torch.tensor(np.array(row), dtype=torch.float32)
            mask[place, : len(row)] = True
        return states, mask


@pytest.fixture
def words(monkeypatch):
    own = Words()
    monkeypatch.setattr(text, "encoder", lambda _weights="": own)
    return own


def windows(labels=tuple(MOTION), each=8, rate=50.0, dataset="here", seed=0, patch_s=(1.0, 1.5, 0.25)):
    rng = np.random.default_rng(seed)
    t = np.arange(int(rate * WINDOW_S)) / rate
    names = [label for label in labels for _ in range(each)]
    signals = np.zeros((len(names), len(t), 6), np.float32)
    for place, label in enumerate(names):
        size, hertz = MOTION[label]
        for channel in range(6):
            signals[place, :, channel] = size * np.sin(2 * np.pi * hertz * t + rng.uniform(0, 6))
    signals += rng.normal(0, 0.05, signals.shape)
    return Windows(
        dataset=dataset,
        rate_hz=rate,
        signals=signals,
        valid=np.ones(signals.shape[:2], bool),
        mask=np.ones(6, bool),
        ids=tuple(f"{dataset}{k}" for k in range(len(names))),
        labels=tuple(names),
        subjects=tuple(f"p{k % 4}" for k in range(len(names))),
        recordings=tuple(f"r{k}" for k in range(len(names))),
        spans=np.tile([0.0, WINDOW_S], (len(names), 1)),
        channels=tuple(f"{name} of {dataset}" for name in CHANNELS),
        patch_s=patch_s,
    )


def codes_of(*pieces):
    return np.array([LABELS.index(label) for piece in pieces for label in piece.labels])


@pytest.fixture
def fitted(words):
    pieces = [windows(), windows(rate=20.0, dataset="there", seed=1, patch_s=(1.5, 2.5, 0.5))]
    model = Tsfm()
    facts = model.fit(pieces, codes_of(*pieces), SMOKE)
    return model, pieces, facts


def random_network(sizes=SIZES["cpu"], width=8, seed=0):
    with training.seeded(seed, "test"):
        return tsfm_network.network(sizes, width).eval()


def embedded(network, sizes, cut):
    channels = torch.randn(6, sizes.d, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return tsfm_network.unit(tsfm_network.represented(network["sensor"], sizes, cut, channels))


# Patches


def test_a_patch_is_interpolated_and_standardised_as_written_out_here():
    """Expected by loops: positions (k + .5) n / 64 - .5, held at the ends; mean 0 and biased spread 1 by channel."""
    signals = np.random.default_rng(0).normal(3.0, 2.0, (2, 47, 6)).astype(np.float32)
    found, there = tsfm_patches.cut(torch.from_numpy(signals), torch.ones(2, 47, dtype=torch.bool), 20)
    assert found.shape == (2, 2, 6, 64)
    assert there.all()
    for window, patch, channel in np.ndindex(2, 2, 6):
        own = signals[window, patch * 20 : patch * 20 + 20, channel].astype(float)
        row = []
        for k in range(64):
            place = min(max((k + 0.5) * 20 / 64 - 0.5, 0.0), 19.0)
            low = int(place)
            high = min(low + 1, 19)
            row.append(own[low] + (place - low) * (own[high] - own[low]))
        expected = (np.array(row) - np.mean(row)) / np.std(row)
        np.testing.assert_allclose(found[window, patch, channel].numpy(), expected, atol=1e-5)


def test_a_constant_channel_is_zero_not_blown_up_rounding():
    signals = torch.full((1, 60, 6), 9.80665)
    found, _ = tsfm_patches.cut(signals, torch.ones(1, 60, dtype=torch.bool), 19)
    assert float(found.abs().max()) < 1e-5


@pytest.mark.parametrize(
    ("observed", "expected"),
    [(60, [True, True, True]), (59, [True, True, False]), (20, [True, False, False]), (7, [True, False, False])],
)
def test_a_patch_is_there_where_all_of_it_was_observed_and_every_window_has_one(observed, expected):
    valid = torch.arange(60)[None] < observed
    _, there = tsfm_patches.cut(torch.randn(1, 60, 6), valid, 20)
    assert there[0].tolist() == expected


@pytest.mark.parametrize(
    ("rate", "seconds", "steps"), [(50.0, 1.0, 50), (25.0, 1.5, 37), (20.0, 1.75, 35), (82.02, 1, 82)]
)
def test_steps_of_a_patch_are_the_whole_part(rate, seconds, steps):
    assert tsfm_patches.steps_of(rate, seconds) == steps


def test_a_patch_longer_than_a_window_is_refused():
    with pytest.raises(InputError, match="patches of 61 steps in windows of 60"):
        tsfm_patches.cut(torch.zeros(1, 60, 6), torch.ones(1, 60, dtype=torch.bool), 61)


def test_a_window_without_any_channel_is_refused():
    piece = windows(each=1)
    bare = dataclasses.replace(piece, mask=np.array([[True] * 6, [False] * 6, [True] * 6]))
    with pytest.raises(InputError, match="here, window 'here1': no channel is there"):
        tsfm_patches.patched(bare, np.arange(3), 1.0)


# Augmentation and drawing


def test_patch_lengths_are_drawn_from_the_range_of_each_dataset():
    pieces = [windows(), windows(rate=20.0, dataset="there", patch_s=(1.5, 2.5, 0.5))]
    draw = tsfm_alignment.drawing(pieces, codes_of(*pieces), 12, 7)
    drawn = [
        (one.piece, one.seconds)
        for epoch in range(40)
        for batch in draw(epoch)
        for one in batch.shares
        for _ in one.rows
    ]
    assert {seconds for piece, seconds in drawn if piece == 0} == {1.0, 1.25, 1.5}
    assert {seconds for piece, seconds in drawn if piece == 1} == {1.5, 2.0, 2.5}
    shares = np.bincount([int(seconds * 4) for piece, seconds in drawn if piece == 0], minlength=7)[4:7]
    assert (np.abs(shares / shares.sum() - 1 / 3) < 0.06).all()


def test_batches_hold_every_window_with_its_own_label_and_repeat_for_an_epoch():
    pieces = [windows(each=5), windows(each=3, rate=20.0, dataset="there")]
    draw = tsfm_alignment.drawing(pieces, codes_of(*pieces), 7, 1)
    first, again, other = (list(draw(epoch)) for epoch in (0, 0, 1))
    for batch in first:
        own = [pieces[one.piece].labels[row] for one in batch.shares for row in one.rows.tolist()]
        assert own == [LABELS[code] for code in batch.labels.tolist()]
        steps = [int(pieces[one.piece].rate_hz * one.seconds) for one in batch.shares]
        sizes = [pieces[one.piece].signals.shape[1] for one in batch.shares]
        assert len({size // step for size, step in zip(sizes, steps, strict=True)}) == 1
    assert sum(map(len, first)) == 24
    assert max(map(len, first)) <= 7
    assert [batch.labels.tolist() for batch in first] == [batch.labels.tolist() for batch in again]
    assert [batch.labels.tolist() for batch in first] != [batch.labels.tolist() for batch in other]


def test_rare_groups_are_drawn_more_often_up_to_twenty_times():
    """Expected by hand: 100 walking, 10 sitting, 1 lying; weights 1, 10 and 20 (not 100), before they sum to 1."""
    codes = np.repeat([LABELS.index(label) for label in ("walking", "sitting", "lying")], [100, 10, 1])
    found = tsfm_alignment.weights_of(codes)
    assert group_of("walking") != group_of("sitting") != group_of("lying")
    np.testing.assert_allclose(found[[0, 100, 110]] * (100 + 100 + 20), [1, 10, 20])


def test_four_of_five_texts_are_reworded():
    pieces = [windows(each=40)]
    draw = tsfm_alignment.drawing(pieces, codes_of(*pieces), 60, 2)
    drawn = np.concatenate([batch.wordings for epoch in range(20) for batch in draw(epoch)])
    assert abs(np.mean(drawn > 0) - 0.8) < 0.03
    assert set(drawn.tolist()) == set(range(len(phrasings("label"))))


# Loss


def loops(windows, texts, all_windows, all_texts, similarity, factor):
    """InfoNCE with soft targets written out, one number at a time."""
    values = [value for row in similarity for value in row]
    mean = sum(values) / len(values)
    spread = max(0.1, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)))
    total = 0.0
    for one, others in ((windows, all_texts), (texts, all_windows)):
        for i in range(len(one)):
            wanted = [math.exp((value - mean) / spread / 0.5) for value in similarity[i]]
            logits = [factor * sum(a * b for a, b in zip(one[i], other, strict=True)) for other in others]
            log_sum = math.log(sum(math.exp(value) for value in logits))
            for weight, logit in zip(wanted, logits, strict=True):
                total -= weight / sum(wanted) * (logit - log_sum) / len(one) / 2
    return total


@pytest.mark.parametrize("before", [0, 3, 300])
def test_the_loss_is_that_of_plain_loops_with_the_queue(before):
    rng = np.random.default_rng(before)

    def units(n, d):
        rows = rng.normal(size=(n, d))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    frozen, old = units(6, 10), (units(before, 5), units(before, 5), rng.integers(0, 6, before))
    now = units(4, 5), units(4, 5), rng.integers(0, 6, 4)
    own = tsfm_loss.contrast(5).double()
    own.log_scale.data.fill_(math.log(7.0))
    for start in range(0, before, 60):
        tsfm_loss.push(own, *(torch.from_numpy(part[start : start + 60]) for part in old))
    found = tsfm_loss.loss(own, *map(torch.from_numpy, now), torch.from_numpy(frozen))

    kept = [part[-256:] for part in old]
    labels = np.concatenate([now[2], kept[2]])
    similarity = [[float(frozen[a] @ frozen[b]) for b in labels] for a in now[2]]
    expected = loops(
        now[0].tolist(),
        now[1].tolist(),
        np.concatenate([now[0], kept[0]]).tolist(),
        np.concatenate([now[1], kept[1]]).tolist(),
        similarity,
        7.0,
    )
    assert float(found.detach()) == pytest.approx(expected, rel=1e-9)


def test_the_queue_forgets_the_oldest():
    own = tsfm_loss.contrast(1)
    for start in (0, 200):
        labels = torch.arange(start, start + 200)
        tsfm_loss.push(own, labels[:, None].float(), labels[:, None].float(), labels)
    assert sorted(own.labels.tolist()) == list(range(144, 400))
    assert torch.equal(own.windows[:, 0].long(), own.labels)
    whole = torch.arange(1000, 1300)
    tsfm_loss.push(own, whole[:, None].float(), whole[:, None].float(), whole)
    assert sorted(own.labels.tolist()) == list(range(1044, 1300))


@pytest.mark.parametrize(("given", "expected"), [(1 / 0.07, 1 / 0.07), (0.2, 1.0), (900.0, 50.0)])
def test_the_scale_stays_within_one_and_fifty(given, expected):
    own = tsfm_loss.contrast(2)
    assert float(tsfm_loss.scale(own).detach()) == pytest.approx(1 / 0.07)
    own.log_scale.data.fill_(math.log(given))
    assert float(tsfm_loss.scale(own).detach()) == pytest.approx(expected)


# Network


def test_padded_patches_and_absent_channels_change_nothing():
    network, sizes = random_network(), SIZES["cpu"]
    patches = torch.randn(3, 5, 6, 64)
    there, mask = torch.ones(3, 5, dtype=torch.bool), torch.ones(3, 6, dtype=torch.bool)
    there[0, 3:], mask[1, 3:] = False, False
    before = embedded(network, sizes, Cut(patches, there, mask))
    other = patches.clone()
    other[0, 3:] = torch.randn(2, 6, 64) * 100
    other[1, :, 3:] = torch.randn(5, 3, 64) * 100
    torch.testing.assert_close(embedded(network, sizes, Cut(other, there, mask)), before, atol=1e-5, rtol=0)
    seen = embedded(network, sizes, Cut(other, torch.ones_like(there), torch.ones_like(mask)))
    assert ((seen - before).abs().amax(dim=1) > 1e-4).tolist() == [True, True, False]
    short = embedded(network, sizes, Cut(patches[:1, :3], there[:1, :3], mask[:1]))
    torch.testing.assert_close(short, before[:1], atol=1e-5, rtol=0)


def test_a_window_filled_up_embeds_as_the_short_one(fitted):
    model, pieces, _ = fitted
    piece = pieces[0]
    short = dataclasses.replace(piece, signals=piece.signals[:, :150], valid=piece.valid[:, :150])
    signals, valid = piece.signals.copy(), piece.valid.copy()
    signals[:, 150:], valid[:, 150:] = 0, False
    filled = dataclasses.replace(piece, signals=signals, valid=valid)
    np.testing.assert_allclose(model.embed(filled), model.embed(short), atol=1e-5)


def test_texts_of_channels_count_and_those_of_absent_ones_do_not(fitted):
    model, pieces, _ = fitted
    piece = dataclasses.replace(pieces[0], mask=np.tile([True] * 3 + [False] * 3, (len(pieces[0]), 1)))
    before = model.embed(piece)
    absent = dataclasses.replace(piece, channels=(*piece.channels[:3], "wrist", "ankle", ""))
    np.testing.assert_allclose(model.embed(absent), before, atol=1e-5)
    there = dataclasses.replace(piece, channels=("wrist", *piece.channels[1:]))
    assert np.abs(model.embed(there) - before).max() > 1e-4


def test_attention_is_that_of_plain_loops():
    """Expected by loops over heads, queries and keys that are seen."""
    d, width, heads = 8, 5, 2
    layer = tsfm_network._attention(d, width).requires_grad_(False)
    queries, keys = torch.randn(2, 3, d), torch.randn(2, 4, width)
    seen = torch.tensor([[True, True, False, True], [True, False, False, False]])
    found = tsfm_network.attended(layer, queries, keys, heads, seen)
    q, k, v = layer["q"](queries), layer["k"](keys), layer["v"](keys)
    for batch in range(2):
        for query in range(3):
            joined = []
            for head in range(heads):
                own = slice(head * 4, head * 4 + 4)
                places = [place for place in range(4) if seen[batch, place]]
                logits = [float(q[batch, query, own] @ k[batch, place, own]) / 2.0 for place in places]
                weights = [math.exp(value) / sum(map(math.exp, logits)) for value in logits]
                joined.append(sum(w * v[batch, place, own] for w, place in zip(weights, places, strict=True)))
            torch.testing.assert_close(found[batch, query], layer["o"](torch.cat(joined)), atol=1e-5, rtol=1e-4)


def test_the_published_size_has_about_twenty_million_parameters():
    """Expected by hand, d = 384, f = 64: blocks 4 (16 d² + 19 d), temporal 2 (12 d² + 13 d), and so on as below."""
    d, f = 384, 64
    attention, norm, merge, queries = 4 * d * d + 4 * d, 2 * d, 5 * d * d + 2 * d, 4 * d
    feed = 8 * d * d + 5 * d
    reader = queries + attention + norm + merge
    pool = reader + attention + norm
    convolutions = 5 * 32 + 2 * 32 + 5 * 32 * f + 2 * f
    expected = (
        convolutions
        + (f * d + d)
        + 1
        + 4 * (2 * attention + feed + 3 * norm)
        + 2 * reader
        + (2 * d * d + d)
        + 2 * pool
        + 2 * (attention + feed + 2 * norm)
        + (8 * d * d + 5 * d)
    )
    assert training.parameters(tsfm_network.network(SIZES["paper"], d)) == expected
    assert 19e6 < expected < 22e6


def motion(rate, count, seed):
    """Sums of five sines in each channel, 0.3 to 8 Hz, the slower the larger: the same motion at any rate."""
    rng = np.random.default_rng(seed)
    hertz, phase = rng.uniform(0.3, 8.0, (count, 6, 5, 1)), rng.uniform(0, 2 * np.pi, (count, 6, 5, 1))
    t = np.arange(int(rate * WINDOW_S)) / rate
    waves = (np.sin(2 * np.pi * hertz * t + phase) / hertz).sum(axis=2)
    piece = windows(labels=("walking",), each=count, rate=float(rate))
    return dataclasses.replace(piece, signals=waves.transpose(0, 2, 1).astype(np.float32))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_motion_embeds_alike_at_20_50_and_100_hz(words, seed):
    """With drawn and settled weights, so that motions lie apart: the median is also below an eighth of theirs."""
    model, pieces, codes = Tsfm(), [motion(50, 200, 9)], np.zeros(200, np.int64)
    model.sizes, model.network = SIZES["cpu"], random_network(seed=seed)
    work = tsfm_alignment.Aligning(model.network, model.sizes, model.texts, pieces, np.unique(codes))
    work.settle(list(tsfm_alignment.drawing(pieces, codes, 200, 1)(0)))
    found = {rate: model.embed(motion(rate, 48, 4)) for rate in (20, 50, 100)}
    apart = np.median(1 - (found[50] @ found[50].T)[np.triu_indices(48, 1)])
    assert apart > 0.4
    for (one, other), bound in ALIKE.items():
        distance = np.median(1 - (found[one] * found[other]).sum(axis=1))
        assert distance < min(bound, apart / 8)


# The system


def test_what_the_class_declares():
    kind = SYSTEMS.find("tsfm")
    assert kind is Tsfm
    assert kind.native_rate
    assert kind.text_aligned
    assert not hasattr(kind, "pretrain")
    assert kind.answering == ("patch_s",)
    assert {item.system for item in kind.deviations} == {"tsfm"}
    assert SYSTEMS.make("tsfm@patch_s=1.25").patch_s == 1.25


@pytest.mark.parametrize("wrong", [0.0, 7.0, -1.0, True, "long"])
def test_a_patch_length_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError, match="tsfm: patch_s is"):
        Tsfm(patch_s=wrong)


def test_nothing_is_answered_before_it_is_fitted():
    with pytest.raises(InputError, match=r"call fit\(\) or load\(\) first"):
        Tsfm().embed(windows(each=1))
    with pytest.raises(InputError, match=r"call fit\(\) or load\(\) first"):
        Tsfm().embed_labels(["walking"])


def test_facts_and_unit_vectors(fitted):
    model, pieces, facts = fitted
    assert facts["epochs"] == 2
    draw = tsfm_alignment.drawing(pieces, codes_of(*pieces), 32, SMOKE.seed)
    assert facts["updates"] == facts["curve"]["updates"] == sum(len(list(draw(epoch))) for epoch in range(2))
    assert facts["parameters"] == training.parameters(model.network)
    assert facts["text_encoder"]["name"] == "words"
    assert facts["patch_s"] == {"here": [1.0, 1.5, 0.25], "there": [1.5, 2.5, 0.5]}
    for piece in pieces:
        np.testing.assert_allclose(np.linalg.norm(model.embed(piece), axis=1), 1, atol=1e-5)
    scores = model.score_labels(pieces[0], LABELS)
    assert scores.shape == (24, 87)
    assert np.abs(scores).max() <= 1 + 1e-6


def test_a_label_never_seen_can_be_asked_for(fitted):
    model, pieces, _ = fitted
    asked = ["walking", "riding_a_unicycle", "juggling five clubs"]
    assert not {one for label in LABELS for one in phrasings(label)} & set(asked[1:])
    scores = model.score_labels(pieces[0], asked)
    assert scores.shape == (24, 3)
    assert np.isfinite(scores).all()
    assert np.abs(scores[:, 1] - scores[:, 2]).max() > 1e-4
    alone = model.score_labels(pieces[0], asked[1:2])
    np.testing.assert_allclose(alone[:, 0], scores[:, 1], atol=1e-5)
    with pytest.raises(InputError, match="an empty text"):
        model.score_labels(pieces[0], ["walking", " "])


def test_every_text_is_encoded_once(fitted, words):
    model, pieces, _ = fitted
    for _ in range(2):
        model.score_labels(pieces[0], ["walking", "flying"])
    assert len(words.asked) == len(set(words.asked))


def test_settling_takes_out_what_all_have_in_common(words):
    """Of drawn weights, vectors of windows and of labels point the same way; of settled ones their means are zero."""
    pieces = [windows(each=20)]
    model = Tsfm()
    with training.seeded(0, "test"):
        network = tsfm_network.network(SIZES["cpu"], words.width).eval()
    codes = codes_of(*pieces)
    work = tsfm_alignment.Aligning(network, SIZES["cpu"], model.texts, pieces, np.unique(codes))
    batches = list(tsfm_alignment.drawing(pieces, codes, 40, 1)(0))

    def alike():
        with torch.no_grad():
            found = tsfm_network.unit(torch.cat([work.represented(one.shares) for one in batches]))
        return float((found @ found.T).mean())

    before = alike()
    work.settle(batches)
    assert before > 0.9
    assert alike() < 0.5
    with torch.no_grad():
        found = torch.cat([work.represented(one.shares) for one in batches])
        assert float(found.mean(dim=0).abs().max()) < 1e-4


def test_equal_seeds_give_equal_models_and_others_do_not(words):
    pieces = [windows(each=4)]
    codes = codes_of(*pieces)

    def scores(seed):
        model = Tsfm()
        model.fit(pieces, codes, dataclasses.replace(SMOKE, seed=seed))
        return model.score_labels(pieces[0], ["walking", "sitting"])

    first = scores(1)
    np.testing.assert_array_equal(first, scores(1))
    assert np.abs(first - scores(2)).max() > 1e-3


def test_the_patch_length_changes_answers_not_what_is_fitted(words):
    pieces = [windows(each=4)]
    short, long = Tsfm(patch_s=1.0), Tsfm(patch_s=2.0)
    for model in (short, long):
        model.fit(pieces, codes_of(*pieces), SMOKE)
    one, other = (training.weights({"network": model.network}) for model in (short, long))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert np.abs(short.embed(pieces[0]) - long.embed(pieces[0])).max() > 1e-4


def test_saved_and_loaded_it_answers_the_same_and_knows_its_texts(fitted, words, tmp_path):
    model, pieces, _ = fitted
    expected = model.score_labels(pieces[1], ["walking", "sitting"])
    model.save(tmp_path)
    words.asked.clear()
    other = Tsfm()
    other.load(tmp_path)
    np.testing.assert_array_equal(other.score_labels(pieces[1], ["walking", "sitting"]), expected)
    assert words.asked == []
    longer = Tsfm(patch_s=2.0)
    longer.load(tmp_path)
    assert longer.patch_s == 2.0


def test_another_text_encoder_than_that_of_training_is_refused(fitted, words, tmp_path, monkeypatch):
    model, pieces, _ = fitted
    model.save(tmp_path)
    monkeypatch.setattr(words, "facts", lambda: {"name": "others", "width": 8, "sha256": "1" * 64})
    other = Tsfm()
    other.load(tmp_path)
    other.score_labels(pieces[0], ["walking"])
    with pytest.raises(IntegrityError, match="others is another one than the model was trained with, words"):
        other.score_labels(pieces[0], ["skating"])


def test_fine_tuning_moves_the_encoder_of_a_copy_and_keeps_labels(fitted):
    model, pieces, _ = fitted
    piece, classes = pieces[0], tuple(MOTION)
    codes = np.array([classes.index(label) for label in piece.labels])
    before = training.weights({"network": model.network})
    labels = model.embed_labels(classes)
    odd = np.arange(len(piece)) % 2 == 1
    tuned = model.fine_tune(piece.take(odd), codes[odd], piece.take(~odd), codes[~odd], classes, SMOKE)
    assert isinstance(tuned, Tuned)
    assert tuned.facts["updates"] >= 3
    assert 1e-6 < tuned.facts["encoder_moved"] < 1e-3
    now = training.weights({"network": model.network})
    assert all(torch.equal(now[name], before[name]) for name in before)
    np.testing.assert_array_equal(tuned.targets, labels)
    assert tuned.scores(piece).shape == (24, 3)
    assert np.abs(tuned.scores(piece)).max() <= 1 / TEMPERATURE + 1e-4


def test_fine_tuning_without_validation_windows_takes_the_last_epoch(fitted):
    model, pieces, _ = fitted
    piece, classes = pieces[1], tuple(MOTION)
    codes = np.array([classes.index(label) for label in piece.labels])
    none = np.zeros(len(piece), bool)
    tuned = model.fine_tune(piece, codes, piece.take(none), codes[none], classes, SMOKE)
    assert tuned.facts["curve"]["best_epoch"] is None


@pytest.mark.training
def test_it_learns_to_tell_motions_apart_at_a_rate_it_never_saw(words):
    """Trained at 50 and 25 Hz, it tells slow from fast swinging at 100 Hz, far better than one of three."""
    pieces = [windows(each=60), windows(each=60, rate=25.0, dataset="there", seed=1)]
    model = Tsfm()
    model.fit(pieces, codes_of(*pieces), Conditions(seed=1, classifier_seed=1, profile="cpu"))
    test = windows(each=20, rate=100.0, dataset="new", seed=2)
    classes = tuple(MOTION)
    found = model.score_labels(test, classes).argmax(axis=1)
    assert np.mean(np.array(classes)[found] == np.array(test.labels)) > 0.75
