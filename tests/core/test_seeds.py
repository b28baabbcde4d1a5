"""Streams are compared with each other and with a SeedSequence that the test builds itself."""

import hashlib

import numpy as np
import pytest

from gnomon.core.seeds import generator


def draw(seed, *purpose):
    return generator(seed, *purpose).integers(0, 2**63, size=8).tolist()


def test_the_same_seed_and_purpose_give_the_same_stream():
    assert draw(3, "bootstrap") == draw(3, "bootstrap")


@pytest.mark.parametrize(
    ("seed", "purpose"),
    [(4, ("bootstrap",)), (3, ("swap",)), (3, ()), (3, ("bootstrap", "a")), (3, ("boot", "strap")), (2**40, ("x",))],
)
def test_another_seed_or_purpose_gives_another_stream(seed, purpose):
    assert draw(seed, *purpose) != draw(3, "bootstrap")


def test_the_order_of_a_purpose_counts():
    assert draw(0, "a", "b") != draw(0, "b", "a")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a\0b",), ("a", "b")),
        (("a", ""), ("a",)),
        (("", ""), ("\0",)),
        (("a\0", "b"), ("a", "\0b")),
        (('a","b',), ("a", "b")),
    ],
)
def test_no_character_makes_two_purposes_one(one, other):
    assert draw(0, *one) != draw(0, *other)


def test_the_stream_is_a_seed_sequence_of_the_seed_and_the_hash_of_the_purpose():
    words = np.frombuffer(hashlib.sha256(b'["one","two"]').digest()[:16], dtype="<u4").tolist()
    expected = np.random.default_rng(np.random.SeedSequence([7, *words])).integers(0, 2**63, size=8)
    assert draw(7, "one", "two") == expected.tolist()


def test_no_global_generator_is_touched():
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    draw(1, "anything")
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(after, before)


def test_streams_of_different_purposes_are_not_correlated():
    # With 4000 draws the correlation of independent streams has a standard error of 0.016.
    a, b = generator(0, "a").standard_normal(4000), generator(0, "b").standard_normal(4000)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.08
