"""What turns tallies into scores.

A measure is a frozen value: its parameters are its fields, so its ``repr`` is its identity and its
hash. It knows how to tally one case and how to score any sum of tallies; it never averages scores
of parts.

``score`` takes :class:`~gnomon.core.tallies.Totals` with any leading batch axes and returns values
with a mask of where they are defined. Where a score is undefined, ``why`` gives the reason; there
is no NaN and no sentinel.

A measure whose class set depends on the data (``present``, ``union``) resolves it once on the whole
with ``freeze`` and uses that for replicates; a class of the frozen set without support in a
replicate is skipped. Without a frozen set, every total resolves its own.

``score_each`` scores single groups or cases. A class that a group does not have in truth says nothing
about that group: there, a macro average leaves the class out, and the score of that class is undefined.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Field, Tallies, Totals

Direction = Literal["up", "down", ""]
"""Higher values are better, lower ones are, or neither: of a signed error (early, late) 0 is best."""
MOST_OFFERED = 30
"""How many names an error message lists."""


@dataclass(frozen=True)
class Scored:
    """Values over batch axes, with a mask of where they are defined; undefined entries hold 0."""

    values: Array
    defined: Array

    @staticmethod
    def ratio(numerator: Array, denominator: Array) -> Scored:
        """Divide where the denominator is not zero."""
        top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
        defined = bottom != 0
        values = np.divide(top, bottom, out=np.zeros(top.shape), where=defined)
        return Scored(values, defined)


@dataclass(frozen=True)
class Shown:
    """How people read a value: times a factor, in another unit, with so many digits after the point."""

    factor: float
    unit: str
    digits: int


@dataclass(frozen=True)
class Measure(ABC):
    """Base of all measures; see the module's text for the contract."""

    title: ClassVar[str] = ""
    """A few words for a person, for example ``accuracy``."""
    signal: ClassVar[type]
    """The type of truth and prediction."""
    family: ClassVar[str]
    """Measures of one family share one stored tally."""
    layout: ClassVar[tuple[Field, ...]] = ()
    direction: ClassVar[Direction] = "up"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = ""
    shown: ClassVar[Shown | None] = None
    """How tables show the values, where it is not as they are; stored scores keep the unit."""
    computable: ClassVar[bool] = True
    """False for a user's metric of a stored run, whose class was not loaded: it has scores, and none can be made."""
    biased: ClassVar[bool] = False
    """Whether few groups push the score to one side, so that an interval has to lean to the other."""

    @property
    def name(self) -> str:
        """Short name used as a column key; most measures define their own, without parameters.

        The default is the name of the class in lower case (``BalancedAccuracy``: ``balanced_accuracy``), with the
        parameters that differ from their defaults (``fbeta@beta=2.0``).
        """
        own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        given = ((field, getattr(self, field.name)) for field in dataclasses.fields(self))
        return own + "".join(f"@{field.name}={value}" for field, value in given if value != field.default)

    @property
    def common(self) -> str:
        """The name under which variants of a protocol are set side by side, where they differ in a parameter."""
        return self.name

    @property
    def aliases(self) -> tuple[str, ...]:
        """Further names that tables print for it; :func:`find_measure` accepts them."""
        return ()

    @abstractmethod
    def tally(self, truth: Any, prediction: Any) -> Tallies:
        """Summarise one case as a single row."""

    @abstractmethod
    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Score sums of tallies."""

    def why(self, totals: Totals) -> str:
        """Say why the score of these (unbatched) totals is undefined."""
        return "no samples" if self.count(totals) == 0 else "its denominator is 0"

    def score_each(self, totals: Totals) -> Scored:
        """Score single groups or cases, each by itself; classes that one does not have in truth are left out."""
        return self.score(totals)

    @property
    def each_rule(self) -> str:
        """Say what ``score_each`` does otherwise than ``score``, for a note under a table; empty where nothing."""
        return ""

    def freeze(self, totals: Totals) -> Array | None:
        """Resolve what depends on the whole (a class set), to be passed to ``score`` for replicates."""
        del totals
        return None

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Per class that the score rests on, whether these (batched) totals support it: ``(*batch, classes)``."""
        del totals, frozen
        return None

    def count(self, totals: Totals) -> int:
        """Return how many units these totals rest on, for the n beside the score."""
        return int(totals["n"])

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Name what cannot be true of the stored tallies of this family, or does not agree with the ledgers."""
        del tallies, ledgers
        return []

    @property
    def best(self) -> float:
        """The value of a perfect prediction."""
        return {"up": self.bounds[1], "down": self.bounds[0], "": 0.0}[self.direction]

    def loss(self, value: float) -> float:
        """Return a number by which values are ordered, the best first; of a signed error its distance from 0.

        It is rounded, so that rounding errors decide nothing.
        """
        loss = {"up": -value, "down": value, "": abs(value)}[self.direction]
        return float(f"{loss:.9g}")

    def record(self) -> dict[str, Any]:
        """Return the measure as plain data: its type and its parameters."""
        parameters = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"type": type(self).__name__, "family": self.family, "parameters": parameters}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Measure:
        """Rebuild a measure from the parameters of its record."""
        return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()})


def score_by_name(
    measures: Mapping[str, Measure], totals: Totals, undefined: dict[str, str], where: str = ""
) -> dict[str, float | None]:
    """Return the score of each measure on the same (unbatched) totals, by name.

    An undefined score is None; its reason is put into `undefined`, under the name behind `where`.
    """
    found: dict[str, float | None] = {}
    for name, measure in measures.items():
        scored = measure.score(totals)
        found[name] = float(scored.values) if bool(scored.defined) else None
        if found[name] is None:
            undefined[f"{where}{name}"] = measure.why(totals)
    return found


def printed_name(measure: Measure, name: str = "") -> str:
    """Return the name of a measure (or another one) as tables print it, with the unit that it is shown in."""
    unit = measure.shown.unit if measure.shown else measure.unit
    return (name or measure.name).replace("_", " ") + (f" ({unit})" if unit else "")


def find_measure(measures: Sequence[Measure], name: str, where: str = "these runs") -> Measure:
    """Return the measure that a name stands for; refuse a name that fits none, or several.

    A name is the column key (``macro_f1``), the name as tables print it (``macro f1``, ``mpjpe (mm)``), or the identity
    (``Accuracy()``). Upper and lower case, blanks and punctuation make no difference, unless two measures differ in
    nothing else. What stands in brackets or behind an ``@`` may be left out where one measure remains, or one that has
    no brackets.
    """
    found = matching_measures(measures, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{name!r} may be any of {_offered(name, found)} in {where}: give one of these names")
    raise InputError(f"no measure {name!r} in {where}; there are {_offered(name, measures)}")


def matching_measures(measures: Sequence[Measure], name: str) -> list[Measure]:
    """Return all measures that a name may stand for; see :func:`find_measure`."""
    asked = _letters(name)
    found = [measure for measure in measures if name in (measure.name, repr(measure))]
    for names_of in (_full_names, _other_names, _short_names):
        if asked and not found:
            found = [measure for measure in measures if asked in _spellings(names_of(measure), measure)]
            found = [measure for measure in found if "[" not in measure.name] or found
    return found


def _full_names(measure: Measure) -> list[str]:
    return [measure.name, repr(measure)]


def _other_names(measure: Measure) -> list[str]:
    return [measure.common, *measure.aliases]


def _short_names(measure: Measure) -> list[str]:
    """Return the names without what is in brackets, without what is behind an ``@``, and without both."""
    short = []
    for name in (measure.name, measure.common, *measure.aliases):
        head, _, tail = name.partition("[")
        inside, _, rest = tail.rpartition("]")
        base = head.partition("@")[0]
        short += [head + rest, base + inside, base]
    return short


def _spellings(names: Sequence[str], measure: Measure) -> set[str]:
    """Return names without and with the unit of a measure, in letters and digits."""
    return {_letters(spelled) for name in names for spelled in (name, printed_name(measure, name))}


def _letters(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(character for character in name.casefold() if character.isalnum())


def _offered(name: str, measures: Sequence[Measure]) -> str:
    """List the names of measures; of many, those that are nearest to a name come first, and the rest is counted."""
    names = [measure.name for measure in measures]
    if len(names) <= MOST_OFFERED:
        return ", ".join(names)
    asked = _letters(name)
    words = {word for word in re.split(r"[\W_]+", name.casefold()) if word}

    def distance(own: str) -> tuple[int, float]:
        shared = len(words & set(re.split(r"[\W_]+", own.casefold())))
        return -shared, -difflib.SequenceMatcher(None, asked, _letters(own)).ratio()

    nearest = sorted(names, key=distance)[:MOST_OFFERED]
    return f"{', '.join(nearest)} and {len(names) - len(nearest)} more ({len(names)} in all)"


def by_family(measures: Sequence[Measure]) -> dict[str, Measure]:
    """Return one representative measure per family of tallies, in order of first use; a measure of rows has none."""
    found: dict[str, Measure] = {}
    for measure in measures:
        if measure.layout:
            found.setdefault(measure.family, measure)
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
