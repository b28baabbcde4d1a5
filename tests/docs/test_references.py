"""The references are whole: every option, every public name, every measure and every check has its place."""

import ast
import re
import shlex
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from docs.site import api, commands, docstrings, markdown, names, registered, told

from gnomon.audit.registry import CHECKS
from gnomon.core import registry
from gnomon.core.options import parameters
from gnomon.measures.classification import F1
from gnomon.measures.matching import FirstOnsetNoLater

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in (*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/reference").glob("*.md"), ROOT / "README.md")
    if path.exists()
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*")
OTHERS = {
    "--no-deps", "--only-binary", "--python-version", "--find-links", "--no-index", "--upgrade", "--extra-index-url",
    "--produce", "--check", "--scheduler-file", "--nthreads", "--nworkers", "--local-directory",
}  # fmt: skip
"""Options of pip and of the builder of this site, which pages name beside gnomon's own."""


@pytest.fixture(scope="module")
def known():
    """Every spelling of every option, by command."""
    found = {(): {name for item in commands.top() for name in item.spellings} | {"--help", "-h"}}
    for command in commands.every():
        found[command.words] = {name for item in command.given for name in item.spellings} | {"--help", "-h"}
    return found


def test_every_verb_and_every_suite_has_a_page(site):
    from gnomon.cli.main import VERBS

    for verb in VERBS:
        assert f"reference/commands/{verb}.html" in site.files
    for name, suite in registry.suites().items():
        for verb in suite.verbs:
            assert f"reference/commands/{verb}-{name}.html" in site.files


def test_every_option_of_every_struct_is_in_the_page_of_its_command(site):
    """Read from the option structs, not from the commands that the pages are made from."""
    for name, suite in registry.suites().items():
        for verb, offered in suite.verbs.items():
            text = site.files[f"reference/commands/{verb}-{name}.html"].decode()
            for parameter in parameters(offered.options):
                spelling = parameter.option.metavar if parameter.option.argument else parameter.flag
                where = f"{spelling} of gnomon {verb} {name}"
                assert f"<code>{spelling}" in text, where
                assert all(f"<code>{alias}" in text for alias in parameter.option.aliases), where
                assert all(choice in text for choice in parameter.option.choices), where
                assert parameter.option.help[1:20].replace("&", "&amp;").replace("<", "&lt;")[:12] in text, where


def test_every_option_has_words(known):
    assert known
    silent = [
        f"{command.title} {item.spellings[0]}"
        for command in commands.every()
        for item in command.given
        if item.spellings[0].startswith("-") and not item.help
    ]
    assert silent == []


def test_every_public_name_has_a_text_and_a_place(pages):
    silent = [name.dotted for name in names.every() if not name.doc.strip()]
    silent += [f"{name.dotted}.{part.name}" for name in names.every() for part in name.members if _silent(part)]
    assert silent == []
    for name in names.every():
        assert name.name in pages[api.address(name.module)].ids, name.dotted


def test_a_text_that_is_only_inherited_is_none():
    """Python's own words for what has none ("Call self as a function.") say nothing to a reader."""

    class Room(ModuleType):
        def __call__(self):
            return None

    class Named(dict):
        """A class."""

        def get(self, key, default=None):
            return default

    assert names.Name("gnomon", "room", Room("room", "A room."), "").doc == ""
    named = names.Name("gnomon", "Named", Named, "")
    assert [(part.name, part.doc) for part in named.members] == [("get", "")]


def test_the_text_of_the_package_names_its_verbs():
    import gnomon

    verbs = {name.name for name in names.public("gnomon") if name.name in gnomon.__all__ and name.kind == "function"}
    assert {"score", "audit", "verify"} < verbs
    assert sorted(verb for verb in verbs if f"``{verb}``" not in gnomon.__doc__) == []


def _silent(part):
    return part.kind != "field" and not part.doc.strip()


def test_public_names_are_those_that_are_promised():
    import gnomon

    found = {name.dotted for name in names.every()}
    assert {f"gnomon.{name}" for name in gnomon.__all__} <= found
    for some in ("core.measure.Measure", "core.measure.Scored", "core.options.Option", "measures.events.evaluate"):
        assert f"gnomon.{some}" in found


def test_what_pages_and_examples_import_is_in_the_reference():
    found = {name.dotted for name in names.every()} | set(names.modules())
    used = {name: path.name for path in PAGES for text in _python(path) for name in _imported(text)}
    used |= {name: path.name for path in (ROOT / "examples").rglob("*.py") for name in _imported(path.read_text())}
    assert used
    assert {name: where for name, where in used.items() if name not in found} == {}


def _python(path):
    return [text for language, text in FENCE.findall(path.read_text(encoding="utf-8")) if language == "python"]


def _imported(text):
    """Return the dotted names that a text imports from gnomon; a text that is not whole has none."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gnomon":
            yield from (f"{node.module}.{item.name}" for item in node.names)
        elif isinstance(node, ast.Import):
            yield from (item.name for item in node.names if item.name.split(".")[0] == "gnomon")


def _code(path):
    """Return all code of a page: blocks, and words in a line."""
    text = path.read_text(encoding="utf-8")
    for token in markdown.parser().parse(text):
        if token.type == "fence":
            yield token.content
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_options_that_a_page_names_exist(path, known):
    every = set().union(*known.values()) | OTHERS
    named = {name for text in _code(path) for name in OPTION.findall(text)}
    assert sorted(named - every) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_that_a_page_gives_take_their_options(path, known):
    wrong = []
    for words in _given(path):
        command = next((own for size in (2, 1) if (own := tuple(words[:size])) in known), None)
        if command is None:
            wrong.append(f"no such command: gnomon {' '.join(words)}")
            continue
        options = {word.partition("=")[0] for word in words if OPTION.match(word)}
        wrong += [f"{option} of: gnomon {' '.join(words)}" for option in sorted(options - known[command] - known[()])]
    assert wrong == []


def _given(path):
    """Return the words behind ``gnomon`` of every command in console and shell blocks."""
    for language, text in FENCE.findall(path.read_text(encoding="utf-8")):
        joined = text.replace("\\\n", " ")
        lines = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
        for line in lines if language == "console" else joined.splitlines() if language in ("sh", "bash") else ():
            yield from _commands(line)


def _commands(line):
    """Return the commands of gnomon in a line of a shell: pipes, redirections and lists take them apart."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = "#"
    part = []
    try:
        words = [*reader, ";"]
    except ValueError as error:
        pytest.fail(f"no shell can read {line!r}: {error}")
    for word in words:
        if set(word) <= set("|&;<>()"):
            if part[:1] == ["gnomon"] and len(part) > 1 and not part[1].startswith("-"):
                yield part[1:]
            part = []
        else:
            part.append(word)


def test_commands_are_taken_apart():
    line = "cd a && gnomon run events x.json --out 'a | b' 2>/dev/null | head -3 # gnomon score no"
    assert list(_commands(line)) == [["run", "events", "x.json", "--out", "a | b", "2"]]


def test_every_measure_is_in_its_table(site):
    text = site.files[registered.MEASURES].decode()
    measures = registry.measures()
    assert len(measures) > 100
    assert [repr(item) for item in measures if _escaped(repr(item)) not in text] == []
    assert [repr(item) for item in measures if not registered.undefined(item)] == []
    for item in measures:
        assert registered.about(type(item).__module__) or ":mod:" in registered.inherited([item]), item


def test_every_measure_has_a_sentence_of_its_own(site):
    text = site.files[registered.MEASURES].decode()
    sentences = {}
    for item in registry.measures():
        said = told.sentence(item)
        sentences.setdefault(said, []).append(repr(item))
        plain = docstrings.inline(said, lambda _: None)
        assert plain in text, item
    assert {said: own for said, own in sentences.items() if len(own) > 1} == {}


def test_a_sentence_says_what_parameters_mean():
    """Worked by hand from the docstrings of the classes and their bases."""
    assert told.sentence(F1("micro", ("a", "b"), None)) == (
        "F1, the harmonic mean of precision and recall, averaged over a class set: counts of all classes together; "
        "these classes (a, b); 0/0 is left out."
    )
    assert told.sentence(FirstOnsetNoLater(2.5)) == (
        "Share of the events whose first return starts no later than so many seconds after their start, however early "
        "(seconds 2.5)."
    )


def _escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_every_check_and_every_finding_is_in_its_page(site, pages):
    text = site.files[registered.CHECKED].decode()
    assert set(CHECKS) <= set(pages[registered.CHECKED].ids)
    assert [name for check in CHECKS.values() for name in check.finds if f"<code>{name}</code>" not in text] == []


def test_suite_pages_lead_to_their_options(site):
    for suite, own in registry.suites().items():
        address = f"{suite}.html"
        if address in site.files:
            text = site.files[address].decode()
            assert all(f'href="reference/commands/{verb}-{suite}.html"' in text for verb in own.verbs), suite


OUTSIDE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "notebooks/README.md")]
OUTSIDE += sorted((ROOT / "examples").glob("*/README.md"))


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_pages_outside_of_the_site_lead_somewhere(path):
    """Pages of the site are held to the same by the builder; these are read in the repository."""
    links = []
    markdown.render(path.read_text(encoding="utf-8"), lambda link: links.append(link) or link)
    for link in links:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            continue
        target = (path.parent / parts.path).resolve() if parts.path else path
        assert target.exists(), f"{link} leads nowhere"
        if parts.fragment:
            there = markdown.render(target.read_text(encoding="utf-8"), lambda link: link)
            assert parts.fragment in {part.anchor for part in there.parts}, f"{link}: no such heading"
