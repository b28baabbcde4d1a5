"""Rows of numbers in text. Python's ``float`` computes every expected double; the rest is written by hand."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.numbers import Layout, blocks, parse, read

DOUBLES = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
DIGITS = st.text("0123456789", min_size=1, max_size=25)


@st.composite
def written(draw):
    """A number as somebody may write it."""
    if draw(st.booleans()):
        value = draw(DOUBLES.filter(np.isfinite))
        return draw(st.sampled_from([repr(value), f"{value:.17e}", f"{value:.6g}", f"{value:+.3E}"]))
    text = draw(st.sampled_from(["", "+", "-"])) + draw(DIGITS) + draw(st.sampled_from(["", ".", "." + draw(DIGITS)]))
    return text + draw(st.sampled_from(["", f"e{draw(st.integers(-400, 400))}", f"E+{draw(st.integers(0, 30))}"]))


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


@given(st.lists(written(), min_size=1, max_size=30))
def test_every_double_is_the_nearest_to_the_last_bit(texts):
    (found,) = parse("\n".join(texts).encode(), Layout("f"))
    assert bits(found) == bits([float(text) for text in texts])


def test_random_cells_in_rows_to_the_last_bit():
    rng = np.random.default_rng(3)
    kinds = [repr, "{:.6f}".format, "{:.17g}".format, lambda v: repr(v * 10.0 ** int(rng.integers(-300, 300)))]
    cells = [[kinds[int(rng.integers(4))](float(v)) for v in row] for row in rng.normal(size=(4000, 5))]
    found = parse("".join(",".join(row) + "\n" for row in cells).encode(), Layout("fffff"))
    for k in range(5):
        assert bits(found[k]) == bits([float(row[k]) for row in cells])


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",  # between two doubles, to the even one
        "9007199254740993.0000000000000000000001",  # just above
        "0.500000000000000166533453693773481063544750213623046875",
        "2.2250738585072011e-308",  # the largest subnormal
        "4.9406564584124654e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",  # infinite
        "1e-400",
        "-0.0",
        "00000000000000000000000000000001.5",
        "123456789012345678901234567890",
        ".5",
        "5.",
    ],
)
def test_awkward_numbers(text):
    (found,) = parse(text.encode(), Layout("f"))
    assert bits(found) == bits([float(text)])


def test_more_slow_numbers_than_are_kept_at_once():
    texts = [f"0.{k:025d}1" for k in range(10_001)]
    (found,) = parse("\n".join(texts).encode(), Layout("f"))
    assert bits(found) == bits([float(text) for text in texts])


@pytest.mark.parametrize(
    ("data", "layout", "expected"),
    [
        (b"1,2\r\n\r\n3,4\r\n", Layout("ff"), [[1, 3], [2, 4]]),
        (b" 1 , 2 \n3,4", Layout("ff"), [[1, 3], [2, 4]]),
        (b"  1  2e-001\n\t3\t4  \n", Layout("ff", " "), [[1, 3], [0.2, 4]]),
        (b"1\t2\n3\t4\n", Layout("ff", "\t"), [[1, 3], [2, 4]]),
        (b'"1","a"\n"2","bc"\n', Layout("is"), [[1, 2], [b"a", b"bc"]]),
        (b"7,A,252207666810782,-1,2,3;\n", Layout("isifff", end=";"), [[7], [b"A"], [252207666810782], [-1], [2], [3]]),
        (b"1,2 ; \n", Layout("ff", end=";"), [[1], [2]]),
        (b"name,other\n1,x y z,2\n", Layout("f-f", header=1), [[1], [2]]),
        (b"1,anything\r\n", Layout("f-"), [[1]]),
        (b"-9223372036854775807\n9223372036854775807\n", Layout("i"), [[-9223372036854775807, 9223372036854775807]]),
        (b"h\n", Layout("f", header=1), [[]]),
        (b"", Layout("f"), [[]]),
        (b"\n\n \n", Layout("f"), [[]]),
    ],
)
def test_forms_of_rows(data, layout, expected):
    assert [column.tolist() for column in parse(data, layout)] == expected


def test_missing_numbers_are_nan_where_that_is_allowed():
    found = parse(b"1,,NaN\n,nan,\n", Layout("fff", missing=True))
    np.testing.assert_array_equal(np.stack(found), [[1, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    with pytest.raises(InputError, match="line 1: cell 2 is '', expected a number"):
        parse(b"1,,2\n", Layout("fff"), "a.csv")


@pytest.mark.parametrize(
    ("data", "layout", "message"),
    [
        (b"1,2\n3\n", Layout("ff"), "a.txt: line 2: ends after 1 cell ('3'), expected 2 cells"),
        (b"1,2\n3,", Layout("ff"), "a.txt: line 2: ends after 1 cell"),
        (b"1,2\n3,4,5\n", Layout("ff"), "a.txt: line 2: goes on after its last cell"),
        (b"1,2\n\n3,x\n", Layout("ff"), "a.txt: line 3: cell 2 is 'x', expected a number"),
        (b"1.5.2\n", Layout("f"), "cell 1 is '1.5.2'"),
        (b"1 2\n", Layout("f"), "cell 1 is '1 2'"),
        (b"1e\n", Layout("f"), "cell 1 is '1e'"),
        (b"--1\n", Layout("f"), "cell 1 is '--1'"),
        (b"inf\n", Layout("f"), "cell 1 is 'inf'"),
        (b"1_0\n", Layout("f"), "cell 1 is '1_0'"),
        (b"0x10\n", Layout("f"), "cell 1 is '0x10'"),
        (b'"1\n', Layout("f"), "cell 1 is"),
        (b"1.0\n", Layout("i"), "expected a whole number of 64 bits"),
        (b"9223372036854775808\n", Layout("i"), "expected a whole number of 64 bits"),
        (b"123456789\n", Layout("s"), "expected text of 1 to 8 bytes"),
        (b"1,2;\n1,2\n", Layout("ff", end=";"), "line 2: ends after 2 cells"),
        (b"1,2;3\n", Layout("ff", end=";"), "line 1: goes on after its last cell"),
        (b"1\x00\n", Layout("f"), "line 1"),
        (b"1 2\n3 9.7363\n", Layout("fi", " "), "a.txt: line 2: cell 2 is '9.7363', expected a whole number"),
        (b"1\t2\n3\t9.7363\n", Layout("fi", " "), "a.txt: line 2: cell 2 is '9.7363', expected a whole number"),
        (b"1\tx\t3\n", Layout("fff", " "), "line 1: cell 2 is 'x', expected a number"),
        (b"1 x 3\n", Layout("fff", " "), "line 1: cell 2 is 'x', expected a number"),
        (
            b"1\t2\t3\n",
            Layout("ff", " "),
            "line 1: goes on after its last cell ('1\\\\t2\\\\t3'), expected 2 cells between tabs",
        ),
        (b"1\t2\n", Layout("fff", "\t"), "line 1: ends after 2 cells ('1\\\\t2'), expected 3 cells between tabs"),
        (
            b"1 2 3\n",
            Layout("ff", " "),
            "line 1: goes on after its last cell ('1 2 3'), expected 2 cells between blanks",
        ),
        (b"1 2 3;\n", Layout("ff", " ", end=";"), "line 1: goes on after its last cell"),
        (b"1 2x;\n", Layout("ff", " ", end=";"), "line 1: cell 2 is '2x', expected a number"),
        (b"1,x;\n", Layout("ff", end=";"), "line 1: cell 2 is 'x', expected a number"),
        (b"h", Layout("f", header=1), "ends in its header of 1 line"),
    ],
)
def test_junk_is_refused_with_line_and_cell(data, layout, message):
    with pytest.raises(InputError) as caught:
        parse(data, layout, "a.txt")
    assert message in str(caught.value)


@given(st.binary(max_size=60), st.sampled_from([Layout("ff"), Layout("isf", end=";"), Layout("f-", " ", missing=True)]))
def test_any_bytes_give_rows_or_the_projects_own_error(data, layout):
    try:
        found = parse(data, layout)
    except InputError:
        return
    assert len({len(column) for column in found}) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_files_in_blocks_are_the_whole(tmp_path, name):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3000, 3))
    text = ("x,y,z\n" + "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    layout = Layout("fff", header=1)
    np.testing.assert_array_equal(np.stack(read(tmp_path / name, layout, block=4096), axis=1), values)
    assert len(list(blocks(tmp_path / name, layout, block=4096))) > 10


def test_lines_are_counted_across_blocks(tmp_path):
    lines = ["1.25,2.5"] * 5000
    lines[4321] = "1.25,oops"
    (tmp_path / "a.csv").write_text("h\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="line 4323: cell 2 is 'oops'"):
        read(tmp_path / "a.csv", Layout("ff", header=1), block=4096)


def test_a_layout_has_known_letters():
    for wrong in ({"cells": "fx"}, {"cells": ""}, {"cells": "f", "separator": ", "}, {"cells": "f", "end": ";;"}):
        with pytest.raises(InputError, match="layout"):
            Layout(**wrong)
