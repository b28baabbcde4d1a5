"""``gnomon run episode``: what is refused before any work, and that the same command gives the same bytes.

Expected values: other runs of the same command; counted in the test; by hand.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.runs.alignment import comparable
from gnomon.suites.episode import running
from gnomon.suites.episode.features.blocks import VIDEOS
from gnomon.suites.episode.tasks.declared import TASKS

FAST = {
    "tasks": "next_action,object_relevance,cross_modal_retrieval",
    "systems": "minimal,random",
    "skip": ",".join(VIDEOS),
    "executor": "inline",
    "interval": "none",
}


def run(folder, out, **options):
    return gnomon.run("episode", episodes=[str(folder)], out=str(out), **{**FAST, **options})


def scores(result):
    return {run.manifest["system"]: (run.path / "scores.json").read_bytes() for run in result.runs}


@pytest.fixture(scope="module")
def plain(episodes, tmp_path_factory):
    """A small run in this process."""
    return run(episodes, tmp_path_factory.mktemp("plain"))


@pytest.fixture
def copies(episodes, tmp_path):
    """Both episodes, to be damaged."""
    return shutil.copytree(episodes, tmp_path / "copies")


def damaged(folder):
    path = folder / "session_001" / "ep0" / "annotation.hdf5"
    os.truncate(path, path.stat().st_size // 2)


def test_systems_that_answer_none_of_the_tasks_are_refused(episodes, tmp_path):
    said = (
        r"persistence: answers none of the tasks timeline_action; give one that it answers \(hand_trajectory_forecast\)"
    )
    with pytest.raises(InputError, match=said):
        run(episodes, tmp_path, systems="persistence", tasks="timeline_action")


def test_names_of_metrics_are_checked_before_work(episodes, tmp_path):
    with pytest.raises(InputError, match="no measure 'beauty' in a run with these options"):
        run(episodes, tmp_path, metrics="beauty")
    assert not (tmp_path / "store").exists()


def test_words_may_be_repeated_and_hold_several():
    assert running.words(["a, b", "c", "a"]) == ("a", "b", "c")


def test_tasks_are_in_the_order_of_the_tables_and_unknown_ones_are_refused():
    assert running.checked_tasks(["temporal_order,timeline_action"]) == ("timeline_action", "temporal_order")
    with pytest.raises(InputError, match="--tasks: no task 'nap'; there are timeline_action, "):
        running.checked_tasks(["nap"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"skip": "fisheye_cam9"}, "--skip: no block or stream 'fisheye_cam9'"),
        ({"test_episodes": "session_000/ep0"}, "--test-episodes: .* give --split episode_disjoint"),
        ({"split": "episode_disjoint", "test_episodes": "nobody/ep0"}, "no episode 'nobody/ep0'"),
        ({"systems": "svm"}, "--systems: no system 'svm'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(episodes, tmp_path, options, said):
    with pytest.raises(InputError, match=said):
        run(episodes, tmp_path / "out", **options)
    assert not list((tmp_path / "out").glob("store/*"))


def test_without_tasks_there_are_all_twelve(result):
    assert list(result.runs[0].manifest["protocol"]["tasks"]) == list(TASKS)


def test_a_bad_episode_is_named_before_any_work(copies, tmp_path):
    damaged(copies)
    with pytest.raises(InputError) as caught:
        run(copies, tmp_path / "out")
    said = str(caught.value)
    assert said.startswith("1 of 2 episodes cannot be used, nothing was computed: session_001/ep0: ")
    assert "not a readable HDF5 file" in said
    assert said.endswith("complete them, or leave them out with --bad skip")
    assert not list((tmp_path / "out").glob("store/*"))


def test_a_bad_episode_may_be_left_out_and_the_run_says_so(copies, tmp_path):
    damaged(copies)
    found = run(copies, tmp_path / "out", bad="skip", systems="random").runs[0]
    facts = found.manifest["facts"]
    assert list(facts["left_out"]) == ["session_001/ep0"]
    assert (facts["episodes"], facts["valid_episodes"]) == (1, 0)  # simulated, and without videos
    assert "not a readable HDF5 file" in next(f for f in found.findings if f.id == "episode-left-out").evidence


def test_when_all_are_bad_there_is_nothing_to_skip(copies, tmp_path):
    damaged(copies)
    with pytest.raises(InputError, match=r"1 of 1 episodes cannot be used.*; complete what is missing"):
        run(copies / "session_001" / "ep0", tmp_path / "out", bad="skip")


def test_an_episode_that_was_copied_elsewhere_is_simulated_still(places, tmp_path):
    copy = shutil.copytree(places[0].folder, tmp_path / "mine" / "ep0")
    assert running.generated(replace(places[0], folder=copy))


def test_the_same_command_gives_the_same_bytes(episodes, plain, tmp_path):
    again = run(episodes, tmp_path / "again")
    assert scores(again) == scores(plain)
    for one, other in zip(plain.runs, again.runs, strict=True):
        assert (one.path / "tallies.npz").read_bytes() == (other.path / "tallies.npz").read_bytes()
        assert one.manifest["prediction_fingerprint"] == other.manifest["prediction_fingerprint"]


@pytest.mark.slow
def test_worker_processes_give_what_one_process_gives(episodes, plain, tmp_path):
    workers = run(episodes, tmp_path / "workers", executor="processes", workers=2)
    assert scores(workers) == scores(plain)


def test_what_is_stored_is_not_done_again(episodes, plain):
    out = plain.runs[0].path.parent
    store = out / "store"
    before = {path: path.stat().st_mtime_ns for path in store.rglob("answers.npz")}
    again = run(episodes, out)
    assert before
    assert {path: path.stat().st_mtime_ns for path in store.rglob("answers.npz")} == before
    assert scores(again) == scores(plain)


@pytest.mark.kill
def test_a_run_that_was_killed_goes_on_where_it_was(episodes, plain, tmp_path):
    """Killed as soon as the first features are stored; the second time they are found."""
    out = tmp_path / "killed"
    words = [f"--{name}={value}" for name, value in FAST.items()]
    command = [sys.executable, "-m", "gnomon", "run", "episode", str(episodes), *words, f"--out={out}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (kept := list(out.rglob("features.npy"))) or not kept[0].with_name("facts.json").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(out.glob("episode-*"))
    assert scores(run(episodes, out)) == scores(plain)


def test_runs_against_other_candidates_are_not_compared(episodes, plain, tmp_path):
    """Another embargo changes no test window but the protocol; a drawn pool is refused by its own name."""
    other = run(episodes, tmp_path / "other", embargo=30, systems="minimal")
    mine = next(run for run in plain.runs if run.manifest["system"] == "minimal")
    with pytest.raises(InputError, match="different protocol"):
        gnomon.compare(mine.path, other.runs[0].path)
    facts = {**mine.manifest["facts"], "pool_fingerprint": "another"}
    drawn = replace(mine, alias="drawn", manifest={**mine.manifest, "facts": facts})
    with pytest.raises(InputError, match="different candidate pools"):
        comparable([mine, drawn])


def test_both_systems_of_a_run_are_ranked_against_one_pool(plain):
    pools = {run.manifest["facts"]["pool_fingerprint"] for run in plain.runs}
    assert len(pools) == 1


def test_the_seed_is_no_part_of_the_protocol_unless_it_draws_episodes(episodes, plain, tmp_path):
    """So that seeds can be crossed with groups; episodes that were drawn are named in the split."""
    seeded = run(episodes, tmp_path / "seeded", seed=8, systems="random")
    same = {run.manifest["protocol_fingerprint"] for run in (*plain.runs, *seeded.runs)}
    assert len(same) == 1
    apart = run(episodes, tmp_path / "apart", split="episode_disjoint", systems="random").runs[0]
    assert apart.manifest["protocol"]["split"]["test_episodes"] == apart.manifest["facts"]["test_episodes"]
    assert len(apart.manifest["facts"]["test_episodes"]) == 1
    assert apart.roster.level == "segment"


def test_a_run_has_its_windows_features_and_tables(result, runs):
    run = runs["strict"]["minimal"]
    held = {path.name for path in run.path.iterdir()}
    assert {
        "feature_manifest.json",
        "windows.session_000_ep0.csv",
        "windows.session_001_ep0.csv",
        "per_class.csv",
        "confusion.csv",
        "predictions.parquet",
        "evaluation_protocol.json",
        "DATA_BLOCKER_REPORT.md",
    } <= held
    blocks = json.loads((run.path / "feature_manifest.json").read_bytes())["blocks"]
    assert [blocks[0]["start"], blocks[-1]["end"], len(blocks)] == [0, 8378, 17]
    assert (run.path / "windows.session_000_ep0.csv").read_text().count("\n") == 38  # 37 windows of 200 frames
    assert "variants" in result.tables


def test_every_cell_is_there_or_says_why_not(result, runs):
    """Twelve tasks of the head; a task that these episodes are too short for is missing with its reason."""
    cells = runs["strict"]["minimal"].coverage["cells"]
    lacking = {task for task, fact in runs["strict"]["minimal"].manifest["facts"]["tasks"].items() if fact["lacks"]}
    assert cells["total"] == 12
    assert {item["cell"] for item in cells["missing"]} == {f"minimal {task} (strict)" for task in lacking}
    assert set(result.extra["missing"].values()) == {
        item["why"] for own in runs["strict"].values() for item in own.coverage["cells"]["missing"]
    }
