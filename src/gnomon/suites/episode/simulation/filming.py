"""Videos: H.264 pictures and AAC sound in MP4, one frame at a time."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from gnomon.core.tallies import Array
from gnomon.suites.episode.simulation.extras import needed
from gnomon.suites.episode.simulation.sound import RATE

FPS = 20
QUALITY = {"preset": "superfast", "crf": "23", "g": "40"}


class Film:
    """A video in the making.

    Parameters
    ----------
    path
        The file.
    size
        Width and height, even.
    sound
        Samples at :data:`~gnomon.suites.episode.simulation.sound.RATE`, in 16 bits.
    """

    def __init__(self, path: Path, size: tuple[int, int], sound: Array) -> None:
        self._av = needed("av")
        self._sound, self._count = sound, 0
        self._file = self._av.open(os.fspath(path), "w", format="mp4")
        self._video = self._file.add_stream("libx264", rate=FPS, options=QUALITY)
        self._video.width, self._video.height = size
        self._video.pix_fmt = "yuv420p"
        self._video.codec_context.thread_count = 1
        self._video.codec_context.time_base = Fraction(1, FPS)
        self._audio = self._file.add_stream("aac", rate=RATE, layout="mono", options={"aac_coder": "fast"})

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            for stream in (self._video, self._audio):
                self._file.mux(stream.encode(None))
        self._file.close()

    def add(self, picture: Array) -> None:
        """Add a frame ``(height, width, 3)`` in RGB bytes, and the sound that goes with it."""
        frame = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts = self._count
        self._file.mux(self._video.encode(frame))
        first, last = (at * RATE // FPS for at in (self._count, self._count + 1))
        part = self._sound[first:last]
        if len(part):
            heard = self._av.AudioFrame.from_ndarray(part[None], format="s16", layout="mono")
            heard.sample_rate, heard.pts = RATE, first
            heard.time_base = Fraction(1, RATE)
            self._file.mux(self._audio.encode(heard))
        self._count += 1
