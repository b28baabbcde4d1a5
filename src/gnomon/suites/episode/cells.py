"""Artefacts and cells of episodes: features and annotation of every episode are artefacts, each answer is a cell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gnomon.engine.plan import WHOLE, Node
from gnomon.engine.planner import Planner
from gnomon.suites.episode import annotated, systems
from gnomon.suites.episode.answers import Answers
from gnomon.suites.episode.features.computing import compute
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.layout import Place
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import TaskData, build

VALIDITY: Mapping[str, Any] = {"published": "as-zero", "strict": "masked"}
"""How frames that are not valid enter the features of each variant."""


def declare_artefacts(
    planner: Planner, place: Place, content: str, variant: str, skip: Sequence[str] | None, name: str
) -> dict[str, Node]:
    """Return the artefacts of an episode by role: its annotation and its features.

    Parameters
    ----------
    content
        Fingerprint of the files of the episode.
    skip
        Blocks that are not computed; None for no features at all.
    name
        What people call the features.
    """
    about = {"episode": place.id, "content": content}
    context = {"folder": os.fspath(place.folder)}
    artefact = partial(planner.artefact, labels={"dataset": place.id}, context=context, read=WHOLE)
    found = {"annotation": artefact(f"annotation of {place.id}", annotation, about)}
    if skip is not None:
        asked = {**about, "validity": VALIDITY[variant], "skip": list(skip)}
        found["features"] = artefact(name, features, asked, heavy=True)
    return found


def features(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: the feature vectors of an episode."""
    from gnomon.suites.episode.episode import Episode

    del needs
    with Episode.open(_place(arguments)) as episode:
        compute(episode, out, validity=arguments["validity"], skip=arguments["skip"])


def annotation(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: labels of frames, hands, poses and contacts of an episode."""
    from gnomon.suites.episode.episode import Episode
    from gnomon.suites.episode.plausible import check_plausible

    del needs
    with Episode.open(_place(arguments)) as episode:
        check_plausible(episode)
        annotated.write(episode, out)


def answer(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: fit a system to the training samples of a task and keep what it answers for the test samples."""
    recorded = [read(needs[f"annotation {name}"], needs[f"features {name}"]) for name in arguments["episodes"]]
    data = built(arguments["task"], recorded, arguments)
    found: Answers = systems.answer(arguments["system"], data, arguments["seed"])
    found.write(out)


def read(annotation_folder: Path, features_folder: Path | None) -> Recorded:
    """Read an episode back from its artefacts."""
    held = None if features_folder is None else Features.read(features_folder)
    return annotated.Annotation.read(annotation_folder).recorded(held)


def built(task: str, recorded: list[Recorded], how: Mapping[str, Any]) -> TaskData:
    """Build the samples of a task as it was asked for."""
    return build(
        TASKS[task],
        recorded,
        how["variant"],
        how["split"],
        embargo=how["embargo"],
        seed=how["seed"],
        test_episodes=how["test_episodes"] or None,
        held=how.get("held"),
    )


def _place(arguments: Mapping[str, Any]) -> Place:
    return Place(arguments["episode"], Path(arguments["folder"]))
