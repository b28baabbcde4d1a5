"""Tables read by columns against the plain way, row by row: the plain code of the package is the reference."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.change import predictions, tabled
from gnomon.suites.change.predictions import CORNERS, TURNED, read_predictions

numbers = st.one_of(
    st.integers(-50, 50), st.floats(-60, 60, allow_nan=False).map(lambda x: round(x, 3)), st.sampled_from([-0.0, 0.1])
)
sizes = st.floats(0.01, 9, allow_nan=False).map(lambda x: round(x, 3) or 0.5)
ROW = {"scene": ["a"], "class": ["Add"], **{name: [float("max" in name)] for name in CORNERS}}


def same(found, expected):
    assert found.geometry.shape == expected.geometry.shape
    assert found.geometry.tobytes() == expected.geometry.tobytes()
    assert found.codes.tolist() == expected.codes.tolist()
    assert (found.scores is None) == (expected.scores is None)
    assert found.scores is None or found.scores.tobytes() == expected.scores.tobytes()
    assert (found.classes, found.frame) == (expected.classes, expected.frame)


def row_by_row(table, form=CORNERS):
    """What reading gives, or the message that it ends with."""
    try:
        return predictions._row_by_row(table, form, "t")
    except InputError as error:
        return str(error)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_tables_read_by_columns(data):
    """Rows of several scenes in any order, with holes in them."""
    form = data.draw(st.sampled_from([CORNERS, TURNED]))
    wild = data.draw(st.booleans())
    seconds = {name: data.draw(st.sampled_from([None, 0.5, 2.0])) for name in "abc"}
    score = data.draw(st.sampled_from(["all", "none", "some"] if wild else ["all", "none"]))
    rows = []
    for name in data.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=7)):
        low, size = data.draw(st.tuples(numbers, numbers, numbers)), data.draw(st.tuples(sizes, sizes, sizes))
        end = [a + b for a, b in zip(low, size, strict=True)] if form == CORNERS else [*size, 0.25]
        row = {"scene": name, "class": data.draw(st.sampled_from(["Add", "remove"])), "seconds": seconds[name]}
        row |= dict(zip(form, map(float, (*low, *end)), strict=True))
        row["score"] = 0.5 if score == "all" or (score == "some" and data.draw(st.booleans())) else None
        if wild and data.draw(st.integers(0, 3)) == 3:
            row[data.draw(st.sampled_from([*form, "score", "class", "seconds", "scene"]))] = None
        if data.draw(st.integers(0, 9)) == 9 and not any(other["scene"] == name for other in rows):
            row |= {"scene": f"only {len(rows)}", **dict.fromkeys(("class", *form, "score", "seconds"))}
        rows.append(row)
    text, number = pa.string(), pa.float64()
    kinds = {"scene": text, "class": text, **dict.fromkeys((*form, "score", "seconds"), number)}
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    expected = row_by_row(table, form)
    found = tabled.read(table, form)
    if isinstance(expected, str):
        assert found is None
        return
    if found is None:  # only boxes of some scenes have scores
        assert score == "some" or wild
        return
    assert found.scenes == list(expected)
    assert found.seconds == [item.seconds for item in expected.values()]
    for boxes, item in zip(found.boxes, expected.values(), strict=True):
        same(boxes, item.boxes)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("xmin", pa.array(["0"])),
        ("xmin", pa.array([True])),
        ("xmin", pa.array([2**60 + 1])),
        ("xmin", pa.array([float("nan")])),
        ("scene", pa.array([" "])),
        ("scene", pa.array([None], pa.string())),
        ("scene", pa.array([5])),
        ("class", pa.array(["Move"])),
        ("xmax", pa.array([0.0])),
        ("score", pa.array([float("inf")])),
        ("seconds", pa.array([-1.0])),
    ],
)
def test_tables_with_a_fault_are_left_to_be_read_row_by_row(column, values):
    assert tabled.read(pa.table(ROW), CORNERS).boxes[0].geometry.tolist() == [[0, 0, 0, 1, 1, 1]]
    assert tabled.read(pa.table({**ROW, column: values}), CORNERS) is None


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.int8(), pa.uint64(), pa.null()])
@pytest.mark.parametrize("column", ["xmin", "score", "seconds"])
def test_numbers_of_any_type(column, kind):
    value = None if kind == pa.null() else np.float16(0) if kind == pa.float16() else 0
    table = pa.table({**ROW, column: pa.array([value], kind)})
    expected, found = row_by_row(table), tabled.read(table, CORNERS)
    if isinstance(expected, str):
        assert found is None
        return
    same(found.boxes[0], expected["a"].boxes)
    assert found.seconds == [expected["a"].seconds]


def test_rows_of_scenes_in_any_order(tmp_path):
    """By hand: scenes by their first rows, boxes of a scene in the order of its rows."""
    table = {"scene": ["b", "a", "b", "c"], "class": ["Add", "remove", "ADD", None], "seconds": [2, None, 2, 0.5]}
    table |= {name: [0.0, 1.0, 2.0, None] if "min" in name else [3.0, 4.0, 5.0, None] for name in CORNERS}
    table["score"] = [0.1, 0.2, 0.3, None]
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "p.parquet")
    found = read_predictions(tmp_path / "p.parquet")
    assert list(found) == ["b", "a", "c"]
    assert found["b"].boxes.geometry.tolist() == [[0, 0, 0, 3, 3, 3], [2, 2, 2, 5, 5, 5]]
    assert [item.boxes.codes.tolist() for item in found.values()] == [[0, 0], [1], []]
    assert [item.seconds for item in found.values()] == [2, None, 0.5]
    assert found["b"].boxes.scores.tolist() == [0.1, 0.3]
    assert found["c"].boxes.scores is None


def test_a_fault_is_said_of_its_row(tmp_path):
    table = {name: values * 3 for name, values in ROW.items()} | {"xmax": [1.0, 0.0, -1.0]}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"p\.parquet: row 2 is flat"):
        read_predictions(tmp_path / "p.parquet")
