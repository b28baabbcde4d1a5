"""LiMU-BERT: its encoder against a plain one in this file, masks, losses and votes by hand."""

import math

import numpy as np
import pytest

from gnomon.suites.har.systems.neural import blocks, heads, training
from gnomon.suites.har.systems.neural.limubert import LimuBert, counted

torch = pytest.importorskip("torch", reason="needs the extra models")


def encoder(seed=1):
    with training.seeded(seed, "test"):
        return blocks.encoder(), blocks.rebuilder()


def test_there_are_as_many_parameters_as_published():
    """Embedding 504, places 8,640, norms 4 x 144, attention 15,768 + 5,256, inner 20,952, head 5,256 + 438."""
    layers, head = encoder()
    assert training.parameters(layers, head) == 57_390
    assert training.parameters(heads.recurrent(87)) == 10_077


def _norm(x, layer):
    centred = x - x.mean(axis=-1, keepdims=True)
    found = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-12)
    return found * layer.weight.detach().double().numpy() + layer.bias.detach().double().numpy()


def _line(x, layer):
    return x @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()


def _gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def plain_encode(layers, window, passes):
    """The encoder over one window ``(120, 6)``, in double precision and head by head."""
    h = _norm(_line(window, layers["embed"]), layers["norm"])
    h = _norm(h + layers["places"].weight.detach().double().numpy(), layers["norm"])
    for _ in range(passes):
        query, key, value = np.split(_line(h, layers["attend"]), 3, axis=1)
        parts = []
        for head in range(4):
            own = slice(18 * head, 18 * head + 18)
            scores = query[:, own] @ key[:, own].T / math.sqrt(18)
            share = np.exp(scores - scores.max(axis=1, keepdims=True))
            parts.append(share / share.sum(axis=1, keepdims=True) @ value[:, own])
        a = np.concatenate(parts, axis=1)
        h = _norm(a + _line(a, layers["project"]), layers["attended"])
        h = _norm(h + _line(_gelu(_line(h, layers["widen"])), layers["narrow"]), layers["ended"])
    return h


@pytest.mark.parametrize("passes", [1, 4])
def test_the_encoder_is_the_plain_one(passes):
    layers, _ = encoder()
    window = np.random.default_rng(0).normal(size=(3, 120, 6))
    found = blocks.encode(layers, torch.tensor(window, dtype=torch.float32), passes).detach().numpy()
    expected = np.stack([plain_encode(layers, one, passes) for one in window])
    assert np.abs(found - expected).max() < 1e-4


def test_the_loss_is_the_squared_error_of_masked_steps_that_count():
    """Step by step in this test, from reconstructions of the whole window."""
    layers, head = encoder()
    rng = np.random.default_rng(1)
    signals = torch.tensor(rng.normal(size=(4, 120, 6)), dtype=torch.float32)
    masked, zeroed = (torch.tensor(part) for part in blocks.draw_masks(4, rng))
    zeroed[:2] = torch.tensor([True, False])
    counts = torch.tensor(rng.random((4, 120, 6)) < 0.7)
    with torch.no_grad():
        loss, hidden = blocks.rebuilding_loss(layers, head, (signals, masked, zeroed, counts), 2)
        errors = []
        for i in range(4):
            seen = signals[i].clone()
            if zeroed[i]:
                seen[masked[i]] = 0.0
            rebuilt = blocks.rebuild(head, blocks.encode(layers, seen[None], 2))[0]
            for step in range(120):
                for channel in range(6):
                    if masked[i, step] and counts[i, step, channel]:
                        errors.append(float(rebuilt[step, channel] - signals[i, step, channel]) ** 2)
    assert float(loss) == pytest.approx(np.mean(errors), rel=1e-4)
    assert hidden.shape == (4, 120, 72)


def plain_mask(rng):
    """One window's mask, as the paper's text has it."""
    lengths = np.arange(1, 11)
    chances = 0.2 * 0.8 ** (lengths - 1)
    masked = set()
    while len(masked) < 18:
        begin = int(rng.integers(120))
        if begin in masked:
            continue
        long = min(int(rng.choice(lengths, p=chances / chances.sum())), 18 - len(masked))
        masked |= set(range(begin, min(begin + long, 120)))
    return np.isin(np.arange(120), list(masked))


def test_masks_have_18_steps_in_spans():
    masked, zeroed = blocks.draw_masks(4000, np.random.default_rng(2))
    assert (masked.sum(axis=1) == 18).all()
    assert zeroed.mean() == pytest.approx(0.8, abs=0.02)  # three standard errors
    assert masked[:, 20:].mean(axis=0).std() < 0.01  # beyond the first steps all are equally likely
    assert masked[:, -1].mean() > 0.1  # the last one too
    rng = np.random.default_rng(3)
    plain = np.stack([plain_mask(rng) for _ in range(1000)])

    def runs(rows):
        return (np.diff(rows.astype(int), axis=1, prepend=0) == 1).sum(axis=1)

    def longest(rows):
        return [max(map(len, "".join("x" if m else " " for m in row).split())) for row in rows]

    assert runs(masked).mean() == pytest.approx(runs(plain).mean(), abs=0.15)
    assert runs(masked).std() == pytest.approx(runs(plain).std(), abs=0.15)
    assert np.mean(longest(masked[:1000])) == pytest.approx(np.mean(longest(plain)), abs=0.4)


def test_slices_vote_and_probability_decides_between_equals():
    """By hand: 3 : 2 : 1 votes; then 2 : 2 with the surer second; then a slice that does not count."""
    logits = torch.zeros(18, 3)
    votes = "000112 001122 222110".replace(" ", "")
    sure = "111991 115511 999111".replace(" ", "")
    for row, (code, how) in enumerate(zip(votes, sure, strict=True)):
        logits[row, int(code)] = int(how)
    counts = torch.ones(3, 6, dtype=torch.bool)
    counts[2, :3] = False
    scores = heads.vote(logits, counts).numpy()
    assert scores.argmax(axis=1).tolist() == [0, 1, 1]
    assert np.floor(scores).tolist() == [[3, 2, 1], [2, 2, 2], [1, 2, 0]]
    e = math.e
    assert scores[2, 0] == pytest.approx(1 + 0.5 * (e / (e + 2) + 2 / (e + 2)) / 3, abs=1e-6)


def test_slices_are_consecutive_steps_of_one_window():
    hidden = torch.arange(2 * 120, dtype=torch.float32).view(2, 120, 1).expand(2, 120, 72)
    found = heads.slices(hidden)
    assert found.shape == (12, 20, 72)
    assert found[7, 0, 0] == 120 + 20
    counts = torch.zeros(2, 120, 6, dtype=torch.bool)
    counts[0, 41] = True
    assert counted(counts).tolist() == [[False, False, True] + 3 * [False], [True] + 5 * [False]]
    units, codes = LimuBert().units(hidden, counts, torch.tensor([4, 5]))
    assert codes.tolist() == [4, 5]
    assert units[:, 0, 0].tolist() == [40, 120]


def test_the_recurrent_classifier_looks_at_the_last_step():
    """Against the gates of a GRU written out here (Cho et al., 2014), in double precision."""
    with training.seeded(1, "test"):
        layers = heads.recurrent(5).eval()
    hidden = np.random.default_rng(0).normal(size=(2, 20, 72))

    def gates(x, gru, layer):
        ih, hh, bi, bh = (
            getattr(gru, f"{name}_l{layer}").detach().double().numpy()
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        state, out = np.zeros((len(x), hh.shape[1])), []
        for step in range(x.shape[1]):
            a, b = np.split(x[:, step] @ ih.T + bi, 3, axis=1), np.split(state @ hh.T + bh, 3, axis=1)
            reset, update = (1 / (1 + np.exp(-(a[k] + b[k]))) for k in (0, 1))
            state = (1 - update) * np.tanh(a[2] + reset * b[2]) + update * state
            out.append(state)
        return np.stack(out, axis=1)

    found = gates(gates(gates(hidden, layers["first"], 0), layers["first"], 1), layers["second"], 0)
    expected = _line(found[:, -1], layers["classes"])
    given = heads.recur(layers, torch.tensor(hidden, dtype=torch.float32)).detach().numpy()
    assert np.abs(given - expected).max() < 1e-5
