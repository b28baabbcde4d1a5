"""Lists of boxes that are all written alike, read at once: what is usual, and many times faster than box by box.

A list in JSON is taken here where every box has the same entries, of which one names its class and the others give one
of the forms of :mod:`gnomon.suites.change.shapes`, and where nothing is wrong with any of them. Of every other list
nothing is said but that it is none of these: whoever asked reads it box by box, and that says what is wrong, or takes
the forms as they are mixed.

Numbers are checked for many lists together (:func:`boxes_of`). A key that is there twice shows in the number of pairs:
``pairs`` of what was read, against those of the text (:func:`whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, Boxes, parted
from gnomon.core.tallies import Array
from gnomon.intake.depth import outline
from gnomon.numerics.solids import ALIGNED, PARALLEL, solids
from gnomon.suites.change.shapes import FORMS, FRAME, checked, class_code, together

BATCH = 1 << 15
"""About how many boxes are checked together."""
FAULTS = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoders raise where a text is not written as expected."""
_EXACT = 2.0**53
"""Whole numbers up to which it does not matter whether they were read as such or as floats."""
_MOST = 64
"""Entries of a box up to which it pays to make a decoder for them."""
_THIN, _NEAR = 1e-90, 1e-9
"""A box that is thinner, in metres or against its distance from zero, is looked at alone: rounding could decide."""
_POINT: Any = tuple[float, float, float]
_TYPES = {"min": _POINT, "max": _POINT, "center": _POINT, "size": _POINT, "yaw": float, "score": float}
_TYPES["vertices"] = tuple[(_POINT,) * 8]  # type: ignore[misc]
_WIDTHS = {"min": 6, "vertices": 24, "center": 7}
_NUMBERS: dict[str, Callable[[Any], Iterable[float]]] = {
    "min": lambda box: box.min + box.max,
    "vertices": lambda box: chain.from_iterable(box.vertices),
    "center": lambda box: (*box.center, *box.size, box.yaw),
}


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of boxes as it is written.

    ``form`` is the first entry of a form of boxes; ``numbers`` are those of all boxes, one after another.
    """

    form: str
    numbers: Array
    codes: list[int]
    scores: list[float] | None
    pairs: int

    def __len__(self) -> int:
        return len(self.codes)


class Reader:
    """Reads lists one after another; each is first taken to be written as the last one was.

    Parameters
    ----------
    names
        Entries of which one names the class.
    scored
        Whether boxes may have a ``score``; and if so nothing else besides: other entries are not passed over.
    """

    def __init__(self, names: Sequence[str], *, scored: bool) -> None:
        self.names, self.scored = tuple(names), scored
        self._keys: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The entries of the boxes that were read last."""
        return self._keys

    def read(self, data: Any) -> Listed | None:
        """Return the list in bytes of JSON, or None where boxes are not written alike."""
        try:
            found = self._decoded(data)
        except FAULTS:
            return None
        if found is None:
            return None
        boxes, form = found
        n, width = len(boxes), _WIDTHS[form]
        try:
            codes = [_CODES[box.name] for box in boxes]
        except InputError:
            return None
        numbers = np.fromiter(chain.from_iterable(map(_NUMBERS[form], boxes)), np.float64, n * width)
        scores = [box.score for box in boxes] if self.scored and "score" in self._keys else None
        return Listed(form, numbers, codes, scores, n * len(self._keys))

    def _decoded(self, data: Any) -> tuple[list[Any], str] | None:
        if self._keys:
            decoder, form = _decoder(self._keys, self.names, self.scored)
            try:
                return decoder.decode(data), form
            except msgspec.ValidationError:
                pass
        first = next(iter(msgspec.json.decode(data, type=list[dict[str, Any]])), {})
        keys = tuple(first) if first else (self.names[0], *FORMS[0])
        if not self._known(keys):
            return None
        self._keys = keys
        decoder, form = _decoder(keys, self.names, self.scored)
        return decoder.decode(data), form

    def _known(self, keys: Sequence[str]) -> bool:
        """Say whether entries are those of a box, and not too many."""
        if len(keys) > _MOST:
            return False
        forms = [form for form in FORMS if any(key in keys for key in form)]
        if len(forms) != 1 or not set(forms[0]) <= set(keys) or len(set(self.names) & set(keys)) != 1:
            return False
        return not self.scored or set(keys) <= {*self.names, *forms[0], "score"}


class _Codes(dict[str, int]):
    """Codes of classes by the names that have been met."""

    def __missing__(self, name: str) -> int:
        code = class_code(name, "a box")
        if len(self) < 64:
            self[name] = code
        return code


_CODES = _Codes()


@lru_cache(maxsize=64)
def _decoder(keys: tuple[str, ...], names: tuple[str, ...], scored: bool) -> tuple[msgspec.json.Decoder[Any], str]:
    """Return what decodes lists of boxes with exactly these entries, and the first entry of their form."""
    form = next(form for form in FORMS if form[0] in keys)
    own = {*form, "score"} if scored else set(form)
    fields: list[tuple[str, Any]] = []
    renamed: dict[str, str] = {}
    for number, key in enumerate(keys):
        if key in names:
            fields.append(("name", str))
        elif key in own:
            fields.append((key, _TYPES[key]))
        else:
            fields.append((f"other_{number}", str | int | float | bool | None))
        renamed[fields[-1][0]] = key
    box = msgspec.defstruct("Box", fields, rename=renamed, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(list[box]), form[0]  # type: ignore[valid-type]


def whole(data: bytes, pairs: int) -> bool:
    """Say whether a text holds so many pairs of key and value: all that were read of it, none of them twice."""
    return data.count(b":") == pairs or outline(data).pairs == pairs


def boxes_of(lists: Sequence[Listed]) -> list[Boxes] | None:
    """Return the boxes of many lists, as reading them one by one gives them; None where a box is none."""
    out: list[Boxes] = [_NOTHING] * len(lists)
    for batch in _batches(lists):
        kinds = {(lists[index].form, lists[index].scores is None) for index in batch}
        for form, plain in sorted(kinds):
            rows = [i for i in batch if lists[i].form == form and (lists[i].scores is None) == plain]
            made = _made([lists[index] for index in rows])
            if made is None:
                return None
            for index, boxes in zip(rows, made, strict=True):
                out[index] = boxes
    return out


_NOTHING = together([], [])


def _batches(lists: Sequence[Listed]) -> Iterable[list[int]]:
    """Yield the places of lists that are not empty, about :data:`BATCH` boxes at a time."""
    batch: list[int] = []
    size = 0
    for index, own in enumerate(lists):
        if len(own):
            batch.append(index)
            size += len(own)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _made(lists: Sequence[Listed]) -> list[Boxes] | None:
    """Return the boxes of lists of one form, none of them empty."""
    numbers = np.concatenate([own.numbers for own in lists])
    if (np.abs(numbers) >= _EXACT).any():
        return None
    try:
        if lists[0].form == "vertices":
            return _from_vertices(numbers.reshape(-1, 8, 3), lists)
        geometry = numbers.reshape(-1, _WIDTHS[lists[0].form])
        solids(geometry)
    except InputError:
        return None
    return parted(_boxes(geometry, lists), [len(own) for own in lists])


def _boxes(geometry: Array, lists: Sequence[Listed]) -> Boxes:
    codes = np.fromiter(chain.from_iterable(own.codes for own in lists), np.int64, len(geometry))
    scores = None
    if lists[0].scores is not None:
        scores = np.fromiter(chain.from_iterable(own.scores or () for own in lists), np.float64, len(geometry))
    return Boxes(geometry, codes, BOX_CLASSES, scores, FRAME)


def _from_vertices(vertices: Array, lists: Sequence[Listed]) -> list[Boxes]:
    """Return boxes that are written by vertices: by two corners where these are all of their vertices."""
    low, high = vertices.min(axis=1), vertices.max(axis=1)
    straight = _straight(vertices, low, high)
    corners = np.concatenate([low, high], axis=1)
    solids(corners[straight])
    turned = ~straight
    if turned.any():
        places = np.flatnonzero(turned)
        for place in places[solids(vertices[turned]).stand == ALIGNED].tolist():
            corners[place] = checked(vertices[place], "box")
            turned[place] = False
    sizes = [len(own) for own in lists]
    straightened = parted(_boxes(corners, lists), sizes)
    if not turned.any():
        return straightened
    out, ends = [], np.cumsum(sizes).tolist()
    for own, plain, end in zip(lists, straightened, ends, strict=True):
        here = slice(end - len(own), end)
        if turned[here].any():
            pairs = zip(turned[here].tolist(), vertices[here], corners[here], strict=True)
            out.append(together([v if askew else c for askew, v, c in pairs], own.codes, own.scores))
        else:
            out.append(plain)
    return out


def _straight(vertices: Array, low: Array, high: Array) -> Array:
    """Say which boxes have exactly the eight vertices that two corners have, and are not flat."""
    bits, above, below = (values.view(np.int64) for values in (vertices, high, low))  # 0 and -0 are not the same
    upper = bits == above[:, np.newaxis]
    exact = (upper | (bits == below[:, np.newaxis])).all(axis=(1, 2))
    number = upper @ np.array([1, 2, 4])
    every = np.bitwise_or.reduce(1 << number, axis=1) == 0xFF
    half = (high - low) / 2
    least = np.maximum(2 * PARALLEL * np.sqrt((half * half).sum(axis=1)), _THIN)
    least = np.maximum(least, _NEAR * np.maximum(np.abs(low), np.abs(high)).max(axis=1))
    return np.asarray(exact & every & (half.min(axis=1) > least))
