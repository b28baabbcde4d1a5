"""Findings over shards are those of the file in one piece, word for word: kind, severity, place, evidence, remedy.

Expected values are those of the plain form, and sentences worked by hand from what was planted.
"""

import dataclasses
import json

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError, NothingScoredError
from gnomon.suites.skeleton.options import SimulateOptions
from gnomon.suites.skeleton.seen import Seen, united
from gnomon.suites.skeleton.simulate import simulate

BY_SAMPLE = ("sample_ids", "gt_keypoints", "pred_keypoints", "gt_cameras_stream", "pred_cameras_stream")
DRAWN = "reference-sensitivity"
FREE = {"reference_sensitivity", "pa_invariance_m", "pelvis_invariance_m", "fusion_deviation_m", "cameras", "summary"}
"""Facts that are drawn at random, lie at the last bit, or are counted in bins."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Four people, three actions each: true cameras move in 6 of 12 sequences."""
    folder = tmp_path_factory.mktemp("skeleton")
    simulate(SimulateOptions(directory=str(folder), subjects=4, frames=8, fps=2.0))
    with np.load(folder / "strong.npz") as file:
        return {name: file[name] for name in file}


def planted(clean):
    """Copy the data, to spoil it."""
    return {name: values.copy() for name, values in clean.items()}


def sequences(fields):
    return np.array(["_".join(text.split("_")[:2]) for text in fields["sample_ids"].tolist()])


def dealt(fields, shards):
    """Which shard a sample lies in: sequences are dealt like cards."""
    return np.unique(sequences(fields), return_inverse=True)[1] % shards


def both(folder, fields, where, **options):
    """Score the file, and its samples dealt into shards: the one run of each."""
    np.savez(folder / "whole.npz", **fields)
    (folder / "in").mkdir()
    for shard in np.unique(where):
        own = where == shard
        np.savez(folder / "in" / f"part{shard}.npz", **{k: v[own] if k in BY_SAMPLE else v for k, v in fields.items()})
    asked = {"out": folder / "runs", "executor": "inline", "exhibits": 0, **options}
    return [
        gnomon.score("skeleton", pred_file=f"mine={folder / name}", **asked).runs[0] for name in ("whole.npz", "in")
    ]


def agree(whole, parts):
    """Findings, in their order, and facts; return the findings by kind.

    Reference frames of a file and of its shards are drawn apart: how far they move the mean is not compared.
    """
    assert [f.id for f in parts.findings] == [f.id for f in whole.findings]
    assert [f.record() for f in parts.findings if f.id != DRAWN] == [
        f.record() for f in whole.findings if f.id != DRAWN
    ]
    drawn = [[dataclasses.replace(f, evidence="") for f in run.findings if f.id == DRAWN] for run in (whole, parts)]
    assert drawn[0] == drawn[1]
    facts, own = whole.manifest["facts"], parts.manifest["facts"]
    assert own.keys() == facts.keys()
    for name in facts.keys() - FREE:
        assert own[name] == facts[name], name
    drawn = [one.get("reference_sensitivity", {}) for one in (facts, own)]
    assert drawn[0].get("samples") == drawn[1].get("samples")
    return {finding.id: finding for finding in parts.findings}


def test_cameras_move_as_far_as_in_the_farthest_shard(tmp_path, clean):
    found = agree(*both(tmp_path, clean, dealt(clean, 4), variant="published"))
    assert found["moving-true-cameras"].severity == "warning"
    assert found["moving-true-cameras"].evidence.startswith("true lidar cameras move in 6 of 12 sequences, by up to ")


def test_a_shard_of_still_cameras_does_not_hide_the_others(tmp_path, clean):
    still = np.isin(sequences(clean), ["p000001_a000001", "p000002_a000002"])
    whole, parts = both(tmp_path, clean, np.where(still, 0, 1 + dealt(clean, 2)), reference="per_frame")
    assert agree(whole, parts)["moving-true-cameras"].severity == "info"
    assert parts.manifest["facts"]["sensor_stands_still"] == 0
    assert parts.manifest["facts"]["true_camera_spread"]["metres"] > 0.01


def test_cameras_that_stand_still_in_every_shard_stand_still(tmp_path, clean):
    kept = np.array([(int(name[6]) + int(name[-1])) % 2 == 0 for name in sequences(clean)])
    fields = {k: v[kept] if k in BY_SAMPLE else v for k, v in clean.items()}
    whole, parts = both(tmp_path, fields, dealt(fields, 3))
    assert "moving-true-cameras" not in agree(whole, parts)
    assert parts.manifest["facts"]["sensor_stands_still"] == 1


def test_lists_of_sequences_are_united(tmp_path, clean):
    """Eight sequences lack their first predicted camera; five repeat a frame, one of them twice."""
    fields = planted(clean)
    names, starts = np.unique(sequences(fields), return_index=True)
    fields["gt_cameras_stream"][starts] = fields["gt_cameras_stream"][starts + 1]
    for row in (starts, starts + 1):
        fields["pred_cameras_stream"][row] = fields["gt_cameras_stream"][row]
    fields["pred_cameras_stream"][starts[4:]] = np.nan
    fields["sample_ids"][starts[:5]] = fields["sample_ids"][starts[:5] + 1]
    fields["sample_ids"][starts[0] + 2] = fields["sample_ids"][starts[0] + 1]
    found = agree(*both(tmp_path, fields, dealt(fields, 5), smooth_window=3, smooth_on="both", variant="published"))
    assert {"references-apart", "merged-sequences", "smoothed-truth", "moving-true-cameras"} <= found.keys()
    listed = ", ".join(repr(str(name)) for name in names[4:9])
    assert found["references-apart"].evidence.endswith(f"different frames in {listed} and 3 more (8 in all)")
    listed = ", ".join(repr(str(name)) for name in names[:5])
    assert found["merged-sequences"].evidence == f"6 samples repeat a frame number of their sequence: {listed}"


def test_fusion_without_effect_is_that_of_all_shards(tmp_path, clean):
    found = agree(*both(tmp_path, clean, dealt(clean, 3), projection_mode="multi_sensor"))
    assert "fusion has no effect: modalities differ by at most" in found["degenerate-fusion"].evidence


def test_fusion_has_an_effect_where_it_has_one_in_a_shard(tmp_path, clean):
    fields = planted(clean)
    rgb = fields["camera_stream_modalities"].tolist().index("rgb")
    fields["pred_cameras_stream"][dealt(fields, 3) != 1, rgb] = np.nan
    whole, parts = both(tmp_path, fields, dealt(fields, 3), projection_mode="multi_sensor", rig="gt")
    assert {"true-calibration", "moving-true-cameras"} <= agree(whole, parts).keys()
    assert "degenerate-fusion" not in {f.id for f in parts.findings}
    assert parts.manifest["facts"]["fusion_effective"] is True


def test_cameras_are_absent_where_no_shard_has_them(tmp_path, clean):
    asked = {"projection_mode": "multi_sensor", "fusion_modalities": "rgb,lidar,depth"}
    finding = agree(*both(tmp_path, clean, dealt(clean, 3), **asked))["cameras-absent"]
    assert finding.severity == "warning"
    assert finding.evidence.startswith("no usable camera of 'pred depth:0'; the file names")


def test_shards_without_a_camera_that_is_needed_are_not_scored(tmp_path, clean):
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", **clean)
    asked = {"pred_file": f"mine={tmp_path / 'in'}", "sensor_index_by_modality": "lidar:3", "out": tmp_path / "runs"}
    with pytest.raises(NothingScoredError, match=r"all 96 samples .* no usable camera of 'pred lidar:3', 'gt lidar:3'"):
        gnomon.score("skeleton", **asked)


def test_cameras_that_one_shard_lacks_are_not_absent(tmp_path, clean):
    fields = planted(clean)
    fields["pred_cameras_stream"][dealt(fields, 3) == 0] = np.nan
    whole, parts = both(tmp_path, fields, dealt(fields, 3))
    assert "cameras-absent" not in agree(whole, parts)
    assert parts.coverage["samples"]["dropped"] == whole.coverage["samples"]["dropped"]


def test_units_of_some_samples_are_refused_in_a_file_and_in_a_shard(tmp_path, clean):
    """A quarter of the sequences in millimetres leaves the median of a file usual; a shard of them is refused alone."""
    fields = planted(clean)
    own = dealt(fields, 4) == 0
    for side in ("gt_keypoints", "pred_keypoints"):
        fields[side][own] *= 1000
    with pytest.raises(InputError, match=r"gt_keypoints: \d+ of 95 poses .* measure 1\d+ m .* others 1\.\d+ m"):
        both(tmp_path, fields, dealt(fields, 4))
    (parts,) = gnomon.score("skeleton", pred_file=f"mine={tmp_path / 'in'}", out="none", executor="inline").runs
    assert "suspicious-units" not in {f.id for f in parts.findings}
    (lost,) = parts.coverage["cells"]["missing"]
    assert "part0.npz: gt_keypoints: median body extent 1" in lost["why"]


@pytest.mark.parametrize(("alone", "clear"), [(4, 0), (3, 1)])
def test_sequences_of_one_sample_are_counted_over_shards(tmp_path, clean, alone, clear):
    """Of seven sequences some hold one sample; every one has a shard of its own."""
    rows = np.arange(30)
    codes = np.minimum(rows, alone) + np.where(rows > alone, rows % (7 - alone), 0)
    fields = {k: v[rows] if k in BY_SAMPLE else v for k, v in clean.items()}
    fields["sample_ids"] = np.array([f"walk_{code}x_{row}" for code, row in zip(codes, rows, strict=True)])
    whole, parts = both(tmp_path, fields, codes)
    found = agree(whole, parts)
    assert parts.manifest["facts"]["sequences_known"] == clear
    if not clear:
        evidence = "4 of 7 sequences hold one sample: ids do not tell sequences apart"
        assert found["one-sample-sequences"].evidence == evidence


def test_reference_frames_are_drawn_apart_in_shards_that_are_alike(tmp_path, clean):
    """Cameras drift alike: frames chosen alike in all shards would move the mean as far as that of one sequence."""
    fields = planted(clean)
    drift = np.array([int(text.rpartition("_")[2]) for text in fields["sample_ids"].tolist()])
    fields["pred_keypoints"] = fields["gt_keypoints"].copy()
    fields["gt_cameras_stream"][:] = fields["gt_cameras_stream"][0]
    fields["pred_cameras_stream"] = fields["gt_cameras_stream"].copy()
    fields["pred_cameras_stream"][..., 0] += 0.01 * drift[:, np.newaxis]
    whole, parts = both(tmp_path, fields, dealt(fields, 12), variant="published")
    assert DRAWN in agree(whole, parts)
    wide, narrow = (run.manifest["facts"]["reference_sensitivity"] for run in (parts, whole))
    assert wide["high_m"] - wide["low_m"] < 1.5 * (narrow["high_m"] - narrow["low_m"]) < 0.07


def seen(**known):
    """What was seen of a part, with nothing in it but what is given."""
    return Seen(**{"farthest": (0.0, 0.0, "b"), **known})


def test_what_was_seen_adds_up_in_any_order():
    parts = [
        seen(kept=3, moving=1, farthest=(0.2, 1.0, "c"), degrees=1.0, known=("rgb",), draws=(1.0, 2.0), drawn=1),
        seen(kept=4, moving=2, farthest=(0.2, 9.0, "d"), degrees=9.0, known=("lidar", "rgb"), pa_invariance_m=1e-9),
        seen(apart=6, apart_in=("9", "a", "b", "c", "d"), draws=(4.0, 8.0), drawn=3),
        seen(apart=1, apart_in=("10",), deviation_m=0.5),
    ]
    whole = united(parts)
    assert whole == united(parts[::-1]) == united([united(parts[:2]), united(parts[2:])])
    assert (whole.kept, whole.moving, whole.farthest, whole.degrees) == (7, 3, (0.2, 9.0, "d"), 9.0)
    assert (whole.known, whole.deviation_m, whole.pa_invariance_m) == (("lidar", "rgb"), 0.5, 1e-9)
    assert (whole.apart, whole.apart_in) == (7, ("9", "10", "a", "b", "c"))
    assert (whole.draws, whole.drawn) == ((3.25, 6.5), 4)


def test_what_was_seen_survives_a_part():
    one = seen(kept=3, present=("gt lidar:0",), draws=(0.5,), drawn=2)
    assert Seen.of(json.loads(json.dumps(one.record()))) == one == united([one])
