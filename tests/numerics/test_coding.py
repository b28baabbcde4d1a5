"""Labels to codes and back: decoding the codes gives the labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures.classification import evaluate
from gnomon.numerics.coding import encode_pair

integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30)
small = st.lists(st.integers(0, 255), min_size=1, max_size=30)
words = st.lists(st.text(max_size=5), min_size=1, max_size=30)


@given(st.one_of(integers, small, words))
def test_decoding_gives_the_labels(values):
    half = len(values) // 2
    if half == 0:
        return
    truth, prediction = values[:half], values[half : 2 * half]
    classes, true, predicted = encode_pair(truth, prediction)
    assert [classes[code] for code in true.tolist()] == truth
    assert [classes[code] for code in predicted.tolist()] == prediction
    assert classes == sorted(set(classes))


def test_small_unsigned_codes_are_not_copied():
    values = np.array([0, 2, 1], dtype=np.uint8)
    _, true, _ = encode_pair(values, values)
    assert np.shares_memory(true, values)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "int64", "uint64"])
def test_every_integer_type(dtype):
    values = np.array([3, 1, 3], dtype=dtype)
    classes, true, _ = encode_pair(values, values)
    assert [classes[code] for code in true.tolist()] == [3, 1, 3]


def test_unsigned_64_bit_extremes():
    values = np.array([2**64 - 1, 0], dtype=np.uint64)
    classes, true, _ = encode_pair(values, values)
    assert [classes[code] for code in true.tolist()] == [2**64 - 1, 0]


@pytest.mark.parametrize("values", [["a", "b", "a"], [1, 2, 1], np.array(["a", "b", "a"], dtype=object)])
def test_masked_labels_are_missing_ones(values):
    """What lies below a mask is not a label; without a masked entry the array is a plain one."""
    whole = list(values)
    said = r"expected a label for every sample, but 1 of 3 are masked \(first: sample 1\)"
    with pytest.raises(InputError, match=f"^prediction: {said}"):
        evaluate(whole, np.ma.array(values, mask=[0, 1, 0]))
    with pytest.raises(InputError, match=f"^truth: {said}"):
        evaluate(np.ma.array(values, mask=[0, 1, 0]), whole)
    assert evaluate(np.ma.array(values), np.ma.array(values, mask=[0, 0, 0]))["accuracy"] == 1.0
