"""The peer's side of a benchmark: prepare once, then run when asked; needs numpy only.

The first line on stdin holds the parameters, each further one ``{"repeat": r}``. Answers are JSON lines on stdout.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np


def serve(
    peer: str, version: str, prepare: Callable[[Mapping[str, np.ndarray], dict[str, Any]], Callable[[], Any]]
) -> None:
    """Answer until stdin ends; ``prepare(arrays, parameters)`` returns the function that is timed."""
    parameters = json.loads(sys.stdin.readline())
    with np.load(parameters.pop("data"), allow_pickle=False) as stored:
        function = prepare({name: stored[name] for name in stored.files}, parameters)
    result = np.ascontiguousarray(function(), "<i8")
    _answer(peer=peer, version=version, digest=hashlib.sha256(result.tobytes()).hexdigest())
    for line in sys.stdin:
        best = float("inf")
        for _ in range(json.loads(line)["repeat"]):
            start = perf_counter()
            function()
            best = min(best, perf_counter() - start)
        _answer(seconds=best)


def _answer(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)
