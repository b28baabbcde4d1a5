"""What every dataset of ``har`` offers: where it is, its recordings, and whether it is all there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.intake.faults import shown
from gnomon.suites.har.datasets.counting import Faults
from gnomon.suites.har.datasets.places import Files, Place, find, survey
from gnomon.suites.har.datasets.units import RATE_SLACK, RATES_APART, G, judge, judge_turning, resting, turning
from gnomon.suites.har.recordings import Manifest, Recording, Short
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, near
from gnomon.suites.har.windows import cut

VARIANTS = ("published", "strict")
PERSON = ("subject", "who", "user")
"""Groups of a member's name that hold the number of a person."""
MOST_TOLD = 10
"""Labels that are named."""
Reader = Callable[[Manifest, Files, list["re.Match[str]"], str, Faults], Iterator[Recording]]
"""From the manifest, the open files, the names that match, the variant and the counts to recordings."""

__all__ = ["VARIANTS", "Cohort", "Dataset", "Faults", "G", "Reader", "Report", "Seen", "checked"]


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
        What the manifest names and the place lacks; nothing where reading stopped, since that is not known then.
    odd
        What a user should look at: repaired time stamps, rates, labels.
    doubts
        Units or gravity that are not what the manifest says.
    error
        Why reading stopped, empty where it did not.
    unused
        People who have files of which nothing could be used; :attr:`odd` says why.
    skipped
        Files that look like data files, by name or place, and were not read.
    broken
        What could not be read and is left out, one error each.
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
    doubts: tuple[str, ...] = ()
    error: str = ""
    unused: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is something that can be used."""
        return self.recordings > 0 and not self.error

    @property
    def state(self) -> str:
        """``unusable``, ``doubtful``, ``a part`` or ``complete``."""
        if not self.found:
            return "unusable"
        if self.doubts:
            return "doubtful"
        return "a part" if self.missing or self.unused or self.skipped or self.broken else "complete"


@dataclass(frozen=True)
class Cohort:
    """Whose files a distribution may hold, and how many people are in it when it is complete."""

    names: tuple[str, ...]
    people: int


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
    people
        How many of the manifest's names the complete distribution has; None for all.
    releases
        From the names that match to whom the release has that they belong to; None where there is one.
    file
        What the name of a data file begins with, wherever it lies: one that matches no :attr:`member` is not read, and
        named.
    aside
        Files of the original distribution that are called alike and are not read; they are not named.
    files_each
        How many files of every person the complete distribution has; ``even``: as many of one as of any other; None
        where that differs or is not known.
    """

    manifest: Manifest
    member: re.Pattern[str]
    reader: Reader
    layout: str
    people: int | None = None
    releases: Callable[[Sequence[re.Match[str]]], Cohort] | None = None
    file: re.Pattern[str] | None = None
    aside: re.Pattern[str] | None = None
    files_each: int | Literal["even"] | None = None

    @property
    def cohort(self) -> Cohort:
        """Whom the manifest names, and how many of them are there in the complete distribution."""
        names = self.manifest.subjects
        return Cohort(names, len(names) if self.people is None else self.people)

    @property
    def name(self) -> str:
        """The short name."""
        return self.manifest.name

    def find(self, root: str | os.PathLike[str]) -> Place | None:
        """Return where the dataset is below a root (a folder or an archive), folders before archives, or None."""
        places = find(survey(root).places, self.member, self.name)
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

    def files(self, where: Place | str | os.PathLike[str], names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the files that are read; ``names`` are those in the place, where they are known."""
        place = self._place(where)
        return [match.string for match in self._matching(place, place.names() if names is None else names)]

    def skipped(self, place: Place, names: Sequence[str], folder: str) -> tuple[str, ...]:
        """Return the files below a folder of a place that look like data files and are not read.

        These are called like data files and lie where none is expected, or lie where data files do and are called
        almost like them: paths that have the letters of a data file, whatever their digits, signs and suffix.

        Parameters
        ----------
        place, names
            Where the dataset is, and the files there.
        folder
            Where to look: empty, or a path with a slash at its end.
        """
        below = [name for name in names if name.startswith(folder)]
        used = {match.string for match in self._matching(place, below)}
        letters = {_letters(name.removeprefix(place.inside)) for name in used}
        return tuple(
            name
            for name in below
            if name not in used
            and (
                (self.file is not None and self.file.match(name.rpartition("/")[2]))
                or (name.startswith(place.inside) and _letters(name.removeprefix(place.inside)) in letters)
            )
            and not (self.aside and self.aside.search(name))
        )

    def check(
        self, where: Place | str | os.PathLike[str], variant: str = "strict", skipped: Sequence[str] | None = None
    ) -> Report:
        """Read everything and say what is there, what is missing and what is odd.

        ``skipped`` are the files of :meth:`skipped`; default: those below the folder in which the dataset begins.
        """
        place, faults = self._place(where), Faults.leaving_out()
        matches = self._matches(place)
        cohort = self.cohort if self.releases is None else self.releases(matches)
        recordings = self.read(place, variant, faults)
        report = checked(
            self.manifest,
            str(place),
            variant,
            len(matches),
            recordings,
            faults,
            cohort=cohort,
            filed=_filed(cohort, matches),
        )
        if skipped is None:
            skipped = self.skipped(place, place.names(), place.inside)
        missing = () if report.error else (*report.missing, *self._missing_files(matches))
        return replace(report, missing=missing, skipped=tuple(skipped))

    def _missing_files(self, matches: Sequence[re.Match[str]]) -> Iterator[str]:
        """Say of which people files are missing, where it is known how many everybody has."""
        if self.files_each is None:
            return
        groups = [name for name in PERSON if matches and name in matches[0].re.groupindex]
        counts = Counter(int(match[name]) for match in matches for name in groups if match[name])
        each = max(counts.values(), default=0) if self.files_each == "even" else self.files_each
        short = {number: count for number, count in sorted(counts.items()) if count < each}
        if short:
            lost, every = sum(each - count for count in short.values()), each * len(counts)
            told = [f"person {number} has {count} of {each}" for number, count in short.items()]
            yield f"{counted(lost, 'file')} of {every:,}: {some(told, show=3, sentences=True)}"

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
        return self._matching(place, place.names())

    def _matching(self, place: Place, names: Iterable[str]) -> list[re.Match[str]]:
        found = (self.member.search(name) for name in names if name.startswith(place.inside))
        return [match for match in found if match and match.start() == len(place.inside)]


def _letters(path: str) -> str:
    """Return the letters of a path, without the suffix of the file.

    >>> _letters("dws_1/sub_3.csv"), _letters("dws_1/sub3 (1).csv.gz")
    ('dws/sub', 'dws/sub')
    """
    folders, _, name = path.lower().rpartition("/")
    return re.sub(r"[^a-z/]", "", f"{folders}/{name.partition('.')[0]}")


@dataclass
class Seen:
    """What recordings add up to, without keeping them; those shorter than a window are dropped or filled up."""

    short: Short = "drop"
    subjects: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    rates: list[float] = field(default_factory=list)
    resting: dict[str, float] = field(default_factory=dict)
    turning: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    windows: int = 0

    def add(self, recording: Recording) -> None:
        """Count a recording."""
        self.subjects[recording.subject] += 1
        self.labels[recording.label] += 1
        self.rates.append(recording.rate_hz)
        self.seconds += recording.seconds
        self.windows += len(cut([recording], short=self.short))
        self.resting.update(resting([recording]))
        self.turning.update(turning([recording]))


def checked(
    manifest: Manifest,
    where: str,
    variant: str,
    files: int,
    recordings: Iterable[Recording],
    faults: Faults,
    *,
    cohort: Cohort | None = None,
    filed: frozenset[str] = frozenset(),
    own: bool = False,
) -> Report:
    """Read all recordings and hold what was seen against the manifest.

    Parameters
    ----------
    manifest, where, variant, files
        What is read, from how many files.
    recordings
        As they are read.
    faults
        What reading counts meanwhile.
    cohort
        Who should be there; those of the manifest where it is None.
    filed
        People who have files by the names of these.
    own
        Whether labels are a user's own, and may be misspelt.
    """
    seen, error = Seen(manifest.short), ""
    whole = Cohort(manifest.subjects, len(manifest.subjects)) if cohort is None else cohort
    try:
        for recording in recordings:
            seen.add(recording)
    except InputError as fault:
        error = str(fault)
    broken = tuple(faults.broken or ())
    if broken and not seen.rates:
        error = error or broken[0]
    rates = np.array(seen.rates)
    units = (
        *judge(manifest.name, manifest.gravity[variant], seen.resting),
        *judge_turning(manifest.name, seen.turning),
    )
    return Report(
        manifest.name,
        where,
        variant,
        files,
        len(seen.rates),
        seen.windows,
        seen.seconds,
        (float(rates.min()), float(np.median(rates)), float(rates.max())) if len(rates) else None,
        float(np.median(list(seen.resting.values()))) if seen.resting else None,
        tuple(sorted(seen.subjects, key=lambda name: (len(name), name))),
        dict(sorted(seen.labels.items())),
        () if error else tuple(_missing(manifest, whole, seen, filed, faults)),
        (*_odd(manifest, whole, seen, faults), *(misspelt(seen.labels, manifest.role) if own else ())),
        tuple(finding.evidence.removeprefix(f"{manifest.name}: ") for finding in units),
        error,
        () if error else tuple(_unused(whole, seen, filed | faults.people)),
        broken=() if error else broken,
    )


def _filed(cohort: Cohort, matches: Sequence[re.Match[str]]) -> frozenset[str]:
    """Return the people whose number is in the name of a file; none where names of files hold no people."""
    groups = [name for name in PERSON if matches and name in matches[0].re.groupindex]
    numbers = {int(match[name]) for match in matches for name in groups if match[name]}
    return frozenset(name for name in cohort.names if (digits := re.sub(r"\D", "", name)) and int(digits) in numbers)


def _unused(whole: Cohort, seen: Seen, filed: frozenset[str]) -> list[str]:
    """Return the people who have files and no recording."""
    return [name for name in whole.names if name in filed and name not in seen.subjects]


def _missing(manifest: Manifest, whole: Cohort, seen: Seen, filed: frozenset[str], faults: Faults) -> Iterator[str]:
    here = {name for name in whole.names if name in seen.subjects or name in filed or name in faults.people}
    absent, short = [name for name in whole.names if name not in here], whole.people - len(here)
    lost = ", or in what cannot be read" if faults.broken else ""
    if absent and short > 0:
        among = "" if len(absent) == short else "among "
        yield f"{counted(short, 'subject')} of {whole.people}{'' if filed else lost}: {among}{some(absent)}"
    wanted = set(manifest.labels.values())
    lacking = sorted(wanted - set(seen.labels))
    if lacking and seen.labels:
        yield f"{counted(len(lacking), 'label')} of {len(wanted)}{lost}: {some(lacking)}"


def _odd(manifest: Manifest, whole: Cohort, seen: Seen, faults: Faults) -> Iterator[str]:
    yield from (f"{what}: {number:,}" for what, number in sorted(faults.items()))
    strange = sorted(set(seen.subjects) - set(whole.names or seen.subjects))
    if strange:
        yield f"subjects that the manifest does not name: {some(strange)}"
    if not seen.rates:
        return
    middle, least, most = float(np.median(seen.rates)), min(seen.rates), max(seen.rates)
    if abs(middle / manifest.text_hz - 1) > RATE_SLACK:
        yield f"the stated rate is {manifest.text_hz:g} Hz, the measured one {middle:.4g} Hz, which is used"
    if most > RATES_APART * least:
        yield f"rates differ between recordings: {least:.4g} to {most:.4g} Hz; windows of all have one rate"


def misspelt(labels: Iterable[str], role: str) -> tuple[str, ...]:
    """Say which labels nobody knows: all of a training set, and those of a test set that look like a known one."""
    known = sorted({*LABELS, *(label for labels in TEST_LABELS.values() for label in labels)})
    told = []
    for label in sorted(set(labels) - set(known)):
        if meant := near(label, known):
            told.append(f"{shown(label, 60)!r} (did you mean {meant!r}?)")
        elif role == "train":
            told.append(f"{shown(label, 60)!r}")
    if not told:
        return ()
    return (f"{counted(len(told), 'label')} outside the vocabulary: {', '.join(told[:MOST_TOLD])}{_more(told)}",)


def _more(told: Sequence[str]) -> str:
    return f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
