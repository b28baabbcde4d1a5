"""CrossHAR: its views, its contrast against a plain loop, its classifier against that of torch."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.suites.har.systems.neural import blocks, contrast, heads, training
from gnomon.suites.har.systems.neural.crosshar import CrossHar, pairs

torch = pytest.importorskip("torch", reason="needs the extra models")


def plain_nt_xent(first, second, temperature):
    """Every view against its other one, among all others; term by term."""
    rows = [*first, *second]
    n, total = len(first), 0.0
    for i, row in enumerate(rows):
        other = (i + n) % (2 * n)
        scores = {}
        for j, against in enumerate(rows):
            if j != i:
                cosine = row @ against / math.sqrt((row @ row) * (against @ against))
                scores[j] = math.exp(cosine / temperature)
        total -= math.log(scores[other] / sum(scores.values()))
    return total / (2 * n)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.sampled_from([0.1, 0.2, 1.0]), st.integers(0, 1000))
def test_the_contrast_is_that_of_a_plain_loop(n, temperature, seed):
    first, second = np.random.default_rng(seed).normal(size=(2, n, 18))
    found = contrast.nt_xent(torch.tensor(first), torch.tensor(second), temperature)
    assert float(found) == pytest.approx(plain_nt_xent(first, second, temperature), rel=1e-9, abs=1e-12)
    assert contrast.TEMPERATURE == 0.2


def test_axes_of_both_sensors_are_turned_together():
    signals = np.arange(6, dtype=np.float32) * np.ones((6, 120, 1), dtype=np.float32)
    counts = np.ones(signals.shape, bool)
    counts[:, :, 4] = False
    found, there = contrast.turned(signals, counts, np.arange(6))
    assert np.array_equal(found[0], signals[0])
    assert len({tuple(window[0]) for window in found}) == 6
    assert (found[..., 3:] == found[..., :3] + 3).all()
    assert (there == (found != 4)).all()


def test_normalised_channels_have_mean_0_and_spread_1_over_what_counts():
    """Against the instance norm of torch where all counts; an absent channel stays zero."""
    rng = np.random.default_rng(0)
    signals = rng.normal(3, 2, (4, 120, 6)).astype(np.float32)
    counts = np.ones(signals.shape, bool)
    expected = torch.nn.InstanceNorm1d(6)(torch.tensor(signals).transpose(1, 2)).transpose(1, 2).numpy()
    assert np.abs(contrast.normalised(signals, counts) - expected).max() < 1e-5
    counts[0, 50:] = False
    counts[1, :, 2] = False
    found = contrast.normalised(signals, counts)
    assert not found[~counts].any()
    assert np.abs(found[0, :50].mean(axis=0)).max() < 1e-5
    assert found[0, :50].std(axis=0) == pytest.approx(np.ones(6), abs=1e-4)


def test_segments_are_whole_runs_of_steps_in_another_order():
    orders = contrast.segments(3000, np.random.default_rng(1))
    assert (np.sort(orders, axis=1) == np.arange(120)).all()
    runs = 1 + (np.diff(orders, axis=1) != 1).sum(axis=1)
    assert runs.max() == 7  # a neighbouring pair may come together again, so that there are fewer at times
    many = (orders == np.arange(120)).all(axis=1).mean()
    expected = np.mean([1 / math.factorial(k) for k in range(1, 8)])  # all segments in their own order
    assert many == pytest.approx(expected, abs=0.03)


def test_views_are_scaled_by_step_and_cut_into_segments():
    """A ramp that is the same in all channels: what was done to it can be read off."""
    signals = np.repeat(np.linspace(1, 2, 120, dtype=np.float32)[None, :, None], 6, axis=2)
    signals = np.repeat(signals, 400, axis=0)
    counts = np.ones(signals.shape, bool)
    views, both = contrast.two_views(signals, counts, np.random.default_rng(2))
    assert views.shape == (800, 120, 6)
    assert both.all()
    weak, strong = views[:400], views[400:]
    assert np.abs(weak - weak[..., :1]).max() < 1e-4  # the factor of a step is that of all channels
    assert np.abs(strong - strong[..., :1]).max() > 1e-3  # the jitter is not
    order = np.argsort(strong.mean(axis=2), axis=1)
    ramp = np.take_along_axis(strong.mean(axis=2), order, axis=1).mean(axis=0)
    assert np.corrcoef(ramp, signals[0, :, 0])[0, 1] > 0.999


def test_the_factors_of_the_weak_view_are_normal():
    """N(2, 1.1): over steps of ones, normalisation leaves the normal shape, so signs tell its place."""
    rng = np.random.default_rng(3)
    ones = np.ones((2000, 120, 6), np.float32)
    counts = np.ones(ones.shape, bool)
    found = []
    keep, contrast.normalised = contrast.normalised, lambda signals, counts: found.append(signals) or signals
    try:
        contrast.two_views(ones, counts, rng)
    finally:
        contrast.normalised = keep
    weak, strong = np.split(found[0], 2)
    assert weak.mean() == pytest.approx(2.0, abs=0.01)
    assert weak[..., 0].std() == pytest.approx(1.1, abs=0.01)
    assert (strong - 1).std() == pytest.approx(0.01, abs=1e-4)


def test_a_window_is_summed_up_as_by_the_whole_layer():
    """The layer over all 121 tokens, written out; only the first leaves it."""
    with training.seeded(1, "test"):
        layers = contrast.summer().eval()
    hidden = torch.tensor(np.random.default_rng(0).normal(size=(3, 120, 72)), dtype=torch.float32)
    with torch.no_grad():
        x = torch.cat([layers["token"].weight.repeat(3, 1)[:, None], layers["embed"](hidden)], dim=1)
        y = layers["norm"](x)
        q, k, v = (layers[name](y) for name in ("query", "key", "value"))
        parts = []
        for head in range(4):
            own = slice(25 * head, 25 * head + 25)
            parts.append(torch.softmax(q[..., own] @ k[..., own].transpose(1, 2) / 10, dim=2) @ v[..., own])
        x = x + layers["project"](torch.cat(parts, dim=2))
        x = x + layers["narrow"](torch.relu(layers["widen"](layers["attended"](x))))
        expected = layers["out"](x[:, 0])
        found = contrast.sum_up(layers, hidden)
    assert found.shape == (3, 18)
    assert torch.allclose(found, expected, atol=1e-5)


def test_the_classifier_is_a_transformer_layer_of_torch():
    with training.seeded(1, "test"):
        layers = heads.transformer(87).eval()
    assert training.parameters(layers) == 468_635
    peer = torch.nn.TransformerEncoderLayer(100, 4, 2048, batch_first=True).eval()
    names = {
        "self_attn.in_proj_": "attend.",
        "self_attn.out_proj.": "project.",
        "linear1.": "widen.",
        "linear2.": "narrow.",
        "norm1.": "attended.",
        "norm2.": "ended.",
    }
    own = layers.state_dict()
    peer.load_state_dict({a + kind: own[b + kind] for a, b in names.items() for kind in ("weight", "bias")})
    hidden = torch.tensor(np.random.default_rng(0).normal(size=(2, 120, 72)), dtype=torch.float32)
    places = np.array(
        [
            [(math.sin if i % 2 == 0 else math.cos)(t / 10_000 ** (2 * (i // 2) / 100)) for i in range(100)]
            for t in range(120)
        ]
    )
    with torch.no_grad():
        expected = layers["classes"](peer(layers["embed"](hidden) + torch.tensor(places).float()).mean(dim=1))
        assert torch.allclose(heads.transform(layers, hidden), expected, atol=1e-5)


def test_no_turned_copy_of_a_window_held_out_is_trained_on():
    model = CrossHar()
    rows = np.array([3, 5, 8])
    all_ways, ways = model.views(rows, "paper", 0, 1)
    assert sorted(zip(all_ways.tolist(), ways.tolist(), strict=True)) == [(r, w) for r in rows for w in range(6)]
    once, ways = model.views(rows, "cpu", 0, 1)
    assert once.tolist() == [3, 5, 8]
    drawn = np.array([model.views(rows, "cpu", epoch, 1)[1] for epoch in range(60)])
    assert set(drawn.flatten().tolist()) == set(range(6))
    assert ways.tolist() == drawn[0].tolist()


def test_a_batch_holds_both_views_with_masks_of_their_own():
    rng = np.random.default_rng(0)
    views, masked, zeroed, counts = pairs(
        rng.normal(size=(5, 120, 6)).astype(np.float32), np.ones((5, 120, 6), bool), rng
    )
    assert views.shape == (10, 120, 6)
    assert masked.shape == (10, 120)
    assert not torch.equal(masked[:5], masked[5:])
    assert zeroed.shape == (10,)
    assert counts.all()
    with training.seeded(1, "test"), torch.no_grad():
        loss, hidden = blocks.rebuilding_loss(blocks.encoder(), blocks.rebuilder(), (views, masked, zeroed, counts), 1)
    assert float(loss) > 0
    assert hidden.shape == (10, 120, 72)
