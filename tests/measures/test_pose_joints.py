"""Sets of joints. Orders are those of the datasets' own documents, written out here by index; laws are drawn."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures.pose_joints import LIMBS, RULES, SETS, derive, find_set, make_set

PAIRS = list(itertools.permutations(SETS, 2))
LIMB_INDICES = {
    "coco17": [12, 14, 16, 11, 13, 15, 5, 7, 9, 6, 8, 10],
    "smpl24": [2, 5, 8, 1, 4, 7, 16, 18, 20, 17, 19, 21],
    "mpi3dhp17": [8, 9, 10, 11, 12, 13, 5, 6, 7, 2, 3, 4],
    "cmu31": [7, 8, 9, 2, 3, 4, 18, 19, 20, 25, 26, 27],
}
"""Where each set has joints 1 to 6 and 11 to 16 of Human3.6M."""


@pytest.mark.parametrize(("of", "indices"), LIMB_INDICES.items())
def test_limbs_of_human36m(of, indices):
    rules = derive(SETS["h36m17"], SETS[of])
    joints = np.random.default_rng(0).normal(size=(4, len(SETS[of]), 3))
    places = [*range(1, 7), *range(11, 17)]
    np.testing.assert_array_equal(rules.keep(places).apply(joints), joints[:, indices])


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_a_joint_is_exact_approximate_or_missing(to, of):
    """Every rule speaks of joints that the sets have, and the three kinds are all there is."""
    rules = derive(SETS[to], SETS[of])
    exact = [name for name, rule in zip(SETS[to].names, rules.rules, strict=True) if rule and rule.exact]
    assert sorted([*exact, *rules.approximate, *rules.missing]) == sorted(SETS[to].names)
    assert all(source in SETS[of].index for rule in rules.rules if rule for source in rule.sources)


def test_rules_name_joints_that_exist():
    for (to, _), known in RULES.items():
        assert set(known) <= set(SETS[to].names)


@pytest.mark.parametrize(("to", "of"), PAIRS)
@given(seed=st.integers(0, 1000))
def test_exact_joints_survive_the_round_trip(to, of, seed):
    """What is copied there and back is what it was, to the last bit."""
    joints = np.random.default_rng(seed).normal(size=(2, len(SETS[of]), 3))
    there = derive(SETS[to], SETS[of])
    exact = [place for place, rule in enumerate(there.rules) if rule and rule.exact]
    if not exact:
        return
    sub = there.keep(exact)
    back = derive(SETS[of], make_set("derived", sub.to.names))
    known = [place for place, rule in enumerate(back.rules) if rule]
    assert known
    np.testing.assert_array_equal(back.keep(known).apply(sub.apply(joints)), joints[:, known])


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_derivation_goes_with_any_motion(to, of):
    """A mean of joints moves and turns with them."""
    rng = np.random.default_rng(1)
    joints = rng.normal(size=(3, len(SETS[of]), 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rules = derive(SETS[to], SETS[of])
    rules = rules.keep([place for place, rule in enumerate(rules.rules) if rule])
    np.testing.assert_allclose(rules.apply(joints @ turn + 5), rules.apply(joints) @ turn + 5, atol=1e-12)


def test_what_the_definitions_say():
    assert derive(SETS["h36m17"], SETS["smpl24"]).missing == ["neck_nose", "head"]
    assert derive(SETS["h36m17"], SETS["mpi3dhp17"]).missing == ["neck_nose"]
    assert derive(SETS["smpl24"], SETS["cmu31"]).missing == []
    assert derive(SETS["coco17"], SETS["smpl24"]).missing == list(SETS["coco17"].names[:5])
    assert set(derive(SETS["h36m17"], SETS["coco17"]).approximate) == {"pelvis", "spine", "thorax", "neck_nose", "head"}
    assert derive(SETS["h36m17"], SETS["h36m17-smpl"]).approximate == []
    assert all(name in SETS[one].index for one in SETS if one != "cmu31" for name in LIMBS)


def test_roots_and_bones():
    assert [one.root for one in SETS.values()] == [(0,), (0,), (11, 12), (0,), (14,), (0,)]
    for one in SETS.values():
        assert {joint for bone in one.bones for joint in bone} <= set(range(len(one)))
    assert [len(one.bones) for one in SETS.values()] == [16, 16, 16, 23, 16, 30]
    limbs = SETS["h36m17"].keep([1, 2, 4, 5])
    assert (limbs.root, limbs.bones) == ((2, 0), ((0, 1), (2, 3)))
    assert SETS["h36m17"].keep([1, 2]).root == ()


def test_names_of_sets():
    assert find_set("CMU") is SETS["cmu31"]
    assert find_set("h36m17_smpl") is SETS["h36m17-smpl"]
    assert find_set("nothing") is None


def test_masks_are_derived():
    rules = derive(SETS["h36m17"], SETS["coco17"]).keep([0, 1])
    seen = np.ones((1, 17), bool)
    seen[0, 11] = False  # the left hip, half of the pelvis
    assert rules.apply_mask(seen).tolist() == [[False, True]]


def test_own_sets():
    own = make_set("mine", ["a", "Pelvis", "b"], [1, -1, 1])
    assert (own.root, own.bones) == ((1,), ((1, 0), (1, 2)))
    assert make_set("mine", ["left_hip", "right_hip"]).root == (0, 1)
    with pytest.raises(InputError, match=r"distinct names of joints, but got 'a'"):
        make_set("mine", ["a", "a"])
    with pytest.raises(InputError, match=r"index of a parent"):
        make_set("mine", ["a", "b"], [-1, 7])
