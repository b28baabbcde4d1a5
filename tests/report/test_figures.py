"""Figures: from data to what is drawn. Expected places are computed by hand from the data and the width of a scale."""

import itertools
import re
import struct
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.table import View
from gnomon.report import figures
from gnomon.report.figures import critical, divided, dots, drawing, grids
from gnomon.report.figures.style import CALM, DARK, INK, PALETTE, VERMILION, span

pytest.importorskip("vl_convert")

HOSTILE = "<script>alert(1)</script>\"'&\u202e]]>\x00" + "x" * 10_000
SAFE = {"#ffffff", "#111111", "none", "currentColor"}
INTERVALS = {
    "measure": "macro f1",
    "unit": "",
    "direction": "up",
    "digits": 2,
    "rows": [
        {"system": "good", "value": 0.8, "low": 0.7, "high": 0.9, "best": True},
        {"system": "poor", "value": 0.5, "low": None, "high": None},
        {"system": "none", "value": None, "low": None, "high": None},
    ],
}
BARS = {
    "bars": [
        {"label": "walking", "parts": {"D": 1, "C": 3, "I'": 0}, "text": "4 events"},
        {"label": "running", "parts": {"D": 1, "C": 999}, "text": "1,000 events"},
        {"label": "sitting", "parts": {}, "text": "no time"},
    ],
    "right": ["C"],
}
MATRIX = {"labels": ["sit", "walk"], "predicted": ["sit", "walk", "(none)"], "counts": [[6, 2, 0], [0, 5, 5]]}
GAP = {
    "names": ["published", "strict"],
    "panels": [
        {
            "measure": "macro f1",
            "rows": [
                {"system": "a", "first": 0.9, "last": 0.5, "low": None, "high": None},
                {"system": "b", "first": None, "last": 0.5, "low": None, "high": None},
            ],
        }
    ],
}
STRIPS = {
    "measure": "error",
    "unit": "mm",
    "direction": "down",
    "digits": 1,
    "points": [
        {"system": "a", "case": "c1", "group": "g", "value": 10.0},
        {"system": "a", "case": "c2", "group": "g", "value": 30.0},
        {"system": "b", "case": "c1", "group": "g", "value": 50.0},
    ],
}
RANKS = {
    "ranks": [{"system": name, "rank": rank} for name, rank in (("a", 1.5), ("b", 2.0), ("c", 3.5), ("d", 3.0))],
    "distance": 1.2,
    "cliques": [["a", "b"], ["b", "d"], ["d", "c"]],
    "alpha": 0.05,
}
CURVES = {
    "x": "epoch",
    "y": "loss",
    "series": [
        {"name": "first", "x": [1, 2, 3], "y": [4.0, 2.0, 1.0]},
        {"name": "second", "x": [1, 2, 3], "y": [3.0, 3.0, 3.0]},
    ],
}
HEAT = {
    "rows": ["strong", "weak"],
    "columns": ["hip", "knee"],
    "values": [[10.0, 20.0], [30.0, None]],
    "unit": "mm",
    "low_is_good": True,
}
DATA = {
    "intervals": INTERVALS,
    "bars": BARS,
    "matrix": MATRIX,
    "gap": GAP,
    "strips": STRIPS,
    "ranks": RANKS,
    "curves": CURVES,
    "heat": HEAT,
}


def view(kind, data=None, title="a title"):
    return View(f"v_{kind}", title, kind, DATA[kind] if data is None else data)


def marks(kind, data=None):
    """Everything that is drawn: its element, its place in the plot, its attributes and its text."""
    root = ElementTree.fromstring(figures.inline(view(kind, data)))
    found = []

    def walk(element, x, y):
        moved = re.match(r"translate\(([-\d.e]+),([-\d.e]+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        name = element.tag.rpartition("}")[2]
        if name in ("line", "path", "text") and element.get("d") != "":
            found.append({"tag": name, "x": x, "y": y, "text": element.text or "", **element.attrib})
        for child in element:
            walk(child, x, y)

    for child in root[0]:  # the first group stands at the corner of the plot
        walk(child, 0.0, 0.0)
    return found


def boxes(kind, data=None):
    """Filled rectangles as (x, y, width, height, fill, opacity)."""
    pattern = re.compile(r"M([-\d.]+),([-\d.]+)h([-\d.]+)v([-\d.]+)h-[\d.]+Z")
    found = []
    for mark in marks(kind, data):
        box = pattern.fullmatch(mark.get("d", ""))
        if box and mark.get("fill", "none") != "none":
            opacity = float(mark.get("fill-opacity", 1))
            found.append((*(float(box[place]) for place in range(1, 5)), mark["fill"], opacity))
    return found


def texts(kind, data=None):
    return [mark["text"] for mark in marks(kind, data) if mark["tag"] == "text"]


def test_what_is_a_figure():
    assert all(figures.drawable(view(kind)) for kind in DATA)
    assert set(DATA) == set(figures.KINDS)
    for kind in ("timeline", "scene", "motion", "lines"):
        assert not figures.drawable(View("v", "t", kind, {}))
    with pytest.raises(InputError, match="no figure of kind 'scene'"):
        figures.figure(View("v", "t", "scene", {}))


def test_whiskers_reach_from_low_to_high_and_the_dot_is_the_value():
    low, high = span([0.5, 0.7, 0.8, 0.9])
    place = lambda value: (value - low) / (high - low) * dots.PLOT  # noqa: E731
    drawn = marks("intervals")
    whisker = next(m for m in drawn if m["tag"] == "line" and m.get("stroke") == PALETTE[0])
    assert whisker["x"] == pytest.approx(place(0.7), abs=0.01)
    assert float(whisker["x2"]) == pytest.approx(place(0.9) - place(0.7), abs=0.01)
    dot = next(m for m in drawn if m.get("fill") == PALETTE[0] and "A" in m.get("d", ""))
    assert dot["x"] == pytest.approx(place(0.5), abs=0.01)
    best = next(m for m in drawn if m.get("fill") == VERMILION)
    assert best["x"] == pytest.approx(place(0.8), abs=0.01)
    assert "A" not in best["d"]  # another shape than the circle of the others
    assert {"0.80 best", "0.50", "undefined", "good", "poor", "none"} <= set(texts("intervals"))


def test_without_a_best_all_marks_are_alike():
    rows = [{**row, "best": False} for row in INTERVALS["rows"]]
    data = {**INTERVALS, "rows": rows}
    assert not any(mark.get("fill") == VERMILION for mark in marks("intervals", data))
    assert not any("best" in text for text in texts("intervals", data))


def test_bars_are_as_long_as_their_counts_and_no_part_vanishes():
    """By hand: 1 of 4 and 3 of 4 of 620 pixels; 1 of 1,000 would be .62 and gets 3."""
    found = boxes("bars")
    assert [box[2] for box in found] == pytest.approx([155, 465, 3, 617])
    assert [box[0] for box in found] == pytest.approx([0, 155, 0, 3])
    assert found[1][4] == found[3][4] == CALM
    assert found[0][4] == found[2][4] != CALM
    said = texts("bars")
    assert said.count("D") == said.count("C") == 2
    assert {"walking", "4 events", "no time"} <= set(said)


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0, 1e6), max_size=9))
def test_a_bar_shares_its_length_and_keeps_every_part(parts):
    found = divided.widths(parts, 620.0)
    assert list(found) == [name for name, value in parts.items() if value > 0]
    assert sum(found.values()) == pytest.approx(620 if found else 0)
    assert all(width >= divided.LEAST - 1e-9 for width in found.values())
    order = sorted(found, key=lambda name: parts[name])
    assert all(found[a] <= found[b] + 1e-9 for a, b in itertools.pairwise(order))


def test_errors_of_one_letter_share_a_colour_and_parts_keep_their_order():
    data = {"bars": [{"label": "x", "parts": {"D": 2, "M": 2, "C": 2, "M'": 2, "FM": 2}, "text": ""}], "right": ["C"]}
    fills = [box[4] for box in boxes("bars", data)]
    assert fills[1] == fills[3]
    assert len(set(fills)) == 4
    assert [text for text in texts("bars", data) if text in ("D", "M", "C", "M'", "FM")] == ["D", "M", "C", "M'", "FM"]


def test_a_matrix_is_shaded_within_rows_and_names_counts():
    """By hand: 6 of 8, 2 of 8, 5 of 10 and 5 of 10; zeros are left blank."""
    found = boxes("matrix")
    shades = [box[5] for box in found]
    expected = [grids.FAINTEST + (1 - grids.FAINTEST) * share for share in (0.75, 0.25, 0.5, 0.5)]
    assert shades == pytest.approx(expected, abs=1e-3)
    assert [box[4] == PALETTE[0] for box in found] == [True, False, True, False]
    wide = found[0][2]
    assert [(box[0], box[1]) for box in found] == [(0, 0), (wide, 0), (wide, 28), (2 * wide, 28)]
    said = texts("matrix")
    assert [text for text in said if text.isdigit()] == ["6", "2", "5", "5"]
    assert {"sit", "walk", "(none)", "truth", "predicted"} <= set(said)


def test_a_large_matrix_has_no_numbers_and_fewer_names():
    labels = [f"class {n}" for n in range(100)]
    counts = [[7 if a == b else 0 for b in range(100)] for a in range(100)]
    data = {"labels": labels, "predicted": labels, "counts": counts}
    assert len(boxes("matrix", data)) == 100
    said = texts("matrix", data)
    assert "7" not in said
    assert 20 < sum(text.startswith("class") for text in said) < 120


def test_the_gap_joins_both_variants_by_different_shapes():
    low, high = span([0.9, 0.5, 0.5])
    place = lambda value: (value - low) / (high - low) * dots.PLOT  # noqa: E731
    drawn = marks("gap")
    circles = [m for m in drawn if m.get("stroke") == PALETTE[0] and m["y"] > 0]
    squares = [m for m in drawn if m.get("fill") == VERMILION and m["y"] > 0]
    assert [m["x"] for m in circles] == pytest.approx([place(0.9)], abs=0.01)
    assert [m["x"] for m in squares] == pytest.approx([place(0.5)] * 2, abs=0.01)
    joined = next(m for m in drawn if m["tag"] == "line" and m.get("opacity") == "0.5")
    assert (joined["x"], float(joined["x2"])) == pytest.approx((place(0.9), place(0.5) - place(0.9)), abs=0.01)
    assert {"published", "strict", "-0.4", "undefined"} <= set(texts("gap"))


def test_strips_show_every_case_at_its_score_and_the_same_height_in_every_strip():
    low, high = span([10.0, 30.0, 50.0, 20.0])
    place = lambda value: (value - low) / (high - low) * dots.PLOT  # noqa: E731
    drawn = [m for m in marks("strips") if m.get("fill") == PALETTE[0] and "A" in m.get("d", "")]
    assert [m["x"] for m in drawn] == pytest.approx([place(10), place(30), place(50)], abs=0.01)
    assert drawn[2]["y"] - drawn[0]["y"] == pytest.approx(dots.BAND)
    ticks = [box for box in boxes("strips") if box[4] == VERMILION]
    assert [box[0] + box[2] / 2 for box in ticks] == pytest.approx([place(20), place(50)], abs=0.01)
    assert {"mean 20.0", "mean 50.0"} <= set(texts("strips"))
    assert figures.inline(view("strips")) == figures.inline(view("strips"))


def test_ranks_hang_from_their_places_and_bars_join_what_is_not_told_apart():
    """By hand: the axis runs from 1 to 4; a at 1.5 is a sixth along it."""
    drawn = marks("ranks")
    lines = [m for m in drawn if m["tag"] == "line"]
    bars = [m for m in lines if m.get("stroke") == VERMILION]
    unit = critical.LINE / 3
    starts = [critical.SIDE + (rank - 1) * unit - 4 for rank in (1.5, 2.0, 3.0)]
    assert [m["x"] for m in bars] == pytest.approx(starts, abs=0.01)
    assert [float(m["x2"]) for m in bars] == pytest.approx([0.5 * unit + 8, unit + 8, 0.5 * unit + 8], abs=0.01)
    heights = [m["y"] for m in bars]
    assert heights[0] != heights[1]  # they overlap
    assert heights[1] != heights[2]  # they touch
    hanging = {m["x"] for m in lines if m["y"] == critical.AXIS and float(m.get("x2", 0)) == 0 and float(m["y2"]) > 0}
    assert sorted(hanging) == pytest.approx([critical.SIDE + (r - 1) * unit for r in (1.5, 2.0, 3.0, 3.5)], abs=0.01)
    distance = next(m for m in lines if m["y"] == 18)
    assert float(distance["x2"]) == pytest.approx(1.2 * unit, abs=0.01)
    assert {"a 1.50", "b 2.00", "c 3.50", "d 3.00", "critical difference 1.20", "1", "4"} <= set(texts("ranks"))


def test_curves_differ_in_colour_and_dashes_and_go_through_their_values():
    drawn = [m for m in marks("curves") if m["tag"] == "path" and m.get("stroke") in PALETTE]
    assert len({m["stroke"] for m in drawn}) == 2
    assert len({m.get("stroke-dasharray") for m in drawn}) == 2
    low, high = span([4.0, 2.0, 1.0, 3.0])
    points = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[ML]([\d.]+,[\d.]+)", drawn[0]["d"])]
    expected = [240 * (1 - (y - low) / (high - low)) for y in (4.0, 2.0, 1.0)]
    assert [y for _, y in points] == pytest.approx(expected, abs=0.01)
    assert [x for x, _ in points] == pytest.approx([0, points[-1][0] / 2, points[-1][0]], abs=0.01)
    assert {"first", "second", "epoch", "loss"} <= set(texts("curves"))


def test_curves_over_magnitudes_are_on_a_logarithmic_scale():
    """By hand: 100, 10, 1 are evenly apart on such a scale."""
    data = {"x": "epoch", "y": "loss", "series": [{"name": "a", "x": [1, 2, 3], "y": [100.0, 10.0, 1.0]}]}
    drawn = next(m for m in marks("curves", data) if m["tag"] == "path" and m.get("stroke") in PALETTE)
    heights = [float(pair.split(",")[1]) for pair in re.findall(r"[ML]([\d.]+,[\d.]+)", drawn["d"])]
    assert heights == pytest.approx([0, 120, 240], abs=0.01)


def test_heat_is_darker_the_larger_and_says_what_is_undefined():
    found = boxes("heat")[:3]
    expected = [grids.FAINTEST + (1 - grids.FAINTEST) * share for share in (0, 0.5, 1)]
    assert [box[5] for box in found] == pytest.approx(expected, abs=1e-3)
    assert {"10.0", "20.0", "30.0", "–", "10.0 to 30.0 mm", "hip", "knee", "strong", "weak"} <= set(texts("heat"))


@pytest.mark.parametrize("kind", DATA)
def test_ink_follows_the_page_and_every_figure_has_a_label(kind):
    drawn = figures.inline(view(kind), "here")
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    assert root.get("aria-label").startswith("a title. ")
    assert len(root.get("aria-label")) > len("a title. ") + 10
    assert INK not in drawn
    assert "currentColor" in drawn
    assert "style=" not in drawn
    assert "a title" not in "".join(root.itertext())
    named = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(name.startswith("here-") for name in named)


@pytest.mark.parametrize("kind", DATA)
def test_files_have_their_title_and_dark_ink(kind):
    found = figures.files(view(kind))
    assert sorted(found) == ["pdf", "png", "svg"]
    text = found["svg"].decode("utf-8")
    assert INK not in text
    assert "currentColor" not in text
    assert DARK in text
    assert "a title" in "".join(ElementTree.fromstring(text).itertext())
    assert found["png"].startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", found["png"][16:24])
    own = ElementTree.fromstring(text)
    assert (width, height) == (2 * int(own.get("width")), 2 * int(own.get("height")))
    assert 100 < width < 2000
    assert 100 < height < 2000
    assert found["pdf"].startswith(b"%PDF-")
    assert len(found["pdf"]) > 1000


def hostile(kind):
    """Every name in the data of a kind replaced by one that must not come through."""

    def spoiled(value, key=""):
        if isinstance(value, dict):
            return {k: spoiled(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoiled(item, key) for item in value]
        return HOSTILE + value if isinstance(value, str) and key not in ("direction",) else value

    data = spoiled(DATA[kind])
    if kind == "bars":
        data["bars"][0]["parts"] = {HOSTILE: 1, "C": 2}
    return View("v", HOSTILE, kind, data)


@pytest.mark.parametrize("kind", DATA)
def test_hostile_names_are_text_and_short(kind):
    found = hostile(kind)
    drawn, files = figures.inline(found, "p"), figures.files(found)
    for text in (drawn, files["svg"].decode("utf-8")):
        assert "<script" not in text
        assert "\u202e" not in text
        assert "\x00" not in text
        assert "x" * 1000 not in text
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
        assert names <= {"svg", "g", "path", "line", "text", "rect", "defs", "clipPath", "title", "tspan"}
    assert len(files["png"]) < 500_000


@given(st.text(st.characters(codec=None), max_size=12))
@settings(max_examples=40)
def test_any_name_can_be_drawn(name):
    """Some characters would end the whole process where they reach the converter as they are."""
    data = {**HEAT, "rows": [name, name + "b"], "unit": name}
    root = ElementTree.fromstring(figures.inline(View("v", name, "heat", data)))
    assert root.get("role") == "img"
    assert drawing.png(figures.figure(View("v", name, "heat", data), titled=True)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("intervals", {**INTERVALS, "rows": []}),
        ("intervals", {**INTERVALS, "rows": [INTERVALS["rows"][2]]}),
        ("bars", {"bars": [], "right": []}),
        ("matrix", {"labels": [], "predicted": [], "counts": []}),
        ("gap", {"names": ["a", "b"], "panels": []}),
        ("strips", {**STRIPS, "points": []}),
        ("ranks", {"ranks": [], "distance": None, "cliques": [], "alpha": 0.05}),
        ("ranks", {**RANKS, "ranks": RANKS["ranks"][:1], "distance": 9.0}),
        ("curves", {"x": "epoch", "y": "loss", "series": []}),
        ("curves", {"x": "epoch", "y": "loss", "series": [{"name": "a", "x": [1], "y": [float("nan")]}]}),
        ("heat", {**HEAT, "values": [[None, None], [None, None]]}),
        ("heat", {**HEAT, "rows": [], "columns": [], "values": []}),
        ("heat", {**HEAT, "values": [[5.0, 5.0], [5.0, 5.0]]}),
    ],
)
def test_figures_of_little_or_nothing_are_drawn(kind, data):
    assert figures.inline(view(kind, data)).startswith("<svg")
    assert figures.files(view(kind, data))["png"].startswith(b"\x89PNG")


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=6))
def test_a_scale_holds_what_is_drawn_on_it(numbers):
    low, high = span(numbers)
    assert low <= min(numbers)
    assert max(numbers) <= high
    assert low < high


def test_without_the_converter_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert not drawing.available()
    with pytest.raises(MissingExtraError, match=r"pip install 'gnomon\[report\]'"):
        figures.inline(view("intervals"))
