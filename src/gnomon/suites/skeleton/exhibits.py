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
in millimetres. A sample that was dropped is NaN. Bones are those that were given; else those of SMPL, where there are
24 joints and its bones fit them; else the shortest tree that joins the joints of the kept clips.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.table import View
from gnomon.core.tallies import Array
from gnomon.numerics import rigid
from gnomon.numerics.procrustes import Aligned
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit
from gnomon.runs.run import Run
from gnomon.suites.skeleton.projection import Block
from gnomon.suites.skeleton.sequences import NO_FRAME, Sequences
from gnomon.suites.skeleton.simulation.body import INDEX, NAMES, PARENTS

LENGTH, STRIDE = 300, 150
SAMPLES = 20_000
MM = 1000.0
FITS = 1.5
"""The bones of SMPL fit where they are together at most so many times as long as the shortest tree."""
SMPL = tuple((joint, parent) for joint, parent in enumerate(PARENTS) if parent >= 0)
PART = " samples "

MOST_BONES = 4
"""For each joint; more are not drawn."""


@dataclass(frozen=True)
class Clip:
    """Samples of one sequence, by frame: rows of the file, and what was scored of those that were kept."""

    case: str
    rows: Array
    truth: Array
    prediction: Array
    errors: Array
    """By joint, in metres; NaN where a sample was dropped."""
    badness: float
    """The worst mean error of a sample, in metres."""


class Keeper:
    """Holds the worst clips so far."""

    def __init__(self, most: int, sequences: Sequences, cases: Sequence[str]) -> None:
        self.most, self.sequences, self.cases = most, sequences, cases
        self.windows = 0
        self._kept: list[Clip] = []
        if most:
            order = sequences.order()
            self._order, self._starts = order, np.searchsorted(sequences.codes[order], np.arange(len(cases) + 1))
            self._place = np.empty(len(order), dtype=np.int64)
            self._place[order] = np.arange(len(order))

    def offer(self, block: Block, found: Aligned) -> None:
        """Take the worst windows of a block of whole sequences."""
        if not self.most or not len(block.rows):
            return
        errors = found.sums["none"] / found.count
        chosen = self._chosen(block, errors)
        if len(self._kept) == self.most:
            chosen = [item for item in chosen if item[0] >= self._kept[-1].badness]
        self._kept += [self._clip(bad, code, start, block, found) for bad, code, start in chosen]
        self._kept.sort(key=lambda clip: (-clip.badness, clip.case))
        sizes = np.cumsum([len(clip.rows) for clip in self._kept])
        del self._kept[min(self.most, max(1, int(np.searchsorted(sizes, SAMPLES, side="right")))) :]

    def _chosen(self, block: Block, errors: Array) -> list[tuple[float, int, int]]:
        """Return the worst windows of a block: badness, sequence and first sample in it, the worst first."""
        inside = self._place[block.rows] - self._starts[block.codes]
        windows = _window(inside, np.diff(self._starts)[block.codes])
        order = np.lexsort((inside, -errors, windows, block.codes))
        keys = np.stack([block.codes[order], windows[order]])
        edges = np.append(np.flatnonzero((np.diff(keys, axis=1, prepend=-1) != 0).any(axis=0)), len(order))
        self.windows += len(edges) - 1
        waiting = [(-float(errors[order[edge]]), int(edge), int(end)) for edge, end in itertools.pairwise(edges)]
        heapq.heapify(waiting)
        taken: dict[int, list[int]] = {}
        out: list[tuple[float, int, int]] = []
        while waiting and len(out) < self.most:
            bad, edge, end = heapq.heappop(waiting)
            code, start = int(block.codes[order[edge]]), int(windows[order[edge]]) * STRIDE
            others = taken.setdefault(code, [])
            left = [row for row in range(edge, end) if not _held(int(inside[order[row]]), others)]
            if left and left[0] == edge:
                others.append(start)
                out.append((-bad, code, start))
            elif left:  # its next worst sample that no clip holds has to wait for its turn
                heapq.heappush(waiting, (-float(errors[order[left[0]]]), left[0], end))
        return out

    def _clip(self, bad: float, code: int, start: int, block: Block, found: Aligned) -> Clip:
        size = int(self._starts[code + 1] - self._starts[code])
        end = min(start + LENGTH, size)
        rows = self._order[self._starts[code] + start : self._starts[code] + end]
        inside = self._place[block.rows] - self._starts[code]
        own = np.flatnonzero((block.codes == code) & (inside >= start) & (inside < end))
        places = inside[own] - start
        case = self.cases[code]
        name = case if (start, end) == (0, size) else f"{case}{PART}{start + 1}-{end}"
        shape = len(rows), block.truth.shape[1]
        sides = [np.full((*shape, 3), np.nan, dtype=np.float32) for _ in range(2)]
        errors = np.full(shape, np.nan)
        for side, joints in zip(sides, (block.truth, block.prediction), strict=True):
            side[places] = joints[own]
        errors[places] = found.errors["none"][own]
        return Clip(name, rows, sides[0], sides[1], errors, bad)

    def files(self, joints: Sequence[str], bones: Sequence[tuple[int, int]]) -> dict[str, bytes]:
        """Return the file of the run directory; none where nothing is to be kept."""
        if not self.most:
            return {}
        shape = _shape([clip.truth for clip in self._kept], joints, bones) if self._kept else {}
        return {exhibits.NAME: exhibits.pack([self._exhibit(clip, shape) for clip in self._kept], self.windows)}

    def _exhibit(self, clip: Clip, shape: Mapping[str, Any]) -> Exhibit:
        frames = self.sequences.frames[clip.rows]
        numbered = bool((frames != NO_FRAME).all() and frames.max(initial=0) <= np.iinfo(np.int32).max)
        kept = ~np.isnan(clip.errors).any(axis=1)
        errors = MM * clip.errors
        arrays = {
            "frames": (frames if numbered else np.arange(len(frames))).astype(np.int32),
            "truth": clip.truth,
            "prediction": clip.prediction,
            "joint_error": errors.astype(np.float32),
        }
        mean = float(errors[kept].mean()) if kept.any() else None
        note = f"worst {MM * clip.badness:.1f} mm, mean {mean:.1f} mm of {int(kept.sum()):,} samples"
        return Exhibit(clip.case, {**shape, "mean_mm": mean}, arrays, clip.badness, note)


def _held(place: int, starts: Sequence[int]) -> bool:
    return any(start <= place < start + LENGTH for start in starts)


def _window(inside: Array, sizes: Array) -> Array:
    """Return the window of each sample: of those that hold it, the one whose middle is nearest."""
    last = np.maximum(-(-(sizes - LENGTH) // STRIDE), 0)
    return np.asarray(np.clip((inside - STRIDE // 2) // STRIDE, 0, last))


def _shape(truths: Sequence[Array], joints: Sequence[str], bones: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the names of joints, the bones, and which way is up where that is known."""
    truth = np.concatenate(truths)
    truth = truth[np.isfinite(truth).all(axis=(1, 2))].astype(np.float64)
    apart = rigid.spans(truth)
    tree = shortest_tree(apart)
    usual = len(joints) == len(NAMES) and _length(apart, SMPL) <= FITS * _length(apart, tree)
    named = list(joints)
    if usual and named == [str(index) for index in range(len(named))]:
        named = [f"{index} {name}" for index, name in enumerate(NAMES)]
    chosen = bones or (SMPL if usual else tree)
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
    feet = (truth[:, INDEX["left_ankle"]] + truth[:, INDEX["right_ankle"]]) / 2
    mean = (truth[:, INDEX["head"]] - feet).mean(axis=0)
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
    if data["joints"] and data["joints"][0] == f"0 {NAMES[0]}":
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
                "valid": (~np.isnan(errors).any(axis=1)).astype(np.uint8),
                "error": errors.mean(axis=1, dtype=np.float64).astype(np.float32),
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
