"""Verb ``simulate``: whole episodes of a person who works in a kitchen, in the layout of real ones.

``DIR/session_000/ep0`` and so on receive ``annotation.hdf5`` with every dataset of the published layout and six videos
with sound. Motion, poses, inertial samples, hands, contacts, depth, pictures, sound and captions follow from one script
and one body (:mod:`gnomon.suites.episode.simulation`), so that they agree with one another as far as real ones do.
``DIR/simulated.json`` and an attribute of every annotation file say that the data are not real ones.

An episode is named under ``unfinished`` until all of its files are written: one whose simulation was interrupted is not
taken for a whole one, and is written anew when the same is asked for again. Every episode is a session of its own, with
its own person, kitchen and headset; it depends on the seed, its number and its length, not on what else is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.engine.progress import told
from gnomon.engine.simulated import Simulation, begin
from gnomon.suites.episode.simulate_options import SimulateOptions
from gnomon.suites.episode.simulation.extras import NEEDED, needed
from gnomon.suites.episode.simulation.marks import FINISHED

BY = "gnomon simulate episode"


def simulate(options: SimulateOptions) -> list[Path]:
    """Write episodes; return their folders."""
    if options.videos % 2:
        raise InputError(f"option 'videos': expected an even number of pixels, but got {options.videos}")
    for module in NEEDED:
        needed(module)
    folder = Path(options.directory)
    names = [f"session_{number:03d}/ep0" for number in range(options.episodes)]
    record = {"by": BY, **{name: getattr(options, name) for name in ("frames", "videos", "gaps", "seed")}}
    simulation, total = begin(folder, record, FINISHED, names), options.episodes * (options.frames + 1)
    for _ in told(_frames(folder, names, options, simulation), total, "frames", first_prepares=True):
        pass
    return [folder / name for name in names]


def _frames(folder: Path, names: list[str], options: SimulateOptions, simulation: Simulation) -> Iterator[str]:
    """Write the episodes, and yield the name of the episode after each frame."""
    from gnomon.suites.episode.simulation.recording import Request, record

    for number, name in enumerate(names):
        request = Request(options.seed, number, options.frames, options.videos, options.gaps == "realistic")
        for _ in record(folder / name, request):
            yield name
        simulation.finish(name)
