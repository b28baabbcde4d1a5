"""Fitting a system that the user gave: what its ``fit`` is handed follows from its signature, by name.

``fit(features, labels, rng)`` is handed a generator. A scikit-learn estimator (anything with ``get_params`` and
``set_params``) has ``fit(features, labels)``: its further parameters, such as ``sample_weight``, are not the
generator's place. Those of its parameters that are called ``random_state`` and are not set, also inside a pipeline, are
drawn from the generator, so that the seed of the run decides.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from gnomon.core.tallies import Array

RNG = "rng"
RANDOM_STATE = "random_state"
LARGEST_SEED = 2**31 - 1
"""What every version of numpy and scikit-learn takes as a seed is below this."""


def fit_system(system: Any, features: Array, labels: Array, rng: np.random.Generator) -> None:
    """Fit a system to labelled rows, and give it the generator where its interface has a place for one."""
    place = _generator_place(system.fit)
    if place is None:
        seed_estimator(system, rng)
        system.fit(features, labels)
    elif place:
        system.fit(features, labels, **{place: rng})
    else:
        system.fit(features, labels, rng)


def seed_estimator(system: Any, rng: np.random.Generator) -> None:
    """Draw every ``random_state`` of an estimator that is not set; do nothing to what is no estimator."""
    if not callable(getattr(system, "get_params", None)) or not callable(getattr(system, "set_params", None)):
        return
    open_seeds = [
        name
        for name, value in sorted(system.get_params(deep=True).items())
        if value is None and name.rpartition("__")[2] == RANDOM_STATE
    ]
    if open_seeds:
        system.set_params(**{name: int(rng.integers(LARGEST_SEED)) for name in open_seeds})


def _generator_place(fit: Any) -> str | None:
    """Return the name of the parameter that takes the generator, empty where it has no name; None without one.

    It is the parameter ``rng``; else the third one, where it has no default.
    """
    try:
        parameters = list(inspect.signature(fit).parameters.values())
    except (TypeError, ValueError):  # a compiled function that tells nothing of itself
        return None
    if any(item.name == RNG and item.kind != item.POSITIONAL_ONLY for item in parameters):
        return RNG
    if any(item.kind == item.VAR_POSITIONAL for item in parameters[:3]):
        return ""
    third = parameters[2] if len(parameters) > 2 else None
    if third is None or third.default is not third.empty or third.kind == third.VAR_KEYWORD:
        return None
    return "" if third.kind == third.POSITIONAL_ONLY else third.name
