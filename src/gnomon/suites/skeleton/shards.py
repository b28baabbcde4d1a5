"""Folders of shards: prediction files (``.npz``), each with whole sequences, scored one at a time.

A sequence belongs to one shard. A shard without sample ids is one sequence, called by the name of the shard. Tallies
are those of the file in one piece; medians and percentiles, which are told beside the scores, are counted in bins
(:mod:`gnomon.suites.skeleton.spreads`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.engine import folding, sharding
from gnomon.engine.folding import Given
from gnomon.engine.job import Job, Outcome
from gnomon.intake import shards
from gnomon.intake.unread import CELL, reading_for
from gnomon.runs import parts
from gnomon.runs.content import table_digest
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.skeleton import calibration, findings, merging, scoring
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import Named

SUFFIXES = (".npz",)
APART = ("pred_file", "no_progress", "rig_file")
"""Options of the suite that no part depends on."""
OWN = tuple(
    field.name
    for field in fields(ScoreOptions)
    if field.name in ScoreOptions.__annotations__ and field.name not in APART
)
"""Options of the suite that a part depends on; not those that all suites have."""


def score(given: Sequence[tuple[str, str]], options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    systems = []
    for name, path in given:
        if not shards.is_folder(path):
            raise InputError(f"{path}: a file beside folders of shards; give every system in one form")
        found = shards.listed(path, SUFFIXES)
        pairs = [(shard, file, None) for shard, file in found.items()]
        systems.append(Given(name, path, pairs, shards.others(path, SUFFIXES)))
    record = opt.record(options)
    settings = {name: value for name, value in record.items() if name in OWN}
    settings |= {"seed": options.seed, "exhibits": 0 if options.out == "none" else options.exhibits}
    rig = os.path.abspath(options.rig_file) if options.rig_file else ""
    settings["rig_sha256"] = hash_file(Path(rig)) if rig else ""
    return sharding.job(
        "gnomon.suites.skeleton.shards:tally",
        systems,
        settings,
        options,
        lambda one, read, outcome: _evaluations(one, list(read), outcome, options),
        context={"rig_file": rig},
    )


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard in every arm; a cell of the engine."""
    del needs
    path, shard, rig = arguments["paths"]["truth"], arguments["shard"], arguments["rig_file"]
    if rig and hash_file(Path(rig)) != arguments["rig_sha256"]:
        raise InputError(f"{rig}: not what it was when the command began; give the same command again")
    own = {name: arguments[name] for name in OWN}
    options = ScoreOptions(
        pred_file=(path,), rig_file=rig, seed=arguments["seed"], exhibits=arguments["exhibits"], **own
    )
    with reading_for(CELL):
        source = scoring.source_of(shard, path, options)
    if source.file.ids is None:
        source = replace(source, sequences=replace(source.sequences, named=(Named(shard),)))
    rigs = calibration.read(options.rig_file) if options.rig_file else None
    roster = scoring.roster_of(source.sequences.named)
    tallies, ledgers, told = {}, {}, []
    for place, arm in enumerate(scoring.arms_of(options)):
        taken = scoring.sort_rows(source, arm)
        done = scoring.measured(taken, arm, rigs, options)
        tallies[_key(place)] = done.tallies
        said, ledgers[_key(place)] = merging.told(done, options.seed)
        digests = {
            "truth": scoring.data_digest(source, arm.settled),
            "predictions": table_digest(scoring.table_of(taken, done)),
        }
        told.append({**said, **digests})
        for name, content in done.keeper.files(source.joints, done.tracker.bones).items():
            (out / _key(place)).mkdir()
            (out / _key(place) / name).write_bytes(content)
    facts = {"named": [list(named) for named in source.sequences.named], "joints": list(source.joints), "arms": told}
    parts.write(Part(roster, tallies, ledgers, {**facts, "pelvis": list(source.pelvis)}), out)


def _key(place: int) -> str:
    return f"arm{place}"


def _evaluations(
    given: Given, read: Sequence[tuple[str, Part]], outcome: Outcome, options: ScoreOptions
) -> list[Evaluation]:
    """Fold the parts of a system."""
    _check(read)
    first = read[0][1].facts
    body = tuple(first["joints"]), tuple(first["pelvis"])
    rosters = _rosters(read)
    whole = parts.folded([replace(part, roster=roster) for (_, part), roster in zip(read, rosters, strict=True)])
    renamed = [
        (folder, dict(zip(part.roster.ids, roster.ids, strict=True)))
        for folder, (_, part), roster in zip(outcome.done.values(), read, rosters, strict=True)
    ]
    most = 0 if options.out == "none" else options.exhibits
    made = []
    for place, arm in enumerate(scoring.arms_of(options)):
        told = [(name, part.facts["arms"][place]) for name, part in read]
        every = [one for _, one in told]
        facts = merging.facts(every, whole.ledgers[_key(place)], arm, options.fps or None)
        own = Part(whole.roster, {scoring.FAMILY: whole.tallies[_key(place)]}, facts=facts)
        one = scoring.evaluation(arm, own, body, (given.system, given.where), options)
        samples = merging.samples(every)
        coverage = {
            "complete": outcome.complete,
            "samples": samples,
            "shards": {"given": len(given.shards), "scored": len(read)},
            "cells": outcome.coverage(),
        }
        made.append(
            replace(
                one,
                data=fingerprint([[name, said["truth"]] for name, said in told]),
                table=folding.table(dict(told), "predictions"),
                coverage=coverage,
                findings=(
                    *findings.find_nothing_kept(samples),
                    *merging.found(every, whole.ledgers[_key(place)], arm),
                ),
                files=merging.clips([(folder / _key(place), names) for folder, names in renamed], most),
            )
        )
    return made


def _check(read: Sequence[tuple[str, Part]]) -> None:
    """Refuse shards of different bodies, and sequences that several shards hold."""
    name, first = read[0][0], read[0][1].facts
    owner: dict[Named, str] = {}
    for shard, part in read:
        if part.facts["joints"] != first["joints"]:
            raise InputError(
                f"shard {shard} has {len(part.facts['joints'])} joints and {name} has {len(first['joints'])}; score "
                "one body at a time"
            )
        for sequence in (Named(*item) for item in part.facts["named"]):
            if owner.setdefault(sequence, shard) != shard:
                raise InputError(
                    f"sequence {sequence.sequence!r} is in the shards {owner[sequence]} and {shard}; keep every "
                    "sequence in one shard"
                )


def _rosters(read: Sequence[tuple[str, Part]]) -> list[Roster]:
    """Return who the cases of every shard are, as they are called where all are known."""
    named = [[Named(*item) for item in part.facts["named"]] for _, part in read]
    whole = scoring.roster_of([one for own in named for one in own])
    ends = np.cumsum([0, *(len(own) for own in named)])
    return [whole.take(np.arange(start, end)) for start, end in itertools.pairwise(ends)]
