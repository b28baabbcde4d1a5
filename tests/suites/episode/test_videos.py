"""Videos: files are written here with PyAV; frames are known by their grey level, sounds by their loudness."""

import sys

import numpy as np
import pytest

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.suites.episode import videos

av = pytest.importorskip("av")
RATE = 16_000


def write(path, n=30, *, sound=True, front=False, size=(64, 48)):
    """Write a video whose frame k has the grey level 8 k, silent in its first half and loud in its second."""
    noise = np.random.default_rng(0)
    options = {"movflags": "faststart"} if front else {}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        video = container.add_stream("libx264", rate=20, options={"g": "5", "crf": "10"})
        video.width, video.height, video.pix_fmt = *size, "yuv420p"
        audio = container.add_stream("aac", rate=RATE, layout="mono") if sound else None
        for k in range(n):
            image = np.full((size[1], size[0], 3), 8 * k) + noise.integers(-6, 7, (size[1], size[0], 1))
            image = np.clip(image, 0, 255).astype(np.uint8)
            container.mux(video.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(video.encode())
        if audio:
            _sound(container, audio, RATE * n // 20)
    return path


def _sound(container, audio, count):
    time = np.arange(count)
    wave = np.where(time < count / 2, 0, 0.5 * np.sin(time * 0.2)).astype(np.float32)
    for start in range(0, count, 1024):
        frame = av.AudioFrame.from_ndarray(wave[None, start : start + 1024], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = RATE, start
        container.mux(audio.encode(frame))
    container.mux(audio.encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos")
    write(path / "plain.mp4")
    write(path / "front.mp4", front=True)
    write(path / "mute.mp4", n=20, sound=False)
    return path


def cut(path, share):
    raw = path.read_bytes()
    short = path.with_name(f"cut-{path.name}")
    short.write_bytes(raw[: int(len(raw) * share)])
    return short


def test_frames_come_in_order_and_no_more_than_asked_for(folder):
    found = videos.frames(folder / "plain.mp4", 29)
    frames = list(found)
    assert [index for index, _ in frames] == list(range(29))
    assert (found.count, found.fault) == (29, "")
    assert {rgb.shape for _, rgb in frames} == {(48, 64, 3)}
    assert {rgb.dtype for _, rgb in frames} == {np.dtype(np.uint8)}
    levels = [rgb.mean() for _, rgb in frames]
    np.testing.assert_allclose(levels, 8 * np.arange(29), atol=6)


def test_threads_change_nothing(folder):
    one, two = (list(videos.frames(folder / "plain.mp4", 30, threads=k)) for k in (1, 2))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(one, two, strict=True))


def test_a_video_that_is_too_short_says_so(folder):
    found = videos.frames(folder / "mute.mp4", 25)
    assert len(list(found)) == 20
    assert found.fault == "20 of 25 frames: the file ends"


def test_a_file_that_is_cut_off_gives_what_there_is_and_says_so(folder):
    path = cut(folder / "front.mp4", 0.6)
    whole = [rgb for _, rgb in videos.frames(folder / "front.mp4", 30)]
    found = videos.frames(path, 30)
    some = [rgb for _, rgb in found]
    assert 0 < len(some) < 30
    assert all(np.array_equal(a, b) for a, b in zip(some, whole, strict=False))
    assert found.fault.startswith(f"{len(some)} of 30 frames: ")
    why, partly = videos.fault_of(path)
    assert why == ""
    assert partly == f"cut off: {path.stat().st_size} bytes, expected {(folder / 'front.mp4').stat().st_size}"


def test_a_file_without_its_index_cannot_be_read(folder):
    path = cut(folder / "plain.mp4", 0.6)
    assert "no index of frames (moov)" in videos.fault_of(path)[0]
    for read in (lambda: list(videos.frames(path, 5)), lambda: videos.probe(path), lambda: videos.waveform(path, 5)):
        with pytest.raises(InputError, match=r"cut-plain\.mp4: not a readable MP4 file"):
            read()


def test_whole_files_have_no_fault(folder):
    assert videos.fault_of(folder / "plain.mp4") == videos.fault_of(folder / "front.mp4") == ("", "")


@pytest.mark.parametrize(
    "content", [b"", b"\x00", b"not a video at all", b"\x00\x00\x00\x18ftypmp42", b"#EXTM3U\nhttp://x/y"]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "odd.mp4"
    path.write_bytes(content)
    assert videos.fault_of(path)[0]
    with pytest.raises(InputError, match=r"odd\.mp4"):
        next(videos.frames(path, 5))


def test_a_missing_file(tmp_path):
    assert videos.fault_of(tmp_path / "absent.mp4") == ("missing", "")
    with pytest.raises(InputError, match="no such file"):
        videos.probe(tmp_path / "absent.mp4")


def test_damage_in_the_middle_is_never_an_error_of_another_kind(folder, tmp_path):
    raw = (folder / "front.mp4").read_bytes()
    generator = np.random.default_rng(1)
    stopped = 0
    for _ in range(40):
        data = bytearray(raw)
        place = int(generator.integers(0, len(raw) - 40))
        data[place : place + 40] = generator.integers(0, 256, 40, dtype=np.uint8).tobytes()
        path = tmp_path / "damaged.mp4"
        path.write_bytes(data)
        try:
            found = videos.frames(path, 30)
            stopped += len(list(found)) < 30
            assert (found.count < 30) == bool(found.fault)
        except InputError:
            stopped += 1
    assert stopped > 5


def test_probe(folder):
    found = videos.probe(folder / "plain.mp4")
    assert found == {
        "width": 64,
        "height": 48,
        "fps": 20.0,
        "frames": 30,
        "audio": {"present": True, "rate": RATE, "channels": 1},
    }
    assert videos.probe(folder / "mute.mp4")["audio"] == {"present": False, "rate": 0, "channels": 0}


def test_waveform_is_the_envelope_of_the_sound(folder):
    low, high = videos.waveform(folder / "plain.mp4", 10)
    assert low.shape == high.shape == (10,)
    np.testing.assert_allclose(high[:4], 0, atol=0.02)
    np.testing.assert_allclose(low[6:], -0.5, atol=0.05)
    np.testing.assert_allclose(high[6:], 0.5, atol=0.05)


def test_waveform_with_more_bins_than_sound(folder):
    low, high = videos.waveform(folder / "plain.mp4", 5000)
    assert low.shape == high.shape == (5000,)
    assert (low <= high).all()
    np.testing.assert_allclose(high[3500:].max(), 0.5, atol=0.05)


def test_no_sound_is_said(folder):
    with pytest.raises(InputError, match="no audio"):
        videos.waveform(folder / "mute.mp4", 10)


def test_frames_too_large_are_refused(folder, monkeypatch):
    monkeypatch.setattr(videos, "MOST_PIXELS", 1000)
    with pytest.raises(InputError, match="frames of 64 x 48 pixels, expected at most 1000"):
        next(videos.frames(folder / "plain.mp4", 1))


def test_what_to_install_is_said(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gnomon\[episode\]'"):
        videos.probe(folder / "plain.mp4")
