"""The audit finds every flaw of the published episode protocol by itself, and none of them in the strict variant.

A simulated episode of two minutes goes through ``gnomon run episode`` in both variants, and the folder of runs through
``gnomon audit``, which is not told what to look for. Then: the published sizes and overlaps of 5,821 frames, from the
arithmetic of windows alone; and, where GNOMON_REAL_DATA names the real annotation file, how far wrists of hands and of
the body are apart, as published and after the transform. That a trivial baseline wins is a result: it is said of both
variants, and asked of none.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from acceptance.support import ROOT, Promise
from gnomon.audit.ranges import read_ranges
from gnomon.audit.results import trivial_baselines
from gnomon.audit.split import FOLD
from gnomon.core.samples import Samples
from gnomon.runs.run import Run, load
from gnomon.runs.samples import read
from gnomon.suites.episode.captions import FrameLabels, Segment
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import BLOCKS, column_numbers
from gnomon.suites.episode.features.windows import majority, starts
from gnomon.suites.episode.frames import CAMERA, WORLD, Points, Poses
from gnomon.suites.episode.layout import Place
from gnomon.suites.episode.options import TRIVIAL
from gnomon.suites.episode.tasks.data import SIDES, Recorded
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import build, samples

FRAMES, N = 2400, 5821
PLAIN = 3
OVERLAPS = dict.fromkeys(TASKS, PLAIN) | {
    "next_action": 7,
    "hand_trajectory_forecast": 5,
    "transition_detection": 4,
    "temporal_order": 8,
    "misalignment_detection": 22,
}
"""Published test samples that read what training samples read."""
USABLE = {"timeline_action": 1144, "timeline_subtask": 1147}
"""Windows of the public sample with a label."""
CAPTIONED = 6
"""Tasks that read caption text as published."""
REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "episode" / "annotation-8-frames.hdf5"
FLAWS = {
    "read-ranges-overlap": "in 12 of 12 folds",
    "cuts-differ": "train in one task and test in another",
    "label-derived-input": "caption_objects_interaction_text",
    "whole-recording-input": "slam_point_cloud",
    "tags-differ": "hands camera, root world",
    "duplicate-queries": "equal a query with another positive",
    "one-class-target": "contact_prediction: all",
    "fitted-on-test": "class list of timeline_action",
    "invalid-as-values": "hand_trajectory_forecast",
    "target-clamped": "nearer than their horizon",
    "overlapping-units": "overlap a sample of another unit",
}
"""Finding of every flaw, and what its evidence must name."""
LIMITS = ("shared-tag", "unseen-test-classes")
"""What one recording, cut in time, cannot help: both sides are of one session, and later classes are new."""


def gnomon(*words: object) -> str:
    command = [sys.executable, "-m", "gnomon", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"   {' '.join(command)}: {done.stderr[-500:]}")
    return done.stdout


def variant(path: str) -> str:
    return json.loads((Path(path) / "manifest.json").read_bytes())["protocol"]["variant"]


def flaws(promise: Promise, found: dict) -> None:
    """State what was found in each variant."""
    told: dict[str, dict[str, set[str]]] = {"published": {}, "strict": {}}
    for item in found["runs"]:
        own = told[variant(item["paths"][0])]
        for finding in item["findings"]:
            if finding["severity"] != "info" or finding["id"] in FLAWS:
                own.setdefault(finding["id"], set()).add(finding["evidence"])
    for name, says in FLAWS.items():
        texts = [text for text in told["published"].get(name, ()) if says in text]
        promise.figure(f"published, {name}", min(texts, default="not found")[:110], f"found: {says}", bool(texts))
    there = sorted(set(told["strict"]) & set(FLAWS))
    promise.figure("strict, flaws of the published protocol", ", ".join(there) or "none", "none", not there)
    other = {name: sorted(own)[0][:100] for name, own in told["strict"].items() if name not in FLAWS}
    promise.figure(
        "strict, other findings", ", ".join(sorted(other)) or "none", "limits only", set(other) <= set(LIMITS)
    )
    captioned = max(text.partition(":")[0].count(",") + 1 for text in told["published"]["label-derived-input"])
    promise.figure("tasks that read caption text", captioned, str(CAPTIONED), captioned == CAPTIONED)


def fold(whole: Samples, task: str) -> Samples:
    rows = [row for row, name in enumerate(whole.column(FOLD)) if name == task]
    return Samples(
        **{name: tuple(getattr(whole, name)[row] for row in rows) for name in ("ids", "cases", "parts", "digests")},
        input_range=whole.input_range[rows],
        target_range=whole.target_range[rows],
        tags={},
    )


def overlap(task: Samples) -> int:
    """Return how many test samples read what training samples read."""
    found = read_ranges(task)
    return int(re.search(r"(\d+) of \d+ test samples", found[0].evidence)[1]) if found else 0


def overlaps(promise: Promise, paths: dict[str, Path]) -> None:
    for name, path in paths.items():
        stored = read(path)
        counts = {task: overlap(fold(stored, task)) for task in TASKS}
        wanted = OVERLAPS if name == "published" else dict.fromkeys(TASKS, 0)
        said = ", ".join(f"{task} {count}" for task, count in counts.items())
        bound = "as in the published sample" if name == "published" else "none"
        promise.figure(f"{name}, test samples that training reads", said, bound, counts == wanted)


def winners(promise: Promise, found: dict, runs: dict[str, dict[str, Run]]) -> None:
    """State where a trivial baseline is not worse than the head: by the audit, and for every headline."""
    told = {
        variant(item["paths"][0]): {one["where"] for one in item["findings"] if one["id"] == "trivial-baseline-wins"}
        for item in found["across"]
    }
    for name, own in runs.items():
        won = set()
        for task in TASKS.values():
            measure = f"{task.metric}[{task.name}]"
            scores = {system: score.value for system, run in own.items() if (score := run.find(measure))}
            plain = {system: value for system, value in scores.items() if system in TRIVIAL}
            heads = {system: value for system, value in scores.items() if system not in TRIVIAL}
            for finding in trivial_baselines(heads, plain, measure=measure, direction=task.direction):
                print(f"         {name}: {finding.evidence}", flush=True)
                won |= {measure} if finding.id == "trivial-baseline-wins" else set()
        said = f"{len(told[name])} of {len(won)}"
        promise.figure(f"{name}, tasks that a trivial baseline wins, as the audit says", said, "all", told[name] == won)
    promise.at_least("published, tasks that a trivial baseline wins", len(told["published"]), 1)


class NoFeatures:
    """Features of nothing but their number: sizes and ranges need no more."""

    def __init__(self, windows: int) -> None:
        self.values = np.zeros((windows, sum(block.dim for block in BLOCKS)), dtype=np.float32)
        self.coverage = np.ones((windows, len(BLOCKS)), dtype=np.float32)

    def columns(self, blocks: tuple[str, ...]) -> np.ndarray:
        """Return the columns of some blocks."""
        return np.array(column_numbers(blocks))


def labelled(usable: int) -> tuple[str, ...]:
    """Return labels of N frames such that so many windows have one: two alternate somewhere."""
    for length in range(200):
        labels = ["cut"] * 200 + ["stir", "pour"] * length + ["cut"] * (N - 200 - 2 * length)
        if sum(bool(majority(labels[start : start + 20])[0]) for start in starts(N).tolist()) == usable:
            return tuple(labels)
    raise SystemExit(f"   no stretch leaves {usable} windows with a label")


def public() -> Recorded:
    """Return an episode of the length of the public sample, with as many windows that have a label."""
    every, random = np.ones(N, dtype=bool), np.random.default_rng(0)
    action, subtask = (labelled(USABLE[f"timeline_{name}"]) for name in ("action", "subtask"))
    return Recorded(
        id="public/ep0",
        n_frames=N,
        windows=starts(N),
        labels=FrameLabels(action, subtask, (frozenset({"cup"}),) * N, ("",) * N, (Segment("0", 0, N, ""),), {}),
        hands={side: Points(random.normal(size=(N, 21, 3)), every, CAMERA) for side in SIDES},
        root=Points(random.normal(size=(N, 1, 3)), every, WORLD),
        poses=Poses(np.tile(np.eye(3), (N, 1, 1)), np.zeros((N, 3)), every),
        contacts=(np.ones((N, 21)), every),
        features=NoFeatures(len(starts(N))),
    )


def arithmetic(promise: Promise) -> None:
    """State the published sizes and overlaps for 5,821 frames."""
    episode = public()
    promise.figure(f"windows of {N:,} frames", len(episode.windows), "1161", len(episode.windows) == 1161)
    for name, task in TASKS.items():
        data = build(task, [episode], "published")
        size = data.facts["samples"]
        got = (size["train"], size["test"]), overlap(samples(data))
        wanted = task.published_n, OVERLAPS[name]
        promise.figure(
            f"{name}: train, test; overlapping", f"{got[0]}; {got[1]}", f"{wanted[0]}; {wanted[1]}", got == wanted
        )


def wrists(promise: Promise) -> None:
    """State how far the wrists of hands and body are apart in the real file."""
    if not REAL.is_file():
        print("         real annotation file: not there (GNOMON_REAL_DATA)", flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "ep0"
        folder.mkdir()
        (folder / "annotation.hdf5").symlink_to(REAL.resolve())
        with Episode.open(Place("real/ep0", folder)) as episode:
            n, raw, moved = episode.n_frames, [], []
            body, poses = episode.body(0, n), episode.poses(0, n)
            for side, joint in (("left", 20), ("right", 21)):
                hand, wrist = episode.hand(side, 0, n).joint(0), body.joint(joint)
                seen = hand.valid & wrist.valid
                raw += np.linalg.norm(hand.xyz - wrist.xyz, axis=2)[seen].tolist()
                there = hand.to_world(poses).minus(wrist)
                moved += np.linalg.norm(there.xyz, axis=2)[there.valid].tolist()
    promise.at_least(f"real file, {len(raw)} wrists subtracted across frames: least apart in m", min(raw)[0], 1.0)
    promise.at_most(f"real file, {len(moved)} wrists after the transform: most apart in m", max(moved)[0], 0.01)


def main() -> None:
    promise = Promise()
    arithmetic(promise)
    wrists(promise)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        gnomon("simulate", "episode", root / "data", "--episodes", 1, "--frames", FRAMES, "--videos", 32)
        words = ("--systems", "minimal,trivial", "--variant", "both", "--out", root / "runs")
        gnomon("run", "episode", root / "data", *words)
        found = json.loads(gnomon("audit", root / "runs", "--json"))
        runs: dict[str, dict[str, Run]] = {"published": {}, "strict": {}}
        for path in sorted((root / "runs").glob("episode-*")):
            run = load(path)
            runs[variant(str(path))][run.system] = run
        flaws(promise, found)
        overlaps(promise, {name: Path(own["minimal"].path) for name, own in runs.items()})
        winners(promise, found, runs)
    promise.close()


if __name__ == "__main__":
    main()
