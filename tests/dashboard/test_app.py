"""Pages without a browser: what they show, what they offer for download, and what hostile content cannot do."""

import csv
import io
import json
import re
import shutil
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from acceptance import hostile

from gnomon.dashboard.app import application

from .conftest import Client

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """Collects elements and addresses of a page."""

    def __init__(self):
        super().__init__()
        self.elements, self.links, self.ids, self.bad = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        for name, value in attrs:
            self.links += [value] if name in ("href", "src", "action", "data-figure", "data-source") else []
            self.ids += [value] if name == "id" else []
            self.bad += [name] if name.startswith("on") or name == "style" else []


def seen(text):
    found = Seen()
    found.feed(text)
    return found


def runs(keys):
    return urlencode([("run", key) for key in keys])


def test_the_list_names_every_run_and_escapes(client):
    found = client.get("/")
    assert found.code == 200
    assert "3 of 3 runs" in found.text
    assert "&lt;b&gt;odd&lt;/b&gt;" in found.text
    assert "<b>odd</b>" not in found.text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=good", 1),
        ("q=GOOD first", 1),
        ("q=nothing", 0),
        ("suite=labels", 3),
        ("suite=har", 0),
        ("folder=second", 1),
        ("state=partial", 0),
    ],
)
def test_search_and_filter(client, query, count):
    assert f"{count} of 3 runs" in client.get(f"/?{quote(query, safe='=&')}").text


def order(text):
    return re.findall(r'href="/run/[^"]*">([^<]*)<', text)


def test_sorting_goes_both_ways(client):
    names = order(client.get("/?sort=system").text)
    assert names == sorted(names, key=str.lower)
    assert order(client.get("/?sort=system&turned=1").text) == names[::-1]


def test_addresses_that_make_no_sense_still_give_a_list(client):
    assert client.get("/?sort=__class__&page=-3&turned=yes&q=%00").code == 200


@pytest.mark.parametrize("place", [0, 2])
def test_a_run_has_its_page(client, keys, place):
    found = client.get(f"/run/{quote(keys[place])}")
    assert found.code == 200
    assert "labels: scores" in found.text
    page = seen(found.text)
    assert not page.bad
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith(("/", "#", "http://127.0.0.1")) for link in page.links)


def test_a_table_can_be_downloaded_in_three_formats_that_agree(client, keys):
    page = client.get(f"/run/{quote(keys[0])}").text
    links = dict.fromkeys(re.findall(r'href="(/item/together/0/[^"]*)"', page.replace("&amp;", "&")))
    answers = {link.partition("?")[0].rpartition(".")[2]: client.get(link) for link in links}
    assert sorted(answers) == ["csv", "json", "tex"]
    assert all("attachment" in answer.headers["content-disposition"] for answer in answers.values())
    row = next(csv.DictReader(io.StringIO(answers["csv"].text)))
    table = json.loads(answers["json"].text)
    cell = (table["tables"][0] if "tables" in table else table[0] if isinstance(table, list) else table)["rows"][0]
    assert float(row["accuracy"]) == cell["accuracy"]["value"]
    assert r"\begin{tabular}" in answers["tex"].text


def test_runs_together_are_compared_in_one_table(client, keys):
    found = client.get(f"/together?{runs(keys[:2])}")
    assert found.code == 200
    assert "paired comparison" in found.text
    assert client.get(f"/together?like={quote(keys[0])}").code == 200


def test_a_comparison_shows_every_case(client, keys):
    found = client.get(f"/compare?{runs(keys[:2])}&measure=accuracy")
    assert found.code == 200
    assert "difference of every case, accuracy" in found.text
    assert "units are answered differently" in found.text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/compare", 400),
        ("/compare?run=first/nothing&run=x", 404),
        ("/together", 400),
        ("/run/../../etc/passwd", 404),
        ("/run/first/..%2f..", 404),
        ("/case?run=../..", 404),
        ("/data/case?run=nothing&case=x", 404),
        ("/board", 400),
        ("/item/together/99999/x.csv", 400),
        ("/item/nothing/0/x.csv", 404),
        ("/file/nothing/scores.json", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/app.py", 404),
        ("/assets/none.css", 404),
        ("/etc/passwd", 404),
    ],
)
def test_what_is_not_there_is_said_in_so_many_words(client, path, code):
    found = client.get(path)
    assert found.code == code
    assert "root:" not in found.text
    if path.startswith(("/data", "/item")):
        assert found.json()["error"]
    else:
        assert "To the list of runs" in found.text


def test_a_board_of_a_suite_without_one_says_so(client, keys):
    found = client.get(f"/board?{runs(keys[:1])}")
    assert found.code == 400
    assert "has no board" in found.text


def test_an_empty_folder_tells_how_to_make_runs(tmp_path):
    found = Client(application(tmp_path)).get("/")
    assert "No runs here yet" in found.text
    assert "gnomon demo" in found.text


def test_names_in_a_hostile_manifest_are_text(made, tmp_path):
    shutil.copytree(made / "first", tmp_path / "runs")
    victim = next((tmp_path / "runs").iterdir())
    manifest = json.loads((victim / "manifest.json").read_text())
    manifest |= {"system": HOSTILE, "id": HOSTILE}
    manifest["protocol"] |= {"name": HOSTILE, "variant": HOSTILE}
    manifest["summary"]["headline"] = HOSTILE
    (victim / "manifest.json").write_text(json.dumps(manifest))
    audit = json.loads((victim / "audit.json").read_text())
    audit["findings"] = [
        {"id": HOSTILE, "severity": "warning", "where": HOSTILE, "evidence": HOSTILE, "remedy": HOSTILE}
    ]
    (victim / "audit.json").write_text(json.dumps(audit))
    client = Client(application(tmp_path / "runs"))
    for path in ("/", f"/run/{quote(victim.name)}", f"/together?like={quote(victim.name)}"):
        page = client.get(path)
        assert page.code == 200
        assert "<script>alert" not in page.text
        found = seen(page.text)
        assert not found.bad
        assert "x" not in found.links


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"null",
        b"[]",
        b'{"schema": "gnomon.run/1"}',
        b"\xff\xfe",
        b'{"a": 1e999}',
    ],
)
def test_any_manifest_leaves_the_list_standing(made, tmp_path, content):
    shutil.copytree(made / "first", tmp_path / "runs")
    victim, other = sorted((tmp_path / "runs").iterdir())[:2]
    (victim / "manifest.json").write_bytes(content)
    client = Client(application(tmp_path / "runs"))
    page = client.get("/")
    assert page.code == 200
    assert "1 of 1 runs" in page.text
    assert "1 folder cannot be read" in page.text
    assert client.get(f"/run/{quote(victim.name)}").code in (400, 404, 422)
    assert client.get(f"/run/{quote(other.name)}").code == 200


def test_a_run_that_cannot_be_read_is_left_out_of_others_together(made, tmp_path):
    shutil.copytree(made / "first", tmp_path / "runs")
    gnomon_runs = sorted((tmp_path / "runs").iterdir())
    (gnomon_runs[0] / "tallies.npz").write_bytes(b"damaged")
    client = Client(application(tmp_path / "runs"))
    found = client.get(f"/together?like={quote(gnomon_runs[1].name)}")
    assert found.code == 200
    assert "1 run is left out, which cannot be read" in found.text
    assert str(tmp_path) not in found.text
    compared = client.get(f"/compare?{runs(path.name for path in gnomon_runs)}")
    assert compared.code == 400


def test_damaged_exhibits_leave_the_run_readable(made, tmp_path):
    shutil.copytree(made / "first", tmp_path / "runs")
    victim = next((tmp_path / "runs").iterdir())
    (victim / "exhibits.npz").write_bytes(b"PK damaged")
    found = Client(application(tmp_path / "runs")).get(f"/run/{quote(victim.name)}")
    assert found.code == 200
    assert "The cases of this run cannot be looked at" in found.text


@pytest.mark.parametrize("name", hostile.SMALL)
def test_pages_of_hostile_runs_run_nothing_and_say_what_is_wrong(made, tmp_path, name):
    good = next((made / "first").iterdir())
    hostile.make_run(good, tmp_path, name)
    shutil.copytree(good, tmp_path / "good" / good.name)
    key, beside = hostile.place(tmp_path, name).relative_to(tmp_path).as_posix(), f"good/{good.name}"
    own = Client(application(tmp_path))
    for page in ("/", f"/run/{key}", f"/together?run={key}", f"/compare?run={beside}&run={key}", f"/case?run={key}"):
        found = own.get(page)
        assert found.code < 500, (page, found.text[-300:])
        assert "window.ran" not in found.text
    assert not list(tmp_path.rglob("executed"))
