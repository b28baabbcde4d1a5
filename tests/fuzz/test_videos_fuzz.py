"""Damaged videos: whatever the bytes are, an error of the project comes out, or what can be decoded."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from gnomon.core.errors import GnomonError, InputError
from gnomon.suites.episode import videos

av = pytest.importorskip("av")
FRAMES = 12
READERS = {
    "probe": videos.probe,
    "frames": lambda path: list(videos.frames(path, FRAMES)),
    "waveform": lambda path: videos.waveform(path, 10),
    "fault_of": videos.fault_of,
}


def video(codec: str, *, sound: bool, **options: str) -> bytes:
    """Write a short video, some of it with sound."""
    sink = io.BytesIO()
    with av.open(sink, "w", format="mp4", options=options) as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        audio = container.add_stream("aac", rate=8000, layout="mono") if sound else None
        for number in range(FRAMES):
            image = np.full((32, 32, 3), 20 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
        for number in range(8 if audio else 0):
            part = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            part.sample_rate, part.pts = 8000, 1024 * number
            container.mux(audio.encode(part))
        container.mux(audio.encode() if audio else [])
    return sink.getvalue()


@pytest.fixture(scope="module")
def samples() -> list[bytes]:
    return [
        video("mpeg4", sound=True),
        video("mpeg4", sound=False, movflags="frag_keyframe+empty_moov"),
        video("libx264", sound=True),
        video("libx264", sound=False),
    ]


def damage(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes, mostly of the index, which is what a reader of the file goes by."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        start = max(0, min(out.find(b"moov") - 4, len(out) - 1)) if chance.random() < 0.8 else 0
        at = chance.randrange(start, len(out))
        kind = chance.choice(("flip", "flip", "set", "cut", "insert", "truncate"))
        if kind == "flip":
            out[at] ^= 1 << chance.randrange(8)
        elif kind == "set":
            out[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == "cut":
            del out[at : at + chance.randint(1, 40)]
        elif kind == "insert":
            out[at:at] = chance.randbytes(chance.randint(1, 8))
        else:
            del out[max(at, 40) :]
    return bytes(out)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_videos(tmp_path: Path, samples: list[bytes], seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "damaged.mp4"
    refused = read = 0
    messages: list[str] = []
    for _ in range(120):
        path.write_bytes(damage(chance.choice(samples), chance))
        for reader in READERS.values():
            try:
                reader(path)
                read += 1
            except GnomonError as error:
                messages.append(str(error))
                refused += 1
    assert all("damaged.mp4" in message and "\n" not in message for message in messages)
    assert refused > 50
    assert read > 50


def unknown_codec(data: bytes, *names: bytes) -> bytes:
    """Return a video one of whose streams is in a codec that nobody has, without the boxes that describe it."""
    for name in names:
        before, after = data.rsplit(name, 1)
        data = before + b"zzzz" + after
    return data


def test_a_codec_that_is_not_known_is_an_error_of_the_file(tmp_path: Path, samples: list[bytes]) -> None:
    path = tmp_path / "odd.mp4"
    path.write_bytes(unknown_codec(samples[3], b"avc1", b"avcC"))
    for name in ("probe", "frames"):
        with pytest.raises(InputError, match=r"odd\.mp4: its video is in a codec that is not known here"):
            READERS[name](path)
    path.write_bytes(unknown_codec(samples[0], b"mp4a", b"esds"))
    assert videos.probe(path)["audio"] == {"present": False, "rate": 0, "channels": 0}
    with pytest.raises(InputError, match="no audio that can be decoded"):
        videos.waveform(path, 10)


def with_number(data: bytes, kind: bytes, offset: int, number: int) -> bytes:
    at = data.index(kind) + 4 + offset
    return data[:at] + struct.pack(">I", number) + data[at + 4 :]


@pytest.mark.parametrize("kind", ["one size for all", "runs", "fragments"])
def test_more_frames_than_bytes_are_refused_before_an_index_is_made(
    tmp_path: Path, samples: list[bytes], kind: str
) -> None:
    """Two kB that declare 2**26 frames: the library would make an entry of an index for each, which takes GB."""
    path = tmp_path / "bomb.mp4"
    many = 1 << 26
    if kind == "fragments":
        data = with_number(samples[1], b"trun", 4, many)
    else:
        data = with_number(samples[3], b"stts", 8, many)
        if kind == "one size for all":
            data = with_number(with_number(data, b"stsz", 4, 1), b"stsz", 8, many)
    path.write_bytes(data)
    for name in ("probe", "frames", "waveform"):
        with pytest.raises(InputError, match=r"bomb\.mp4: declares 6710\d+ frames or samples in \d+ bytes"):
            READERS[name](path)
