"""Answers in folders of shards score as one table and whole arrays do; what is broken fails alone.

Expected values: the same answers given as files, which other tests hold against scikit-learn and values by hand.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tracemalloc
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

h5py = pytest.importorskip("h5py")
pytest.importorskip("av")

import gnomon  # noqa: E402
from gnomon.cli.main import main  # noqa: E402
from gnomon.core.code_identity import identity_of  # noqa: E402
from gnomon.core.errors import InputError  # noqa: E402
from gnomon.engine import scoring as engine  # noqa: E402
from gnomon.runs import exhibits  # noqa: E402
from gnomon.runs.verify import verify  # noqa: E402
from gnomon.suites.episode import cells, scoring  # noqa: E402
from gnomon.suites.episode.options import ScoreOptions  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request, act_out, datasets  # noqa: E402

FORECAST, GROUNDING = "hand_trajectory_forecast", "caption_grounding"
LABELLED = ("timeline_action", "contact_prediction", "object_relevance", "temporal_order")
ANSWERED = (*LABELLED, FORECAST, GROUNDING)
FRAMES, EPISODES = 240, 4


def recorded(folder, count):
    for number in range(count):
        place = folder / f"session_{number:03d}" / "ep0"
        place.mkdir(parents=True)
        request = Request(5, number, FRAMES, 16, False)
        with h5py.File(place / "annotation.hdf5", "w") as file:
            for name, values in datasets(request, act_out(request)).items():
                file[name] = values
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The annotation of four episodes, without depth and videos."""
    return recorded(tmp_path_factory.mktemp("episodes"), EPISODES)


@pytest.fixture(scope="module")
def answers(data, tmp_path_factory):
    """What two baselines answered, as a table and arrays."""
    out = tmp_path_factory.mktemp("runs")
    run = gnomon.run("episode", episodes=(str(data),), systems=("random",), tasks=ANSWERED, out=str(out)).runs[0]
    kept = run.table.filter(pc.is_in(run.table["task"], pa.array(LABELLED)))
    labels = kept.select(["task", "sample", "prediction"]).rename_columns(["task", "sample", "label"])
    arrays = {}
    for task in (FORECAST, GROUNDING):
        with np.load(run.path / f"{task}.npz") as file:
            arrays[task] = {name: file[name] for name in file.files}
    return labels, arrays


def episodes_of(samples):
    return np.array(["/".join(name.split("/")[:2]) for name in samples])


def plain(folder, answers):
    labels, arrays = answers
    folder.mkdir()
    pq.write_table(labels, folder / "labels.parquet")
    for task, held in arrays.items():
        np.savez(folder / f"{task}.npz", **held)
    return folder


def sharded(folder, answers, count):
    """Deal episodes to shards; with many, every task of every episode has a shard of its own."""
    labels, arrays = answers
    (folder / "labels").mkdir(parents=True)
    (folder / FORECAST).mkdir()
    episode = episodes_of(labels["sample"].to_pylist())
    names = sorted(set(episode))
    shard = np.array([names.index(name) % count for name in episode])
    keys = [(f"s{k}", shard == k) for k in range(count)]
    if count > len(names):
        task = np.array(labels["task"].to_pylist())
        keys = [(f"{t}-{i}", (task == t) & (episode == n)) for t in LABELLED for i, n in enumerate(names)]
    for name, own in keys:
        if own.any():
            pq.write_table(labels.filter(pa.array(own)), folder / "labels" / f"{name}.parquet")
    held = arrays[FORECAST]
    episode = episodes_of(held["samples"].tolist())
    for k in range(min(count, len(names))):
        own = np.isin(episode, names[k::count])
        np.savez(folder / FORECAST / f"s{k}.npz", samples=held["samples"][own][::-1], values=held["values"][own][::-1])
    np.savez(folder / f"{GROUNDING}.npz", **arrays[GROUNDING])
    return folder


def values(result):
    return {run.system: [score.record() for score in run.scores] for run in result.runs}


@pytest.fixture(scope="module")
def whole(data, answers, tmp_path_factory):
    folder = plain(tmp_path_factory.mktemp("whole") / "mine", answers)
    out = tmp_path_factory.mktemp("wholeruns")
    return gnomon.score("episode", (str(data),), str(folder), out=str(out))


@pytest.mark.parametrize(("count", "executor"), [(1, "inline"), (3, "processes"), (100, "inline")])
def test_shards_score_as_files(data, answers, whole, tmp_path, count, executor):
    folder = sharded(tmp_path / "mine", answers, count)
    options = {"executor": executor, "workers": 2, "out": str(tmp_path / "runs")}
    found = gnomon.score("episode", (str(data),), str(folder), **options)
    assert values(found) == values(whole)
    assert found.complete
    own, other = found.runs[0], whole.runs[0]
    assert own.manifest["data_fingerprint"] == other.manifest["data_fingerprint"]
    assert own.manifest["facts"]["tasks"] == other.manifest["facts"]["tasks"]
    assert {f.id for f in own.findings} == {f.id for f in other.findings}
    assert own.coverage["samples"] == other.coverage["samples"]
    for name in ("confusion.csv", "per_class.csv", exhibits.NAME):
        assert (own.path / name).read_bytes() == (other.path / name).read_bytes()
    known = ["task", "sample", "episode", "segment", "truth", "value"]
    tables = [pq.read_table(run.path / "predictions.parquet", columns=known) for run in (own, other)]
    assert tables[0].equals(tables[1])
    assert len(exhibits.listed(own.path).entries) == EPISODES
    assert all(check.passed for check in verify(own.path))


def test_what_reads_as_training_does_is_left_out_of_shards_as_of_files(data, answers, tmp_path):
    """In ``published`` test windows share frames with training ones; a shard has all kinds of tasks."""
    options = {"variant": "published", "missing": "wrong", "tasks": ("timeline_action", "contact_prediction", FORECAST)}
    run = gnomon.run(
        "episode", episodes=(str(data),), systems=("random",), tasks=options["tasks"], variant="published", out="none"
    ).runs[0]
    labels = run.table.filter(pc.not_equal(run.table["task"], FORECAST))
    labels = labels.select(["task", "sample", "prediction"]).rename_columns(["task", "sample", "label"])
    with np.load(io.BytesIO(run.files[f"{FORECAST}.npz"])) as file:
        arrays = {FORECAST: {name: file[name] for name in file.files}, GROUNDING: answers[1][GROUNDING]}
    made = {}
    for name, write in (("one", plain), ("two", lambda *given: sharded(*given, 3))):
        folder = write(tmp_path / name, (labels, arrays))
        (folder / f"{GROUNDING}.npz").unlink()
        made[name] = gnomon.score("episode", (str(data),), {"mine": str(folder)}, **options)
    assert values(made["one"]) == values(made["two"])
    one, two = (found.runs[0].manifest["facts"]["tasks"] for found in made.values())
    assert one == two
    assert all(own["without_overlap"]["left_out"] > 0 for own in one.values())


def test_vectors_for_a_task_of_labels_fail_alone(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 2)
    (folder / f"{GROUNDING}.npz").unlink()
    (folder / "timeline_action").mkdir()
    shutil.copy(folder / FORECAST / "s0.npz", folder / "timeline_action" / "a.npz")
    (run,) = gnomon.score("episode", (str(data),), str(folder), out=str(tmp_path / "runs")).runs
    (lost,) = run.coverage["cells"]["missing"]
    assert lost["cell"] == "mine: timeline_action/a"
    assert "timeline_action is answered by labels, not by vectors; give them in labels.csv" in lost["why"]


def test_a_task_whose_shards_all_fail_is_not_said_to_be_that_of_others(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 1)
    (folder / f"{GROUNDING}.npz").unlink()
    path = folder / FORECAST / "s0.npz"
    with np.load(path) as file:
        held = {name: file[name] for name in file.files}
    np.savez(path, samples=held["samples"], values=np.full_like(held["values"], np.nan))
    (run,) = gnomon.score("episode", (str(data),), str(folder), out=str(tmp_path / "runs")).runs
    assert "values that are not finite" in run.coverage["cells"]["missing"][0]["why"]
    assert "tasks-not-answered" not in {finding.id for finding in run.findings}


def test_an_episode_that_is_gone_once_it_was_scored_makes_the_run_partial(data, answers, tmp_path, monkeypatch):
    folder = sharded(tmp_path / "mine", answers, EPISODES)
    (folder / f"{GROUNDING}.npz").unlink()
    options = {"executor": "inline", "out": str(tmp_path / "runs")}
    gnomon.score("episode", (str(data),), str(folder), **options)
    inner = scoring.Episodes.folders

    def without(self, store, episode):
        found = inner(self, store, episode)
        return dict.fromkeys(found, tmp_path / "gone") if episode == "session_002/ep0" else found

    monkeypatch.setattr(scoring.Episodes, "folders", without)
    (run,) = gnomon.score("episode", (str(data),), str(folder), **options).runs
    missing = run.coverage["cells"]["missing"]
    assert [one["cell"] for one in missing] == ["mine: labels/s2", f"mine: {FORECAST}/s2"]
    assert "episode session_002/ep0: it could not be read, though it was scored before" in missing[0]["why"]


def test_whole_episodes_under_test(data, answers, tmp_path):
    names = ["session_001/ep0", "session_003/ep0"]
    options = {"split": "episode_disjoint", "test_episodes": names, "tasks": LABELLED, "missing": "wrong"}
    labels = answers[0].filter(pa.array(np.isin(episodes_of(answers[0]["sample"].to_pylist()), names)))
    kept = [task != "object_relevance" for task in labels["task"].to_pylist()]
    options["tasks"] = [task for task in LABELLED if task != "object_relevance"]
    labels = labels.filter(pa.array(kept))
    (tmp_path / "mine" / "labels").mkdir(parents=True)
    episode = episodes_of(labels["sample"].to_pylist())
    for name in names:
        path = tmp_path / "mine" / "labels" / f"{name.partition('/')[0]}.parquet"
        pq.write_table(labels.filter(pa.array(episode == name)), path)
    pq.write_table(labels, tmp_path / "one.parquet")
    found = gnomon.score("episode", (str(data),), str(tmp_path / "mine"), **options)
    assert values(found) == values(
        gnomon.score("episode", (str(data),), {"mine": str(tmp_path / "one.parquet")}, **options)
    )


def test_an_episode_without_answers(data, answers, tmp_path):
    labels = answers[0].filter(pc.not_equal(answers[0]["task"], "object_relevance"))
    folder = tmp_path / "mine" / "labels"
    folder.mkdir(parents=True)
    episode = episodes_of(labels["sample"].to_pylist())
    for name in sorted(set(episode))[1:]:
        pq.write_table(labels.filter(pa.array(episode == name)), folder / f"{name.partition('/')[0]}.parquet")
    pq.write_table(labels.filter(pa.array(episode != sorted(set(episode))[0])), tmp_path / "one.parquet")
    with pytest.raises(InputError, match=r"no answers to 'timeline_action of session_000/ep0'.*--missing wrong"):
        gnomon.score("episode", (str(data),), str(tmp_path / "mine"))
    found = gnomon.score("episode", (str(data),), str(tmp_path / "mine"), missing="wrong")
    one = gnomon.score("episode", (str(data),), {"mine": str(tmp_path / "one.parquet")}, missing="wrong")
    assert values(found) == values(one)
    assert found.runs[0].coverage["samples"] == one.runs[0].coverage["samples"]


def emptied(path, how):
    """Write a shard that answers nothing."""
    if how == "parquet":
        pq.write_table(pa.table({name: pa.array([], pa.string()) for name in ("task", "sample", "label")}), path)
    elif how == "csv":
        path.write_text("task,sample,label\n")
    else:
        samples = np.array([], dtype="U1" if how == "text" else np.float64)
        np.savez(path, samples=samples, values=np.zeros((0, 1260) if how == "text" else 0))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("labels/part-9.parquet", "parquet"),
        ("labels/part-9.csv", "csv"),
        (f"{FORECAST}/part-9.npz", "text"),
        (f"{FORECAST}/part-9.npz", "numbers"),
    ],
)
def test_an_empty_shard_answers_nothing(data, answers, tmp_path, name, how):
    folder = sharded(tmp_path / "mine", answers, 1)
    (folder / f"{GROUNDING}.npz").unlink()
    options = {"executor": "inline", "out": str(tmp_path / "runs"), "exhibits": 0}
    without = gnomon.score("episode", (str(data),), str(folder), **options)
    emptied(folder / name, how)
    found = gnomon.score("episode", (str(data),), str(folder), **options)
    assert found.complete
    assert values(found) == values(without)
    assert found.runs[0].coverage["shards"] == {"given": 3, "scored": 3}
    assert found.runs[0].coverage["samples"] == without.runs[0].coverage["samples"]


def test_what_only_empty_shards_answer_is_missing(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 1)
    (folder / f"{GROUNDING}.npz").unlink()
    emptied(folder / FORECAST / "s0.npz", "text")
    with pytest.raises(InputError, match=rf"no answers to '{FORECAST} of session_000/ep0'.*; add them$"):
        gnomon.score("episode", (str(data),), str(folder))
    shutil.rmtree(folder / FORECAST)
    emptied(folder / "labels" / "s0.parquet", "parquet")
    with pytest.raises(InputError, match=r"mine: no answers: expected rows in a table of labels, or arrays"):
        gnomon.score("episode", (str(data),), str(folder))


def test_an_empty_shard_has_the_columns_of_others(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 1)
    (folder / f"{GROUNDING}.npz").unlink()
    (folder / "labels" / "odd.csv").write_text("task,sample\n")
    (run,) = gnomon.score("episode", (str(data),), str(folder), out=str(tmp_path / "runs")).runs
    assert "no column 'label'" in run.coverage["cells"]["missing"][0]["why"]


@pytest.mark.parametrize(
    ("missing", "lost", "said"),
    [
        ("error", ("labels", FORECAST), "add them, or choose --missing wrong where answers are labels"),
        ("error", ("labels",), "add them, or choose --missing wrong"),
        ("error", (FORECAST,), "add them"),
        ("wrong", (FORECAST,), "add them"),
    ],
)
def test_what_is_offered_for_missing_answers_can_help(data, answers, tmp_path, missing, lost, said):
    folder = sharded(tmp_path / "mine", answers, EPISODES)
    (folder / f"{GROUNDING}.npz").unlink()
    for name in lost:
        next((folder / name).glob("s1.*")).unlink()
    with pytest.raises(InputError, match=rf"no answers to .* of session_001/ep0'.*; {said}$"):
        gnomon.score("episode", (str(data),), str(folder), missing=missing)


def test_a_folder_of_shards_that_is_no_task_is_refused(data, answers, tmp_path, capsys):
    folder = sharded(tmp_path / "mine", answers, 1)
    (folder / FORECAST).rename(folder / "hand_forecast")
    (folder / ".DS_Store").touch()
    with pytest.raises(SystemExit, match="2"):
        main(["score", "episode", "--truth", str(data), "--predictions", str(folder)])
    assert f"hand_forecast: no task 'hand_forecast'; did you mean '{FORECAST}'?" in capsys.readouterr().err


def test_what_cannot_be_scored_in_shards_is_said(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 2)
    (folder / GROUNDING).mkdir()
    shutil.move(folder / f"{GROUNDING}.npz", folder / GROUNDING / "a.npz")
    with pytest.raises(InputError, match=rf"ranks every answer among all others.*give {GROUNDING}\.npz"):
        gnomon.score("episode", (str(data),), str(folder))
    shutil.rmtree(folder / GROUNDING)
    shutil.copy(folder / "labels" / "s0.parquet", folder / "labels" / "again.parquet")
    with pytest.raises(InputError, match=r"session_000/ep0 is in the shards 'labels/again' and 'labels/s0'"):
        gnomon.score("episode", (str(data),), str(folder))
    strange = pa.table({"task": ["timeline_action"], "sample": ["elsewhere/ep9/0"], "label": ["x"]})
    pq.write_table(strange, folder / "labels" / "again.parquet")
    with pytest.raises(InputError, match=r"samples of episodes that are not in the truth: 'elsewhere/ep9/0'"):
        gnomon.score("episode", (str(data),), str(folder))
    (folder / "labels" / "again.parquet").unlink()
    pq.write_table(answers[0], folder / "labels.parquet")
    with pytest.raises(InputError, match="both a file and a folder of 'labels'"):
        gnomon.score("episode", (str(data),), str(folder))


@pytest.mark.parametrize("what", ["labels", "vectors", "shape", "episode"])
def test_what_is_broken_fails_alone_and_is_done_once_it_is_mended(data, answers, whole, tmp_path, what, capsys):
    data = shutil.copytree(data, tmp_path / "data")
    folder = sharded(tmp_path / "mine", answers, EPISODES)
    (folder / f"{GROUNDING}.npz").unlink()
    path = {
        "labels": folder / "labels" / "s2.parquet",
        "vectors": folder / FORECAST / "s2.npz",
        "shape": folder / FORECAST / "s2.npz",
        "episode": data / "session_002" / "ep0" / "annotation.hdf5",
    }[what]
    held = path.read_bytes()
    if what == "shape":
        with np.load(path) as file:
            np.savez(path, samples=file["samples"], values=file["values"][:, :7])
    else:
        path.write_bytes(held[: len(held) // 2])
    command = ["score", "episode", "--truth", str(data), "--predictions", str(folder), "--out", str(tmp_path / "runs")]
    with pytest.raises(SystemExit, match="1"):
        main(command)
    lost = 2 if what == "episode" else 1
    assert f"partial: {8 - lost} of 8 cells" in capsys.readouterr().out
    (run,) = [p for p in (tmp_path / "runs").iterdir() if (p / "coverage.json").is_file()]
    coverage = json.loads((run / "coverage.json").read_text())
    assert not coverage["complete"]
    missing = coverage["cells"]["missing"]
    assert len(missing) == lost
    assert all("s2" in one["cell"] for one in missing)
    assert path.name in missing[0]["why"] or "session_002" in missing[0]["why"]
    path.write_bytes(held)
    with pytest.raises(SystemExit, match="0"):
        main(command)
    log = (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in log]
    again = [one["name"] for one in events if one["event"] == "found" and one["name"].startswith("mine: ")]
    assert len(again) == 8 - lost
    (complete,) = [p for p in (tmp_path / "runs").iterdir() if p != run and (p / "coverage.json").is_file()]
    mine = {s["name"]: s for s in values(gnomon.load(complete))["mine"]}
    expected = {s["name"]: s for s in values(whole)["mine"] if GROUNDING not in s["name"]}
    assert mine == expected


def test_systems_in_shards_are_compared(data, answers, tmp_path):
    one = sharded(tmp_path / "one", answers, 2)
    two = plain(tmp_path / "two", answers)
    found = gnomon.score("episode", (str(data),), (str(one), str(two)), out=str(tmp_path / "runs"))
    assert len({run.ground for run in found.runs}) == 1
    assert values(found)["one"] == values(found)["two"]
    assert "timeline action" in str(gnomon.compare(*(run.path for run in found.runs)))


def test_a_shard_that_is_not_what_it_was_is_refused(data, answers, tmp_path):
    folder = sharded(tmp_path / "mine", answers, 1)
    options = ScoreOptions(truth=(str(data),), predictions=(str(folder),))
    plan = scoring.score(options).plan
    node = next(node for node in plan if node.kind == "cell")
    functions = ("gnomon.engine.scoring:tally_chunk", "gnomon.suites.episode.scoring:tally")
    assert node.code == {name: identity_of(name) for name in functions}
    os.utime(node.context["paths"][1], (1, 1))
    with pytest.raises(InputError, match="not what it was when the command began"):
        engine.tally_chunk({**node.arguments, **node.context}, {}, tmp_path)


def test_one_episode_is_held_at_a_time(data, answers, whole, tmp_path, monkeypatch):
    """Every episode is let go before the next is read, also where a task ranks answers among those of all episodes."""
    read, others = [], []
    inner = cells.read

    def watched(*folders):
        others.append(sum(one() is not None for one in read))
        found = inner(*folders)
        read.append(weakref.ref(found))
        return found

    monkeypatch.setattr(cells, "read", watched)
    counted, alive = [], []
    samples = scoring.Episodes.samples

    def built(self, store, episode):
        alive.append(sum(one() is not None for one in counted))
        found = samples(self, store, episode)
        counted.extend(weakref.ref(one) for one in found.values())
        return found

    monkeypatch.setattr(scoring.Episodes, "samples", built)
    folder = sharded(tmp_path / "mine", answers, 1)
    options = {"executor": "inline", "out": str(tmp_path / "runs"), "exhibits": 0}
    found = gnomon.score("episode", (str(data),), str(folder), **options)
    assert values(found) == values(whole)
    assert len(read) == EPISODES * len(["labels", FORECAST])  # once for all tasks of a shard
    assert not any(others)
    assert len(alive) == EPISODES  # once where the run is put together
    assert not any(alive)


@pytest.mark.slow
def test_memory_is_that_of_one_shard(tmp_path, monkeypatch):
    """Four times the vectors in four times the shards; vectors that are wider than what is kept of them."""
    peaks = []
    for count in (2, 8):
        data = recorded(tmp_path / f"data{count}", count)
        done = gnomon.run("episode", episodes=(str(data),), systems=("random",), tasks=(FORECAST,), out=str(data / "r"))
        with np.load(done.runs[0].path / f"{FORECAST}.npz") as file:
            samples = file["samples"]
        folder = tmp_path / f"mine{count}" / FORECAST
        folder.mkdir(parents=True)
        shutil.rmtree(data / "r")
        episode = episodes_of(samples.tolist())
        for name in sorted(set(episode)):
            own = samples[episode == name]
            values = np.random.default_rng(0).normal(size=(len(own), 1260))
            np.savez(folder / f"{name.partition('/')[0]}.npz", samples=own, values=values)
        inner = engine.tally_chunk

        def watched(arguments, needs, out, inner=inner):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            inner(arguments, needs, out)
            peaks[-1] = max(peaks[-1], tracemalloc.get_traced_memory()[1] - before)

        monkeypatch.setattr(engine, "tally_chunk", watched)
        peaks.append(0)
        tracemalloc.start()
        gnomon.score("episode", (str(data),), str(folder.parent), executor="inline", exhibits=0)
        tracemalloc.stop()
        monkeypatch.setattr(engine, "tally_chunk", inner)
    assert 0 < peaks[1] < 1.3 * peaks[0]
