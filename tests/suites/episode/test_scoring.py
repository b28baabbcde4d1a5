"""Answers made elsewhere: tables and arrays in, scores out. Expected values by scikit-learn, by hand or by counting."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

h5py = pytest.importorskip("h5py")
pytest.importorskip("av")

import gnomon  # noqa: E402
from gnomon.core.errors import InputError  # noqa: E402
from gnomon.intake.sources import Source  # noqa: E402
from gnomon.intake.writing import write_table  # noqa: E402
from gnomon.suites.episode import cells, measured  # noqa: E402
from gnomon.suites.episode.features import blocks  # noqa: E402
from gnomon.suites.episode.given import read  # noqa: E402
from gnomon.suites.episode.options import ScoreOptions  # noqa: E402
from gnomon.suites.episode.scoring import score  # noqa: E402
from gnomon.suites.episode.simulate import simulate  # noqa: E402
from gnomon.suites.episode.simulate_options import SimulateOptions  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request, act_out, datasets  # noqa: E402
from gnomon.suites.episode.tasks.declared import TASKS  # noqa: E402

SETS = "object_relevance"
FORECAST, GROUNDING = "hand_trajectory_forecast", "caption_grounding"
CLASSES = [name for name, task in TASKS.items() if task.kind in ("label", "binary", "pair")]
ANNOTATED = [*CLASSES, SETS, FORECAST, GROUNDING]
"""Tasks whose targets need neither depth nor videos."""
FRAMES = 300


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The annotation of one episode, without depth and videos."""
    folder = tmp_path_factory.mktemp("episodes")
    place = folder / "session_000" / "ep0"
    place.mkdir(parents=True)
    request = Request(5, 0, FRAMES, 16, False)
    with h5py.File(place / "annotation.hdf5", "w") as file:
        for name, values in datasets(request, act_out(request)).items():
            file[name] = values
    return os.fspath(folder)


@pytest.fixture(scope="module")
def ran(data, tmp_path_factory):
    """Two baselines that answer with labels, sets and vectors, run here, and the folder of the runs."""
    out = tmp_path_factory.mktemp("runs")
    done = gnomon.run(
        "episode", episodes=(data,), systems=("random", "copy_last"), tasks=tuple(ANNOTATED), out=os.fspath(out)
    )
    return {run.system: run for run in done.runs}, out


def exported(run, tasks):
    """Return what a run answered, as a table to score."""
    kept = run.table.filter(pc.is_in(run.table["task"], pa.array(tasks)))
    return kept.select(["task", "sample", "prediction"]).rename_columns(["task", "sample", "label"])


@pytest.fixture(scope="module")
def table(ran):
    """Labels and sets of ``random``."""
    return exported(ran[0]["random"], [*CLASSES, SETS])


@pytest.fixture(scope="module")
def truth(ran):
    """The true classes by task and sample."""
    rows = ran[0]["random"].table.to_pylist()
    return {task: {r["sample"]: r["truth"] for r in rows if r["task"] == task} for task in [*CLASSES, SETS]}


@pytest.fixture(scope="module")
def vectors(ran):
    """What ``random`` answered by vectors, as it lies in the store."""
    found = {}
    for path in (ran[1] / "store").rglob("answers.npz"):
        with np.load(path) as file:
            if file["values"].ndim == 2 and file["values"].dtype.kind == "f":
                wide = file["values"].shape[1]
                found[{1260: FORECAST, 896: GROUNDING}[wide]] = {"samples": file["ids"], "values": file["values"]}
    return found


def of_task(table, task):
    return table.filter(pc.equal(table["task"], task))


def written(table, path):
    write_table(table, path)
    return os.fspath(path)


def scored(data, path, **options):
    return gnomon.score("episode", (data,), {"mine": os.fspath(path)}, **options)


def figures(run, tasks):
    """Return value, count and interval of every score of some tasks."""
    return {
        score.name: (score.value, score.n, score.low, score.high)
        for score in run.scores
        if score.slice == "all" and score.name.partition("[")[2].rstrip("]") in tasks
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("system", ["random", "copy_last"])
def test_what_a_run_answered_has_the_scores_of_the_run(data, ran, tmp_path, system, suffix):
    run = ran[0][system]
    tasks = [task for task in (*CLASSES, SETS) if task in set(run.table["task"].to_pylist())]
    path = written(exported(run, tasks), tmp_path / f"labels{suffix}")
    again = scored(data, path).runs[0]
    assert figures(again, tasks) == figures(run, tasks)
    assert any(value[0] for value in figures(run, tasks).values())


def test_vectors_in_a_folder_have_the_scores_of_the_run_and_stand_on_its_ground(data, ran, table, vectors, tmp_path):
    assert set(vectors) == {FORECAST, GROUNDING}
    write_table(table, tmp_path / "labels.parquet")
    for task, arrays in vectors.items():
        order = np.argsort(arrays["samples"])
        np.savez(tmp_path / f"{task}.npz", samples=arrays["samples"][order], values=arrays["values"][order])
    again = scored(data, tmp_path).runs[0]
    assert figures(again, ANNOTATED) == figures(ran[0]["random"], ANNOTATED)
    assert again.ground == ran[0]["random"].ground
    assert again.manifest["protocol"] == ran[0]["random"].manifest["protocol"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["published", "strict"])
def test_vectors_of_depth_and_video_have_the_scores_of_the_run(tmp_path, variant):
    """Their truth is computed anew: blocks of a whole episode, with gaps."""
    data = os.fspath(tmp_path / "data")
    simulate(SimulateOptions(directory=data, episodes=1, frames=160, videos=16, seed=5))
    tasks = ("cross_modal_retrieval", "modality_reconstruction")
    for task in tasks:
        out = tmp_path / task
        run = gnomon.run("episode", episodes=(data,), systems=("random",), tasks=task, variant=variant, out=out).runs[0]
        (path,) = (out / "store").rglob("answers.npz")
        with np.load(path) as file:
            np.savez(tmp_path / f"{task}.npz", samples=file["ids"], values=file["values"])
        again = scored(data, tmp_path / f"{task}.npz", variant=variant).runs[0]
        assert figures(again, tasks) == figures(run, tasks)
        assert again.ground == run.ground


@pytest.mark.parametrize("task", CLASSES)
def test_scores_of_classes_are_those_of_scikit_learn(data, table, truth, tmp_path, task):
    own = of_task(table, task)
    labels = dict(zip(own["sample"].to_pylist(), own["label"].to_pylist(), strict=True))
    true, said = [*truth[task].values()], [labels[name] for name in truth[task]]
    scores = scored(data, written(own, tmp_path / "labels.csv")).scores["mine"]
    present = f1_score(true, said, labels=sorted(set(true)), average="macro", zero_division=0)
    assert scores[f"accuracy[{task}]"] == pytest.approx(accuracy_score(true, said), abs=1e-12)
    assert scores[f"macro_f1[{task}]"] == pytest.approx(present, abs=1e-12)


def test_a_right_vector_is_perfect_and_a_shift_is_its_own_error(data, vectors, tmp_path):
    """By hand: every joint 3 and 4 centimetres off in x and y is 5 centimetres off."""
    from gnomon.suites.episode import layout
    from gnomon.suites.episode.tasks.sampling import build
    from gnomon.suites.episode.unread import read_truth

    recorded, streams = read_truth(layout.find([data]), "strict", (), tmp_path)
    own = build(TASKS[FORECAST], recorded, "strict")
    test = own.of("test")
    values = own.y(test).reshape(len(test), 10, 42, 3) + np.array([0.03, 0.04, 0], dtype=np.float32)
    path = tmp_path / f"{FORECAST}.npz"
    np.savez(path, samples=np.array(own.ids)[test], values=values.reshape(len(test), -1))
    scores = scored(data, path).scores["mine"]
    assert scores[f"mpjpe[{FORECAST}]"] == pytest.approx(0.05, abs=1e-6)
    assert streams == {}


def test_the_order_of_rows_does_not_matter_and_tables_may_be_in_memory(data, table, vectors, tmp_path):
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    asked = ScoreOptions(truth=(data,), predictions=(written(table, tmp_path / "labels.csv"),))
    first = score(asked)[0]
    frame = {name: shuffled[name].to_pylist() for name in shuffled.column_names}
    for content in (shuffled, frame, shuffled.to_pandas(), {"labels": frame}):
        other = score(replace(asked, predictions=({"mine": content},)))[0]
        assert other.table.equals(first.table)
        assert other.system == "mine"
    arrays = vectors[GROUNDING]
    held = {"samples": arrays["samples"].astype(object), "values": arrays["values"].tolist()}
    other = score(replace(asked, predictions=({"mine": {GROUNDING: held}},)))[0]
    assert other.table["task"].to_pylist() == [GROUNDING] * len(arrays["samples"])
    for wrong in ([[1.0], [1.0, 2.0]], 5, None):
        with pytest.raises(InputError, match=f"<mine in memory>, {GROUNDING}"):
            read(Source("mine", {GROUNDING: {"samples": ["a", "b"], "values": wrong}}))
    with pytest.raises(InputError, match="expected a mapping with samples and values, but got list"):
        read(Source("mine", {GROUNDING: [1.0]}))


def test_nothing_is_claimed_about_training(data, table, tmp_path):
    run = scored(data, written(table, tmp_path / "labels.csv"), out=tmp_path / "runs").runs[0]
    facts = run.manifest["facts"]
    assert (facts["training_metadata"], facts["progress_logs"]) == (0, 0)
    assert run.samples is None
    assert "read-ranges" in run.not_made
    gate = json.loads((run.path / "evaluation_protocol.json").read_bytes())["run"]["gate"]
    lacking = {item["condition"] for item in gate["conditions"] if not item["met"]}
    assert {"training metadata", "progress logs"} <= lacking
    assert "training metadata" in (run.path / "DATA_BLOCKER_REPORT.md").read_text()
    assert {item["name"] for item in run.manifest["inputs"]} == {"session_000/ep0", "mine"}


def test_published_cuts_elsewhere_and_is_another_ground(data, table, tmp_path):
    own = of_task(table, "transition_detection")
    path = written(own, tmp_path / "labels.csv")
    with pytest.raises(InputError, match=r"no label for samples of transition_detection: 'session_000/ep0/20[05]'"):
        scored(data, path, variant="published")
    run = scored(data, path, variant="published", missing="wrong").runs[0]
    assert run.manifest["protocol"]["variant"] == "published"
    assert run.coverage["samples"]["truth"] == 17  # of 57 windows 40 are for training: 70 %, half a window rounds up
    assert run.coverage["samples"]["missing"] == 17 - len(own)


def test_features_are_computed_for_targets_alone(data, table, vectors, tmp_path, monkeypatch):
    asked = []
    compute = cells.features
    monkeypatch.setattr(cells, "features", lambda *given: (asked.append(given[0]["skip"]), compute(*given)))
    np.savez(tmp_path / f"{FORECAST}.npz", **vectors[FORECAST])
    write_table(table, tmp_path / "labels.csv")
    scored(data, tmp_path)
    assert asked == []
    np.savez(tmp_path / f"{GROUNDING}.npz", **vectors[GROUNDING])
    run = scored(data, tmp_path).runs[0]
    assert asked == [[name for name in blocks.NAMES if name != "caption_objects_interaction_text"]]
    held = run.manifest["facts"]["streams"]["session_000/ep0"]
    assert held["coverage"] == {"caption_objects_interaction_text": 1.0}
    assert held["masked"] == {}


def test_missing_labels_may_count_as_wrong(data, table, truth, tmp_path):
    task = "transition_detection"
    right = {"task": [task] * 9, "sample": [*truth[task]][:9], "label": [*truth[task].values()][:9]}
    right["label"][8] = ""
    path = written(pa.table(right), tmp_path / "labels.csv")
    with pytest.raises(InputError, match=r"no label for samples of transition_detection: .*6 in all.*--missing wrong"):
        scored(data, path)
    result = scored(data, path, missing="wrong")
    assert result.scores["mine"][f"accuracy[{task}]"] == 8 / 14
    assert result.runs[0].coverage["samples"] == {"truth": 14, "scored": 14, "missing": 6}
    found = {finding.id: finding.evidence for finding in result.runs[0].findings}
    assert found["missing-predictions"] == "6 samples without a label: counted as wrong"


def test_a_missing_set_is_not_right_where_nothing_is_named(data, table, truth, tmp_path, monkeypatch):
    own = of_task(table, SETS).slice(1)
    path = written(own, tmp_path / "labels.csv")
    result = scored(data, path, missing="wrong")
    assert result.runs[0].coverage["samples"]["missing"] == 1
    built = cells.built

    def emptied(*given):
        found = built(*given)
        return replace(found, sets=tuple(frozenset() for _ in found.sets))

    monkeypatch.setattr(cells, "built", emptied)
    empty = pa.table({name: own[name] for name in ("task", "sample")}).append_column("label", pa.array([""] * len(own)))
    run = scored(data, written(empty, tmp_path / "empty.csv"), missing="wrong").runs[0]
    assert run.find(f"exact_match[{SETS}]").value == len(own) / (len(own) + 1)
    assert "1 of" in run.find(f"micro_f1[{SETS}]").why


def test_a_system_that_answers_nothing_has_no_score(data, table, tmp_path):
    own = of_task(table, "timeline_action")
    silent = own.set_column(own.column_names.index("label"), "label", pa.array([""] * len(own)))
    with pytest.raises(InputError, match="no test sample is answered: nothing can be scored"):
        scored(data, written(silent, tmp_path / "silent.csv"), missing="wrong")


def test_sets_are_written_with_bars(data, truth, tmp_path):
    names = [" | ".join(value.split("|")) for value in truth[SETS].values()]
    given = pa.table({"task": [SETS] * len(names), "sample": [*truth[SETS]], "label": names})
    scores = scored(data, written(given, tmp_path / "labels.csv")).scores["mine"]
    assert scores[f"exact_match[{SETS}]"] == 1.0
    nothing = given.set_column(2, "label", pa.array([""] * len(names)))
    scores = scored(data, written(nothing, tmp_path / "labels.csv")).scores["mine"]
    assert scores[f"micro_f1[{SETS}]"] == 0.0


def test_answers_that_nothing_has_are_named(data, table, tmp_path):
    own = of_task(table, "timeline_action").to_pydict()
    own["label"][0] = "Pick up knif"
    run = scored(data, written(pa.table(own), tmp_path / "labels.csv")).runs[0]
    told = [finding.evidence for finding in run.findings if finding.id == "impossible-answers"]
    assert told == ["timeline_action: answers that no sample of these episodes has: 'Pick up knif'"]


def test_systems_may_answer_different_tasks(data, table, tmp_path):
    paths = {task: written(of_task(table, task), tmp_path / f"{task}.csv") for task in CLASSES[:2]}
    result = gnomon.score("episode", (data,), paths)
    assert result.complete
    for run, other in zip(result.runs, reversed(CLASSES[:2]), strict=True):
        assert any(f.id == "tasks-not-answered" and other in f.evidence for f in run.findings)
        assert result.scores[run.system][f"accuracy[{other}]"] is None
    with pytest.raises(InputError, match=rf"no answers to '{CLASSES[1]}'; add them"):
        gnomon.score("episode", (data,), paths, tasks=tuple(CLASSES[:2]))
    both = scored(data, written(table, tmp_path / "labels.csv"), tasks=CLASSES[0])
    assert list(both.runs[0].manifest["protocol"]["tasks"]) == CLASSES[:1]


def test_a_task_that_is_no_question_is_left_undone(data, tmp_path, ran, table):
    """All sub-tasks of one are the same class: strict takes that for no question, and the work is not complete."""
    short = tmp_path / "session_000" / "ep0"
    short.mkdir(parents=True)
    with h5py.File(short / "annotation.hdf5", "w") as file:
        request = Request(0, 0, FRAMES, 16, False)
        for name, values in datasets(request, act_out(request)).items():
            file[name] = values
    given = of_task(table, "temporal_order")
    one = of_task(table, "timeline_subtask")
    result = scored(tmp_path, written(pa.concat_tables([given, one]), tmp_path / "labels.csv"))
    assert not result.complete
    assert result.scores["mine"]["accuracy[timeline_subtask]"] is None
    assert any(finding.id == "task-not-possible" for finding in result.runs[0].findings)
    with pytest.raises(InputError, match="nothing can be scored: timeline_subtask: all test targets are"):
        scored(tmp_path, written(one, tmp_path / "labels.csv"))


def changed(column, row, value):
    def change(rows):
        rows[column][row] = value
        return rows

    return change


def kept(*columns):
    return lambda rows: {name: rows[name] for name in columns}


def lists(rows):
    return {**rows, "label": [[label] for label in rows["label"]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("task", 3, "timeline"), "no task 'timeline'; there are timeline_action, timeline_subtask"),
        (changed("sample", 2, "session_000/ep0/3"), r"no test samples: 'session_000/ep0/3 \(unknown\)'; expected 14"),
        (changed("sample", 2, "session_000/ep0/0"), r"no test samples: 'session_000/ep0/0 \(train\)'"),
        (changed("sample", 2, "session_000/ep0/185"), r"no test samples: 'session_000/ep0/185 \(purged\)'"),
        (changed("sample", 1, "session_000/ep0/215"), "more than once: 'transition_detection session_000/ep0/215'"),
        (changed("label", 0, "maybe"), "transition_detection: no class 'maybe'; there are 'steady', 'boundary'"),
        (changed("sample", 1, None), "empty 'sample' in row 2; fill in every row"),
        (changed("task", 0, FORECAST), f"{FORECAST} is answered by vectors, not by labels; give {FORECAST}.npz"),
        (kept("task", "label"), "no column 'sample'; expected task, sample, label, but the table has 'task', 'label'"),
        (lists, "column 'label' holds lists; write the names of a set with '|' between"),
        (lambda rows: {name: column[:0] for name, column in rows.items()}, "no answers"),
    ],
)
def test_tables_that_cannot_be_scored(data, table, tmp_path, change, message):
    rows = change(of_task(table, "transition_detection").to_pydict())
    path = written(pa.table(rows), tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=message.replace("|", r"\|") if "lists" in message else message) as told:
        scored(data, path)
    assert path in str(told.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.zeros((13, 1259))}, "expected vectors of 1,260 numbers, but got 1,259"),
        ({"values": np.zeros((12, 1260))}, r"values: expected numbers of shape \(13, d\).*float64 of \(12, 1260\)"),
        ({"values": np.zeros((13, 10, 126))}, r"float64 of \(13, 10, 126\)"),
        ({"values": np.full((13, 1260), np.nan)}, "not finite for samples 'session_000/ep0/210'.*13 in all.*numbers"),
        ({"values": np.full((13, 1260), "x")}, "values: expected numbers"),
        ({"values": np.full((13, 1260), np.longdouble("1e4000"))}, "not finite for samples 'session_000/ep0/210'"),
        ({"samples": np.arange(13)}, r"samples: expected text of shape \(n,\), but got int64 of \(13,\)"),
        ({"samples": np.array(["a"] * 13)}, "more than once: 'a'"),
        ({"values": None}, "no array 'values'; expected samples and values, got 'samples'"),
        ("fewer", "no vector for samples of hand_trajectory_forecast: 'session_000/ep0/210'; add them"),
    ],
)
def test_arrays_that_cannot_be_scored(data, vectors, tmp_path, change, message):
    arrays = {"samples": vectors[FORECAST]["samples"], "values": np.zeros((13, 1260))}
    if change == "fewer":
        change = {name: value[1:] for name, value in arrays.items()}
    arrays = {name: value for name, value in (arrays | change).items() if value is not None}
    np.savez(tmp_path / f"{FORECAST}.npz", **arrays)
    with pytest.raises(InputError, match=message):
        scored(data, tmp_path, missing="wrong")


def test_folders_that_cannot_be_scored(data, table, vectors, tmp_path):
    with pytest.raises(InputError, match=r"expected labels\.csv, \.parquet or \.jsonl, or TASK\.npz in it"):
        scored(data, tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        scored(data, tmp_path / "none.csv")
    np.savez(tmp_path / "captions.npz", **vectors[GROUNDING])
    with pytest.raises(InputError, match=r"captions\.npz: no task 'captions'; there are timeline_action"):
        scored(data, tmp_path)
    (tmp_path / "captions.npz").rename(tmp_path / "next_action.npz")
    with pytest.raises(InputError, match="next_action is answered by labels, not by vectors"):
        scored(data, tmp_path)
    for name in ("labels.csv", "labels.jsonl"):
        write_table(table, tmp_path / name)
    with pytest.raises(InputError, match=r"several tables of labels: 'labels\.csv', 'labels\.jsonl'; keep one"):
        scored(data, tmp_path)


@settings(max_examples=30, deadline=None)
@given(
    told=st.dictionaries(
        st.tuples(st.sampled_from([*CLASSES, SETS]), st.text("ab/01|,\"'é ", min_size=1, max_size=8).map("x".__add__)),
        st.text("cd|,\"'\n ", max_size=8).map("y".__add__),
        min_size=1,
    )
)
def test_what_is_written_is_read(told, tmp_path_factory):
    path = tmp_path_factory.mktemp("told") / "labels.csv"
    columns = [[key[0] for key in told], [key[1] for key in told], [*told.values()]]
    write_table(pa.table(columns, names=["task", "sample", "label"]), path)
    found = read(Source("mine", os.fspath(path)))
    assert {(task, name): label for task, one in found.tasks.items() for name, label in one.labels.items()} == told


def test_the_folder_of_a_run_is_a_folder_of_answers(data, ran):
    """Scored again from its own files, a run gives its own scores."""
    run = next(one for one in gnomon.load(ran[1]).runs if one.manifest["system"] == "random")
    again = gnomon.score("episode", (data,), {"random": os.fspath(run.path)}, out="none").runs[0]
    found = {one.name: one.value for one in again.scores}
    for task in ANNOTATED:
        name = measured.of_task(TASKS[task])[0].name
        assert found[name] == pytest.approx(run.find(name).value, rel=1e-5), name
