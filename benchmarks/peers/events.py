"""Peer of ``benchmarks/events.py``: ``ward-metrics``, segments and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from serving import serve
from wardmetrics.core_methods import eval_events, eval_segments

ORDER = ("TP", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe")


def prepare(arrays: Mapping[str, np.ndarray], parameters: dict[str, Any]) -> Callable[[], np.ndarray]:
    truth, returned = ([(float(a), float(b)) for a, b in arrays[name]] for name in ("truth", "returned"))
    window = parameters["window"]

    def run() -> np.ndarray:
        seconds = eval_segments(truth, returned, *window)[2]
        eval_events(truth, returned, *window)
        return np.array([round(seconds[name] * 1000) for name in ORDER])

    return run


if __name__ == "__main__":
    serve("ward-metrics", version("ward-metrics"), prepare)
