"""Systems for ``har``: models that are trained on some datasets and tested on others.

The interface, by structure. Windows are :class:`~gnomon.suites.har.recordings.Windows`, at 20 Hz, or at the rate of
their dataset where the class has ``native_rate = True``. Codes are whole numbers into a list of labels.

Every model
    ``pretrain(windows, conditions) -> facts``, where the class has it: an encoder is trained without labels. It is an
    artefact of its own, which ``fit`` goes on from.
    ``fit(windows, codes, conditions) -> facts``: the native zero-shot classifier, or everything. ``windows`` is one
    piece per training dataset, ``codes`` holds a code over the 87 labels for every window, piece after piece.
    ``fine_tune(train, train_codes, val, val_codes, classes, conditions) -> model``: another model, after fine-tuning
    on the labelled windows of a test dataset, with ``scores(windows) -> (n, len(classes))`` and perhaps ``facts``. The
    fitted model itself stays as it is.
Classifier models
    ``scores(windows) -> (n, 87)``: one score per label, higher is likelier; the closed set masks them.
Text-aligned models (``text_aligned = True``)
    ``score_labels(windows, labels) -> (n, len(labels))`` for any label text, and ``embed(windows) -> (n, d)``.

Estimators of scikit-learn's kind
    ``fit(X, y)`` and ``predict(X)``: they learn from the features of windows that the built-in classifiers use.

Facts are plain data: ``updates``, ``epochs``, ``parameters`` where they mean something. A fitted model is kept by
``save(folder)`` and ``load(folder)`` where it has them, else pickled. What its constructor takes by keyword are its
parameters, given as ``NAME@key=value``; those that a class lists in ``answering`` do not change what is fitted, and a
static method ``identify_parameters(**parameters)`` gives the hash of files that parameters name. ``deviations`` lists
where a model deviates from its paper. :class:`Conditions` says under which conditions it is fitted.

A system never sees test windows before it answers for them, and never their labels. ``trivial = True`` on the class
declares a baseline that does not look at the signals. Those built in need no training library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from gnomon.core.errors import InputError
from gnomon.core.systems import Spec, Systems
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows


@dataclass(frozen=True)
class Conditions:
    """Under which conditions a model is fitted; the same for all models.

    Attributes
    ----------
    seed, classifier_seed
        Of everything random in pre-training; of classifiers on top (published: 42 and 3431).
    profile
        ``smoke``, ``cpu`` or ``paper``: how large models are and how long they train.
    selection
        What is looked at on the validation windows: ``accuracy`` (published) or ``macro_f1`` (strict).
    least_updates
        Fine-tuning goes on for at least so many updates, however few windows are labelled; 0 is as published.
    kernel_rows
        Most rows that a kernel machine is fitted on.
    """

    seed: int
    classifier_seed: int
    profile: str = "cpu"
    selection: Literal["accuracy", "macro_f1"] = "macro_f1"
    least_updates: int = 0
    kernel_rows: int = 2000

    def record(self) -> dict[str, Any]:
        """Return the conditions as plain data."""
        return asdict(self)


class Scorer(Protocol):
    """What gives scores over labels."""

    def scores(self, windows: Windows) -> Array:
        """Return a score for every window and label, ``(n, labels)``."""


class Model(Scorer, Protocol):
    """A classifier model."""

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Learn from the training datasets."""

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Scorer:
        """Return a model after fine-tuning on labelled windows of a test dataset."""


def _check(name: str, model: Any) -> None:
    """Refuse a class without the scores that its kind of model gives."""
    needed = "score_labels" if getattr(model, "text_aligned", False) is True else "scores"
    if isinstance(model, type) and not callable(getattr(model, needed, None)):
        raise InputError(f"system {name!r}: expected a class with {needed}(), but {model.__name__} has none")


def _adapt(estimator: Any) -> Model:
    """Make a model of an estimator of scikit-learn's kind: it learns from features of windows."""
    from gnomon.suites.har.systems.classical import EstimatorModel

    return EstimatorModel(estimator)


SYSTEMS = Systems(
    {
        "majority": f"{__name__}.majority:Majority",
        "nearest_mean": f"{__name__}.classical:NearestMean",
        "random_forest": f"{__name__}.learned:RandomForest",
        "svm_rbf": f"{__name__}.learned:SvmRbf",
        "limubert": f"{__name__}.neural.limubert:LimuBert",
        "crosshar": f"{__name__}.neural.crosshar:CrossHar",
        "moment": f"{__name__}.neural.moment:Moment",
        "lanhar": f"{__name__}.neural.lanhar:LanHar",
        "tsfm": f"{__name__}.neural.tsfm:Tsfm",
    },
    ("fit", "fine_tune"),
    check=_check,
    adapt=_adapt,
)


def for_fitting(spec: Spec) -> Spec:
    """Return a system without the parameters that belong to answering alone (``answering`` of its class)."""
    left_out = getattr(SYSTEMS.find(spec.name), "answering", ())
    return spec.without(left_out if isinstance(left_out, (tuple, list)) else ())


def is_heavy(spec: Spec) -> bool:
    """Say whether a system trains by updates: a neural one that is built in, or one of the user's own."""
    return ".neural." in SYSTEMS.builtin.get(spec.name, ".neural.")
