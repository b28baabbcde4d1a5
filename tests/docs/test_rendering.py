"""Markdown, docstrings, notebooks and code as markup: small pages whose markup was written by hand."""

import json

import pytest
from docs.site import code, docstrings, markdown, notebooks
from docs.site.places import Places, relative


def rendered(source):
    return markdown.render(source, lambda link: f"to:{link}" if link.startswith("never") else link)


def test_headings_have_anchors_that_are_unique():
    text = rendered("# A `b` c\n\n## Same\n\n## Same\n\n#### deep\n")
    assert text.title == "A b c"
    assert [part.anchor for part in text.parts] == ["a-b-c", "same", "same-1"]
    assert 'id="same-1"' in text.body


def test_html_in_a_page_is_text():
    body = rendered("# t\n\n<script>alert(1)</script> and <b>b</b>\n").body
    assert "<script" not in body
    assert "&lt;script&gt;" in body


def test_an_address_that_runs_something_is_no_link():
    assert "javascript:" not in rendered("[x](javascript:alert(1))").body.replace("[x](javascript:alert(1))", "")


def test_a_link_that_is_a_file_name_is_called_after_its_page():
    source = "[a.md](a.md#x) [here](a.md) [b.md](b.md)"
    body = markdown.render(source, lambda link: link, called={"a.md#x": "Page A", "a.md": "Page A"}.get).body
    assert '<a href="a.md#x">Page A</a> <a href="a.md">here</a> <a href="b.md">b.md</a>' in body


def test_tables_keep_their_alignment_without_styles():
    body = rendered("| a | b |\n|---|--:|\n| 1 | 2 |\n").body
    assert '<td class="number">2</td>' in body
    assert "style=" not in body


def test_commands_are_copied_without_their_output():
    body = code.block("$ gnomon demo\nout\n\n$ ls\nfile\n", "console")
    assert 'data-text="gnomon demo\nls"' in body
    assert "<b>gnomon demo</b>" in body


def test_a_command_of_several_lines_is_copied_whole():
    body = code.block("$ gnomon run \\\n  --out x\nprinted\n", "console")
    assert 'data-text="gnomon run \\\n  --out x"' in body
    assert "<b>  --out x</b>\nprinted" in body


@pytest.mark.parametrize("language", ["python", "toml", "sh", "json", "latex", "nonsense", ""])
def test_colours_change_no_letter(language):
    import html
    import re

    source = 'x = "a < b"  # c & d\n\n\n    indented\n'
    assert html.unescape(re.sub(r"<[^>]+>", "", code.coloured(source, language))) == source


def test_words_under_a_heading_can_be_found():
    text = rendered("# t\n\nfirst\n\n## part\n\nsecond `code`\n\n```console\n$ gnomon demo\nnot this\n```\n")
    assert [part.said for part in text.parts] == ["first", "second code gnomon demo"]


DOC = """Say it.

More of ``code`` and :func:`~gnomon.core.seeds.generator`, *so*.

Parameters
----------
name
    What it is,
    in two lines.

- one
  goes on
- two

Formula::

    a * b

>>> 1 < 2
True
"""


def test_a_docstring_in_the_numpy_convention():
    body = docstrings.render(DOC, {"gnomon.core.seeds.generator": "x.html#generator"}.get)
    assert body.startswith("<p>Say it.</p>")
    assert '<a href="x.html#generator"><code>generator</code></a>' in body
    assert "<em>so</em>" in body
    assert '<p class="part">Parameters</p>' in body
    assert "<dt>name</dt><dd>What it is, in two lines.</dd>" in body
    assert "<ul><li>one goes on</li><li>two</li></ul>" in body
    assert "<p>Formula:</p>" in body
    assert "a * b\n" in body
    assert "&lt;" in body
    assert body.count('aria-label="Example"') == 1


def test_every_docstring_keeps_its_words():
    """Words of all public names, against what is left of their markup: nothing is lost on the way."""
    import html
    import re

    from docs.site import names

    word = re.compile(r"\w{3,}")
    for name in names.every():
        left = html.unescape(re.sub(r"<[^>]+>", " ", docstrings.render(name.doc, lambda _: None)))
        said = re.sub(r":\w+:`~[\w.]*?(\w+)`", r"\1", name.doc)
        lost = set(word.findall(re.sub(r":\w+:`", "`", said))) - set(word.findall(left))
        assert not lost, (name.dotted, lost)


def test_a_notebook_shows_what_it_holds_and_nothing_that_runs():
    table = (
        '<style>td {}</style><script>x()</script><table onclick="x()"><tr><td style="a" class="n">1</td></tr></table>'
    )
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "text"]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [
                {"output_type": "execute_result", "data": {"text/html": table, "text/plain": "no"}},
                {"output_type": "stream", "text": ["a <\n", "b\n"]},
            ],
        },
        {"cell_type": "markdown", "source": "## Title"},
    ]
    text = notebooks.render(json.dumps({"cells": cells}), lambda link: link)
    assert text.title == "Title"
    assert [part.anchor for part in text.parts] == ["title", "title-1"]
    assert '<table><tr><td class="n">1</td></tr></table>' in text.body
    assert "a &lt;\nb" in text.body
    for word in ("script", "style", "onclick", "x()", "td {"):
        assert word not in text.body.replace('class="', "")


@pytest.fixture
def places(tmp_path):
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "examples").mkdir()
    for name in ("docs/a.md", "docs/b.md", "docs/figures/p.png", "examples/x.py"):
        (tmp_path / name).touch()
    return Places(tmp_path, {tmp_path / "docs/a.md": "a.html", tmp_path / "docs/b.md": "deep/b.html"})


def test_links_lead_to_pages_pictures_and_files(places):
    docs = places.root / "docs"

    def lead(link):
        return places.resolve(docs / "b.md", "deep/b.html", link)

    assert lead("a.md#part") == "../a.html#part"
    assert lead("figures/p.png") == "../figures/p.png"
    assert lead("../examples/x.py") == "../source/examples/x.py.html"
    assert lead("#here") == "#here"
    assert lead("https://example.org/a.md") == "https://example.org/a.md"
    assert places.problems == []
    lead("gone.md")
    lead("../../outside.md")
    assert len(places.problems) == 2
    assert set(places.copied) == {"figures/p.png"}
    assert set(places.shown) == {"source/examples/x.py.html"}


def test_addresses_are_relative():
    assert relative("a/b/c.html", "a/d.html") == "../d.html"
    assert relative("index.html", "index.html") == "index.html"
