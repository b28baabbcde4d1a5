"""Expected bytes are written by hand; digests are recomputed with hashlib in the test."""

import hashlib
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.canonical import digest, encode, encode_pretty, fingerprint
from gnomon.core.errors import GnomonError

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
plain = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=12)


def test_keys_are_sorted_at_every_depth_and_nothing_is_padded():
    assert encode({"b": {"z": 1, "a": 2}, "a": [0.5, None, True]}) == b'{"a":[0.5,null,true],"b":{"a":2,"z":1}}'


def test_pretty_is_indented_sorted_and_ends_in_a_newline():
    assert encode_pretty({"b": 1, "a": [2]}) == b'{\n "a": [\n  2\n ],\n "b": 1\n}\n'


def test_text_is_utf8_and_not_escaped():
    assert encode({"ä": "漢"}) == '{"ä":"漢"}'.encode()


def test_control_characters_are_escaped():
    assert encode("a\0b") == b'"a\\u0000b"'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {"x": [math.nan]}])
def test_values_that_are_not_finite_are_refused(value):
    with pytest.raises(GnomonError, match="not plain finite data"):
        encode(value)


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes", np.float32(0.5), {(1, 2): 3}])
def test_values_that_are_not_plain_are_refused(value):
    with pytest.raises(GnomonError, match="no canonical JSON"):
        encode_pretty(value)


@pytest.mark.parametrize("key", [1, 1.5, True, None, (1, 2)])
@pytest.mark.parametrize(
    "inside", [lambda value: value, lambda value: [value], lambda value: (value,), lambda value: {"a": [{"b": value}]}]
)
def test_keys_that_are_not_text_are_refused_at_every_depth(key, inside):
    # JSON would write 1 as "1": two values would share one fingerprint.
    with pytest.raises(GnomonError, match=r"no canonical JSON: the key .* is not text"):
        encode(inside({key: 0, "a": 1}))


@pytest.mark.parametrize("value", ["\ud800", ["a\udfffb"], {"\ud800": 1}])
def test_text_that_is_not_unicode_is_refused(value):
    with pytest.raises(GnomonError, match="no canonical JSON"):
        encode(value)
    with pytest.raises(GnomonError, match="no canonical JSON"):
        encode_pretty(value)


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}, lambda value: (value,)])
def test_a_value_that_is_nested_too_deeply_is_refused(wrap):
    value = 0
    for _ in range(50_000):
        value = wrap(value)
    with pytest.raises(GnomonError, match="no canonical JSON"):
        fingerprint(value)


def test_a_number_that_is_too_long_to_write_is_refused():
    with pytest.raises(GnomonError, match="no canonical JSON"):
        encode(10**5000)


def test_a_value_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(GnomonError, match="no canonical JSON"):
        encode(loop)


@pytest.mark.parametrize("value", [0.1, 1e300, 5e-324, -0.0, 1 / 3, 1e16 + 2])
def test_floats_survive_exactly(value):
    assert json.loads(encode(value)).hex() == value.hex()


@given(plain)
def test_reading_canonical_json_gives_the_value_back(value):
    assert json.loads(encode(value)) == value
    assert json.loads(encode_pretty(value)) == value


@given(st.dictionaries(text, scalars), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value, random):
    keys = list(value)
    random.shuffle(keys)
    shuffled = {key: value[key] for key in keys}
    assert encode(shuffled) == encode(value)
    assert fingerprint(shuffled) == fingerprint(value)


def test_the_fingerprint_is_the_sha256_of_the_canonical_bytes():
    assert fingerprint({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


@pytest.mark.parametrize("other", [[1, 3], [2, 1], [1, 2, None], [1.5, 2], ["1", 2], {"1": 2}])
def test_different_values_have_different_fingerprints(other):
    assert fingerprint(other) != fingerprint([1, 2])


def test_the_digest_hashes_each_part_after_its_length():
    expected = hashlib.sha256((2).to_bytes(8, "little") + b"ab" + (0).to_bytes(8, "little")).hexdigest()
    assert digest([b"ab", b""]) == expected


@pytest.mark.parametrize("other", [[b"a", b"bc"], [b"abc"], [b"ab", b"c", b""], [b"c", b"ab"], []])
def test_boundaries_and_order_of_parts_count(other):
    assert digest([b"ab", b"c"]) != digest(other)


def test_the_digest_of_an_array_is_that_of_its_bytes():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert digest([memoryview(array)]) == digest([array.tobytes()])


def test_the_digest_takes_empty_arrays():
    assert digest([memoryview(np.zeros(0))]) == digest([b""])
