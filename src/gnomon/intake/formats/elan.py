"""ELAN annotation files (``.eaf``): tiers of annotations with times, as XML.

Conventions
-----------
- Time slots are whole milliseconds (``TIME_UNITS="milliseconds"``). A slot without a value lies, as in ELAN, evenly
  between its neighbours in a chain of annotations.
- Annotations of a tier that refers to another (``REF_ANNOTATION``) have the times of what they refer to. A tier that
  subdivides annotations of another without times is refused.
- An annotation without a value is no event; how many there are is named in a finding.
- The XML has no document type and no entities of its own, and nests no deeper than ``MOST_DEEP``: a file with them is
  refused before anything is expanded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_bytes
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats.tiers import choose_tier
from gnomon.intake.limits import Limits
from gnomon.intake.unread import note

MOST_DEEP = 64
"""Nesting of elements; ELAN needs six levels."""
ROOT = "ANNOTATION_DOCUMENT"
_PER_SECOND = 1000.0
_ALIGNED, _REFERRING = "ALIGNABLE_ANNOTATION", "REF_ANNOTATION"


@dataclass
class _Annotation:
    """An annotation with its slots, or with the annotation that it refers to."""

    id: str
    line: int
    slots: tuple[str, str] | None
    parent: str
    previous: str
    value: str = ""


@dataclass
class _Tier:
    name: str
    annotations: list[_Annotation] = field(default_factory=list)


def is_xml(head: str) -> bool:
    """Say whether a text is XML."""
    return head.lstrip("\ufeff \t\r\n").startswith(("<?xml", "<" + ROOT, "<!DOCTYPE", "<!--"))


def read_elan(path: str | os.PathLike[str], tier: str, limits: Limits) -> tuple[pa.Table, list[int]]:
    """Return start, end (seconds) and label of the annotations of a tier, and the line of each."""
    document = _Document(path)
    with guarded(path, "cannot be read as an ELAN file", "save it in ELAN again"):
        document.parse(read_bytes(path, limits))
    chosen = document.tiers[choose_tier(path, [one.name for one in document.tiers], tier, "tier")]
    starts, ends, labels, lines = [], [], [], []
    times = document.find_times(chosen)
    for annotation, (start, end) in zip(chosen.annotations, times, strict=True):
        label = annotation.value.strip()
        if not label:
            continue
        if end < start:
            raise document.fault(annotation.line, f"annotation {annotation.id!r} ends before it starts; correct it")
        starts.append(start / _PER_SECOND)
        ends.append(end / _PER_SECOND)
        labels.append(label)
        lines.append(annotation.line)
    note(path, {"annotations without a value": len(chosen.annotations) - len(labels)})
    columns = {"start": pa.array(starts, pa.float64()), "end": pa.array(ends, pa.float64())}
    return pa.table({**columns, "label": pa.array(labels, pa.string())}), lines


class _Document:
    """What is read of a file while its elements pass by."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.tiers: list[_Tier] = []
        self._slots: dict[str, int | None] = {}
        self._depth = 0
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_types
        self._parser.EntityDeclHandler = self._refuse_types
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._take_text

    def parse(self, data: bytes) -> None:
        """Read all elements."""
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            what = f"not well-formed XML ({expat.ErrorString(error.code)}); save it in ELAN again"
            raise self.fault(error.lineno, what) from error

    def fault(self, line: int, what: str) -> InputError:
        """Return the error for a line."""
        return InputError(f"{shown(self.path)}: line {line}: {what}")

    def find_times(self, tier: _Tier) -> list[tuple[float, float]]:
        """Return start and end of every annotation of a tier, in milliseconds."""
        wanted = [tier]
        referring = any(one.slots is None for one in tier.annotations)
        known: dict[str, tuple[float, float]] = {}
        for one in self.tiers if referring else wanted:
            known.update(self._find_aligned(one))
        every = {one.id: one for held in self.tiers for one in held.annotations} if referring else {}
        return [known[one.id] if one.slots else self._follow(one, every, known) for one in tier.annotations]

    def _follow(
        self, one: _Annotation, every: Mapping[str, _Annotation], known: Mapping[str, tuple[float, float]]
    ) -> tuple[float, float]:
        """Return the times of what an annotation refers to, directly or through others."""
        found, seen = one, {one.id}
        while found.slots is None:
            if found.previous:
                what = f"annotation {shown(one.id, 40)!r} has no times of its own; choose the tier that it belongs to"
                raise self.fault(one.line, what)
            if found.parent not in every or found.parent in seen:
                what = f"annotation {shown(one.id, 40)!r} refers to nothing with times; save it in ELAN again"
                raise self.fault(one.line, what)
            found = every[found.parent]
            seen.add(found.id)
        return known[found.id]

    def _find_aligned(self, tier: _Tier) -> dict[str, tuple[float, float]]:
        """Return the times of annotations with slots; slots without a value are spread evenly in their chain."""
        chain: list[str] = []
        placed: dict[str, float] = {}
        aligned = [one for one in tier.annotations if one.slots is not None]
        for one in aligned:
            first, last = one.slots or ("", "")
            for slot in (first, last):
                if slot not in self._slots:
                    raise self.fault(one.line, f"no time slot {shown(slot, 40)!r}; save it in ELAN again")
            if not chain:
                chain = [first]
            if chain[-1] != first or self._slots[chain[0]] is None:
                raise self.fault(one.line, f"annotation {shown(one.id, 40)!r} begins at no time; align it in ELAN")
            chain.append(last)
            if self._slots[last] is not None:
                placed.update(self._spread(chain))
                chain = []
        if chain:
            raise self.fault(aligned[-1].line, "the last annotation ends at no time; align it in ELAN")
        return {one.id: (placed[one.slots[0]], placed[one.slots[1]]) for one in aligned if one.slots}

    def _spread(self, chain: Sequence[str]) -> dict[str, float]:
        """Return the times of slots, of which the first and the last have a value."""
        low, high = (float(self._slots[slot] or 0) for slot in (chain[0], chain[-1]))
        steps = len(chain) - 1
        return {slot: low + (high - low) * place / steps for place, slot in enumerate(chain)}

    def _refuse_types(self, *_: object) -> None:
        raise self.fault(
            self._parser.CurrentLineNumber, "a document type or an entity, which no ELAN file has; remove it"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        line = self._parser.CurrentLineNumber
        if self._depth == 1 and name != ROOT:
            raise self.fault(line, f"XML that begins with <{shown(name, 40)}>, expected <{ROOT}> of ELAN")
        if self._depth > MOST_DEEP:
            raise self.fault(line, f"elements nested more than {MOST_DEEP} deep; save it in ELAN again")
        if name == "HEADER" and attributes.get("TIME_UNITS", "milliseconds") != "milliseconds":
            unit = shown(attributes["TIME_UNITS"], 40)
            raise self.fault(line, f"times in {unit}, expected milliseconds; save it in a newer ELAN")
        if name == "TIME_SLOT":
            self._slots[attributes.get("TIME_SLOT_ID", "")] = self._read_slot(attributes.get("TIME_VALUE"), line)
        elif name == "TIER":
            self.tiers.append(_Tier(attributes.get("TIER_ID", "")))
        elif name in (_ALIGNED, _REFERRING):
            self._add_annotation(name, attributes, line)
        elif name == "ANNOTATION_VALUE":
            self._text = []

    def _read_slot(self, value: str | None, line: int) -> int | None:
        if value is None:
            return None
        if not (value.isascii() and value.isdecimal() and len(value) < 16):
            raise self.fault(line, f"TIME_VALUE {shown(value, 40)!r}, expected whole milliseconds; correct it")
        return int(value)

    def _add_annotation(self, name: str, attributes: dict[str, str], line: int) -> None:
        if not self.tiers:
            raise self.fault(line, "an annotation outside of a tier; save it in ELAN again")
        slots = None
        if name == _ALIGNED:
            slots = attributes.get("TIME_SLOT_REF1", ""), attributes.get("TIME_SLOT_REF2", "")
        self.tiers[-1].annotations.append(
            _Annotation(
                attributes.get("ANNOTATION_ID", ""),
                line,
                slots,
                attributes.get("ANNOTATION_REF", ""),
                attributes.get("PREVIOUS_ANNOTATION", ""),
            )
        )

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "ANNOTATION_VALUE" and self._text is not None:
            if self.tiers and self.tiers[-1].annotations:
                self.tiers[-1].annotations[-1].value = "".join(self._text)
            self._text = None

    def _take_text(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
