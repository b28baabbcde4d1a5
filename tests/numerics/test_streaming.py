"""Counts of two array files, in parts and by threads, against ``np.add.at`` over the whole arrays."""

import contextlib
import itertools
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.shards import Plain
from gnomon.numerics import streaming

TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64]


def saved(folder, name, array):
    np.save(folder / name, array)
    return Plain.open(folder / f"{name}.npy")


def expected(truth, predictions, k):
    table = np.zeros((k, k + 1), np.int64)
    np.add.at(table, (truth.astype(np.int64).ravel(), predictions.astype(np.int64).ravel() + 1), 1)
    return table


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 3000),
    st.sampled_from([1, 2, 3, 4, 20, 120]),
    st.sampled_from(TYPES),
    st.sampled_from(TYPES),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_counts_are_those_of_the_whole_arrays(tmp_path, monkeypatch, n, k, a, b, none, seed):
    monkeypatch.setattr(streaming, "PART", 701)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n).astype(a)
    predictions = np.where(rng.random(n) < 0.8, truth, rng.integers(0, k, n)).astype(b)
    if none and np.dtype(b).kind == "i":
        predictions[rng.random(n) < 0.1] = -1
    sides = saved(tmp_path, "t", truth), saved(tmp_path, "p", predictions)
    found = [streaming.count(*sides, threads=threads) for threads in (1, 3)]
    rows = max(len(found[0].table), k)
    assert (
        streaming._sum(found[0].table, np.zeros((rows, rows + 1), np.int64)) == expected(truth, predictions, rows)
    ).all()
    assert (found[0].table == found[1].table).all()
    assert (found[0].truth, found[0].predictions) == (found[1].truth, found[1].predictions)


@pytest.mark.parametrize("b", [np.uint8, np.int8])
@pytest.mark.parametrize("top", [127, 128, 130, 200, 251, 252, 255])
def test_one_large_code_changes_nothing_for_the_others(tmp_path, monkeypatch, top, b):
    monkeypatch.setattr(streaming, "PART", 701)
    rng = np.random.default_rng(top)
    truth, predictions = rng.integers(0, 5, 3000).astype(np.uint8), rng.integers(0, 5, 3000).astype(b)
    truth[900] = top
    found = streaming.count(saved(tmp_path, "t", truth), saved(tmp_path, "p", predictions), threads=1)
    assert found.table.tolist() == expected(truth, predictions, top + 1).tolist()


def test_digests_are_of_content_type_and_shape(tmp_path):
    codes = np.arange(12, dtype=np.uint8) % 3
    flat = streaming.count(saved(tmp_path, "a", codes), None)
    again = streaming.count(saved(tmp_path, "b", codes.copy()), None)
    other = streaming.count(saved(tmp_path, "c", codes.reshape(3, 4)), None)
    wide = streaming.count(saved(tmp_path, "d", codes.astype(np.int16)), None)
    assert flat.truth == again.truth
    assert len({flat.truth, other.truth, wide.truth}) == 3
    assert flat.table.tolist() == [[4, 0, 0, 0], [4, 0, 0, 0], [4, 0, 0, 0]]


def test_an_ignored_code_is_not_counted(tmp_path):
    truth, predictions = np.array([0, 255, 1, 255], np.uint8), np.array([0, 1, 1, 0], np.uint8)
    found = streaming.count(saved(tmp_path, "t", truth), saved(tmp_path, "p", predictions), ignore=255)
    assert found.table.tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("truth", "predictions", "said"),
    [
        (np.zeros(3), np.zeros(3, np.uint8), r"t\.npy: values of type float64, expected integer codes"),
        (np.zeros(3, np.uint8), np.zeros(4, np.uint8), r"p\.npy: shape \(4,\), expected that of the truth \(3,\)"),
        (np.array([0, -1]), np.array([0, 0]), r"t\.npy: code -1 near sample 1, expected 0 to 4095"),
        (np.array([0, 1]), np.array([0, -2]), r"p\.npy: code -2 near sample 1, expected -1 to 4095"),
        (np.array([0, 5000]), np.array([0, 0]), r"t\.npy: code 5000 near sample 1"),
        (np.array([0, -5], np.int8), np.array([0, 0], np.uint8), r"t\.npy: code -5 near sample 1, expected 0 to 4095"),
        (np.array([9, 200], np.uint8), np.array([0, -5], np.int8), r"p\.npy: code -5 near sample 1, expected -1 to"),
        (np.array([0, 1], np.int8), np.array([0, -128], np.int8), r"p\.npy: code -128 near sample 1"),
        (np.zeros(3, ">i2"), np.zeros(3, np.uint8), r"t\.npy: foreign byte order"),
    ],
)
def test_what_cannot_be_counted_is_named(tmp_path, truth, predictions, said):
    with pytest.raises(InputError, match=said):
        streaming.count(saved(tmp_path, "t", truth), saved(tmp_path, "p", predictions))


def test_a_file_that_shrinks_while_it_is_read_is_named(tmp_path):
    side = saved(tmp_path, "t", np.zeros(5000, np.uint8))
    (tmp_path / "t.npy").write_bytes((tmp_path / "t.npy").read_bytes()[:3000])
    with pytest.raises(InputError, match=r"t\.npy: ends \d+ bytes too early"):
        streaming.count(side, None)


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_the_first_wrong_part_is_named_by_any_number_of_threads(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(streaming, "PART", 101)
    truth = np.zeros(101 * 50, np.int16)
    truth[[101 * 17 + 5, *range(101 * 18, 101 * 50, 101)]] = 5000
    sides = saved(tmp_path, "t", truth), saved(tmp_path, "p", np.zeros(len(truth), np.int16))
    for _ in range(20):
        with pytest.raises(InputError, match=f"near sample {101 * 17 + 5},"):
            streaming.count(*sides, threads=threads)


def test_a_thread_that_is_done_helps_the_others():
    left = [streaming.deque(), streaming.deque([1, 2]), streaming.deque([3, 4, 5])]
    assert list(streaming._taken(left[0], left, Event())) == [5, 2, 4, 1, 3]
    left = [streaming.deque([1, 2]), streaming.deque([3])]
    assert list(streaming._taken(left[0], left, Event())) == [1, 2, 3]


class Late(Event):
    """Set when it has been asked so often."""

    def __init__(self, asked):
        super().__init__()
        self.left = asked

    def is_set(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("threads", [1, 4])
def test_counting_ends_when_it_is_asked_to_stop(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(streaming, "PART", 101)
    sides = saved(tmp_path, "t", np.zeros(101 * 50, np.uint8)), saved(tmp_path, "p", np.zeros(101 * 50, np.uint8))
    read = []
    plain = Plain.reading

    @contextlib.contextmanager
    def watched(self, most):
        with plain(self, most) as reading:
            yield lambda first, stop: read.append(first) or reading(first, stop)

    monkeypatch.setattr(Plain, "reading", watched)
    with pytest.raises(KeyboardInterrupt):
        streaming.count(*sides, threads=threads, stop=Late(10))
    assert len(read) <= 2 * 10


def test_an_error_in_one_thread_ends_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "PART", 101)
    sides = saved(tmp_path, "t", np.zeros(101 * 500, np.uint8)), saved(tmp_path, "p", np.zeros(101 * 500, np.uint8))
    marked, calls, stop = [], itertools.count(1), Event()

    def broken(data):
        marked.append(len(data))
        time.sleep(0.001)
        if next(calls) == 20:
            raise MemoryError
        return b""

    monkeypatch.setattr(streaming, "mark", broken)
    with pytest.raises(MemoryError):
        streaming.count(*sides, threads=3, stop=stop)
    seen = len(marked)
    assert seen < 200, "the others went on to the end"
    time.sleep(0.05)
    assert len(marked) == seen, "a thread is at work after all"
    assert not stop.is_set(), "it is not ours: others may be stopped by it"


def test_counting_side_by_side_shares_threads(tmp_path, monkeypatch):
    """More counts than threads, each of more stretches than there are: all of them end, with the counts of one."""
    monkeypatch.setattr(streaming, "PART", 101)
    rng = np.random.default_rng(5)
    truth, said = rng.integers(0, 7, (2, 101 * 40)).astype(np.uint8)
    sides = saved(tmp_path, "t", truth), saved(tmp_path, "p", said)
    alone = streaming.count(*sides, threads=1)
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: streaming.count(*sides, threads=9), range(24)))
    assert all(np.array_equal(one.table, alone.table) and one.truth == alone.truth for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_that_was_forked_counts_with_threads_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "PART", 101)
    sides = saved(tmp_path, "t", np.zeros(101 * 9, np.uint8)), saved(tmp_path, "p", np.zeros(101 * 9, np.uint8))
    streaming.count(*sides, threads=3)
    child = os.fork()
    if child == 0:  # as long as it lives it must do nothing of what the tests' process does at its end
        code = 3
        try:
            signal.alarm(30)
            code = 0 if streaming.count(*sides, threads=3).table[0, 1] == 101 * 9 else 4
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_negative_codes_are_no_classes_where_many_are_known(tmp_path, monkeypatch):
    """Read without its sign, -5 is 251, which is a class here."""
    monkeypatch.setattr(streaming, "PART", 701)
    truth, said = np.zeros(1402, np.uint8), np.zeros(1402, np.int8)
    truth[3], said[900] = 251, -5
    with pytest.raises(InputError, match=r"p\.npy: code -5 near sample 900, expected -1"):
        streaming.count(saved(tmp_path, "t", truth), saved(tmp_path, "p", said), threads=1)
