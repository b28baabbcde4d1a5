"""The learned detector: a dynamic graph network that says of every point whether it changed.

Both scans are seen together, in blocks of neighbouring points; the network is that of
:mod:`gnomon.suites.change.systems._edgeconv`. What a point brings: where it is in its block, which scan it is of, and
the vector and distance to the nearest point of the other scan. Whether what changed came or went follows from its scan.

Which points are predicted
--------------------------
The comparison is first laid onto the reference, by a sample of its points. Points that have the other scan within
`skip` are taken as unchanged, always: they are most of a scan, and few of them are of something that changed, there
where it touches what stayed. One of them per cube of side `context` is kept, for the others to be seen in their
surroundings. All others, the candidates, are predicted, once in each of `covers` ways of cutting both scans into
blocks, and the probabilities averaged. Memory is that of the scans and of a few blocks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, WorkError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.numerics.clustering import sort_into_cells
from gnomon.numerics.neighbours import cloud, nearest
from gnomon.numerics.registration import icp
from gnomon.suites.change.systems import _edgeconv as network
from gnomon.suites.change.systems import stages
from gnomon.suites.change.systems.detection import ADD, REMOVE, Detection, Found, Parameters, Watch, assemble, scans

FEATURES = 8
"""Of a point: position in its block (3), scan (-1 the reference, 1 the comparison), vector to the other scan (3) and
its length, both in units of `reach`."""
WEIGHTS, MODEL = "weights.npz", "model.json"
LEARNED = ("width", "neighbours", "block", "skip", "reach", "context", "register")
"""Parameters that weights are bound to."""
_POSITIVE = (
    *("width", "neighbours", "block", "reach", "context", "epochs", "blocks_per_scene", "batch"),
    *("rate", "positive", "covers", "eps", "min_samples", "pad", "threads"),
)
_SAMPLE, _LIMIT, _ROUNDS = 15_000, 0.1, 50  # points of the comparison that are registered, and how
_FARTHEST = 4.0  # metres from the middle of a block, beyond which places do not differ
_TOGETHER = 4  # blocks that are predicted at a time


@dataclass(frozen=True)
class Prepared:
    """Points of both scans that a network looks at.

    Parameters
    ----------
    points
        ``(N, 3)``, in the frame of the reference.
    sides
        -1 for points of the reference, 1 for those of the comparison, ``(N,)``.
    vectors
        To the nearest point of the other scan, ``(N, 3)``, no longer than `reach`, and 0 where there is none.
    lengths
        Of the true vectors, at most `reach`, ``(N,)``.
    rows
        Of both scans, one after the other, ``(N,)``.
    asked
        Whether a point is a candidate, ``(N,)``.
    """

    points: Array
    sides: Array
    vectors: Array
    lengths: Array
    rows: Array
    asked: Array

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Dgcnn(Parameters):
    """Points that a dynamic graph network takes for changed, clustered by DBSCAN, boxed.

    The network has edge convolutions of `width` features over `neighbours` points, and sees blocks of up to `block`
    points. `skip`, `context` and `covers` are explained at the head of the module; vectors to the other scan are cut
    at `reach`; without `register` the scans are taken as they lie.

    In training each scene gives `blocks_per_scene` blocks in each of `epochs`, half of them with points that changed
    if there are as many; they are cut, turned about the vertical, mirrored and have their scans exchanged at random.
    `batch` blocks make an update of a rate of at most `rate`. The loss is focal with `gamma`, and points that changed
    weigh `positive` times as much.

    Points of a probability of at least `threshold` are clustered by DBSCAN with `eps` and `min_samples`. Clusters
    below `min_cluster` points or of a mean probability below `min_score` are dropped, and their points count as
    unchanged. Boxes are axis-aligned and padded by `pad`; their scores are the mean probabilities.
    """

    width: int = 64
    neighbours: int = 16
    block: int = 1024
    skip: float = 0.025
    reach: float = 0.3
    context: float = 0.12
    register: bool = True
    epochs: int = 6
    blocks_per_scene: int = 12
    batch: int = 6
    rate: float = 0.003
    gamma: float = 1.0
    positive: float = 2.0
    threshold: float = 0.5
    covers: int = 2
    eps: float = 0.05
    min_samples: int = 5
    min_cluster: int = 30
    min_score: float = 0.7
    pad: float = 0.02
    threads: int = 1

    _weights: ClassVar[Mapping[str, Array] | None] = None  # of an instance once it is trained; no field: no parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise InputError(f"Dgcnn: {name} is {getattr(self, name)!r}, expected more than 0")

    @staticmethod
    def require() -> None:
        """Refuse to begin without torch."""
        network.library()

    def fit(self, scenes: Sequence[Any], seed: int) -> dict[str, Any]:
        """Train on scenes, whose ``read()`` gives both scans and the class of every point; return facts about it."""
        network.library()
        watch = Watch()
        with watch.stage("preparing"):
            taught = [self._taught(*scene.read()) for scene in scenes]
        taught = [item for item in taught if item[0].asked.any()]
        if not any(truth.any() for _, truth in taught):
            raise InputError(f"dgcnn: nothing changed in {len(scenes)} training scenes: there is nothing to learn")
        weights = network.initial(self._shapes(), generator(seed, "change", "dgcnn", "weights"))
        rng = generator(seed, "change", "dgcnn", "blocks")
        with watch.stage("training"), network.settled(self.threads):
            updates = self.epochs * len(taught) * -(-self.blocks_per_scene // self.batch)
            trainer = network.Trainer(weights, self.neighbours, self.rate, updates)
            losses, blocks = [], 0
            for _ in range(self.epochs):
                epoch = []
                for index in rng.permutation(len(taught)):
                    prepared, truth = taught[int(index)]
                    for batch in self._lessons(prepared, truth, rng):
                        epoch.append(trainer.update(*batch, self.gamma, self.positive))
                        blocks += len(batch[0])
                losses.append(sum(epoch) / len(epoch))
                if not np.isfinite(losses[-1]):
                    raise WorkError(f"dgcnn: the loss of epoch {len(losses)} is not finite; take a lower rate")
        object.__setattr__(self, "_weights", trainer.result())
        return {
            "parameters": sum(value.size for value in weights.values()),
            "epochs": self.epochs,
            "updates": trainer.done,
            "blocks": blocks,
            "loss": losses,
            "training_scenes": len(taught),
            "seconds": sum(watch.seconds.values()),
            "stage_seconds": watch.seconds,
        }

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Find what changed from the reference to the comparison, both ``(N, 3)``, almost in one frame."""
        watch = Watch()
        with watch.stage("reading"):
            removed, added = scans(reference, comparison)
            self._trained()
        prepared, moved, facts = self._prepared(removed, added, watch)
        with watch.stage("network"):
            chances = self.probabilities(prepared)
        found = {}
        for name, points, side, before in ((ADD, moved, 1, len(removed)), (REMOVE, removed, -1, 0)):
            own = np.flatnonzero(prepared.asked & (prepared.sides == side) & (chances >= self.threshold))
            found[name] = self._find(points, prepared.rows[own] - before, chances[own], watch)
        facts |= {"candidates": int(prepared.asked.sum()), "context": int((~prepared.asked).sum())}
        return assemble(found, {ADD: len(added), REMOVE: len(removed)}, watch, facts)

    def probabilities(self, prepared: Prepared) -> Array:
        """Return the probability of having changed of every point; not a number where it was not asked for."""
        weights = self._trained()
        sums, counts = np.zeros(len(prepared)), np.zeros(len(prepared))
        for cover in range(self.covers if prepared.asked.any() else 0):
            turned = turn(prepared, np.pi / 2 * cover / self.covers)
            cut = blocks(turned.points, self.block)
            cut = cut[turned.asked[cut].any(axis=1)]
            parts = [cut[at : at + _TOGETHER] for at in range(0, len(cut), _TOGETHER)]
            with network.settled(self.threads):
                batches = (features(turned, part, self.reach) for part in parts)
                for part, chances in zip(parts, network.predict(weights, batches, self.neighbours), strict=True):
                    sums += np.bincount(part.ravel(), chances.ravel(), len(prepared))
                    counts += np.bincount(part.ravel(), minlength=len(prepared))
        with np.errstate(invalid="ignore"):
            return np.where(prepared.asked, sums / counts, np.nan)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write what was learned: weights as plain arrays, and the parameters."""
        weights: dict[str, Any] = dict(self._trained())
        np.savez(Path(folder) / WEIGHTS, **weights)
        (Path(folder) / MODEL).write_bytes(encode_pretty({"system": "dgcnn", "features": FEATURES, **asdict(self)}))

    def load(self, folder: str | os.PathLike[str]) -> None:
        """Read what :meth:`save` wrote; parameters that weights are bound to must be those of this system."""
        network.library()
        path = Path(folder) / MODEL
        stored = json.loads(path.read_bytes())
        for name, own in {"system": "dgcnn", "features": FEATURES, **{n: getattr(self, n) for n in LEARNED}}.items():
            if stored.get(name) != own:
                raise InputError(f"{path}: {name} is {stored.get(name)!r}, expected {own!r}, with which it is used")
        path = Path(folder) / WEIGHTS
        with np.load(path, allow_pickle=False) as arrays:
            weights = {name: arrays[name] for name in arrays.files}
        got = {name: (value.dtype.name, value.shape) for name, value in weights.items()}
        for name, shape in self._shapes().items():
            if got.pop(name, None) != ("float32", shape):
                have = f"{weights[name].dtype} {weights[name].shape}" if name in weights else "not there"
                raise InputError(f"{path}: {name} is {have}, expected float32 {shape}; save it again")
            if not np.isfinite(weights[name]).all():
                raise InputError(f"{path}: {name} holds numbers that are not finite; train it again")
        if got:
            raise InputError(f"{path}: {next(iter(got))!r} is not a weight of this network; save it again")
        object.__setattr__(self, "_weights", weights)

    def _trained(self) -> Mapping[str, Array]:
        network.library()
        if self._weights is None:
            raise InputError("dgcnn is not trained: fit() it to scenes, or load() what was saved")
        return self._weights

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return network.shapes(FEATURES, self.width)

    def _prepared(self, removed: Array, added: Array, watch: Watch) -> tuple[Prepared, Array, dict[str, Any]]:
        """Return the points to look at, the comparison in the frame of the reference, and facts about both."""
        facts = {}
        there = cloud(removed)
        if self.register:
            with watch.stage("registration"):
                sample = added[:: max(1, len(added) // _SAMPLE)]
                found = icp(sample, there, limit=_LIMIT, iterations=_ROUNDS)
                added = added @ found.rotation.T + found.translation
            facts["registration"] = {"iterations": found.iterations, "converged": found.converged, "rms_m": found.rms}
        with watch.stage("neighbours"):
            here = cloud(added)
            first = self._side(removed, added, -1, nearest(there, here))
            second = self._side(added, removed, 1, nearest(here, there))
            second = replace(second, rows=second.rows + len(removed))
            names = [item.name for item in fields(Prepared)]
            both = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names}
        return Prepared(**both), added, facts

    def _side(self, points: Array, others: Array, side: int, found: tuple[Array, Array]) -> Prepared:
        """Return what is looked at of one scan: candidates, and a few others around them."""
        asked = found[0] > self.skip
        near = np.flatnonzero(~asked)
        if len(near):
            cells = sort_into_cells(points[near], self.context)
            near = near[cells.rows[cells.starts[:-1]]]
        rows = np.concatenate([np.flatnonzero(asked), near])
        lengths, partners = found[0][rows], found[1][rows]
        vectors = np.zeros((len(rows), 3))
        some = partners >= 0
        vectors[some] = others[partners[some]] - points[rows[some]]
        vectors[some] *= np.minimum(1.0, self.reach / np.maximum(lengths[some], self.reach))[:, np.newaxis]
        sides = np.full(len(rows), side, dtype=np.int8)
        return Prepared(points[rows], sides, vectors, np.minimum(lengths, self.reach), rows, asked[rows])

    def _taught(self, reference: Array, comparison: Array, went: Array, came: Array) -> tuple[Prepared, Array]:
        prepared = self._prepared(*scans(reference, comparison), Watch())[0]
        return prepared, np.concatenate([went, came])[prepared.rows] > 0

    def _lessons(
        self, prepared: Prepared, truth: Array, rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Give batches of blocks of a scene, drawn at random: features, truth, and which points count."""
        turned = turn(prepared, rng.uniform(0, 2 * np.pi), mirror=rng.random() < 0.5, exchange=rng.random() < 0.5)
        cut = blocks(turned.points, self.block)
        cut = cut[turned.asked[cut].any(axis=1)]
        chosen = cut[
            _drawn(np.asarray(truth[cut].any(axis=1)), turned.asked[cut].sum(axis=1), self.blocks_per_scene, rng)
        ]
        for at in range(0, len(chosen), self.batch):
            part = chosen[at : at + self.batch]
            yield features(turned, part, self.reach), truth[part], turned.asked[part].astype(np.float32)

    def _find(self, points: Array, rows: Array, chances: Array, watch: Watch) -> Found:
        with watch.stage("clusters"):
            owner = stages.cluster(points[rows], self.eps, self.min_samples, self.min_cluster, len(points))
        with watch.stage("boxes"):
            boxed = stages.enclose(points[rows], owner, self.pad)
            own = owner >= 0
            scores = np.bincount(owner[own], chances[own], len(boxed)) / boxed.support
            kept = np.flatnonzero(scores >= self.min_score)
            boxed, scores = boxed.take(kept), scores[kept]
        counts = {"change_points": len(rows), "clusters": len(np.unique(owner[own])), "boxes": len(boxed)}
        return Found(boxed.boxes, np.clip(scores, 1e-6, 1 - 1e-6), rows[boxed.owner >= 0], {"counts": counts})


def _drawn(changed: Array, candidates: Array, most: int, rng: np.random.Generator) -> Array:
    """Draw blocks to learn from: half of them with a change, the others the likelier the more candidates they have."""
    without = candidates * ~changed
    count = min(most, len(changed))
    first = rng.permutation(np.flatnonzero(changed))[: max(count // 2, count - np.count_nonzero(without))]
    if count == len(first):
        return first
    others = rng.choice(len(changed), count - len(first), replace=False, p=without / without.sum())
    return rng.permutation(np.concatenate([first, others]))


def turn(prepared: Prepared, angle: float, *, mirror: bool = False, exchange: bool = False) -> Prepared:
    """Return points turned about the vertical through the origin, perhaps mirrored, perhaps with scans exchanged."""
    cos, sin = np.cos(angle), np.sin(angle)
    turning = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]) * ([-1, 1, 1] if mirror else [1, 1, 1])
    return replace(
        prepared,
        points=prepared.points @ turning.T,
        vectors=prepared.vectors @ turning.T,
        sides=-prepared.sides if exchange else prepared.sides,
    )


def blocks(points: Array, size: int) -> Array:
    """Cut points ``(N, 3)`` into blocks of at most so many neighbours; return their rows, ``(blocks, points)``.

    Points are parted along their widest axis, again and again, so that blocks have equal numbers, but for one; every
    point is in just one, and a block that is one short has its first point twice.
    """
    count = -(-len(points) // size)
    out = np.empty((count, -(-len(points) // max(count, 1))), dtype=np.int64)
    waiting = [(np.arange(len(points)), 0, count)]
    while waiting and count:
        rows, first, number = waiting.pop()
        if number == 1:
            out[first] = np.resize(rows, out.shape[1])
            continue
        half = number // 2
        middle = len(rows) * half // number
        axis = int(np.argmax(np.ptp(points[rows], axis=0)))
        order = rows[np.argpartition(points[rows, axis], middle)]
        waiting += [(order[:middle], first, half), (order[middle:], first + half, number - half)]
    return out


def features(prepared: Prepared, cut: Array, reach: float) -> Array:
    """Return the features ``(blocks, points, 8)`` float32 of blocks of rows; see :data:`FEATURES`."""
    out = np.empty((*cut.shape, FEATURES), dtype=np.float32)
    places = prepared.points[cut]
    centres = (places.min(axis=1, keepdims=True) + places.max(axis=1, keepdims=True)) / 2
    out[..., :3] = np.clip(places - centres, -_FARTHEST, _FARTHEST)
    out[..., 3] = prepared.sides[cut]
    out[..., 4:7] = prepared.vectors[cut] / reach
    out[..., 7] = prepared.lengths[cut] / reach
    return out
