"""The twelve tasks on small stand-ins of episodes: arrays only, no files.

Expected values: sizes and overlaps of the published protocol; brute force over frames in the test; by hand.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.audit.duplicates import exact_duplicates
from gnomon.audit.inputs import fit_provenance
from gnomon.audit.inputs import input_blocks as denied_blocks
from gnomon.audit.quantities import units_and_frames
from gnomon.audit.ranges import read_ranges
from gnomon.audit.sequences import Entries, clamped_targets, cut_points, invalid_values
from gnomon.core.errors import InputError
from gnomon.suites.episode.captions import FrameLabels, Segment, parse
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import BLOCKS, DIM, column_numbers, spans
from gnomon.suites.episode.features.windows import majority, starts
from gnomon.suites.episode.frames import CAMERA, WORLD, Points, Poses, rotations
from gnomon.suites.episode.layout import find
from gnomon.suites.episode.tasks.data import Recorded, read
from gnomon.suites.episode.tasks.declared import CAPTION, MOTION, TASKS, VISUAL, block_kinds, input_blocks
from gnomon.suites.episode.tasks.persistence import last_frames, last_labels, last_sets, last_vectors
from gnomon.suites.episode.tasks.sampling import build, quantities, samples
from gnomon.suites.episode.tasks.targets import paths

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "episode" / "annotation-8-frames.hdf5"
N = 5821
"""Frames of the public sample."""
BY_LENGTH = [name for name in TASKS if not name.startswith("timeline")]
"""Tasks whose published sizes follow from the number of frames alone."""
OVERLAPS = {
    "timeline_action": 3,
    "timeline_subtask": 3,
    "transition_detection": 4,
    "next_action": 7,
    "hand_trajectory_forecast": 5,
    "contact_prediction": 3,
    "object_relevance": 3,
    "caption_grounding": 3,
    "cross_modal_retrieval": 3,
    "modality_reconstruction": 3,
    "temporal_order": 8,
    "misalignment_detection": 22,
}
"""Published test samples that read frames which training samples read."""


class Table:
    """Features of random numbers."""

    def __init__(self, windows, seed=0):
        self.values = np.random.default_rng(seed).normal(size=(windows, DIM)).astype(np.float32)
        self.coverage = np.ones((windows, len(BLOCKS)), dtype=np.float32)

    def columns(self, blocks):
        return np.array(column_numbers(blocks))


def labels(action, subtask=None, objects=None, segments=()):
    n = len(action)
    held = tuple(objects) if objects is not None else (frozenset(),) * n
    return FrameLabels(tuple(action), tuple(subtask or action), held, ("",) * n, tuple(segments), {})


def recorded(n=200, *, name="s/ep0", seed=0, **changes):
    random = np.random.default_rng([seed, n])
    every = np.ones(n, dtype=bool)
    fields = {
        "id": name,
        "n_frames": n,
        "windows": starts(n),
        "labels": labels([f"act {k // 50}" for k in range(n)]),
        "hands": {side: Points(random.normal(size=(n, 21, 3)), every, CAMERA) for side in ("left", "right")},
        "root": Points(random.normal(size=(n, 1, 3)), every, WORLD),
        "poses": Poses(rotations(random.normal(size=(n, 4)))[0], random.normal(size=(n, 3)), every),
        "contacts": (random.uniform(size=(n, 21)) * 0.52, every),
        "features": Table(len(starts(n)), seed),
    }
    return Recorded(**{**fields, **changes})


@pytest.fixture(scope="module")
def sample():
    """As long as the public sample."""
    return recorded(N, features=Table(len(starts(N)), 3))


def test_twelve_tasks_of_known_blocks():
    assert len(TASKS) == 12
    assert {*MOTION, *VISUAL, CAPTION} <= set(block_kinds())
    assert set(VISUAL) == {name for name in block_kinds() if name.startswith(("depth", "video"))}
    assert all(task.direction == ("down" if task.metric == "mpjpe" else "up") for task in TASKS.values())


def test_tasks_are_named_without_numpy():
    code = "import sys, gnomon.suites.episode.tasks.declared; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("task", "published"),
    [
        ("timeline_action", 8378),
        ("contact_prediction", 8378 - 896 - 147),
        ("object_relevance", 7482),
        ("caption_grounding", 7482),
        ("cross_modal_retrieval", 2247),
        ("modality_reconstruction", 2247),
        ("temporal_order", 8378),
        ("misalignment_detection", 2247 + 5096),
    ],
)
def test_input_dimensions(task, published):
    assert len(column_numbers(input_blocks(TASKS[task], "published"))) == published


def test_target_dimensions():
    assert len(column_numbers(TASKS["caption_grounding"].target_blocks)) == 896
    assert len(column_numbers(TASKS["modality_reconstruction"].target_blocks)) == 5096


def test_strict_reads_no_denied_block_and_published_reads_the_caption_for_six_tasks():
    reading = [name for name, task in TASKS.items() if CAPTION in input_blocks(task, "published")]
    assert len(reading) == 6
    for task in TASKS.values():
        strict = input_blocks(task, "strict")
        assert not {CAPTION, "slam_point_cloud"} & set(strict)
        assert set(strict) == set(input_blocks(task, "published")) - {CAPTION, "slam_point_cloud"}
    with pytest.raises(InputError, match="no variant 'loose'"):
        input_blocks(TASKS["next_action"], "loose")


@pytest.mark.parametrize("name", BY_LENGTH)
def test_the_published_sizes(name, sample):
    found = build(TASKS[name], [sample], "published")
    assert (len(found.of("train")), len(found.of("test"))) == TASKS[name].published_n
    assert len(set(found.ids)) == len(found)


def frames_read(data, place):
    (a, b), (c, d) = data.input_range[place].tolist(), data.target_range[place].tolist()
    return {(data.episode[place], frame) for frame in (*range(a, b), *range(c, d))}


@pytest.mark.parametrize("name", TASKS)
def test_the_published_overlaps(name, sample):
    found = build(TASKS[name], [sample], "published")
    seen = set().union(*(frames_read(found, place) for place in found.of("train")))
    shared = sum(bool(frames_read(found, place) & seen) for place in found.of("test"))
    assert shared == OVERLAPS[name]
    finding, *more = read_ranges(samples(found))
    assert not more
    assert finding.id == "read-ranges-overlap"
    assert finding.evidence.startswith(f"{OVERLAPS[name]} of {len(found.of('test'))} test samples")


def test_windows_that_a_pair_reads_need_not_be_taken_as_one_range(sample):
    """Counting the two windows of a pair alone, without the frames between them, gives the same overlaps."""
    found = build(TASKS["misalignment_detection"], [sample], "published")

    def read(place):
        return {k for row in found.rows[place].tolist() for k in range(5 * row, 5 * row + 20)}

    seen = set().union(*(read(place) for place in found.of("train")))
    assert sum(bool(read(place) & seen) for place in found.of("test")) == 22


def test_strict_has_one_cut_for_all_tasks(sample):
    found = {name: build(task, [sample], "strict") for name, task in TASKS.items()}
    ends = {name: int(data.reads[data.of("train"), 1].max()) for name, data in found.items()}
    begins = {name: int(data.reads[data.of("test"), 0].min()) for name, data in found.items()}
    assert min(begins.values()) - max(ends.values()) >= 20
    assert max(begins.values()) - min(ends.values()) < 60
    for name, data in found.items():
        assert not read_ranges(samples(data), embargo=20)
        assert data.facts["cut"]["s/ep0"] == {"train_ends": ends[name], "test_begins": begins[name]}
        assert data.facts["samples"]["purged"] == data.part.count("purged") > 0
        if data.task.kind == "pair":
            counts = [data.labels[k] for k in data.of("train")]
            assert counts.count(data.task.classes[0]) == counts.count(data.task.classes[1])


@pytest.mark.parametrize("variant", ["published", "strict"])
def test_the_audit_tells_the_variants_apart(variant, sample):
    found = samples(build(TASKS["next_action"], [sample], variant))
    assert [f.id for f in denied_blocks(found, denied=("derived-from-annotation",))] == (
        ["label-derived-input"] if variant == "published" else []
    )
    assert not exact_duplicates(found)
    assert found.column("session") == ("s",) * len(found)


action = st.lists(st.sampled_from(["", "N/A", "pour", "stir"]), min_size=20, max_size=90)


@settings(max_examples=40)
@given(action, st.data())
def test_targets_by_brute_force(sequence, data):
    n = len(sequence)
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.49, 0.5, 0.9]), min_size=n, max_size=n))
    sets = [frozenset({name}) if name == "pour" else frozenset() for name in sequence]
    contacts = np.zeros((n, 21))
    contacts[:, 4] = scores
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    one = recorded(n, labels=labels(sequence, objects=sets), contacts=(np.where(valid[:, None], contacts, 0), valid))
    clean = ["" if name == "N/A" else name for name in sequence]
    first = {f"s/ep0/{start}": start for start in range(0, n - 19, 5)}

    def of(task, variant="published"):
        found = build(TASKS[task], [one], variant)
        return dict(zip(found.ids, found.labels or found.sets, strict=True))

    wanted = {key: majority(sequence[k : k + 20])[0] for key, k in first.items()}
    assert of("timeline_action") == {key: label for key, label in wanted.items() if label}
    wanted = {key: clean[min(k + 39, n - 1)] for key, k in first.items()}
    assert of("next_action") == {key: label for key, label in wanted.items() if label}
    assert of("next_action", "strict") == {key: w for key, w in wanted.items() if w and first[key] + 39 < n}
    around = {key: clean[max(k - 1, 0) : k + 20] for key, k in first.items()}
    assert of("transition_detection") == {
        key: "boundary" if len(set(piece)) > 1 else "steady" for key, piece in around.items() if any(piece)
    }
    touched = {key: any(scores[j] >= 0.5 and valid[j] for j in range(k, k + 20)) for key, k in first.items()}
    wanted = {key: "contact" if flag else "no contact" for key, flag in touched.items()}
    assert of("contact_prediction") == wanted
    assert of("contact_prediction", "strict") == {key: w for key, w in wanted.items() if valid[first[key] :][:20].any()}
    assert of("object_relevance") == {key: frozenset().union(*sets[k : k + 20]) for key, k in first.items()}


@pytest.mark.parametrize(("frame", "label"), [(49, "steady"), (50, "boundary"), (69, "boundary"), (70, "steady")])
def test_a_change_counts_within_ten_frames_of_the_centre(frame, label):
    # The window at 50 has its centre at 59, so that frames 49 to 69 are compared.
    one = recorded(120, labels=labels(["pour"] * frame + ["stir"] * (120 - frame)))
    found = build(TASKS["transition_detection"], [one], "published")
    place = found.ids.index("s/ep0/50")
    assert found.labels[place] == label
    assert found.target_range[place].tolist() == [49, 70]


def test_hands_are_moved_to_the_world_before_they_are_compared():
    one = recorded(60)
    strict = build(TASKS["hand_trajectory_forecast"], [one], "strict")
    published = build(TASKS["hand_trajectory_forecast"], [one], "published")
    assert strict.ids == published.ids == tuple(f"s/ep0/{k}" for k in range(0, 31, 5))
    vectors, raw = strict.y().reshape(-1, 10, 42, 3), published.y().reshape(-1, 10, 42, 3)
    for row, step, joint in ((0, 0, 0), (3, 7, 20), (6, 9, 41)):
        frame = 5 * row + 20 + step
        hand = one.hands["left" if joint < 21 else "right"].xyz[frame, joint % 21]
        root = one.root.xyz[frame, 0]
        rotation, shift = one.poses.rotation[frame], one.poses.translation[frame]
        world = np.linalg.solve(rotation, hand - shift)
        np.testing.assert_allclose(vectors[row, step, joint], world - root, atol=1e-5)
        np.testing.assert_allclose(raw[row, step, joint], hand - root, atol=1e-5)
    with pytest.raises(InputError, match=r"camera frame minus .* world frame"):
        one.hands["left"].minus(one.root)
    assert [f.id for f in units_and_frames(quantities(published))] == ["tags-differ"]
    assert not units_and_frames(quantities(strict))
    assert set(samples(published).column("frame:hands")) == {"camera"}
    assert set(samples(strict).column("frame:hands")) == {"world"}


def test_invalid_hands_are_values_as_published_and_masked_in_strict():
    n = 80
    seen, posed = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    seen[20:45], posed[60:] = False, False
    base = recorded(n)
    hands = {
        "left": Points(base.hands["left"].xyz, seen, CAMERA),
        "right": Points(base.hands["right"].xyz, np.zeros(n, dtype=bool), CAMERA),
    }
    poses = Poses(base.poses.rotation, base.poses.translation, posed)
    one = recorded(n, hands=hands, poses=poses)
    published = build(TASKS["hand_trajectory_forecast"], [one], "published")
    assert published.valid().all()
    np.testing.assert_allclose(published.y()[0].reshape(10, 42, 3)[0], np.tile(-one.root.xyz[20], (42, 1)), atol=1e-6)
    unseen = sum(21 * (1 + (not seen[k])) for start in range(0, 51, 5) for k in range(start + 20, start + 30))
    assert published.facts["invalid"] == {"total": 11 * 420, "invalid": unseen, "used": unseen}
    strict = build(TASKS["hand_trajectory_forecast"], [one], "strict", embargo=0)
    kept = [k for k in range(0, 51, 5) if (seen & posed)[k + 20 : k + 30].any()]
    assert strict.ids == tuple(f"s/ep0/{k}" for k in kept)
    assert strict.facts["dropped"]["no valid hand in the target"] == 11 - len(kept)
    mask = strict.valid().reshape(-1, 10, 42, 3)
    for row, start in enumerate(kept):
        assert mask[row, :, 0, 0].tolist() == (seen & posed)[start + 20 : start + 30].tolist()
    assert not mask[:, :, 21:].any()
    assert not strict.y()[~strict.valid()].any()
    assert strict.facts["invalid"]["used"] == 0
    assert set(samples(strict).column("validity")) == {"part"}


def test_features_of_missing_streams_are_no_targets_in_strict():
    one = recorded(120)
    depth, text = (list(spans()).index(name) for name in ("depth_confidence", CAPTION))
    one.features.coverage[:, depth] = 0
    one.features.coverage[:5, text] = 0
    grounding = TASKS["caption_grounding"]
    assert build(grounding, [one], "strict").facts["dropped"] == {"no valid stream in the target": 5}
    assert not build(grounding, [one], "published").facts["dropped"]
    strict = build(TASKS["modality_reconstruction"], [one], "strict")
    assert not strict.valid()[:, :980].any()
    assert strict.valid()[:, 980:].all()
    assert build(TASKS["modality_reconstruction"], [one], "published").valid().all()


def test_class_lists_are_made_from_training_samples_in_strict():
    sets = [frozenset({"cup"} if k < 165 else {"jar"}) for k in range(200)]
    one = recorded(200, labels=labels(["early" if k < 165 else "late" for k in range(200)], objects=sets))
    for name, first, second in (("timeline_action", "early", "late"), ("object_relevance", "cup", "jar")):
        published, strict = (build(TASKS[name], [one], variant) for variant in ("published", "strict"))
        assert published.classes == (first, second)
        assert strict.classes == (first,)
        assert set(strict.fitted_on) == {strict.ids[k] for k in strict.of("train")}
        assert strict.facts["unseen_test_classes"] == published.facts["unseen_test_classes"] == [second]
        for data, leaks in ((published, ["fitted-on-test"]), (strict, [])):
            made = samples(data)
            digest = dict(zip(made.ids, made.digests, strict=True))
            fitted = {"classes": [digest[one] for one in data.fitted_on]}
            assert [f.id for f in fit_provenance(fitted, made)] == leaks
    late = build(TASKS["timeline_action"], [one], "strict")
    assert set(late.y(late.of("test")).tolist()) == {0, -1}
    assert late.facts["ceiling"] == np.mean(late.y(late.of("test")) == 0)


def test_targets_at_the_end_are_clamped_as_published_and_dropped_in_strict(sample):
    published, strict = (build(TASKS["next_action"], [sample], v) for v in ("published", "strict"))
    assert published.facts["clamped"] == published.clamped.sum() == 4
    assert [published.target_range[k].tolist() for k in np.flatnonzero(published.clamped)] == [[N - 1, N]] * 4
    assert not strict.clamped.any()
    assert strict.facts["dropped"] == {"the target lies after the end of the episode": 4}
    for name, task in TASKS.items():
        if name != "next_action":
            assert not build(task, [sample], "published").clamped.any()


def test_inputs_of_pairs():
    one = recorded(100)
    values = one.features.values
    order = build(TASKS["temporal_order"], [one], "published")
    x = order.x()
    assert order.ids[:2] == ("s/ep0/0/forward", "s/ep0/0/reversed")
    assert order.y()[:2].tolist() == [1, 0]
    np.testing.assert_array_equal(x[0], np.concatenate([values[0], values[1], values[1] - values[0]]))
    np.testing.assert_array_equal(x[1], np.concatenate([values[1], values[0], values[0] - values[1]]))
    shifted = build(TASKS["misalignment_detection"], [one], "published")
    motion, visual = column_numbers(MOTION), column_numbers(VISUAL)
    assert shifted.ids[:2] == ("s/ep0/0/aligned", "s/ep0/0/shifted")
    np.testing.assert_array_equal(shifted.x()[0], np.concatenate([values[0, motion], values[0, visual]]))
    np.testing.assert_array_equal(shifted.x()[1], np.concatenate([values[0, motion], values[8, visual]]))
    assert shifted.input_range[:2].tolist() == [[0, 20], [0, 60]]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("variant", ["published", "strict"])
def test_inputs_over_episodes_are_those_of_each(name, variant):
    pair = [recorded(120, name="a/ep0"), recorded(150, name="a/ep1", seed=1)]
    both = build(TASKS[name], pair, variant)
    alone = [build(TASKS[name], [one], variant) for one in pair]
    np.testing.assert_array_equal(both.x(), np.concatenate([one.x() for one in alone]))
    assert both.part == alone[0].part + alone[1].part
    assert both.ids == alone[0].ids + alone[1].ids
    some = np.array([len(both) - 1, 0, 3])
    np.testing.assert_array_equal(both.x(some), both.x()[some])
    np.testing.assert_array_equal(both.y(some), both.y()[some])
    if both.task.kind in ("vector", "retrieval"):
        np.testing.assert_array_equal(both.valid(some), both.valid()[some])
        np.testing.assert_array_equal(both.y(), np.concatenate([one.y() for one in alone]))
    assert samples(both).digests == samples(alone[0]).digests + samples(alone[1]).digests


def test_inputs_are_views_where_they_can_be():
    one = recorded(200)
    found = build(TASKS["transition_detection"], [one], "published")
    assert np.shares_memory(found.x(found.of("train")), one.features.values)
    other = Table(len(one.windows), 9)
    np.testing.assert_array_equal(found.x(features={"s/ep0": other}), other.values)


def test_digests_follow_what_is_read():
    one = recorded(200)
    found = build(TASKS["misalignment_detection"], [one], "strict")
    before = samples(found).digests
    one.features.values[20, column_numbers([CAPTION])] += 1
    assert samples(found).digests == before
    one.features.values[20, column_numbers(["video_stereo_left"])[0]] += 1
    changed = [k for k, (a, b) in enumerate(zip(before, samples(found).digests, strict=True)) if a != b]
    assert changed == [k for k, (_, seen) in enumerate(found.rows.tolist()) if seen == 20]


def test_episodes_are_held_out_whole():
    several = [recorded(100, name=f"s/ep{k}", seed=k) for k in range(5)]
    for variant in ("published", "strict"):
        found = build(TASKS["temporal_order"], several, variant, "episode_disjoint")
        tested = {found.episode[k] for k in found.of("test")}
        assert tested
        assert tested.isdisjoint(found.episode[k] for k in found.of("train"))
        assert "purged" not in found.part
        assert not read_ranges(samples(found), embargo=20)
    named = build(TASKS["next_action"], several, "strict", "episode_disjoint", test_episodes=["s/ep3"])
    assert {named.episode[k] for k in named.of("test")} == {"s/ep3"}
    with pytest.raises(InputError, match="only the split episode_disjoint"):
        build(TASKS["next_action"], several, "strict", test_episodes=["s/ep3"])


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("variant", ["published", "strict"])
@pytest.mark.parametrize("n", [19, 20, 24])
def test_an_episode_of_one_window_or_none_says_what_is_lacking(name, variant, n):
    found = build(TASKS[name], [recorded(n)], variant)
    assert len(found) in (0, 1)
    assert found.lacks.startswith("no sample to ")
    assert len(found.x()) == len(found.y()) == len(samples(found)) == len(found)
    assert sum(found.facts["dropped"].values()) + len(found) == (n >= 20)


def test_segments_of_centres():
    pieces = (Segment("a", 10, 30, "x"), Segment("b", 40, 60, "y"))
    one = recorded(90, labels=labels(["x"] * 90, segments=pieces))
    # Centres are 9, 14, ...: before the first, inside, between, after.
    assert one.segments == ("s/ep0/a",) * 7 + ("s/ep0/b",) * 8
    assert recorded(30).segments == ("s/ep0/none",) * 3


def test_the_last_that_was_known():
    objects = [frozenset({f"thing {k // 10}"}) for k in range(100)]
    one = recorded(100, labels=labels([f"act {k}" for k in range(100)], ["all"] * 100, objects))
    ahead = build(TASKS["next_action"], [one], "strict")
    assert last_frames(ahead)[:2].tolist() == [19, 24]
    assert last_labels(ahead)[:2] == ("act 19", "act 24")
    whole = build(TASKS["timeline_subtask"], [one], "strict")
    assert last_labels(whole)[:2] == ("", "all")
    named = build(TASKS["object_relevance"], [one], "strict")
    assert last_sets(named)[:3] == (frozenset(), frozenset({"thing 0"}), frozenset({"thing 0"}))
    touch = build(TASKS["contact_prediction"], [one], "strict")
    off_ground = np.delete(one.contacts[0][4], [6, 7, 9, 10])  # without ankles and feet
    assert last_labels(touch)[1] == ("contact" if off_ground.max() >= 0.5 else "no contact")
    assert last_labels(build(TASKS["temporal_order"], [one], "strict")) is None
    assert last_sets(whole) is last_vectors(whole) is None


def test_the_last_hands_that_were_seen():
    n = 60
    seen = np.ones(n, dtype=bool)
    seen[15:20] = False
    base = recorded(n)
    hands = {"left": Points(base.hands["left"].xyz, seen, CAMERA), "right": base.hands["right"]}
    one = recorded(n, hands=hands)
    strict = build(TASKS["hand_trajectory_forecast"], [one], "strict")
    vectors, valid = last_vectors(strict)
    assert valid.all()
    world = one.hands["left"].to_world(one.poses).xyz - one.root.xyz
    other = one.hands["right"].to_world(one.poses).xyz - one.root.xyz
    for step in (0, 9):
        np.testing.assert_allclose(vectors[0].reshape(10, 42, 3)[step, :21], world[14], atol=1e-5)
        np.testing.assert_allclose(vectors[0].reshape(10, 42, 3)[step, 21:], other[19], atol=1e-5)
    published = build(TASKS["hand_trajectory_forecast"], [one], "published")
    np.testing.assert_allclose(last_vectors(published)[0][0][:3], -one.root.xyz[19, 0], atol=1e-6)


def test_what_cannot_be_used_is_refused():
    one = recorded(60)
    for arguments, message in (
        (([], "strict"), "no episode"),
        (([one, one], "strict"), "several episodes are called 's/ep0'"),
        (([one], "loose"), "no variant 'loose'"),
        (([one], "strict", "random"), "split 'random'"),
    ):
        with pytest.raises(InputError, match=message):
            build(TASKS["next_action"], *arguments)
    with pytest.raises(InputError, match="expected 60 frames of each stream, but got contacts 59"):
        recorded(60, contacts=(np.zeros((59, 21)), np.ones(59, dtype=bool)))
    with pytest.raises(InputError, match="3 rows of features for 9 windows"):
        recorded(60, features=Table(3))
    with pytest.raises(InputError, match="reach outside its 60 frames"):
        recorded(60, windows=np.arange(9) * 6)


def test_checks_of_sequences_tell_the_variants_apart(sample):
    seen = np.arange(N) % 7 > 0
    hands = {side: Points(sample.hands[side].xyz, seen, CAMERA) for side in ("left", "right")}
    one = replace(sample, hands=hands)
    found = {}
    for variant in ("published", "strict"):
        data = {name: build(task, [one], variant) for name, task in TASKS.items()}
        made = {name: samples(one) for name, one in data.items()}
        entries = Entries(**data["hand_trajectory_forecast"].facts["invalid"])
        assert entries.invalid > 0
        found[variant] = [
            finding.id
            for finding in (
                *cut_points(made),
                *clamped_targets(made["next_action"], TASKS["next_action"].horizon),
                *clamped_targets(made["hand_trajectory_forecast"], TASKS["hand_trajectory_forecast"].horizon),
                *invalid_values({"hands": entries}),
            )
        ]
    assert found == {"published": ["cuts-differ", "target-clamped", "invalid-as-values"], "strict": []}


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_real_wrists_agree_in_strict_and_not_as_published(tmp_path):
    """Wrists of the hands against wrists of the body (20, 21), both relative to the root."""
    folder = tmp_path / "session" / "ep0"
    folder.mkdir(parents=True)
    shutil.copy(REAL, folder / "annotation.hdf5")
    with Episode.open(find([folder])[0]) as episode:
        one, body = read(episode, Table(0)), episode.body(0, episode.n_frames)
    wrists = body.xyz[:, [20, 21]] - body.xyz[:, [0]]
    strict, published = (paths(one, variant) for variant in ("strict", "published"))
    seen = strict.seen[:, [0, 21]]
    assert seen.any()
    apart = {
        name: np.linalg.norm(found.xyz[:, [0, 21]] - wrists, axis=2)[seen]
        for name, found in (("strict", strict), ("published", published))
    }
    assert apart["strict"].max() < 0.01
    assert apart["published"].min() > 0.5


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_the_published_sizes_follow_from_the_real_caption():
    """The file holds the whole caption but the times of 8 frames; the others are put at 20.0014 frames a second."""
    import h5py

    with h5py.File(REAL) as file:
        raw, begin = file["caption"][()], int(file["video/device_timestamp"][0])
    times = (begin + np.arange(N) * 1e9 / 20.0014).astype(np.int64)
    one = recorded(N, labels=parse(raw, times, N))
    for name, task in TASKS.items():
        found = build(task, [one], "published")
        assert (len(found.of("train")), len(found.of("test"))) == task.published_n, name
    assert len(build(TASKS["object_relevance"], [one], "published").classes) == 34
