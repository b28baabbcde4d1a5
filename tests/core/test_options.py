"""A struct made for the test; expected values are written by hand."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.core.options import INTERVALS, Option, ScoringOptions, build, list_variants, parameters, record, split_words


@dataclass(frozen=True, kw_only=True)
class Struct:
    truth: Annotated[str, Option("the truth", data=True)]
    count: Annotated[int, Option("how many", low=1, high=9)] = 3
    share: Annotated[float, Option("a share", low=0.0, high=1.0)] = 0.5
    mode: Annotated[str, Option("which way", choices=("fast", "slow"))] = "fast"
    many_names: Annotated[tuple[str, ...], Option("names")] = ()
    tables: Annotated[tuple[str, ...], Option("tables", data=True)] = field(default_factory=tuple)
    maybe: Annotated[str | None, Option("perhaps")] = None
    flag: Annotated[bool, Option("on or off")] = False
    seed: Annotated[int, Option("a seed", low=0)] = 0
    loss: Annotated[float, Option("a loss", high=1.5)] = 0.0


def by_name(struct=Struct):
    return {parameter.name: parameter for parameter in parameters(struct)}


def test_parameters_come_in_the_order_of_the_fields():
    assert list(by_name()) == [
        "truth",
        "count",
        "share",
        "mode",
        "many_names",
        "tables",
        "maybe",
        "flag",
        "seed",
        "loss",
    ]


def test_inherited_parameters_come_last():
    @dataclass(frozen=True, kw_only=True)
    class Own(ScoringOptions):
        truth: Annotated[str, Option("the truth")] = ""

    assert list(by_name(Own)) == ["truth", "out", "metrics", "seed", "interval", "level", "resamples"]


@pytest.mark.parametrize(
    ("name", "kind", "many", "required", "default"),
    [
        ("truth", str, False, True, None),
        ("count", int, False, False, 3),
        ("many_names", str, True, False, ()),
        ("tables", str, True, False, ()),
        ("maybe", str, False, False, None),
        ("flag", bool, False, False, False),
    ],
)
def test_a_parameter_knows_its_type_and_default(name, kind, many, required, default):
    found = by_name()[name]
    assert (found.type, found.many, found.required, found.default) == (kind, many, required, default)


def test_the_flag_is_spelled_with_dashes():
    assert by_name()["many_names"].flag == "--many-names"


def test_a_field_without_an_option_is_a_programming_error():
    @dataclass
    class Bare:
        x: int = 0

    with pytest.raises(TypeError, match="field 'x' of an option struct needs Annotated"):
        parameters(Bare)


def test_building_fills_in_defaults():
    assert build(Struct, {"truth": "t.csv"}) == Struct(truth="t.csv")


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("share", 1, 1.0),
        ("mode", "slow", "slow"),
        ("many_names", "one", ("one",)),
        ("many_names", ["a", "b"], ("a", "b")),
        ("many_names", Path("a") / "b", ("a/b",)),
        ("mode", Path("slow"), "slow"),
        ("many_names", {"p": Path("a"), "q": "b", "k": 3}, ("p=a", "q=b", "k=3")),
        ("tables", {"id": [1]}, ({"id": [1]},)),
        ("tables", [{"id": [1]}, "x.csv"], ({"id": [1]}, "x.csv")),
        ("truth", {"id": [1]}, {"id": [1]}),
        ("maybe", None, None),
        ("maybe", "x", "x"),
        ("flag", True, True),
        ("count", 9, 9),
        ("count", 1, 1),
        ("count", np.int64(4), 4),
        ("count", np.uint8(9), 9),
        ("seed", np.int32(0), 0),
        ("seed", 2**70, 2**70),
        ("loss", -1e300, -1e300),
        ("share", 0.0, 0.0),
        ("share", np.int64(1), 1.0),
        ("share", np.uint8(0), 0.0),
        ("loss", np.int32(-7), -7.0),
        ("loss", np.float64(0.25), np.float64(0.25)),
    ],
)
def test_values_are_kept_in_the_kind_of_the_field(name, given, kept):
    built = getattr(build(Struct, {"truth": "t", name: given}), name)
    assert built == kept
    assert type(built) is type(kept)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("count", "3", "option 'count': expected int, but got '3'"),
        ("count", True, "expected int, but got True"),
        ("count", 2.0, "expected int, but got 2.0"),
        ("count", None, "expected int, but got None"),
        ("count", 0, "option 'count': expected 1 to 9, but got 0"),
        ("count", 10, "expected 1 to 9, but got 10"),
        ("count", np.int64(10), "expected 1 to 9, but got 10"),
        ("count", np.True_, "expected int"),
        ("count", np.float64(3.0), "expected int"),
        ("seed", -1, "option 'seed': expected at least 0, but got -1"),
        ("loss", 2, "option 'loss': expected at most 1.5, but got 2.0"),
        ("share", "x", "expected float"),
        ("share", True, "expected float"),
        ("share", np.True_, "expected float"),
        ("share", np.int64(2), "expected 0.0 to 1.0, but got 2.0"),
        ("share", None, "expected float, but got None"),
        ("loss", 10**400, "option 'loss': expected float, but got 1000"),
        ("share", 1.5, "option 'share': expected 0.0 to 1.0, but got 1.5"),
        ("share", float("inf"), "expected 0.0 to 1.0, but got inf"),
        ("share", float("nan"), "expected 0.0 to 1.0, but got nan"),
        ("loss", float("nan"), "expected at most 1.5, but got nan"),
        ("mode", "quick", "option 'mode': expected one of fast, slow, but got 'quick'"),
        ("mode", b"fast", "expected str"),
        ("many_names", [1], "option 'many_names': expected str, but got 1"),
        ("many_names", 5, "expected str, but got 5"),
        ("flag", 1, "expected bool, but got 1"),
        (
            "many_names",
            {"p": {"a": [1] * 9999}},
            "path of a file or folder for 'p', but got a dict in memory; write it to",
        ),
        ("many_names", {"p": [1]}, "option 'many_names': expected the path .* for 'p', but got a list in memory"),
        ("many_names", [["x"] * 9999], r"expected str, but got \['x', .{100,130}…$"),
    ],
)
def test_values_of_another_kind_are_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        build(Struct, {"truth": "t", name: given})


def test_a_limit_is_shown_with_all_its_digits():
    with pytest.raises(InputError, match="expected 100 to 1000000, but got 1000001"):
        build(ScoringOptions, {"resamples": 1_000_001})


def test_a_required_option_is_asked_for_with_its_help():
    with pytest.raises(InputError, match=r"option 'truth' \(--truth\) is required: the truth"):
        build(Struct, {})


def test_a_required_option_cannot_be_none():
    with pytest.raises(InputError, match=r"option 'truth' \(--truth\) is required"):
        build(Struct, {"truth": None, "count": 2})


def test_an_unknown_option_gets_the_nearest_name():
    with pytest.raises(InputError, match="unknown option 'cout'; did you mean 'count'"):
        build(Struct, {"truth": "t", "cout": 1})


def test_an_unknown_option_without_a_near_name_gets_all_names():
    with pytest.raises(InputError, match="unknown option 'zzz'; known are truth, count"):
        build(Struct, {"truth": "t", "zzz": 1})


def test_the_record_is_plain_and_names_what_lives_in_memory():
    built = build(Struct, {"truth": {"id": [1]}, "tables": ["a.csv", {"id": [1]}], "maybe": "x"})
    assert record(built) == {
        "truth": "<dict in memory>",
        "count": 3,
        "share": 0.5,
        "mode": "fast",
        "many_names": [],
        "tables": ["a.csv", "<dict in memory>"],
        "maybe": "x",
        "flag": False,
        "seed": 0,
        "loss": 0.0,
    }


def test_scoring_options_offer_the_interval_methods():
    assert by_name(ScoringOptions)["interval"].option.choices == INTERVALS
    for method in INTERVALS:
        assert build(ScoringOptions, {"interval": method}).interval == method


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", -1), ("level", 0.4), ("level", 1.0), ("level", float("nan")), ("resamples", 99), ("interval", "normal")],
)
def test_scoring_options_refuse_what_makes_no_interval(name, value):
    with pytest.raises(InputError, match=f"option '{name}'"):
        build(ScoringOptions, {name: value})


def test_words_and_variants_of_options():
    assert split_words(["a, b", " ", "c,,a"]) == ["a", "b", "c", "a"]
    assert list_variants("both") == ("published", "strict")
    assert list_variants("strict") == ("strict",)


def test_other_spellings_of_an_option_are_known_in_python():
    @dataclass(frozen=True, kw_only=True)
    class Spelled:
        unit: Annotated[str, Option("unit", aliases=("--units", "--length-unit"))] = "m"

    assert [build(Spelled, {name: "mm"}).unit for name in ("unit", "units", "length_unit")] == ["mm"] * 3
    with pytest.raises(InputError, match="unknown option 'unis'"):
        build(Spelled, {"unis": "mm"})
