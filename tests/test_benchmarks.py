"""Benchmarks run on little data; what they store is as promised; the page and its pictures show what is stored."""

import getpass
import json
import platform
import re
from collections import namedtuple
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import drawing, growth, pages, storing, turns
from benchmarks.harness import BenchmarkError, Context, Row, benchmarks
from benchmarks.sharding import LEAST_SHARDS, sizes, written
from benchmarks.streams import STREAMS
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
TINY = 3_001
PAGE = (
    "# Speed\n\nBy hand.\n\n## Beside peers\n\nold\n\n## Growth\n\n## Whole commands\n\n"
    "## Checks of the audit\n\n## Measured on\n\nold\n\n## Limits\n\nMore.\n"
)


def grown(measure, n, seconds):
    extras = {"measure": measure, "unit": "label", "shards": 4, "cpu_s": seconds, "peak_mb": 100.0, "turns": 3}
    return Row(f"growth-{measure}", n, seconds, None, None, extras).as_dict()


def whole():
    extras = {"unit": "row", "cpu_s": 2.5, "peak_mb": 310.4, "places": [["a.b", 0.5], ["c.d", 0.25], ["e.f", 0.125]]}
    return Row("score-labels", 1_000_000, 2.0, None, None, extras).as_dict()


def checked():
    extras = {"unit": "vector", "among": 5_000, "all_pairs_s": 1.5}
    return [
        Row("audit-some", 1_000_000, 0.25, None, None, {"unit": "sample"}).as_dict(),
        Row("audit-near", 100, 0.5, None, None, extras).as_dict(),
    ]


def made():
    """Results by hand: a peer that takes 3 and 8 times as long, and a growth of 50 from 1e4 to 1e6."""
    peers = [
        Row("a", n, 0.5, "peer", 0.5 * times, {"peer_version": "1.2"}).as_dict() for n, times in ((10, 3), (20, 8))
    ]
    points = [grown("some", n, seconds) for n, seconds in ((10_000, 0.1), (100_000, 0.4), (1_000_000, 5.0))]
    return {
        "counting": storing.record("counting", peers, [0.1, 0.2, 0.3], quick=True),
        "growth": storing.record("growth", points, [0.1, 0.2, 0.3], quick=False),
        "commands": storing.record("commands", [whole()], [0.1, 0.2, 0.3], quick=False),
        "auditing": storing.record("auditing", checked(), [0.1, 0.2, 0.3], quick=False),
    }


@given(st.integers(1, 10**9), st.integers(1_000_000, 10**8))
def test_units_are_shared_among_shards_of_about_one_size(n, most):
    found = sizes(n, most)
    assert sum(found) == n
    assert len(found) >= LEAST_SHARDS
    assert max(found) <= most
    assert max(found) - min(found) <= 1


def test_modules_with_rows_are_benchmarks_and_helpers_are_not():
    assert {"commands", "counting", "growth", "timeline"} <= benchmarks().keys()
    helpers = {"harness", "million", "places", "sharding", "suited", "folded", "streams", "storing", "drawing", "pages"}
    assert not benchmarks().keys() & helpers


@pytest.mark.parametrize("name", STREAMS)
def test_every_unit_that_is_written_is_scored(name, tmp_path):
    stream = STREAMS[name]
    n = max(TINY, stream.least)
    units = written(stream, tmp_path / "data", n)
    assert n <= units < n + 94 * LEAST_SHARDS
    assert stream.score(tmp_path / "data") == units


@pytest.mark.parametrize("name", STREAMS)
def test_data_are_the_same_every_time(name, tmp_path):
    stream = STREAMS[name]
    for folder in ("one", "two"):
        written(stream, tmp_path / folder, TINY)
    one, two = (
        {path.relative_to(tmp_path / folder): path for path in (tmp_path / folder).rglob("*") if path.is_file()}
        for folder in ("one", "two")
    )
    assert one.keys() == two.keys()
    assert len(one) >= LEAST_SHARDS
    assert all(_content(path) == _content(two[place]) for place, path in one.items())


def _content(path):
    """What a file holds; archives have the time in them."""
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path, allow_pickle=False) as held:
        return {name: (held[name].dtype, held[name].shape, held[name].tobytes()) for name in held.files}


def test_a_point_is_measured_in_data_that_are_gone_after_it(tmp_path):
    found = growth.point("points", TINY, tmp_path)
    assert found.keys() == {"seconds", "cpu_s", "peak_mb", "disk_mb", "turns", "data_in"}
    assert found["data_in"] == "temporary files", "where it was told to go"
    assert found["seconds"] > 0
    assert 10 < found["peak_mb"] < 2000
    assert turns.TURNS <= found["turns"] <= turns.MOST_TURNS
    assert list(tmp_path.iterdir()) == []
    row = growth.row("points", TINY, found).as_dict()
    assert (row["name"], row["measure"], row["unit"], row["shards"]) == ("growth-points", "points", "point", 4)
    assert row["ratio"] is None


def test_units_that_are_lost_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "written", lambda stream, folder, n: written(stream, folder, n) + 1)
    with pytest.raises(BenchmarkError, match=r"points: 3,001 of 3,002 units were scored"):
        growth.point("points", TINY, tmp_path)


def test_what_does_not_fit_on_the_disk_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(growth.shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(2e9))
    growth.check_room(STREAMS["points"], 1000, tmp_path)
    with pytest.raises(BenchmarkError, match=r"100,000,000 events need 5\.1 GB, but 2\.0 GB are free"):
        growth.check_room(STREAMS["ward"], 100_000_000, tmp_path)


def test_data_go_into_memory_where_they_leave_room(tmp_path, monkeypatch):
    ward = STREAMS["ward"]
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(growth, "MEMORY", tmp_path)
    monkeypatch.setattr(growth.shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(1e15))
    monkeypatch.setattr(growth, "WORKING", 0)
    monkeypatch.setattr(growth, "SPARE", 0)
    assert growth.in_memory(ward, 1000) == tmp_path
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert growth.in_memory(ward, 1000) is None, "somebody said where"
    monkeypatch.delenv("TMPDIR")
    assert growth.in_memory(ward, 10**12) is None, "more than there is memory"
    monkeypatch.setattr(growth.shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(1e4))
    assert growth.in_memory(ward, 1000) is None
    monkeypatch.undo()
    monkeypatch.setattr(growth, "MEMORY", tmp_path / "no such place")
    assert growth.in_memory(ward, 1000) is None


def test_quick_growth_measures_the_smallest_sizes(tmp_path, monkeypatch):
    asked = []
    found = {"seconds": 1.0, "cpu_s": 1.0, "peak_mb": 1.0, "turns": 3}
    monkeypatch.setattr(growth, "point", lambda name, n: asked.append((name, n)) or dict(found))
    list(growth.rows(Context(Path(), tmp_path, quick=True)))
    assert {n for _, n in asked} == {10_000, 100_000}
    assert min(n for name, n in asked if name == "episode-files") == 100_000
    asked.clear()
    list(growth.rows(Context(Path(), tmp_path)))
    assert max(n for name, n in asked if name == "ward") == 100_000_000
    assert max(n for name, n in asked if name == "labels-codes") == 1_000_000_000


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_stored_of_growth_is_what_is_promised(name):
    """Every curve goes to its end, a hundred times as many units take at most 110 times as long, in less than 1 GB."""
    rows = {row["n"]: row for row in storing.stored()["growth"]["rows"] if row["measure"] == name}
    assert list(rows) == [n for n in growth.SIZES if STREAMS[name].least <= n <= STREAMS[name].most]
    assert rows[100_000_000]["times"] <= 110
    assert max(row["peak_mb"] for row in rows.values()) < 1000


def test_a_curve_is_measured_anew_in_place_of_what_is_stored(tmp_path, monkeypatch):
    old = [grown(name, 10_000, 1.0) for name in ("labels-codes", "points", "sets")]
    before = storing.record("growth", old, [0.1, 0.2, 0.3], quick=False)
    storing.store({**before, "commit": "0" * 40, "changed": True}, tmp_path)
    found = {"seconds": 2.0, "cpu_s": 1.0, "peak_mb": 1.0, "turns": 3}
    monkeypatch.setattr(growth, "point", lambda name, n: dict(found))
    growth.again("points", tmp_path)
    rows = storing.stored(tmp_path)["growth"]["rows"]
    measured = [(row["measure"], row["n"], row["ours_s"]) for row in rows]
    points = [("points", 10**power, 2.0) for power in range(4, 9)]
    assert measured == [("labels-codes", 10_000, 1.0), *points, ("sets", 10_000, 1.0)]
    stamps = [row.get(storing.MEASURED, {}).get("commit") for row in rows]
    assert stamps == ["0" * 40, *[None] * len(points), "0" * 40], "what was measured before says on what"
    growth.again("points", tmp_path)
    assert storing.stored(tmp_path)["growth"]["rows"][0][storing.MEASURED]["commit"] == "0" * 40, "and goes on to"
    page = pages.measured_on(storing.stored(tmp_path))
    assert "; 2 of 7 rows on `0000000000` with changes |" in page


def test_what_is_stored_describes_the_machine_and_is_read_again(tmp_path):
    results = made()
    for held in results.values():
        storing.store(held, tmp_path)
    found = storing.stored(tmp_path)
    assert found == results
    for held in found.values():
        check_stored(held)
    assert found["counting"]["quick"] is True
    assert found["counting"]["load"]["before"] == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("path", sorted(storing.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_results_of_the_repository_hold_what_is_promised(path):
    held = json.loads(path.read_text())
    assert held["benchmark"] == path.stem
    assert held["rows"]
    check_stored(held)


def check_stored(held):
    assert held.keys() == set(storing.FIELDS)
    assert held["machine"].keys() >= {"cpu", "cores", "memory_gb", "kernel", "python", "numpy", "numba", "pyarrow"}
    assert held["machine"].keys() <= {"cpu", "cores", "memory_gb", "kernel", "python", *storing.PACKAGES}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", held["when"])
    assert held["commit"] is None or re.fullmatch(r"[0-9a-f]{40,64}", held["commit"])
    assert [len(held["load"][end]) for end in ("before", "after")] == [3, 3]
    assert all(row.keys() >= {"name", "n", "ours_s", "peer", "peer_s", "ratio"} for row in held["rows"])
    texts = set(_texts(held))
    assert not texts & {platform.node(), getpass.getuser()}
    assert not [text for text in texts if re.search(r"(^|[\s'\"=:])[/~]\w", text)]


def _texts(value):
    if isinstance(value, (dict, list)):
        for own in value.values() if isinstance(value, dict) else value:
            yield from _texts(own)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    ("content", "message"), [(None, "no results in"), ('{"rows": []}', "expected benchmark, quick, when")]
)
def test_a_folder_without_results_is_refused(content, message, tmp_path):
    if content:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(BenchmarkError, match=message):
        storing.stored(tmp_path)


def test_tables_are_put_under_their_headings_and_nothing_else_changes():
    results = made()
    page = pages.inserted(PAGE, results)
    assert page == pages.inserted(page, results)
    assert page.startswith("# Speed\n\nBy hand.\n\n## Beside peers\n")
    assert page.endswith("\n## Limits\n\nMore.\n")
    assert "old" not in page
    assert "| `a` | 20 | 500 ms | peer 1.2 | 4 s | 8 |" in page
    assert "| `some` | label | 100 ms | 400 ms | 5 s | 50 (1e4 to 1e6) | 5 s | 100 MB at 1e6 |" in page
    assert "| `score-labels` | row | 1e6 | 2 s | 2.5 s | 310 MB |" in page
    assert "| `score-labels` | 50% `a.b` | 25% `c.d` | 12% `e.f` |" in page
    assert "| `audit-some` | sample | 1,000,000 | 250 ms | - |" in page
    assert "| `audit-near` | vector | 100 x 5,000 | 500 ms | 1.5 s |" in page
    assert page.count(pages.ROUGH) == 1
    assert "| `counting` |" in page
    with pytest.raises(BenchmarkError, match="expected one heading '## Growth'"):
        pages.inserted(PAGE.replace("## Growth", "## Else"), results)


def test_the_factor_of_growth_needs_both_ends():
    assert pages.factor({100: {"ours_s": 0.5}, 10_000: {"ours_s": 40.0}}) == "80 (100 to 1e4)"
    whole = {10**6: {"ours_s": 0.5}, 10**7: {"ours_s": 4.0}, 10**8: {"ours_s": 50.0}, 10**9: {"ours_s": 99.0}}
    assert pages.factor(whole) == "100"
    assert pages.factor({**whole, 10**8: {"ours_s": 50.0, "times": 96.04}}) == "96"
    assert pages.factor({10**8: {"ours_s": 50.0, "times": 96.04}}) == "96"
    assert pages.factor({1_000: {"ours_s": 0.5}, 10_000: {"ours_s": 40.0}}) == "-"


def test_bars_are_those_of_the_largest_data_and_sorted():
    small, large = made()["counting"]["rows"]
    other = Row("b", 5, 1.0, "peer", 20.0, {"peer_version": "1"}).as_dict()
    found = {"x": {"rows": [large, small, other, grown("some", 10, 1.0)]}}
    assert [(row["name"], row["ratio"]) for row in drawing.ratios_of(found)] == [("b", 20.0), ("a", 8.0)]


def test_pictures_are_dark_on_white_and_name_what_they_show():
    pytest.importorskip("vl_convert")
    drawn = drawing.pictures(made())
    assert drawn.keys() == {"growth.svg", "ratios.svg"}
    for name, word in (("growth.svg", "some (labels)"), ("ratios.svg", "a, 20")):
        root = ElementTree.fromstring(drawn[name])
        assert root.get("role") == "img"
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert word in texts
        assert next(root.iter("{http://www.w3.org/2000/svg}rect")).get("fill") == "#ffffff"


def test_the_page_and_its_pictures_show_what_is_stored():
    found = storing.stored()
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert pages.inserted(page, found) == page
    said = {
        "growth": drawing.said_of_growth(drawing.growth_of(found)),
        "ratios": drawing.said_of_ratios(drawing.ratios_of(found)),
    }
    for name, text in said.items():
        root = ElementTree.parse(ROOT / "docs/figures" / f"{name}.svg").getroot()
        assert root.get("aria-label") == text, f"draw it again: python -m benchmarks --plot docs/figures ({name})"


def test_drawing_alone_measures_nothing(tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(command, "measure", lambda options: pytest.fail("it measured"))
    assert command.main(["--plot", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"growth.svg", "ratios.svg"}


def test_one_command_measures_stores_draws_and_writes(tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    rows = {name: [Row(**_row(row)) for row in held["rows"]] for name, held in made().items()}
    modules = {name: namedtuple("Module", "rows")(lambda _, own=own: own) for name, own in rows.items()}
    monkeypatch.setattr(command, "chosen", lambda names: modules)
    monkeypatch.setattr(command, "find_peers", lambda path: Path())
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    arguments = ["--store", str(tmp_path / "results"), "--plot", str(tmp_path), "--markdown", str(page), "--quick"]
    assert command.main(arguments) == 0
    assert storing.stored(tmp_path / "results").keys() == {"counting", "growth", "commands", "auditing"}
    assert (tmp_path / "growth.svg").exists()
    assert page.read_text().count(pages.ROUGH) == 4


def _row(row):
    fixed = {name: row[name] for name in ("name", "n", "ours_s", "peer", "peer_s")}
    return {**fixed, "extras": {name: value for name, value in row.items() if name not in (*fixed, "ratio")}}


def test_an_unknown_benchmark_is_an_error_in_words(capsys, monkeypatch):
    monkeypatch.setattr(command, "find_peers", lambda path: Path())
    assert command.main(["nonsense"]) == 1
    assert "no benchmark is called 'nonsense'" in capsys.readouterr().err


def test_no_two_measures_look_alike():
    looks = [json.dumps(drawing.look(place)) for place in range(len(STREAMS))]
    assert len(set(looks)) == len(looks)
