"""Hashes that several parts have: compared with sets, in one range and in many."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnomon.runs import once

HASHES = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 12), st.integers(2**64 - 12, 2**64 - 1))


@given(st.lists(st.sets(HASHES, max_size=20), min_size=1, max_size=5), st.integers(1, 50))
def test_what_is_found_twice_is_what_sets_have_in_common(tmp_path_factory, parts, room):
    folders = []
    for number, part in enumerate(parts):
        folder = tmp_path_factory.mktemp("part")
        once.write(np.array(list(part), dtype=np.uint64), folder)
        folders.append(folder)
        assert np.load(folder / once.NAME).tolist() == sorted(parts[number])
    before = once.ROOM
    once.ROOM = room
    try:
        found = once.twice(folders)
    finally:
        once.ROOM = before
    counts = Counter(one for part in parts for one in part)
    expected = sorted(one for one, count in counts.items() if count > 1)
    assert [one for one, _ in found] == expected[: once.MOST]
    for one, places in found:
        assert places == [place for place, part in enumerate(parts) if one in part]
