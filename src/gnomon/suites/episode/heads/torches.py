"""Torch as neural heads use it: loaded when first needed, its threads, its device, its random numbers."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from typing import Any

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.seeds import generator

THREADS, DEVICE = "GNOMON_THREADS", "GNOMON_DEVICE"


def torch() -> Any:
    """Return torch, told its threads: ``GNOMON_THREADS``, else one, so that results do not depend on the machine's."""
    try:
        found = importlib.import_module("torch")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise MissingExtraError(
            "neural heads need torch, which is not installed: pip install 'gnomon[models]', or leave them out"
        ) from error
    wanted = threads()
    if found.get_num_threads() != wanted:
        found.set_num_threads(wanted)
    return found


def threads() -> int:
    """Return how many threads torch uses."""
    text = os.environ.get(THREADS, "").strip() or "1"
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"environment variable {THREADS} is {text!r}, expected a whole number over 0; change or unset")
    return int(text)


def device() -> str:
    """Return where tensors live: ``GNOMON_DEVICE``, else the first that is there of cuda, mps and cpu."""
    tensors = torch()
    there = [*(name for name in ("cuda", "mps") if getattr(tensors, name).is_available()), "cpu"]
    wanted = os.environ.get(DEVICE, "").strip() or there[0]
    if wanted.partition(":")[0] not in there:
        raise InputError(
            f"environment variable {DEVICE} is {wanted!r}, expected one of {', '.join(there)}; change or unset it"
        )
    return wanted


@contextlib.contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Have torch draw from the stream of a purpose, by deterministic algorithms; afterwards all is as it was before."""
    tensors, kind = torch(), device().partition(":")[0]
    sources = [tensors] if kind == "cpu" else [tensors, getattr(tensors, kind)]
    states = [source.get_rng_state() for source in sources]
    strict = tensors.are_deterministic_algorithms_enabled(), tensors.is_deterministic_algorithms_warn_only_enabled()
    filling = tensors.utils.deterministic.fill_uninitialized_memory
    tensors.use_deterministic_algorithms(True, warn_only=True)
    tensors.utils.deterministic.fill_uninitialized_memory = False  # costs time, and nothing here is read unwritten
    tensors.manual_seed(int(generator(seed, *purpose).integers(2**63)))
    try:
        yield
    finally:
        for source, state in zip(sources, states, strict=True):
            source.set_rng_state(state)
        tensors.use_deterministic_algorithms(strict[0], warn_only=strict[1])
        tensors.utils.deterministic.fill_uninitialized_memory = filling
