"""What a worker does with one node, in whatever process it is."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnomon.core.code_identity import identity_of, version_of
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.suite import load
from gnomon.engine import signing
from gnomon.engine.begun import doing, stopping
from gnomon.engine.plan import Node
from gnomon.engine.store import Store, StoreFullError
from gnomon.intake.unread import collecting


@dataclass(frozen=True)
class Order:
    """A node as it travels to a worker: plain data."""

    key: str
    name: str
    function: str
    arguments: Mapping[str, Any]
    context: Mapping[str, Any]
    """What the result does not depend on, such as paths, which differ from machine to machine."""
    needs: Mapping[str, str]
    fresh: str = ""
    """The command that wants it made afresh, once in every store; empty where what is stored will do."""
    code: Mapping[str, str] = field(default_factory=dict)
    """Identities of the code that its key stands for, by function."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By key, the secrets with which it, and what it needs, are signed where they are loaded as code."""

    @staticmethod
    def of(node: Node, fresh: str = "", secrets: Mapping[str, str] | None = None) -> Order:
        """Make the order of a node; of the secrets it gets those of itself and of what it needs."""
        needs = {role: needed.key for role, needed in node.needs.items()}
        own = {key: secret for key, secret in (secrets or {}).items() if key == node.key or key in needs.values()}
        return Order(
            node.key, node.name, node.function, dict(node.arguments), dict(node.context), needs, fresh, node.code, own
        )


@dataclass(frozen=True)
class Reply:
    """What became of an order."""

    key: str
    state: str
    """``done``, ``found`` (somebody else had done it), ``lacking`` (what it needs is not there whole), ``error`` or
    ``full`` (no space left)."""
    seconds: float = 0.0
    error: str = ""
    trace: str = ""
    bad_input: bool = False
    """The error lies in what the user gave: trying again cannot help."""
    lacking: tuple[str, ...] = ()
    """Keys of what it needs and is missing or damaged."""


def _where(error: BaseException) -> str:
    """Say in which line an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""


def _check_code(order: Order) -> None:
    """Refuse work where the code is not that of the order's key: the result would be stored as one of other code."""
    for function, wanted in order.code.items():
        if identity_of(function) != wanted:
            packages = ", ".join(f"{name} {version_of(name)}" for name in ("gnomon", "numpy", "scipy", "numba"))
            raise InputError(
                f"{function}: this worker ({socket.gethostname()}: Python {platform.python_version()}, {packages}) has "
                "other code or other versions of packages than the process that planned the work; install the same "
                "versions of gnomon and of the packages that it uses on both, and start both again"
            )


def _find_lacking(store: Store, order: Order) -> tuple[str, ...]:
    """Return what an order needs and is not there, lacks files, or may not be loaded because it is not signed."""
    return tuple(
        key
        for key in order.needs.values()
        if not store.has(key) or not signing.may_load(store.path(key), order.secrets)
    )


@contextlib.contextmanager
def _ending_forks() -> Iterator[None]:
    """End child processes that the block forked and let return: they must not publish the result or reply too."""
    own = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != own:
            os._exit(1)


def carry_out(store: Store, order: Order) -> Reply:
    """Do an order unless its result is there already; raises nothing but ``KeyboardInterrupt``."""
    start = time.perf_counter()
    try:
        _check_code(order)
        with store.lock(order.key):
            if stopping().is_set():  # while it waited for the lock
                raise KeyboardInterrupt
            if (not order.fresh or store.made_by(order.key) == order.fresh) and store.check(order.key):
                if signing.may_load(store.path(order.key), order.secrets):
                    return Reply(order.key, "found", time.perf_counter() - start)
                store.set_aside(order.key)
            if lacking := _find_lacking(store, order):
                return Reply(order.key, "lacking", time.perf_counter() - start, lacking=lacking)
            needs = {role: store.path(key) for role, key in order.needs.items()}
            with doing(store.folder, order.key, order.name), store.draft(order.key) as out, collecting() as unread:
                with signing.holding(order.secrets), _ending_forks():
                    load(order.function)({**order.arguments, **order.context}, needs, out)
                unread.write(out)
                if order.key in order.secrets:
                    signing.sign(out, order.secrets[order.key])
            if order.fresh:
                store.note(order.key, order.fresh)
    except StoreFullError as error:
        return Reply(order.key, "full", time.perf_counter() - start, str(error))
    except (Exception, SystemExit) as error:
        text = str(error) if isinstance(error, GnomonError) else f"{type(error).__name__}: {error}{_where(error)}"
        text, bad = " ".join(text.split()), isinstance(error, InputError)
        reply = Reply(order.key, "error", time.perf_counter() - start, text, traceback.format_exc(), bad)
        lacking = _find_lacking(store, order)  # which may be why it failed
        return replace(reply, state="lacking", lacking=lacking) if lacking else reply
    return Reply(order.key, "done", time.perf_counter() - start)
