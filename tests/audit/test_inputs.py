"""Findings about blocks and fits are written by hand."""

import numpy as np
import pytest

from gnomon.audit.inputs import blocks_of, fit_provenance, input_blocks
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples


def samples(parts, digests=(), **tags):
    n = len(parts)
    ranges = np.tile([0.0, 1.0], (n, 1))
    return Samples(tuple(map(str, range(n))), ("r",) * n, tuple(parts), ranges, ranges, tuple(digests), tags)


def ids(findings):
    return [finding.id for finding in findings]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("derived-from-annotation", "derived from what is to be predicted"),
        ("derived-from-label", "derived from what is to be predicted"),
        ("derived-from-future", "derived from what comes after their samples"),
    ],
)
def test_derived_blocks_are_found(kind, why):
    (finding,) = input_blocks({"imu": "observed", "text": ("static", kind)})
    assert (finding.id, finding.severity) == ("label-derived-input", "error")
    assert finding.evidence == f"1 of 2 input blocks are {why}: text ({kind})"


def test_blocks_of_the_whole_recording_are_found_apart_from_derived_ones():
    blocks = {"text": "derived-from-label", "cloud": "whole-episode", "imu": "observed", "map": ("whole-episode",)}
    derived, whole = input_blocks(blocks)
    assert (derived.id, whole.id, whole.severity) == ("label-derived-input", "whole-recording-input", "error")
    assert whole.evidence == (
        "2 of 4 input blocks are made from the whole recording, so that they see the test part: "
        "cloud (whole-episode); map (whole-episode)"
    )
    assert input_blocks({"cloud": "whole-episode"}, allowed=["cloud"]) == ()
    assert ids(input_blocks(blocks, denied=["derived-from-label"])) == ["label-derived-input"]


def test_a_block_of_two_wrong_kinds_is_named_for_each():
    found = input_blocks({"text": ("whole-episode", "derived-from-label", "derived-from-annotation")})
    assert ids(found) == ["label-derived-input", "whole-recording-input"]
    assert found[0].evidence.endswith("text (derived-from-annotation, derived-from-label)")
    assert found[1].evidence.endswith("text (whole-episode)")


def test_a_task_may_deny_other_kinds():
    assert input_blocks({"hands": "observed"}) == ()
    (finding,) = input_blocks({"hands": "observed"}, denied={"observed"})
    assert finding.id == "label-derived-input"
    assert finding.evidence == "1 of 1 input blocks are of a kind that the task denies: hands (observed)"


def test_an_allow_list_refuses_the_rest_and_excuses_what_it_names():
    blocks = {"imu": "observed", "caption": "derived-from-annotation", "unknown": ""}
    assert input_blocks({"caption": "derived-from-annotation"}, allowed=["caption", "imu"]) == ()
    assert ids(input_blocks(blocks, allowed=["imu", "caption"])) == ["input-not-allowed", "input-untagged"]
    assert ids(input_blocks(blocks, allowed=[])) == ["label-derived-input", "input-not-allowed", "input-untagged"]
    assert ids(input_blocks(blocks)) == ["label-derived-input", "input-untagged"]


def test_blocks_are_read_from_tags_of_samples():
    made = samples(
        ["train", "test"],
        **{"block:imu": ("observed", "observed"), "block:text": ("", "derived-from-label"), "block:no": ("", "")},
        subject=("a", "b"),
    )
    assert blocks_of(made) == {"imu": ("observed",), "text": ("derived-from-label",)}
    assert ids(input_blocks(made)) == ["label-derived-input"]


@pytest.mark.parametrize("blocks", [{}, samples(["train"], subject=("a",))])
def test_without_blocks_nothing_is_checked(blocks):
    with pytest.raises(InputError, match="input blocks: none given"):
        input_blocks(blocks)


SAMPLES = samples(["train", "train", "val", "test", "test"], ["a", "b", "c", "d", "b"])


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (["a"], []),
        (["a", "b"], []),
        (["a", "d"], ["fitted-on-test"]),
        (["a", "c"], ["fitted-on-test"]),
        (["a", "x"], ["fitted-elsewhere"]),
        (["d", "x", "x"], ["fitted-on-test", "fitted-elsewhere"]),
    ],
)
def test_what_was_fitted_on_is_compared_with_training(used, expected):
    assert ids(fit_provenance({"scaler": used}, SAMPLES)) == expected


def test_fits_are_named_with_their_counts():
    found = fit_provenance({"good": ["a"], "scaler": ["a", "c", "d"], "words": ["a", "y", "x"]}, SAMPLES)
    assert [f.where for f in found] == ["scaler", "words"]
    assert found[0].evidence == "scaler was fitted on 2 of 2 val or test samples (3 samples in all)"
    assert found[1].evidence.startswith("words was fitted on 2 of 3 samples that are on neither side")


def test_a_fit_without_a_record_is_refused():
    with pytest.raises(InputError, match="fit provenance of 'scaler' holds no digest"):
        fit_provenance({"scaler": []}, SAMPLES)
    with pytest.raises(InputError, match="no column 'digests'"):
        fit_provenance({"scaler": ["a"]}, samples(["train", "test"]))
