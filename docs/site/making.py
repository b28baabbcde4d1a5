"""The whole site in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docs.site import api, code, commands, finding, markdown, names, notebooks, registered, sources
from docs.site.checking import problems
from docs.site.frame import Group, Page, Tree, document
from docs.site.markdown import Part, Text, heading
from docs.site.places import Places, relative
from gnomon.core import registry
from gnomon.report import assets
from gnomon.report.markup import join, tag

HOME = "index.html"
REFERENCE = "reference/index.html"
FILES = "source/index.html"
ABOUT = {
    "decisions": "What was decided, and why: the question, what was found, what it costs.",
    "notebooks": "A notebook for every suite, with the output that it gave when it was last executed.",
}
"""What is said above the list of a folder."""
WRITTEN = "assets/files.txt"
"""What was written, for the next time."""
LARGEST = 100_000
"""Letters of a file that are shown."""


@dataclass(frozen=True)
class Site:
    """Addresses and bytes, and what is wrong with them."""

    files: dict[str, bytes]
    problems: list[str]


def make(root: Path) -> Site:
    """Make the site of a tree."""
    listed = sources.listed(root)
    missing = [f"docs/index.md: there is no {item.path.relative_to(root)}" for item in listed if not item.path.exists()]
    listed = [item for item in listed if item.path.exists()]
    generated = list(_generated())
    places = Places(root, _addresses(root, listed, generated), labels={item.path: item.label for item in listed})
    pages = {page.address: page for page in (*_written(places, listed), *generated)}
    pages |= {page.address: page for page in _files(places)}
    groups = _groups(root, listed, FILES in pages)
    tree = Tree(pages, groups)
    files = {address: document(page, tree) for address, page in pages.items()}
    files |= _assets(root) | {"assets/search-index.js": finding.index(pages.values())}
    files |= {address: path.read_bytes() for address, path in places.copied.items()}
    wrong = [*missing, *sources.unlisted(root, set(places.pages)), *places.problems, *problems(files)]
    return Site(dict(sorted(files.items())), wrong)


def _addresses(root: Path, listed: Sequence[sources.Source], generated: Sequence[Page]) -> dict[Path, str]:
    """Return every page by its source: those that are named, and those in folders that are."""
    paths = [root / "docs" / "index.md"]
    for item in listed:
        paths += [item.path, *(sources.inside(item.path) if item.path.is_dir() else [])]
    found = {path: sources.address(root, path) for path in paths}
    # Pages may point to what is generated as if it were written.
    made = {root / "docs" / f"{page.address.removesuffix('.html')}.md": page.address for page in generated}
    return found | made


def _written(places: Places, listed: Sequence[sources.Source]) -> Iterator[Page]:
    front = places.root / "docs" / "index.md"
    yield Page(HOME, _read(places, front))
    for item in listed:
        own = places.pages[item.path]
        if not item.path.is_dir():
            yield Page(own, _with_options(item.path, _read(places, item.path)), label=item.label)
            continue
        inside = [Page(places.pages[path], _read(places, path), own) for path in sources.inside(item.path)]
        yield Page(own, _list(own, item, inside), label=item.label)
        yield from inside


def _read(places: Places, path: Path) -> Text:
    here = places.pages[path]
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return notebooks.render(source, lambda link: places.resolve(path, here, link))
    return markdown.render(
        source, lambda link: places.resolve(path, here, link), called=lambda link: places.called(path, link)
    )


def _list(here: str, item: sources.Source, inside: Sequence[Page]) -> Text:
    said = ABOUT.get(item.path.name, "")
    rows = (tag("li", tag("a", page.text.title, href=relative(here, page.address))) for page in inside)
    body = join([heading(1, item.label, "top", item.label), tag("p", said), tag("ul", *rows)])
    return Text(item.label, body, (Part("top", item.label, 1, [said, *(page.text.title for page in inside)]),))


def _with_options(path: Path, text: Text) -> Text:
    """Return the page of a suite with the commands of the suite under it."""
    if path.parent.name != "docs" or path.stem not in registry.suites():
        return text
    own = [command for command in commands.every() if command.words[1:] == (path.stem,)]
    title, anchor = "Every option", "every-option"
    rows = (
        tag(
            "li",
            tag("a", tag("code", command.title), href=command.address),
            f": {command.help.rstrip('.')} ({len(command.given)} options and arguments)",
        )
        for command in own
    )
    section = join([heading(2, title, anchor, title), tag("p", "Made from the commands themselves:"), tag("ul", *rows)])
    return replace(text, body=text.body + section, parts=(*text.parts, Part(anchor, title, 2)))


def _generated() -> Iterator[Page]:
    own = commands.every()
    titles = {command.words: command.help for command in own}
    index = f"{commands.FOLDER}.html"
    yield Page(index, _verbs(own), label="Commands")
    for command in own:
        above = f"{commands.FOLDER}/{command.words[0]}.html" if len(command.words) > 1 else index
        yield Page(command.address, commands.page(command, titles), above, command.words[-1])
    yield Page(registered.MEASURES, registered.measures())
    yield Page(registered.CHECKED, registered.checks(), label="Checks")
    known = api.homes()
    listing = f"{api.FOLDER}.html"
    yield Page(listing, api.index())
    for module in names.modules():
        room = api.room(module)
        above = api.address(room) if room in names.ROOMS and module != room else listing
        label = module if above == listing else module.rpartition(".")[2]
        yield Page(api.address(module), api.page(module, known), above, label)


def _verbs(own: Sequence[commands.Command]) -> Text:
    title = "Commands"
    said = "Every verb. A verb that works on a suite has a page for each suite with all its options."
    rows = (
        tag(
            "li",
            tag("a", tag("code", command.title), href=relative(f"{commands.FOLDER}.html", command.address)),
            f": {command.help}",
        )
        for command in own
        if len(command.words) == 1
    )
    before = [heading(2, "Before the verb", "before", "Before the verb"), commands.table(commands.top())]
    body = join([heading(1, title, "top", title), tag("p", said), tag("ul", *rows), *before])
    return Text(title, body, (Part("top", title, 1, [said, *(command.title for command in own)]),))


def _files(places: Places) -> Iterator[Page]:
    """Return pages of files of the repository that other pages point to, and the list of them."""
    shown = sorted(places.shown.items())
    if not shown:
        return
    title = "Files"
    rows = (tag("li", tag("a", tag("code", _named(places, path)), href=relative(FILES, own))) for own, path in shown)
    about = tag("p", "Files of the project that pages point to, as they are.")
    yield Page(
        FILES, Text(title, join([heading(1, title, "top", title), about, tag("ul", *rows)]), (Part("top", title, 1),))
    )
    for own, path in shown:
        yield Page(own, _file(places, path), FILES)


def _named(places: Places, path: Path) -> str:
    return path.relative_to(places.root).as_posix()


def _file(places: Places, path: Path) -> Text:
    title = _named(places, path)
    anchors = markdown.Anchors()
    body: list[object] = [heading(1, tag("code", title), anchors.name("top"), title)]
    for item in [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file()):
        try:
            text = item.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if "__pycache__" in item.parts or len(text) > LARGEST:
            continue
        if item != path:
            inner = item.relative_to(path).as_posix()
            body.append(heading(2, tag("code", inner), anchors.name(inner), inner))
        body.append(code.block(text, LANGUAGES.get(item.suffix, ""), label=item.name))
    return Text(title, join(body), (Part("top", title, 1),))


LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".sh": "bash", ".md": "markdown"}


def _groups(root: Path, listed: Sequence[sources.Source], files: bool) -> list[Group]:
    found: dict[str, list[str]] = {}
    for item in listed:
        own = sources.address(root, item.path)
        group = found.setdefault(item.group, [])
        group.append(own)
        if own == REFERENCE:
            group += [f"{commands.FOLDER}.html", registered.MEASURES, registered.CHECKED, f"{api.FOLDER}.html"]
            group += [FILES] if files else []
    return [Group(title, tuple(pages)) for title, pages in found.items()]


def _assets(root: Path) -> dict[str, bytes]:
    own = {f"assets/{name}": assets.read(name).encode() for name in ("style.css", "report.js")}
    folder = root / "docs" / "site" / "assets"
    own |= {f"assets/{path.name}": path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    icon = root / "src" / "gnomon" / "dashboard" / "static" / "icon.svg"
    return own | {"assets/icon.svg": icon.read_bytes()}


def write(site: Site, folder: Path) -> None:
    """Write a site, and take away what an earlier one wrote there; files of others stay."""
    record = folder / WRITTEN
    before = record.read_text(encoding="utf-8").splitlines() if record.is_file() else []
    for address in before:
        path = (folder / address).resolve()
        if address not in site.files and path.is_relative_to(folder.resolve()) and path.is_file():
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
    for address, content in site.files.items():
        path = folder / address
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    record.write_text("".join(f"{address}\n" for address in site.files), encoding="utf-8")
