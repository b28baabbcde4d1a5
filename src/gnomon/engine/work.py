"""What a worker does with one node, in whatever process it is."""

from __future__ import annotations

import os
import platform
import socket
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gnomon.core.code_identity import identity_of, version_of
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.suite import load
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

    @staticmethod
    def of(node: Node, fresh: str = "") -> Order:
        """Make the order of a node."""
        needs = {role: needed.key for role, needed in node.needs.items()}
        return Order(
            node.key, node.name, node.function, dict(node.arguments), dict(node.context), needs, fresh, node.code
        )


@dataclass(frozen=True)
class Reply:
    """What became of an order."""

    key: str
    state: str
    """``done``, ``found`` (somebody else had done it), ``error`` or ``full`` (no space left)."""
    seconds: float = 0.0
    error: str = ""
    trace: str = ""
    bad_input: bool = False
    """The error lies in what the user gave: trying again cannot help."""


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


def carry_out(store: Store, order: Order) -> Reply:
    """Do an order unless its result is there already; raises nothing but ``KeyboardInterrupt``."""
    start = time.perf_counter()
    try:
        _check_code(order)
        with store.lock(order.key):
            if stopping().is_set():  # while it waited for the lock
                raise KeyboardInterrupt
            if (not order.fresh or store.made_by(order.key) == order.fresh) and store.check(order.key):
                return Reply(order.key, "found", time.perf_counter() - start)
            needs = {role: store.path(key) for role, key in order.needs.items()}
            with doing(store.folder, order.key, order.name), store.draft(order.key) as out, collecting() as unread:
                load(order.function)({**order.arguments, **order.context}, needs, out)
                unread.write(out)
            if order.fresh:
                store.note(order.key, order.fresh)
    except StoreFullError as error:
        return Reply(order.key, "full", time.perf_counter() - start, str(error))
    except (Exception, SystemExit) as error:
        text = str(error) if isinstance(error, GnomonError) else f"{type(error).__name__}: {error}{_where(error)}"
        text, bad = " ".join(text.split()), isinstance(error, InputError)
        return Reply(order.key, "error", time.perf_counter() - start, text, traceback.format_exc(), bad)
    return Reply(order.key, "done", time.perf_counter() - start)
