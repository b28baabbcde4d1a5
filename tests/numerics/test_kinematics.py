"""Sizes of skeletons, against plain loops."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.seeds import generator
from gnomon.numerics import kinematics


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(1, 9), st.sampled_from([np.float32, np.float64]), st.integers(0, 2**32 - 1))
def test_extents_are_those_of_the_visible_joints(n, size, kind, seed):
    """Joint by joint; what is hidden holds NaN."""
    rng = generator(seed, "extents")
    joints, seen = rng.normal(size=(n, size, 3)).astype(kind), rng.random((n, size)) < 0.7
    seen[:, 0] = True
    joints[~seen] = np.nan
    wanted = [max(np.ptp(body[own][:, k]) for k in range(3)) for body, own in zip(joints, seen, strict=True)]
    found = kinematics.extents(joints, seen)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.array(wanted, np.float64))
