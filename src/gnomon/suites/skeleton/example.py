"""Write predictions.npz, a prediction file of two short sequences: put your own arrays in the place of these.

Joints are in metres, in a canonical frame. A camera is nine numbers, T, quaternion xyzw, field of view (height, width),
and maps a point x of the canonical frame to R x + T. What is missing is NaN. Needs numpy only; score the file with
gnomon score skeleton --pred-file predictions.npz
"""

from typing import Any

import numpy as np


def fields() -> dict[str, Any]:
    """Return the fields of the file."""
    skeleton = np.array([[0, 0, 0], [0.1, -0.9, 0], [-0.1, -0.9, 0], [0.5, 0.4, 0], [-0.5, 0.4, 0]])  # 0 is the pelvis
    ids = [f"p00000{person}_a000001_{frame}" for person in (1, 2) for frame in range(4)]
    walk = np.arange(len(ids))[:, None, None] % 4 * [0.1, 0, 0]
    truth = skeleton + walk  # (samples, joints, 3)
    prediction = truth.copy()
    prediction[:, 4] += [0.09, 0, 0]  # the right hand is 90 mm off
    rgb, lidar = [0, 0, 3, 0, 0, 0, 1, 0.9, 1.3], [0.4, 0, 3, 0, 0, 0, 1, 1.1, 1.2]
    true_cameras = np.array([[rgb, lidar]] * len(ids))  # (samples, streams, 9)
    cameras = true_cameras.copy()
    cameras[:, :, 2] += 0.04  # both cameras are 40 mm too far away
    cameras[2, 1] = np.nan  # no camera was found
    return {
        "sample_ids": np.array(ids),
        "pred_keypoints": prediction.astype(np.float32),
        "gt_keypoints": truth.astype(np.float32),
        "pred_cameras_stream": cameras.astype(np.float32),
        "gt_cameras_stream": true_cameras.astype(np.float32),
        "camera_stream_modalities": np.array(["rgb", "lidar"]),
        "camera_stream_sensor_indices": np.array([0, 0]),
    }


if __name__ == "__main__":
    np.savez("predictions.npz", **fields())
