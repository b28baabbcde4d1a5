"""What pages say is so: headings are explained, figures agree between pages, code is that of the examples."""

import ast
import re
from pathlib import Path

import pytest
from acceptance.installed_wheel import built
from docs.site import commands, markdown

from gnomon.core import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
CONSOLE = re.compile(r"^```console[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"(.+?)(?: \([^()]*\))? [↑↓]")
MB = 1e6


def read(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def headings(page):
    """Names of the measures in the tables of a page: columns with an arrow, and rows that say what is better."""
    for line in "\n".join(CONSOLE.findall(page)).splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        yield from (found[1] for cell in cells if line.startswith(" ") and (found := ARROW.fullmatch(cell)))
        if len(cells) > 2 and cells[1] in ("higher", "lower"):
            yield re.sub(r" \(\S+\)$", "", cells[0])


def test_headings_are_read_from_tables():
    table = (
        "```console\n$ x\n system   n   macro f1 ↑   error (mm) ↓\n edit   higher   58.3 [1, 2]\n  higher ↑ is\n```\n"
    )
    assert list(headings(table)) == ["macro f1", "error", "edit"]


@pytest.mark.parametrize("suite", sorted(registry.suites()))
def test_every_heading_of_a_table_is_explained(suite):
    if not (ROOT / f"docs/{suite}.md").exists():
        pytest.skip(f"{suite} comes from elsewhere")
    page = read(suite)
    section = re.search(r"^## What it measures$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    known = set(re.findall(r"`([^`]+)`", section.replace("\n", " ")))
    systems = set(re.findall(r"^ (\S+)  +[\d,]+  +\d+ ", page, re.MULTILINE))
    named = {re.sub(r"^F1 \S+$", "F1", heading) for heading in headings(page)} - systems
    assert named
    assert sorted(named - known) == []


def test_every_block_names_its_language():
    bare = {
        f"{path.name}:{token.map[0] + 1}"
        for path in PAGES
        for token in markdown.parser().parse(path.read_text(encoding="utf-8"))
        if token.type == "fence" and not token.info
    }
    assert bare == set()


def test_links_of_the_site_are_called_after_pages_and_not_after_files(site):
    named = {
        (path.stem, words)
        for path in PAGES
        for words in re.findall(r">([\w./-]+\.md)</a>", site.files[f"{path.stem}.html"].decode())
    }
    assert named == set()


def test_decisions_are_headed_alike():
    heads = [path.read_text(encoding="utf-8").partition("\n")[0] for path in (ROOT / "docs/decisions").glob("*.md")]
    assert [head for head in heads if not re.match(r"# \d{3} [^:\s]", head)] == []


def test_verbs_that_write_six_forms_are_those_that_are_named():
    named = set(re.findall(r"`(\w+)`", re.search(r"six forms: (.+?)\. ", read("reports"), re.DOTALL)[1]))
    able = {
        command.words[0]
        for command in commands.every()
        if {"--format", "--output"} <= {name for item in command.given for name in item.spellings}
    }
    assert named == able


def test_the_range_of_coverage_is_that_of_its_table():
    page = read("statistics")
    table = page[page.index("## How often, by measure") :]
    rows = re.findall(r"^\| (.+?) \| `.+?` \| .+? \| ([\d.]+) % \|$", table, re.MULTILINE)
    plain = [float(share) for family, share in rows if "seeds" not in family]
    crossed = [float(share) for family, share in rows if "seeds" in family]
    said = re.search(r"Over (\d+) combinations.+?in ([\d.]+) to ([\d.]+) %.+?up to ([\d.]+) %", page, re.DOTALL)
    assert int(said[1]) == len(rows)
    assert (float(said[2]), float(said[3])) == (min(*plain, *crossed), max(plain))
    assert float(said[4]) == max(crossed)


def plain(node):
    """A class without its docstrings, as text."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:]
    return ast.dump(node)


def shown():
    """Classes of Python blocks, with the page that shows them."""
    for path in PAGES:
        for text in PYTHON.findall(path.read_text(encoding="utf-8")):
            try:
                tree = ast.parse(text)
            except SyntaxError:
                continue
            yield from ((path.name, node) for node in tree.body if isinstance(node, ast.ClassDef))


def test_classes_on_pages_are_those_of_the_examples():
    """Comments and docstrings may differ; what runs may not. Of the package of an example, pages show parts."""
    there = {
        node.name: plain(node)
        for path in (ROOT / "examples").glob("*/*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    found = {(page, node.name): plain(node) for page, node in shown() if node.name in there}
    assert {"Neighbours", "Shaking", "Lowest", "ConvNet", "Matthews"} <= {name for _, name in found}
    assert {key for key, text in found.items() if text != there[key[1]]} == set()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_sizes_of_the_page_are_those_of_what_is_built(kind, tmp_path):
    """Within a fifth: a page is no place for more digits."""
    stated = float(re.search(rf"The {kind} \(([\d.]+) MB\)", read("install"))[1])
    size = built(tmp_path, kind).stat().st_size / MB
    assert stated == pytest.approx(size, rel=0.2)
