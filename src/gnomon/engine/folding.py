"""What becomes of the parts of shards: they are folded, and a run records which there were and which are missing.

A system of which nothing could be scored has no run, and takes no other along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

import pyarrow as pa

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import NothingScoredError, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Outcome
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation

System = TypeVar("System")
TRUTH, PREDICTIONS = "truth_digest", "predictions_digest"
"""Facts of a part: fingerprints of the content of both sides."""


@dataclass(frozen=True)
class Given:
    """The shards of one system: name, truth, predictions (None where there are none)."""

    system: str
    where: str
    """The folder of predictions."""
    shards: Sequence[tuple[str, Path, Path | None]]
    others: Sequence[Path] = ()
    """Files beside shards of either side, which are none by their suffix."""


def nothing_scored(where: str, outcome: Outcome, what: str = "shard") -> NothingScoredError:
    """Return the error for a system whose cells all failed, with the first of the reasons: there is no run of it."""
    why = next(iter(outcome.missing.values()))
    return NothingScoredError(f"{where}: no {what} could be scored; the first: {why}")


def for_each(systems: Iterable[System], make: Callable[[System], Sequence[Evaluation]]) -> list[Evaluation]:
    """Make the evaluations of every system; one of which nothing could be scored has none, and its cells say why.

    Raises
    ------
    NothingScoredError
        No system has any.
    """
    found: list[Evaluation] = []
    lost: list[NothingScoredError] = []
    for one in systems:
        try:
            found += make(one)
        except NothingScoredError as error:
            lost.append(error)
    if lost and not found:
        raise lost[0]
    return found


def left_alone(files: Sequence[Path]) -> tuple[Finding, ...]:
    """Say which files beside shards were not read."""
    if not files:
        return ()
    count = f"{len(files)} file{' is' if len(files) == 1 else 's are'}"
    names = some([path.name for path in files], show=3)
    return (
        Finding(
            "files-left-alone",
            "warning",
            str(files[0].parent),
            f"{count} no shard by the suffix, and not scored: {names}",
            "write data in a format that is read, and keep other files elsewhere",
        ),
    )


class Stored(Sequence[tuple[str, Part]]):
    """Parts by the names of their shards, read from their folders when they are asked for.

    ``alone`` holds, by name, what is known of shards whose predictions cannot be scored, from their truth alone: the
    facts of a part in which nothing was scored.
    """

    def __init__(
        self, folders: Sequence[tuple[str, Path]], alone: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.folders, self.alone = folders, dict(alone or {})

    def __len__(self) -> int:
        return len(self.folders)

    @overload
    def __getitem__(self, index: int) -> tuple[str, Part]: ...
    @overload
    def __getitem__(self, index: slice) -> Stored: ...
    def __getitem__(self, index: int | slice) -> tuple[str, Part] | Stored:
        if isinstance(index, slice):
            return Stored(self.folders[index])
        name, folder = self.folders[index]
        return name, parts.read(folder)


def gathered(read: Stored, columns: Sequence[str]) -> tuple[Part, dict[str, Mapping[str, Any]]]:
    """Fold parts of counts, few at a time; return the facts of each by name, too."""
    facts: dict[str, Mapping[str, Any]] = {}

    def every() -> Iterator[Part]:
        for name, part in read:
            facts[name] = part.facts
            yield part

    return parts.gathered(every(), columns), facts


def table(facts: Mapping[str, Mapping[str, Any]], key: str = PREDICTIONS) -> pa.Table:
    """Return what a run keeps in place of predictions that are too many: the shards, with their fingerprints."""
    return pa.table(
        {
            "shard": pa.array(list(facts), pa.string()),
            "predictions": pa.array([str(own[key]) for own in facts.values()], pa.string()),
        }
    )


def covered(own: Mapping[str, Any], given: Given, read: Stored, outcome: Outcome, missing: str) -> dict[str, Any]:
    """Return what was scored of the shards of the truth, beside what a suite says of what is in them.

    ``missing`` is what was asked for where predictions are missing: ``skip`` leaves such shards out.
    """
    without = [name for name, _, predictions in given.shards if predictions is None]
    skipped = without if missing == "skip" else []
    shards = {
        "truth": len(given.shards),
        "scored": len({name for name, _ in read.folders} - set(skipped)),
        "without predictions": len(without),
    }
    complete = bool(own["complete"]) and outcome.complete and not skipped
    return {
        **own,
        "complete": complete,
        "shards": {**shards, "skipped": skipped} if skipped else shards,
        **cells(outcome, complete=complete),
    }


def cells(outcome: Outcome, *, complete: bool) -> dict[str, Any]:
    """Return what a run records of its cells; where all are done and it is partial, they are not what makes it so."""
    return {"cells": outcome.coverage()} if complete or not outcome.complete else {}


def content(given: Given, facts: Mapping[str, Mapping[str, Any]], read: Stored) -> str:
    """Return the fingerprint of the truth of all shards, of those that could not be scored, too."""
    known = {**read.alone, **facts}
    return fingerprint([[name, known[name][TRUTH]] for name, *_ in given.shards if name in known])
