"""The laws over the measures of boxes, points and scenes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.measures import points, scene_boxes, scenes
from gnomon.testing import check, generate
from gnomon.testing.scans import DRAWERS

MEASURES = (*scene_boxes.MEASURES, *points.MEASURES, *scenes.MEASURES)
for signal, how in DRAWERS.items():
    generate(signal, how)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []


def test_names_and_families_are_distinct():
    names = [measure.name for measure in MEASURES]
    assert len(set(names)) == len(names)
    for measure in MEASURES:
        assert measure.family.isidentifier()
