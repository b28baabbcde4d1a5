"""Options of the verbs of ``skeleton``; published spellings are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gnomon.core.options import ExhibitOptions, Option
from gnomon.engine.options import EngineOptions

VARIANTS = ("published", "strict", "both")
MODES = ("seq_lidar_ref", "multi_sensor")
FUSIONS = ("mean", "weighted", "hard_gate")
SOURCES = ("cross_sensor", "temporal", "hybrid")
RIGS = ("pred", "gt", "file", "robust")
REFERENCES = ("first", "medoid", "mean", "per_frame")
SIDES = ("pred", "gt", "both")
ENCODINGS = ("absT_quaR_FoV",)
UNITS = ("m", "cm", "mm")
PRESETS = ("h36m", "3dpw")
JOINT_SETS = ("h36m17", "h36m17-smpl", "coco17", "smpl24", "mpi3dhp17", "cmu31")
MATCHES = ("all", "common", "exact")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ExhibitOptions, EngineOptions):
    """``gnomon score skeleton`` and ``gnomon run skeleton``."""

    truth: Annotated[
        str,
        Option(
            "true joints (N, J, 3), or (T, P, J, 3) for P people: .npy, .npz, .json, .bvh or a table, or a folder or "
            "pattern with a file per sequence; no cameras needed",
            metavar="FILE",
            data=True,
        ),
    ] = ""
    predictions: Annotated[
        tuple[str, ...],
        Option("predicted joints, as --truth; NAME=FILE for several systems", metavar="FILE", data=True),
    ] = ()
    pred_file: Annotated[
        tuple[str, ...],
        Option(
            "prediction file with both sides and cameras (.npz, or a pickle of plain arrays), or a folder of .npz "
            "shards; NAME=FILE for several systems",
            metavar="FILE",
        ),
    ] = ()
    key: Annotated[
        str, Option("array with the joints, where a file has several; '*': every array is a sequence", metavar="NAME")
    ] = ""
    pred_key: Annotated[str, Option("the same for predictions; default: as --key", metavar="NAME")] = ""
    ids: Annotated[str, Option("table with the id of every sample, in their order", metavar="FILE", data=True)] = ""
    id: Annotated[str, Option("column of --ids", metavar="COLUMN")] = ""
    id_preset: Annotated[
        str,
        Option(
            "how ids are written: h36m (S9_Walking_1, perhaps a camera and a frame) or 3dpw (downtown_arguing_00, "
            "perhaps a person and a frame)",
            choices=("", *PRESETS),
        ),
    ] = ""
    group: Annotated[
        str,
        Option(
            "what is resampled: subject, sequence, or a table of two columns (sequence, group); default: subject where "
            "all are known",
            metavar="NAME",
            data=True,
        ),
    ] = ""
    joints: Annotated[
        str, Option(f"the joints: {', '.join(JOINT_SETS)}, or a file with a name per line (or JSON)", metavar="SET")
    ] = ""
    pred_joints: Annotated[
        str, Option("the joints of the predictions, where they are others than --joints", metavar="SET")
    ] = ""
    match_joints: Annotated[
        str,
        Option(
            "where the sets differ: all joints of the truth, or an error; common: those that can be derived; exact: "
            "those that are the same point of the body",
            choices=MATCHES,
        ),
    ] = "all"
    mask: Annotated[
        str,
        Option(
            "array of what is valid, (N,) or (N, J), in the file of the truth; default: 'valid' or 'mask', if there",
            metavar="NAME",
            data=True,
        ),
    ] = ""
    variant: Annotated[
        str,
        Option(
            "strict: every frame in its own camera; published: as the text says; both: side by side; default: strict, "
            "or published where an option of the published protocol is given",
            choices=("", *VARIANTS),
        ),
    ] = ""
    ablation: Annotated[bool, Option("run the four arms of the published ablation")] = False
    pred_keypoints_key: Annotated[str, Option("field of predicted joints")] = "pred_keypoints"
    gt_keypoints_key: Annotated[str, Option("field of true joints")] = "gt_keypoints"
    pred_cameras_key: Annotated[str, Option("field of predicted cameras")] = "pred_cameras_stream"
    gt_cameras_key: Annotated[str, Option("field of true cameras")] = "gt_cameras_stream"
    unit: Annotated[
        str,
        Option(
            "unit of all lengths, joints and translations of cameras: m, cm, mm, or the metres of one unit, as 0.0254; "
            "default: m, refused where no body has such sizes; m insists",
            aliases=("--units",),
            metavar="[m|cm|mm|NUMBER]",
        ),
    ] = ""
    pose_encoding_type: Annotated[str, Option("how a camera is written", choices=ENCODINGS)] = "absT_quaR_FoV"
    lidar_modality_index: Annotated[
        int | None, Option("column of lidar where cameras carry no modality names", low=0)
    ] = None
    rgb_modality_index: Annotated[int | None, Option("column of rgb where cameras carry no modality names", low=0)] = (
        None
    )
    sensor_index_by_modality: Annotated[
        str, Option("which sensor of a modality, as lidar:0,rgb:0; 0 where not said")
    ] = ""
    projection_mode: Annotated[
        str, Option("how joints are brought into the sensor's frame; default seq_lidar_ref", choices=("", *MODES))
    ] = ""
    target_modality: Annotated[str, Option("modality whose frame is evaluated in")] = "lidar"
    fusion_modalities: Annotated[str, Option("modalities that are fused, with commas")] = "rgb,lidar"
    fusion_mode: Annotated[str, Option("how modalities are fused", choices=FUSIONS)] = "mean"
    reliability_source: Annotated[str, Option("what the weight of a modality rests on", choices=SOURCES)] = (
        "cross_sensor"
    )
    cross_sensor_tau: Annotated[float, Option("metres of disagreement that cost a factor e", low=1e-9)] = 0.05
    temporal_trans_tau: Annotated[float, Option("metres of camera unrest that cost a factor e", low=1e-9)] = 0.05
    temporal_rot_tau_deg: Annotated[float, Option("degrees of camera unrest that cost a factor e", low=1e-9)] = 5.0
    hard_gate_ratio: Annotated[float, Option("share of the best weight that is kept", low=0, high=1)] = 0.8
    pelvis_index: Annotated[
        str,
        Option(
            "joint that pelvis-centred errors are relative to, by index or name; A,B for the middle of two; default: "
            "the root of --joints, else joint 0",
            aliases=("--root",),
        ),
    ] = ""
    smooth_window: Annotated[int, Option("samples of the moving average; 1 is off, even is an error", low=1)] = 1
    smooth_on: Annotated[str, Option("which side is smoothed", choices=SIDES)] = "pred"
    rig: Annotated[
        str, Option("where calibration between sensors comes from; default pred, strict: robust", choices=("", *RIGS))
    ] = ""
    rig_file: Annotated[str, Option("calibration for --rig file (JSON)", metavar="FILE")] = ""
    reference: Annotated[
        str, Option("camera of a sequence; default first, strict: per_frame", choices=("", *REFERENCES))
    ] = ""
    group_by: Annotated[
        str, Option("regular expression on sample ids with (?P<sequence>...), perhaps frame, subject, action")
    ] = ""
    fps: Annotated[float, Option("frames per second, for velocity and acceleration; 0 is unknown", low=0)] = 0.0
    bones: Annotated[
        str, Option("pairs of joints whose distance is a bone's length, as 0-1,1-4; default: those of --joints")
    ] = ""
    joint_names: Annotated[str, Option("names of the joints, with commas")] = ""
    no_progress: Annotated[bool, Option("no progress on standard error")] = False


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template skeleton``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate skeleton``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    subjects: Annotated[int, Option("people", low=1)] = 8
    frames: Annotated[int, Option("frames of a sequence", low=2)] = 120
    fps: Annotated[float, Option("frames per second", low=1)] = 30.0
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
