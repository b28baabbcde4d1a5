"""How samples are brought into the frame of the sensor: settings, resolved from options, and arms of an ablation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from gnomon.core.errors import InputError
from gnomon.core.options import list_variants
from gnomon.suites.skeleton.fusion import Weighing
from gnomon.suites.skeleton.options import MODES, ScoreOptions

LIDAR = "lidar"
NOT_PROJECTED = "none: the input has no cameras, joints are scored as they are given"
PUBLISHED = {
    "ablation": False,
    "projection_mode": "",
    "target_modality": LIDAR,
    "fusion_modalities": "rgb,lidar",
    "fusion_mode": "mean",
    "reliability_source": "cross_sensor",
    "cross_sensor_tau": 0.05,
    "temporal_trans_tau": 0.05,
    "temporal_rot_tau_deg": 5.0,
    "hard_gate_ratio": 0.8,
}
"""Options of the published protocol, with their defaults: another value selects the variant ``published``."""
CAMERAS = {
    **PUBLISHED,
    "rig": "",
    "rig_file": "",
    "reference": "",
    "sensor_index_by_modality": "",
    "lidar_modality_index": None,
    "rgb_modality_index": None,
}
"""Options that mean nothing without cameras, with their defaults."""

SETTINGS = (
    "projection_mode",
    "target_modality",
    "fusion_modalities",
    "fusion_mode",
    "reliability_source",
    "tau_cross",
    "tau_t",
    "tau_r",
    "hard_gate_ratio",
    "smooth_window",
    "smooth_on",
    "rig",
    "reference",
    "sensor_index_by_modality",
    "order",
    "aligned_by",
)
"""Resolved settings in the order in which they are printed."""
FILE_ORDER = "rows of the file: the first usable row of a sequence sets its reference camera"
"""What the published definition says about order; other rows first give other scores."""


@dataclass(frozen=True)
class Settings:
    """Everything that a projection depends on, resolved."""

    mode: str
    target: str
    modalities: tuple[str, ...]
    sensors: tuple[tuple[str, int], ...]
    weighing: Weighing
    rig: str
    reference: str
    window: int
    smoothed: str
    by_frame: bool
    """Whether rows are sorted by frame first; else the order of the file says which camera is the first."""

    @property
    def is_projected(self) -> bool:
        """Whether joints are brought into the frame of a sensor; without cameras they are scored as they are."""
        return self.mode != NOT_PROJECTED

    def without_cameras(self) -> Settings:
        """Return these settings where there are no cameras."""
        return replace(self, mode=NOT_PROJECTED, modalities=(), reference="per_frame", by_frame=True)

    def sensor(self, modality: str) -> int:
        """Return the index of the sensor of a modality."""
        return dict(self.sensors).get(modality, 0)

    @property
    def uses_temporal(self) -> bool:
        """Whether modalities are weighed by how still their cameras are, seen from the first of them."""
        return self.mode == "multi_sensor" and self.weighing.mode != "mean" and self.weighing.source != "cross_sensor"

    @property
    def uses_order(self) -> bool:
        """Whether scores depend on which sample comes before which."""
        return self.window > 1 or self.reference == "first" or self.uses_temporal

    def target_settings(self) -> dict[str, str]:
        """Return what the true side depends on: runs that differ in it are not compared."""
        smoothed = self.window > 1 and self.smoothed in ("gt", "both")
        if not self.is_projected:
            return {"target": "not projected", "reference": "none", "truth": "as it is"}
        return {
            "target": f"{self.target}:{self.sensor(self.target)}",
            "reference": self.reference,
            "truth": f"smoothed over {self.window}" if smoothed else "as it is",
        }

    def record(self) -> dict[str, Any]:
        """Return what a reader needs to do the same."""
        many = self.mode == "multi_sensor"
        unused = "not used"
        if not self.is_projected:
            return {
                "projection_mode": self.mode,
                "smooth_window": self.window,
                "smooth_on": self.smoothed if self.window > 1 else "off",
                "order": "by frame",
            }
        return {
            "projection_mode": self.mode,
            "target_modality": self.target,
            "fusion_modalities": ",".join(self.modalities) if many else unused,
            "fusion_mode": self.weighing.mode if many else unused,
            "reliability_source": self.weighing.source if many and self.weighing.mode != "mean" else unused,
            "tau_cross": self.weighing.tau_cross,
            "tau_t": self.weighing.tau_t,
            "tau_r": self.weighing.tau_r,
            "hard_gate_ratio": self.weighing.gate,
            "smooth_window": self.window,
            "smooth_on": self.smoothed if self.window > 1 else "off",
            "rig": self.rig if many else unused,
            "reference": self.reference,
            "sensor_index_by_modality": ",".join(f"{name}:{index}" for name, index in self.sensors),
            "order": "by frame" if self.by_frame else FILE_ORDER,
        }


@dataclass(frozen=True)
class Arm:
    """How a file is scored: a variant, an arm of the ablation (empty where there is none), and its settings."""

    key: str
    """Under which a chunk leaves what was tallied in this arm."""
    variant: str
    name: str
    settled: Settings

    def system(self, name: str) -> str:
        """Return what a system is called in this arm."""
        return f"{name}: {self.name}" if self.name else name


def choose_variant(options: ScoreOptions) -> str:
    """Return the variant that was asked for, by its name or by an option that only the published protocol has."""
    given = any(getattr(options, name) != usual for name, usual in PUBLISHED.items())
    return options.variant or ("published" if given else "strict")


def list_arms(options: ScoreOptions, *, cameras: bool = True) -> list[Arm]:
    """Return every asked variant and arm; without cameras there is one, and options that need them are refused."""
    variant = choose_variant(options)
    if not cameras:
        for name in (name for name, usual in CAMERAS.items() if getattr(options, name) != usual):
            raise InputError(f"--{name.replace('_', '-')} needs cameras, but the input has none; leave it out")
        if variant != "strict":
            raise InputError(
                "the published protocol projects joints through cameras, but the input has none: give "
                "gt_cameras_stream and pred_cameras_stream, or score joints as they are with 'gnomon score skeleton' "
                "and --variant strict"
            )
        return [Arm("arm0", variant, "", resolve_settings(options, variant).without_cameras())]
    chosen: list[tuple[str, str, Settings]] = []
    for each_variant in list_variants(variant):
        base = resolve_settings(options, each_variant)
        own = vary_settings(base, options.target_modality.lower()) if options.ablation else {"": base}
        chosen += [(each_variant, name, each) for name, each in own.items()]
    return [Arm(f"arm{place}", *one) for place, one in enumerate(chosen)]


def resolve_settings(options: ScoreOptions, variant: str) -> Settings:
    """Resolve what was asked for; the strict variant closes what is wrong with the published one."""
    if options.smooth_window % 2 == 0:
        raise InputError(f"--smooth-window {options.smooth_window}: expected an odd number of samples, 1 for none")
    strict = variant == "strict"
    modalities = tuple(dict.fromkeys(m.strip().lower() for m in options.fusion_modalities.split(",") if m.strip()))
    if not modalities:
        raise InputError("--fusion-modalities: expected at least one modality, such as rgb,lidar")
    target = options.target_modality.strip().lower()
    mode = options.projection_mode or MODES[0]
    if mode == "seq_lidar_ref" and not options.ablation:
        unused = {
            "--target-modality": target != LIDAR,
            "--rig": bool(options.rig),
            "--rig-file": bool(options.rig_file),
        }
        for flag in (name for name, given in unused.items() if given):
            raise InputError(
                f"{flag} means nothing in seq_lidar_ref: give --projection-mode multi_sensor, or leave it out"
            )
    if mode == "seq_lidar_ref":
        target = LIDAR
    if not math.isfinite(options.fps):
        raise InputError(f"--fps {options.fps}: expected frames per second, 0 if unknown")
    rig = options.rig or ("robust" if strict else "pred")
    reference = options.reference or ("per_frame" if strict else "first")
    if options.rig_file and rig != "file":
        raise InputError(f"--rig-file is only read with --rig file, but the rig is {rig}; give --rig file")
    smoothed = options.smooth_on
    if strict and smoothed != "pred":
        smoothed = "pred" if smoothed == "both" else "none"
    return Settings(
        mode=mode,
        target=target,
        modalities=modalities,
        sensors=_sensors(options.sensor_index_by_modality, {target, *modalities}),
        weighing=Weighing(
            options.fusion_mode,
            options.reliability_source,
            options.cross_sensor_tau,
            options.temporal_trans_tau,
            options.temporal_rot_tau_deg,
            options.hard_gate_ratio,
        ),
        rig=rig,
        reference=reference,
        window=options.smooth_window,
        smoothed=smoothed,
        by_frame=strict or reference != "first",
    )


def _sensors(text: str, modalities: set[str]) -> tuple[tuple[str, int], ...]:
    found = dict.fromkeys(sorted(modalities), 0)
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, colon, index = part.partition(":")
        if not colon or not index.strip().isdecimal():
            raise InputError(f"--sensor-index-by-modality: {part!r}, expected MODALITY:NUMBER, as lidar:0,rgb:0")
        found[name.strip().lower()] = int(index)
    return tuple(found.items())


def vary_settings(settings: Settings, target: str) -> dict[str, Settings]:
    """Return the four arms of the published ablation; the first is always in the frame of the lidar."""
    many = replace(settings, mode="multi_sensor", target=target)

    def weighed(mode: str, source: str) -> Settings:
        return replace(many, weighing=replace(settings.weighing, mode=mode, source=source))

    return {
        "seq_lidar_ref": replace(settings, mode="seq_lidar_ref", target="lidar"),
        "multi_sensor + mean": weighed("mean", settings.weighing.source),
        "multi_sensor + weighted + cross_sensor": weighed("weighted", "cross_sensor"),
        "multi_sensor + hard_gate + hybrid": weighed("hard_gate", "hybrid"),
    }
