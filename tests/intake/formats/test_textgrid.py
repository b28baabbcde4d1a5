"""TextGrids: both forms, encodings, tiers. Expected values are read off the texts; praatio wrote those of one test."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats.textgrid import read_textgrid
from gnomon.intake.limits import DEFAULT

LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0.5
xmax = 6 ! "a comment"
tiers? <exists>
size = 3
item []:
    item [1]:
        class = "IntervalTier"
        name = "act"
        xmin = 0.5
        xmax = 6
        intervals: size = 3
        intervals [1]:
            xmin = 0.5
            xmax = 2.5
            text = "say ""hé""
now"
        intervals [2]:
            xmin = 2.5
            xmax = 4
            text = " "
        intervals [3]:
            xmin = 4
            xmax = 6
            text = "walk"
    item [2]:
        class = "TextTier"
        name = "clicks"
        xmin = 0.5
        xmax = 6
        points: size = 1
        points [1]:
            number = 1.5
            mark = "x"
    item [3]:
        class = "IntervalTier"
        name = "more"
        xmin = 0.5
        xmax = 6
        intervals: size = 0
"""
SHORT = """File type = "ooTextFile short"
"TextGrid"

0
2
<exists>
1
"IntervalTier"
"act"
0
2
1
0
2
"walk"
"""


def put(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_long_form(tmp_path, encoding):
    path = put(tmp_path / "a.TextGrid", LONG, encoding)
    table, lines, extent = read_textgrid(path, "act", DEFAULT)
    assert table.to_pydict() == {"start": [0.5, 4.0], "end": [2.5, 6.0], "label": ['say "hé"\nnow', "walk"]}
    assert (lines, extent) == ([16, 25], (0.5, 6.0))


def test_the_short_form(tmp_path):
    table, lines, extent = read_textgrid(put(tmp_path / "a.TextGrid", SHORT), "", DEFAULT)
    assert table.to_pylist() == [{"start": 0.0, "end": 2.0, "label": "walk"}]
    assert (lines, extent) == ([13], (0.0, 2.0))


def test_what_praatio_writes(tmp_path):
    praatio = pytest.importorskip("praatio.textgrid", reason="praatio is not installed (extra test)")
    tiers = pytest.importorskip("praatio.data_classes.interval_tier")
    grid = praatio.Textgrid()
    grid.addTier(tiers.IntervalTier("one", [(0.1, 0.3, 'a "b" c'), (1.25, 2.0, "ü")], 0, 3))
    for form in ("short_textgrid", "long_textgrid"):
        grid.save(str(tmp_path / "a.TextGrid"), format=form, includeBlankSpaces=True)
        table, _, extent = read_textgrid(tmp_path / "a.TextGrid", "", DEFAULT)
        assert table.to_pydict() == {"start": [0.1, 1.25], "end": [0.3, 2.0], "label": ['a "b" c', "ü"]}
        assert extent == (0.0, 3.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"TextGrid"', '"Sound"', "line 2: a file of Praat that holds 'Sound'"),
        ("xmax = 2.5", "xmax = ", r"line 18: xmax of interval 1: expected a number, but got 'say"),
        ("xmax = 2.5", "xmax = 0", "line 18: an interval ends before it starts: 0.5 to 0"),
        ("size = 0", "size = 1", "xmin of interval 1: expected a number, but got the end of the file"),
        ("size = 3\nitem", "size = 2.5\nitem", "number of tiers: expected a whole number, but got 2.5"),
        ("<exists>", "<absent>", "line 6: no tiers"),
        ('"TextTier"', '"OtherTier"', "a tier of class 'OtherTier', expected IntervalTier or TextTier"),
        ('text = "walk"', 'text = "walk', "expected a|a quote is opened"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, old, new, message):
    assert old in LONG
    with pytest.raises(InputError, match=message) as error:
        read_textgrid(put(tmp_path / "a.TextGrid", LONG.replace(old, new)), "act", DEFAULT)
    assert "a.TextGrid: line " in str(error.value)


@pytest.mark.parametrize(
    ("tier", "message"),
    [
        ("", "2 interval tiers; there are 'act', 'more': name one with --tier"),
        ("clicks", "no interval tier 'clicks'; there are 'act', 'more'"),
    ],
)
def test_several_tiers_are_listed(tmp_path, tier, message):
    with pytest.raises(InputError, match=message):
        read_textgrid(put(tmp_path / "a.TextGrid", LONG), tier, DEFAULT)
