"""Rows of both sides are written by hand."""

import numpy as np
import pytest

from gnomon.audit.split import SPLIT, Split, codes
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples


def samples(*parts, **tags):
    n = len(parts)
    ranges = np.tile([0.0, 1.0], (n, 1))
    return Samples(tuple(map(str, range(n))), ("r",) * n, parts, ranges, ranges, tags=tags)


def test_validation_is_seen():
    seen, held = SPLIT.sides(samples("train", "test", "val", "other", "test"))
    assert seen.tolist() == [0, 2]
    assert held.tolist() == [1, 4]


def test_sides_are_named_by_what_occurs():
    assert SPLIT.names(samples("train", "test")) == ("train", "test")
    assert SPLIT.names(samples("train", "test", "val")) == ("train or val", "test")


def test_any_column_can_be_the_split():
    split = Split(("uci",), ("hapt",), column="dataset")
    seen, held = split.sides(samples("train", "train", "train", dataset=("hapt", "uci", "x")))
    assert (seen.tolist(), held.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("parts", "missing"), [(("train",), "test"), (("test",), "train or val"), ((), "train or val")]
)
def test_a_side_without_samples_is_refused_since_nothing_was_checked(parts, missing):
    with pytest.raises(InputError, match=f"no sample has parts {missing}, so there is nothing to compare"):
        SPLIT.sides(samples(*parts))


@pytest.mark.parametrize(("seen", "held"), [(("a",), ("a", "b")), ((), ("a",)), (("a",), ())])
def test_sides_are_two(seen, held):
    with pytest.raises(InputError, match="two sides without a common value"):
        Split(seen, held)


def test_codes_are_equal_where_texts_are():
    assert codes(("b", "a", "b", "c")).tolist() == [0, 1, 0, 2]
