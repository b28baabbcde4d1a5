"""Verb ``simulate``: the fourteen datasets in their native files, from simulated people with sensors on their bodies.

``DIR/<dataset>`` receives what the authors of a dataset distribute: the same folders, names, headers, separators,
digits, units, rates and quirks (:mod:`gnomon.suites.har.distributions`), so that the loaders, and other programs, read
it as they read the original. The motion is that of :mod:`gnomon.suites.har.simulation`: the same activity obeys the
same physics in every dataset, in recordings of its own. ``DIR/simulated.json`` says that the data are not real ones.

A dataset is named there under ``unfinished`` until all of its files are written: one whose simulation was interrupted
is not taken for a whole one (``gnomon data check`` says so), and is written anew when the same is asked for again.

A dataset depends on the seed, the number of subjects and the minutes, not on what else is written, so datasets can be
added to a folder later. A subject's recordings do not depend on the number of subjects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from gnomon.core.errors import InputError, some
from gnomon.core.options import split_words
from gnomon.engine.progress import told
from gnomon.engine.simulated import Simulation, begin
from gnomon.suites.har.distributions import DISTRIBUTIONS, Request
from gnomon.suites.har.marks import FINISHED
from gnomon.suites.har.options import SimulateOptions

BY = "gnomon simulate har"


def simulate(options: SimulateOptions) -> list[Path]:
    """Write datasets; return their folders."""
    folder, names = Path(options.directory), _chosen(options.datasets)
    record = {"by": BY, **{name: getattr(options, name) for name in ("subjects", "minutes", "seed")}}
    simulation = begin(folder, record, FINISHED, names, order=[*DISTRIBUTIONS])
    request = Request(options.seed, options.subjects, options.minutes)
    for _ in told(_parts(folder, names, request, simulation), _total(names, options.subjects), "subjects"):
        pass
    return [folder / name for name in names]


def _chosen(given: Collection[str]) -> list[str]:
    wanted = split_words(given)
    odd = [name for name in wanted if name not in DISTRIBUTIONS]
    if odd:
        raise InputError(f"datasets: no {some(odd)}, expected some of {', '.join(DISTRIBUTIONS)}")
    if given and not wanted:
        raise InputError(f"datasets: none is named, expected some of {', '.join(DISTRIBUTIONS)}; leave it out for all")
    return [name for name in DISTRIBUTIONS if name in wanted or not wanted]


def _total(names: Collection[str], subjects: int) -> int:
    return sum(min(subjects, len(DISTRIBUTIONS[name].subjects)) for name in names)


def _parts(folder: Path, names: Collection[str], request: Request, simulation: Simulation) -> Iterator[str]:
    """Write the datasets, and yield each subject when it is done."""
    for name in names:
        for subject in DISTRIBUTIONS[name].write(folder / name, request):
            yield f"{name} {subject}"
        simulation.finish(name)
