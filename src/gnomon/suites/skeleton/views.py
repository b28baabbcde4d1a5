"""Tables and views of ``skeleton`` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.table import Cell, Column, Table, View, make_cells
from gnomon.measures.pose import PERCENTILES
from gnomon.measures.skeletons import JointMPJPE
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.skeleton.files import REASONS
from gnomon.suites.skeleton.protocol import FIRST_TABLE
from gnomon.suites.skeleton.settings import SETTINGS

MM = 1000.0
SHARES = ("macro_mpjpe", "pck@50", "pck@100", "pck@150", "root_3dpck@150", "auc@150", "auc@200")


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    ordered = common.ranked(runs)
    variant = runs[0].manifest["protocol"]["variant"]
    projected = not _facts(runs[0])["settings"]["projection_mode"].startswith("none")
    where = "errors in the sensor's frame" if projected else "errors of joints as given (no cameras: not projected)"
    shown: list[Table | View | None] = [
        common.leaderboard(runs, FIRST_TABLE, title=f"skeleton ({variant}): {where}"),
        common.leaderboard(runs, SHARES, name="shares", title="skeleton: macro average and shares", evidence=False),
        parts(ordered, projected=projected),
        samples(ordered),
        distribution(ordered),
        cameras(ordered) if projected else None,
        common.by_slice(runs, FIRST_TABLE[:3]),
        per_joint(ordered),
        per_joint(ordered, "root"),
        heat(ordered),
        per_sequence(ordered),
        settings(ordered),
        *(lines(run) for run in ordered if projected),
    ]
    return [item for item in shown if item is not None]


def parts(runs: Sequence[Run], *, projected: bool = True) -> Table:
    """Split the error: what the translation costs (of the camera, if any), what rotation and scale cost, the rest."""
    checks = (Column("invariance", "PA moved by projection"), Column("pelvis", "pelvis-centred by translation"))
    columns = (
        Column("system", "system"),
        Column("translation", "translation", "number", "mm", digits=1),
        Column("rotation", "rotation and scale", "number", "mm", digits=1),
        Column("shape", "shape", "number", "mm", digits=1),
        *(checks if projected else ()),
    )
    rows = []
    for run in runs:
        whole, pelvis, pa = (_value(run, name) for name in ("mpjpe", "pelvis_mpjpe", "pa_mpjpe"))
        moved, slid = (_facts(run).get(name) for name in ("pa_invariance_m", "pelvis_invariance_m"))
        rows.append(
            {
                "system": Cell(run.system),
                "translation": _apart(whole, pelvis),
                "rotation": _apart(pelvis, pa),
                "shape": Cell(None, why="no samples") if pa is None else Cell(MM * pa),
                "invariance": Cell("not checked" if moved is None else f"at most {moved:.1e} m"),
                "pelvis": Cell("not checked" if slid is None else f"at most {slid:.1e} m"),
            }
        )
    notes = (
        "MPJPE = translation (MPJPE - pelvis) + rotation and scale (pelvis - PA) + shape (PA)",
        "differences of means: a part is negative where what it adds happens to undo another error",
    )
    return Table("parts", "skeleton: where the error comes from", columns, tuple(rows), notes)


def samples(runs: Sequence[Run]) -> Table:
    """How many samples were scored, and why the others were not."""
    found_reasons = {reason for run in runs for reason in _samples(run)["dropped"]}
    reasons = [reason for reason in REASONS if reason in found_reasons]
    columns = (
        Column("system", "system"),
        Column("total", "samples", "count"),
        Column("valid", "valid", "count"),
        *(Column(reason, reason, "count") for reason in reasons),
    )
    rows = []
    for run in runs:
        found = _samples(run)
        dropped = {reason: Cell(found["dropped"].get(reason, 0)) for reason in reasons}
        rows.append({**make_cells(system=run.system, total=found["total"], valid=found["valid"]), **dropped})
    return Table("samples", "skeleton: samples", columns, tuple(rows))


def distribution(runs: Sequence[Run]) -> Table:
    """Median and percentiles of joint errors, and how the prediction moves."""
    first = _summary(runs[0])
    units: Mapping[str, str] = first["units"]
    percents = [str(percent) for percent in PERCENTILES] if first["percentiles"] else []
    moves = {"velocity": "velocity error", "acceleration": "acceleration error", "jitter": "jitter"}
    columns = (
        Column("system", "system"),
        Column("median", "median", "number", "mm", "down", 1),
        *(Column(f"p{percent}", f"{percent} %", "number", "mm", digits=1) for percent in percents),
        *(Column(name, title, "number", units[name], "down", 4) for name, title in moves.items()),
        Column("jitter_of_truth", "jitter of truth", "number", units["jitter"], digits=4),
        Column("bone_length", "bone length", "number", "mm", "down", 1),
    )
    rows = []
    for run in runs:
        found = _summary(run)
        short = Cell(None, why="too few consecutive frames")
        rows.append(
            {
                "system": Cell(run.system),
                "median": _mm(found["median"], "no samples"),
                **{f"p{percent}": _mm(found["percentiles"].get(percent), "no samples") for percent in percents},
                **{name: short if found[name] is None else Cell(found[name]) for name in (*moves, "jitter_of_truth")},
                "bone_length": _mm(found["bone_length"], "no --bones given"),
            }
        )
    return Table("distribution", "skeleton: joint errors and movement", columns, tuple(rows))


def cameras(runs: Sequence[Run]) -> Table:
    """How wrong the predicted cameras are."""
    columns = (
        Column("system", "system"),
        Column("modality", "modality"),
        Column("n", "pairs", "count"),
        Column("rotation", "rotation, mean", "number", "deg", "down", 2),
        Column("rotation_median", "median", "number", "deg", "down", 2),
        Column("translation", "translation, mean", "number", "mm", "down", 1),
        Column("translation_median", "median", "number", "mm", "down", 1),
        Column("centre", "place, mean", "number", "mm", "down", 1),
    )
    rows = []
    for run in runs:
        for modality, found in _facts(run)["cameras"].items():
            why = "no pair of cameras is usable"
            turn = found["rotation_deg"]
            rows.append(
                {
                    **make_cells(system=run.system, modality=modality, n=found["n"]),
                    "rotation": Cell(turn["mean"], why=why if turn["mean"] is None else ""),
                    "rotation_median": Cell(turn["median"], why=why if turn["median"] is None else ""),
                    "translation": _mm(found["translation_m"]["mean"], why),
                    "translation_median": _mm(found["translation_m"]["median"], why),
                    "centre": _mm(found["centre_m"]["mean"], why),
                }
            )
    return Table("cameras", "skeleton: predicted cameras", columns, tuple(rows))


def per_joint(runs: Sequence[Run], alignment: str = "none") -> Table | None:
    """MPJPE of every joint, a column per system: as it is, or after the roots were put on one another."""
    joints = [measure for measure in runs[0].measures if isinstance(measure, JointMPJPE)]
    if not joints:
        return None
    names = {measure.joint: measure.name for measure in joints if measure.alignment == alignment}
    shown = [common.ByLabel(Column("mpjpe", "", "score", "mm", "down", 1), names.__getitem__)]
    if not names:
        return None
    centred = alignment == "root"
    title = f"skeleton: {'pelvis-centred ' if centred else ''}MPJPE by joint"
    name = "joints_centred" if centred else "joints"
    return common.by_label(runs, list(names), shown, name=name, title=title, of="joint")


def heat(runs: Sequence[Run]) -> View | None:
    """MPJPE by joint and system, as a picture."""
    joints = [
        measure for measure in runs[0].measures if isinstance(measure, JointMPJPE) and measure.alignment == "none"
    ]
    if not joints:
        return None
    found = [[run.find(measure.name) for measure in joints] for run in runs]
    values = [[None if score is None or score.value is None else MM * score.value for score in row] for row in found]
    data = {
        "rows": [run.system for run in runs],
        "columns": [measure.joint for measure in joints],
        "values": values,
        "unit": "mm",
        "low_is_good": True,
    }
    return View("joint_heat", "skeleton: MPJPE by joint and system", "heat", data)


def per_sequence(runs: Sequence[Run]) -> Table:
    """Errors of every sequence and system, the worst first."""
    columns = (
        Column("sequence", "sequence"),
        *(() if len(runs) == 1 else (Column("system", "system"),)),
        Column("group", runs[0].roster.level),
        Column("n", "samples", "count"),
        *(Column(name, name.replace("_", " "), "number", "mm", "down", 1) for name in FIRST_TABLE[:3]),
    )
    rows = [row for run in runs for row in _sequences(run)]
    rows.sort(key=lambda row: -(row["mpjpe"].value if isinstance(row["mpjpe"].value, float) else -1.0))
    notes = ("the worst first",)
    return Table("sequences", "skeleton: by sequence", columns, tuple(rows), notes)


def settings(runs: Sequence[Run]) -> Table:
    """Every resolved setting, a column per system."""
    columns = (Column("setting", "setting"), *(Column(f"system:{run.system}", run.system) for run in runs))
    known = _facts(runs[0])["settings"]
    names = [name for name in SETTINGS if name in known]
    rows = [
        {
            "setting": Cell(name),
            **{f"system:{run.system}": Cell(str(_facts(run)["settings"][name])) for run in runs},
        }
        for name in names
    ]
    return Table("settings", "skeleton: resolved settings", columns, tuple(rows))


def lines(run: Run) -> View:
    """The lines that the published program prints."""
    found = _samples(run)
    root = next(measure.root for measure in run.measures if hasattr(measure, "root"))
    said = [f"[INFO] Valid samples: {found['valid']}/{found['total']}"]
    labels = {
        "mpjpe": "MPJPE (fixed-sensor frame)",
        "pa_mpjpe": "PA-MPJPE (fixed-sensor frame)",
        "pelvis_mpjpe": f"MPJPE (fixed-sensor frame, pelvis-centered @ joint {root})",
    }
    for name, label in labels.items():
        value = _value(run, name)
        said.append(f"[RESULT] {label}: " + ("undefined" if value is None else f"{value:.6f} m ({MM * value:.3f} mm)"))
    return View("lines", f"skeleton: {run.system}, the published lines", "lines", {"lines": said})


def _sequences(run: Run) -> list[dict[str, Cell]]:
    tallies = run.tallies["skeletons"]
    error, joints = tallies.fields["error"].sum(axis=2), tallies.fields["joints"].sum(axis=2)
    labels = [label.partition("@")[0] for label in tallies.axes["alignment"]]
    places = {
        name: labels.index(kind) for name, kind in zip(FIRST_TABLE[:3], ("none", "similarity", "root"), strict=True)
    }
    means = np.divide(MM * error, joints, out=np.full(error.shape, np.nan), where=joints > 0)
    empty = Cell(None, why="no samples")
    return [
        {
            "sequence": Cell(case),
            "system": Cell(run.system),
            "group": Cell(run.roster.groups[index]),
            "n": Cell(int(tallies.fields["n"][index])),
            **{n: Cell(float(means[index, p])) if joints[index, p] else empty for n, p in places.items()},
        }
        for index, case in enumerate(run.roster.ids)
    ]


def _facts(run: Run) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.manifest["facts"]
    return found


def _summary(run: Run) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _facts(run)["summary"]
    return found


def _samples(run: Run) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.coverage["samples"]
    return found


def _value(run: Run, name: str) -> float | None:
    score = run.find(name)
    return None if score is None else score.value


def _mm(value: float | None, why: str) -> Cell:
    return Cell(None, why=why) if value is None else Cell(MM * value)


def _apart(a: float | None, b: float | None) -> Cell:
    return Cell(None, why="no samples") if a is None or b is None else Cell(MM * (a - b))
