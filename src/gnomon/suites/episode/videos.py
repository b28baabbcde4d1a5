"""Video and audio of an episode: frames one at a time, what a file says of itself, and an envelope of its sound.

Files are decoded with PyAV, always as MP4 and always from the opened file, so that nothing in a file can name
another. Frames are counted in the order in which they are shown; a video may have one more than the annotation.
The library makes an index entry for every frame that a file declares, however small the file: so the declared numbers
are looked at first, and a file cannot declare more frames than it has bytes.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.tallies import Array
from gnomon.intake.faults import FAULTS, reason, shown
from gnomon.intake.limits import check_file

MOST_PIXELS = 1 << 26
"""Of one frame; larger ones are refused."""
MOST_INDEX = 1 << 28
"""Bytes of all boxes but those of frames."""
_BLOCK = 64
_HEADER = 8
_COUNTS = {b"stsz": 8, b"stz2": 8, b"trun": 4}
"""Boxes that declare a number of frames, and where in their body it is."""
_RUNS = (b"stts", b"ctts")
"""Boxes that hold pairs: a number of frames, and what holds for each of them."""


class Frames(Iterator[tuple[int, Array]]):
    """The frames of a video, decoded one at a time.

    Attributes
    ----------
    count
        Frames that were given so far.
    fault
        Why there were fewer than asked for, once the last was given; empty if there were enough.
    """

    def __init__(self, path: str | os.PathLike[str], n_frames: int, threads: int) -> None:
        self.count = 0
        self.fault = ""
        self._path = path
        self._wanted = n_frames
        self._frames = self._decoded(threads)

    def __next__(self) -> tuple[int, Array]:
        return next(self._frames)

    def close(self) -> None:
        """Stop decoding and close the file."""
        self._frames.close()

    def _decoded(self, threads: int) -> Generator[tuple[int, Array], None, None]:
        with _opened(self._path) as container:
            stream = _video(container, self._path)
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
            stream.codec_context.thread_count = threads
            stream.codec_context.thread_type = "NONE" if threads == 1 else "AUTO"
            why = "the file ends"
            try:
                for frame in container.decode(stream):
                    if self.count >= self._wanted:
                        return
                    if frame.is_corrupt:
                        why = "the next is damaged"
                        break
                    _check_size(frame.width, frame.height, self._path)
                    rgb = frame.to_ndarray(format="rgb24")
                    self.count += 1
                    yield self.count - 1, rgb
            except InputError:
                raise
            except _faults() as error:
                why = f"it cannot be decoded further ({_said(error)})"
            if self.count < self._wanted:
                self.fault = f"{self.count} of {self._wanted} frames: {why}"


def frames(path: str | os.PathLike[str], n_frames: int, *, threads: int = 1) -> Frames:
    """Return the first frames of a video: pairs of index and ``(height, width, 3)`` RGB bytes.

    A file that is cut off or damaged gives the frames before that, and then says why there are no more in
    ``fault``.

    Raises
    ------
    InputError
        When the first frame is asked for: the file is not there, is no MP4, or has no video.
    """
    return Frames(path, n_frames, threads)


def probe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file says of itself: width, height, fps, frames, and whether it has audio; nothing is decoded."""
    with _opened(path) as container:
        stream = _video(container, path)
        audio = _audio(container)
        return {
            "width": stream.codec_context.width,
            "height": stream.codec_context.height,
            "fps": float(stream.average_rate) if stream.average_rate else None,
            "frames": stream.frames,
            "audio": {
                "present": audio is not None,
                "rate": audio.codec_context.sample_rate if audio else 0,
                "channels": audio.codec_context.channels if audio else 0,
            },
        }


def waveform(path: str | os.PathLike[str], bins: int) -> tuple[Array, Array]:
    """Return the lowest and highest sample of the audio, mixed to one channel, in each of equal parts of its length.

    Raises
    ------
    InputError
        The file has no audio that can be decoded.
    """
    low, high = _envelope(path)
    if not len(low):
        raise InputError(f"{shown(path)}: no audio that can be decoded; leave its lane out")
    edges = np.arange(bins + 1) * len(low) // bins
    starts = np.minimum(edges[:-1], len(low) - 1)
    # A part that holds no block of its own repeats the block it lies in: reduceat takes one where a range is empty.
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def fault_of(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Look at the outermost boxes of an MP4 file: why it cannot be read at all, and why only in part; both often empty.

    A box is eight bytes, its length and kind, and a body; ``moov`` holds the index without which no frame is found.
    """
    try:
        size = check_file(path)
        with Path(path).open("rb") as file:
            boxes = _boxes(file, size)
    except (InputError, OSError) as error:
        return ("missing" if not Path(path).exists() else reason(error)), ""
    kinds = [box.kind for box in boxes if box.kind != "moov" or box.end <= size]
    end = boxes[-1].end if boxes else 0
    if kinds[:1] != ["ftyp"]:
        return "not an MP4 file", ""
    cut = f"cut off: {size} bytes, expected {end}" if end > size else ""
    if "moov" not in kinds:
        return f"{cut or 'damaged'}; no index of frames (moov)", ""
    return "", cut


class _Box(NamedTuple):
    kind: str
    start: int
    end: int


def _boxes(file: IO[bytes], size: int) -> list[_Box]:
    """Return the outermost boxes of a file; the last may end behind it."""
    boxes: list[_Box] = []
    place = 0
    while place + _HEADER <= size and len(boxes) < 10_000:
        file.seek(place)
        head = file.read(2 * _HEADER)
        length = int.from_bytes(head[:4], "big")
        if length == 1:  # a long length follows the kind
            length = int.from_bytes(head[8:16], "big")
        elif length == 0:  # to the end of the file
            length = size - place
        if length < _HEADER:
            break
        boxes.append(_Box(head[4:8].decode("latin-1"), place, place + length))
        place += length
    return boxes


def _check_counts(file: IO[bytes], size: int, path: str | os.PathLike[str]) -> None:
    """Refuse a file that declares more frames than it has bytes; where in the file it does so does not matter."""
    boxes = _boxes(file, size)
    rest = _Box("", boxes[-1].end if boxes else 0, size)  # behind what is no box: the library may find some there
    regions = [(box.start, min(box.end, size)) for box in (*boxes, rest) if box.kind != "mdat" and box.start < size]
    if sum(end - start for start, end in regions) > MOST_INDEX:
        raise InputError(f"{shown(path)}: an index of more than {MOST_INDEX} bytes; copy it again")
    for start, end in regions:
        file.seek(start)
        data = file.read(end - start)
        if b"cmov" in data:
            raise InputError(f"{shown(path)}: its index is compressed (cmov), which is not read; convert the file")
        declared = max(
            (_declared(data, at, kind) for kind in (*_COUNTS, *_RUNS) for at in _places(data, kind)), default=0
        )
        if declared > size:
            raise InputError(
                f"{shown(path)}: declares {declared} frames or samples in {size} bytes, expected at most one a byte; "
                "copy it again"
            )
    file.seek(0)


def _places(data: bytes, kind: bytes) -> Iterator[int]:
    """Yield where boxes of a kind begin, at any depth: a length that the data can hold stands before their name."""
    at = data.find(kind)
    while at >= 0:
        length = int.from_bytes(data[max(0, at - 4) : at], "big")
        if length == 1 or _HEADER <= length <= len(data) - at + 4:
            yield at + 4
        at = data.find(kind, at + 1)


def _declared(data: bytes, body: int, kind: bytes) -> int:
    """Return the number of frames that a box declares."""
    at = body + _COUNTS.get(kind, 4)
    number = int.from_bytes(data[at : at + 4], "big")
    if kind in _COUNTS:
        return number
    pairs = data[at + 4 : at + 4 + 8 * number]
    return int(np.frombuffer(pairs[: len(pairs) // 8 * 8], dtype=">u4")[::2].sum(dtype=np.int64))


def _envelope(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    """Return lowest and highest sample of short blocks of the audio."""
    av = _av()
    lows, highs, rest = [np.empty(0)], [np.empty(0)], np.empty(0, dtype=np.float32)
    with _opened(path) as container:
        stream = _audio(container)
        if stream is None:
            return lows[0], highs[0]
        try:
            resampler = av.AudioResampler(format="flt", layout="mono")
            for frame in container.decode(stream):
                for part in resampler.resample(frame):
                    rest = np.concatenate([rest, part.to_ndarray().reshape(-1)])
                whole = rest[: len(rest) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
                lows.append(whole.min(axis=1))
                highs.append(whole.max(axis=1))
                rest = rest[whole.size :]
        except _faults() as error:
            raise InputError(
                f"{shown(path)}: the audio cannot be decoded ({_said(error)}); leave its lane out"
            ) from error
    if len(rest):
        lows.append(rest.min(keepdims=True))
        highs.append(rest.max(keepdims=True))
    return np.concatenate(lows), np.concatenate(highs)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    av = _av()
    size = check_file(path)
    with Path(path).open("rb") as file:
        _check_counts(file, size, path)
        try:
            container = av.open(file, format="mp4", metadata_errors="ignore")
        except _faults() as error:
            raise InputError(f"{shown(path)}: not a readable MP4 file ({_said(error)}); copy it again") from error
        with container:
            yield container


def _video(container: Any, path: str | os.PathLike[str]) -> Any:
    if not container.streams.video:
        raise InputError(f"{shown(path)}: has no video stream; leave the file out")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise InputError(f"{shown(path)}: its video is in a codec that is not known here; copy it again, or convert it")
    _check_size(stream.codec_context.width, stream.codec_context.height, path)
    return stream


def _audio(container: Any) -> Any:
    """Return the first audio stream, None where there is none or its codec is not known."""
    stream = container.streams.audio[0] if container.streams.audio else None
    return None if stream is None or stream.codec_context is None else stream


def _check_size(width: int, height: int, path: str | os.PathLike[str]) -> None:
    if width * height > MOST_PIXELS:
        raise InputError(f"{shown(path)}: frames of {width} x {height} pixels, expected at most {MOST_PIXELS} pixels")


def _said(error: Exception) -> str:
    """Return what PyAV says of a fault, without its number and place."""
    return shown(getattr(error, "strerror", None) or reason(error))


def _faults() -> tuple[type[Exception], ...]:
    return (*FAULTS, _av().FFmpegError)


def _av() -> Any:
    """Return PyAV, which is loaded when it is first needed."""
    try:
        return importlib.import_module("av")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "av":
            raise
        raise MissingExtraError(
            "reading videos needs PyAV, which is not installed: pip install 'gnomon[episode]'"
        ) from error
