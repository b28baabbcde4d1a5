"""Average precision of rows against independent implementations: scikit-learn, and mean-average-precision.

scikit-learn sums steps of the curve as it is: ``interpolation="none"``. mean-average-precision takes the area under the
curve made falling (``all-point``), or its mean over the recalls that it is given (``11-point``, ``101-point``).
"""

import numpy as np
import pytest

from gnomon.core.rows import Rows
from gnomon.measures.event_rows import detections
from gnomon.measures.ranked import AveragePrecision

pytestmark = pytest.mark.filterwarnings("ignore")

CLASSES = "abc"
THRESHOLDS = (0.3001, 0.5001, 0.7001)  # that no IoU equals: for the peer it has to be more


def draw(rng):
    """Truths and returns of three recordings, in whole seconds; no two scores are equal."""
    truth, returned = {}, {}
    for name in "xyz":
        truth[name] = [
            (s := int(rng.integers(0, 900)), s + int(rng.integers(1, 64)), CLASSES[k % 3]) for k in range(12)
        ]
        returned[name] = []
        for s, e, c in truth[name] * 2:
            if rng.random() < 0.6:
                start, end = max(s + int(rng.integers(-5, 6)), 0), e + int(rng.integers(-20, 21))
                label = c if rng.random() < 0.8 else "a"
                returned[name].append((start, max(end, start + 1), label, float(rng.random())))
    return truth, returned


def score(ledger, **options):
    rows = Rows(ledger, ledger.case, 3)
    return float(AveragePrecision("detections", **options).score(rows.total()).values)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("points", [0, 11, 101])
def test_boxes_one_pixel_high_of_mean_average_precision(seed, points):
    peer = pytest.importorskip("mean_average_precision", reason="mean-average-precision is not installed")
    truth, returned = draw(np.random.default_rng(seed))
    metric = peer.MetricBuilder.build_evaluation_metric("map_2d", num_classes=len(CLASSES))
    for name in truth:
        boxes = [(s, 0, e - 1, 0, CLASSES.index(c), 0, 0) for s, e, c in truth[name]]
        guesses = [(s, 0, e - 1, 0, CLASSES.index(c), given) for s, e, c, given in returned[name]]
        metric.add(np.array(guesses), np.array(boxes))
    recalls = np.linspace(0, 1, points) if points else None
    want = metric.value(iou_thresholds=THRESHOLDS, recall_thresholds=recalls, mpolicy="soft")
    ledger = detections(truth, returned, window=(0, 2000), thresholds=THRESHOLDS)
    how = f"{points}-point" if points else "all-point"
    for k, label in enumerate(CLASSES):
        for t in THRESHOLDS:
            found = score(ledger, at=(t,), classes=(label,), interpolation=how)
            assert found == pytest.approx(want[t][k]["ap"], abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
def test_returns_of_one_class_of_scikit_learn(seed):
    """What is never found has no score there: recall is scaled by the share of truths that were returned at all."""
    from sklearn.metrics import average_precision_score

    truth, returned = draw(np.random.default_rng(seed))
    ledger = detections(truth, returned, window=(0, 2000), thresholds=[0.5])
    columns = ledger.columns
    for code, label in enumerate(CLASSES):
        own = (columns["class"] == code) & (columns["returned"] == 1)
        hits, truths = columns["hit_0p5"][own], int(columns["truths"][columns["class"] == code].sum())
        want = average_precision_score(hits, columns["score"][own]) * hits.sum() / truths
        assert score(ledger, at=(0.5,), classes=(label,), interpolation="none") == pytest.approx(want, abs=1e-12)
