"""The network of ``dgcnn``: edge convolutions over graphs that each layer makes anew (Wang et al., 2019), in torch.

Conventions
-----------
A block is one sample: ``(B, N, C)`` features of which the first three are the position. Weights are plain tensors by
name; ``x @ weight + bias``. An edge convolution gives to every point i the maximum over its k nearest points j, itself
among them, of ``f(x_i A + (x_j - x_i) B + c)``, component by component; f is a leaky rectifier here and everywhere. The
first graph is that of positions, each later one that of the features which the layer before has given.

Since f does not fall, the maximum is ``f(x_i (A - B) + c + max_j x_j B)``: products are taken once per point instead of
once per edge, and nothing is kept for edges.

No random numbers are drawn, and torch is told to use its deterministic algorithms, so that equal weights and blocks
give equal results on one machine with one number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array
from gnomon.engine import torches

SLOPE = 0.2
"""Of leaky rectifiers, where negative."""
LAYERS = 4
"""Edge convolutions."""


def library() -> Any:
    """Return torch, which is loaded when it is first needed; its threads are for :func:`settled` to say."""
    return torches.library("torch", "the system dgcnn")


def shapes(features: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight by name, for points of so many features and layers of such a width."""
    sizes = {f"edge.{at}": (2 * (width if at else features), width) for at in range(LAYERS)}
    joint = LAYERS * width
    sizes["whole"] = (joint, 2 * width)
    sizes["head.0"] = (joint + 2 * width, 2 * width)
    sizes["head.1"] = (2 * width, width)
    sizes["head.2"] = (width, 1)
    named = ((f"{name}.weight", size) for name, size in sizes.items())
    return {**dict(named), **{f"{name}.bias": size[1:] for name, size in sizes.items()}}


def initial(sizes: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> dict[str, Array]:
    """Return weights to begin with: normal, scaled so that rectifiers keep the variance (He et al., 2015)."""
    gain = math.sqrt(2 / (1 + SLOPE**2))
    out = {}
    for name, size in sizes.items():
        scale = gain / math.sqrt(size[0]) if name.endswith("weight") else 0.0
        out[name] = (rng.standard_normal(size) * scale).astype(np.float32)
    return out


def nearest(points: Any, k: int) -> Array:
    """Return the rows ``(B, N, k)`` of the k nearest points of every point ``(B, N, C)``, itself among them."""
    squares = (points * points).sum(dim=2)
    apart = squares[:, None, :].baddbmm(points, points.transpose(1, 2), alpha=-2.0)
    rows = np.empty((*points.shape[:2], min(k, points.shape[1])), dtype=np.int32)
    _least(apart.numpy(), rows)
    return rows


def edge_convolution(points: Any, graph: Array, weight: Any, bias: Any) -> Any:
    """Return the features ``(B, N, D)`` that an edge convolution gives to points ``(B, N, C)``; see the head."""
    size = points.shape[2]
    own = points @ (weight[:size] - weight[size:]) + bias
    theirs = points @ weight[size:]
    whose = np.empty(theirs.shape, dtype=np.int64)
    _greatest(theirs.detach().numpy(), graph, whose)
    return _activated(own + theirs.gather(1, library().from_numpy(whose)))


def forward(weights: Mapping[str, Any], blocks: Any, k: int) -> Any:
    """Return the logit ``(B, N)`` of every point of blocks ``(B, N, C)`` having changed."""
    torch = library()
    found = []
    points = blocks
    for at in range(LAYERS):
        with torch.no_grad():
            graph = nearest(points[:, :, :3] if at == 0 else points, k)
        points = edge_convolution(points, graph, *_layer(weights, f"edge.{at}"))
        found.append(points)
    joint = torch.cat(found, dim=2)
    whole = _linear(weights, "whole", joint).amax(dim=1, keepdim=True)
    # The part of the whole block is the same for all of its points: it is multiplied once and added to each.
    weight, bias = _layer(weights, "head.0")
    size = joint.shape[2]
    points = _activated(joint @ weight[:size] + (_activated(whole) @ weight[size:] + bias))
    points = _activated(_linear(weights, "head.1", points))
    return _linear(weights, "head.2", points)[:, :, 0]


def focal_loss(logits: Any, truth: Any, counts: Any, gamma: float, positive: float) -> Any:
    """Return the mean focal loss (Lin et al., 2017) of points that count.

    ``-(1 - p)^gamma log p`` for the probability p of what is true; those that changed weigh `positive` times as much.
    """
    torch = library()
    signed = torch.where(truth, logits, -logits)
    missing = torch.sigmoid(-signed)
    weights = torch.where(truth, positive, 1.0) * counts
    return (weights * missing**gamma * -torch.nn.functional.logsigmoid(signed)).sum() / weights.sum().clamp(min=1.0)


class Trainer:
    """Weights on their way, by AdamW (Loshchilov and Hutter, 2019) with a rate that rises and falls as a cosine."""

    def __init__(self, weights: Mapping[str, Array], k: int, rate: float, updates: int) -> None:
        torch = library()
        self.weights = {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}
        self._optimizer = torch.optim.AdamW(self.weights.values(), lr=rate, weight_decay=0.01)
        self._k, self._rate, self._updates, self.done = k, rate, updates, 0

    def update(self, blocks: Array, truth: Array, counts: Array, gamma: float, positive: float) -> float:
        """Take one step on blocks ``(B, N, C)`` with truth ``(B, N)`` where it counts; return the loss before it."""
        torch = library()
        begun = min(1.0, (self.done + 1) / max(1, self._updates // 20))
        left = 0.5 * (1 + math.cos(math.pi * min(1.0, self.done / self._updates)))
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * begun * left
        logits = forward(self.weights, torch.from_numpy(blocks), self._k)
        loss = focal_loss(logits, torch.from_numpy(truth), torch.from_numpy(counts), gamma, positive)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
        self._optimizer.step()
        self.done += 1
        return float(loss.detach())

    def result(self) -> dict[str, Array]:
        """Return the weights as arrays."""
        return {name: value.detach().numpy().copy() for name, value in self.weights.items()}


def predict(weights: Mapping[str, Array], batches: Iterable[Array], k: int) -> Iterator[Array]:
    """Give for each batch of blocks ``(B, N, C)`` the probability ``(B, N)`` of every point having changed."""
    torch = library()
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    with torch.inference_mode():
        for blocks in batches:
            yield torch.sigmoid(forward(tensors, torch.from_numpy(blocks), k)).numpy()


@contextmanager
def settled(threads: int) -> Iterator[None]:
    """Have torch use so many threads and deterministic algorithms only; afterwards, what it used before."""
    torch = library()
    filling = torch.utils.deterministic
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), filling.fill_uninitialized_memory
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    filling.fill_uninitialized_memory = False  # it costs a fifth of the time, and nothing here is read unwritten
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        filling.fill_uninitialized_memory = before[2]


@jit
def _greatest(values: Any, graph: Any, whose: Any) -> None:
    """Write which neighbour has the greatest value, the first of equals."""
    best = np.empty(values.shape[2], values.dtype)
    for b in range(values.shape[0]):
        for i in range(values.shape[1]):
            at, first = whose[b, i], graph[b, i, 0]
            for c in range(values.shape[2]):
                best[c], at[c] = values[b, first, c], first
            for n in range(1, graph.shape[2]):
                j = graph[b, i, n]
                row = values[b, j]
                for c in range(values.shape[2]):
                    better = row[c] > best[c]
                    best[c] = row[c] if better else best[c]
                    at[c] = j if better else at[c]


@jit
def _least(values: Any, rows: Any) -> None:
    """Write where the k least values of every row are, of equals the first.

    No more than k values are below the k-th least of the minima of any parts of a row, and few more are not above it:
    the minima are quickly found side by side, and only what is not above has to be sorted.
    """
    k, size = rows.shape[2], values.shape[2]
    lanes = 2 * k
    minima, least, places = np.empty(lanes, values.dtype), np.empty(k, values.dtype), np.zeros(k, rows.dtype)
    for b in range(values.shape[0]):
        for i in range(values.shape[1]):
            row = values[b, i]
            minima[:] = np.inf
            for begin in range(0, size, lanes):
                for lane in range(min(lanes, size - begin)):
                    value = row[begin + lane]
                    minima[lane] = value if value < minima[lane] else minima[lane]
            least[:] = np.inf
            for lane in range(lanes):
                _insert(least, places, minima[lane], lane)
            bound = least[k - 1]
            least[:] = np.inf
            for j in range(size):
                if row[j] <= bound:
                    _insert(least, places, row[j], j)
            rows[b, i] = places


@jit
def _insert(least: Any, places: Any, value: float, place: int) -> None:
    """Put a value and its place into a sorted list, whose greatest goes."""
    at = len(least) - 1
    if not value < least[at]:
        return
    while at > 0 and value < least[at - 1]:
        least[at], places[at] = least[at - 1], places[at - 1]
        at -= 1
    least[at], places[at] = value, place


def _layer(weights: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _linear(weights: Mapping[str, Any], name: str, points: Any) -> Any:
    weight, bias = _layer(weights, name)
    return points @ weight + bias


def _activated(values: Any) -> Any:
    return library().nn.functional.leaky_relu(values, SLOPE)
