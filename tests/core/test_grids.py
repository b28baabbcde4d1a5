"""Grids: what is tried, by hand and against itertools; draws by their laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.grids import Range, axis, described, draw, parse, product
from gnomon.core.seeds import generator


def drawn(axes, count, seed=0):
    return draw(axes, count, generator(seed, "search"))


def test_the_product_is_that_of_itertools():
    axes = parse(["a=1,2,3", "b=x,y", "c=true,false"])
    expected = [dict(zip("abc", values, strict=True)) for values in itertools.product(*axes.values())]
    assert product(axes) == expected


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["a"], "expected key=a,b,c or key=low..high"),
        (["=1"], "expected key=a,b,c"),
        (["a b=1"], "expected key=a,b,c"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a=1,1"], "a value is given twice"),
        (["a="], "but got ''"),
        (["a=1,,2"], "but got ''"),
        (["a=x..y"], "with numbers"),
        (["a=1..2:sqrt"], "expected low..high or low..high:log"),
        (["a=2..1"], "the lower end first"),
        (["a=1..1"], "the lower end first"),
        (["a=0..1:log"], "starts above 0"),
    ],
)
def test_what_cannot_be_read_is_said(items, words):
    with pytest.raises(InputError, match=words):
        parse(items)


def test_a_range_needs_draws_and_a_large_grid_too():
    with pytest.raises(InputError, match=r"a=1..2: a range needs --random N"):
        product(parse(["a=1..2"]))
    with pytest.raises(InputError, match="10,201 arms, more than 10,000"):
        product({"a": tuple(range(101)), "b": tuple(range(101))})


def test_axes_from_python():
    assert axis("a", [1, 2]) == (1, 2)
    assert axis("a", np.array([0.5, 1.5])) == (0.5, 1.5)
    assert axis("a", "1..4") == Range(1, 4)
    assert axis("a", 3) == (3,)
    with pytest.raises(InputError, match="no value is given"):
        axis("a", [])
    with pytest.raises(InputError, match="finite number"):
        axis("a", [[1]])


@given(st.integers(0, 1000), st.integers(1, 12))
def test_draws_from_a_grid_do_not_repeat_and_more_draws_begin_alike(seed, count):
    axes = parse(["a=1,2,3", "b=x,y,z,w"])
    found = drawn(axes, count, seed)
    assert len({tuple(setting.items()) for setting in found}) == count
    assert all(setting in product(axes) for setting in found)
    assert drawn(axes, 12, seed)[:count] == found


@given(st.integers(0, 1000), st.integers(1, 40))
def test_draws_from_ranges_stay_inside_and_begin_alike(seed, count):
    axes = parse(["a=0.1..2", "b=1..64:log", "c=5..9", "d=1e-4..1:log", "e=x,y"])
    found = drawn(axes, count, seed)
    assert len({tuple(setting.items()) for setting in found}) == count
    assert drawn(axes, 40, seed)[:count] == found
    for setting in found:
        assert 0.1 <= setting["a"] <= 2
        assert 1 <= setting["b"] <= 64
        assert 5 <= setting["c"] <= 9
        assert 1e-4 <= setting["d"] <= 1
        assert [type(value) for value in setting.values()] == [float, int, int, float, str]
        assert float(f"{setting['a']:.4g}") == setting["a"]


def test_a_logarithmic_range_is_uniform_in_the_logarithm():
    """By the law of large numbers: half of the draws lie below the geometric mean; both whole ends are reached."""
    values = [setting["a"] for setting in drawn(parse(["a=0.01..100:log"]), 2000)]
    assert sum(value < 1 for value in values) == pytest.approx(1000, abs=100)
    rng = generator(0, "whole")
    whole = [Range(1, 4, log=True).draw(rng) for _ in range(4000)]
    shares = [whole.count(n) / 4000 for n in (1, 2, 3, 4)]
    width = math.log(4.5 / 0.5)
    expected = [math.log((n + 0.5) / (n - 0.5)) / width for n in (1, 2, 3, 4)]
    assert shares == pytest.approx(expected, abs=0.03)


def test_more_draws_than_there_are_arms_are_refused():
    with pytest.raises(InputError, match="the grid has only 3 arms"):
        drawn(parse(["a=1,2,3"]), 4)
    with pytest.raises(InputError, match="only 5 different arms"):
        drawn(parse(["a=1..5"]), 6)
    assert sorted(setting["a"] for setting in drawn(parse(["a=1..5"]), 5)) == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match="expected 1 to 10,000"):
        drawn(parse(["a=1..5"]), 20_000)


def test_a_grid_too_large_to_list_is_drawn_from():
    axes = {name: tuple(range(1000)) for name in "abc"}
    found = drawn(axes, 50)
    assert len({tuple(setting.items()) for setting in found}) == 50
    assert drawn(axes, 10) == found[:10]


def test_axes_as_plain_data():
    assert described(parse(["a=1,2", "b=.5..2:log"])) == {"a": [1, 2], "b": "0.5..2:log"}
