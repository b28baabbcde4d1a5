"""Tally recordings: what they leave for scores, and plain facts, from which an evaluation is made.

Recordings may be tallied some at a time (:func:`tally_recordings`). What depends on all of them is settled by
:mod:`gnomon.suites.events.scoring` once all are tallied: groups, whether every detection has a score, and whether
recordings are too long for an edit score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.cases import Roster
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, by_family
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Tallies, natural_key
from gnomon.measures import _stretches
from gnomon.measures._folding import Folded
from gnomon.measures._ward import WardTally, segmented, tally_cases
from gnomon.measures.segmentation import RunF1, SegmentalF1
from gnomon.runs.parts import Part
from gnomon.suites.events import summaries
from gnomon.suites.events.columns import Columns, Recording
from gnomon.suites.events.protocol import protocol

MOST_EDITED = 100_000
"""Above this many events in one recording there is no edit score, which compares each with every return."""
COUNTED = ("outside", "all_returns", "lost_returns", "all_events", "lost_events", "lasting_returns", "lasting_events")
"""What is counted of recordings besides their tallies, before anything is cut to a window."""
NAMED = ("true", "returned", "background")
"""What names labels, those of all parts together."""
PUBLISHED = "published_"
"""Before the name of a family whose labels are pooled, in a part."""


def tally_recordings(
    roster: Roster,
    recordings: Sequence[Recording],
    variants: Sequence[str],
    *,
    true: Sequence[str],
    longest: int,
    background: Sequence[str] = (),
) -> Part:
    """Tally recordings in some variants.

    Parameters
    ----------
    roster
        Who they are, in their order.
    recordings
        What is scored.
    variants
        Which are asked for.
    true, longest
        The classes of the truth, and the most events of a recording; also of recordings that are not scored.
    background
        The labels that mean that nothing happens and that were met, on either side.
    """
    tallies: dict[str, Tallies] = {}
    ledgers: dict[str, Ledger] = {}
    counts: dict[str, int] = {}
    ranked = all(one.returned.scored for one in recordings)
    for variant in variants:
        pooled = variant == "published"
        truth = [one.truth.signal(one.case.window, pooled=pooled) for one in recordings]
        returned = [one.returned.signal(one.case.window, pooled=pooled, scores=ranked) for one in recordings]
        pair, windows = _stretches.together(truth, returned)
        found = segmented(pair, windows)
        families = by_family(protocol((), variant, "union", (), "recording", edit=longest <= MOST_EDITED).measures)
        rows = _rows(families, truth, returned, tally_cases(pair, windows, found))
        tallies |= {f"{PUBLISHED if pooled else ''}{name}": own for name, own in rows.items()}
        if not pooled:
            ledgers, counts = summaries.make_ledgers(pair, found.tables)
    facts = {
        "true": sorted(true, key=natural_key),
        "returned": sorted({label for one in recordings for label in one.returned.classes}, key=natural_key),
        "longest": longest,
        "background": sorted(background, key=natural_key),
        "outside": sum(one.returned.beyond(one.case.window) for one in recordings),
        "ranked": ranked,
        "all_returns": sum(len(one.returned) for one in recordings),
        "lost_returns": sum(one.returned.lost(one.case.window) for one in recordings),
        "all_events": sum(len(one.truth) for one in recordings),
        "lasting_returns": sum(one.returned.lasting() for one in recordings),
        "lasting_events": sum(one.truth.lasting() for one in recordings),
        "lost_events": sum(one.truth.lost(one.case.window) for one in recordings),
        "elsewhere_returns": _elsewhere([(one, one.returned) for one in recordings]),
        "elsewhere_events": _elsewhere([(one, one.truth) for one in recordings]),
        "reach_returns": max((one.returned.reach(one.case.window) for one in recordings), default=0.0),
        "reach_events": max((one.truth.reach(one.case.window) for one in recordings), default=0.0),
        **counts,
    }
    return Part(roster, tallies, ledgers, facts)


def _elsewhere(given: Sequence[tuple[Recording, Columns]]) -> list[str]:
    """Return the recordings that have stretches, and none of them in the window."""
    return [one.case.id for one, found in given if len(found) and found.lost(one.case.window) == len(found)]


def merge_facts(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of all parts together."""
    return {
        **{key: sorted({name for one in facts for name in one[key]}, key=natural_key) for key in NAMED},
        **{key: max(one[key] for one in facts) for key in ("longest", "reach_returns", "reach_events")},
        **{key: [case for one in facts for case in one[key]] for key in ("elsewhere_returns", "elsewhere_events")},
        "ranked": all(one["ranked"] for one in facts),
        **{key: sum(one[key] for one in facts) for key in facts[0] if key in (*COUNTED, *summaries.COUNTS)},
    }


def drop_edits(part: Part) -> Part:
    """Return a part as if its recordings were too long for an edit score."""
    whole = part.tallies.get(SegmentalF1.family)
    if whole is None:
        return part
    runs = Tallies(RunF1.layout, whole.axes, {field.name: whole.fields[field.name] for field in RunF1.layout})
    kept = {name: rows for name, rows in part.tallies.items() if name != SegmentalF1.family}
    return replace(part, tallies={**kept, RunF1.family: runs})


def select_variant(part: Part, variant: str) -> dict[str, Tallies]:
    """Return the tallies of one variant."""
    pooled = variant == "published"
    return {
        name.removeprefix(PUBLISHED): rows
        for name, rows in part.tallies.items()
        if name.startswith(PUBLISHED) == pooled
    }


def _rows(
    families: Mapping[str, Measure],
    truth: Sequence[Intervals],
    returned: Sequence[Intervals],
    ward: Tallies,
) -> dict[str, Tallies]:
    """Tally every recording once for each family of measures; Ward's categories are given."""
    rows: dict[str, list[Tallies]] = {name: [] for name in families}
    folded = {name: one for name, one in families.items() if isinstance(one, Folded)}
    for true, found in zip(truth, returned, strict=True) if folded else ():
        pair = _stretches.paired(true, found)
        for name, measure in folded.items():
            rows[name].append(measure.folded(pair))
    for name, one in families.items():
        if isinstance(one, WardTally):
            rows[name].append(ward)
        elif not truth:  # every cell failed: nothing to sum, everything undefined
            empty = Intervals(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), (), (0.0, 1.0))
            rows[name].append(one.tally(empty, empty).take(slice(0, 0)))
    return {name: Tallies.stack(own) for name, own in rows.items()}
