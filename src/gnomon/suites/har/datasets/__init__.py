"""Datasets of ``har`` in their original files, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.core.errors import InputError, counted, some
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
from gnomon.suites.har.datasets.archives import is_archive
from gnomon.suites.har.datasets.base import VARIANTS, Dataset, Faults, Report
from gnomon.suites.har.datasets.places import Place, Survey, find, survey
from gnomon.suites.har.datasets.tables import TableDataset, load, manifests, name_of
from gnomon.suites.har.marks import marked

_TRAIN = (uci_har, hhar, pamap2, wisdm, dsads, ku_har, unimib, hapt, mhealth, recgym)
_TEST = (motionsense, realworld, mobiact, vtt_coniot)
REGISTRY: Mapping[str, Dataset] = {item.DATASET.name: item.DATASET for item in (*_TRAIN, *_TEST)}
"""Datasets that are known by name: those to train on, then those to test on."""
Entry = tuple[Dataset | TableDataset, list[Place]]
"""A dataset and its places, the one that is used first."""

__all__ = [
    "REGISTRY",
    "VARIANTS",
    "Dataset",
    "Entry",
    "Faults",
    "Found",
    "Place",
    "Report",
    "TableDataset",
    "found",
    "said_skipped",
]


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
    skipped
        Name -> files that look like files of the dataset, by name or place, and are not read.
    strays
        Name -> what else lies in the folder of the dataset and is not read, in words: links that lead nowhere, files of
        another dataset.
    notes
        What else a user should know: links to a dataset that is read under another name, folders not looked into.
    """

    usable: dict[str, Entry] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    strays: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

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
    _add_skipped(there, looked, Path(root))
    _add_strays(there, looked, Path(root))
    there.notes.extend(_links(there, looked))
    there.notes.extend(f"{shown(name)}: not looked into: {why}" for name, why in looked.unseen.items())
    return there


def said_skipped(name: str, files: Sequence[str]) -> str:
    """Say which files of a dataset were not read, and where they are expected."""
    return (
        f"not read: {counted(len(files), 'file')} that look like files of {name}, by name or place: "
        f"{some(files, show=3)}; expected {REGISTRY[name].layout}"
    )


def _add_skipped(there: Found, looked: Survey, root: Path) -> None:
    """Find the files that look like those of a dataset, and are neither its members nor another's."""
    names = {place.path: own for place, own in looked.places}
    tables = [
        path for dataset, _ in there.usable.values() if isinstance(dataset, TableDataset) for path in dataset.tables
    ]
    own = {os.path.relpath(path, root) for path in tables}
    for name, (dataset, places) in there.usable.items():
        if isinstance(dataset, TableDataset):
            continue
        place = places[0]
        found = dataset.skipped(place, names[place.path], _folder_of(place, there))
        kept = tuple(file for file in found if place.path != root or file not in own)
        if kept:
            there.skipped[name] = kept


def _add_strays(there: Found, looked: Survey, root: Path) -> None:
    """Find links that lead nowhere, and files of a known dataset in the folder of another one; nobody reads them."""
    names = next((own for place, own in looked.places if place.path == root and not place.is_archive), [])
    known = {name: (dataset, places[0]) for name, (dataset, places) in there.usable.items() if name in REGISTRY}
    taken = {file for files in there.skipped.values() for file in files}
    inside = {}
    for name, (dataset, place) in known.items():
        if place.path == root and isinstance(dataset, Dataset):
            inside[place.inside] = name
            taken.update(dataset.files(place, names))
    lost = [name for name in looked.dangling if name not in taken and not is_archive(name) and "/." not in f"/{name}"]
    foreign: dict[tuple[str, str], list[str]] = {}
    for file in names:
        owner = _owner(file, inside)
        other = _name_of(file, owner) if owner and file not in taken and file not in lost else ""
        if other and other != owner:
            foreign.setdefault((owner, other), []).append(file)
    for owner in {_owner(file, inside): None for file in lost}:
        own = [file for file in lost if _owner(file, inside) == owner]
        said = f"not read: {counted(len(own), 'link')} to what does not exist: {some(own, show=3)}; mend or remove"
        (there.strays.setdefault(owner, []) if owner else there.notes).append(said)
    for (owner, other), files in foreign.items():
        said = f"not read: {counted(len(files), 'file')} in its folder that look like files of {other}: "
        there.strays.setdefault(owner, []).append(f"{said}{some(files, show=3)}; expected {REGISTRY[other].layout}")


def _owner(file: str, inside: Mapping[str, str]) -> str:
    """Return the dataset in whose folder a file lies, by what ``inside`` says of folders; empty where none does."""
    folders = [folder for folder in inside if file.startswith(folder)]
    return inside[max(folders, key=len)] if folders else ""


def _name_of(file: str, owner: str) -> str:
    """Return the dataset whose data files are called like a file, the owner of its folder first; empty if none is."""
    base = file.rpartition("/")[2]
    like = (name for name in (owner, *REGISTRY) if (own := REGISTRY[name].file) and own.fullmatch(base))
    return next(like, "")


def _folder_of(place: Place, there: Found) -> str:
    """Return the largest folder of a place that holds this dataset and no other one, with a slash at its end."""
    others = [
        other.inside
        for _, places in there.usable.values()
        for other in places[:1]
        if other.path == place.path and other != place
    ]
    parts = place.inside.split("/")[:-1]
    for depth in range(len(parts) + 1):
        folder = "".join(f"{part}/" for part in parts[:depth])
        if not any(other.startswith(folder) for other in others):
            return folder
    return place.inside


def _links(there: Found, looked: Survey) -> Iterator[str]:
    """Name links to folders of a dataset that is read under another name."""
    folders = {name: f"{places[0].inside or './'}" for name, (_, places) in there.usable.items()}
    for link, target in looked.repeated.items():
        top = "" if target == "." else f"{target}/"
        held = [name for name, inside in folders.items() if inside.startswith(top) or top.startswith(inside)]
        if held:
            yield f"{shown(link)} is a link to {shown(target)}, where {some(held, show=3)} is read: not read twice"


def _add_own(there: Found, root: Path) -> None:
    own: dict[str, list[TableDataset]] = {}
    faults: dict[Path, str] = {}
    for path, links in manifests(root).items():
        there.notes.extend(f"{shown(link)} leads to {shown(path)}; it is not read twice" for link in links)
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
