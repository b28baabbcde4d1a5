"""Settings to try: every combination of listed values, or some drawn at random from lists and ranges.

An axis is written ``key=a,b,c`` (values), ``key=low..high`` (a range) or ``key=low..high:log`` (a range whose
logarithm is uniform). A range between whole numbers gives whole numbers, both ends included; other draws are rounded
to four significant digits, so that what a table shows is what was used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.core.errors import InputError
from gnomon.core.systems import Value, read_value, written

if TYPE_CHECKING:
    import numpy as np

MOST_ARMS = 10_000
"""More than anybody can look at; a larger grid is drawn from."""
MOST_LISTED = 1_000_000
"""Up to this many combinations are shuffled as a whole; of more, some are drawn until enough differ."""
DIGITS = 4

Setting = dict[str, Value]


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def draw(self, rng: np.random.Generator) -> Value:
        """Draw one number."""
        if self.whole and not self.log:
            return int(rng.integers(int(self.low), int(self.high), endpoint=True))
        if self.whole:  # a whole number stands for the stretch of length 1 around it
            low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
            return min(max(round(math.exp(rng.uniform(low, high))), int(self.low)), int(self.high))
        ends = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        drawn = float(rng.uniform(*ends))
        return float(f"{math.exp(drawn) if self.log else drawn:.{DIGITS}g}")

    def __str__(self) -> str:
        return f"{self.low!r}..{self.high!r}" + (":log" if self.log else "")


Axis = tuple[Value, ...] | Range


def parse(items: Iterable[str]) -> dict[str, Axis]:
    """Read axes as they are written on the command line.

    >>> parse(["eps=.01,.02", "size=1..64:log"])
    {'eps': (0.01, 0.02), 'size': Range(low=1, high=64, log=True)}
    """
    found: dict[str, Axis] = {}
    for item in items:
        key, equals, text = item.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise InputError(f"--grid {item!r}: expected key=a,b,c or key=low..high")
        if key in found:
            raise InputError(f"--grid {item!r}: {key!r} is given twice; list all its values once")
        found[key] = axis(key, text)
    return found


def axis(key: str, given: Any) -> Axis:
    """Return the axis that a text, a value or a sequence of values stands for."""
    where = f"--grid {key}"
    if isinstance(given, Range):
        return given
    if isinstance(given, str):
        if ".." in given:
            return _range(given, where)
        values = tuple(read_value(text, where) for text in given.split(","))
    else:
        listed = given if isinstance(given, Iterable) else (given,)
        values = tuple(value.item() if hasattr(value, "item") else value for value in listed)
    if not values:
        raise InputError(f"{where}: no value is given")
    for value in values:
        written(value, where)
    if len({(type(value), value) for value in values}) < len(values):
        raise InputError(f"{where}: a value is given twice: {', '.join(map(str, values))}")
    return values


def product(axes: Mapping[str, Axis]) -> list[Setting]:
    """Return every combination; the last axis changes first."""
    for key, values in axes.items():
        if isinstance(values, Range):
            raise InputError(f"--grid {key}={values}: a range needs --random N, which draws from it; or list values")
    size = _size(axes)
    if size > MOST_ARMS:
        raise InputError(f"the grid has {size:,} arms, more than {MOST_ARMS:,}: give --random N, or fewer values")
    return [_setting(axes, at) for at in range(size)]


def draw(axes: Mapping[str, Axis], count: int, rng: np.random.Generator) -> list[Setting]:
    """Draw different settings; the first ones do not depend on how many are asked for."""
    if not 1 <= count <= MOST_ARMS:
        raise InputError(f"--random {count}: expected 1 to {MOST_ARMS:,} arms")
    if any(isinstance(values, Range) for values in axes.values()) or _size(axes) > MOST_LISTED:
        return _different(axes, count, rng)
    size = _size(axes)
    if count > size:
        raise InputError(f"--random {count}: the grid has only {size:,} arms; leave --random out to run them all")
    return [_setting(axes, at) for at in rng.permutation(size)[:count].tolist()]


def _different(axes: Mapping[str, Axis], count: int, rng: np.random.Generator) -> list[Setting]:
    found: dict[tuple[Value, ...], None] = {}
    for _ in range(1000 + 100 * count):
        drawn = tuple(_drawn(values, rng) for values in axes.values())
        found.setdefault(drawn)
        if len(found) == count:
            return [dict(zip(axes, values, strict=True)) for values in found]
    raise InputError(f"--random {count}: only {len(found)} different arms were found in these ranges: ask for fewer")


def _drawn(values: Axis, rng: np.random.Generator) -> Value:
    return values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]


def _size(axes: Mapping[str, Axis]) -> int:
    return math.prod(len(values) for values in axes.values() if not isinstance(values, Range))


def _setting(axes: Mapping[str, Any], place: int) -> Setting:
    """Return the combination at a place of the product."""
    setting: Setting = {}
    for key, values in reversed(list(axes.items())):
        place, at = divmod(place, len(values))
        setting[key] = values[at]
    return dict(reversed(list(setting.items())))


def _range(text: str, where: str) -> Range:
    ends, colon, kind = text.partition(":")
    low, high = (read_value(end, where) for end in ends.split("..", 1))
    numbers = all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in (low, high))
    if not numbers or (colon and kind != "log"):
        raise InputError(f"{where}={text}: expected low..high or low..high:log, with numbers")
    found = Range(low, high, bool(colon))  # type: ignore[arg-type]
    if not found.low < found.high:
        raise InputError(f"{where}={text}: expected the lower end first")
    if found.log and found.low <= 0:
        raise InputError(f"{where}={text}: a logarithmic range starts above 0")
    return found


def described(axes: Mapping[str, Axis]) -> dict[str, str | list[Value]]:
    """Return axes as plain data."""
    return {key: str(values) if isinstance(values, Range) else list(values) for key, values in axes.items()}
