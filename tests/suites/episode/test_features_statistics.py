"""The 7 statistics: against numpy on every window, masked against numpy on valid frames, the same in any pieces."""

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gnomon.core.errors import GnomonError
from gnomon.suites.episode.features.statistics import Rolling, plain_seven, single

N = st.integers(20, 60)


def plain(window):
    """The 7 statistics of a window as numpy has them."""
    steps = np.diff(window, axis=0)
    rows = [window.mean(0), window.std(0), window.min(0), window.max(0), window[-1] - window[0]]
    return np.concatenate([*rows, steps.mean(0), steps.std(0)])


def masked(window, valid):
    """The 7 statistics over valid frames, by loops."""
    d = window.shape[1]
    rows = [window[t] for t in range(len(window)) if valid[t]]
    if not rows:
        return np.zeros(7 * d)
    steps = [window[t + 1] - window[t] for t in range(len(window) - 1) if valid[t] and valid[t + 1]]
    moved = [np.mean(steps, axis=0), np.std(steps, axis=0)] if steps else [np.zeros(d)] * 2
    some = [np.mean(rows, axis=0), np.std(rows, axis=0), np.min(rows, axis=0), np.max(rows, axis=0)]
    return np.concatenate([*some, rows[-1] - rows[0], *moved])


def rolled(frames, share, cuts=(), **options):
    n = len(frames)
    windows = len(range(0, n - 19, 5))
    values = np.full((windows, 7 * frames.shape[1]), np.nan, dtype=np.float32)
    coverage = np.full(windows, np.nan, dtype=np.float32)
    rolling = Rolling(values, coverage, n, **options)
    for part in np.split(np.arange(n), sorted(cuts)):
        rolling.add(frames[part], share[part])
    rolling.close()
    return values, coverage


def frames_of(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).cumsum(axis=0)


def test_one_window_by_hand():
    frames = np.arange(20.0)[:, None] ** 2
    values, coverage = rolled(frames, np.ones(20))
    # mean of squares 0..19 = 123.5; differences 1, 3, ..., 39: mean 19, variance of the odd numbers (19² - 1) / 3 = 120
    expected = [123.5, np.sqrt(562666 / 20 - 123.5**2), 0, 361, 361, 19, np.sqrt(120)]
    assert sum(k**4 for k in range(20)) == 562666
    assert values[0] == pytest.approx(expected, rel=1e-6)
    assert coverage.tolist() == [1.0]


@settings(deadline=None, max_examples=40)
@given(N, st.integers(0, 1000))
def test_every_window_is_that_of_numpy(n, seed):
    frames = frames_of(n, seed=seed)
    values, coverage = rolled(frames, np.ones(n))
    expected = [plain(frames[start : start + 20]) for start in range(0, n - 19, 5)]
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    assert (coverage == 1).all()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_masked_windows_are_those_of_valid_frames(data):
    n = data.draw(N)
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    frames = frames_of(n)
    values, coverage = rolled(frames, valid.astype(float), masked=True)
    for row, start in enumerate(range(0, n - 19, 5)):
        part = slice(start, start + 20)
        np.testing.assert_allclose(values[row], masked(frames[part], valid[part]), rtol=1e-5, atol=1e-6)
        assert coverage[row] == pytest.approx(valid[part].mean())


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_pieces_do_not_matter(data):
    n = data.draw(N)
    frames = data.draw(arrays.arrays(np.float64, (n, 2), elements=st.floats(-10, 10)))
    cuts = data.draw(st.lists(st.integers(0, n), max_size=6))
    whole, pieces = rolled(frames, np.ones(n)), rolled(frames, np.ones(n), cuts)
    assert whole[0].tobytes() == pieces[0].tobytes()
    assert whole[1].tobytes() == pieces[1].tobytes()


def test_as_zero_takes_what_is_missing_as_zeros_and_masked_leaves_it_out():
    frames = frames_of(20) + 5
    frames[4] = np.nan
    frames[9, 1] = np.inf
    zeroed = np.where(np.isfinite(frames), frames, 0.0)
    values, coverage = rolled(frames, np.ones(20))
    np.testing.assert_allclose(values[0], plain(zeroed), rtol=1e-5, atol=1e-6)
    assert coverage[0] == pytest.approx(0.9)
    values, coverage = rolled(frames, np.ones(20), masked=True)
    valid = np.isfinite(frames).all(axis=1)
    np.testing.assert_allclose(values[0], masked(zeroed, valid), rtol=1e-5, atol=1e-6)
    assert coverage[0] == pytest.approx(0.9)


@pytest.mark.parametrize("first", [0, 3])
def test_relative_windows_start_at_the_origin(first):
    frames = frames_of(33) + 100
    share = np.ones(33)
    share[:first] = 0
    values, _ = rolled(frames, share, masked=True, relative=True)
    for row, start in enumerate((0, 5, 10)):
        part = frames[start : start + 20]
        valid = share[start : start + 20] > 0
        origin = part[valid][0]
        np.testing.assert_allclose(values[row], masked(part - origin, valid), rtol=1e-5, atol=1e-5)


def test_frames_that_do_not_come_are_missing():
    frames = frames_of(30)
    values, coverage = np.empty((3, 21), np.float32), np.empty(3, np.float32)
    rolling = Rolling(values, coverage, 30, masked=True)
    rolling.add(frames[:22], np.ones(22))
    rolling.close()
    assert coverage == pytest.approx([1.0, 17 / 20, 12 / 20])
    np.testing.assert_allclose(values[2, :3], frames[10:22].mean(axis=0), rtol=1e-5)


def test_nothing_at_all_is_zeros_with_coverage_0():
    values, coverage = rolled(np.full((25, 2), np.nan), np.ones(25), masked=True)
    assert not values.any()
    assert not coverage.any()


def test_a_window_reads_nothing_behind_it():
    frames = frames_of(40)
    later = frames.copy()
    later[20:] += 1
    assert rolled(frames, np.ones(40))[0][0].tobytes() == rolled(later, np.ones(40))[0][0].tobytes()
    assert rolled(frames, np.ones(40))[0][1].tobytes() != rolled(later, np.ones(40))[0][1].tobytes()


def test_more_frames_than_the_episode_has_are_refused():
    rolling = Rolling(np.empty((1, 7), np.float32), np.empty(1, np.float32), 20)
    with pytest.raises(GnomonError, match="21 frames came, expected at most 20"):
        rolling.add(np.zeros((21, 1)), np.ones(21))


def test_what_single_precision_cannot_hold_is_0():
    assert single(np.array([1e39, -1e39, np.inf, np.nan, 0.25])).tolist() == [0, 0, 0, 0, 0.25]


def test_plain_statistics_of_any_number_of_rows():
    rows = frames_of(137)
    np.testing.assert_allclose(plain_seven(rows), plain(rows), rtol=1e-9, atol=1e-12)
    assert plain_seven(np.array([[3.0]])).tolist() == [3, 0, 3, 3, 0, 0, 0]
