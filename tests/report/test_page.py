"""Reports as pages. Expected values: the tables themselves; by hand; what a parser of HTML finds."""

import base64
import csv
import dataclasses
import hashlib
import io
import itertools
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.evidence import Finding
from gnomon.core.table import Cell, Column, Table, View
from gnomon.report import assets, html, page
from gnomon.report.html import table
from gnomon.report.sections import TITLES

pytest.importorskip("vl_convert")

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x00" + "y" * 10_000
VOID = {"meta", "br", "img", "input", "link", "hr", "wbr"}
ALLOWED = {"html", "head", "meta", "title", "style", "script", "body", "a", "div", "header", "h1", "h2", "h3", "button"}
ALLOWED |= {"dl", "dt", "dd", "p", "nav", "ol", "ul", "li", "main", "section", "span", "table", "thead", "tbody", "tr"}
ALLOWED |= {"th", "td", "b", "abbr", "pre", "footer", "svg", "g", "path", "line", "text", "wbr", "details", "summary"}
ALLOWED |= {"code", "defs", "clippath", "rect"}


class Reader(HTMLParser):
    """Elements with their attributes, in order; whether they are closed in order; texts by element."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.said = [], [], {}
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        assert len({key for key, _ in attributes}) == len(attributes)
        self.found.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.found.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.said.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, key):
        return [attributes[key] for _, attributes in self.found if key in attributes]


def truth_and_systems():
    ids = list(range(60))
    truth = {"id": ids, "label": [("sit", "walk", "run")[n % 3] for n in ids], "group": [f"p{n % 10}" for n in ids]}
    good = {"id": ids, "label": [label if n % 7 else "sit" for n, label in zip(ids, truth["label"], strict=True)]}
    poor = {"id": ids, "label": [label if n % 2 else "run" for n, label in zip(ids, truth["label"], strict=True)]}
    return truth, {"good": good, "poor": poor}


@pytest.fixture(scope="module")
def result():
    return gnomon.score("labels", *truth_and_systems())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("stored")
    gnomon.score("labels", *truth_and_systems(), out=str(out))
    return out


@pytest.fixture(scope="module")
def source(result):
    return page.single(result)


def call(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def downloads(source):
    """What the page holds to take away, by the name of the file."""
    found = {}
    for name, attributes in Reader(source).found:
        if name == "a" and "download" in attributes:
            kind, content = re.fullmatch(r"data:([\w/-]+);base64,(.*)", attributes["href"]).groups()
            assert attributes["download"] not in found
            found[attributes["download"]] = (kind, base64.b64decode(content).decode("utf-8"))
    return found


def test_sections_are_in_order_and_only_those_with_something(result):
    found = page.sections(result)
    ids = [own.id for own in found]
    assert ids == [name for name in TITLES if name in ids]
    assert {"scores", "significance", "evidence", "classes", "confusion", "cases", "worst", "provenance"} <= set(ids)
    assert "gap" not in ids
    assert "training" not in ids
    names = [item.name for own in found for item in own.items]
    assert len(set(names)) == len(names)
    kinds = {item.kind for own in found for item in own.items if isinstance(item, View)}
    assert kinds == {"intervals", "matrix", "strips"}


def test_every_table_of_the_result_is_in_the_page(result):
    shown = [item for own in page.sections(result) for item in own.items]
    for item in result.items:
        assert any(type(other) is type(item) and other.title == item.title for other in shown), item.name


def test_the_page_is_sound(source):
    read = Reader(source)
    assert source.startswith("<!DOCTYPE html>\n")
    assert {name for name, _ in read.found} <= ALLOWED
    assert dict(read.found[0][1]) == {"lang": "en"}
    ids = read.all("id")
    assert len(set(ids)) == len(ids)
    targets = [href[1:] for href in read.all("href") if href.startswith("#")]
    assert targets
    assert set(targets) <= set(ids)
    assert set(read.all("aria-labelledby")) <= set(ids)
    levels = [int(name[1]) for name, _ in read.found if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_page_refers_to_nothing_outside(source):
    read = Reader(source)
    places = [*read.all("href"), *read.all("src")]
    assert all(place.startswith(("#", "data:")) for place in places)
    styles = "".join(read.said["style"])
    assert "url(" not in styles
    assert "@import" not in styles
    assert not re.search(r"https?://", "".join(read.said["script"]) + styles)
    outside = set(re.findall(r"https?://[\w./-]+", source))
    assert outside == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_the_policy_allows_the_styles_and_the_script_of_the_page_alone(source):
    read = Reader(source)
    (policy,) = [a["content"] for name, a in read.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = read.said[element]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert not read.all("style")
    assert not [key for _, attributes in read.found for key in attributes if key.startswith("on")]


def test_same_runs_same_bytes(folder):
    assert page.single(gnomon.load(folder)) == page.single(gnomon.load(folder))


def test_the_head_says_what_the_page_is_about(result, source):
    said = " ".join(" ".join(Reader(source).said[key]) for key in ("dt", "dd"))
    for words in ("labels 1", "10 cases in 10 groups", "2: good, poor", "95% jackknife-t"):
        assert words in said, words
    assert result.runs[0].manifest["data_fingerprint"][:12] in said


def test_downloads_hold_the_tables(result, source):
    found = downloads(source)
    kind, text = found["scores.csv"]
    assert kind == "text/csv"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["system"]: float(row["macro_f1"]) for row in rows} == {
        name: scores["macro_f1"] for name, scores in result.scores.items()
    }
    assert json.loads(found["scores.json"][1])["name"] == "scores"
    assert r"\begin{tabular}" in found["scores.tex"][1]
    assert json.loads(found["confusion.json"][1])["kind"] == "matrix"


def test_folder_and_single_file_hold_the_same_tables(result, source, tmp_path):
    written = page.write(result, tmp_path / "report")
    assert written[0] == tmp_path / "report" / "index.html"
    assert all(path.is_file() for path in written)
    held = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "report" / "tables").iterdir()}
    assert held == {name: text for name, (_, text) in downloads(source).items()}
    read = Reader(written[0].read_text(encoding="utf-8"))
    beside = {place for place in read.all("href") if not place.startswith("#")}
    assert beside == {path.relative_to(tmp_path / "report").as_posix() for path in written[1:]}
    assert {path.suffix for path in written if path.parent.name == "figures"} == {".svg", ".png", ".pdf"}
    single = Reader(source)
    strip = lambda reader: [  # noqa: E731
        (name, {k: v for k, v in a.items() if k not in ("href", "download")}) for name, a in reader.found if name != "a"
    ]
    assert strip(read) == strip(single)


def test_a_path_that_ends_in_html_or_is_a_file_is_one_file(result, tmp_path):
    assert page.write(result, tmp_path / "new" / "r.html") == [tmp_path / "new" / "r.html"]
    (tmp_path / "plain").write_text("old")
    assert page.write(result, tmp_path / "plain") == [tmp_path / "plain"]
    assert (tmp_path / "plain").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(InputError, match=r"--output .*cannot be written"):
        page.write(result, tmp_path / "taken" / "inside")


def test_figures_are_one_file_for_each_and_format(result, tmp_path):
    written = page.write_figures(result, tmp_path / "figures")
    views = [item for own in page.sections(result) for item in own.items if isinstance(item, View)]
    assert {path.name for path in written} == {f"{view.name}.{end}" for view in views for end in ("svg", "png", "pdf")}
    assert len(written) == 3 * len(views) == len(list((tmp_path / "figures").iterdir()))


def test_hostile_names_never_come_through(tmp_path):
    ids = list(range(24))
    names = [HOSTILE, "b\u202e<b>", "walk"]
    labels = [names[n % 3] for n in ids]
    groups = [f"{HOSTILE}{n % 6}" for n in ids]
    result = gnomon.score(
        "labels",
        {"id": ids, "label": labels, "group": groups, "place": [HOSTILE[:60]] * 24},
        {HOSTILE: {"id": ids, "label": labels}, "<b>other</b>": {"id": ids, "label": ["walk"] * 24}},
        slice=["place"],
    )
    finding = Finding(HOSTILE, "warning", HOSTILE, HOSTILE, HOSTILE)
    runs = tuple(dataclasses.replace(run, findings=(finding,)) for run in result.runs)
    found = page.single(dataclasses.replace(result, runs=runs))
    read = Reader(found)
    assert {name for name, _ in read.found} <= ALLOWED
    assert [name for name, _ in read.found].count("script") == 1
    assert not [key for _, attributes in read.found for key in attributes if key.startswith("on")]
    seen = re.sub(r'href="data:[^"]*"', "", found)
    assert "<script>alert" not in seen
    assert "onerror=alert" not in re.sub(r"&lt;img[^<]*", "", seen)
    assert "\u202e" not in seen
    assert "\x00" not in seen
    assert "y" * 5_000 not in seen
    written = page.write(result, tmp_path / "hostile")
    assert all(path.resolve().is_relative_to(tmp_path / "hostile") for path in written)
    assert all(re.fullmatch(r"[a-z0-9_]+\.\w+", path.name) for path in written)


def test_severity_and_verdict_are_words_and_symbols():
    columns = (Column("severity", "severity"), Column("verdict", "verdict"))
    found = table(Table("t", "t", columns, ({"severity": Cell("error"), "verdict": Cell("not supported")},)))
    said = "".join(Reader(found).said["span"])
    assert "✖" in said
    assert "error" in said
    assert "not supported" in said


def test_cells_show_intervals_marks_and_what_they_are_sorted_by():
    columns = (Column("system", "system"), Column("f", "F1", "score", direction="up"), Column("n", "n", "count"))
    rows = (
        {"system": Cell("a", mark="partial"), "f": Cell(0.81, 0.7, 0.9, mark="best"), "n": Cell(1234)},
        {"system": Cell("b"), "f": Cell(None, why="no rows"), "n": Cell(0)},
    )
    read = Reader(table(Table("t", "a title", columns, rows, ("a note",))))
    assert read.all("data-value") == ["0.81", "1234", "0"]
    assert "".join(read.said["b"]) == "0.810"
    assert "".join(read.said["abbr"]) == "†*"
    assert [a.get("scope") for name, a in read.found if name == "th"] == ["col"] * 3 + ["row"] * 2
    assert "undefined (no rows)" in "".join(read.said["td"])
    assert read.said["li"] == ["a note"]


def test_downloads_of_a_table_are_what_is_given_to_make_them():
    item = Table("t", "a title", (Column("a", "A"),), ({"a": Cell("x")},))
    assert "links(t)" in table(item, lambda own: html.tag("i", f"links({own.name})"))
    assert "<a" not in table(item)


def test_long_tables_are_cut_and_say_so():
    rows = tuple({"a": Cell(n)} for n in range(html.MOST_ROWS + 7))
    found = table(Table("t", "t", (Column("a", "A", "count"),), rows))
    assert found.count("<tr>") == html.MOST_ROWS + 1
    assert "... and 7 more rows: the downloads hold all" in found


def test_many_notes_are_folded_and_all_there():
    notes = tuple(f"note {n}" for n in range(15))
    read = Reader(table(Table("t", "t", (Column("a", "A"),), ({"a": Cell("x")},), notes)))
    assert read.said["li"] == list(notes)
    assert read.said["summary"] == ["9 more notes"]


def test_a_table_with_gaps_is_refused_or_shows_dashes(result):
    ragged = Table("odd", "odd", (Column("a", "A"), Column("b", "B")), ({"a": Cell("x")},))
    odd = dataclasses.replace(result, items=(*result.items, ragged))
    with pytest.raises(InputError, match="ragged"):
        page.single(odd)
    assert "not there (1 of 2 cells)" in page.single(odd, "dash")


def test_without_the_converter_the_page_says_so(result, monkeypatch, folder, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    found = page.single(result)
    assert "No figures are shown: figures need vl-convert-python" in found
    assert "<svg" not in found
    assert "truth \\ predicted" in found  # what a terminal shows of a matrix
    written = page.write(result, tmp_path / "r")
    assert {path.parent.name for path in written[1:]} == {"tables"}
    with pytest.raises(MissingExtraError, match=r"gnomon\[report\]"):
        page.write_figures(result, tmp_path / "f")
    code, _, err = call(capsys, "report", folder, "--format", "html", "--output", tmp_path / "o.html")
    assert code == 0
    assert "without figures: figures need vl-convert-python, which is not installed: pip install" in err
    code, _, err = call(capsys, "report", folder, "--figures", tmp_path / "f")
    assert code == 2
    assert "gnomon[report]" in err


def test_the_verb_writes_a_folder_a_file_and_figures(folder, tmp_path, capsys):
    code, out, err = call(
        capsys, "report", folder, "--format", "html", "--output", tmp_path / "r", "--figures", tmp_path / "f"
    )
    assert (code, out) == (0, "")
    assert f"wrote {tmp_path / 'r' / 'index.html'} and " in err
    n = len(list((tmp_path / "f").iterdir()))
    assert f"wrote {n} files of figures to {tmp_path / 'f'}" in err
    assert n % 3 == 0
    code, out, err = call(capsys, "report", folder, "--format", "html", "--output", tmp_path / "one.html")
    assert (code, out, err) == (0, "", f"wrote {tmp_path / 'one.html'}\n")
    assert (tmp_path / "one.html").read_text(encoding="utf-8") == page.single(gnomon.load(folder))
    code, out, _ = call(capsys, "report", folder, "--figures", tmp_path / "f")
    assert code == 0
    assert "macro f1" in out
    code, _, err = call(capsys, "report", folder, "--format", "csv", "--output", tmp_path)
    assert code == 2
    assert "cannot be written" in err


def test_runs_on_several_grounds_share_a_page(result):
    other = gnomon.score("labels", *truth_and_systems(), interval="none")
    both = gnomon.load(result, other)
    Reader(page.single(both))
    assert len({item.name for own in page.sections(both) for item in own.items}) == sum(
        len(own.items) for own in page.sections(both)
    )


def test_a_notebook_still_gets_a_part_of_a_page(result):
    shown = result._repr_html_()
    assert shown.startswith('<table class="gnomon">')
    assert "<html" not in shown


@pytest.mark.parametrize("name", ["style.css", "report.js"])
def test_assets_are_there_and_need_nothing_else(name):
    text = assets.read(name)
    assert not re.search(r"https?://|@import|url\(|innerHTML|eval\(", text)
    assert text.isascii()


def test_every_colour_of_the_contract_is_defined_in_light_and_dark():
    names = ["ink", "paper", "muted", "line", "accent", "right", "missed", "false", "confused", "timing"]
    text = assets.read("style.css")
    for name in (*names, *(f"c{n}" for n in range(10))):
        assert len(re.findall(rf"--{name}: #[0-9a-f]{{3,6}};", text)) >= 3, name


def test_assets_are_in_the_package():
    assert Path(assets.__file__).parent.joinpath("style.css").is_file()


@pytest.mark.parametrize("stored", [False, True])
def test_answers_of_an_episode_make_a_matrix_in_memory_and_from_the_directory(small_run, tmp_path, stored):
    """By hand: two of three actions are right, one sample is not answered; samples of other tasks do not count."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from gnomon.suites.episode.views import confusions

    answers = pa.table(
        {
            "task": ["timeline_action"] * 4 + ["caption_grounding"],
            "truth": ["sit", "walk", "walk", "sit", "text"],
            "prediction": ["sit", "walk", "sit", None, "text"],
        }
    )
    pq.write_table(answers, tmp_path / "predictions.parquet")
    tasks = ["timeline_action", "caption_grounding"]
    manifest = {**small_run.manifest, "protocol": {**small_run.manifest["protocol"], "tasks": tasks}}
    kept = {"table": None, "path": tmp_path} if stored else {"table": answers}
    (view,) = confusions(dataclasses.replace(small_run, manifest=manifest, **kept))
    assert (view.name, view.kind) == ("confusion_timeline_action", "matrix")
    assert view.data == {
        "labels": ["sit", "walk"],
        "predicted": ["sit", "walk", "(none)"],
        "counts": [[1, 0, 1], [1, 1, 0]],
    }
    assert confusions(dataclasses.replace(small_run, manifest=manifest, table=None, path=None)) == []
