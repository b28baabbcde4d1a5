"""What every dataset of ``har`` offers: where it is, its recordings, and whether it is all there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.suites.har.datasets.places import Files, Place, candidates, find
from gnomon.suites.har.datasets.units import G, judge, resting
from gnomon.suites.har.recordings import WINDOW_S, Manifest, Recording

VARIANTS = ("published", "strict")
Faults = Counter[str]
"""What was met and how often, in words."""
Reader = Callable[[Manifest, Files, list["re.Match[str]"], str, Faults], Iterator[Recording]]
"""From the manifest, the open files, the names that match, the variant and the counts to recordings."""

__all__ = ["VARIANTS", "Dataset", "Faults", "G", "Reader", "Report", "Seen", "report"]


@dataclass(frozen=True)
class Report:
    """What is in a place.

    Attributes
    ----------
    dataset, where, variant
        What was read, and how.
    files, recordings, windows, seconds
        How much it is; windows are of six seconds, non-overlapping.
    rates_hz
        Least, median and largest measured rate; None without recordings.
    resting_ms2
        Median length of the acceleration in resting recordings; None without them.
    subjects, labels
        Who is there, and recordings per label.
    missing
        What the manifest names and the place lacks.
    odd
        What a user should look at: repaired or refused time stamps, units, rates.
    error
        Why reading stopped, empty where it did not.
    """

    dataset: str
    where: str
    variant: str
    files: int
    recordings: int
    windows: int
    seconds: float
    rates_hz: tuple[float, float, float] | None
    resting_ms2: float | None
    subjects: tuple[str, ...]
    labels: dict[str, int]
    missing: tuple[str, ...]
    odd: tuple[str, ...]
    error: str = ""

    @property
    def found(self) -> bool:
        """Whether there is something that can be used."""
        return self.recordings > 0 and not self.error


@dataclass(frozen=True)
class Dataset:
    """A dataset in its original files.

    Attributes
    ----------
    manifest
        What is known of it beforehand.
    member
        The name of one of its files, from the folder on that its authors made.
    reader
        Reads the files that match.
    layout
        The same name as a person reads it.
    """

    manifest: Manifest
    member: re.Pattern[str]
    reader: Reader
    layout: str

    @property
    def name(self) -> str:
        """The short name."""
        return self.manifest.name

    def find(self, root: str | os.PathLike[str]) -> Place | None:
        """Return where the dataset is below a root (a folder or an archive), folders before archives, or None."""
        places = find([(place, place.names()) for place in candidates(root)], self.member, self.name)
        return places[0] if places else None

    def read(
        self, where: Place | str | os.PathLike[str], variant: str = "strict", faults: Faults | None = None
    ) -> Iterator[Recording]:
        """Yield the recordings, in the order of subjects and activities.

        Parameters
        ----------
        where
            What :meth:`find` gave, or a folder or archive.
        variant
            ``published`` or ``strict``; some datasets use other channels in each.
        faults
            Receives counts of what was repaired or left out.
        """
        if variant not in VARIANTS:
            raise InputError(f"{self.name}: variant {variant!r}, expected one of {', '.join(VARIANTS)}")
        place = self._place(where)
        matches = self._matches(place)
        with place.open() as files:
            yield from self.reader(self.manifest, files, matches, variant, Faults() if faults is None else faults)

    def files(self, where: Place | str | os.PathLike[str]) -> list[str]:
        """Return the names of the files that are read."""
        return [match.string for match in self._matches(self._place(where))]

    def check(self, where: Place | str | os.PathLike[str], variant: str = "strict") -> Report:
        """Read everything and say what is there, what is missing and what is odd."""
        place, faults, seen = self._place(where), Faults(), Seen()
        files, error = self._matches(place), ""
        try:
            for recording in self.read(place, variant, faults):
                seen.add(recording)
        except InputError as fault:
            error = str(fault)
        return report(self.manifest, str(place), variant, len(files), seen, faults, error)

    def _place(self, where: Place | str | os.PathLike[str]) -> Place:
        if isinstance(where, Place):
            return where
        found = self.find(where)
        if found is None:
            raise InputError(
                f"{self.name} is not in {os.fspath(where)}: expected files {self.layout}; "
                f"see gnomon data describe {self.name}"
            )
        return found

    def _matches(self, place: Place) -> list[re.Match[str]]:
        found = (self.member.search(name) for name in place.names() if name.startswith(place.inside))
        return [match for match in found if match and match.start() == len(place.inside)]


@dataclass
class Seen:
    """What recordings add up to, without keeping them."""

    subjects: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    rates: list[float] = field(default_factory=list)
    resting: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    windows: int = 0

    def add(self, recording: Recording) -> None:
        """Count a recording."""
        self.subjects[recording.subject] += 1
        self.labels[recording.label] += 1
        self.rates.append(recording.rate_hz)
        self.seconds += recording.seconds
        self.windows += int(recording.seconds / WINDOW_S + 1e-9)
        self.resting.update(resting([recording]))


def report(manifest: Manifest, where: str, variant: str, files: int, seen: Seen, faults: Faults, error: str) -> Report:
    """Return what was seen against what the manifest names."""
    rates = np.array(seen.rates)
    there = manifest.subjects or tuple(sorted(seen.subjects))
    absent = [name for name in there if name not in seen.subjects]
    lacking = sorted(set(manifest.labels.values()) - set(seen.labels))
    missing = []
    if absent:
        missing.append(f"{counted(len(absent), 'subject')} of {len(there)}: {some(absent)}")
    if lacking:
        missing.append(f"{counted(len(lacking), 'label')} of {len(set(manifest.labels.values()))}: {some(lacking)}")
    odd = [f"{what}: {number:,}" for what, number in sorted(faults.items())]
    strange = sorted(set(seen.subjects) - set(there))
    if strange:
        odd.append(f"subjects that the manifest does not name: {some(strange)}")
    middle = float(np.median(rates)) if len(rates) else 0.0
    if len(rates) and abs(middle / manifest.text_hz - 1) > 0.005:
        odd.append(f"the stated rate is {manifest.text_hz:g} Hz, the measured one {middle:.4g} Hz, which is used")
    odd += [finding.evidence for finding in judge(manifest.name, manifest.gravity[variant], seen.resting)]
    return Report(
        manifest.name,
        where,
        variant,
        files,
        len(seen.rates),
        seen.windows,
        seen.seconds,
        (float(rates.min()), middle, float(rates.max())) if len(rates) else None,
        float(np.median(list(seen.resting.values()))) if seen.resting else None,
        tuple(sorted(seen.subjects, key=lambda name: (len(name), name))),
        dict(sorted(seen.labels.items())),
        tuple(missing),
        tuple(odd),
        error,
    )
