"""Streaming: score data that comes in parts, and single scores as functions.

``accumulate()`` of a task module makes an :class:`Accumulator`. ``update`` takes a part as ``evaluate`` takes the
whole; ``compute`` returns what ``evaluate`` returns of all parts together, to the last bit, however they were cut. It
may be called at any time, and the stream goes on after it.

What is kept between updates
----------------------------
counts
    classification, multilabel, points, scenes: counts by class, whatever the number of rows.
running sums
    regression: sums with the rounding error of each (:mod:`gnomon.numerics.moments`).
ranks
    retrieval: three whole numbers per query, for the median.
rows
    pose, trajectories, cameras, boxes: everything that was given (:func:`keep_rows`), since medians, percentiles and
    differences between frames need all of it.
tallies
    events and segmentations (:mod:`gnomon.measures.recordings`): one tally per recording; an update is one recording.

Groups
------
``update(..., groups=...)`` takes one value for the whole part (a subject, a recording), or one for each row;
``compute_groups`` then returns the scores of each group by itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array, Tallies

State = TypeVar("State")
P = ParamSpec("P")


class Accumulator(Generic[State]):
    """Scores of data that comes in parts; see the module.

    Parameters
    ----------
    step
        From a state (``None`` at first) and a part to a new state. It does not change the old one, so that a part that
        is refused leaves no trace.
    finish
        From a state to the scores.
    by_row
        Whether all that ``update`` takes has one entry per row, so that groups may be given row by row.
    """

    def __init__(
        self, step: Callable[..., State], finish: Callable[[State], dict[str, Any]], *, by_row: bool = True
    ) -> None:
        self._step, self._finish, self._by_row = step, finish, by_row
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._state: State | None = None
        self._groups: dict[Any, State] = {}

    def update(self, *data: Any, groups: Any = None, **named: Any) -> Accumulator[State]:
        """Take a part of the data, as ``evaluate`` takes it; return this accumulator."""
        state = self._step(self._state, *data, **named)
        parts = [] if groups is None else self._split(data, named, groups)
        kept = {group: self._step(self._groups.get(group), *own, **rest) for group, own, rest in parts}
        self._state = state
        self._groups |= kept
        return self

    def compute(self) -> dict[str, Any]:
        """Return the scores of everything so far."""
        if self._state is None:
            raise InputError("nothing to compute: call update(...) first")
        return self._finish(self._state)

    def compute_groups(self) -> dict[Any, dict[str, Any]]:
        """Return the scores of each group by itself, in the order in which the groups came."""
        if not self._groups:
            raise InputError("no groups: give them with update(..., groups=...)")
        return {group: self._finish(state) for group, state in self._groups.items()}

    def _split(
        self, data: Sequence[Any], named: dict[str, Any], groups: Any
    ) -> list[tuple[Any, list[Any], dict[str, Any]]]:
        """Return each group with its own rows of a part."""
        if isinstance(groups, (str, int, np.integer)):
            return [(groups, list(data), named)]
        from gnomon.intake.memory import to_column

        if not self._by_row:
            raise InputError("groups: expected one value for the whole part here (text or a whole number)")
        values = to_column(groups, "groups").to_pylist()
        n = len(data[0])
        if len(values) != n or None in values:
            raise InputError(f"groups: expected one value for each of {n} rows, but got {len(values)} or an empty one")
        rows: dict[Any, list[int]] = {}
        for row, value in enumerate(values):
            rows.setdefault(value, []).append(row)
        return [
            (group, [_take(side, own) for side in data], {name: _take(side, own) for name, side in named.items()})
            for group, own in rows.items()
        ]


def keep_rows(evaluate: Callable[..., dict[str, Any]], **options: Any) -> Accumulator[Any]:
    """Return an accumulator that keeps what it is given and evaluates it as one; for scores that need every row."""

    def step(state: tuple[Any, ...] | None, *data: Any, **named: Any) -> tuple[Any, ...]:
        part: dict[Any, Any] = dict(enumerate(data))
        part |= {name: side for name, side in named.items() if side is not None}
        kept = state or ()
        if kept and kept[0].keys() != part.keys():
            raise InputError(
                f"expected the same arguments in every update ({_names(kept[0])}), but got {_names(part)}: "
                "give each in all updates, or in none"
            )
        arrays = {name: _copied(side, str(name)) for name, side in part.items()}
        shapes = [{name: side.shape[1:] for name, side in own.items()} for own in (*kept[:1], arrays)]
        if shapes[0] != shapes[-1]:
            raise InputError(f"expected rows of the shapes of the first update, {shapes[0]}, but got {shapes[-1]}")
        found = (*kept, arrays)
        if not kept:
            finish(found)  # refuses options and shapes at once, not at the end of the stream
        return found

    def finish(state: tuple[Any, ...]) -> dict[str, Any]:
        whole = {name: np.concatenate([part[name] for part in state]) for name in state[0]}
        data = [whole.pop(place) for place in range(sum(isinstance(name, int) for name in state[0]))]
        return evaluate(*data, **whole, **options)

    return Accumulator(step, finish)


def add_tallies(state: Tallies | None, part: Tallies) -> Tallies:
    """Return the sum of two tallies of one row each, aligned by label."""
    if state is None:
        return part
    return Tallies.stack([state, part]).grouped(np.zeros(2, dtype=np.int64), 1)


def score_function(
    evaluate: Callable[P, dict[str, Any]], name: str, summary: str, called: str = ""
) -> Callable[P, float | None]:
    """Return one score of an ``evaluate`` as a function with the same parameters.

    Dots in the name lead into nested results, unless the result has the whole name. ``called`` is the name of the
    function; default: that of the score, with underscores.

    >>> from gnomon.measures import classification
    >>> classification.macro_f1(["a", "b"], ["a", "a"]) == classification.evaluate(["a", "b"], ["a", "a"])["macro_f1"]
    True
    """

    def function(*args: P.args, **kwargs: P.kwargs) -> float | None:
        found: Any = evaluate(*args, **kwargs)
        for part in [name] if name in found else name.split("."):
            found = found[part]
        return None if found is None else float(found)

    function.__name__ = function.__qualname__ = called or re.sub(r"\W", "_", name)
    function.__module__ = evaluate.__module__
    function.__doc__ = (
        f"{summary}\n\nTakes what :func:`{evaluate.__module__}.evaluate` takes, and returns its ``{name}``; ``None`` "
        "where that is undefined."
    )
    given = inspect.signature(evaluate)
    function.__signature__ = given.replace(return_annotation="float | None")  # type: ignore[attr-defined]
    return function


def _take(values: Any, rows: list[int]) -> Any:
    if values is None:
        return None
    if isinstance(values, (list, tuple)):
        return [values[row] for row in rows]
    from gnomon.intake.memory import to_numpy

    return to_numpy(values, "data")[rows]


def _copied(values: Any, name: str) -> Array:
    """Return values as an array of our own: the caller may use its buffer again."""
    from gnomon.intake.memory import to_numpy

    found = np.array(to_numpy(values, name))
    if not found.ndim:
        raise InputError(f"{name}: expected one entry per row, but got {values!r:.80}")
    return found


def _names(part: dict[Any, Any]) -> str:
    named = [name for name in part if isinstance(name, str)]
    return ", ".join([f"{len(part) - len(named)} by position", *named])
