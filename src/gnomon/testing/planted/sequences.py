"""Faults of samples that are cut from sequences: cuts, clamped targets, invalid entries, units, ties."""

from __future__ import annotations

import dataclasses

import numpy as np

from gnomon.audit.inputs import input_blocks
from gnomon.audit.sequences import (
    Entries,
    Ties,
    clamped_targets,
    cut_points,
    invalid_values,
    overlapping_units,
    tied_ranks,
)
from gnomon.audit.split import taken
from gnomon.core.seeds import generator
from gnomon.testing.planted.case import Findings, Planted
from gnomon.testing.planted.splits import FRAMES, OBSERVED, episode


def _cloud(leak: bool) -> Findings:
    return input_blocks({**OBSERVED, **({"point cloud": "whole-episode"} if leak else {})})


def _moving_cut(leak: bool) -> Findings:
    """Windows without ten frames after them go before the list is cut; the twin cuts by time and purges."""
    if not leak:
        return cut_points({"window": episode(purge=0), "forecast": episode(0, 10, purge=0)})
    forecast = episode(0, 10)
    kept = np.flatnonzero(forecast.target_range[:, 1] <= FRAMES)
    train = round(0.7 * len(kept))
    parts = ("train",) * train + ("test",) * (len(kept) - train)
    return cut_points(
        {"window": episode(), "forecast": dataclasses.replace(taken(forecast, kept.tolist()), parts=parts)}
    )


def _clamped(leak: bool) -> Findings:
    """The label 20 frames on, or that of the last frame; the twin drops windows without such a frame."""
    ahead = episode(19, 20)
    last = np.minimum(ahead.target_range, [FRAMES - 1, FRAMES])
    held = dataclasses.replace(ahead, target_range=last)
    kept = np.flatnonzero(ahead.target_range[:, 1] <= FRAMES).tolist()
    return clamped_targets(held if leak else taken(held, kept), 20)


def _zeros(leak: bool) -> Findings:
    """Hands that are out of sight in a tenth of the frames; the twin masks them."""
    valid = generator(11, "planted", "visible").random((400, 2)) < 0.9
    return invalid_values({"hands": Entries.counted(valid, np.ones_like(valid) if leak else valid)})


def _windows(leak: bool) -> Findings:
    samples = episode()
    segments = tuple(f"segment {start // 400:.0f}" for start in samples.input_range[:, 0].tolist())
    return overlapping_units(dataclasses.replace(samples, tags={"segment": segments}), "ids" if leak else "segment")


def _ties(leak: bool) -> Findings:
    """Ten candidates of equal score for every query: first at best, last at worst."""
    average = sum(1 / rank for rank in range(1, 11)) / 10
    return tied_ranks({"mrr": Ties("optimistic" if leak else "average", 1.0, 0.1, average)})


def _texts(leak: bool) -> Findings:
    texts = [f"text {i // 4 if leak else i}" for i in range(40)]
    return tied_ranks({}, texts)


SEQUENCES: tuple[Planted, ...] = (
    Planted("input-blocks", "whole-recording-input", "a point cloud made from the whole recording", _cloud),
    Planted("cut-points", "cuts-differ", "lists of different length cut at 70 %; the twin is cut by time", _moving_cut),
    Planted("clamped-targets", "target-clamped", "labels 20 frames ahead, clamped to the last frame", _clamped),
    Planted("invalid-values", "invalid-as-values", "hands out of sight scored as zeros; the twin masks them", _zeros),
    Planted(
        "overlapping-units",
        "overlapping-units",
        "windows that overlap by three quarters, counted one by one; the twin counts segments",
        _windows,
    ),
    Planted("tied-ranks", "ties-decide", "ten candidates of equal score, the right one ranked first", _ties),
    Planted("tied-ranks", "duplicate-queries", "40 queries of 10 texts, each with its own answer", _texts),
)
