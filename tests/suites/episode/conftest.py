"""Two small simulated episodes, what tasks see of them, and runs in both variants; each is made once for all tests."""

import pytest

FRAMES = 200
VIDEOS = "fisheye_cam0,fisheye_cam1,fisheye_cam2,fisheye_cam3,stereo_right"
"""Left out, so that one video is decoded and the others are masked on request."""


@pytest.fixture(scope="session")
def episodes(tmp_path_factory):
    """Folder with two episodes of 200 frames, with realistic gaps."""
    pytest.importorskip("h5py")
    pytest.importorskip("av")
    import gnomon.suites.episode.simulate as simulating
    from gnomon.suites.episode.options import SimulateOptions

    folder = tmp_path_factory.mktemp("episodes") / "sim"
    simulating.simulate(SimulateOptions(directory=str(folder), episodes=2, frames=FRAMES, videos=16))
    return folder


@pytest.fixture(scope="session")
def places(episodes):
    """Both episodes on disk."""
    from gnomon.suites.episode.layout import find

    return find([episodes])


@pytest.fixture(scope="session")
def recorded(places, tmp_path_factory):
    """Both episodes as tasks see them, by variant; without video."""
    from gnomon.suites.episode import cells
    from gnomon.suites.episode.features.blocks import VIDEOS as ALL

    found = {}
    for variant, validity in cells.VALIDITY.items():
        found[variant] = []
        for place in places:
            folder = tmp_path_factory.mktemp("recorded")
            arguments = {"episode": place.id, "folder": str(place.folder), "validity": validity, "skip": ALL}
            cells.annotation(arguments, {}, folder)
            cells.features(arguments, {}, folder)
            found[variant].append(cells.read(folder, folder))
    return found


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """Folder of the runs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def result(episodes, out):
    """All tasks, the minimal heads and all baselines, in both variants."""
    import gnomon

    words = {"systems": "minimal,trivial", "variant": "both", "skip": VIDEOS, "executor": "inline"}
    return gnomon.run("episode", episodes=[str(episodes)], out=str(out), **words)


@pytest.fixture(scope="session")
def runs(result):
    """Runs by variant and system."""
    found = {"published": {}, "strict": {}}
    for run in result.runs:
        found[run.manifest["protocol"]["variant"]][run.manifest["system"]] = run
    return found
