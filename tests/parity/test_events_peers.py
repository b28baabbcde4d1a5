"""Measures of events against independent implementations: sed_eval, mir_eval, psds_eval, mean-average-precision.

None of them is a dependency of the tests; a comparison runs where its package is installed. Times are multiples of a
power of two, so that no distance lies a rounding away from a collar. For F1@k and the edit score there is no package:
the references from the published definitions are with the tests of :mod:`gnomon.measures.sequences`.
"""

import numpy as np
import pytest

from gnomon.measures.detections import collar_f1, intersection_criteria, mean_average_precision

pytestmark = pytest.mark.filterwarnings("ignore")

CLASSES = "abc"
SEEDS = range(25)


def draw(rng, n, *, disjoint=False):
    """Stretches on a grid of 1/16 s within a minute."""
    out = []
    for _ in range(n):
        start = int(rng.integers(0, 900)) / 16
        item = (start, start + int(rng.integers(1, 64)) / 16, str(rng.choice(list(CLASSES))))
        if not disjoint or all(c != item[2] or e <= item[0] or item[1] <= s for s, e, c in out):
            out.append(item)
    return out


def jitter(rng, truth, *, disjoint=False):
    """Returns around most of the events, some doubled, some relabelled, and some out of nothing."""
    out = []
    for s, e, c in truth * 2:
        if rng.random() < 0.45:
            start, end = s + int(rng.integers(-5, 6)) / 16, e + int(rng.integers(-20, 21)) / 16
            out.append((max(start, 0), max(end, start + 1 / 16, 1 / 16), c if rng.random() < 0.8 else "a"))
    out += draw(rng, 5)
    if not disjoint:
        return out
    kept = []
    for item in out:
        if all(c != item[2] or e <= item[0] or item[1] <= s for s, e, c in kept):
            kept.append(item)
    return kept


@pytest.mark.parametrize("seed", SEEDS)
def test_collar_f1_of_sed_eval(seed):
    sed = pytest.importorskip("sed_eval.sound_event", reason="sed_eval is not installed")
    rng = np.random.default_rng(seed)
    truth = {str(k): draw(rng, int(rng.integers(0, 30))) for k in range(3)}
    returned = {name: jitter(rng, side) for name, side in truth.items()}
    peer = sed.EventBasedMetrics(list(CLASSES), t_collar=0.25, percentage_of_length=0.5, event_matching_type="optimal")
    for name in truth:
        sides = [
            [{"onset": s, "offset": e, "event_label": c, "filename": name} for s, e, c in side[name]]
            for side in (truth, returned)
        ]
        peer.evaluate(*sides)
    want = peer.results_overall_metrics()["f_measure"]
    found = collar_f1(truth, returned, collar_s=0.25)
    for name in ("precision", "recall"):
        assert found[name] == pytest.approx(want[name])
    assert found["f1"] == pytest.approx(want["f_measure"])
    for label, row in peer.results_class_wise_metrics().items():
        assert found["classes"][label]["precision"] == pytest.approx(row["f_measure"]["precision"])
        assert found["classes"][label]["recall"] == pytest.approx(row["f_measure"]["recall"])


def both_of_sed_eval(truth, returned, collar):
    sed = pytest.importorskip("sed_eval.sound_event", reason="sed_eval is not installed")
    peer = sed.EventBasedMetrics(sorted({c for *_, c in truth + returned}), t_collar=collar)
    rows = [[{"onset": s, "offset": e, "event_label": c, "filename": "a"} for s, e, c in x] for x in (truth, returned)]
    peer.evaluate(*rows)
    return peer, collar_f1(truth, returned, collar_s=collar)


def test_known_difference_a_class_of_false_alarms_only():
    """sed_eval leaves it out of the macro average; 2 tp / (2 tp + fp + fn) is 0."""
    peer, found = both_of_sed_eval([(0, 5, "x")], [(0, 5, "x"), (7, 8, "y")], 0.2)
    assert peer.results_class_wise_average_metrics()["f_measure"]["f_measure"] == 1
    assert found["macro_f1"] == 0.5


def test_known_difference_a_distance_of_a_collar():
    """0.8 - 0.6 is more than 0.2 by a rounding."""
    peer, found = both_of_sed_eval([(0.6, 5, "x")], [(0.8, 5, "x")], 0.2)
    assert peer.results_overall_metrics()["f_measure"]["f_measure"] == 0
    assert found["f1"] == 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [None, 0.2, 0.5])
def test_onsets_and_offsets_of_mir_eval(seed, share):
    peer = pytest.importorskip("mir_eval.transcription", reason="mir_eval is not installed")
    rng = np.random.default_rng(seed)
    truth = [(s, e) for s, e, _ in draw(rng, 60)]
    returned = [(s, e) for s, e, _ in jitter(rng, [(*x, "a") for x in truth])]
    sides = np.array(truth), np.ones(len(truth)), np.array(returned), np.ones(len(returned))
    options = {"onset_tolerance": 0.125, "offset_ratio": share, "offset_min_tolerance": 0.125}
    want = peer.precision_recall_f1_overlap(*sides, **options)
    found = collar_f1(truth, returned, collar_s=0.125, length_share=share or 0, offsets=share is not None)
    assert [found[name] for name in ("precision", "recall", "f1")] == pytest.approx(want[:3])


@pytest.mark.parametrize("seed", SEEDS)
def test_intersection_criteria_of_psds_eval(seed):
    psds = pytest.importorskip("psds_eval", reason="psds_eval is not installed")
    pandas = pytest.importorskip("pandas", reason="psds_eval takes pandas frames")
    rng = np.random.default_rng(seed)
    truth = {str(k): draw(rng, 20, disjoint=True) for k in range(3)}
    returned = {name: jitter(rng, side, disjoint=True) for name, side in truth.items()}
    window = (0, 70)
    columns = ["filename", "onset", "offset", "event_label"]
    frames = [
        pandas.DataFrame([(name, *row) for name, rows in side.items() for row in rows], columns=columns)
        for side in (truth, returned)
    ]
    metadata = pandas.DataFrame({"filename": list(truth), "duration": [70.0] * 3})
    peer = psds.PSDSEval(0.5, 0.5, 0.25, class_names=list(CLASSES), ground_truth=frames[0], metadata=metadata)
    peer.add_operating_point(frames[1])
    row = peer.operating_points.iloc[0]
    found = intersection_criteria(truth, returned, window=window, dtc=0.5, gtc=0.5, cttc=0.25)["classes"]
    assert [found[c]["tpr"] for c in CLASSES] == pytest.approx(list(row.tpr))
    assert [found[c]["fp_per_hour"] for c in CLASSES] == pytest.approx(list(row.fpr))
    crossed = np.array([[found[c]["cross_triggers"][d] for d in CLASSES] for c in CLASSES])
    counts = row.counts[:3, :3]
    assert np.array_equal(crossed, counts - np.diag(np.diag(counts)))


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision_of_boxes_one_pixel_high(seed):
    """Boxes hold whole pixels, ends included: a stretch of whole seconds is a row of them."""
    peer = pytest.importorskip("mean_average_precision", reason="mean-average-precision is not installed")
    rng = np.random.default_rng(seed)
    truth = {str(k): [(16 * s, 16 * e, c) for s, e, c in draw(rng, 15)] for k in range(3)}
    returned = {
        name: [
            (16 * s, 16 * e, c, float(rng.random()))
            for s, e, c in jitter(rng, [(s / 16, e / 16, c) for s, e, c in side])
        ]
        for name, side in truth.items()
    }
    metric = peer.MetricBuilder.build_evaluation_metric("map_2d", num_classes=len(CLASSES))
    for name in truth:
        boxes = [(s, 0, e - 1, 0, CLASSES.index(c), 0, 0) for s, e, c in truth[name]]
        guesses = [(s, 0, e - 1, 0, CLASSES.index(c), score) for s, e, c, score in returned[name]]
        metric.add(np.array(guesses), np.array(boxes))
    thresholds = (0.3001, 0.5001, 0.7001)  # that no IoU equals: for the peer it has to be more
    want = metric.value(iou_thresholds=thresholds, mpolicy="soft")
    found = mean_average_precision(truth, returned, thresholds=thresholds)
    for k, label in enumerate(CLASSES):
        for t in thresholds:
            assert found["classes"][label][f"AP@{t:g}"] == pytest.approx(want[t][k]["ap"], abs=1e-6)
