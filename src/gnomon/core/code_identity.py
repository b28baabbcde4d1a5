"""Which code a stored result depends on: source files by their import graph, installed packages by their versions.

The graph is read from the source; nothing is imported. From a module on, every import statement is followed, those
inside functions too, and calls of ``import_module``, ``__import__`` and ``library`` with a literal name. A module that
is gnomon's own, or that lies outside of the folders where packages are installed (the user's project, an editable
install), counts by its content, with the ``__init__`` files above it. An installed package counts by its version,
Python by its minor version; the standard library is part of Python.

Not seen: a module whose name is computed at run time (whoever computes it adds the identity of what it found, as suites
do for systems), what an installed package imports in turn, and data that code reads.

Source is read once in a process, because a module that is imported stays as it was: see :func:`identity_of_object`.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder, SourceFileLoader
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

_IMPORTERS = {"import_module", "library", "__import__"}
"""Functions that import what their first argument names."""


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


def identity_of_object(named: Any, *, path: Path | None = None, module: str = "") -> str:
    """Return the name of a class or function and the identity of its code.

    Parameters
    ----------
    named
        The class or function.
    path
        Its file, where it was loaded from a file by its path, which is read anew every time.
    module
        The module that it was taken from, where that may be another than the one that defines it. An imported module
        whose source was changed since then is refused: a result of the old code would be stored as one of the new code.
    """
    if path is not None:
        return f"{named.__qualname__}:{graph([path]).identity}"
    found = [_source_of(named.__module__)]
    if found[0] == f"{_NO_SOURCE}{named.__module__}" and named.__module__ not in sys.stdlib_module_names:
        raise InputError(
            f"{named.__qualname__}: {named.__module__} has no source file, so that results of other code could not be "
            "told from its own; put it into a file and give file.py:Class"
        )
    if module not in ("", named.__module__):  # one that is not found there was loaded from a file of the working folder
        found += [code for code in [_source_of(module)] if code != f"{_NO_SOURCE}{module}"]
    for code in found:
        if isinstance(code, Code):
            _check_unchanged(code)
    return ":".join([named.__qualname__, *(code.identity if isinstance(code, Code) else code for code in found)])


def files_imported_by(path: Path) -> list[Path]:
    """Return the source files in or below the folder of a file that it imports, directly or through one another."""
    own = path.resolve()
    return sorted(other for other in graph([own]).files.values() if own.parent in other.parents and other != own)


def _source_of(module: str) -> Code | str:
    """Return the code of a module, or how an installed one, or none, is known."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            spec = None
        origin = spec.origin if spec else None
    if origin is None or not Path(origin).is_file():
        return f"{_NO_SOURCE}{module}"
    path = Path(origin).resolve()
    if _is_source(path):
        return graph([path])
    top = module.partition(".")[0]
    folder = path.parents[len(module.split(".")) - (path.name != "__init__.py") - 1] if "." in module else path.parent
    own = folder if path.name == "__init__.py" or "." in module else path
    return f"{top} {version_of(top)} {_hash_package(own)}"


@cache
def _hash_package(place: Path) -> str:
    """Hash the source of an installed package, or of a module that is in none.

    A user's own package may be installed again with other code under the same version.
    """
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    hashes = {
        file.relative_to(place.parent).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }
    return fingerprint(hashes)[:16]


_NO_SOURCE = "no source of "
_known: dict[Path, str] = {}
"""Hashes of source files when they were first looked at in this process."""


def _check_unchanged(code: Code) -> None:
    compiled = _compiled_files()
    for path in code.files.values():
        now = hashlib.sha256(path.read_bytes()).hexdigest()
        if _known.setdefault(path, now) != now or (path in compiled and _is_newer(path, compiled[path])):
            raise InputError(f"{path}: changed since it was imported; start Python again, so that the new code is used")


def _compiled_files() -> dict[Path, Path]:
    """Return where Python wrote the compiled code of the user's modules that it imported, by source file."""
    if sys.dont_write_bytecode:
        return {}
    specs: list[Any] = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
    found = [(spec.origin, spec.cached) for spec in specs if type(getattr(spec, "loader", None)) is SourceFileLoader]
    pairs = [(Path(origin).resolve(), Path(cached)) for origin, cached in found if origin and cached]
    return {path: cached for path, cached in pairs if _is_source(path) and _PACKAGE not in path.parents}


def _is_newer(path: Path, compiled: Path) -> bool:
    """Say whether source differs in time or size from what its compiled file says it was made of (PEP 552)."""
    if not os.access(compiled, os.W_OK) or not os.access(compiled.parent, os.W_OK):
        return False  # Python could not write it anew when it imported newer source
    try:
        header = compiled.read_bytes()[:16]
    except OSError:
        return False
    if len(header) < 16 or int.from_bytes(header[4:8], "little"):  # checked by hash: says nothing of times
        return False
    state = path.stat()
    made_of = int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:16], "little")
    return made_of != (int(state.st_mtime) & 0xFFFFFFFF, state.st_size & 0xFFFFFFFF)


def graph(roots: Iterable[Path]) -> Code:
    """Return the code that source files depend on, themselves included."""
    files: dict[Path, str] = {}
    packages: set[str] = set()
    waiting = [path.resolve() for path in roots]
    homes = [_import_folder(path) for path in waiting]
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        home = next((folder for folder in homes if folder in path.parents), None) or _import_folder(path)
        files[path] = path.relative_to(home).as_posix()
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
    except (importlib.metadata.PackageNotFoundError, FileNotFoundError):  # the latter: a folder without its metadata
        names = importlib.metadata.packages_distributions().get(package, [])
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))) or "not installed"


def _edges(path: Path) -> tuple[list[Path], set[str]]:
    """Return the source files and the installed packages that a source file imports, with the packages it is in."""
    files = list(_modules(_import_folder(path), ".".join(path.parent.relative_to(_import_folder(path)).parts)))
    packages: set[str] = set()
    for name in dict.fromkeys(_imports(path)):
        top = name.partition(".")[0]
        found = _source_files(name, path)
        files += found
        if not found and top.isidentifier() and top not in sys.stdlib_module_names and top != _PACKAGE.name:
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
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # it cannot be imported either
        return
    # Most files call nothing that imports: then only statements have to be looked at, and not what is in them.
    # Letters beyond ASCII may be other forms of those in a name.
    calls = not source.isascii() or any(name.encode() in source for name in _IMPORTERS)
    importers = _IMPORTERS | _aliases(tree) if calls else _IMPORTERS
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_for_types(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node) if calls else _statements(node)
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(path, "." * node.level + (node.module or ""))
            yield base
            yield from (f"{base}.{item.name}".lstrip(".") for item in node.names)
        elif isinstance(node, ast.Call):
            yield _absolute(path, _named_in_call(node, importers))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Return the statements in a statement, and what holds further ones: handlers of errors, and cases of a match."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, name, ())


def _aliases(tree: ast.AST) -> set[str]:
    """Return other names under which a file has ``importlib.import_module``."""
    found = (item for item in ast.walk(tree) if isinstance(item, ast.ImportFrom) and item.module == "importlib")
    return {name.asname for node in found for name in node.names if name.name == "import_module" and name.asname}


def _is_for_types(test: ast.expr) -> bool:
    """Say whether a condition is ``TYPE_CHECKING``: what it guards is not imported."""
    return (test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")) == "TYPE_CHECKING"


def _named_in_call(call: ast.Call, importers: Collection[str]) -> str:
    """Return the module that a call such as ``import_module("name")`` imports; nothing for any other call."""
    called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if called not in importers:
        return ""
    given = [*call.args, *(item.value for item in call.keywords if item.arg in ("name", "package"))]
    texts = [item.value for item in given if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    if texts and texts[0].startswith(".") and len(texts) > 1:
        return f"{texts[1]}{texts[0]}" if not texts[0].startswith("..") else ""
    return texts[0] if texts else ""


def _absolute(path: Path, name: str) -> str:
    """Return a name without leading points: relative to the packages that a file is in."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    folder, package = path.parent, _import_folder(path)
    start = folder if level == 1 else folder.parents[min(level - 2, len(folder.parents) - 1)]
    inside = start.relative_to(package).parts if start.is_relative_to(package) else ()
    return ".".join(filter(None, (*inside, name[level:])))


def _source_files(name: str, path: Path) -> list[Path]:
    """Return the files that a module of a name, imported by a file, counts by; none where it is installed."""
    top = name.partition(".")[0]
    if not top.isidentifier():
        return []
    if _PACKAGE in path.parents:
        return list(_modules(_PACKAGE.parent, name)) if top == _PACKAGE.name else []
    home = _import_folder(path)
    is_own = home != path.parent and path.relative_to(home).parts[0] == top
    for folder in dict.fromkeys((path.parent, home, Path.cwd()) if is_own or not is_installed(top) else ()):
        found = list(_modules(folder, name))
        if found:
            return found
    folder_of_package = _found_elsewhere(top, tuple(map(os.fspath, sys.path)))
    return list(_modules(folder_of_package, name)) if folder_of_package else []


@cache
def _found_elsewhere(top: str, path_of_python: tuple[str, ...]) -> Path | None:
    """Return the folder of a package that is not installed; the path counts, because a user's file may extend it."""
    del path_of_python
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


def is_installed(name: str) -> bool:
    """Say whether a module is one of the standard library or of an installed package.

    Packages are installed in Python's own folders, and in folders of the path that hold the metadata of packages
    (``pip install --target``, environment modules of a cluster). What lies in any other folder cannot hide them.

    >>> is_installed("json"), is_installed("numpy.linalg"), is_installed("numpy.no_such_module"), is_installed("mine")
    (True, True, False, False)
    """
    if name in sys.stdlib_module_names:
        return True
    places = [place for place in map(os.fspath, sys.path) if _holds_packages(place)]
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:number]), places)
        if spec is None or spec.origin is None:  # without an origin it is a bare folder, which hides no module
            return False
        places = list(spec.submodule_search_locations or ())
    return True


@cache
def _holds_packages(folder: str) -> bool:
    path = Path(folder).resolve()
    if any(place == path or place in path.parents for place in _INSTALLED):
        return True
    with contextlib.suppress(OSError):
        return path != Path.cwd() and any(entry.endswith((".dist-info", ".egg-info")) for entry in os.listdir(path))
    return False


@cache
def _package_folders(path_of_python: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders of the path that hold installed packages besides Python's own: those with their metadata.

    Such are ``pip install --target``, and the packages of another environment. An editable install has its metadata
    (``.egg-info``) beside the source, which still counts by its content.
    """
    found = []
    for folder in (Path(place).resolve() for place in path_of_python):
        with contextlib.suppress(OSError):
            if folder != Path.cwd() and any(entry.endswith(".dist-info") for entry in os.listdir(folder)):
                found.append(folder)
    return tuple(found)


def _is_source(path: Path) -> bool:
    """Say whether a file or folder counts by its content: gnomon's own, or one that is not installed."""
    if path == _PACKAGE or _PACKAGE in path.parents:
        return True
    return not any(place in path.parents for place in (*_INSTALLED, *_package_folders(tuple(map(os.fspath, sys.path)))))


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Return the files that are run when a module is imported from a folder: its own, and those of its packages."""
    place = os.fspath(folder)
    file_of = _own_file_of if folder == _PACKAGE.parent else _file_of
    for part in filter(None, name.split(".")):
        place = os.path.join(place, part)
        file = file_of(place)
        if file is not None:
            yield file


def _file_of(place: str) -> Path | None:
    """Return the file of the package or module that a path without an ending stands for, if there is one."""
    ends = (f"{os.sep}__init__.py", *EXTENSION_SUFFIXES, ".py")
    return next((Path(place + end) for end in ends if os.path.isfile(place + end)), None)


_own_file_of = cache(_file_of)
"""The same for gnomon's own, most of which are asked for many times."""
