"""Torch as models of every suite use it: loaded when first needed, its threads, its device, its random numbers."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.seeds import generator

THREADS, DEVICE, CHECKPOINT = "GNOMON_THREADS", "GNOMON_DEVICE", "GNOMON_CHECKPOINT_S"


def torch() -> Any:
    """Return torch, loaded when first needed and told its threads: ``GNOMON_THREADS``, else one.

    One is right for workers that share a machine, and makes results the same whoever does the work.
    """
    found, wanted = library("torch"), threads()
    if found.get_num_threads() != wanted:
        found.set_num_threads(wanted)
    return found


def library(name: str, whose: str = "a neural model") -> Any:
    """Return a library of the extra ``models``; where it is missing, say who needs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError(
            f"{whose} needs {package}, which is not installed: pip install 'gnomon[models]', or leave it out"
        ) from error


def threads() -> int:
    """Return how many threads torch uses."""
    text = os.environ.get(THREADS, "").strip() or "1"
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"environment variable {THREADS} is {text!r}, expected a whole number over 0; change or unset")
    return int(text)


def checkpoint_seconds() -> float:
    """Return the least seconds between two checkpoints of a training."""
    text = os.environ.get(CHECKPOINT, "").strip() or "20"
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise InputError(f"environment variable {CHECKPOINT} is {text!r}, expected seconds, 0 or more; change or unset")
    return found


def device() -> Any:
    """Return where tensors live: ``GNOMON_DEVICE``, else the first that is there of cuda, mps and cpu."""
    tensors = torch()
    there = [name for name in ("cuda", "mps") if getattr(tensors, name).is_available()]
    wanted = os.environ.get(DEVICE, "").strip() or [*there, "cpu"][0]
    try:
        found = tensors.device(wanted)
    except RuntimeError as error:
        raise InputError(f"environment variable {DEVICE} is {wanted!r}, which torch does not know") from error
    if found.type not in (*there, "cpu"):
        raise InputError(
            f"environment variable {DEVICE} is {wanted!r}, but there is {', '.join([*there, 'cpu'])} only; change or "
            "unset it"
        )
    return found


@contextlib.contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Have torch draw from the stream of a purpose, by deterministic algorithms; afterwards all is as it was before."""
    tensors = torch()
    filling = tensors.utils.deterministic
    before = random_states(), tensors.are_deterministic_algorithms_enabled(), filling.fill_uninitialized_memory
    warned = tensors.is_deterministic_algorithms_warn_only_enabled()
    tensors.use_deterministic_algorithms(True, warn_only=True)
    filling.fill_uninitialized_memory = False  # it costs a fifth of the time, and nothing here is read unwritten
    tensors.manual_seed(int(generator(seed, *purpose).integers(2**63)))
    try:
        yield
    finally:
        set_random(before[0])
        tensors.use_deterministic_algorithms(before[1], warn_only=warned)
        filling.fill_uninitialized_memory = before[2]


def random_states() -> dict[str, Any]:
    """Return the states of torch's generators."""
    tensors, kind = torch(), device().type
    found = {"cpu": tensors.get_rng_state()}
    return found if kind == "cpu" else {**found, kind: getattr(tensors, kind).get_rng_state()}


def set_random(states: Mapping[str, Any]) -> None:
    """Put torch's generators into states that they had."""
    tensors = torch()
    for kind, state in states.items():
        (tensors if kind == "cpu" else getattr(tensors, kind)).set_rng_state(state)
