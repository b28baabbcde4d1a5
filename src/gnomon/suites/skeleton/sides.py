"""Truth and prediction as two sources: arrays, files, or folders with a file per sequence; cameras are not needed.

Rows of both sides belong together by their ids where both have ids that differ from row to row, else by their order.
Of ``(T, P, J, 3)`` every person is a sequence of its own. A folder or a pattern (``*.npy``) stands for its files, each
a sequence that is called by the name of its file; so does a mapping of arrays.

Sequences come from tags (``sequence``, ``subject``, ``action``, ``frame``) of the truth, else from its ids: an id that
several rows share names a sequence, ids that differ are read as :mod:`gnomon.suites.skeleton.sequences` says.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array, natural_key
from gnomon.intake.faults import shown
from gnomon.intake.formats.joints import SUFFIXES, Joints, read_joints, to_array, to_mask
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source as Given
from gnomon.intake.sources import check_names, named
from gnomon.measures.pose_joints import JointSet, make_set
from gnomon.numerics.rigid import finite
from gnomon.suites.skeleton import sequences, streams
from gnomon.suites.skeleton.bodies import (
    Source,
    check_legs,
    check_size,
    find_root,
    match_joints,
    metres_of_unit,
    name_joints,
    read_set,
    rename,
)
from gnomon.suites.skeleton.files import KEPT, NON_FINITE, Predictions
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import Named, Sequences

BY_ROWS, BY_IDS, BY_NAMES = "row order", "sample ids", "sequence names, then row order"
PERSON = " person "


@dataclass(frozen=True)
class Side:
    """One side: joints ``(N, J, 3)`` of all its sequences under one another."""

    where: str
    joints: Array
    mask: Array | None
    """Visible joints ``(N, J)``; None where all are."""
    ids: tuple[str, ...] | None
    tags: Mapping[str, tuple[str, ...]]
    body: JointSet | None
    """The joints that the source itself names."""
    parts: tuple[str, ...] = ()
    """The sequence of every row, where files, keys or people tell them apart; else none."""
    fps: float = 0.0
    paths: tuple[str, ...] = ()

    def take(self, rows: Array) -> Side:
        """Return the rows in another order."""
        return replace(
            self,
            joints=self.joints[rows],
            mask=None if self.mask is None else self.mask[rows],
            ids=None if self.ids is None else tuple(self.ids[row] for row in rows),
            parts=tuple(self.parts[row] for row in rows) if self.parts else (),
        )


def list_systems(predictions: Sequence[Any], truth: Any) -> list[Given]:
    """Return the predictions of every system: files as ``NAME=FILE``, arrays, or a mapping by name."""
    if len(predictions) > 0 and all(_is_pose(item) for item in predictions):
        return [Given("predictions", list(predictions))]  # nested lists: an item is a sample
    found: list[Given] = []
    for item in predictions:
        if isinstance(item, Mapping) and not _is_one_system(item, truth):
            found += [Given(str(name), content) for name, content in item.items()]
        elif isinstance(item, (str, os.PathLike)):
            found.append(Given(*named(os.fspath(item))))
        else:
            found.append(Given("predictions", item))
    check_names([source.name for source in found])
    return found


def _is_pose(item: Any) -> bool:
    """Say whether an item is one sample: (J, 3) in lists or as an array."""
    if isinstance(item, (str, os.PathLike, Mapping)) or hasattr(item, "columns"):
        return False
    shape = getattr(item, "shape", None)
    if shape is not None:
        return len(shape) == 2
    try:
        return len(item[0]) == 3 and not hasattr(item[0][0], "__len__")
    except (TypeError, IndexError, KeyError):
        return False


def _is_one_system(item: Mapping[Any, Any], truth: Any) -> bool:
    """Say whether a mapping is one system: it has the keys of the truth, or holds joints beside ids or a mask."""
    if isinstance(truth, Mapping) and set(truth) == set(item):
        return True
    keys = {str(key) for key in item}
    beside = {"sample_ids", "sample_id", "ids", "id", "valid", "mask", "names", "joint_names"}
    return bool(keys & beside) or any(key.lower().endswith(("_x", ".x")) for key in keys)


def read_pair(truth: Any, prediction: Any, options: ScoreOptions) -> tuple[Source, dict[str, Any]]:
    """Read both sides of one system; return it, and plain facts of how rows were aligned and what was read."""
    _check_keys(truth, prediction, options)
    true = read_side(truth, "truth", options.key, mask=options.mask)
    key = options.pred_key or options.key
    predicted = read_side(prediction, "predictions", key, fallback=not options.pred_key)
    predicted, aligned_by = _align(true, predicted, options)
    body, joints, approximate, left_out = _match_bodies(true, predicted, options)
    true = replace(true, joints=joints[0], mask=joints[2])
    file = _make_file(true, joints[1], options)
    found = _find_sequences(true, options)
    facts = {
        "aligned_by": aligned_by,
        "fps": options.fps or true.fps,
        "files": [*true.paths, *predicted.paths],
        "joint_set": body.name,
    }
    pelvis = find_root(options.pelvis_index, body)
    source = Source(file, found, body.names, pelvis, body.bones, tuple(approximate), tuple(left_out))
    return source, facts


def _check_keys(truth: Any, prediction: Any, options: ScoreOptions) -> None:
    """Refuse one array of one file as both sides, unless ``--pred-key`` insists: every error would be 0."""
    paths = [os.path.realpath(side) for side in (truth, prediction) if isinstance(side, (str, os.PathLike))]
    if len(paths) == 2 and paths[0] == paths[1] and options.key not in ("", "*") and not options.pred_key:
        raise InputError(
            f"{shown(os.fspath(truth))}: truth and predictions are both the array {options.key!r} of this file; name "
            "that of the predictions with --pred-key"
        )


def read_side(source: Any, name: str, key: str, *, mask: Any = None, fallback: bool = False) -> Side:
    """Read one side; with ``fallback`` a key that a file does not have is not insisted on."""
    asked = mask if isinstance(mask, str) else ""
    listed = _list_files(source)
    found = [(label, _read(one, name, key, asked, fallback=fallback)) for label, one in listed]
    several = len(found) > 1
    parts = [
        _split_people(own, label if several else "") for label, one in found for own in _split_sequences(one, label)
    ]
    flat = [piece for own in parts for piece in own]
    sizes = {piece[1].shape[1] for piece in flat}
    where = found[0][1].where if len(found) == 1 else shown(str(source))
    if len(sizes) > 1:
        raise InputError(f"{where}: sequences have {some(sorted(sizes))} joints; score one body at a time")
    first = found[0][1]
    body = make_set(f"the joints of {where}", first.names, first.parents, where=where) if first.names else None
    whole = _stack(where, flat, body, first)
    whole = replace(whole, paths=tuple(str(one) for _, one in listed if isinstance(one, (str, os.PathLike))))
    if mask is not None and not isinstance(mask, str):
        seen = to_mask(mask, _shape_before(found, whole), "mask")
        whole = replace(whole, mask=_flat_mask(seen, found, whole))
    return whole


Piece = tuple[str, Array, Array | None, tuple[str, ...] | None, Mapping[str, tuple[str, ...]]]
"""A sequence: its name, joints ``(T, J, 3)``, mask ``(T, J)``, ids, tags."""


def _read(source: Any, name: str, key: str, mask: str, *, fallback: bool) -> Joints:
    try:
        return read_joints(source, name, key=key, mask=mask)
    except InputError as error:
        if not (fallback and key) or "no array" not in str(error):
            raise
    return read_joints(source, name, mask=mask)


def _list_files(source: Any) -> list[tuple[str, Any]]:
    """Return the files that a folder or a pattern stands for, by their stems; anything else by no name."""
    if not isinstance(source, (str, os.PathLike)):
        return [("", source)]
    path = os.fspath(source)
    if os.path.isdir(path):
        files = [one for one in Path(path).iterdir() if one.is_file() and one.name.lower().endswith(SUFFIXES)]
    elif any(mark in path for mark in "*?[") and not os.path.exists(path):
        files = [Path(one) for one in glob.glob(path)]
    else:
        return [("", path)]
    if not files:
        raise InputError(f"{shown(path)}: no file of joints there; expected {', '.join(SUFFIXES[:5])}")
    stems = [one.name.partition(".")[0] for one in files]
    if len(set(stems)) != len(stems):
        raise InputError(f"{shown(path)}: files of one name: {some(s for s in stems if stems.count(s) > 1)}")
    return sorted(zip(stems, files, strict=True), key=lambda one: natural_key(one[0]))


def _split_sequences(one: Joints, label: str) -> list[tuple[str, Joints]]:
    """Return the sequences of a source whose arrays are one each; else the source itself."""
    if not one.sequences:
        return [(label, one)]
    return [(key, replace(one, joints=joints, sequences={})) for key, joints in one.sequences.items()]


def _split_people(item: tuple[str, Joints], label: str) -> list[Piece]:
    """Return the people of a sequence, each by itself."""
    name, one = item
    name = label or name
    joints, mask = one.joints, one.mask
    if joints.ndim == 3:
        return [(name, joints, _by_joint(mask, joints), one.ids, one.tags)]
    out: list[Piece] = []
    for person in range(joints.shape[1]):
        own = joints[:, person]
        seen = mask if mask is None or mask.ndim == 1 else mask[:, person]
        out.append((f"{name}{PERSON}{person + 1}".strip(), own, _by_joint(seen, own), one.ids, one.tags))
    return out


def _by_joint(mask: Array | None, joints: Array) -> Array | None:
    if mask is None:
        return None
    return np.broadcast_to(mask[:, np.newaxis], joints.shape[:2]) if mask.ndim == 1 else mask


def _stack(where: str, pieces: Sequence[Piece], body: JointSet | None, first: Joints) -> Side:
    """Put sequences under one another."""
    joints = pieces[0][1] if len(pieces) == 1 else np.concatenate([piece[1] for piece in pieces])
    mask = None
    if any(piece[2] is not None for piece in pieces):
        mask = np.concatenate([np.ones(p[1].shape[:2], bool) if p[2] is None else p[2] for p in pieces])
    ids = None
    if all(piece[3] is not None for piece in pieces):
        ids = tuple(one for piece in pieces for one in piece[3] or ())
    tags = {
        tag: tuple(one for p in pieces for one in p[4][tag]) for tag in pieces[0][4] if all(tag in p[4] for p in pieces)
    }
    parts: tuple[str, ...] = ()
    if any(piece[0] for piece in pieces):
        parts = tuple(piece[0] for piece in pieces for _ in range(len(piece[1])))
    return Side(where, joints, mask, ids, tags, body, parts, first.fps)


def _shape_before(found: Sequence[tuple[str, Joints]], whole: Side) -> tuple[int, ...]:
    """Return the shape that a mask in memory belongs to: that of one array as it was given, else of all rows."""
    one = found[0][1]
    return one.joints.shape if len(found) == 1 and not one.sequences else whole.joints.shape


def _flat_mask(seen: Array, found: Sequence[tuple[str, Joints]], whole: Side) -> Array:
    """Return a mask that was given for the array as it was, for the rows of all people under one another."""
    shape = _shape_before(found, whole)
    if len(shape) == 4:
        people = shape[1]
        own = [seen if seen.ndim == 1 else seen[:, person] for person in range(people)]
        seen = np.concatenate(own)
    by_joint = _by_joint(seen, whole.joints)
    return np.asarray(by_joint if whole.mask is None else by_joint & whole.mask)


def _align(true: Side, predicted: Side, options: ScoreOptions) -> tuple[Side, str]:
    """Return the prediction with its rows in the order of the truth, and how they were aligned."""
    if true.parts and predicted.parts and true.parts != predicted.parts:
        return _align_parts(true, predicted), BY_NAMES
    if len(true.joints) != len(predicted.joints):
        raise InputError(
            f"{true.where} has {len(true.joints):,} samples and {predicted.where} {len(predicted.joints):,}; expected "
            "as many: give one prediction for each true sample, NaN where there is none"
        )
    known = options.ids is None or (isinstance(options.ids, str) and not options.ids)
    both = true.ids is not None and predicted.ids is not None and known and not true.parts
    if not both or true.ids == predicted.ids:
        by = BY_IDS if both else BY_NAMES if true.parts and predicted.parts else BY_ROWS
        return predicted, by
    assert true.ids is not None and predicted.ids is not None  # noqa: S101, PT018 - both are known
    places = {name: row for row, name in enumerate(predicted.ids)}
    lost = [name for name in dict.fromkeys(true.ids) if name not in places]
    if lost or len(places) != len(predicted.ids) or len(set(true.ids)) != len(true.ids):
        why = f"no prediction for {some(lost)}" if lost else "ids repeat, and are not in the same order on both sides"
        raise InputError(f"{predicted.where}: ids differ from those of {true.where}: {why}; give the same ids")
    return predicted.take(np.array([places[name] for name in true.ids])), BY_IDS


def _align_parts(true: Side, predicted: Side) -> Side:
    """Return the prediction with its sequences in the order of the truth."""
    own = [list(dict.fromkeys(side.parts)) for side in (true, predicted)]
    if set(own[0]) != set(own[1]):
        lost, extra = sorted(set(own[0]) - set(own[1])), sorted(set(own[1]) - set(own[0]))
        said = f"no prediction for {some(lost)}" if lost else f"no truth for {some(extra)}"
        raise InputError(f"{predicted.where}: {said}; name sequences (files, keys) alike on both sides")
    labels = np.array(predicted.parts)
    rows = {name: np.flatnonzero(labels == name) for name in own[1]}
    for name in own[0]:
        n = true.parts.count(name)
        if n != len(rows[name]):
            raise InputError(
                f"{predicted.where}: sequence {name!r} has {len(rows[name]):,} samples, but {n:,} in {true.where}; "
                "give one prediction for each true sample, NaN where there is none"
            )
    return predicted.take(np.concatenate([rows[name] for name in own[0]]))


def _match_bodies(
    true: Side, predicted: Side, options: ScoreOptions
) -> tuple[JointSet, tuple[Array, Array, Array | None], list[str], list[str]]:
    """Return the joints that are scored, both sides with these joints, the mask, and which are approximate or lost."""
    sizes = true.joints.shape[1], predicted.joints.shape[1]
    body = _find_body(true, options.joints, "--joints")
    other = _find_body(predicted, options.pred_joints or options.joints, "--pred-joints")
    seen = _join_masks(true.mask, predicted.mask) if sizes[0] == sizes[1] else true.mask
    names = name_joints(options, sizes[0], true.where)
    if body is None or other is None or (body.names == other.names and sizes[0] == sizes[1]):
        if sizes[0] != sizes[1]:
            raise InputError(
                f"{true.where} has {sizes[0]} joints and {predicted.where} {sizes[1]}: name both sets with --joints "
                "and --pred-joints, so that one is derived from the other, or give the same joints"
            )
        plain = body or other or JointSet("not named", tuple(map(str, range(sizes[0]))))
        if options.joints:
            check_legs(plain, true.joints, true.where)
        return rename(plain, names), (true.joints, predicted.joints, seen), [], []
    check_legs(body, true.joints, true.where)
    rules = match_joints(body, other, options.match_joints)
    places = [body.index[name] for name in rules.to.names]
    own = None if true.mask is None else true.mask[:, places]
    theirs = None if predicted.mask is None else rules.apply_mask(predicted.mask)
    joints = true.joints[:, places], rules.apply(predicted.joints), _join_masks(own, theirs)
    lost = [name for name in body.names if name not in rules.to.index]
    picked = tuple(names[place] for place in places) if names else ()
    return rename(rules.to, picked), joints, rules.approximate, lost


def _join_masks(one: Array | None, other: Array | None) -> Array | None:
    return other if one is None else one if other is None else one & other


def _find_body(side: Side, asked: str, flag: str) -> JointSet | None:
    """Return the joints of a side: those that were asked for, else those that the source names."""
    if asked:
        return check_size(read_set(asked, flag), side.joints.shape[1], side.where, flag)
    return side.body


def _make_file(true: Side, prediction: Array, options: ScoreOptions) -> Predictions:
    """Return both sides as a prediction file without cameras, in metres."""
    truth, n = np.ascontiguousarray(true.joints), len(true.joints)
    prediction = np.ascontiguousarray(prediction)
    reasons = np.where(finite(truth) & finite(prediction), KEPT, NON_FINITE).astype(np.uint8)
    cameras = {side: streams.find({}, "", side, n, true.where, {}) for side in ("pred", "gt")}
    file = Predictions(Path(true.where), _given_ids(true, options), prediction, truth, reasons, cameras)
    file = file if true.mask is None else file.hide(true.mask)
    return file.to_metres(metres_of_unit(options.unit or "m"))


def _given_ids(true: Side, options: ScoreOptions) -> tuple[str, ...] | None:
    """Return the ids that were given beside the arrays, or stand in the truth."""
    n, given = len(true.joints), options.ids
    if given is None or (isinstance(given, str) and not given):
        return true.ids
    if isinstance(given, (str, os.PathLike)):
        table = table_of(given)
        names = table.column_names
        usual = (options.id, "sample_ids", "sample_id", "ids", "id", "sequence")
        column = next((name for name in usual if name and name in names), names[0] if len(names) == 1 else "")
        if (options.id and column != options.id) or not column:
            said = f"no column {options.id!r}" if options.id else "which column holds the ids is not clear"
            raise InputError(f"{shown(given)}: {said}; it has {some(names)}; name it with --id COLUMN")
        values = table.column(column).to_pylist()
    else:
        values = to_array(given, "ids").tolist() if not isinstance(given, (list, tuple)) else list(given)
    people = n // len(values) if len(values) and n % len(values) == 0 and true.parts else 1
    values = list(values) * people  # frames of several people share their ids
    if len(values) != n:
        raise InputError(f"ids: got {len(values):,}, expected {n:,}: one for each sample of {true.where}")
    return tuple(map(str, values))


def _find_sequences(true: Side, options: ScoreOptions) -> Sequences:
    """Return the sequences of all rows: from tags, from parts and ids, or all one."""
    n = len(true.joints)
    ids = _given_ids(true, options)
    if true.tags and ("sequence" in true.tags or "subject" in true.tags) and ids is None:
        return _of_tags(true.tags, true.parts, n)
    preset = options.id_preset
    if true.parts:
        labels = (
            tuple(true.parts)
            if ids is None
            else tuple(
                f"{one}{PERSON}{part.rpartition(PERSON)[2]}"
                if PERSON in part or part.startswith(PERSON.strip())
                else one
                for one, part in zip(ids, true.parts, strict=True)
            )
        )
        return sequences.find_labels(labels, options.group_by, preset)
    if ids is None:
        return sequences.find(None, n)
    if len(set(ids)) < len(ids):
        return sequences.find_labels(ids, options.group_by, preset)
    return sequences.find(ids, n, options.group_by, preset)


def _of_tags(tags: Mapping[str, Sequence[str]], parts: Sequence[str], n: int) -> Sequences:
    blank = [""] * n
    subject, action = tags.get("subject", blank), tags.get("action", blank)
    sequence = tags.get("sequence") or [
        "_".join(filter(None, pair)) or "all" for pair in zip(subject, action, strict=True)
    ]
    if parts:
        sequence = [f"{one} {part}" for one, part in zip(sequence, parts, strict=True)]
    known: dict[Named, int] = {}
    rows = zip(sequence, subject, action, strict=True)
    codes = np.array([known.setdefault(Named(*row), len(known)) for row in rows], dtype=np.int64)
    return Sequences(codes, sequences.to_frames(tags.get("frame", ()), n), tuple(known))
