"""Datasets of ``har`` in their original files, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gnomon.suites.har.datasets import dsads, motionsense, wisdm
from gnomon.suites.har.datasets.base import VARIANTS, Dataset, Faults, Report
from gnomon.suites.har.datasets.places import Place, candidates, find
from gnomon.suites.har.datasets.tables import TableDataset, own

REGISTRY: Mapping[str, Dataset] = {item.DATASET.name: item.DATASET for item in (motionsense, dsads, wisdm)}
"""Datasets that are known by name."""

__all__ = ["REGISTRY", "VARIANTS", "Dataset", "Faults", "Found", "Place", "Report", "TableDataset", "found"]

Found = Mapping[str, tuple[Dataset | TableDataset, list[Place]]]
"""Name -> dataset and its places, the one that is used first."""


def found(root: str | os.PathLike[str]) -> Found:
    """Return every dataset below a root: known ones in folders and archives, and own tables with their manifest."""
    places = [(place, place.names()) for place in candidates(root)]
    known = {name: (dataset, find(places, dataset.member, name)) for name, dataset in REGISTRY.items()}
    there: dict[str, tuple[Dataset | TableDataset, list[Place]]] = {
        name: pair for name, pair in known.items() if pair[1]
    }
    for dataset in own(root, taken=REGISTRY):
        there[dataset.name] = (dataset, [Place(dataset.path)])
    return there
