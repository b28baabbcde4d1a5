"""Sums are compared with hand-written numbers, with exact fractions, and with plain loops in the test."""

import math
import random
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core import tallies
from gnomon.core.errors import GnomonError
from gnomon.core.tallies import Field, Tallies, natural_key, union

COUNTS = (Field("tp", ("class",)), Field("n"))
SECONDS = (Field("error", ("joint",), "sum", "m"), Field("n"))
SCALAR = (Field("s", (), "sum"),)

floats = st.floats(-1e17, 1e17, allow_nan=False)


def counts(tp, n, classes=("a", "b")):
    return Tallies(COUNTS, {"class": classes}, {"tp": np.array(tp), "n": np.array(n)})


def sums(values):
    return Tallies(SCALAR, {}, {"s": np.array(values, dtype=float)})


def exact(values):
    """Round the exact sum once, as a reference that does not depend on order."""
    return float(sum(map(Fraction, values), Fraction(0)))


def test_a_tally_knows_its_cases_and_prints_its_shape():
    assert repr(counts([[1, 2]], [3])) == "Tallies(1 cases; tp, n; 2 class)"
    assert sums([1.0, 2.0]).n_cases == 2
    assert repr(sums([1.0])) == "Tallies(1 cases; s)"


def test_counts_are_int64_and_sums_are_float64():
    made = Tallies(SECONDS, {"joint": ("hip",)}, {"error": np.array([[1]], np.int8), "n": np.array([1], np.uint16)})
    assert made.fields["error"].dtype == np.float64
    assert made.fields["n"].dtype == np.int64


def test_a_tally_is_frozen_and_does_not_follow_the_array_it_was_made_from():
    given = np.array([[1, 2]])
    made = counts(given, [3])
    given[0, 0] = 99
    assert made.fields["tp"].tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        made.fields["tp"][0, 0] = 5


def test_tallies_compare_by_content():
    assert counts([[1, 2]], [3]) == counts([[1, 2]], [3])
    assert counts([[1, 2]], [3]) != counts([[1, 2]], [4])
    assert counts([[1, 2]], [3]) != counts([[1, 2]], [3], ("b", "a"))
    assert counts([[1, 2]], [3]) != counts([[1, 2], [0, 0]], [3, 0])
    assert counts([[1, 2]], [3]) != sums([1.0])
    assert counts([[1, 2]], [3]) != "text"


def test_tallies_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(sums([1.0]))


@pytest.mark.parametrize(
    ("tp", "n", "message"),
    [
        ([[1, 2, 3]], [1], r"field 'tp' .* expected shape \(cases, 2\), but got \(1, 3\)"),
        ([1, 2], [1], "field 'tp'"),
        ([[1, 2]], 1, "field 'n'"),
        ([[1, 2]], [[1]], "field 'n'"),
        ([[1, 2]], [1, 2], r"different numbers of cases: \[1, 2\]"),
        ([[-1, 2]], [1], "'tp' of a tally counts, but holds a negative value"),
        ([[1.0, 2.0]], [1], "'tp' of a tally counts: expected integers, but got float64"),
        ([[True, False]], [1], "expected integers, but got bool"),
    ],
)
def test_impossible_counts_are_refused(tp, n, message):
    with pytest.raises(GnomonError, match=message):
        counts(tp, n)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_sums_that_are_not_finite_are_refused(value):
    with pytest.raises(GnomonError, match="field 's' of a tally holds a value that is not finite"):
        sums([0.0, value])


def test_counts_beyond_the_signed_range_are_refused():
    with pytest.raises(GnomonError, match="negative"):
        Tallies((Field("n"),), {}, {"n": np.array([2**63], dtype=np.uint64)})


def test_sums_may_be_negative():
    assert sums([-1.5]).total()["s"] == -1.5


def test_a_missing_field_is_named():
    with pytest.raises(GnomonError, match=r"lacks the field 'n'; it has \['tp'\]"):
        Tallies(COUNTS, {"class": ("a",)}, {"tp": np.zeros((1, 1), int)})


def test_an_axis_without_labels_is_named():
    layout = (Field("tp", ("class",)), Field("e", ("joint", "class"), "sum"), Field("n"))
    with pytest.raises(GnomonError, match=r"names axes without labels: \['class', 'joint'\]"):
        Tallies(layout, {"other": ("a",)}, {"tp": np.zeros((1, 1), int)})


def test_a_tally_without_fields_is_refused():
    with pytest.raises(GnomonError, match="different numbers of cases"):
        Tallies((), {}, {})


def test_a_repeated_label_is_refused():
    with pytest.raises(GnomonError, match="axis 'class' of a tally repeats a label"):
        counts([[1, 2]], [3], ("a", "a"))


def nothing():
    """Tallies of counts and sums without a single case."""
    layout = (*COUNTS, Field("e", ("class",), "sum"), Field("s", (), "sum"))
    fields = {"tp": np.zeros((0, 2)), "n": np.zeros(0), "e": np.zeros((0, 2)), "s": np.zeros(0)}
    return Tallies(layout, {"class": ("a", "b")}, fields)


def test_tallies_without_cases_sum_to_zero():
    total = nothing().total()
    assert {name: total[name].tolist() for name in total.fields} == {"tp": [0, 0], "n": 0, "e": [0.0, 0.0], "s": 0.0}


def test_tallies_without_cases_have_empty_groups():
    grouped = nothing().grouped(np.zeros(0, int), 3)
    assert grouped.fields["n"].tolist() == [0, 0, 0]
    assert grouped.fields["e"].tolist() == [[0.0, 0.0]] * 3
    assert nothing().grouped(np.zeros(0, int), 0) == nothing()


def test_tallies_without_cases_have_weighted_totals_of_zero():
    totals = nothing().weighted(np.zeros((4, 0)))
    assert totals.batch == (4,)
    assert totals["tp"].tolist() == [[0, 0]] * 4
    assert totals["s"].tolist() == [0.0] * 4


def test_tallies_without_cases_leave_nothing_out():
    totals = nothing().without_each()
    assert totals.batch == (0,)
    assert {name: totals[name].shape for name in totals.fields} == {"tp": (0, 2), "n": (0,), "e": (0, 2), "s": (0,)}


def test_tallies_without_cases_stack_and_relabel():
    wide = nothing().relabel({"class": ("c", "b", "a")})
    assert wide.fields["e"].shape == (0, 3)
    assert Tallies.stack([nothing(), nothing()]) == nothing()
    assert nothing().take(np.zeros(0, bool)) == nothing()


def test_stacking_aligns_rows_by_label():
    stacked = Tallies.stack([counts([[1, 2]], [3], ("b", "a")), counts([[4, 5]], [9], ("a", "c"))])
    assert stacked.axes == {"class": ("a", "b", "c")}
    assert stacked.fields["tp"].tolist() == [[2, 1, 0], [4, 0, 5]]
    assert stacked.fields["n"].tolist() == [3, 9]


@pytest.mark.parametrize("block", [1, 24, 100, 5000, tallies.BLOCK])
@pytest.mark.parametrize("labels", [1, 3, 70])
@pytest.mark.parametrize("n", [1, 2, 50, 200])
def test_tallies_that_come_one_after_another_are_stacked_as_a_list_is(monkeypatch, n, labels, block):
    monkeypatch.setattr(tallies, "BLOCK", block)
    rng = np.random.default_rng(n)
    sizes = rng.integers(0, 5, n)
    parts = [
        counts(rng.integers(0, 9, (size, 2)), rng.integers(0, 9, size), (f"{i // 9 % labels}", "x"))
        for i, size in enumerate(sizes)
    ]
    stacked = Tallies.stack(iter(parts))
    assert stacked == Tallies.stack(parts)
    assert stacked.n_cases == sizes.sum()
    assert not any(array.flags.writeable for array in stacked.fields.values())


def test_what_comes_is_copied_and_let_go_of():
    """Rows stay what they were; arrays of tallies are not held, but for those that are being handed over."""
    held = []

    def come():
        for i in range(100):
            assert sum(one() is not None for one in held) <= 2
            part = counts(np.array([[i, 1]]), np.array([3]), ("a", "b"))
            held.append(weakref.ref(part.fields["tp"]))
            yield part
            del part

    assert Tallies.stack(come()).fields["tp"][:, 0].tolist() == list(range(100))


def test_nothing_that_comes_is_nothing_to_stack():
    with pytest.raises(GnomonError, match="nothing to stack"):
        Tallies.stack(iter(()))


def test_stacking_sorts_numeric_labels_as_numbers():
    stacked = Tallies.stack([counts([[1, 2]], [3], ("10", "9")), counts([[4, 5]], [9], ("-1", "x"))])
    assert stacked.axes["class"] == ("-1", "9", "10", "x")


def test_stacking_nothing_is_refused():
    with pytest.raises(GnomonError, match="at least one tally"):
        Tallies.stack([])


def test_stacking_different_layouts_is_refused():
    with pytest.raises(GnomonError, match="different layouts"):
        Tallies.stack([counts([[1, 2]], [3]), sums([1.0])])


def test_stacking_tallies_with_other_axes_is_refused():
    layout = (Field("n"),)
    one, other = (Tallies(layout, axes, {"n": np.array([1])}) for axes in ({}, {"class": ("a",)}))
    for parts in ([one, other], [other, one]):
        with pytest.raises(GnomonError, match="different layouts"):
            Tallies.stack(parts)


def test_relabelling_adds_zeros_and_reorders():
    wider = counts([[1, 2]], [3]).relabel({"class": ("c", "b", "a")})
    assert wider.fields["tp"].tolist() == [[0, 2, 1]]
    assert wider.fields["n"].tolist() == [3]


def test_relabelling_to_the_same_labels_is_the_same_tally():
    tally = counts([[1, 2]], [3])
    assert tally.relabel({"class": ("a", "b")}) is tally
    assert tally.relabel({"other": ("x",)}) is tally


def test_relabelling_may_drop_a_label_without_counts():
    assert counts([[0, 2]], [3]).relabel({"class": ("b",)}).fields["tp"].tolist() == [[2]]


def test_relabelling_refuses_to_drop_counts():
    with pytest.raises(GnomonError, match=r"drop labels that carry counts: \['b'\]"):
        counts([[0, 2]], [3]).relabel({"class": ("a",)})


def test_relabelling_refuses_repeated_labels():
    with pytest.raises(GnomonError, match="repeats a label"):
        counts([[1, 2]], [3]).relabel({"class": ("a", "b", "b")})


def test_relabelling_moves_both_sides_of_a_square_field():
    square = Tallies((Field("m", ("class", "class")),), {"class": ("a", "b")}, {"m": np.array([[[1, 2], [3, 4]]])})
    moved = square.relabel({"class": ("b", "x", "a")})
    assert moved.fields["m"].tolist() == [[[4, 0, 3], [0, 0, 0], [2, 0, 1]]]


def test_relabelling_one_of_two_axes_leaves_the_other():
    field = Field("e", ("joint", "axis"), "sum")
    both = Tallies((field,), {"joint": ("hip", "head"), "axis": ("x",)}, {"e": np.array([[[1.0], [2.0]]])})
    moved = both.relabel({"joint": ("head", "hip")})
    assert moved.fields["e"].tolist() == [[[2.0], [1.0]]]
    assert moved.axes == {"joint": ("head", "hip"), "axis": ("x",)}


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True]), slice(0, 2)])
def test_taking_rows(rows):
    tally = counts([[1, 0], [2, 0], [3, 0]], [1, 2, 3])
    assert tally.take(rows).fields["n"].tolist() == np.array([1, 2, 3])[rows].tolist()


def test_totals_add_counts_and_sums():
    tally = Tallies(
        SECONDS, {"joint": ("hip", "head")}, {"error": np.array([[0.5, 1.0], [0.25, 2.0]]), "n": np.array([3, 4])}
    )
    total = tally.total()
    assert total["error"].tolist() == [0.75, 3.0]
    assert total["n"] == 7
    assert total.axes == {"joint": ("hip", "head")}
    assert total.batch == ()


def test_counts_add_exactly_beyond_the_precision_of_floats():
    assert counts([[2**53, 1], [1, 2**61]], [1, 1]).total()["tp"].tolist() == [2**53 + 1, 2**61 + 1]


@pytest.mark.parametrize("values", [[2**62, 2**62], [2**62, 0], [2**61] * 4, [2**63 - 1], [2**63 - 1, 1]])
def test_counts_that_may_not_fit_their_sum_are_refused(values):
    # The bound is on the largest count times the number of rows, in floats: it refuses a little too much, never less.
    tally = Tallies((Field("n"),), {}, {"n": np.array(values)})
    with pytest.raises(GnomonError, match="field 'n' of a tally counts past what 64 bits hold"):
        tally.total()
    with pytest.raises(GnomonError, match="counts past what 64 bits hold"):
        tally.without_each()
    with pytest.raises(GnomonError, match="field 'n' of a tally counts past what 64 bits hold"):
        tally.grouped(np.zeros(len(values), int), 2)


@pytest.mark.parametrize("values", [[2**62], [2**61, 2**61], [2**61 - 1] * 3])
def test_large_counts_that_fit_are_added(values):
    tally = Tallies((Field("n"),), {}, {"n": np.array(values)})
    assert tally.total()["n"] == sum(values)
    assert tally.grouped(np.ones(len(values), int), 2).fields["n"].tolist() == [0, sum(values)]


@pytest.mark.parametrize("values", [[1e308, 1e308], [-1.7e308, -1.7e308, 1.0]])
def test_sums_past_the_largest_float_are_refused(values):
    with pytest.raises(GnomonError, match="field 's' of a tally sums past the largest float"):
        sums(values).total()
    with pytest.raises(GnomonError, match="sums past the largest float"):
        sums(values).without_each()
    with pytest.raises(GnomonError, match="sums past the largest float"):
        sums([0.0, *values]).grouped(np.array([0] + [1] * len(values)), 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1e16, 1.0, -1e16], 1.0),
        ([1.0, 1e16, 1.0, -1e16], 2.0),
        ([0.1] * 10, 1.0),
        ([1e16, 1.0, 1.0], 1e16 + 2),
        ([1e308, 1.0, -1e308], 1.0),
    ],
)
def test_float_totals_are_rounded_once(values, expected):
    for order in (values, values[::-1], sorted(values)):
        assert sums(order).total()["s"] == expected


@given(st.lists(floats, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_float_totals_do_not_depend_on_the_order_of_rows(values, shuffler):
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert sums(shuffled).total()["s"] == sums(values).total()["s"] == exact(values)


@given(st.lists(floats, min_size=2, max_size=20), st.data())
def test_float_totals_do_not_depend_on_shards(values, data):
    cut = data.draw(st.integers(1, len(values) - 1))
    stacked = Tallies.stack([sums(values[cut:]), sums(values[:cut])])
    assert stacked.total()["s"] == sums(values).total()["s"]


def test_float_totals_are_exact_per_label():
    tally = Tallies(
        SECONDS,
        {"joint": ("hip", "head")},
        {"error": np.array([[1e16, 0.1], [1.0, 0.2], [-1e16, 0.3]]), "n": np.array([1, 1, 1])},
    )
    assert tally.total()["error"].tolist() == [1.0, exact([0.1, 0.2, 0.3])]


def test_shards_of_counts_with_different_labels_have_the_total_of_the_whole():
    rng = random.Random(0)
    rows = [[rng.randrange(5) for _ in range(3)] for _ in range(7)]
    whole = counts(rows, [1] * 7, ("a", "b", "c"))
    left = counts([row[1:] for row in rows[:3]], [1] * 3, ("b", "c"))
    right = counts([[row[2], row[0], row[1]] for row in rows[3:]], [1] * 4, ("c", "a", "b"))
    expected = whole.total()["tp"] - [sum(row[0] for row in rows[:3]), 0, 0]
    assert Tallies.stack([right, left]).total()["tp"].tolist() == expected.tolist()


def test_grouping_sums_the_rows_of_each_group():
    grouped = counts([[1, 0], [2, 0], [4, 1]], [1, 2, 3]).grouped(np.array([1, 0, 1]), 2)
    assert grouped.fields["tp"].tolist() == [[2, 0], [5, 1]]
    assert grouped.fields["n"].tolist() == [2, 4]


def test_a_group_without_rows_counts_nothing():
    grouped = counts([[1, 0], [2, 0]], [1, 2]).grouped(np.array([3, 1]), 5)
    assert grouped.fields["n"].tolist() == [0, 2, 0, 1, 0]


def test_grouping_one_case_each_is_the_same_tally():
    tally = counts([[1, 0], [2, 0]], [1, 2])
    assert tally.grouped(np.array([0, 1]), 2) is tally


def test_grouping_one_case_each_in_another_order_moves_rows():
    assert sums([1.0, 2.0]).grouped(np.array([1, 0]), 2).fields["s"].tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("group", "n_groups"),
    [
        ([0, 2], 2),
        ([0, -1], 2),
        ([0], 2),
        ([0, 1, 1], 2),
        ([[0, 1]], 2),
        ([], 2),
        ([0.0, np.nan], 2),
        ([0.5, 1.5], 2),
        ([0.0, 1.0], 2),
        ([True, False], 2),
        (["0", "1"], 2),
        ([0, None], 2),
        ([0, 0], 0),
    ],
)
def test_group_codes_are_one_per_case_and_in_range(group, n_groups):
    with pytest.raises(GnomonError, match=rf"expected a group in \[0, {n_groups}\) for each of 2 cases"):
        counts([[1, 0], [2, 0]], [1, 2]).grouped(np.array(group), n_groups)


def test_group_codes_may_come_as_a_list():
    assert counts([[1, 0], [2, 0]], [1, 2]).grouped([0, 0], 1).fields["n"].tolist() == [3]


def test_float_groups_are_rounded_once():
    grouped = sums([1e16, 0.5, 1.0, -1e16]).grouped(np.array([0, 1, 0, 0]), 2)
    assert grouped.fields["s"].tolist() == [1.0, 0.5]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, -0.0, 1e16, 1.0, 0.1, -1e16])), max_size=12))
def test_groups_of_any_size_have_the_bits_of_an_exact_sum(rows):
    """Computed by ``math.fsum``, which never gives a negative zero."""
    found = sums([value for _, value in rows]).grouped(np.array([group for group, _ in rows], int), 10).fields["s"]
    wanted = [math.fsum(value for group, value in rows if group == one) for one in range(10)]
    assert found.tobytes() == np.array(wanted).tobytes()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40), floats), min_size=1, max_size=20))
def test_grouping_agrees_with_a_plain_loop(rows):
    present = sorted({group for group, _, _ in rows})
    codes = np.array([present.index(group) for group, _, _ in rows])
    layout = (Field("n"), Field("s", (), "sum"))
    tally = Tallies(layout, {}, {"n": np.array([n for _, n, _ in rows]), "s": np.array([s for _, _, s in rows])})
    grouped = tally.grouped(codes, len(present))
    assert grouped.fields["n"].tolist() == [sum(n for g, n, _ in rows if g == group) for group in present]
    assert grouped.fields["s"].tolist() == [exact([s for g, _, s in rows if g == group]) for group in present]


def test_weighted_totals_are_weighted_sums():
    tally = counts([[1, 0], [2, 3]], [1, 5])
    totals = tally.weighted(np.array([[1, 1], [2, 0], [0, 3]]))
    assert totals["tp"].tolist() == [[3, 3], [2, 0], [6, 9]]
    assert totals["n"].tolist() == [6, 2, 15]
    assert totals.batch == (3,)


def test_weighted_float_totals_agree_with_a_plain_loop():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(6, 2)), rng.integers(0, 3, size=(4, 6))
    tally = Tallies(SECONDS, {"joint": ("hip", "head")}, {"error": values, "n": np.ones(6, int)})
    expected = [[sum(w * v for w, v in zip(row, column, strict=True)) for column in values.T] for row in weights]
    np.testing.assert_allclose(tally.weighted(weights)["error"], expected, rtol=1e-13)


@given(
    st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 5, 5000]),
)
def test_weighted_float_totals_do_not_depend_on_the_order_of_rows(values, seed, most):
    rng = np.random.default_rng(seed)
    weights, order = rng.integers(0, most, (4, len(values))), rng.permutation(len(values))
    layout = [Field("error", (), "sum")]
    plain = Tallies(layout, {}, {"error": np.array(values)}).weighted(weights)["error"]
    mixed = Tallies(layout, {}, {"error": np.array(values)[order]}).weighted(weights[:, order])["error"]
    assert plain.tolist() == mixed.tolist()
    exact = [float(sum(int(w) * Fraction(v) for w, v in zip(row, values, strict=True))) for row in weights]
    scale = max(abs(value) for value in values) * max(1, weights.sum(axis=1).max())
    np.testing.assert_allclose(plain, exact, rtol=0, atol=scale * 2**-51)


def test_weighted_counts_are_exact_up_to_the_precision_of_floats():
    tally = counts([[2**52, 0], [1, 0]], [0, 0])
    assert tally.weighted(np.array([[1, 1], [0, 7]]))["tp"][:, 0].tolist() == [2**52 + 1, 7]


def test_weighted_keeps_all_axes_of_a_field():
    square = Tallies((Field("m", ("class", "class")),), {"class": ("a", "b")}, {"m": np.arange(8).reshape(2, 2, 2)})
    assert square.weighted(np.array([[1, 2]]))["m"].tolist() == [[[8, 11], [14, 17]]]


def test_weighted_keeps_fields_apart_whatever_their_kind_and_size():
    layout = (Field("s", (), "sum"), Field("none", ("empty",)), Field("n"), Field("e", ("side",), "sum"), Field("m"))
    fields = {
        "s": np.array([0.5, 1.0]),
        "none": np.zeros((2, 0), int),
        "n": np.array([1, 2]),
        "e": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "m": np.array([10, 20]),
    }
    totals = Tallies(layout, {"empty": (), "side": ("left", "right")}, fields).weighted(np.array([[1, 2]]))
    assert {name: totals[name].tolist() for name in fields} == {
        "s": [2.5],
        "none": [[]],
        "n": [5],
        "e": [[7.0, 10.0]],
        "m": [50],
    }


def test_leaving_each_row_out_gives_the_total_of_the_others():
    tally = counts([[1, 0], [2, 3], [4, 4]], [1, 5, 9])
    totals = tally.without_each()
    assert totals["tp"].tolist() == [[6, 7], [5, 4], [3, 3]]
    assert totals["n"].tolist() == [14, 10, 6]
    assert totals.batch == (3,)


@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=12))
def test_leaving_out_counts_agrees_with_taking_the_others(values):
    tally = Tallies((Field("n"),), {}, {"n": np.array(values)})
    expected = [sum(values[:i]) + sum(values[i + 1 :]) for i in range(len(values))]
    assert tally.without_each()["n"].tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1e16, 1.0], [1.0, 1e16]),
        ([1e16, 1.0, 1e-20], [1.0, 1e16, 1e16]),
        ([1e16, 1.0, -1e16], [1.0 - 1e16, 0.0, 1e16]),
        ([1e300, 5e-324], [5e-324, 1e300]),
        ([0.1, 0.2, 0.3], [0.5, 0.4, exact([0.1, 0.2])]),
        ([3.0], [0.0]),
    ],
)
def test_leaving_out_a_large_number_keeps_the_small_ones(values, expected):
    assert sums(values).without_each()["s"].tolist() == expected


@given(st.lists(floats, min_size=1, max_size=12))
def test_leaving_out_sums_agrees_with_exact_fractions(values):
    for i, found in enumerate(sums(values).without_each()["s"].tolist()):
        expected = exact(values[:i] + values[i + 1 :])
        assert abs(found - expected) <= math.ulp(expected)


def test_leaving_out_sums_is_exact_per_label():
    error = np.array([[1e16, 0.25], [1.0, 1e16], [2.0, 0.5]])
    tally = Tallies(SECONDS, {"joint": ("hip", "head")}, {"error": error, "n": np.array([1, 1, 1])})
    assert tally.without_each()["error"].tolist() == [[3.0, 1e16], [1e16 + 2, 0.75], [exact([1e16, 1.0]), 1e16]]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([["b", "a"], ["c", "a"]], ("a", "b", "c")),
        ([["10", "9", "-2", "x", "1.5"]], ("-2", "9", "10", "1.5", "x")),
        ([["007", "7"]], ("007", "7")),
        ([[], []], ()),
    ],
)
def test_union_is_in_natural_order(sets, expected):
    assert union(sets) == expected


@given(st.lists(st.text(alphabet="-0123456789ab²", max_size=22), unique=True), st.randoms(use_true_random=False))
def test_natural_order_is_total(labels, shuffler):
    shuffled = list(labels)
    shuffler.shuffle(shuffled)
    assert sorted(shuffled, key=natural_key) == sorted(labels, key=natural_key)
