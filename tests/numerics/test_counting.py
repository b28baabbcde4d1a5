"""Every count is checked against a loop or ``np.bincount`` written here, never against the code under test."""

import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnomon.core import compiling
from gnomon.core.errors import InputError
from gnomon.numerics import bytewise, counting
from gnomon.numerics.counting import class_counts, confusion, pair_counts

INTEGERS = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64]
FLUSH = 127 * 32  # samples after which the byte lanes of the kernel for few classes are full
EDGES = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, FLUSH - 1, FLUSH, FLUSH + 1, 2 * FLUSH + 33]

lengths = st.one_of(st.sampled_from(EDGES), st.integers(0, 2000))
classes = st.one_of(
    st.integers(1, 5), st.sampled_from([16, 87, 127, 128, 129, 252, 253, 255, 256, 257]), st.integers(1, 300)
)
seeds = st.integers(0, 2**32 - 1)
steps = st.sampled_from([1, 2, 3, -1, -2])
fast = settings(deadline=None, max_examples=100)


@pytest.fixture(scope="module", autouse=True, params=["plain", "compiled"])
def path(request):
    """Few samples are counted by array operations and many by kernels: every test here is of both."""
    before = counting._FEW
    counting._FEW = {"plain": 1 << 40, "compiled": 0}[request.param]
    yield request.param
    counting._FEW = before


def reference(truth, prediction, k):
    codes = np.asarray(truth).astype(np.int64) * k + np.asarray(prediction).astype(np.int64)
    return np.bincount(codes, minlength=k * k).reshape(k, k)


def labels(seed, n, k, accuracy=0.8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return truth, np.where(rng.random(n) < accuracy, truth, rng.integers(0, k, n))


def holding(k):
    """Pairs of dtypes that hold the codes: equal ones and, since each pair is compiled, two that differ."""
    pairs = [*((dtype, dtype) for dtype in INTEGERS), (np.uint8, np.int64), (np.int32, np.uint16)]
    return [pair for pair in pairs if all(np.iinfo(dtype).max >= k - 1 for dtype in pair)]


def strided(values, step):
    """The same values as a view into a larger array whose other elements are out of every range."""
    room = np.full(len(values) * abs(step) + 3, 127, values.dtype)
    view = room[1 : 1 + len(values) * abs(step) : abs(step)][:: 1 if step > 0 else -1]
    view[:] = values
    return view


class TestConfusion:
    @fast
    @given(lengths, classes, seeds, st.data(), steps)
    @example(2 * FLUSH + 33, 3, 0, None, 1)
    def test_equals_bincount(self, n, k, seed, data, step):
        truth, prediction = labels(seed, n, k, accuracy=seed % 3 / 2)
        left, right = (np.uint8, np.uint8) if data is None else data.draw(st.sampled_from(holding(k)))
        found = confusion(strided(truth.astype(left), step), prediction.astype(right), k)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, reference(truth, prediction, k))

    @fast
    @given(lengths, st.integers(1, 300), seeds)
    def test_bytes_equal_a_loop(self, n, k, seed):
        truth, prediction = labels(seed, n, min(k, 256))
        expected = [[0] * k for _ in range(k)]
        for t, p in zip(truth.tolist(), prediction.tolist(), strict=True):
            expected[t][p] += 1
        assert confusion(truth.astype(np.uint8), prediction.astype(np.uint8), k).tolist() == expected

    @pytest.mark.parametrize("k", [1, 2, 3, 4, 87])
    @pytest.mark.parametrize("n", [FLUSH, 5 * FLUSH + 31, 70_001])
    def test_constant_input_overflows_no_lane(self, k, n):
        for t, p in {(k - 1, k - 1), (0, k - 1), (k - 1, 0), (min(1, k - 1), k - 1)}:
            found = confusion(np.full(n, t, np.uint8), np.full(n, p, np.uint8), k)
            assert found[t, p] == n
            assert found.sum() == n

    @pytest.mark.parametrize("n", [70_003, 300_007])
    @pytest.mark.parametrize("k", [2, 3, 4, 87, 250, 256])
    def test_many_labels(self, n, k):
        truth, prediction = labels(n, n, k)
        expected = reference(truth, prediction, k)
        for dtype in (np.uint8, np.int32):
            np.testing.assert_array_equal(confusion(truth.astype(dtype), prediction.astype(dtype), k), expected)

    @pytest.mark.parametrize(("n", "k"), [(1, 2), (1000, 3), (70_001, 87), (5000, 300)])
    def test_agrees_with_scikit_learn(self, n, k):
        metrics = pytest.importorskip("sklearn.metrics")
        truth, prediction = labels(n, n, k)
        expected = metrics.confusion_matrix(truth, prediction, labels=np.arange(k))
        np.testing.assert_array_equal(confusion(truth, prediction, k), expected)

    @pytest.mark.parametrize("k", [3, 87])
    def test_tables_of_32_bits_are_emptied_in_time(self, k, monkeypatch):
        monkeypatch.setattr(counting, "_CHUNK", 1001)
        truth, prediction = labels(5, 10_000, k)
        found = confusion(truth.astype(np.uint8), prediction.astype(np.uint8), k)
        np.testing.assert_array_equal(found, reference(truth, prediction, k))

    @pytest.mark.parametrize("threads", [0, 1, 2, 3, 8])
    def test_threads_change_nothing(self, threads, monkeypatch):
        monkeypatch.setattr(bytewise, "_PART", 1 << 10)
        truth, prediction = (codes.astype(np.uint8) for codes in labels(7, 100_005, 87))
        expected = reference(truth, prediction, 87)
        np.testing.assert_array_equal(confusion(truth, prediction, 87, threads=threads), expected)
        truth[90_001] = 87
        with pytest.raises(InputError, match=r"truth\[90001\] is 87"):
            confusion(truth, prediction, 87, threads=threads)

    def test_a_slow_thread_is_waited_for(self, monkeypatch):
        count, main = bytewise.count_joint, threading.current_thread()

        def slowly(*arguments):
            time.sleep(0.005 if threading.current_thread() is main else 0.2)
            return count(*arguments)

        monkeypatch.setattr(bytewise, "_PART", 1 << 10)
        monkeypatch.setattr(bytewise, "count_joint", slowly)
        truth, prediction = (codes.astype(np.uint8) for codes in labels(8, 20 << 10, 5))
        found = confusion(truth, prediction, 5, threads=2)
        np.testing.assert_array_equal(found, reference(truth, prediction, 5))

    def test_two_threads_by_default_where_there_are_many_labels(self, monkeypatch):
        monkeypatch.setattr(counting, "_SHARED", 1000)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
        assert [counting._workers(n) for n in (999, 1000)] == [1, 2]
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
        assert counting._workers(1000) == 1

    def test_a_chunk_fits_32_bits(self):
        assert counting._CHUNK < 2**32

    def test_a_large_table_is_allocated_once(self):
        truth, prediction = labels(1, 5000, 2100)
        confusion(truth, prediction, 2100)
        tracemalloc.start()
        try:
            found = confusion(truth, prediction, 2100)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        np.testing.assert_array_equal(found, reference(truth, prediction, 2100))
        assert peak < 1.5 * found.nbytes

    def test_more_classes_than_a_byte_holds(self):
        truth = np.array([0, 255, 255], np.uint8)
        assert confusion(truth, truth, 300)[255, 255] == 2

    def test_frozen_unaligned_and_foreign_arrays(self):
        truth, prediction = labels(2, 1000, 7)
        expected = reference(truth, prediction, 7)
        unaligned = np.frombuffer(b"x" + truth.astype(np.int32).tobytes(), np.uint8)[1:].view(np.int32)
        assert not unaligned.flags.aligned
        assert not unaligned.flags.writeable
        np.testing.assert_array_equal(confusion(unaligned, prediction.astype(">i4"), 7), expected)

    def test_no_samples(self):
        for dtype in INTEGERS:
            assert confusion(np.empty(0, dtype), np.empty(0, dtype), 4).tolist() == np.zeros((4, 4)).tolist()
        assert confusion(np.empty(0, int), np.empty(0, int), 0).shape == (0, 0)


class TestBadCodes:
    @fast
    @given(st.integers(1, 2000), st.integers(1, 300), seeds, st.data())
    def test_the_first_one_is_named(self, n, k, seed, data):
        truth, prediction = labels(seed, n, k)
        dtype = data.draw(st.sampled_from([dtype for dtype in INTEGERS if np.iinfo(dtype).max >= k]))
        places = st.one_of(st.sampled_from([0, n - 1, n // 16 * 16 - 1, n // 32 * 32 - 1]), st.integers(0, n - 1))
        at = data.draw(places.map(lambda place: max(place, 0)))
        value = data.draw(st.sampled_from([k, np.iinfo(dtype).max, *([-1, -128] if np.iinfo(dtype).min else [])]))
        side = data.draw(st.sampled_from(["truth", "prediction"]))
        columns = {"truth": truth.astype(dtype), "prediction": prediction.astype(dtype)}
        columns[side][at] = value
        columns[side][at + 1 :: 3] = value
        with pytest.raises(InputError) as caught:
            confusion(columns["truth"], columns["prediction"], k)
        assert f"{side}[{at}] is {value}, expected a code in [0, {k})" in str(caught.value)

    @pytest.mark.parametrize("k", [2, 5, 128, 129, 200])
    def test_negative_bytes_are_no_large_bytes(self, k):
        truth = np.zeros(40, np.int8)
        for value in (-128, -127, -1):
            truth[35] = value
            with pytest.raises(InputError, match=rf"truth\[35\] is {value}, expected"):
                confusion(truth, np.zeros(40, np.int8), k)

    def test_truth_is_named_before_prediction(self):
        with pytest.raises(InputError, match=r"^truth\[1\] is 9"):
            confusion(np.array([0, 9], np.uint8), np.array([0, 8], np.uint8), 3)
        with pytest.raises(InputError, match=r"^prediction\[0\] is 8"):
            confusion(np.array([0, 9], np.uint8), np.array([8, 0], np.uint8), 3)

    @pytest.mark.parametrize("k", [4, 16, 87, 252])
    def test_nothing_is_written_outside_the_table(self, k):
        size = (k + bytewise.LANES) * k
        room = np.zeros(65536 + 2 * size, np.uint32)
        codes = np.random.default_rng(0).integers(0, 256, (2, 1 << 14)).astype(np.uint8)
        codes[:, :256] = 255
        table = room[size : 2 * size]
        largest = bytewise.count_joint(
            codes[0].ctypes.data, codes[1].ctypes.data, (1 << 14) // 16, k, table.ctypes.data
        )
        assert largest == 255
        assert table.sum() == 1 << 14
        assert room.sum() == table.sum()

    def test_no_classes(self):
        for dtype in (np.uint8, np.int64):
            with pytest.raises(InputError, match=r"truth\[0\] is 0, expected a code in \[0, 0\)"):
                confusion(np.zeros(3, dtype), np.zeros(3, dtype), 0)


class TestShapesAndTypes:
    @pytest.mark.parametrize(
        "wrong",
        [
            np.zeros(3),
            np.zeros(3, bool),
            np.zeros(3, "m8[s]"),
            np.zeros(3, object),
            np.array(["a", "b", "c"]),
            np.zeros((3, 1), int),
            np.int64(3),
            [[0], [1, 2]],
        ],
        ids=["float", "bool", "duration", "object", "text", "matrix", "scalar", "ragged"],
    )
    def test_other_than_a_row_of_integers(self, wrong):
        good = np.zeros(3, np.int64)
        with pytest.raises(InputError, match=r"^truth .*expected"):
            confusion(wrong, good, 3)
        with pytest.raises(InputError, match=r"^prediction .*expected"):
            class_counts(good, wrong, good, 3, 1)
        with pytest.raises(InputError, match=r"^case .*expected"):
            pair_counts(good, good, wrong, 3, 1)

    def test_unequal_lengths(self):
        two, three = np.zeros(2, int), np.zeros(3, int)
        with pytest.raises(InputError, match="truth has 2, prediction has 3"):
            confusion(two, three, 1)
        for count in (class_counts, pair_counts):
            with pytest.raises(InputError, match="truth has 3, prediction has 3, case has 2"):
                count(three, three, two, 1, 1)

    @pytest.mark.parametrize("size", [-1, 2.0, "3", None, 2**63])
    def test_sizes(self, size):
        none = np.empty(0, int)
        with pytest.raises(InputError, match=r"^n_classes is"):
            confusion(none, none, size)
        with pytest.raises(InputError, match=r"^n_cases is"):
            class_counts(none, none, none, 1, size)

    def test_a_table_that_fits_nowhere(self):
        none = np.empty(0, int)
        with pytest.raises(InputError, match="use pair_counts"):
            confusion(none, none, 2**40)


cases = st.integers(1, 40)
signed = st.sampled_from([np.int8, np.int32])


def cased(seed, n, k, m):
    """Labels, one prediction in ten missing, and cases in any order."""
    truth, prediction = labels(seed, n, k)
    rng = np.random.default_rng(seed + 1)
    prediction[rng.random(n) < 0.1] = -1
    return truth, prediction, rng.integers(0, m, n)


class TestClassCounts:
    @fast
    @given(lengths, st.integers(1, 100), cases, seeds, signed, steps)
    def test_equals_a_loop(self, n, k, m, seed, dtype, step):
        truth, prediction, case = cased(seed, n, k, m)
        expected = np.zeros((3, m, k), int)
        for t, p, c in zip(truth.tolist(), prediction.tolist(), case.tolist(), strict=True):
            expected[0, c, t] += t == p
            expected[1, c, t] += 1
            if p != -1:
                expected[2, c, p] += 1
        found = class_counts(truth.astype(np.uint8), strided(prediction.astype(dtype), step), case, k, m)
        for counts, wanted in zip(found, expected, strict=True):
            assert counts.dtype == np.int64
            np.testing.assert_array_equal(counts, wanted)

    def test_agrees_with_confusion_on_many_labels(self):
        truth, prediction = labels(3, 300_007, 12)
        case = np.arange(300_007) % 5
        tp, truth_support, predicted_support = class_counts(truth, prediction, case, 12, 5)
        table = reference(truth, prediction, 12)
        np.testing.assert_array_equal(tp.sum(0), table.diagonal())
        np.testing.assert_array_equal(truth_support.sum(0), table.sum(1))
        np.testing.assert_array_equal(predicted_support.sum(0), table.sum(0))

    def test_no_cases(self):
        none = np.empty(0, np.int32)
        assert [counts.shape for counts in class_counts(none, none, none, 4, 0)] == [(0, 4)] * 3


class TestPairCounts:
    @fast
    @given(lengths, st.integers(1, 100), cases, seeds, signed, steps)
    @example(2000, 2, 2, 0, np.int8, 1)
    @example(10, 100, 40, 0, np.int8, 1)
    def test_equals_a_counter(self, n, k, m, seed, dtype, step):
        truth, prediction, case = cased(seed, n, k, m)
        found = pair_counts(truth.astype(np.uint16), prediction.astype(dtype), strided(case, step), k, m)
        assert [column.dtype for column in found] == [np.int64, np.int32, np.int32, np.int64]
        expected = Counter(zip(case.tolist(), truth.tolist(), prediction.tolist(), strict=True))
        rows = [(*key, count) for key, count in sorted(expected.items())]
        assert list(zip(*(column.tolist() for column in found), strict=True)) == rows

    def test_memory_does_not_follow_the_number_of_cells(self):
        truth, prediction = np.array([7, 99_999, 7]), np.array([-1, 5, -1], np.int8)
        case = np.array([10**6 - 1, 0, 10**6 - 1])
        found = pair_counts(truth, prediction, case, 10**5, 10**6)
        assert [column.tolist() for column in found] == [[0, 10**6 - 1], [99_999, 7], [5, -1], [1, 2]]

    def test_more_cells_than_can_be_numbered(self):
        none = np.empty(0, int)
        with pytest.raises(InputError, match="too many cells"):
            pair_counts(none, none, none, 2**31, 2**20)
        with pytest.raises(InputError, match="too many cells"):
            pair_counts(none, none, none, 2**30, 2**40)


@pytest.mark.parametrize("count", [class_counts, pair_counts])
class TestBadCodesPerCase:
    @fast
    @given(n=st.integers(1, 200), k=st.integers(1, 100), m=cases, seed=seeds, data=st.data())
    def test_the_first_one_is_named(self, count, n, k, m, seed, data):
        columns = dict(zip(("truth", "prediction", "case"), cased(seed, n, k, m), strict=True))
        side, low, stop = data.draw(st.sampled_from([("truth", 0, k), ("prediction", -1, k), ("case", 0, m)]))
        at = data.draw(st.integers(0, n - 1))
        value = data.draw(st.sampled_from([low - 1, stop, 2**63 - 1, -(2**63)]))
        columns[side][at] = columns[side][-1] = value
        with pytest.raises(InputError) as caught:
            count(**columns, n_classes=k, n_cases=m)
        assert f"{side}[{at}] is {value}, expected a code in [{low}, {stop})" in str(caught.value)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
    def test_the_largest_unsigned_code_does_not_mean_none(self, count, dtype):
        zero, largest = np.zeros(1, int), np.iinfo(dtype).max
        with pytest.raises(InputError, match=rf"prediction\[0\] is {largest}, expected a code in \[0, 3\)"):
            count(zero, np.array([largest], dtype), zero, 3, 1)

    def test_no_cases(self, count):
        zero = np.zeros(1, int)
        with pytest.raises(InputError, match=r"case\[0\] is 0, expected a code in \[0, 0\)"):
            count(zero, zero, zero, 3, 0)


class TestCache:
    SCRIPT = """
import numpy as np
from gnomon.core import compiling
from gnomon.numerics import _counted, bytewise, counting
codes = np.zeros(1 << 16, np.uint8)
for k in (3, 87, 300):
    counting.confusion(codes, codes, k)
kernels = bytewise._sum_products, bytewise.count_joint, _counted.count_any
print(*(sum(kernel.stats.cache_hits.values()) for kernel in kernels))
"""

    def test_a_second_process_compiles_nothing(self, tmp_path):
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        run = [sys.executable, "-c", self.SCRIPT]
        hits = [subprocess.check_output(run, env=environment, text=True).split() for _ in range(2)]
        assert hits == [["0", "0", "0"], ["1", "1", "1"]]

    def test_no_place_for_a_cache_is_no_failure(self, monkeypatch):
        def njit(cache=False, nogil=False):
            if cache:
                raise RuntimeError("no locator available")
            return lambda function: function

        monkeypatch.setattr(compiling, "njit", njit)
        assert compiling.jit(len) is len


def test_few_samples_load_no_compiler():
    script = """
import sys
from gnomon.numerics import counting
counting.confusion([0, 1], [1, 1], 2)
counting.class_counts([0, 1], [1, 1], [0, 0], 2, 1)
counting.pair_counts([0, 1], [1, 1], [0, 0], 2, 1)
print("numba" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"
