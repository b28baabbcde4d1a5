"""Arrays, series and tensors of other libraries as NumPy arrays, where a function takes plain sequences too."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_native(values: Any, side: str) -> Any:
    """Return an array, series, frame or tensor of any library as a NumPy array, and anything else as it is.

    No library is imported: see :mod:`gnomon.intake.memory`. ``side`` says in messages what the values are.

    >>> to_native([1, 2], "truth")
    [1, 2]
    """
    if isinstance(values, np.ndarray) or not any(hasattr(values, name) for name in ("__array__", "__dlpack__")):
        return values
    from gnomon.intake.memory import to_numpy

    return to_numpy(values, side)
