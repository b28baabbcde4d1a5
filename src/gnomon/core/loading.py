"""A user's class by name: ``package.module:Class``, ``package.module.Class`` or ``path/to/file.py:Class``.

A module that is asked for by its name is looked for in the standard library and among installed packages, then below
the working folder, then on the rest of the path. The modules that a user's file imports are looked for in the same
order, in the folder of that file. So a ``json.py`` or ``numpy.py`` that lies there is not imported in place of the real
module.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from gnomon.core.code_identity import files_imported_by, identity_of_object, is_installed
from gnomon.core.errors import InputError

IMPORT_LIMIT = 120.0
"""Seconds within which a user's module has to be imported: torch takes 10 to 20 from a cold disk."""
LEAST = 10.0
"""Seconds that an import has in any case: a busy machine takes some of them to start Python."""
_shorter_limit: ContextVar[float] = ContextVar("_shorter_limit", default=math.inf)


def python_command(program: str, given: Mapping[str, Any]) -> list[str]:
    """Return the command that runs a program in another Python, which finds ``given`` as JSON in ``sys.argv[1]``.

    A plain ``python -c`` has the working folder first on its path and would import a ``json.py`` from there. With
    ``-P`` it has not; with ``-I``, which is handed on, the environment is not used either.
    """
    return [sys.executable, "-I" if sys.flags.isolated else "-P", "-c", program, json.dumps(given)]


def find_class(name: str, verbs: Sequence[str], what: str, builtin: Mapping[str, type[Any]]) -> type[Any]:
    """Return the class that a name stands for; it must offer the verbs. ``what`` names such classes in messages."""
    found = _find(name, what, builtin)
    if not isinstance(found, type) or not all(callable(getattr(found, verb, None)) for verb in verbs):
        raise InputError(f"{what} {name!r}: expected a class with {' and '.join(verbs)} in {_parts(name)[0]}")
    return found


def find_maker(
    name: str,
    verbs: Sequence[str],
    what: str,
    builtin: Mapping[str, type[Any]],
    accept: Callable[[Any], bool] | None = None,
) -> Callable[..., Any]:
    """Return the class that a name stands for, as :func:`find_class` does, or the function that makes such an object.

    What a function makes is only known when it is called; see :func:`made_by`. What ``accept`` says yes to needs no
    verbs.
    """
    found: Any = _find(name, what, builtin)
    if inspect.isfunction(found) or (accept is not None and found is not None and accept(found)):
        maker: Callable[..., Any] = found
        return maker
    if isinstance(found, type):
        return find_class(name, verbs, what, builtin)
    raise InputError(
        f"{what} {name!r}: expected a class with {' and '.join(verbs)}, or a function that returns such an object, in "
        f"{_parts(name)[0]}, but got {type(found).__name__}"
    )


def made_by(maker: Callable[..., Any], parameters: Mapping[str, Any], verbs: Sequence[str], where: str) -> Any:
    """Call a class or a function with its parameters; refuse an object without the verbs."""
    made = maker(**parameters)
    lacking = [verb for verb in verbs if not callable(getattr(made, verb, None))]
    if lacking:
        raise InputError(f"{where}: made {type(made).__name__}, which has no {' and no '.join(lacking)}")
    return made


def _find(name: str, what: str, builtin: Mapping[str, type[Any]]) -> Any:
    """Return what a name stands for, whatever it is; None where its module has nothing of that name."""
    if name in builtin:
        return builtin[name]
    where, attribute = _parts(name)
    if not where or not attribute:
        known = f"; built in are {', '.join(builtin)}" if builtin else ""
        raise InputError(f"no {what} {name!r}{known}; others as package.module:Class or file.py:Class")
    _check_survived(name, where, what)
    with contextlib.redirect_stdout(sys.stderr):  # what it prints must not mix with a result
        module = _from_file(where, what) if where.endswith(".py") else _from_package(where, what)
    return getattr(module, attribute, None)


def is_foreign(name: str, builtin: Container[str]) -> bool:
    """Say whether a name stands for code that is not gnomon's own: its process may not survive it.

    What is defined in the running script, or in memory, is not: no other process could import it.

    >>> is_foreign("majority", ["majority"]), is_foreign("mine.py:Model", ["majority"])
    (False, True)
    """
    where = _parts(name)[0]
    known = sys.modules.get(where)
    in_memory = where == "__main__" or (known is not None and getattr(known, "__file__", None) is None)
    return name not in builtin and not name.startswith("gnomon.") and not in_memory


@contextlib.contextmanager
def limit_imports(seconds: float) -> Iterator[None]:
    """Give users' modules at most so many seconds to be imported, and at least :data:`LEAST`; 0 is the usual limit."""
    token = _shorter_limit.set(max(seconds, LEAST) if seconds > 0 else math.inf)
    try:
        yield
    finally:
        _shorter_limit.reset(token)


def trust_imports() -> None:
    """Import without a look at what it does to the process: for worker processes, whose end ends nothing else."""
    _trusting.append(True)


@functools.cache
def _check_survived(name: str, where: str, what: str) -> None:
    """Refuse a module whose import does not end, or ends the process: it is first imported in another process."""
    if _trusting or where in sys.modules or where.startswith("gnomon."):
        return
    given = {"path": path_of_python(), "name": name, "what": what}
    limit = min(IMPORT_LIMIT, _shorter_limit.get())
    try:
        done = subprocess.run(  # noqa: S603 - this Python
            python_command(_PROBE, given),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{what} {name!r}: importing {where} did not end within {limit:g} s; move what waits or takes long "
            "from the module into the constructor or a method"
        ) from error
    if done.returncode != SURVIVED:
        code = done.returncode
        ended = f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = f"; it said: {said[-1]}" if said else ""
        raise InputError(
            f"{what} {name!r}: importing {where} ends the process ({ended}){last}; mend it or leave it out"
        )


_trusting: list[bool] = []
SURVIVED = 93
"""Exit code of a probe that came to its end; a module may leave with any other, 0 included."""
_PROBE = f"""
import contextlib, json, os, sys
given = json.loads(sys.argv.pop(1))
sys.path[:] = given["path"]
from gnomon.core import loading
loading.trust_imports()
with contextlib.suppress(BaseException):  # errors are raised, and told, where it is imported in earnest
    loading.find_class(given["name"], (), given["what"], {{}})
os._exit({SURVIVED})
"""


def source_identity(name: str, kind: Callable[..., Any]) -> str:
    """Return what the result of a class depends on besides its options: its name and the identity of its code."""
    where = _parts(name)[0]
    if where.endswith(".py"):
        return identity_of_object(kind, path=Path(where))
    return identity_of_object(kind, module=where)


def _parts(name: str) -> tuple[str, str]:
    where, colon, attribute = name.rpartition(":")
    if not colon:
        where, _, attribute = name.rpartition(".")
    return where, attribute


def _from_file(path: str, what: str) -> Any:
    if not Path(path).is_file():
        raise InputError(f"{what} file {path}: no such file")
    place = hashlib.sha256(os.fsencode(Path(path).resolve())).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"gnomon_{what}_{Path(path).stem}_{place}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{what} file {path}: not a Python file")
    neighbours = files_imported_by(Path(path))
    content = {file: file.read_bytes() for file in (Path(path), *neighbours)}
    if spec.name in sys.modules and _contents.get(spec.name) == content:
        return sys.modules[spec.name]
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that objects of its classes can be pickled
    _contents.pop(spec.name, None)
    folder = Path(path).resolve().parent
    for other in neighbours:
        _forget(".".join(other.relative_to(folder).with_suffix("").parts), other)
    try:
        with _searching(folder):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{what} file {path}: cannot be imported ({type(error).__name__}: {error})") from error
    _contents[spec.name] = content
    return module


_contents: dict[str, dict[Path, bytes]] = {}
"""What the files of a user's module held when it was imported: while they are the same, it is not run again."""
_imported: dict[Path, bytes] = {}


def _forget(name: str, path: Path) -> None:
    """Let a module be imported anew if another file's is known by its name, or if its file was changed."""
    known = getattr(sys.modules.get(name), "__file__", None)
    content = path.read_bytes()
    changed = _imported.setdefault(path, content) != content
    _imported[path] = content
    if known is not None and (Path(known).resolve() != path or changed):
        del sys.modules[name]


def _from_package(name: str, what: str) -> Any:
    """Import a module by its name: an installed one, else one below the working folder, else one on the path."""
    here = _below_working_folder(name)
    hidden = here is not None and is_installed(name)
    with _searching(Path.cwd(), name.partition(".")[0]) if here and not hidden else contextlib.nullcontext():
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            if here and isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
                return _from_file(os.fspath(here), what)
            why = f"{type(error).__name__}: {error}"
            raise InputError(f"{what} module {name}: cannot be imported ({why})") from error
    found = getattr(module, "__file__", None)
    if here is None or (found is not None and Path(found).resolve() == here.resolve()):
        return module
    if not hidden:
        return _from_file(os.fspath(here), what)
    if not _trusting:  # a worker process would say it again
        sys.stderr.write(f"gnomon: {name} is the installed module, not {here}; give {here}:NAME for the latter\n")
    return module


def _below_working_folder(name: str) -> Path | None:
    """Return the file that a module has below the working folder, if it has one."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    path = Path(*parts)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@contextlib.contextmanager
def _searching(folder: Path, asked: str = "") -> Iterator[None]:
    """Find modules of a folder while the block runs; afterwards the folder is last on the path, for later imports.

    Compiled files are not written: one that is edited twice within a second, without a change of its size, would be
    taken for the same.
    """
    place = os.fspath(folder)
    if place not in sys.path and not ("" in sys.path and folder == Path.cwd()):
        sys.path.append(place)
        _folders.append(place)
        if _Guard not in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), _Guard)
    finder: Any = _Neighbours(place, asked)
    sys.meta_path.insert(0, finder)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.dont_write_bytecode = written


def path_of_python() -> list[str]:
    """Return the path of modules as another process needs it: without folders of users' files, which it adds itself."""
    return [place for place in map(os.fspath, sys.path) if place not in _folders]


_folders: list[str] = []
"""Folders of users' files that were put last on the path."""


@dataclass(frozen=True)
class _Neighbours:
    """Finds the modules of a folder before those of other folders on the path, but not in place of installed ones.

    Only the package that the user asked for by its name may take the place of an installed one.
    """

    folder: str
    asked: str

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a module is, as Python asks for it; ``path`` is given for modules inside packages."""
        if path is not None or (name != self.asked and is_installed(name)):
            return None
        spec = PathFinder.find_spec(name, [self.folder], target)
        return spec if spec is not None and spec.origin is not None else None  # a bare folder comes last


class _Guard:
    """Refuses modules of the standard library that this Python lacks, such as ``msvcrt``, in folders of users' files.

    Many modules try to import one and go on without it.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a module of the standard library is; leave others to the finders behind this one."""
        if path is not None or name not in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(name, path_of_python(), target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec
