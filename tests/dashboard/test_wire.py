"""Views as bytes: a reader written here from the description gets back what went in."""

import json
import math

import numpy as np
import pytest

from gnomon.core.table import View
from gnomon.dashboard import wire

TYPES = {"f4": "<f4", "f8": "<f8", "u1": "<u1", "u2": "<u2", "i4": "<i4"}


def decoded(data):
    length = int.from_bytes(data[:4], "little")
    assert (length + 4) % 8 == 0
    start = 4 + length

    def plain(value):
        if isinstance(value, dict) and set(value) == {"$"}:
            kind, shape, offset = value["$"]
            assert offset % 8 == 0
            count = math.prod(shape)
            return np.frombuffer(data, TYPES[kind], count, start + offset).reshape(shape)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(json.loads(data[4:start]))


@pytest.mark.parametrize("kind", ["f4", "f8", "u1", "u2", "i4", "i8", "i2", "u4", "b1"])
def test_arrays_come_back_by_value(kind):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(kind)
    found = decoded(wire.encode(View("v", "title", "scene", {"deep": [{"array": array}]})))
    np.testing.assert_array_equal(found["data"]["deep"][0]["array"], array)


def test_several_arrays_do_not_run_into_each_other():
    arrays = {f"a{n}": np.arange(n, dtype="u1") for n in range(1, 20)}
    found = decoded(wire.encode(View("v", "", "scene", arrays)))["data"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_nan_stays_in_arrays_and_never_gets_into_the_header():
    view = View("v", "", "motion", {"a": np.array([np.nan, 1.0]), "b": float("nan"), "c": np.float64(2.5)})
    found = decoded(wire.encode(view))["data"]
    assert math.isnan(found["a"][0])
    assert found["b"] is None
    assert found["c"] == 2.5


def test_an_empty_array_has_its_shape():
    found = decoded(wire.encode(View("v", "", "scene", {"a": np.empty((0, 3), "f4")})))
    assert found["data"]["a"].shape == (0, 3)
