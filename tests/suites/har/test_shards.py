"""Folders of shards score as one table does, to the last bit; a broken one fails alone, and mending it ends the work.

Expected values: the same windows given as one table, which other tests hold against scikit-learn.
"""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.runs.verify import verify
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS

DATASETS = ("motionsense", "vtt_coniot", "attic")
OWN = {**TEST_LABELS, "attic": ("juggling", "sitting", "walking", "nordic_walking")}


def drawn(n=300, seed=0, *, form="label"):
    """Windows of three datasets under two metrics, of which one has no list of labels; answers half right."""
    rng = np.random.default_rng(seed)
    datasets = rng.choice(DATASETS, n)
    truth = [str(rng.choice(OWN[name])) for name in datasets]
    people = rng.integers(1, 12, n)
    table = {
        "id": [f"w{i}" for i in range(n)],
        "dataset": datasets.tolist(),
        "task": rng.choice(["zs-closed", "sup-1"], n).tolist(),
        "label": truth,
        "subject": [f"{p}" for p in people],
        "recording": [f"r{p}-{i % 3}" for i, p in enumerate(people)],
    }
    keys = {name: table[name] for name in ("id", "dataset", "task")}
    if form == "label":
        said = [t if rng.random() < 0.5 else str(rng.choice(LABELS)) for t in truth]
        return table, {**keys, "label": said, "n_train": [7] * n}
    names = [*LABELS[::5], "walking", "sitting"]
    scores = rng.normal(size=(n, len(names))).astype(np.float32)
    return table, {**keys, **{f"score:{name}": scores[:, i] for i, name in enumerate(dict.fromkeys(names))}}


def write(folder, table, rows, suffix="parquet"):
    folder.mkdir(parents=True, exist_ok=True)
    for number, own in enumerate(rows):
        part = pa.table(table).take(pa.array(own, pa.int64()))
        path = folder / f"part-{number}.{suffix}"
        if suffix == "parquet":
            pq.write_table(part, path)
        else:
            pa.csv.write_csv(part, path)
    return str(folder)


def shares(n, count, seed=1):
    """Deal rows to shards: rows of one recording are in several of them."""
    rng = np.random.default_rng(seed)
    return [np.flatnonzero(own) for own in (rng.integers(0, count, n)[None] == np.arange(count)[:, None])]


def values(result):
    return {run.system: [score.record() for score in run.scores] for run in result.runs}


@pytest.fixture
def folders(tmp_path):
    truth, given = drawn()
    rows = shares(300, 5)
    return write(tmp_path / "truth", truth, rows), write(tmp_path / "mine", given, rows)


@pytest.mark.parametrize("form", ["label", "score"])
@pytest.mark.parametrize(("count", "executor"), [(1, "inline"), (3, "processes"), (40, "inline")])
def test_shards_score_as_one_table(tmp_path, form, count, executor):
    truth, given = drawn(form=form)
    whole = gnomon.score("har", truth, {"mine": given})
    rows = shares(300, count)
    found = gnomon.score(
        "har",
        write(tmp_path / "truth", truth, rows),
        write(tmp_path / "mine", given, rows),
        executor=executor,
        workers=2,
    )
    assert values(found) == values(whole)
    assert found.complete
    own, other = (one.runs[0].manifest["facts"] for one in (found, whole))
    assert own["tasks"] == other["tasks"]
    assert own["coverage"] == other["coverage"]
    assert {(f.id, f.evidence) for f in found.runs[0].findings} == {(f.id, f.evidence) for f in whole.runs[0].findings}


@settings(max_examples=8)
@given(st.integers(0, 1000), st.integers(1, 9), st.sampled_from(["wrong", "skip"]))
def test_any_deal_of_rows_scores_alike(tmp_path_factory, seed, count, missing):
    folder = tmp_path_factory.mktemp("har")
    truth, given = drawn(60, seed)
    rows = shares(60, count, seed)
    kept = {name: column[10:] for name, column in given.items()}
    own = [part[part >= 10] - 10 for part in rows]
    whole = gnomon.score("har", truth, {"mine": kept}, missing=missing)
    used = [part for part in rows if len(part)]
    found = gnomon.score(
        "har",
        write(folder / "truth", truth, used),
        write(folder / "mine", kept, [part for part, all_ in zip(own, rows, strict=True) if len(all_)]),
        missing=missing,
    )
    assert values(found) == values(whole)
    assert not found.complete or missing == "wrong"


def test_a_shard_without_predictions_counts_as_wrong_or_is_left_out(folders, tmp_path):
    truth, given = drawn()
    lost = set(shares(300, 5)[2].tolist())
    kept = {name: [value for row, value in enumerate(column) if row not in lost] for name, column in given.items()}
    (tmp_path / "mine" / "part-2.parquet").unlink()
    with pytest.raises(InputError, match=r"no predictions for shards of the truth: 'part-2'; add them, or choose"):
        gnomon.score("har", *folders)
    for missing in ("wrong", "skip"):
        found = gnomon.score("har", *folders, missing=missing)
        assert values(found) == values(gnomon.score("har", truth, {"mine": kept}, missing=missing))
        left = {"scored": 4, "skipped": ["part-2"]} if missing == "skip" else {"scored": 5}
        assert found.runs[0].coverage["shards"] == {"truth": 5, "without predictions": 1, **left}
        stored = gnomon.score("har", *folders, missing=missing, out=str(tmp_path / missing))
        assert all(check.passed for check in verify(stored.runs[0].path))


def test_shards_that_the_truth_does_not_have_are_named(folders, tmp_path):
    (tmp_path / "truth" / "part-4.parquet").unlink()
    with pytest.raises(InputError, match=r"shards that the truth does not have: 'part-4'; remove them$"):
        gnomon.score("har", *folders)


def test_a_folder_beside_a_table_is_refused(folders):
    with pytest.raises(InputError, match="mine: a folder of shards, but the truth is none; give both as files, or"):
        gnomon.score("har", drawn()[0], folders[1])
    with pytest.raises(InputError, match="expected a folder of shards"):
        gnomon.score("har", folders[0], drawn()[1])


def damaged(path, how):
    held = path.read_bytes()
    if how == "truncated":
        path.write_bytes(held[: len(held) // 2])
    elif how == "flipped":
        path.write_bytes(held[:-6] + bytes([held[-6] ^ 0x55]) + held[-5:])
    else:
        pq.write_table(pq.read_table(path).drop_columns(["id"]), path)
    return held


@pytest.mark.parametrize("side", ["truth", "mine"])
@pytest.mark.parametrize("how", ["truncated", "flipped", "other columns"])
def test_a_corrupt_shard_fails_alone_and_is_done_once_it_is_mended(folders, tmp_path, side, how, capsys):
    path = tmp_path / side / "part-1.parquet"
    held = damaged(path, how)
    out = str(tmp_path / "runs")
    command = ["score", "har", "--truth", folders[0], "--predictions", folders[1], "--out", out]
    with pytest.raises(SystemExit, match="1"):
        main(command)
    assert "partial: 4 of 5 cells" in capsys.readouterr().out
    (run,) = [p for p in (tmp_path / "runs").iterdir() if (p / "coverage.json").is_file()]
    coverage = json.loads((run / "coverage.json").read_text())
    assert not coverage["complete"]
    assert coverage["cells"]["done"] == coverage["shards"]["scored"] == 4
    (missing,) = coverage["cells"]["missing"]
    assert missing["cell"] == "mine: part-1"
    assert "part-1.parquet" in missing["why"]
    path.write_bytes(held)
    with pytest.raises(SystemExit, match="0"):
        main(command)
    log = (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in log]
    assert sum(event.get("event") == "found" for event in events) == 4
    complete = [gnomon.load(p) for p in (tmp_path / "runs").iterdir() if p.name != "store" and p.is_dir() and p != run]
    truth, given = drawn()
    assert values(complete[0]) == values(gnomon.score("har", truth, {"mine": given}))


def test_a_shard_with_metrics_among_others_without(tmp_path):
    truth, given = drawn()
    rows = shares(300, 3)
    folder = write(tmp_path / "truth", truth, rows)
    pq.write_table(pa.table(truth).take(rows[2]).drop_columns(["task"]), tmp_path / "truth" / "part-2.parquet")
    found = gnomon.score("har", folder, write(tmp_path / "mine", given, rows))
    (missing,) = found.runs[0].coverage["cells"]["missing"]
    assert "no column 'task', which other shards of the truth have" in missing["why"]


def test_n_train_is_the_same_in_all_shards(tmp_path):
    truth, given = drawn()
    rows = shares(300, 3)
    given["n_train"] = np.where(np.isin(np.arange(300), rows[1]), 8, 7).tolist()
    with pytest.raises(InputError, match="'n_train' is not the same in all shards"):
        gnomon.score("har", write(tmp_path / "truth", truth, rows), write(tmp_path / "mine", given, rows))


def test_runs_of_shards_are_verified_compared_and_exported(folders, tmp_path):
    truth, _ = drawn()
    other = write(tmp_path / "other", {**drawn()[1], "label": truth["label"]}, shares(300, 5))
    result = gnomon.score(
        "har", folders[0], (folders[1], other), out=str(tmp_path / "runs"), export_baseline=str(tmp_path / "json")
    )
    assert all(check.passed for run in result.runs for check in verify(run.path))
    assert "accuracy" in str(gnomon.compare(*(run.path for run in result.runs)))
    assert sorted(p.name for p in (tmp_path / "json").iterdir()) == ["mine_evaluation.json", "other_evaluation.json"]


def test_main_may_name_a_dataset_that_only_a_broken_shard_has(tmp_path):
    truth, given = drawn()
    rows = [np.flatnonzero(np.array(truth["dataset"]) == name) for name in DATASETS]
    folders = write(tmp_path / "truth", truth, rows), write(tmp_path / "mine", given, rows)
    damaged(tmp_path / "mine" / "part-2.parquet", "truncated")
    found = gnomon.score("har", *folders, main=("attic", "motionsense"))
    score = found.runs[0].find("accuracy[sup-1]")
    assert score.value is None
    assert "attic" in score.why
    with pytest.raises(InputError, match="no dataset 'cellar' in the truth"):
        gnomon.score("har", str(tmp_path / "truth"), write(tmp_path / "mine", given, rows), main=("cellar",))


@pytest.mark.slow
def test_memory_is_that_of_one_shard(tmp_path):
    """Four times the windows in four times the shards; the bound is less than what holding them twice would take."""
    peaks = []
    for count in (6, 24):
        n = 2000 * count
        truth, given = drawn(n)
        rows = np.array_split(np.arange(n), count)
        folders = write(tmp_path / f"t{count}", truth, rows), write(tmp_path / f"p{count}", given, rows)
        gnomon.score("har", *folders, executor="inline", interval="none")
        tracemalloc.start()
        gnomon.score("har", *folders, executor="inline", interval="none")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_a_window_in_two_shards_is_refused(tmp_path):
    truth, said = drawn(60)
    for side, table in (("truth", truth), ("said", said)):
        write(tmp_path / side, table, [range(30), range(30, 60), range(10, 12)])
    with pytest.raises(
        InputError, match=r"the id '.* w1[01]' is in more than one shard of the truth: 'part-0', 'part-"
    ):
        gnomon.score("har", str(tmp_path / "truth"), {"mine": str(tmp_path / "said")}, out="none")


def test_a_table_that_is_none_of_windows_fails_alone(tmp_path):
    truth, said = drawn(60)
    for side, table in (("truth", truth), ("said", said)):
        write(tmp_path / side, table, [range(30), range(30, 60)])
        (tmp_path / side / "notes.csv").write_text("who,what\nme,nothing\n")
    run = gnomon.score("har", str(tmp_path / "truth"), {"mine": str(tmp_path / "said")}, out="none").runs[0]
    assert run.coverage["windows"]["scored"] == 60
    assert not run.coverage["complete"]
    assert [lost["cell"] for lost in run.coverage["cells"]["missing"]] == ["mine: notes"]


def test_every_kind_of_table_is_a_shard(tmp_path):
    """A shard of lines of JSON, called by another suffix or in capitals, was once left out without a word."""
    truth, said = drawn(60)
    for side, table in (("truth", truth), ("said", said)):
        write(tmp_path / side, table, [range(30), range(30, 60)])
        held = pq.read_table(tmp_path / side / "part-1.parquet").to_pylist()
        (tmp_path / side / "part-1.parquet").unlink()
        (tmp_path / side / "part-1.NDJSON").write_text("".join(json.dumps(row) + "\n" for row in held))
    run = gnomon.score("har", str(tmp_path / "truth"), {"mine": str(tmp_path / "said")}, out="none").runs[0]
    assert run.coverage["windows"]["scored"] == 60


def test_a_shard_without_windows_holds_nothing(tmp_path):
    truth, said = drawn(60)
    sides = [write(tmp_path / side, table, [range(60), []]) for side, table in (("t", truth), ("mine", said))]
    found = gnomon.score("har", sides[0], sides[1], out="none")
    assert found.complete
    assert values(found) == values(gnomon.score("har", truth, {"mine": said}))
    lone = write(tmp_path / "lone", truth, [[]]), write(tmp_path / "none", said, [[]])
    with pytest.raises(InputError, match="no window of the truth has a prediction: nothing can be scored"):
        gnomon.score("har", *lone, out="none")


def test_a_partial_run_is_compared_on_what_both_have(tmp_path):
    """Shards of people, so that a case is in one of them; what is broken takes its people along."""
    truth, said = drawn(90)
    order = sorted(range(90), key=lambda row: truth["subject"][row])
    rows = [order[:45], order[45:]]
    folders = [write(tmp_path / side, table, rows) for side, table in (("t", truth), ("a", said), ("b", said))]
    (tmp_path / "b" / "part-1.parquet").write_bytes(b"broken")
    asked = {"out": str(tmp_path / "runs")}
    runs = gnomon.score("har", folders[0], {"a": tmp_path / "a", "b": tmp_path / "b"}, **asked).runs
    assert runs[0].manifest["data_fingerprint"] == runs[1].manifest["data_fingerprint"]
    assert runs[1].coverage["windows"] == {"truth": 90, "scored": 45, "missing": 45}
    found = gnomon.compare(*runs).tables["comparison"]
    assert found.title.startswith("paired comparison on ")
    assert "not scored by b" in found.notes[0]


def test_windows_that_all_systems_lack_are_left_out_of_the_comparison(tmp_path):
    """One subject has no prediction in either system, and another one has none in 'b'."""
    truth, said = drawn(90)
    subjects = sorted(set(truth["subject"]))
    lacking = {"a": subjects[:1], "b": subjects[:2]}
    systems = {
        name: {
            key: [v for v, who in zip(column, truth["subject"], strict=True) if who not in lost]
            for key, column in said.items()
        }
        for name, lost in lacking.items()
    }
    found = gnomon.score("har", truth, systems, missing="skip").tables["comparison"]
    cases = set(zip(truth["dataset"], truth["subject"], truth["recording"], strict=True))
    shared = [case for case in cases if case[1] not in lacking["b"]]
    assert found.title == f"paired comparison on {len(shared)} of {len(cases)} cases"
    assert sorted(part.rpartition("not scored by ")[2] for part in found.notes[0].split("; ")) in (
        ["a, b", "b"],
        ["b", "b, a"],
    )
