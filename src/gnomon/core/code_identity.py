"""Which code a stored result depends on: source files by their import graph, installed packages by their versions.

The graph is read from the text of the source; nothing is imported. From a module on, every import statement is
followed, those inside functions too, and calls of ``import_module`` and ``library`` with a literal name. A
module that is gnomon's own, or that lies outside of the folders where packages are installed (the user's project, an
editable install), counts by its content, with the ``__init__`` files above it. An installed package counts by its
version, Python by its minor version; the standard library is part of Python.

Not seen: a module whose name is computed at run time (whoever computes it adds the identity of what it found, as suites
do for systems), what an installed package imports in turn, and data that code reads.

Source is read once in a process, because a module that is imported stays as it was: see :func:`identity_of_object`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = tuple(
    {
        Path(place).resolve()
        for place in (
            *site.getsitepackages(),
            site.getusersitepackages(),
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        )
    }
)

_STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n]*)|import[ \t]+(?P<plain>[^\n]+))"
    r"|\b(?:import_module|library)\(\s*[\"'](?P<literal>\w[\w.]*)[\"']",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
_FOR_TYPES = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """What a result depends on.

    Attributes
    ----------
    files
        Source files by name: of the package, or relative to the folder from which they are imported.
    packages
        Versions of installed packages by the name under which they are imported.
    """

    files: Mapping[str, Path]
    packages: Mapping[str, str]

    @cached_property
    def identity(self) -> str:
        """Hash of the content of all files and of all versions."""
        return fingerprint(
            {
                "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files.items()},
                "packages": dict(self.packages),
                "python": f"{sys.version_info.major}.{sys.version_info.minor}",
            }
        )


@cache
def identity_of(reference: str) -> str:
    """Return the identity of the code behind ``module`` or ``module:function``.

    A module that does not exist has an identity too: loading it fails where the work is done, and is reported there.
    """
    found = _source_of(reference.partition(":")[0])
    return found.identity if isinstance(found, Code) else found


def identity_of_object(named: Any, path: Path | None = None) -> str:
    """Return the name of a class or function and the identity of its code.

    Parameters
    ----------
    named
        The class or function.
    path
        Its file, where it was loaded from a file by its path, which is read anew every time; otherwise its module was
        imported, and source that was changed since then is refused: a result of the old code would be stored as one of
        the new code.
    """
    if path is not None:
        return f"{named.__qualname__}:{graph([path]).identity}"
    found = _source_of(named.__module__)
    if isinstance(found, Code):
        _check_unchanged(found)
        return f"{named.__qualname__}:{found.identity}"
    return f"{named.__qualname__}:{found}"


def files_imported_by(path: Path) -> list[Path]:
    """Return the source files in or below the folder of a file that it imports, directly or through one another."""
    own = path.resolve()
    return sorted(other for other in graph([own]).files.values() if own.parent in other.parents and other != own)


def _source_of(module: str) -> Code | str:
    """Return the code of a module, or how an installed one, or none, is known."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    origin = spec.origin if spec else None
    if origin is None or not Path(origin).is_file():
        return f"no source of {module}"
    path = Path(origin).resolve()
    if _is_source(path):
        return graph([path])
    top = module.partition(".")[0]
    return f"{top} {version_of(top)}"


_known: dict[Path, str] = {}


def _check_unchanged(code: Code) -> None:
    for path in code.files.values():
        now = hashlib.sha256(path.read_bytes()).hexdigest()
        if _known.setdefault(path, now) != now:
            raise InputError(f"{path}: changed since it was imported; start Python again, so that the new code is used")


def graph(roots: Iterable[Path]) -> Code:
    """Return the code that source files depend on, themselves included."""
    files: dict[Path, str] = {}
    packages: set[str] = set()
    waiting = [path.resolve() for path in roots]
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        files[path] = path.relative_to(_import_folder(path)).as_posix()
        own, installed = _own_edges(path) if _PACKAGE in path.parents else _edges(path)
        waiting += own
        packages |= installed
    named = sorted((name, path) for path, name in files.items())
    return Code(dict(named), {name: version_of(name) for name in sorted(packages)})


@cache
def version_of(package: str) -> str:
    """Return the version of the installed distribution that a package is imported from.

    Distributions mostly have the name of their package; asking all of them takes most of a second.
    """
    try:
        return importlib.metadata.version("scikit-learn" if package == "sklearn" else package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, [])
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))) or "not installed"


def _edges(path: Path) -> tuple[list[Path], set[str]]:
    """Return the source files and the installed packages that a source file imports, with the packages it is in."""
    files = list(_modules(_import_folder(path), ".".join(path.parent.relative_to(_import_folder(path)).parts)))
    packages: set[str] = set()
    for name in dict.fromkeys(_imports(path)):
        top = name.partition(".")[0]
        folder = _folder_with(top, path)
        if folder is not None:
            files += _modules(folder, name)
        elif top.isidentifier() and top not in sys.stdlib_module_names:
            packages.add(top)
    return files, packages


_own_edges = cache(_edges)
"""The same for gnomon's own files, which are read once in a process: half the time where several nodes are planned."""


def _import_folder(path: Path) -> Path:
    """Return the folder that holds the outermost package of a file; its own folder where it is in no package."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _imports(path: Path) -> Iterator[str]:
    """Name what a source file imports: absolute names of modules, and of what may be a module or a name in one."""
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    text = _FOR_TYPES.sub("\n", text)
    folder, package = path.parent, _import_folder(path)
    for found in _STATEMENT.finditer(text):
        if found["literal"]:
            yield found["literal"]
        elif found["plain"]:
            for item in _COMMENT.sub("", found["plain"]).split(";")[0].split(","):
                yield item.split(" as ")[0].strip()
        else:
            dots = len(found["base"]) - len(found["base"].lstrip("."))
            base = found["base"].lstrip(".")
            if dots:
                start = folder if dots == 1 else folder.parents[dots - 2]
                inside = start.relative_to(package).parts if start.is_relative_to(package) else ()
                base = ".".join(filter(None, (*inside, base)))
            if base:
                yield base
            for item in _COMMENT.sub("", found["names"]).strip("() \t").split(";")[0].split(","):
                name = item.split(" as ")[0].strip()
                if name.isidentifier():
                    yield f"{base}.{name}".lstrip(".")


def _folder_with(top: str, path: Path) -> Path | None:
    """Return the folder from which a file imports a package that counts by its source; None for any other."""
    if not top.isidentifier():
        return None
    if _PACKAGE in path.parents:
        return _PACKAGE.parent if top == _PACKAGE.name else None
    for folder in dict.fromkeys((path.parent, _import_folder(path), Path.cwd())):
        if (folder / f"{top}.py").is_file() or any((folder / top).glob("*.py")):
            return folder
    return _found_elsewhere(top)


@cache
def _found_elsewhere(top: str) -> Path | None:
    if top in sys.stdlib_module_names:
        return None
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    places = [*(spec.submodule_search_locations or []), spec.origin] if spec else []
    path = next((Path(place).resolve() for place in places if place and Path(place).exists()), None)
    if path is None or not _is_source(path):
        return None
    return path.parent


def _is_source(path: Path) -> bool:
    """Say whether a file or folder counts by its content: gnomon's own, or one that is not installed."""
    if path == _PACKAGE or _PACKAGE in path.parents:
        return True
    return not any(place in path.parents for place in _INSTALLED)


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Return the files that are run when a module is imported from a folder: its own, and those of its packages."""
    place = folder
    for part in filter(None, name.split(".")):
        place = place / part
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                yield file
                break
