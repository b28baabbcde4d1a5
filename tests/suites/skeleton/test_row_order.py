"""The order of rows in a prediction file: strict does not depend on it, published says where it does."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.skeleton.options import SimulateOptions
from gnomon.suites.skeleton.simulate import simulate

PER_FILE = ("camera_stream_modalities", "camera_stream_sensor_indices")
FUSED = {"projection_mode": "multi_sensor", "fusion_mode": "weighted", "reliability_source": "hybrid"}


def run(path, **options):
    return gnomon.run("skeleton", pred_file=f"mine={path}", out="none", **options)


def numbers(result):
    """Every score with its interval."""
    return {(s.name, s.slice): (s.value, s.low, s.high, s.n) for s in result.runs[0].scores}


def save(path, fields, order):
    np.savez(path, **{name: value if name in PER_FILE else value[order] for name, value in fields.items()})
    return path


def row_order(result):
    return [finding for finding in result.runs[0].findings if finding.id == "row-order"]


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    """Simulated samples, a fifth of which share a frame number and an id with another one of other content."""
    folder = tmp_path_factory.mktemp("rows")
    simulate(SimulateOptions(directory=str(folder), subjects=3, frames=20))
    found = dict(np.load(folder / "strong.npz"))
    found["sample_ids"][1::10] = found["sample_ids"][::10]
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"smooth_window": 5},
        {"reference": "first"},
        {"reference": "medoid"},
        {"reference": "mean"},
        FUSED,
        {**FUSED, "smooth_window": 3, "reference": "first"},
    ],
)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_strict_does_not_depend_on_the_order_of_rows(fields, tmp_path, options, seed):
    n = len(fields["sample_ids"])
    first = run(save(tmp_path / "a.npz", fields, np.arange(n)), variant="strict", **options)
    order = np.random.default_rng(seed).permutation(n)
    other = run(save(tmp_path / "b.npz", fields, order), variant="strict", **options)
    assert numbers(first) == numbers(other)
    assert first.tables["distribution"] == other.tables["distribution"]
    assert not row_order(first)


@pytest.mark.parametrize("reference", ["medoid", "mean", "per_frame"])
def test_only_the_first_camera_makes_published_depend_on_the_order_of_rows(fields, tmp_path, reference):
    """Two frames are the medoid of each other, so that a tie is there in every sequence."""
    short = np.flatnonzero([int(text.rsplit("_", 1)[1]) < 2 for text in fields["sample_ids"]])
    first = run(save(tmp_path / "a.npz", fields, short), reference=reference)
    other = run(save(tmp_path / "b.npz", fields, short[::-1]), reference=reference)
    assert numbers(first) == numbers(other)
    assert not row_order(other)


def test_published_says_that_the_order_of_rows_decides(fields, tmp_path):
    order = np.random.default_rng(0).permutation(len(fields["sample_ids"]))
    numbered = renumber(fields)
    first = run(save(tmp_path / "a.npz", numbered, np.arange(len(order))))
    other = run(save(tmp_path / "b.npz", numbered, order))
    assert not row_order(first)
    assert numbers(first) != numbers(other)
    (finding,) = row_order(other)
    assert "of 9 sequences" in finding.evidence
    assert "--variant strict" in finding.remedy
    stated = {row["setting"].value: row["system:mine"].value for row in other.tables["settings"].rows}
    assert stated["order"] == "rows of the file: the first usable row of a sequence sets its reference camera"


def test_sequences_are_counted_whose_first_camera_another_order_changes(fields, tmp_path):
    """All nine sequences are unsorted; in seven of them the first row stays in front."""
    numbered = renumber(fields)
    stems = [text.rsplit("_", 1)[0] for text in numbered["sample_ids"]]
    order = []
    for place, stem in enumerate(dict.fromkeys(stems)):
        rows = [row for row, own in enumerate(stems) if own == stem]
        order += rows[::-1] if place < 2 else [rows[0], *rows[:0:-1]]
    (finding,) = row_order(run(save(tmp_path / "a.npz", numbered, np.array(order))))
    assert ": in 2 of 9 sequences the first camera is not that of the first frame" in finding.evidence


def renumber(fields):
    """Number the samples of every sequence in turn, so that no two share a frame."""
    counts = Counter()
    named = []
    for text in fields["sample_ids"]:
        stem = text.rsplit("_", 1)[0]
        counts[stem] += 1
        named.append(f"{stem}_{counts[stem]}")
    return {**fields, "sample_ids": np.array(named)}


def test_ties_and_missing_frame_numbers_are_counted(fields, tmp_path):
    n = len(fields["sample_ids"])
    tied = run(save(tmp_path / "a.npz", fields, np.arange(n)))
    (finding,) = row_order(tied)  # the first two samples of every sequence share a frame
    assert "in 9 of 9 sequences" in finding.evidence
    bare = {name: value for name, value in fields.items() if name != "sample_ids"}
    (finding,) = row_order(run(save(tmp_path / "b.npz", bare, np.arange(n))))
    assert "1 of 1 sequences lack frame numbers: 'all'" in finding.evidence


def test_strict_refuses_to_take_the_order_of_rows_for_time(fields, tmp_path):
    bare = {name: value for name, value in fields.items() if name != "sample_ids"}
    path = save(tmp_path / "a.npz", bare, np.arange(len(fields["sample_ids"])))
    with pytest.raises(InputError, match=r"samples of 'all' have no frame number"):
        run(path, variant="strict", smooth_window=3)
    other = save(tmp_path / "b.npz", bare, np.arange(len(fields["sample_ids"]))[::-1])
    one, two = run(path, variant="strict"), run(other, variant="strict")
    assert two.scores["mine"] == pytest.approx(one.scores["mine"], rel=1e-12)


def test_shards_sort_rows_too(fields, tmp_path):
    n = len(fields["sample_ids"])
    whole = run(save(tmp_path / "a.npz", fields, np.arange(n)), variant="strict", smooth_window=3)
    (tmp_path / "shards").mkdir()
    subject = np.array([text.split("_")[0] for text in fields["sample_ids"]])
    for name in np.unique(subject):
        save(tmp_path / "shards" / f"{name}.npz", fields, np.flatnonzero(subject == name)[::-1])
    assert numbers(run(tmp_path / "shards", variant="strict", smooth_window=3)) == numbers(whole)
    unsorted = run(tmp_path / "shards")
    assert row_order(unsorted)
