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

from gnomon.core.loading import find_class, source_identity
from gnomon.core.systems import Spec, known_parameters
from gnomon.core.systems import checked as checked_spec
from gnomon.suites.events.systems import BUILTIN

VERBS = ("process", "detected", "labels")


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


def find(name: str) -> type[Any]:
    """Return the class of a recogniser: a built-in name, ``package.module.Class`` or ``path/to/file.py:Class``."""
    named = dict.fromkeys(BUILTIN, object)  # for the message; their modules are not imported before they are asked for
    return find_class(BUILTIN.get(name, name), VERBS, "recognizer", named)


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a recogniser with their defaults."""
    return known_parameters(find(name))


def checked(spec: Spec) -> Spec:
    """Return a recogniser with its parameters; refuse those that it does not have."""
    return checked_spec(spec, parameters(spec.name), "recognizer") if spec.parameters else spec


def identity(name: str) -> str:
    """Return the name of the class and the identity of its code."""
    return source_identity(BUILTIN.get(name, name), find(name))
