"""A declared evaluation, as a value: what is measured, on what, split how, sliced how, claiming what.

A Python value is the source of a protocol and canonical JSON its record; the fingerprint of the
record is stored with every run, and runs of different fingerprints are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.evidence import Claim
from gnomon.core.measure import Measure


@dataclass(frozen=True)
class Protocol:
    """One evaluation protocol in one variant.

    Attributes
    ----------
    name, version
        What it is called and its revision; a change of meaning is a new version.
    measures
        The first one is the headline of its tables.
    group
        The level of a case's path that is resampled.
    tasks, split, slices, settings
        Plain data: tasks by name, how data is split, tags whose values become slices, everything else.
    claims
        What the numbers may be said to mean, and what that needs.
    variants
        Changes that make a named variant of it (``published``, ``strict``).
    """

    name: str
    version: str
    measures: tuple[Measure, ...]
    group: str = "group"
    tasks: tuple[str, ...] = ()
    split: Mapping[str, Any] = field(default_factory=dict)
    slices: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    variant: str = ""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.measures:
            raise GnomonError(f"protocol {self.name!r} declares no measure")
        keys = [measure.name for measure in self.measures]
        if len(set(keys)) != len(keys):
            twice = sorted({key for key in keys if keys.count(key) > 1})
            raise GnomonError(f"protocol {self.name!r} declares measures of one name: {twice[:5]}")

    def take(self, variant: str) -> Protocol:
        """Return the protocol in one of its variants."""
        if variant not in self.variants:
            raise InputError(f"protocol {self.name!r} has no variant {variant!r}; it has {sorted(self.variants)}")
        return replace(self, variant=variant, **self.variants[variant])

    def record(self) -> dict[str, Any]:
        """Return the protocol as plain data."""
        return {
            "name": self.name,
            "version": self.version,
            "variant": self.variant,
            "group": self.group,
            "tasks": list(self.tasks),
            "split": dict(self.split),
            "slices": list(self.slices),
            "settings": dict(self.settings),
            "measures": [measure.record() for measure in self.measures],
            "claims": [claim.record() for claim in self.claims],
        }

    @property
    def fingerprint(self) -> str:
        """Hash of the record."""
        return fingerprint(self.record())
