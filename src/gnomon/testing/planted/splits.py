"""Faults of splits and inputs: ranges, duplicates, people, blocks, what was fitted on what."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from gnomon.audit.duplicates import exact_duplicates, near_duplicates
from gnomon.audit.inputs import fit_provenance, input_blocks
from gnomon.audit.people import same_people, shared_tags
from gnomon.audit.ranges import read_ranges
from gnomon.audit.split import Split
from gnomon.core.canonical import digest
from gnomon.core.samples import Samples
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.testing.planted.case import Findings, Planted

FRAMES, WINDOW, STRIDE = 5821, 20, 5
TRAIN, TEST = 60, 40
PARTS = ("train",) * TRAIN + ("test",) * TEST
DATASETS = Split(("first",), ("second",), column="dataset")


def episode(first: int = 0, last: int = 0, *, purge: int | None = None) -> Samples:
    """Cut one recording into windows of 20 frames, every 5 frames, 70/30 by time.

    The target of a window that ends before frame e is ``[e + first, e + last)``, or the window itself where both are 0.
    With ``purge``, training windows go whose input or target ends less than so many frames before the test begins.
    """
    starts = np.arange(0, FRAMES - WINDOW + 1, STRIDE)
    inputs = np.stack([starts, starts + WINDOW], axis=1)
    targets = inputs[:, 1:] + [first, last] if last else inputs
    test = np.arange(len(starts)) >= round(0.7 * len(starts))
    begin = inputs[test].min()
    kept = test | (np.maximum(inputs[:, 1], targets[:, 1]) + (purge or 0) <= begin) | (purge is None)
    ids = tuple(f"w{i}" for i in np.flatnonzero(kept).tolist())
    parts = tuple(np.where(test[kept], "test", "train").tolist())
    return Samples(ids, ("episode",) * len(ids), parts, inputs[kept], targets[kept])


def plain(tags: Mapping[str, tuple[str, ...]] | None = None, seed: int = 1) -> Samples:
    """Return 60 training and 40 test samples, each of a recording of its own, with digests of random content."""
    n = len(PARTS)
    content = generator(seed, "planted", "content").bytes(16 * n)
    digests = tuple(digest([content[16 * i : 16 * i + 16]]) for i in range(n))
    span = np.tile([0.0, 1.0], (n, 1))
    names = tuple(f"s{i}" for i in range(n))
    return Samples(names, tuple(f"r{i}" for i in range(n)), PARTS, span, span, digests, tags or {})


def windows(seed: int = 2, length: int = 120) -> Array:
    """Return 100 windows of noisy oscillation, of 10 people by turns, each with a frequency of their own."""
    rng = generator(seed, "planted", "windows")
    time = np.arange(length) / 20
    rate = np.repeat(rng.uniform(0.5, 3, 10), 10)[:, None]
    phase = rng.uniform(0, 2 * np.pi, (100, 1))
    return np.asarray(np.sin(2 * np.pi * rate * time + phase) + 0.3 * rng.standard_normal((100, length)))


PEOPLE = {"subject": tuple(f"p{i // 10}" for i in range(100))}


def _random_split(leak: bool) -> Findings:
    """Windows of 12 recordings that overlap by three quarters, dealt at random; the twin deals whole recordings."""
    whole = episode()
    recording = np.arange(len(whole)) // 100
    dealt = generator(3, "planted", "deal").random(len(whole)) < 0.3
    parts = tuple(np.where(dealt if leak else recording % 3 == 0, "test", "train").tolist())
    return read_ranges(dataclasses.replace(whole, parts=parts, cases=tuple(f"r{code}" for code in recording.tolist())))


def _copied(leak: bool) -> Findings:
    """A quarter of the test cut twice from overlapping sessions, so that equal windows are on both sides."""
    samples = plain()
    copies = samples.digests[:10] if leak else samples.digests[60:70]
    return exact_duplicates(
        dataclasses.replace(samples, digests=(*samples.digests[:60], *copies, *samples.digests[70:]))
    )


def _unhashed(leak: bool) -> Findings:
    samples = plain()
    blank = ("",) * 5 if leak else samples.digests[:5]
    return exact_duplicates(dataclasses.replace(samples, digests=(*blank, *samples.digests[5:])))


def _copied_dataset(leak: bool) -> Findings:
    """Two datasets that share a third of their recordings."""
    samples = plain({"dataset": ("first",) * 60 + ("second",) * 40})
    copies = samples.digests[:20] if leak else samples.digests[60:80]
    return exact_duplicates(
        dataclasses.replace(samples, digests=(*samples.digests[:60], *copies, *samples.digests[80:])), DATASETS
    )


def nearly(leak: bool, seed: int = 2) -> Findings:
    """Test windows that are training windows with another gain, offset and a little noise."""
    rows = windows(seed)
    if leak:
        rng = generator(seed, "planted", "noise")
        rows[60:65] = 9.8 * rows[:5] + 1 + 0.05 * rng.standard_normal((5, rows.shape[1]))
    return near_duplicates(rows, plain(PEOPLE), apart="subject")


def _nearly_dataset(leak: bool) -> Findings:
    """A second dataset that is partly the first, smoothed over three samples."""
    rows = windows(5)
    if leak:
        rows[60:80] = (np.roll(rows[:20], 1, 1) + 2 * rows[:20] + np.roll(rows[:20], -1, 1)) / 4
    tags = {"dataset": ("first",) * 60 + ("second",) * 40}
    return near_duplicates(rows, plain(tags), DATASETS, threshold=0.95)


def _alike(leak: bool) -> Findings:
    """Training windows that are the same for two subjects: a copy could not be told from them."""
    rows = windows()
    if leak:
        rows[10] = rows[0]
    return near_duplicates(rows, plain(PEOPLE), apart="subject")


def _flat(leak: bool) -> Findings:
    rows = windows()
    if leak:
        rows[:3] = 9.8
    return near_duplicates(rows, plain())


def _tagged(tag: str) -> Planted:
    def make(leak: bool) -> Findings:
        values = tuple(f"{tag} {i % 10 if leak else i // 10}" for i in range(100))
        return shared_tags(plain({tag: values}), [tag])

    return Planted("shared-tags", "shared-tag", f"rows dealt out by turns, so that each {tag} is on both sides", make)


def _untagged(leak: bool) -> Findings:
    values = tuple("" if leak and i == 7 else f"p{i // 10}" for i in range(100))
    return shared_tags(plain({"subject": values}), ["subject"])


def _cohort(leak: bool) -> Findings:
    return same_people(
        {}, cohorts={"windows": "volunteers 2012", "raw": "volunteers 2012" if leak else "students 2014"}
    )


def described(leak: bool, seed: int = 6) -> Findings:
    """Thirty people measured again: weight off by up to a kilogram; the twin is of thirty others."""
    rng = generator(seed, "planted", "people")

    def drawn() -> Array:
        return np.stack([rng.integers(19, 49, 30), rng.normal(172, 9, 30).round(), rng.normal(72, 12, 30).round()], 1)

    first, others = drawn(), drawn()
    second = (first + np.stack([np.zeros(30), np.zeros(30), rng.integers(-1, 2, 30)], 1)) if leak else others
    fields = ("age", "height_cm", "weight_kg")
    datasets = {
        name: {f"{i}": dict(zip(fields, row, strict=True)) for i, row in enumerate(people.tolist())}
        for name, people in (("first", first), ("second", second[::-1]))
    }
    return same_people(datasets, tolerance={"weight_kg": 1})


OBSERVED = {"imu": "observed", "calibration": "static"}


def _caption(leak: bool) -> Findings:
    tags = {"block:imu": ("observed",) * 100, "block:caption": ("derived-from-annotation" if leak else "",) * 100}
    return input_blocks(plain(tags))


def _not_listed(leak: bool) -> Findings:
    return input_blocks({**OBSERVED, **({"depth": "observed"} if leak else {})}, allowed=("imu", "calibration"))


def _no_kind(leak: bool) -> Findings:
    return input_blocks({**OBSERVED, "depth": "" if leak else "observed"})


def _scaler(leak: bool) -> Findings:
    samples = plain()
    return fit_provenance({"scaler": samples.digests if leak else samples.digests[:60]}, samples)


def _vocabulary(leak: bool) -> Findings:
    samples = plain()
    elsewhere = plain(seed=9).digests[:25] if leak else ()
    return fit_provenance({"vocabulary": (*samples.digests[:60], *elsewhere)}, samples)


SPLITS: tuple[Planted, ...] = (
    Planted(
        "read-ranges",
        "read-ranges-overlap",
        "70/30 cut by time through windows that overlap; the twin is purged",
        lambda leak: read_ranges(episode(purge=None if leak else 0)),
    ),
    Planted(
        "read-ranges",
        "read-ranges-overlap",
        "targets 20 frames ahead that reach over the cut; the twin is purged by target too",
        lambda leak: read_ranges(episode(19, 20, purge=None if leak else 0)),
    ),
    Planted(
        "read-ranges",
        "read-ranges-overlap",
        "overlapping windows dealt at random; the twin deals whole recordings",
        _random_split,
    ),
    Planted(
        "read-ranges",
        "inside-embargo",
        "purged without an embargo of 40 frames; the twin has it",
        lambda leak: read_ranges(episode(purge=0 if leak else 40), embargo=40),
    ),
    Planted("exact-duplicates", "exact-duplicates", "10 of 40 test windows cut again from training sessions", _copied),
    Planted("exact-duplicates", "exact-duplicates", "two datasets that share 20 recordings", _copied_dataset),
    Planted("exact-duplicates", "digests-missing", "5 inputs that were not hashed", _unhashed),
    Planted("near-duplicates", "near-duplicates", "5 test windows in another unit, with an offset and noise", nearly),
    Planted("near-duplicates", "near-duplicates", "20 windows of a second dataset, smoothed", _nearly_dataset),
    Planted("near-duplicates", "near-duplicates-undecidable", "two training subjects with one window", _alike),
    Planted("near-duplicates", "constant-vectors", "3 windows of a sensor that stands still", _flat),
    _tagged("subject"),
    _tagged("session"),
    _tagged("device"),
    Planted("shared-tags", "tag-unknown", "a sample without a subject", _untagged),
    Planted("same-people", "same-cohort", "two datasets declared to be of the same volunteers", _cohort),
    Planted("same-people", "same-people", "30 people in two datasets, weighed again", described),
    Planted("input-blocks", "label-derived-input", "caption text of the annotator among the inputs", _caption),
    Planted("input-blocks", "input-not-allowed", "a block that the task does not list", _not_listed),
    Planted("input-blocks", "input-untagged", "a block of unknown origin", _no_kind),
    Planted("fit-provenance", "fitted-on-test", "a scaler fitted on all samples", _scaler),
    Planted("fit-provenance", "fitted-elsewhere", "a vocabulary with 25 samples from nowhere", _vocabulary),
)
