"""A job: a plan, what its results become, and the outcome when it has been worked on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gnomon.core.errors import InputError, WorkError
from gnomon.core.measure import Measure
from gnomon.core.processors import processors
from gnomon.engine.begun import FOLDER
from gnomon.engine.executors import check, execute
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
from gnomon.engine.progress import Progress
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import EXTRACTS, Store, StoreFullError
from gnomon.intake.unread import ALL, Unread
from gnomon.runs.run import Evaluation


class InterruptedWorkError(WorkError):
    """The user stopped the work; what was stored stays."""

    exit_code = 130


@dataclass(frozen=True)
class Outcome:
    """What became of the cells of a plan: the folder of each that is done, and why the others are not."""

    done: dict[str, Path]
    """By name, in the order of the plan."""
    missing: dict[str, str]
    cells: tuple[Node, ...]
    refused: frozenset[str] = frozenset()
    """Names of those that are missing for what the user gave, which was looked at and found wrong."""
    unread: Unread = field(default_factory=Unread)
    """What files held and no cell, nor what it needed, did read; by system where cells have that label."""

    @property
    def complete(self) -> bool:
        """Whether every cell is done."""
        return not self.missing

    def of(self, **labels: str) -> Outcome:
        """Return the part of the cells that carry some labels."""
        cells = tuple(c for c in self.cells if all(c.labels.get(name) == value for name, value in labels.items()))
        return self.named(cell.name for cell in cells)

    def named(self, names: Iterable[str]) -> Outcome:
        """Return the part of the cells that have some names."""
        wanted = set(names)
        done = {name: path for name, path in self.done.items() if name in wanted}
        missing = {name: why for name, why in self.missing.items() if name in wanted}
        cells = tuple(cell for cell in self.cells if cell.name in wanted)
        return Outcome(done, missing, cells, self.refused & wanted)

    def coverage(self) -> dict[str, Any]:
        """Return the counts for a run's coverage."""
        missing = [{"cell": name, "why": why} for name, why in self.missing.items()]
        return {"total": len(self.cells), "done": len(self.done), "missing": missing}

    def __str__(self) -> str:
        return f"{len(self.done)} of {len(self.cells)} cells"


@dataclass(frozen=True)
class Job:
    """What a suite's verb hands to the engine: a plan, and how its outcome becomes evaluations."""

    plan: Plan
    assemble: Callable[[Outcome], Sequence[Evaluation]]
    measures: tuple[Measure, ...] = ()
    """The measures that its evaluations will have, so that their names can be checked before the work."""


def work(
    plan: Plan,
    options: EngineOptions,
    *,
    stream: IO[str] | None = None,
    order: Callable[[list[Node]], Iterable[Node]] | None = None,
) -> Outcome:
    """Work on a plan and say what became of its cells."""
    workers = options.workers or processors()
    executor = chosen(plan, options.executor, workers)
    check(plan, executor)
    store = Store(options.store_folder())
    refuse_links(store.folder)
    store.sweep()
    with Progress(len(plan), stream, store.folder / "progress.jsonl") as progress:
        schedule = Schedule(plan, store, progress, options.fresh, order)
        try:
            execute(schedule, executor, workers)
        except KeyboardInterrupt:
            raise InterruptedWorkError(
                f"interrupted: {_stored(schedule)} are stored; give the same command again to continue"
            ) from None
        except StoreFullError as error:
            raise StoreFullError(f"{error} ({_stored(schedule)} are stored)") from error
    return outcome(schedule)


def refuse_links(folder: Path) -> None:
    """Refuse a store in which links lead elsewhere: a folder that was handed over could have them.

    Lines of progress, locks, errors and checkpoints would be written to the files that they lead to. Links inside of
    results are not looked for here: a result with a link in it does not agree with its seal.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise InputError(
                        f"{entry.path}: a link in a store could lead what is written there to any file; remove it, or "
                        "give another folder with --store"
                    )
                inner = place == folder and entry.name not in ("drafts", "damaged")
                if entry.is_dir() and (inner or place.name in (FOLDER, EXTRACTS)):
                    waiting.append(Path(entry.path))


def chosen(plan: Plan, executor: str, workers: int) -> str:
    """Return who does the work.

    With ``auto`` these are worker processes where nodes run code that is not gnomon's own (one that ends its process
    must not end the others), where nodes have limits, and for several heavy nodes; else this process.
    """
    if executor != "auto":
        return executor
    limited = any(node.limits.seconds is not None or node.limits.memory_bytes is not None for node in plan)
    apart = limited or any(node.foreign for node in plan)
    return "processes" if apart or (workers > 1 and sum(node.heavy for node in plan) > 1) else "inline"


def outcome(schedule: Schedule) -> Outcome:
    """Return what became of the cells of a schedule."""
    missing = schedule.missing()
    cells = schedule.plan.cells
    done = {cell.name: schedule.store.path(cell.key) for cell in cells if cell.key in schedule.done}
    lacking = {cell.name: missing[cell.key] for cell in cells if cell.key in missing}
    refused = frozenset(cell.name for cell in cells if cell.key in schedule.refused)
    return Outcome(done, lacking, tuple(cells), refused, _unread(schedule))


def _unread(schedule: Schedule) -> Unread:
    """Gather what was noted where the cells that are done, and all that they need, were worked on."""
    found, noted = Unread(), {node.key: Unread.read(schedule.store.path(node.key)) for node in schedule.plan}
    if not any(own.notes for own in noted.values()):
        return found
    for cell in schedule.plan.cells:
        below = {cell.key: cell} if cell.key in schedule.done else {}
        waiting = list(below.values())
        while waiting:
            needed = {one.key: one for one in waiting.pop().needs.values() if one.key not in below}
            below |= needed
            waiting += needed.values()
        for key in below:
            found.merge(noted[key], cell.labels.get("system", ALL))
    return found


def _stored(schedule: Schedule) -> str:
    cells = schedule.plan.cells
    return f"{sum(cell.key in schedule.done for cell in cells)} of {len(cells)} cells"
