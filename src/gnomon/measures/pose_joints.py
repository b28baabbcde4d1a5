"""Sets of joints that pose data come in: names, order, bones, root, and which joints of one set give those of another.

Conventions
-----------
Indices are zero-based. ``left`` and ``right`` are those of the person. A BVH joint is named after the bone that begins
in it (``LeftUpLeg`` is the left hip), and ``cmu31`` keeps those names.

Sets
----
h36m17       Human3.6M as VideoPose3D and MMPose order it: the right leg first
h36m17-smpl  the same joints as regressors from SMPL order them: the left leg first
coco17       COCO keypoints; no pelvis: the root is the middle of the hips
smpl24       SMPL
mpi3dhp17    the 17 joints of the test set of MPI-INF-3DHP
cmu31        the CMU motion capture database as BVH

Derivation
----------
A joint of one set is derived from another as an exact copy (``exact``: both sets mark the same point of the body), or
approximately: a neighbouring point, or the mean of several, some centimetres away. Other joints cannot be derived from
joints alone. Joints of a set that a user wrote are derived by equal names, which are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array

LEGS = ("hip", "knee", "ankle")
ARMS = ("shoulder", "elbow", "wrist")
LIMBS = tuple(f"{side}_{joint}" for side in ("right", "left") for joint in (*LEGS, *ARMS))
HIPS = ("left_hip", "right_hip")
SHOULDERS = ("left_shoulder", "right_shoulder")


@dataclass(frozen=True)
class JointSet:
    """Joints in their order.

    Attributes
    ----------
    name
        What the set is called.
    names
        The joints.
    bones
        Pairs of indices: parent, child.
    root
        The joint, or the two whose middle it is; none where it is not known.
    """

    name: str
    names: tuple[str, ...]
    bones: tuple[tuple[int, int], ...] = ()
    root: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The place of every joint."""
        return {name: place for place, name in enumerate(self.names)}

    def keep(self, places: Sequence[int]) -> JointSet:
        """Return some of the joints; a root that is not among them becomes the middle of the hips, if those are."""
        new = {place: at for at, place in enumerate(places)}
        root = tuple(new[place] for place in self.root if place in new)
        if len(root) < len(self.root):
            hips = [self.index[name] for name in HIPS if name in self.index]
            root = tuple(new[place] for place in hips) if len(hips) == 2 and all(hip in new for hip in hips) else ()
        bones = tuple((new[a], new[b]) for a, b in self.bones if a in new and b in new)
        return JointSet(self.name, tuple(self.names[place] for place in places), bones, root)


@dataclass(frozen=True)
class Rule:
    """How one joint is derived: the mean of some joints (repeated ones weigh more)."""

    sources: tuple[str, ...]
    exact: bool = False


@dataclass(frozen=True)
class Derived:
    """How the joints of one set are derived from another, in the order of the first; None where they cannot be."""

    to: JointSet
    of: JointSet
    rules: tuple[Rule | None, ...]

    @property
    def missing(self) -> list[str]:
        """Joints that cannot be derived."""
        return [name for name, rule in zip(self.to.names, self.rules, strict=True) if rule is None]

    @property
    def approximate(self) -> list[str]:
        """Joints that are derived approximately."""
        return [name for name, rule in zip(self.to.names, self.rules, strict=True) if rule and not rule.exact]

    def keep(self, places: Sequence[int]) -> Derived:
        """Return the rules of some of the joints."""
        return Derived(self.to.keep(places), self.of, tuple(self.rules[place] for place in places))

    def apply(self, joints: Array) -> Array:
        """Return the derived joints ``(..., J, 3)``; every rule has to be known.

        >>> rules = derive(SETS["mpi3dhp17"], SETS["h36m17"]).keep([8])
        >>> rules.apply(np.arange(51.0).reshape(1, 17, 3)).tolist()
        [[[3.0, 4.0, 5.0]]]
        """
        columns = []
        for name, rule in zip(self.to.names, self.rules, strict=True):
            if rule is None:
                raise InputError(f"joint {name!r} of {self.to.name} cannot be derived from {self.of.name}")
            own = [joints[..., self.of.index[source], :] for source in rule.sources]
            columns.append(own[0] if len(own) == 1 else np.mean(own, axis=0))
        return np.stack(columns, axis=-2)

    def apply_mask(self, seen: Array) -> Array:
        """Return which derived joints are visible ``(..., J)``: those whose sources all are."""
        known = [[self.of.index[source] for source in rule.sources] for rule in self.rules if rule]
        return np.stack([seen[..., own].all(axis=-1) for own in known], axis=-1)


def _of_parents(name: str, names: str, parents: Sequence[int], root: tuple[int, ...] = (0,)) -> JointSet:
    bones = tuple((parent, child) for child, parent in enumerate(parents) if parent >= 0)
    return JointSet(name, tuple(names.split()), bones, root)


_RIGHT_LEG, _LEFT_LEG = (" ".join(f"{side}_{joint}" for joint in LEGS) for side in ("right", "left"))
_TOP = "spine thorax neck_nose head left_shoulder left_elbow left_wrist right_shoulder right_elbow right_wrist"
_H36M_PARENTS = (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 9, 8, 11, 12, 8, 14, 15)

SETS: Mapping[str, JointSet] = {
    one.name: one
    for one in (
        _of_parents("h36m17", f"pelvis {_RIGHT_LEG} {_LEFT_LEG} {_TOP}", _H36M_PARENTS),
        _of_parents("h36m17-smpl", f"pelvis {_LEFT_LEG} {_RIGHT_LEG} {_TOP}", _H36M_PARENTS),
        JointSet(
            "coco17",
            (
                *("nose", "left_eye", "right_eye", "left_ear", "right_ear"),
                *(f"{side}_{joint}" for joint in (*ARMS, *LEGS) for side in ("left", "right")),
            ),
            (
                *((5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16)),
                *((5, 6), (11, 12), (5, 11), (6, 12), (0, 1), (0, 2), (1, 3), (2, 4)),
            ),
            (11, 12),
        ),
        _of_parents(
            "smpl24",
            "pelvis left_hip right_hip spine1 left_knee right_knee spine2 left_ankle right_ankle spine3 left_foot "
            "right_foot neck left_collar right_collar head left_shoulder right_shoulder left_elbow right_elbow "
            "left_wrist right_wrist left_hand right_hand",
            (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 20, 21),
        ),
        _of_parents(
            "mpi3dhp17",
            "head_top neck right_shoulder right_elbow right_wrist left_shoulder left_elbow left_wrist right_hip "
            "right_knee right_ankle left_hip left_knee left_ankle pelvis spine head",
            (16, 15, 1, 2, 3, 1, 5, 6, 14, 8, 9, 14, 11, 12, -1, 14, 1),
            (14,),
        ),
        _of_parents(
            "cmu31",
            "Hips LHipJoint LeftUpLeg LeftLeg LeftFoot LeftToeBase RHipJoint RightUpLeg RightLeg RightFoot "
            "RightToeBase LowerBack Spine Spine1 Neck Neck1 Head LeftShoulder LeftArm LeftForeArm LeftHand "
            "LeftFingerBase LeftHandIndex1 LThumb RightShoulder RightArm RightForeArm RightHand RightFingerBase "
            "RightHandIndex1 RThumb",
            (
                *(-1, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15),
                *(13, 17, 18, 19, 20, 21, 20, 13, 24, 25, 26, 27, 28, 27),
            ),
        ),
    )
}
"""The known sets by name."""
ALIASES = {"cmu": "cmu31", "h36m": "h36m17", "coco": "coco17", "smpl": "smpl24", "mpi3dhp": "mpi3dhp17"}

_CMU_LIMBS = {
    f"{side.lower()}_{joint}": f"{side}{bone}"
    for side in ("Right", "Left")
    for joint, bone in zip((*LEGS, *ARMS), ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand"), strict=True)
}
_EXACT_LIMBS = {name: Rule((name,), exact=True) for name in LIMBS}
_NEAR_LIMBS = {name: Rule((name,)) for name in LIMBS}
_FROM_CMU = {name: Rule((bone,)) for name, bone in _CMU_LIMBS.items()}
_TO_CMU = {bone: Rule((name,)) for name, bone in _CMU_LIMBS.items()}
_MIDDLE_OF_HIPS = {"pelvis": Rule(HIPS)}
_CMU_ROOT = {"pelvis": Rule(("LeftUpLeg", "RightUpLeg"))}


def _near(**pairs: str) -> dict[str, Rule]:
    return {name: Rule((source,)) for name, source in pairs.items()}


RULES: Mapping[tuple[str, str], Mapping[str, Rule]] = {
    ("h36m17", "coco17"): {
        **_EXACT_LIMBS,
        **_MIDDLE_OF_HIPS,
        "thorax": Rule(SHOULDERS),
        "spine": Rule((*HIPS, *SHOULDERS)),
        "neck_nose": Rule(("nose",)),
        "head": Rule(("left_eye", "right_eye")),
    },
    ("h36m17", "smpl24"): {**_NEAR_LIMBS, **_near(pelvis="pelvis", thorax="neck", spine="spine2")},
    ("h36m17", "mpi3dhp17"): {
        **_EXACT_LIMBS,
        "pelvis": Rule(("pelvis",), exact=True),
        **_near(thorax="neck", spine="spine", head="head"),
    },
    ("h36m17", "cmu31"): {
        **_FROM_CMU,
        **_CMU_ROOT,
        **_near(thorax="Neck", spine="Spine", neck_nose="Neck1", head="Head"),
    },
    ("coco17", "h36m17"): _EXACT_LIMBS,
    ("coco17", "smpl24"): _NEAR_LIMBS,
    ("coco17", "mpi3dhp17"): _NEAR_LIMBS,
    ("coco17", "cmu31"): _FROM_CMU,
    ("smpl24", "h36m17"): {**_NEAR_LIMBS, **_near(pelvis="pelvis", neck="thorax", spine2="spine")},
    ("smpl24", "coco17"): {**_NEAR_LIMBS, **_MIDDLE_OF_HIPS},
    ("smpl24", "mpi3dhp17"): {**_NEAR_LIMBS, **_near(pelvis="pelvis", spine1="spine", neck="neck", head="head")},
    ("smpl24", "cmu31"): {
        **_FROM_CMU,
        **_near(pelvis="Hips", spine1="LowerBack", spine2="Spine", spine3="Spine1", neck="Neck", head="Head"),
        **_near(left_foot="LeftToeBase", right_foot="RightToeBase"),
        **_near(left_collar="LeftShoulder", right_collar="RightShoulder"),
        **_near(left_hand="LeftFingerBase", right_hand="RightFingerBase"),
    },
    ("mpi3dhp17", "h36m17"): {
        **_EXACT_LIMBS,
        "pelvis": Rule(("pelvis",), exact=True),
        **_near(neck="thorax", spine="spine", head="head"),
    },
    ("mpi3dhp17", "coco17"): {**_NEAR_LIMBS, **_MIDDLE_OF_HIPS, "neck": Rule(SHOULDERS)},
    ("mpi3dhp17", "smpl24"): {**_NEAR_LIMBS, **_near(pelvis="pelvis", neck="neck", spine="spine1")},
    ("mpi3dhp17", "cmu31"): {**_FROM_CMU, **_CMU_ROOT, **_near(neck="Neck", spine="Spine", head="Head")},
    **{("cmu31", of): _TO_CMU for of in ("h36m17", "coco17", "mpi3dhp17")},
    ("cmu31", "smpl24"): {
        **_TO_CMU,
        **_near(Hips="pelvis", LowerBack="spine1", Spine="spine2", Spine1="spine3", Neck="neck", Head="head"),
        **_near(LeftToeBase="left_foot", RightToeBase="right_foot"),
        **_near(LeftShoulder="left_collar", RightShoulder="right_collar"),
        **_near(LeftFingerBase="left_hand", RightFingerBase="right_hand"),
    },
}
"""By the set that is wanted and the set that is there: the joints that can be derived."""


def find_set(name: str) -> JointSet | None:
    """Return a known set by its name or an alias, whatever its case; None where there is none."""
    key = name.strip().lower().replace("_", "-")
    return SETS.get(ALIASES.get(key, key))


def derive(to: JointSet, of: JointSet) -> Derived:
    """Return how the joints of one set are derived from another.

    >>> derive(SETS["h36m17"], SETS["smpl24"]).missing
    ['neck_nose', 'head']
    >>> derive(SETS["h36m17"], SETS["mpi3dhp17"]).approximate
    ['spine', 'thorax', 'head']
    """
    plain = tuple(one.name.removesuffix("-smpl") for one in (to, of))
    known = RULES.get((plain[0], plain[1]))
    if known is None or plain[0] == plain[1]:  # the same set, perhaps in another order, or one that a user wrote
        known = {name: Rule((name,), exact=True) for name in to.names if name in of.index}
    return Derived(to, of, tuple(known.get(name) for name in to.names))


def make_set(name: str, names: Sequence[str], parents: Sequence[int] | None = None, *, where: str = "") -> JointSet:
    """Return a set of joints that a user wrote; the root is the joint without a parent, or one called so."""
    where = where or name
    if not names or len(set(names)) != len(names) or not all(names):
        twice = [one for one in names if names.count(one) > 1]
        raise InputError(f"{where}: expected distinct names of joints, but got {some(dict.fromkeys(twice)) or 'none'}")
    bones: tuple[tuple[int, int], ...] = ()
    roots: list[int] = []
    if parents is not None:
        if len(parents) != len(names) or not all(-1 <= parent < len(names) for parent in parents):
            raise InputError(
                f"{where}: expected the index of a parent (-1 for none) for each of {len(names)} joints, but got "
                f"{some(parents)}"
            )
        bones = tuple((parent, child) for child, parent in enumerate(parents) if parent >= 0)
        roots = [child for child, parent in enumerate(parents) if parent < 0]
    lowered = [one.lower() for one in names]
    root = tuple(roots) if len(roots) == 1 else ()
    for usual in ("pelvis", "root", "hips", "hip"):
        if not root and usual in lowered:
            root = (lowered.index(usual),)
    if not root and all(hip in lowered for hip in HIPS):
        root = tuple(lowered.index(hip) for hip in HIPS)
    return JointSet(name, tuple(names), bones, root)
