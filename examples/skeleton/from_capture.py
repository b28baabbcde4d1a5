"""Motion capture to prediction files: two plain predictors that see a person only every quarter of a second.

    python from_capture.py FOLDER_OF_CAPTURES OUT_FOLDER

A capture is an .npz with ``joints`` (T, J, 3) in metres and ``fps``. ``hold`` repeats the last pose that it saw;
``linear`` goes on as it was moving between the last two. The sensor stands still in the origin of the room, so that
its cameras are known and the same on both sides.
"""

import sys
from pathlib import Path

import numpy as np

from gnomon.suites.skeleton.files import write

EVERY_S = 0.25


def hold(joints, step):
    """Return for every frame the last one that was seen."""
    return joints[np.arange(len(joints)) // step * step]


def linear(joints, step):
    """Go on from the last two frames that were seen."""
    frames = np.arange(len(joints))
    last = frames // step * step
    before = np.maximum(last - step, 0)
    speed = (joints[last] - joints[before]) / step
    return joints[last] + speed * (frames - last)[:, None, None]


def main(captures, out):
    """Write one file per predictor."""
    ids, truth, predictions = [], [], {"hold": [], "linear": []}
    for path in sorted(Path(captures).glob("*_joints_m.npz")):
        with np.load(path) as capture:
            joints, fps = capture["joints"], float(capture["fps"])
        subject, action = path.name.split("_")[:2]
        step = round(EVERY_S * fps)
        ids += [f"p{subject}_a{action}_{frame}" for frame in range(len(joints))]
        truth.append(joints)
        for name, predict in (("hold", hold), ("linear", linear)):
            predictions[name].append(predict(joints, step))
    camera = np.tile(np.array([0, 0, 0, 0, 0, 0, 1, 1, 1], dtype=np.float32), (len(ids), 1, 1))
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, parts in predictions.items():
        write(
            Path(out) / f"{name}.npz",
            {
                "sample_ids": ids,
                "gt_keypoints": np.concatenate(truth),
                "pred_keypoints": np.concatenate(parts).astype(np.float32),
                "gt_cameras_stream": camera,
                "pred_cameras_stream": camera,
                "camera_stream_modalities": ["lidar"],
                "camera_stream_sensor_indices": [0],
            },
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
