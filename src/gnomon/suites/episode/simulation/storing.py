"""The annotation file: every dataset of the published layout, with its types, and the mark that it is simulated."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.simulation.extras import needed
from gnomon.suites.episode.simulation.rig import DEPTH_SIZE, Rig, inverse

SIMULATED = "simulated"
"""Attribute of the file: it is no recording."""


@contextmanager
def created(path: Path, frames: int, attributes: Mapping[str, Any]) -> Iterator[AnnotationFile]:
    """Create an annotation file, which is closed at the end of the block."""
    h5py = needed("h5py")
    with h5py.File(os.fspath(path), "w") as file:
        file.attrs[SIMULATED] = True
        for name, value in attributes.items():
            file.attrs[name] = value
        yield AnnotationFile(h5py, file, frames)


class AnnotationFile:
    """An annotation file in the making."""

    def __init__(self, h5py: Any, file: Any, frames: int) -> None:
        self._text = h5py.string_dtype("ascii")
        self._file = file
        square = (frames, DEPTH_SIZE, DEPTH_SIZE)
        pack = {"chunks": (1, *square[1:]), "compression": "gzip", "compression_opts": 1}
        self._depth = file.create_dataset("depth/depth", square, np.float32, **pack)
        self._confidence = file.create_dataset("depth/confidence", square, np.uint8, **pack)

    def write(self, values: Mapping[str, Any]) -> None:
        """Write datasets by path: arrays packed, texts and numbers as they are."""
        for path, value in values.items():
            if isinstance(value, str | bytes):
                self._file.create_dataset(path, data=value, dtype=self._text)
            elif np.ndim(value) == 0:
                self._file.create_dataset(path, data=np.float64(value))
            else:
                self._file.create_dataset(path, data=value, chunks=value.shape, compression="gzip")

    def write_depth(self, frame: int, depth: Array, confidence: Array) -> None:
        """Write the depth map of one frame."""
        self._depth[frame], self._confidence[frame] = depth, confidence


def calibration(headset: Rig) -> dict[str, Any]:
    """Return the datasets of the calibration."""
    found: dict[str, Any] = {
        "calibration/cam01/K": headset.stereo,
        "calibration/cam01/T_c0_b": headset.left_from_body,
        "calibration/cam01/baseline": headset.baseline,
    }
    before = np.eye(4)
    for k, (lens_k, lens_d, from_body) in enumerate(headset.fisheye):
        path = f"calibration/cam{k}"
        found |= {f"{path}/K": lens_k, f"{path}/D": lens_d}
        found |= {f"{path}/camera_model": "pinhole", f"{path}/distortion_model": "equidistant"}
        found[f"{path}/T_c_b" if k == 0 else f"{path}/T_cn_cnm1"] = from_body @ before
        before = inverse(from_body)
    return found


def metadata(height: float, number: int, video: Mapping[str, Any]) -> dict[str, Any]:
    """Return the datasets of the metadata, all of them made up."""
    made = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=number)
    report = {"generated_at": made.isoformat(), "recordings": [], "root": SIMULATED}
    return {
        "metadata/body_height": round(height, 2),
        "metadata/device_id": f"{SIMULATED}-{number:04d}",
        "metadata/device_version": SIMULATED,
        "metadata/health_report": json.dumps(report, indent=2),
        "metadata/other": json.dumps({SIMULATED: True, **video}),
        "metadata/time_created": made.isoformat(),
    }
