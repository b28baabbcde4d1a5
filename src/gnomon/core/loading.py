"""A user's class by name: ``package.module:Class``, ``package.module.Class`` or ``path/to/file.py:Class``.

Modules are looked for below the working folder first, which the path of an installed command does not hold.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.core.code_identity import files_imported_by, identity_of_object
from gnomon.core.errors import InputError


def find_class(name: str, verbs: Sequence[str], what: str, builtin: Mapping[str, type[Any]]) -> type[Any]:
    """Return the class that a name stands for; it must offer the verbs. ``what`` names such classes in messages."""
    found = _find(name, what, builtin)
    if not isinstance(found, type) or not all(callable(getattr(found, verb, None)) for verb in verbs):
        raise InputError(f"{what} {name!r}: expected a class with {' and '.join(verbs)} in {_parts(name)[0]}")
    return found


def find_maker(name: str, verbs: Sequence[str], what: str, builtin: Mapping[str, type[Any]]) -> Callable[..., Any]:
    """Return the class that a name stands for, as :func:`find_class` does, or the function that makes such an object.

    What a function makes is only known when it is called; see :func:`made_by`.
    """
    found = _find(name, what, builtin)
    if inspect.isfunction(found):
        return found
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


def trust_imports() -> None:
    """Import without a look at what it does to the process: for worker processes, whose end ends nothing else."""
    _trusting.append(True)


@functools.cache
def _check_survived(name: str, where: str, what: str) -> None:
    """Refuse a module whose import ends the process, such as a broken library in C: it is first imported in another."""
    if _trusting or where in sys.modules or where.startswith("gnomon."):
        return
    given = json.dumps({"path": [os.fspath(place) for place in sys.path], "name": name, "what": what})
    done = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", _PROBE, given],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if done.returncode:
        code = done.returncode
        ended = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = f"; it said: {said[-1]}" if said else ""
        raise InputError(
            f"{what} {name!r}: importing {where} ends the process ({ended}){last}; mend it or leave it out"
        )


_trusting: list[bool] = []
_PROBE = """
import contextlib, json, os, sys
given = json.loads(sys.argv.pop(1))
sys.path[:] = given["path"]
from gnomon.core import loading
loading.trust_imports()
with contextlib.suppress(BaseException):  # errors are raised, and told, where it is imported in earnest
    loading.find_class(given["name"], (), given["what"], {})
os._exit(0)
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
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that objects of its classes can be pickled
    folder = Path(path).resolve().parent
    for other in files_imported_by(Path(path)):
        _forget(".".join(other.relative_to(folder).with_suffix("").parts), other)
    try:
        with _first_on_path(folder):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{what} file {path}: cannot be imported ({type(error).__name__}: {error})") from error
    return module


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
    """Import a module; one below the working folder comes first, also where another package has its name."""
    here = _below_working_folder(name)
    with _first_on_path(Path.cwd() if here else None):
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            if here and isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
                return _from_file(os.fspath(here), what)
            why = f"{type(error).__name__}: {error}"
            raise InputError(f"{what} module {name}: cannot be imported ({why})") from error
        found = getattr(module, "__file__", None)
        if here and (found is None or Path(found).resolve() != here.resolve()):
            return _from_file(os.fspath(here), what)
    return module


def _below_working_folder(name: str) -> Path | None:
    """Return the file that a module has below the working folder, if it has one."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    path = Path(*parts)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@contextlib.contextmanager
def _first_on_path(place: Path | None) -> Iterator[None]:
    """Look for modules in a folder first; afterwards last, so that what is installed is not hidden by it."""
    folder = os.fspath(place) if place else ""
    if place is None or sys.path[:1] == [folder] or (sys.path[:1] == [""] and folder == os.getcwd()):
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
