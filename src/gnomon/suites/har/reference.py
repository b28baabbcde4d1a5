"""What was published beside the protocol, as data: reported figures, and where models deviate from their papers.

Source: the evaluation protocol of the authors of TSFM (four metrics, five models, three main test datasets and a severe
one) and its reported results. Models: LiMU-BERT (Xu et al., SenSys 2021),
CrossHAR (Hong et al., IMWUT 2024), MOMENT (Goswami et al., ICML 2024), LanHAR (Yan et al., IMWUT 2025), TSFM (the
authors of the protocol).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

FIGURES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "tsfm": {"zs-open": (39.8, 12.7), "zs-closed": (51.1, 33.4), "sup-1": (72.7, 61.0), "sup-10": (85.6, 80.0)},
    "limubert": {"zs-open": (21.2, 6.7), "zs-closed": (33.2, 23.6), "sup-1": (25.6, 15.9), "sup-10": (62.6, 52.1)},
    "moment": {"zs-open": (25.7, 7.0), "zs-closed": (41.2, 28.5), "sup-1": (71.5, 64.8), "sup-10": (81.3, 76.1)},
    "crosshar": {"zs-open": (17.0, 5.5), "zs-closed": (35.4, 28.9), "sup-1": (62.5, 56.3), "sup-10": (80.6, 75.0)},
    "lanhar": {"zs-open": (14.2, 7.4), "zs-closed": (28.2, 20.4), "sup-1": (41.3, 31.5), "sup-10": (56.1, 51.9)},
}
"""Reported accuracy and macro-F1 in per cent, means over the datasets of `REPORTED_ON`."""
REPORTED_ON = ("motionsense", "realworld", "mobiact")

CITED = (
    "as reported by the authors of the protocol, in per cent: trained on ten datasets, mean of MotionSense, RealWorld "
    "and MobiAct; no intervals were reported, and the pre-cut windows share samples between training and test"
)


@dataclass(frozen=True)
class Deviation:
    """One place in which an evaluation deviates from what a model's paper did."""

    system: str
    """Name of the system; ``all`` for every one."""
    deviation: str
    original: str
    ours: str
    effect: str


DEVIATIONS = (
    Deviation(
        "limubert",
        "scored by window",
        "every slice of 20 steps by itself",
        "majority vote over the 6 slices of a window",
        "neutral",
    ),
    Deviation("limubert", "one model", "one for each dataset", "one for all training datasets", "neutral"),
    Deviation(
        "crosshar",
        "fine-tuned end to end",
        "frozen encoder, classifier on stored embeddings",
        "encoder and classifier together",
        "slight advantage",
    ),
    Deviation(
        "moment",
        "linear head when supervised",
        "SVM on frozen embeddings",
        "encoder and linear head together",
        "slight advantage",
    ),
    Deviation(
        "lanhar", "no target data in stage 2", "source and target together", "source only", "slight disadvantage"
    ),
    Deviation(
        "lanhar",
        "supervised fine-tuning",
        "none, zero-shot only",
        "cosine with frozen text prototypes",
        "an extension, no comparison",
    ),
    Deviation("limubert", "20 Hz windows", "20 Hz", "20 Hz", "neutral"),
    Deviation("crosshar", "20 Hz windows", "20 Hz", "20 Hz", "neutral"),
    Deviation("lanhar", "20 Hz windows", "50 Hz", "20 Hz, trained from scratch", "neutral"),
    Deviation("moment", "20 Hz windows", "any rate, no notion of it", "20 Hz", "neutral"),
    Deviation("tsfm", "native rates", "native rates", "native rates", "slight advantage over 20 Hz"),
    Deviation(
        "all",
        "batch sizes",
        "each its own, mostly 128",
        "profile paper: 512 for classifiers, 32 for fine-tuning; other profiles as said of each model",
        "neutral",
    ),
)
"""Those of the published protocol."""


def deviations(systems: Iterable[str], own: Iterable[Deviation] = ()) -> tuple[Deviation, ...]:
    """Return what holds for some systems: the published deviations of those that have any, then one's own."""
    names = {system.partition("@")[0] for system in systems}
    published = [item for item in DEVIATIONS if item.system in names]
    shared = [item for item in DEVIATIONS if item.system == "all"] if published else []
    return (*published, *shared, *own)
