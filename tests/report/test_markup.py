"""Markup: nothing from outside becomes an element. Expected texts are written by hand."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.report.markup import Markup, clean, join, shortened, tag, text


class Reader(HTMLParser):
    """Collects what a browser would find."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.found, self.said = [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))

    def handle_data(self, data):
        self.said.append(data)


def test_content_and_attributes_are_escaped():
    assert tag("td", '<b>"x"&</b>', title='"><script>') == (
        '<td title="&quot;&gt;&lt;script&gt;">&lt;b&gt;"x"&amp;&lt;/b&gt;</td>'
    )


def test_only_markup_passes_as_it_is():
    assert tag("p", Markup("<b>x</b>"), "<i>") == "<p><b>x</b>&lt;i&gt;</p>"
    assert Markup("<b>") + "<i>" == "<b>&lt;i&gt;"
    assert isinstance(Markup("<b>") + "<i>", Markup)
    assert join(["a", Markup("<br>"), "<"], " & ") == "a &amp; <br> &amp; &lt;"
    assert text(3.5) == "3.5"


def test_attributes_are_arguments():
    assert tag("label", "x", for_="a", cls="b", aria_label="c", hidden=True, disabled=False, id=None) == (
        '<label for="a" class="b" aria-label="c" hidden>x</label>'
    )
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert tag("p", None, "x") == "<p>x</p>"


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("p onclick=x", {}),
        ("p", {"onclick": "x"}),
        ("p", {"ONLOAD": "x"}),
        ("p", {"style": "color: red"}),
        ("a", {"href": "javascript:alert(1)"}),
        ("a", {"href": " java\tscript:alert(1)"}),
        ("a", {"href": "vbscript:x"}),
        ("p", {"x y": "z"}),
    ],
)
def test_what_a_strict_policy_forbids_is_refused(name, attributes):
    with pytest.raises(ValueError, match=r"no name of an element|no attribute|scheme"):
        tag(name, "x", **attributes)


def test_void_elements_have_no_content():
    with pytest.raises(ValueError, match="no content"):
        tag("br", "x")


@pytest.mark.parametrize("href", ["#here", "a.html", "?x=1", "data:text/csv;base64,eA==", "https://example.org"])
def test_plain_addresses_are_kept(href):
    assert Reader(tag("a", "x", href=href)).found == [("a", {"href": href})]


def test_characters_that_deceive_are_shown():
    assert clean("a\u202egpj.exe\x00") == "a⟨U+202E⟩gpj.exe⟨U+0000⟩"
    assert clean("tab\tline\nend") == "tab\tline\nend"
    assert shortened("x" * 10_000, 10) == "x" * 9 + "…"


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_stays_text(content, title):
    read = Reader(tag("p", content, title=title))
    assert [name for name, _ in read.found] == ["p"]
    assert set(read.found[0][1]) == {"title"}
    assert "".join(read.said).replace("\r\n", "\n") == clean(content).replace("\r\n", "\n")
    tag("p", content).encode("utf-8")
