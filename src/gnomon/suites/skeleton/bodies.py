"""Which joints a source has: names, root and bones, from a known set, a file, the source itself or the options."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_bytes, read_json
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import UNITS
from gnomon.measures.pose_joints import ALIASES, HIPS, SETS, Derived, JointSet, derive, find_set, make_set
from gnomon.suites.skeleton.files import Predictions
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import Sequences

KNOWN = (*SETS, *ALIASES)
SHOULDERS = ("left_shoulder", "right_shoulder")


@dataclass(frozen=True)
class Source:
    """One system, read: what is scored, its sequences, its joints."""

    file: Predictions
    sequences: Sequences
    joints: tuple[str, ...]
    pelvis: tuple[int, ...]
    bones: tuple[tuple[int, int], ...] = ()
    approximate: tuple[str, ...] = ()
    """Joints of the prediction that were derived approximately."""
    left_out: tuple[str, ...] = ()
    """Joints of the truth that the prediction does not have."""

    @property
    def root(self) -> tuple[int, int]:
        """The two joints (perhaps the same one) whose middle is the root."""
        return self.pelvis[0], self.pelvis[-1]


def metres_of_unit(text: str) -> float:
    """Return the metres of one unit: of m, cm or mm, or a number of metres itself.

    >>> metres_of_unit("mm"), metres_of_unit("0.0254")
    (0.001, 0.0254)
    """
    if text in UNITS:
        return UNITS[text]
    try:
        metres = float(text)
    except ValueError:
        metres = math.nan
    if not 0 < metres < math.inf:
        raise InputError(f"--unit {text!r:.60}: expected {', '.join(UNITS)}, or the metres of one unit, as 0.0254")
    return metres


def read_set(text: str, flag: str) -> JointSet:
    """Return the set of joints that an option names: a known one, or a file with names."""
    known = find_set(text)
    if known is not None:
        return known
    if not os.path.exists(text):
        raise InputError(
            f"{flag} {shown(text, 80)!r}: no such set of joints, and no such file; known are {', '.join(KNOWN)}; a "
            "file has a name per line, or is JSON"
        )
    where, name = shown(text), Path(text).stem
    if text.lower().endswith(".json"):
        return _of_json(read_json(text), name, where)
    try:
        lines = read_bytes(text).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text; expected a name of a joint per line") from error
    rows = [(number, line.replace(",", " ").split()) for number, line in enumerate(lines, 1) if line.strip()]
    for number, words in rows:
        if len(words) > 2:
            raise InputError(
                f"{where}: line {number}: expected a name, or a name and its parent, but got {words!r:.80}"
            )
    names = [words[0] for _, words in rows]
    parents = [words[1] if len(words) > 1 else "" for _, words in rows]
    return make_set(name, names, _parents(names, parents, where) if any(parents) else None, where=where)


def _of_json(value: object, name: str, where: str) -> JointSet:
    parents: Sequence[object] | None = None
    names: object = value
    if isinstance(value, dict) and "names" in value:
        names, parents = value["names"], value.get("parents")
    elif isinstance(value, dict):
        names, parents = list(value), list(value.values())
    fine = isinstance(names, list) and all(isinstance(one, str) for one in names)
    if not fine or not (parents is None or isinstance(parents, list)):
        raise InputError(
            f"{where}: expected a list of names, {{name: parent}}, or an object with names and parents; correct it"
        )
    assert isinstance(names, list)  # noqa: S101 - checked above
    if parents is not None and len(parents) != len(names):
        raise InputError(f"{where}: {len(names)} names, but {len(parents)} parents; give one for each joint")
    return make_set(name, names, None if parents is None else _parents(names, parents, where), where=where)


def _parents(names: Sequence[str], parents: Sequence[object], where: str) -> list[int]:
    """Return the indices of parents that are given as names, indices, or nothing for the root."""
    found = []
    for name, parent in zip(names, parents, strict=True):
        if parent is None or parent in ("", "-", -1, "-1"):
            found.append(-1)
        elif isinstance(parent, str) and parent in names:
            found.append(names.index(parent))
        elif str(parent).isdecimal() and int(str(parent)) < len(names):
            found.append(int(str(parent)))
        else:
            raise InputError(f"{where}: the parent of {name!r} is {parent!r:.60}, which is none of the joints")
    return found


def check_size(joints: JointSet, size: int, where: str, flag: str) -> JointSet:
    """Refuse a set that has another number of joints than the data."""
    if len(joints) != size:
        fits = [name for name, one in SETS.items() if len(one) == size]
        hint = f"; {', '.join(fits)} {'have' if len(fits) > 1 else 'has'} {size}" if fits else ""
        raise InputError(f"{where}: has {size} joints, but {flag} {joints.name} has {len(joints)}{hint}")
    return joints


def check_legs(joints: JointSet, truth: Array, where: str) -> None:
    """Refuse joints whose left and right legs are exchanged, as the two orders of Human3.6M do to each other."""
    if joints.name not in ("h36m17", "h36m17-smpl") or not len(truth):
        return
    left_hip, right_hip, left, right = (truth[:, joints.index[name]] for name in (*HIPS, *SHOULDERS))
    across = np.einsum("ni,ni->n", left_hip - right_hip, left - right)
    told = across[np.isfinite(across) & (across != 0)]
    if len(told) and float(np.mean(told < 0)) > 0.9:
        other = "h36m17-smpl" if joints.name == "h36m17" else "h36m17"
        raise InputError(
            f"{where}: left and right hips are exchanged against the shoulders in {np.mean(told < 0):.0%} of "
            f"{len(told):,} samples: the other leg comes first; give --joints {other}"
        )


def match_joints(truth: JointSet, prediction: JointSet, how: str) -> Derived:
    """Return how the joints that are scored are derived from the prediction; ``how`` is ``--match-joints``."""
    rules = derive(truth, prediction)
    lost = rules.missing
    exact = [place for place, rule in enumerate(rules.rules) if rule and rule.exact]
    known = [place for place, rule in enumerate(rules.rules) if rule]
    if how == "all" and lost:
        raise InputError(
            f"joint {some(lost)} of {truth.name} cannot be derived from {prediction.name}; --match-joints common "
            f"scores the {len(known)} that can be"
            + (f", --match-joints exact the {len(exact)} that are the same point" if exact else "")
        )
    kept = exact if how == "exact" else known
    if not kept:
        raise InputError(f"no joint of {truth.name} can be derived from {prediction.name}; score one set of joints")
    return rules.keep(kept)


def name_joints(options: ScoreOptions, size: int, where: str) -> tuple[str, ...]:
    """Return the names that ``--joint-names`` gives; none where it does not."""
    names = tuple(part.strip() for part in options.joint_names.split(",")) if options.joint_names else ()
    if len(set(names)) != len(names):
        raise InputError(f"--joint-names: expected distinct names, but {some(n for n in names if names.count(n) > 1)}")
    if names and len(names) != size:
        raise InputError(f"--joint-names: {len(names)} names, but {where} has {size} joints")
    return names


def find_root(text: str, joints: JointSet) -> tuple[int, ...]:
    """Return the root: a joint or two by name or index, as asked for, else that of the set, else joint 0."""
    if not text:
        return joints.root or (0,)
    parts = [part.strip() for part in text.split(",")]
    lowered = {name.lower(): place for name, place in joints.index.items()}
    found = [
        joints.index.get(
            part,
            lowered.get(part.lower(), int(part) if part.isascii() and part.isdecimal() and len(part) < 6 else -1),
        )
        for part in parts
    ]
    if not 1 <= len(parts) <= 2 or not all(0 <= place < len(joints) for place in found):
        numbered = joints.names == tuple(map(str, range(len(joints))))
        named = "; --joints gives joints their names" if numbered else f", or a name: {some(joints.names, show=24)}"
        raise InputError(f"--root {text!r}: expected a joint from 0 to {len(joints) - 1}, or two of them as A,B{named}")
    return tuple(found)


def rename(joints: JointSet, names: tuple[str, ...]) -> JointSet:
    """Return the set with names that were given, where there are some."""
    return replace(joints, names=names) if names else joints
