"""Segmental F1 and the edit score against ``actseg``, which carries the code of MS-TCN's authors.

It takes one label per frame, one frame being a second here, and needs a run of action on both sides. It is no
dependency of the tests; they run where it is installed.
"""

import itertools

import numpy as np
import pytest

from gnomon.core.signals import Intervals
from gnomon.core.tallies import Tallies
from gnomon.measures.segmentation import EditScore, SegmentalF1
from gnomon.measures.sequences import edit_score, segmental_f1

metrics = pytest.importorskip("actseg.eval", reason="actseg is not installed")
reference = pytest.importorskip("actseg.eval.external.mstcn_code", reason="actseg is not installed")

NULL, LABELS = 0, (1, 2, 3, 4)
OVERLAPS = (0.1, 0.25, 0.5)


def frames(rng):
    """A segmentation into runs of several frames, and a disturbed one."""
    lengths = rng.integers(1, 25, int(rng.integers(2, 25)))
    truth = np.repeat(rng.integers(NULL, len(LABELS) + 1, len(lengths)), lengths)
    truth[0] = LABELS[0]
    returned = np.roll(truth, int(rng.integers(-6, 7)))
    for _ in range(int(rng.integers(0, 8))):
        at = int(rng.integers(0, len(truth)))
        returned[at : at + int(rng.integers(1, 9))] = rng.integers(NULL, len(LABELS) + 1)
    returned[-1] = LABELS[-1]
    return truth.tolist(), returned.tolist()


def runs(labels):
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [(float(s), float(e), labels[s]) for s, e in itertools.pairwise(cuts) if labels[s] != NULL]


def signal(stretches, length):
    starts, ends, labels = (np.array(column) for column in zip(*stretches, strict=True))
    return Intervals(starts, ends, labels - 1, tuple(map(str, LABELS)), (0.0, float(length)))


def fold(measure, videos):
    rows = [measure.tally(*(signal(runs(side), len(side)) for side in video)) for video in videos]
    return float(measure.score(Tallies.stack(rows).total()).values)


@pytest.mark.parametrize("seed", range(40))
def test_f1_at_overlaps(seed):
    rng = np.random.default_rng(seed)
    videos = [frames(rng) for _ in range(4)]
    truth, returned = ({str(k): runs(video[side]) for k, video in enumerate(videos)} for side in (0, 1))
    found = segmental_f1(truth, returned, thresholds=OVERLAPS)
    for at in OVERLAPS:
        each = [reference.f_score(video[1], video[0], at, bg_class=[NULL]) for video in videos]
        tp, fp, fn = (int(total) for total in np.sum(each, axis=0))
        assert found["counts"][f"F1@{100 * at:g}"] == {"tp": tp, "fp": fp, "fn": fn}
        assert fold(SegmentalF1(at), videos) == pytest.approx(2 * tp / (2 * tp + fp + fn))


@pytest.mark.parametrize("seed", range(40))
def test_edit_score(seed, monkeypatch):
    monkeypatch.setattr(np, "float", float, raising=False)  # a name of old numpy, which the package still uses
    rng = np.random.default_rng(seed)
    videos = [frames(rng) for _ in range(4)]
    edit = metrics.Edit(ignore_ids=[NULL])
    for truth, returned in videos:
        edit.add(targets=truth, predictions=returned)
    sides = [{str(k): runs(video[side]) for k, video in enumerate(videos)} for side in (0, 1)]
    assert edit_score(*sides) == pytest.approx(edit.summary())
    assert fold(EditScore(), videos) == pytest.approx(edit.summary())
