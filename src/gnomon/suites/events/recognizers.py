"""Recognisers: what consumes a recording and says what happened when.

The interface is structural; no base class is needed. ``process(recs)`` consumes an iterable of time-ordered records and
may be called many times; ``detected(time_range=None)`` returns the ordered results that overlap a range;
``labels()`` returns the classes that are supported. Optional: ``reset()`` between cases, ``train(recs, labels)``
before. A record is ``{"time": ..., "type": "accel" | "gyro" | ..., "values": [...]}``. What the constructor takes by
keyword are the parameters of a recogniser, given as ``NAME@key=value``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from gnomon.core.systems import Systems


class Recognizer(Protocol):
    """What can be given records and asked what it detected."""

    def process(self, recs: Iterable[Any]) -> None:
        """Consume records in the order of time."""

    def detected(self, time_range: tuple[Any, Any] | None = None) -> Sequence[Any]:
        """Return ordered results, each with ``t1``, ``t2``, ``label`` and perhaps ``score``."""

    def labels(self) -> Sequence[str]:
        """Return the supported classes."""


class AbstractRecognizer(ABC):
    """The published base class, for recognisers that want one."""

    @abstractmethod
    def process(self, recs: Iterable[Any]) -> None:
        """Consume records in the order of time; may be called many times."""

    @abstractmethod
    def detected(self, time_range: tuple[Any, Any] | None = None) -> Sequence[Any]:
        """Return the ordered results that overlap a range of time."""

    @abstractmethod
    def labels(self) -> Sequence[str]:
        """Return the classes that the recogniser supports."""


SYSTEMS = Systems(
    {
        "threshold-walker": "gnomon.suites.events.systems.threshold:ThresholdWalker",
        "spectral-walker": "gnomon.suites.events.systems.spectral:SpectralWalker",
        "hmm-walker": "gnomon.suites.events.systems.hidden_markov:HiddenMarkovWalker",
        "visit-detector": "gnomon.suites.events.systems.visits:VisitDetector",
        "never": "gnomon.suites.events.systems.trivial:Never",
        "always": "gnomon.suites.events.systems.trivial:Always",
    },
    ("process", "detected", "labels"),
    what="recognizer",
    option="--recognizers",
)
