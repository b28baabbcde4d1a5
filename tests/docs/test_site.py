"""The site holds together: links, anchors, pictures, titles, navigation; it asks nobody for anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.site.checking import problems, reached
from docs.site.making import WRITTEN, Site, write

ROOT = Path(__file__).resolve().parents[2]


def test_nothing_is_wrong(site):
    assert site.problems == []


def test_every_page_of_docs_is_there_and_the_navigation_leads_to_it(site, pages):
    written = [
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")
    ]
    assert set(written) <= set(pages)
    assert reached(pages) == set(pages)


def test_every_decision_is_in_the_list(site):
    listed = site.files["decisions/index.html"].decode()
    decisions = sorted(path.stem for path in (ROOT / "docs/decisions").glob("*.md"))
    assert decisions
    assert [name for name in decisions if f'href="{name}.html"' not in listed] == []


def test_pages_load_only_files_of_the_site(site, pages):
    for address, page in pages.items():
        assert not [name for name in page.loaded if ":" in name or name.startswith("//")], address
    for name in ("assets/site.css", "assets/style.css"):
        text = site.files[name].decode()
        assert "@import" not in text
        assert "url(" not in text
    scripts = "".join(site.files[f"assets/{name}"].decode() for name in ("site.js", "report.js"))
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|eval\(|innerHTML", scripts)


def test_every_page_has_the_policy_and_a_title_of_its_own(site, pages):
    for address, page in pages.items():
        assert page.title, address
        assert b"default-src &#x27;none&#x27;" in site.files[address], address
        assert b"<style" not in site.files[address], address
    assert len({page.title for page in pages.values()}) == len(pages)


def test_every_picture_of_the_pages_is_there(site):
    shown = {
        match for path in (ROOT / "docs").glob("*.md") for match in re.findall(r"!\[.*?\]\((.+?)\)", path.read_text())
    }
    assert shown
    assert {name for name in shown if name not in site.files} == set()


def test_no_address_of_an_object_or_of_this_machine_is_in_a_page(site):
    for address, content in site.files.items():
        if address.endswith(".html"):
            text = content.decode()
            assert not re.search(r" at 0x[0-9a-f]{6,}", text), address
            assert str(ROOT) not in text, address


def test_the_same_tree_gives_the_same_bytes(site, tmp_path):
    """Built again in another process, whose sets and dictionaries of texts have another order."""
    command = [sys.executable, str(ROOT / "docs/build.py"), "--output", str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    different = [name for name, content in site.files.items() if (tmp_path / name).read_bytes() != content]
    assert different == []


def test_the_search_knows_every_page(site, pages):
    import json

    text = site.files["assets/search-index.js"].decode()
    rows = json.loads(text.removeprefix("window.gnomonIndex = ").rstrip().removesuffix(";"))
    assert {row[0].partition("#")[0] for row in rows} == set(pages)
    assert [row[0] for row in rows if re.search(r"``|:\w+:`", row[3])] == []
    for address, *_ in rows:
        page, _, anchor = address.partition("#")
        assert not anchor or anchor in pages[page].ids, address


def test_writing_takes_away_what_an_earlier_site_left_and_nothing_else(site, tmp_path):
    folder, outside = tmp_path / "site", tmp_path / "outside.html"
    write(Site({**site.files, "reference/old/gone.html": b"old"}, []), folder)
    outside.touch()
    (folder / "mine.txt").write_text("mine")
    with (folder / WRITTEN).open("a") as record:
        record.write("../outside.html\n")
    write(site, folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {*site.files, WRITTEN, "mine.txt"}
    assert not (folder / "reference/old").exists()
    assert outside.exists()
    assert all((folder / address).read_bytes() == content for address, content in site.files.items())


FRAME = "<html><head><title>{}</title></head><body>{}</body></html>"


def test_what_is_wrong_is_found():
    """Each fault planted by hand is named, and nothing else."""
    planted = {
        "index.html": FRAME.format("a", '<h1 id="x">a</h1><nav><a href="b.html#no">b</a><a href="c.html">c</a></nav>'),
        "b.html": FRAME.format(
            "b", '<h1>b</h1><p id="x"></p><p id="x"></p><img src="no.png"><a href="gone.html">g</a>'
        ),
        "c.html": FRAME.format("b", '<h2>c</h2><script src="https://example.org/x.js"></script><p onclick="x()">'),
        "d.html": FRAME.format("d", "<h1>d</h1>"),
    }
    found = problems({address: text.encode() for address, text in planted.items()})
    expected = [
        "index.html: the link 'b.html#no' leads to no place of b.html",
        "b.html: the id 'x' is there 2 times",
        "b.html: the picture no.png has no text for those who do not see it",
        "b.html: the link 'no.png' leads nowhere",
        "b.html: the link 'gone.html' leads nowhere",
        "c.html: <p> has onclick",
        "c.html: </body> closes <p>",
        "c.html: 0 headings of the first level: expected one",
        "c.html: it loads https://example.org/x.js from elsewhere",
        "b.html: another page has the title 'b'",
        "c.html: another page has the title 'b'",
        "d.html: the navigation does not lead there",
    ]
    assert [text for text in expected if text not in found] == []
