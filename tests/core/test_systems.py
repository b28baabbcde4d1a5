"""Systems with parameters as text: what is written is read back, and what is wrong is said. Expected values by hand."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.systems import Spec, checked, known_parameters, parse, read_value, split, written

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters=",@", exclude_categories=("C", "Z")), min_size=1)


def readable(text):
    try:
        written(text)
    except InputError:
        return False
    return True


VALUES = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS.filter(readable)
)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_is_read_back(name, parameters):
    spec = Spec(name, parameters)
    back = parse(spec.text)
    assert back == spec
    assert {key: type(value) for key, value in back.parameters.items()} == {k: type(v) for k, v in parameters.items()}
    assert back.text == spec.text


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4), st.randoms())
def test_the_order_of_parameters_means_nothing(name, parameters, random):
    items = list(parameters.items())
    random.shuffle(items)
    assert Spec(name, dict(items)).text == Spec(name, parameters).text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        (".04", 0.04),
        ("0.04", 0.04),
        ("2.", 2.0),
        ("1e-3", 0.001),
        ("+1.5", 1.5),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("fast", "fast"),
        ("a=b", "a=b"),
        ("models/x.onnx", "models/x.onnx"),
    ],
)
def test_values_have_the_type_that_they_look_like(text, value):
    found = read_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("walker", "walker", {}),
        (" walker@b=1@a=x ", "walker", {"a": "x", "b": 1}),
        ("rec.py:Walker@level=2.5", "rec.py:Walker", {"level": 2.5}),
        ("home@work/rec.py:Walker@level=2.5", "home@work/rec.py:Walker", {"level": 2.5}),
        ("home@work/rec.py:Walker", "home@work/rec.py:Walker", {}),
    ],
)
def test_a_name_may_be_a_path_with_an_at_sign(text, name, parameters):
    assert parse(text) == Spec(name, parameters)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("walker@level", "'level' is not key=value"),
        ("walker@a=1@level", "'level' is not key=value"),
        ("walker@a=1@a=2", "'a' is given twice"),
        ("walker@a=", "but got ''"),
        ("walker@a=1e999", "finite"),
        ("@a=1", "expected a name"),
        ("", "expected a name"),
    ],
)
def test_what_cannot_be_read_is_said(text, words):
    with pytest.raises(InputError, match=words):
        parse(text)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), [1], "a,b", "a@b", " a", "", "5", "true", ".5"])
def test_what_a_text_cannot_hold_is_refused(value):
    with pytest.raises(InputError, match="parameter 'key'"):
        Spec("walker", {"key": value})


def test_numbers_of_numpy_are_numbers():
    assert Spec("walker", {"a": np.float64(0.5)}).text == "walker@a=0.5"


def test_lists_of_systems():
    assert [spec.text for spec in split(["a , b@k=2", "b@k=2,c", ""])] == ["a", "b@k=2", "c"]
    assert split([]) == []


class Plain:
    def __init__(self, level: float = 0.5, size: int = 3, name: str = "x", on: bool = True, other=None, rules=()):
        pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    eps: float = 0.015
    merging: bool = True


class Needs:
    def __init__(self, level, *rest, size: int = 1, **more):
        pass


def test_parameters_are_those_of_the_constructor():
    assert known_parameters(Plain) == {"level": 0.5, "size": 3, "name": "x", "on": True, "other": None}
    assert known_parameters(Frozen) == {"eps": 0.015, "merging": True}
    assert list(known_parameters(Needs)) == ["level", "size"]
    assert known_parameters(object) == {}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"levle": 1}, "'walker' has no parameter 'levle'; it has 'level', 'size', 'name', 'on', 'other'"),
        ({"level": "high"}, r"parameter 'level': expected a number \(default 0.5\), but got 'high'"),
        ({"level": True}, "expected a number"),
        ({"size": 2.5}, "expected a whole number"),
        ({"size": True}, "expected a whole number"),
        ({"name": 5}, "expected text"),
        ({"on": 1}, "expected true or false"),
    ],
)
def test_parameters_of_another_kind_than_the_default_are_refused(parameters, words):
    with pytest.raises(InputError, match=words):
        checked(Spec("walker", parameters), known_parameters(Plain))


def test_a_whole_number_is_a_float_where_one_is_expected():
    found = checked(Spec("walker", {"level": 1, "size": 4, "other": "free"}), known_parameters(Plain))
    assert found.text == "walker@level=1.0@other=free@size=4"
    with pytest.raises(InputError, match="it has none"):
        checked(Spec("walker", {"a": 1}), {})
