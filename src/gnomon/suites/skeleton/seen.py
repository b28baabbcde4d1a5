"""What findings rest on: counts, maxima and names, seen in a file or in a shard, which add up over shards.

Nothing is judged here: whether cameras move, or ids tell sequences apart, is only known of all shards together
(:mod:`gnomon.suites.skeleton.findings`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, natural_key
from gnomon.numerics import kinematics
from gnomon.numerics.procrustes import align
from gnomon.suites.skeleton.draws import drawn
from gnomon.suites.skeleton.files import KEPT, NO_REFERENCE
from gnomon.suites.skeleton.poses import spread
from gnomon.suites.skeleton.projection import Projector
from gnomon.suites.skeleton.settings import Settings
from gnomon.suites.skeleton.summaries import Tracker

EFFECT_M = 1e-9
"""Joints of two modalities that are nearer than this are the same."""
STILL = (0.01, 0.5)
"""Metres and degrees that the true cameras of a sequence may differ by."""
MOST = 5_000
"""Samples that costly checks look at."""
NAMED = 5
"""Sequences that a finding names; the others are counted."""
EXTENTS = {"truth": "extent.truth", "prediction": "extent.prediction"}
"""Distributions of the sizes of bodies, by side."""
_LONGEST = 1e38
"""Extents are held in float32; those that are larger, which no unit explains, count as this many metres."""

COUNTS = (
    "kept",
    "sequences",
    "alone",
    "unnamed",
    "several",
    "moving",
    "choices",
    "drawn",
    "apart",
    "repeats",
    "repeated",
    "unordered",
    "unnumbered",
    "lost",
)
LARGEST = ("deviation_m", "degrees", "predicted_m", "predicted_degrees")
IF_KNOWN = ("pa_invariance_m", "pelvis_invariance_m")
SETS = ("present", "known")
HEADS = ("apart_in", "repeated_in", "unordered_in", "unnumbered_in")
"""How fields of shards are put together: added, the largest, the largest of those known, united, the first few."""


@dataclass(frozen=True)
class Seen:
    """What was seen, as plain data."""

    farthest: tuple[float, float, str]
    """Metres and degrees that true cameras of one sequence differ by, where metres are most, and the sequence."""
    kept: int = 0
    """Samples that are scored."""
    sequences: int = 0
    alone: int = 0
    """Sequences of one sample."""
    unnamed: int = 0
    """Sequences whose subject is unknown."""
    several: int = 0
    """Sequences with more than one true camera."""
    moving: int = 0
    """Sequences whose true cameras differ by more than :data:`STILL`."""
    degrees: float = 0.0
    """Most that true cameras of one sequence are turned."""
    present: tuple[str, ...] = ()
    """Those of :func:`asked` that some sample has."""
    known: tuple[str, ...] = ()
    """Modalities that are named."""
    deviation_m: float = 0.0
    """Largest distance between the joints of two fused modalities."""
    draws: tuple[float, ...] = ()
    """Mean errors through reference frames that were drawn."""
    drawn: int = 0
    """Samples that they are means of."""
    choices: int = 0
    """Sequences among them with more than one frame to choose from."""
    apart: int = 0
    """Sequences whose two sides take their reference from different frames."""
    apart_in: tuple[str, ...] = ()
    repeats: int = 0
    """Samples that repeat a frame number of their sequence."""
    repeated: int = 0
    """Sequences that hold such."""
    repeated_in: tuple[str, ...] = ()
    unordered: int = 0
    """Sequences with frame numbers whose scores the order of rows changes: by their first camera, or by ties."""
    unordered_in: tuple[str, ...] = ()
    unnumbered: int = 0
    """Sequences that lack frame numbers, where the order of the file is used as the order in time."""
    unnumbered_in: tuple[str, ...] = ()
    lost: int = 0
    """Samples that are dropped since they have no reference camera."""
    predicted_m: float = 0.0
    predicted_degrees: float = 0.0
    """Most that predicted cameras of one sequence differ by, where every frame is its own reference."""
    pa_invariance_m: float | None = None
    pelvis_invariance_m: float | None = None

    def record(self) -> dict[str, Any]:
        """Return plain data, from which :meth:`of` makes the same again."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Seen:
        """Make it of plain data, as it was stored."""
        held: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in record.items()}
        return cls(**held)


def see(projector: Projector, tracker: Tracker, seed: int, most: int = MOST, stream: Sequence[str] = ()) -> Seen:
    """Look at everything; reference frames are drawn for ``most`` samples or more, in a stream of random numbers."""
    shape, still = _invariance(projector, tracker)
    cameras = projector.file.cameras
    found: dict[str, Any] = {
        "kept": int((projector.reasons == KEPT).sum()),
        "lost": int((projector.reasons == NO_REFERENCE).sum()),
        "present": tuple(
            label for label, side, name in asked(projector.settings) if projector.poses(side, name).ok.any()
        ),
        "known": tuple(sorted({name for side in ("pred", "gt") for name in cameras[side].names_known()})),
        "deviation_m": tracker.deviation,
        "pa_invariance_m": shape,
        "pelvis_invariance_m": still,
    }
    still_cameras = _moving(projector) if projector.settings.is_projected else {"farthest": (0.0, 0.0, "")}
    found |= _sequences(projector) | still_cameras | _apart(projector) | _order(projector)
    return Seen(**found, **drawn(projector, generator(seed, "skeleton", "reference", *stream), most))


def united(every: Sequence[Seen]) -> Seen:
    """Put together what was seen in shards; a sequence lies in one of them."""

    def of(name: str) -> list[Any]:
        return [getattr(one, name) for one in every]

    found: dict[str, Any] = {name: sum(of(name)) for name in COUNTS}
    found |= {name: max(of(name)) for name in LARGEST}
    found |= {name: max((v for v in of(name) if v is not None), default=None) for name in IF_KNOWN}
    found |= {name: tuple(sorted(set(itertools.chain(*of(name))))) for name in SETS}
    found |= {name: _head(itertools.chain(*of(name))) for name in HEADS}
    return Seen(farthest=min(of("farthest"), key=_far), draws=_pooled(every), **found)


def asked(settings: Settings) -> list[tuple[str, str, str]]:
    """Return the cameras that are looked for: what each is called, its side, its modality."""
    if not settings.is_projected:
        return []
    others = settings.modalities if settings.mode == "multi_sensor" else ()
    return [
        (f"{side} {name}:{settings.sensor(name)}", side, name)
        for name in dict.fromkeys((settings.target, *others))
        for side in ("pred", "gt")
        if side == "pred" or name == settings.target
    ]


def extents(projector: Projector) -> dict[str, Array]:
    """Return how large bodies are, by the names of :data:`EXTENTS`; those that were looked at stand for all."""
    rows, step = _spaced(projector)
    sides = {"truth": projector.file.truth, "prediction": projector.file.prediction}
    found = {}
    for side, name in EXTENTS.items():
        joints = sides[side][rows].astype(np.float64)
        sizes = kinematics.extents(joints, np.ones(joints.shape[:2], dtype=bool))
        found[name] = np.repeat(np.minimum(sizes, _LONGEST), step)  # so that shards weigh what they hold
    return found


def _spaced(projector: Projector) -> tuple[Array, int]:
    """Return kept samples, evenly spaced, and how many lie between them: enough to judge what all are like."""
    kept = np.flatnonzero(projector.reasons == KEPT)
    step = max(len(kept) // MOST, 1)
    return kept[::step], step


def _sequences(projector: Projector) -> dict[str, Any]:
    named = projector.sequences.named
    sizes = np.bincount(projector.sequences.codes, minlength=len(named))
    repeated = projector.sequences.repeated()
    return {
        "sequences": len(named),
        "alone": int((sizes == 1).sum()),
        "unnamed": sum(not one.subject for one in named),
        "repeats": int(repeated.sum()),
        "repeated": int((repeated > 0).sum()),
        "repeated_in": _head(named[code].sequence for code in np.flatnonzero(repeated)),
    }


def _moving(projector: Projector) -> dict[str, Any]:
    named, codes = projector.sequences.named, projector.sequences.codes
    poses = projector.poses("gt", projector.settings.target)
    metres, degrees = spread(poses, codes, len(named))
    most = np.flatnonzero(metres == metres.max())
    predicted = {}
    if projector.settings.reference == "per_frame":
        apart = spread(projector.poses("pred", projector.settings.target), codes, len(named))
        predicted = {"predicted_m": float(apart[0].max()), "predicted_degrees": float(apart[1].max())}
    return {
        **predicted,
        "several": int((np.bincount(codes[poses.ok]) > 1).sum()),
        "moving": int(((metres > STILL[0]) | (degrees > STILL[1])).sum()),
        "farthest": min(((float(metres[at]), float(degrees[at]), named[at].sequence) for at in most), key=_far),
        "degrees": float(degrees.max()),
    }


def _far(one: tuple[float, float, str]) -> tuple[float, float, tuple[int, int, str]]:
    """Sort by metres, then by degrees, then by name, so that it does not matter where a sequence lies."""
    return -one[0], -one[1], natural_key(one[2])


def _apart(projector: Projector) -> dict[str, Any]:
    """Count sequences whose two sides take their reference from different frames."""
    if projector.settings.reference != "first":
        return {}
    truth, prediction = (projector.first(side, projector.settings.target) for side in ("gt", "pred"))
    different = np.flatnonzero((truth >= 0) & (prediction >= 0) & (truth != prediction))
    return {
        "apart": len(different),
        "apart_in": _head(projector.sequences.named[code].sequence for code in different),
    }


def _order(projector: Projector) -> dict[str, Any]:
    """Count sequences whose scores depend on the order of rows."""
    settings, sequences = projector.settings, projector.sequences
    names = [one.sequence for one in sequences.named]
    moved = np.zeros(len(names), dtype=bool)
    if not settings.by_frame:
        modalities = (settings.target, *(settings.modalities if settings.mode == "multi_sensor" else ()))
        for side, modality in itertools.product(("gt", "pred"), dict.fromkeys(modalities)):
            moved |= _first_differs(projector, side, modality)
        moved |= (sequences.repeated() > 0) & (settings.window > 1)
        moved &= ~sequences.unnumbered
    lacking = sequences.unnumbered if settings.uses_order else np.zeros(len(names), dtype=bool)
    return {
        "unordered": int(moved.sum()),
        "unordered_in": _head(names[code] for code in np.flatnonzero(moved)),
        "unnumbered": int(lacking.sum()),
        "unnumbered_in": _head(names[code] for code in np.flatnonzero(lacking)),
    }


def _first_differs(projector: Projector, side: str, modality: str) -> Array:
    """Say by sequence whether its first camera in the file is another than that of its first frame, or of a tie."""
    sequences, poses = projector.sequences, projector.poses(side, modality)
    order = sequences.order()
    ties = np.lexsort((-np.arange(len(order)), sequences.frames, sequences.codes))  # the last of equal frames first
    taken, *others = (poses.take(projector.first(side, modality, look)) for look in (None, order, ties))
    different = np.zeros(len(taken), dtype=bool)
    for other in others:
        different |= (taken.rotations != other.rotations).any(axis=(1, 2))
        different |= (taken.translations != other.translations).any(axis=1)
    return different & taken.ok


def _head(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key)[:NAMED])


def _pooled(every: Sequence[Seen]) -> tuple[float, ...]:
    """Return the draws of all shards, each weighed with its samples."""
    held = [one for one in every if one.drawn]
    size = sum(one.drawn for one in held)
    draws = zip(*(one.draws for one in held), strict=True)
    return tuple(
        math.fsum(error * one.drawn for error, one in zip(errors, held, strict=True)) / size for errors in draws
    )


def _invariance(projector: Projector, tracker: Tracker) -> tuple[float | None, float | None]:
    """Return how far PA-MPJPE of samples moves under projection, and pelvis-centred MPJPE without camera translation.

    None where smoothing or fusion change the shape, nothing is projected, or joints are hidden.
    """
    hidden = projector.file.seen is not None
    if projector.settings.window > 1 or tracker.deviation > EFFECT_M or hidden or not projector.settings.is_projected:
        return None, None
    rows, _ = _spaced(projector)
    if not len(rows):
        return None, None
    truth, prediction = (side[rows].astype(np.float64) for side in (projector.file.truth, projector.file.prediction))
    found = align(truth, prediction, alignments=("similarity",))
    shape = float(np.abs(found.sums["similarity"] / found.count - tracker.errors["pa_mpjpe"][rows]).max())
    turned = [projector.turned(side, rows) for side in ("gt", "pred")]
    still = align(*turned, alignments=("root",), pelvis=tracker.root)
    return shape, float(np.abs(still.sums["root"] / still.count - tracker.errors["pelvis_mpjpe"][rows]).max())
