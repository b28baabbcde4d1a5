"""What a ``skeleton`` run keeps of its worst samples, and the view of one clip: true and predicted bodies that move.

Which clips are kept
--------------------
A sequence is cut into windows of :data:`LENGTH` samples that begin every half of it, by frame; what is shorter is one
window. Every sample belongs to the window in whose middle it lies most, and a window is as bad as the worst MPJPE, in
the frame of the sensor, of the samples that belong to it. The worst windows are kept, at most as many as are asked for
and :data:`SAMPLES` samples in all; samples that a worse clip holds already do not count for another.
Windows do not depend on the system, so that runs on the same data can be looked at side by side. A clip of a whole
sequence has its name; others say which samples of it they are.

What is kept of a clip
----------------------
Both sides in the frame of the sensor, as they were scored (projected, fused and smoothed), and the error of every joint
in millimetres. A sample that was dropped is NaN, and so are a true joint that is hidden and its error. Bones are those
that were given; else those of SMPL, where there are 24 joints and its bones fit them; else the shortest tree that joins
the joints of the kept clips.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.table import View
from gnomon.core.tallies import Array
from gnomon.numerics import rigid
from gnomon.numerics.procrustes import Aligned
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit, Worst
from gnomon.runs.run import Run
from gnomon.simulation.body import SMPL
from gnomon.suites.skeleton.projection import Block
from gnomon.suites.skeleton.sequences import NO_FRAME, Sequences

LENGTH, STRIDE = 300, 150
SAMPLES = 20_000
MM = 1000.0
FITS = 1.5
"""The bones of SMPL fit where they are together at most so many times as long as the shortest tree."""
PART = " samples "

MOST_BONES = 4
"""For each joint; more are not drawn."""


@dataclass(frozen=True)
class Clip:
    """Samples of one sequence, by frame, and what was scored of those that were kept."""

    case: str
    frames: Array
    """Their numbers, or ``NO_FRAME``."""
    truth: Array
    prediction: Array
    errors: Array
    """By joint, in metres; NaN where a sample was dropped."""
    badness: float
    """The worst mean error of a sample, in metres."""


@dataclass(frozen=True)
class Places:
    """Where samples lie in their sequences, by frame."""

    sequences: Sequences
    cases: Sequence[str]
    """The names of the sequences."""

    @cached_property
    def starts(self) -> Array:
        """Where every sequence begins in the order of all samples, and where the last one ends."""
        return np.searchsorted(self.sequences.codes[self.sequences.order()], np.arange(len(self.cases) + 1))

    @cached_property
    def inside(self) -> Array:
        """The place of every sample in its sequence."""
        order = self.sequences.order()
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return np.asarray(places - self.starts[self.sequences.codes])

    def size(self, code: int) -> int:
        """Return how many samples a sequence has."""
        return int(self.starts[code + 1] - self.starts[code])


def offer_clips(worst: Worst[Clip], places: Places, block: Block, found: Aligned) -> int:
    """Offer the worst windows of a block of whole sequences; return how many windows it has."""
    if not worst.most or not len(block.rows):
        return 0
    chosen, count = _choose_windows(places, block, found.sums["none"] / found.count, worst.most)
    for badness, code, start in chosen:
        size = places.size(code)
        end = min(start + LENGTH, size)
        case = places.cases[code]
        name = case if (start, end) == (0, size) else f"{case}{PART}{start + 1}-{end}"
        worst.offer(name, badness, partial(_cut, name, badness, code, (start, end), places, block, found), end - start)
    return count


def _choose_windows(places: Places, block: Block, errors: Array, most: int) -> tuple[list[tuple[float, int, int]], int]:
    """Return the worst windows of a block (badness, sequence, first sample in it; the worst first) and their number."""
    inside = places.inside[block.rows]
    windows = _window(inside, np.diff(places.starts)[block.codes])
    order = np.lexsort((inside, -errors, windows, block.codes))
    keys = np.stack([block.codes[order], windows[order]])
    edges = np.append(np.flatnonzero((np.diff(keys, axis=1, prepend=-1) != 0).any(axis=0)), len(order))
    waiting = [(-float(errors[order[edge]]), int(edge), int(end)) for edge, end in itertools.pairwise(edges)]
    heapq.heapify(waiting)
    taken: dict[int, list[int]] = {}
    out: list[tuple[float, int, int]] = []
    while waiting and len(out) < most:
        bad, edge, end = heapq.heappop(waiting)
        code, start = int(block.codes[order[edge]]), int(windows[order[edge]]) * STRIDE
        others = taken.setdefault(code, [])
        left = [row for row in range(edge, end) if not _held(int(inside[order[row]]), others)]
        if left and left[0] == edge:
            others.append(start)
            out.append((-bad, code, start))
        elif left:  # its next worst sample that no clip holds has to wait for its turn
            heapq.heappush(waiting, (-float(errors[order[left[0]]]), left[0], end))
    return out, len(edges) - 1


def _cut(
    name: str, badness: float, code: int, ends: tuple[int, int], places: Places, block: Block, found: Aligned
) -> Clip:
    """Cut a clip out of a block: the samples of a sequence from one place in it to another."""
    start, end = ends
    inside = places.inside[block.rows]
    own = np.flatnonzero((block.codes == code) & (inside >= start) & (inside < end))
    shape = end - start, block.truth.shape[1]
    sides = [np.full((*shape, 3), np.nan, dtype=np.float32) for _ in range(2)]
    errors = np.full(shape, np.nan)
    for side, joints in zip(sides, (block.truth, block.prediction), strict=True):
        side[inside[own] - start] = joints[own]
    errors[inside[own] - start] = found.errors["none"][own]
    if block.seen is not None:
        sides[0][np.isnan(errors)] = np.nan
    rows = places.sequences.order()[places.starts[code] + start : places.starts[code] + end]
    return Clip(name, places.sequences.frames[rows], sides[0], sides[1], errors, badness)


def pack_clips(
    clips: Sequence[Clip], of: int, joints: Sequence[str], bones: Sequence[tuple[int, int]]
) -> dict[str, bytes]:
    """Return the file that holds clips, of so many windows; none where nothing is kept."""
    shape = _shape([clip.truth for clip in clips], joints, bones) if clips else {}
    return exhibits.files_of([_make_exhibit(clip, shape) for clip in clips], of)


def _make_exhibit(clip: Clip, shape: Mapping[str, Any]) -> Exhibit:
    frames = clip.frames
    numbered = bool((frames != NO_FRAME).all() and frames.max(initial=0) <= np.iinfo(np.int32).max)
    kept = ~np.isnan(clip.errors).all(axis=1)
    errors = MM * clip.errors
    arrays = {
        "frames": (frames if numbered else np.arange(len(frames))).astype(np.int32),
        "truth": clip.truth,
        "prediction": clip.prediction,
        "joint_error": errors.astype(np.float32),
    }
    mean = float(np.nanmean(errors[kept])) if kept.any() else None
    note = f"worst {MM * clip.badness:.1f} mm, mean {mean:.1f} mm of {int(kept.sum()):,} samples"
    return Exhibit(clip.case, {**shape, "mean_mm": mean}, arrays, clip.badness, note)


def merge_clips(folders: Sequence[tuple[Path, Mapping[str, str]]], most: int) -> dict[str, bytes]:
    """Return the file of the worst clips of all shards.

    Parameters
    ----------
    folders
        Where the file of each shard is, and what its sequences are called where all shards are known.
    most
        How many clips are kept.
    """
    listings = [exhibits.listed(folder) for folder, _ in folders]
    named = [
        (-entry.badness, _rename(entry.case, names), entry.case, folder)
        for (folder, names), listing in zip(folders, listings, strict=True)
        for entry in listing.entries
    ]
    worst = Worst[Exhibit](most, SAMPLES)
    for _, name, case, folder in sorted(named)[:most]:
        one = replace(exhibits.read(folder, case), case=name)
        worst.offer(name, one.badness, lambda one=one: one, len(one.arrays["frames"]))  # type: ignore[misc]
    return exhibits.files_of(worst.items, sum(listing.of for listing in listings))


def _rename(case: str, names: Mapping[str, str]) -> str:
    """Return the name of a clip of a sequence that is called otherwise."""
    sequence, cut, rest = case.partition(PART)
    return f"{names[sequence]}{cut}{rest}"


def _held(place: int, starts: Sequence[int]) -> bool:
    return any(start <= place < start + LENGTH for start in starts)


def _window(inside: Array, sizes: Array) -> Array:
    """Return the window of each sample: of those that hold it, the one whose middle is nearest."""
    last = np.maximum(-(-(sizes - LENGTH) // STRIDE), 0)
    return np.asarray(np.clip((inside - STRIDE // 2) // STRIDE, 0, last))


def _shape(truths: Sequence[Array], joints: Sequence[str], bones: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the names of joints, the bones, and which way is up where that is known."""
    truth = np.concatenate(truths)
    whole = np.isfinite(truth).all(axis=(1, 2))
    if not whole.any():  # every sample hides a joint: bones cannot be judged by their lengths
        return {"joints": list(joints), "bones": [list(bone) for bone in bones], "up": None}
    truth = truth[whole].astype(np.float64)
    apart = rigid.spans(truth)
    tree = shortest_tree(apart)
    usual = len(joints) == len(SMPL.names) and _length(apart, SMPL.bones) <= FITS * _length(apart, tree)
    named = list(joints)
    if usual and named == [str(index) for index in range(len(named))]:
        named = [f"{index} {name}" for index, name in enumerate(SMPL.names)]
    chosen = bones or (SMPL.bones if usual else tree)
    return {"joints": named, "bones": [list(bone) for bone in chosen], "up": _up(truth) if usual else None}


def _length(apart: Array, bones: Sequence[tuple[int, int]]) -> float:
    return float(sum(apart[a, b] for a, b in bones))


def shortest_tree(apart: Array) -> tuple[tuple[int, int], ...]:
    """Return the bones of the shortest tree over joints, from their distances ``(J, J)`` (Prim, 1957).

    >>> shortest_tree(np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]]))
    ((1, 0), (2, 1))
    """
    nearest = np.zeros(len(apart), dtype=np.int64)
    away = apart[0].copy()
    free = np.ones(len(apart), dtype=np.bool_)
    free[0] = False
    bones = []
    while free.any():
        joint = int(np.where(free, away, np.inf).argmin())
        bones.append((joint, int(nearest[joint])))
        free[joint] = False
        closer = free & (apart[joint] < away)
        nearest[closer], away[closer] = joint, apart[joint][closer]
    return tuple(bones)


def _up(truth: Array) -> list[float] | None:
    """Return the mean direction from the ankles to the head, for joints in the order of SMPL."""
    feet = (truth[:, SMPL.index["left_ankle"]] + truth[:, SMPL.index["right_ankle"]]) / 2
    mean = (truth[:, SMPL.index["head"]] - feet).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).tolist() if length > 0 else None


def shown(runs: Sequence[Run], case: str) -> View:
    """Return a clip: the true body, and what each system made of it. A sequence stands for its worst clip."""
    name = _name(runs, case)
    kept, notes = exhibits.kept_by(runs, name)
    found = {system: item for system, (_, item) in kept.items()}
    with exhibits.undamaged(name):
        _same(found, notes)
        data = _data(name, found)
    if data["joints"] and data["joints"][0] == f"0 {SMPL.names[0]}":
        notes.append("joints are named by the order of SMPL, which their distances fit; --joint-names gives others")
    return View("motion", f"skeleton: {name}", "motion", data, tuple(notes))


def _name(runs: Sequence[Run], case: str) -> str:
    """Return the name of a clip: the case itself, or the worst clip of a sequence of that name."""
    listed = [entry.case for run in runs for entry in exhibits.listed(run.path).entries]
    part = next((name for name in listed if name.startswith(f"{case}{PART}")), case)
    return case if case in listed else part


def _same(found: dict[str, Exhibit], notes: list[str]) -> None:
    """Leave out systems whose truth is not that of the first: another file, or another frame of the sensor."""
    first, *others = found
    a = found[first].arrays
    for name in others:
        b = found[name].arrays
        same = np.array_equal(a["frames"], b["frames"]) and a["truth"].shape == b["truth"].shape
        gap = np.abs(a["truth"] - b["truth"]) if same else np.ones(1)
        if np.nanmax(gap, initial=0.0) > 1e-3:
            del found[name]
            notes.append(f"{name} is left out: its truth is in another frame, or another one, than that of {first}")


def _mean_error(errors: Array) -> Array:
    """Return the mean error of every sample over its visible joints; NaN where it was dropped."""
    shown = ~np.isnan(errors)
    total = np.where(shown, errors, 0.0).sum(axis=1, dtype=np.float64)
    count = shown.sum(axis=1)
    mean = np.divide(total, count, out=np.full(len(errors), np.nan), where=count > 0)
    return np.asarray(mean, np.float32)


def _data(case: str, found: Mapping[str, Exhibit]) -> dict[str, Any]:
    first = next(iter(found.values()))
    frames, joints = first.arrays["frames"], list(first.data["joints"])
    truth = np.full((len(frames), len(joints), 3), np.nan, dtype=np.float32)
    predictions = []
    for name, item in found.items():
        missing = np.isnan(truth).any(axis=2)
        truth[missing] = item.arrays["truth"].reshape(truth.shape)[missing]
        errors = item.arrays["joint_error"].reshape(truth.shape[:2]).astype(np.float32)
        predictions.append(
            {
                "system": name,
                "joints": item.arrays["prediction"].reshape(truth.shape).astype(np.float32),
                "valid": (~np.isnan(errors).all(axis=1)).astype(np.uint8),
                "error": _mean_error(errors),
                "joint_error": errors,
            }
        )
    own = predictions[0]["error"]
    return {
        "case": case,
        "joints": joints,
        "bones": [[int(a), int(b)] for a, b in first.data["bones"][: MOST_BONES * len(first.data["joints"])]],
        "up": first.data["up"],
        "frames": frames.astype(np.int32),
        "truth": truth,
        "truth_valid": (~np.isnan(truth).any(axis=2)).astype(np.uint8),
        "predictions": predictions,
        "worst": int(np.nanargmax(own)) if not np.isnan(own).all() else 0,
        "unit": "m",
    }
