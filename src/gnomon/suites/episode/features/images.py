"""What is kept of one image: 140 numbers of depth and confidence, 98 of a video frame.

Depth and confidence
--------------------
Of the depths in metres that are finite and over 0: mean, std, min, max, 10th, 50th and 90th percentile (by straight
lines between ranks), their share of all pixels; then 8 x 8 means of the valid depths of a cell, row by row, 0 where a
cell has none. Of the confidence (0 to 255, all pixels): mean, std, min, max, then 8 x 8 means. A frame in which no
depth is valid counts as missing. Where a frame has no confidence, those 68 numbers are 0 and the share that could be
read is 72 / 140.

Video
-----
All in [0, 1]. Mean of red, green and blue; their standard deviations; histograms of 8 equal bins over 0 to 255 for each
colour, as shares of the pixels; then of the grey image (.299 red + .587 green + .114 blue): 8 x 8 means row by row, and
mean and std of the absolute differences between neighbours along rows, then along columns, of its 32 x 32 version. Both
sizes are area means: a cell covers an equal part of the image, and a pixel on its edge counts by the part inside.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.episode.features import _kernels

DEPTH, CONFIDENCE, VIDEO = 72, 68, 98
"""Numbers of one depth image, its confidence, a video frame."""


def depth_numbers(
    depth: Array, confidence: Array | None, valid: Array, sure_of: Array | None = None
) -> tuple[Array, Array]:
    """Return the numbers of depth images, and the share of them that could be read.

    Parameters
    ----------
    depth
        ``(n, h, w)`` float32, h and w multiples of 8.
    confidence
        ``(n, h, w)`` uint8, or None.
    valid
        ``(n,)``: frames that could be read.
    sure_of
        ``(n,)``: frames that have a confidence; without it, all where there is any.

    Returns
    -------
    tuple
        ``(n, 140)`` and ``(n,)``, both float64.
    """
    images = np.ascontiguousarray(depth, dtype=np.float32)
    if images.ndim != 3 or images.shape[1] % _kernels.GRID or images.shape[2] % _kernels.GRID:
        raise InputError(f"depth: expected images (n, h, w) with sides that 8 divides, but got {images.shape}")
    n = len(images)
    found, sure, seen = np.zeros((n, DEPTH)), np.zeros((n, CONFIDENCE)), np.zeros(n, dtype=np.int64)
    _kernels.depths(images, images.view(np.uint32), found, seen)
    share = np.where(valid & (seen > 0), 1.0, 0.0)
    if confidence is None:
        share *= DEPTH / (DEPTH + CONFIDENCE)
    elif confidence.shape != images.shape or confidence.dtype != np.uint8:
        raise InputError(
            f"confidence: expected uint8 of shape {images.shape}, but got {confidence.dtype} of {confidence.shape}"
        )
    else:
        _kernels.confidences(np.ascontiguousarray(confidence), sure)
        if sure_of is not None:
            share[~sure_of] *= DEPTH / (DEPTH + CONFIDENCE)
    return np.concatenate([found, sure], axis=1), share


def video_numbers(image: Array) -> Array:
    """Return the numbers of a video frame ``(h, w, 3)`` uint8, ``(98,)`` float64."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise InputError(f"video: expected frames (h, w, 3) of uint8, but got {image.dtype} of {image.shape}")
    out = np.empty(VIDEO)
    _kernels.colours(np.ascontiguousarray(image), out)
    return out
