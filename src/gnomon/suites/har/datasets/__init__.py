"""Datasets of ``har`` in their original files, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.engine.simulated import UNFINISHED
from gnomon.intake.faults import shown
from gnomon.suites.har.datasets import (
    dsads,
    hapt,
    hhar,
    ku_har,
    mhealth,
    mobiact,
    motionsense,
    pamap2,
    realworld,
    recgym,
    uci_har,
    unimib,
    vtt_coniot,
    wisdm,
)
from gnomon.suites.har.datasets.base import VARIANTS, Dataset, Faults, Report
from gnomon.suites.har.datasets.places import Place, find, survey
from gnomon.suites.har.datasets.tables import TableDataset, load, manifests, name_of
from gnomon.suites.har.marks import marked

_TRAIN = (uci_har, hhar, pamap2, wisdm, dsads, ku_har, unimib, hapt, mhealth, recgym)
_TEST = (motionsense, realworld, mobiact, vtt_coniot)
REGISTRY: Mapping[str, Dataset] = {item.DATASET.name: item.DATASET for item in (*_TRAIN, *_TEST)}
"""Datasets that are known by name: those to train on, then those to test on."""
Entry = tuple[Dataset | TableDataset, list[Place]]
"""A dataset and its places, the one that is used first."""

__all__ = ["REGISTRY", "VARIANTS", "Dataset", "Entry", "Faults", "Found", "Place", "Report", "TableDataset", "found"]


@dataclass(frozen=True)
class Found(Mapping[str, Entry]):
    """Datasets below a root by name. One that is there and cannot be used is a name too: to look it up is an error.

    Attributes
    ----------
    usable
        Name -> dataset and its places.
    faults
        What cannot be used -> why: the name of a dataset, or the file of a manifest or an archive whose dataset is not
        known.
    """

    usable: dict[str, Entry] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Entry:
        if name in self.faults:
            raise InputError(self.faults[name])
        return self.usable[name]

    def __contains__(self, name: object) -> bool:
        return name in self.usable or name in self.faults

    def __iter__(self) -> Iterator[str]:
        return iter([*self.usable, *self.faults])

    def __len__(self) -> int:
        return len(self.usable) + len(self.faults)


def found(root: str | os.PathLike[str]) -> Found:
    """Return every dataset below a root: known ones in folders and archives, and own tables with their manifest."""
    looked = survey(root)
    there = Found(faults=dict(looked.broken))
    for name, dataset in REGISTRY.items():
        try:
            places = find(looked.places, dataset.member, name)
        except InputError as error:
            there.faults[name] = str(error)
        else:
            if places and (mark := marked(places[0].path, places[0].inside, name, UNFINISHED)):
                said = f"unfinished simulation ({shown(mark)} says so); simulate it again, or remove it"
                there.faults[name] = f"{places[0]}: {said}"
            else:
                there.usable.update({name: (dataset, places)} if places else {})
    _add_own(there, Path(root))
    return there


def _add_own(there: Found, root: Path) -> None:
    own: dict[str, list[TableDataset]] = {}
    faults: dict[Path, str] = {}
    for path in manifests(root):
        try:
            dataset = load(path)
        except InputError as error:
            faults[path] = str(error)
        else:
            own.setdefault(dataset.name, []).append(dataset)
    for name, datasets in own.items():
        paths = [dataset.path for dataset in datasets]
        if name in REGISTRY:
            said = f"there is another dataset {name!r}, which gnomon knows; give it a name of its own"
            there.faults.update({path.relative_to(root).as_posix(): f"{shown(path)}: {said}" for path in paths})
        elif len(datasets) > 1:
            others = ", ".join(map(shown, paths[1:]))
            said = f"there is another dataset {name!r}, in {others}; give each a name of its own"
            there.faults[name] = f"{shown(paths[0])}: {said}"
        else:
            there.usable[name] = (datasets[0], [Place(paths[0])])
    for path, said in faults.items():
        name = name_of(path)
        free = name and name not in there and name not in REGISTRY
        there.faults[name if free else path.relative_to(root).as_posix()] = said
