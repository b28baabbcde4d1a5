"""Expected counts are by construction; similarities against numpy's correlation."""

import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.duplicates import exact_duplicates, near_duplicates
from gnomon.audit.split import Split
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "har" / "motionsense-subjects-01-10.zip"


def samples(parts, digests=(), **tags):
    n = len(parts)
    ranges = np.tile([0.0, 1.0], (n, 1))
    return Samples(tuple(f"s{i}" for i in range(n)), ("r",) * n, tuple(parts), ranges, ranges, tuple(digests), tags)


@given(st.lists(st.tuples(st.sampled_from(["train", "val", "test"]), st.sampled_from("abcdef")), min_size=2))
def test_equal_digests_are_counted_as_by_sets(rows):
    parts, digests = zip(*rows, strict=True)
    if "test" not in parts or not set(parts) & {"train", "val"}:
        return
    seen = {d for p, d in rows if p != "test"}
    twice = [d for p, d in rows if p == "test" and d in seen]
    findings = exact_duplicates(samples(parts, digests))
    assert [f.id for f in findings] == (["exact-duplicates"] if twice else [])
    if twice:
        assert findings[0].evidence.startswith(f"{len(twice)} of {parts.count('test')} test samples")
        assert f"({len(set(twice))} distinct digests)" in findings[0].evidence


def test_a_pair_is_named():
    (finding,) = exact_duplicates(samples(["train", "train", "test", "test"], ["x", "y", "z", "y"]))
    assert finding.evidence.endswith("first: 's3' and 's1'")
    assert finding.severity == "error"


def test_samples_without_a_digest_are_never_duplicates_and_are_counted():
    (finding,) = exact_duplicates(samples(["train", "test", "test"], ["", "", "x"]))
    assert (finding.id, finding.severity) == ("digests-missing", "info")
    assert finding.evidence.startswith("2 of 3 samples have no digest")


def test_without_any_digest_nothing_is_checked():
    with pytest.raises(InputError, match="no column 'digests'"):
        exact_duplicates(samples(["train", "test"]))


def test_two_datasets_are_compared_by_their_tag():
    split = Split(("uci",), ("hapt",), column="dataset")
    (finding,) = exact_duplicates(samples(["train"] * 3, ["x", "y", "x"], dataset=("uci", "uci", "hapt")), split)
    assert finding.evidence.startswith("1 of 1 hapt samples have the input of a uci sample")


PARTS = ["train"] * 30 + ["test"] * 10


def noise(seed=1, d=40):
    return np.random.default_rng(seed).standard_normal((40, d))


@pytest.mark.parametrize(
    ("metric", "change"),
    [("correlation", lambda x: 3 * x - 7), ("cosine", lambda x: 0.1 * x), ("distance", lambda x: x + 1e-6)],
)
def test_a_metric_forgives_what_it_says(metric, change):
    rows = noise()
    rows[35] = change(rows[4])
    threshold = 0.01 if metric == "distance" else 0.999
    (finding,) = near_duplicates(rows, samples(PARTS), metric=metric, threshold=threshold)
    assert (finding.id, finding.severity) == ("near-duplicates", "warning")
    assert finding.evidence.startswith("1 of 10 test vectors have a train vector")
    assert "'s35' and 's4'" in finding.evidence


@pytest.mark.parametrize(("metric", "change"), [("cosine", lambda x: x + 2), ("distance", lambda x: 2 * x)])
def test_a_metric_forgives_no_more(metric, change):
    rows = noise()
    rows[35] = change(rows[4])
    threshold = 0.01 if metric == "distance" else 0.999
    assert near_duplicates(rows, samples(PARTS), metric=metric, threshold=threshold) == ()


@given(st.integers(0, 1000), st.floats(0.2, 0.999))
def test_vectors_above_the_threshold_are_those_that_numpy_correlates_so(seed, threshold):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 5))
    correlation = np.corrcoef(rows)[30:, :30].max(axis=1)
    if np.abs(correlation - threshold).min() < 1e-6:
        return
    count = int((correlation >= threshold).sum())
    findings = near_duplicates(rows, samples(PARTS), threshold=threshold)
    assert [f.evidence.split(" test")[0] for f in findings] == ([f"{count} of 10"] if count else [])


def alike(seed=3):
    """Three people whose windows differ little: all correlations are over .99."""
    return np.sin(np.arange(60) / 5) + 0.03 * np.random.default_rng(seed).standard_normal((40, 60))


def test_data_that_are_alike_everywhere_are_judged_by_independent_training_samples():
    people = tuple(f"p{i // 10}" for i in range(40))
    rows = alike()
    assert near_duplicates(rows, samples(PARTS), threshold=0.99)[0].evidence.startswith("10 of 10")
    assert near_duplicates(rows, samples(PARTS, subject=people), threshold=0.99, apart="subject") == ()
    rows[39] = rows[2] + 1e-4
    (finding,) = near_duplicates(rows, samples(PARTS, subject=people), threshold=0.99, apart="subject")
    assert finding.severity == "error"
    assert finding.evidence.startswith("1 of 10 test vectors")
    largest = np.corrcoef(rows[:30])[np.array(people[:30])[:, None] != np.array(people[:30])].max()
    assert f"of different subject: correlation {largest:.6f}" in finding.evidence


def test_a_copy_between_independent_training_samples_leaves_nothing_to_say():
    rows = alike()
    rows[0] = rows[25]
    people = tuple(f"p{i // 10}" for i in range(40))
    findings = near_duplicates(rows, samples(PARTS, subject=people), apart="subject")
    assert [(f.id, f.severity) for f in findings] == [("near-duplicates-undecidable", "warning")]


def test_constant_vectors_have_no_correlation_and_are_not_compared():
    rows = noise()
    rows[[3, 33]] = 5.0
    (finding,) = near_duplicates(rows, samples(PARTS))
    assert (finding.id, finding.severity) == ("constant-vectors", "info")
    assert finding.evidence.startswith("2 of 40 vectors are constant")
    assert [f.id for f in near_duplicates(rows, samples(PARTS), metric="distance", threshold=0.1)] == [
        "near-duplicates"
    ]


def test_large_offsets_do_not_hide_a_copy():
    rows = noise() + 1e9
    rows[35] = rows[4] + 1e-3
    (finding,) = near_duplicates(rows, samples(PARTS), metric="distance", threshold=0.01)
    assert finding.evidence.startswith("1 of 10")


@pytest.mark.parametrize(("place", "found"), [(-0.7, 1), (-0.8, 0), (-1.1, 0)])
def test_a_copy_is_nearer_than_half_of_the_null_also_where_the_null_is_over_the_threshold(place, found):
    # Training lies at 0 and 1.5, so a copy is within .75; the threshold alone would be 1.
    made = samples(["train", "train", "test"], subject=("p0", "p1", "p2"))
    vectors = np.array([[0.0, 0.0], [1.5, 0.0], [place, 0.0]])
    assert len(near_duplicates(vectors, made, metric="distance", threshold=1.0, apart="subject")) == found


@pytest.mark.parametrize(
    ("vectors", "options", "message"),
    [
        (noise()[:39], {}, r"expected numbers of shape \(40, d\)"),
        (noise()[:, 0], {}, r"expected numbers of shape \(40, d\)"),
        (noise()[:, :0], {}, r"expected numbers of shape \(40, d\)"),
        (noise().astype(str), {}, r"expected numbers of shape \(40, d\)"),
        (np.where(noise() > 2, np.nan, noise()), {}, "expected finite numbers"),
        (noise(), {"metric": "taxi"}, "no metric 'taxi'"),
        (noise(), {"threshold": 1.5}, r"a similarity in \[-1, 1\]"),
        (noise(), {"metric": "distance", "threshold": -1}, "a distance that is not negative"),
        (noise(), {"apart": "subject"}, "no column 'subject'"),
        (noise(), {"apart": "cases"}, "one value only, so none are independent"),
    ],
)
def test_what_cannot_be_compared_is_refused(vectors, options, message):
    with pytest.raises(InputError, match=message):
        near_duplicates(vectors, samples(PARTS), **options)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_copies_are_told_from_real_people_who_move_alike():
    rows, subjects = motionsense()
    test = np.isin(subjects, ["p8", "p9", "p10"])
    made = samples(np.where(test, "test", "train").tolist(), subject=tuple(subjects))
    assert near_duplicates(rows, made)[0].evidence.startswith("160 of 568 test vectors")  # no copies: people sit alike
    assert near_duplicates(rows, made, apart="subject") == ()
    copied = rows.copy()
    copied[np.flatnonzero(test)[:5]] = 9.8 * rows[np.flatnonzero(~test)[:5]] + 0.1
    (finding,) = near_duplicates(copied, made, apart="subject")
    assert finding.evidence.startswith("5 of 568 test vectors")


def motionsense():
    """Windows of 6 s of acceleration and rotation, inside of one recording, by person."""
    rows, subjects = [], []
    with zipfile.ZipFile(REAL) as archive:
        for name in sorted(archive.namelist()):
            found = re.search(r"A_DeviceMotion_data/\w+_\d+/sub_(\d+)\.csv$", name)
            if found and "__MACOSX" not in name:
                with archive.open(name) as file:
                    table = np.loadtxt(file, delimiter=",", skiprows=1)
                signal = table[:, [4, 5, 6, 10, 11, 12]]
                count = len(signal) // 300
                rows += [part.T.ravel() for part in signal[: 300 * count].reshape(count, 300, 6)]
                subjects += [f"p{found[1]}"] * count
    return np.array(rows), np.array(subjects)
