"""Signatures of trained systems: what is loaded from a store as code was signed with this user's own key.

A trained system is stored as a pickle, or by its own ``save``. Loading either may run whatever the files say, and a
store travels with runs from one person to another. So an artefact that is loaded as code (``Node.signed``) holds a
signature. One without it, or with one by another key, is set aside and made again.

Keys
----
The user's key is 32 random bytes in a file that only this user can read: ``GNOMON_KEY_FILE``, else
``$XDG_STATE_HOME/gnomon/key``, else ``~/.local/state/gnomon/key``. It is made when it is first needed. Where none can
be kept, as in a container without a home, the process has a key of its own that ends with it.

The secret of an artefact is the HMAC-SHA256 of its key in the store under the user's key. The process that plans the
work derives the secrets and sends them with its orders, so that worker processes and machines of a cluster sign and
verify without the user's key. Whoever gets hold of a secret can forge the one artefact that it belongs to.

Signatures
----------
The signature of an artefact is the HMAC-SHA256 of the names and contents of all its files under its secret. It is no
longer valid when a file is changed, added, removed or renamed, nor for a folder that is moved to another key.
Signatures are compared in constant time, before anything is loaded.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import io
import os
import pickle
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any

from gnomon.core.errors import InputError, IntegrityError
from gnomon.engine.store import OWN
from gnomon.runs import seal

NAME = "signature.hmac"
VARIABLE = "GNOMON_KEY_FILE"
BYTES = 32
"""Length of the user's key."""
LENGTH = 64
"""Characters of a signature."""
PLACE = 12
"""Characters at the end of the name of a module that :mod:`gnomon.core.loading` imports from a file: its place."""
PURPOSE = b"gnomon: trained system in a store\0"
Secrets = Mapping[str, str]
"""Secrets of artefacts by their keys in the store. Artefacts without a secret hold data alone."""

_SECRETS: ContextVar[Secrets | None] = ContextVar("secrets", default=None)


def key_file() -> Path | None:
    """Return where the user's key is kept; None where there is no home."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    place = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~/.local/state"))
    return place / "gnomon" / "key" if place.is_absolute() else None


def user_key() -> bytes:
    """Return the user's key; make it where there is none yet.

    Raises
    ------
    InputError
        The file cannot be used: others can read or write it, it belongs to somebody else, or it is no key. Also where
        a file that ``GNOMON_KEY_FILE`` names cannot be made.
    """
    path = key_file()
    if path is None:
        return _key_of_process("there is no home folder")
    try:
        found = read_key(path)
        if found is None:
            _make(path)
            found = read_key(path)
    except OSError as error:
        if os.environ.get(VARIABLE) or os.path.lexists(path):
            raise InputError(
                f"{path}: this user's key cannot be read or made there ({error.strerror}); name another file in "
                f"{VARIABLE}"
            ) from error
        return _key_of_process(f"{path}: {error.strerror}")
    if found is None:
        raise InputError(f"{path}: this user's key was removed just after it was made; give the command again")
    return found


def read_key(path: Path) -> bytes | None:
    """Return the key in a file that nobody else can use; None where there is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        about = os.fstat(handle)
        found = os.read(handle, BYTES + 1) if stat.S_ISREG(about.st_mode) else None
    finally:
        os.close(handle)
    if found is None:
        raise InputError(f"{path}: expected this user's key, but it is no plain file; name another in {VARIABLE}")
    wrong = ""
    if about.st_uid != os.geteuid():
        wrong = f"belongs to user {about.st_uid}, expected {os.geteuid()}"
    elif about.st_mode & 0o077:
        wrong = f"can be read or written by others (mode {stat.S_IMODE(about.st_mode):04o}, expected 0600)"
    if wrong:
        raise InputError(
            f"{path}: this user's key {wrong}, so that others could have signed with it; delete the file, and a new "
            f"key is made and trained systems are fitted again, or name another file in {VARIABLE}"
        )
    if len(found) != BYTES:
        size = f"{len(found)} bytes" if len(found) < BYTES else f"more than {BYTES}"
        raise InputError(f"{path}: expected this user's key, {BYTES} bytes, but got {size}; delete the file")
    return found


def _make(path: Path) -> None:
    """Write a new key, unless another process is first: the file appears whole, and once."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}-{token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(token_bytes(BYTES))
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


@functools.cache
def _key_of_process(why: str) -> bytes:
    """Return a key that ends with this process, and say so once."""
    say(
        f"this user's key cannot be kept ({why}): trained systems are signed with a key of this process, and the next "
        f"command fits them again; name a file of your own in {VARIABLE}"
    )
    return token_bytes(BYTES)


def say(text: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"gnomon: {text}\n")
    sys.stderr.flush()


def secrets_of(keys: Iterable[str]) -> dict[str, str]:
    """Return the secrets of artefacts by their keys; the user's key is not touched where there are none."""
    wanted = list(keys)
    own = user_key() if wanted else b""
    return {key: hmac.new(own, PURPOSE + key.encode(), hashlib.sha256).hexdigest() for key in wanted}


def sign(folder: Path, secret: str) -> None:
    """Write the signature of an artefact into its folder, after all other files."""
    (folder / NAME).write_text(f"{_signature(folder, secret, {})}\n")


def may_load(folder: Path, secrets: Secrets) -> bool:
    """Say whether the artefact in a folder, which its key names, is signed, or needs no signature."""
    secret = secrets.get(folder.name)
    return secret is None or _is_signed(folder, secret, {})


@contextlib.contextmanager
def holding(secrets: Secrets) -> Iterator[None]:
    """Let :func:`load` know the secrets of the artefacts that are loaded in the block."""
    token = _SECRETS.set(secrets)
    try:
        yield
    finally:
        _SECRETS.reset(token)


def dump(value: object, path: Path, failing: str, remedy: str) -> None:
    """Pickle a trained system into the folder of an artefact, which the engine signs when it is whole.

    Where it cannot be pickled, the message begins with `failing` and ends with `remedy`.
    """
    try:
        path.write_bytes(pickle.dumps(value))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(f"{failing}: {error}; {remedy}") from error


def load(path: Path, maker: Callable[..., Any]) -> Any:
    """Return what :func:`dump` wrote into the folder of an artefact; refuse it without a signature of this user.

    What is unpickled are the bytes whose signature was verified, even where the file is replaced meanwhile. `maker` is
    the class of the trained system, or the function that makes it: its module must have been imported before.
    """
    folder, data = path.parent, path.read_bytes()
    secret = (_SECRETS.get() or {}).get(folder.name)
    if secret is None or not _is_signed(folder, secret, {path.name: data}):
        raise _refusal(folder)
    return _Unpickler(io.BytesIO(data), maker.__module__).load()


class _Unpickler(pickle.Unpickler):
    """Unpickles a system whose class may come from a file that has been moved: its module is named after its place."""

    def __init__(self, stream: io.BytesIO, module: str) -> None:
        super().__init__(stream)
        self.module = module

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return what a pickle names; the class of the system from the module that is imported here."""
        moved = module_name.startswith("gnomon_") and module_name[:-PLACE] == self.module[:-PLACE]
        return super().find_class(self.module if moved else module_name, global_name)


def _is_signed(folder: Path, secret: str, known: Mapping[str, bytes]) -> bool:
    try:
        with (folder / NAME).open("rb") as file:
            given = file.read(LENGTH + 1).removesuffix(b"\n")
        return hmac.compare_digest(given, _signature(folder, secret, known).encode())
    except (OSError, IntegrityError):
        return False


def _signature(folder: Path, secret: str, known: Mapping[str, bytes]) -> str:
    """Return the signature of the files in a folder; `known` are the contents of those that were read already."""
    made = hmac.new(bytes.fromhex(secret), digestmod=hashlib.sha256)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise IntegrityError(f"{path}: a link, or no plain file, which cannot be signed; store files alone")
        if path.is_file() and name not in (NAME, *OWN):
            digest = hashlib.sha256(known[name]).hexdigest() if name in known else seal.hash_file(path)
            encoded = os.fsencode(name)
            made.update(len(encoded).to_bytes(8, "big") + encoded + bytes.fromhex(digest))
    return made.hexdigest()


def _refusal(folder: Path) -> IntegrityError:
    return IntegrityError(
        f"{folder}: is not loaded, since it was not signed with this user's key; somebody else may have replaced it "
        "while this command worked: give it a --store of its own"
    )
