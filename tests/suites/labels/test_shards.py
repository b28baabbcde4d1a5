"""Folders of shards: the same scores as one file, whatever is in which shard; a damaged one fails alone.

Expected values: the same rows scored as one file; for codes, scikit-learn's definitions by counting here.
"""

import itertools
import json
import os
import shutil
import tracemalloc
from contextvars import copy_context
from threading import Event

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.engine.begun import stoppable
from gnomon.engine.scoring import Chunk, Scorer
from gnomon.runs import parts, tables
from gnomon.runs.run import load
from gnomon.suites.labels import scoring
from gnomon.suites.labels.options import ScoreOptions

NAMES = ("sit", "walk", "run")


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    said = np.where(rng.random(n) < 0.7, truth, rng.integers(0, 3, n))
    return {
        "id": [f"i{at}" for at in range(n)],
        "label": [NAMES[code] for code in truth],
        "group": [f"p{at % 7}" for at in range(n)],
        "place": [("hip", "wrist")[at % 2] for at in range(n)],
    }, {"id": [f"i{at}" for at in range(n)], "label": [NAMES[code] for code in said]}


def spread(folder, columns, cuts, write):
    folder.mkdir()
    for at, (first, stop) in enumerate(itertools.pairwise(cuts)):
        write({name: values[first:stop] for name, values in columns.items()}, folder / f"part{at}")


def parquet(columns, path):
    pq.write_table(pa.table(columns), path.with_suffix(".parquet"))


def csv(columns, path):
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")


def values(run):
    return sorted(map(repr, run.scores))


@pytest.mark.parametrize("write", [parquet, csv])
@pytest.mark.parametrize("cuts", [(0, 300), (0, 100, 130, 300), tuple(range(0, 301, 10))])
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_shards_score_as_one_file(tmp_path, write, cuts, executor):
    if executor == "processes" and (write is csv or len(cuts) > 5):
        pytest.skip("one of each is enough")
    truth, said = rows()
    whole = gnomon.score("labels", truth, {"mine": said}, slice=("place",), out="none")
    spread(tmp_path / "truth", truth, cuts, write)
    spread(tmp_path / "said", said, cuts, write)
    asked = {"slice": ("place",), "executor": executor, "out": str(tmp_path / "runs")}
    found = gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"}, **asked)
    assert values(found.runs[0]) == values(whole.runs[0])
    assert found.runs[0].coverage["shards"] == {
        "truth": len(cuts) - 1,
        "scored": len(cuts) - 1,
        "without predictions": 0,
    }
    assert found.runs[0].ledgers["confusion"] == whole.runs[0].ledgers["confusion"]
    assert all(check.passed for check in gnomon.verify(found.runs[0].path))


@pytest.fixture
def codes(tmp_path):
    """Three people with a folder each, two shards of codes in it."""
    rng = np.random.default_rng(3)
    for person in ("anna", "ben", "cara"):
        for side in ("truth", "said"):
            (tmp_path / side / person).mkdir(parents=True)
        for part in range(2):
            truth = rng.integers(0, 3, 4000).astype(np.uint8)
            said = np.where(rng.random(4000) < 0.8, truth, rng.integers(0, 3, 4000)).astype(np.uint8)
            np.save(tmp_path / "truth" / person / f"{part}.npy", truth)
            np.save(tmp_path / "said" / person / f"{part}.npy", said)
    (tmp_path / "truth" / "classes.json").write_text(json.dumps(list(NAMES)))
    return tmp_path


def read_codes(folder):
    columns = {"id": [], "label": [], "group": []}
    for path in sorted(folder.glob("*/*.npy")):
        for at, code in enumerate(np.load(path)):
            columns["id"].append(f"{path.parent.name}/{path.stem}/{at}")
            columns["label"].append(NAMES[code])
            columns["group"].append(path.parent.name)
    return columns


def test_a_shard_without_predictions_that_is_left_out_is_named(codes):
    (codes / "said" / "ben" / "1.npy").unlink()
    asked = {"missing": "skip", "out": codes / "runs"}
    (run,) = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked).runs
    assert not run.complete
    assert run.coverage["shards"] == {"truth": 6, "scored": 5, "without predictions": 1, "skipped": ["ben/1"]}
    assert tables.partial(run) == "partial: 5 of 6 shards; without predictions: 'ben/1'"
    assert all(check.passed for check in gnomon.verify(run.path))


def test_codes_score_as_the_table_that_they_stand_for(codes):
    whole = gnomon.score("labels", read_codes(codes / "truth"), {"mine": read_codes(codes / "said")}, out="none")
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none")
    assert values(found.runs[0]) == values(whole.runs[0])
    assert found.runs[0].ledgers["confusion"] == whole.runs[0].ledgers["confusion"]
    assert found.runs[0].roster.groups == ("anna", "ben", "cara")


def test_codes_without_names_missing_ones_and_an_ignored_one(codes):
    (codes / "truth" / "classes.json").write_text(json.dumps({"classes": ["sit", "walk", "run"], "ignore": 2}))
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none").runs[0]
    truth = np.concatenate([np.load(path) for path in sorted((codes / "truth").glob("*/*.npy"))])
    assert found.coverage["rows"]["scored"] == int((truth != 2).sum())
    (codes / "truth" / "classes.json").unlink()
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none").runs[0]
    assert found.tallies["classification"].axes["class"] == ("0", "1", "2")
    path = codes / "said" / "ben" / "1.npy"
    np.save(path, np.where(np.arange(4000) < 10, -1, np.load(path)).astype(np.int8))
    asked = {"out": "none", "missing": "wrong"}
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked).runs[0]
    assert found.coverage["rows"]["missing"] == 10
    assert found.coverage["complete"]
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked | {"missing": "skip"}).runs[0]
    assert found.coverage["rows"]["scored"] == len(truth) - 10


def test_a_damaged_shard_fails_alone_and_is_done_when_it_is_mended(codes, capsys):
    path = codes / "said" / "ben" / "1.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    command = ["score", "labels", "--truth", str(codes / "truth"), "--predictions", f"mine={codes / 'said'}"]
    command += ["--out", str(codes / "runs")]
    with pytest.raises(SystemExit) as left:
        main(command)
    assert left.value.code == 1
    said = capsys.readouterr()
    assert "ben/1" in said.out + said.err
    run = only(codes / "runs", complete=False)
    cells = run.coverage["cells"]
    assert (cells["total"], cells["done"]) == (6, 5)
    assert "bytes of values, expected 4000" in cells["missing"][0]["why"]
    path.write_bytes(whole)
    with pytest.raises(SystemExit) as left:
        main(command)
    assert left.value.code == 0
    events = [json.loads(line)["event"] for line in (codes / "runs/store/progress.jsonl").read_text().splitlines()]
    second = events[len(events) - events[::-1].index("plan") - 1 :]
    assert (second.count("found"), second.count("done")) == (5, 1)
    expected = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none")
    assert values(only(codes / "runs", complete=True)) == values(expected.runs[0])


def only(folder, complete):
    found = [load(path.parent) for path in folder.glob("labels-*/manifest.json")]
    return next(run for run in found if run.coverage["complete"] is complete)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: shutil.rmtree(f / "said" / "ben"), "no predictions for shards of the truth: 'ben/0', 'ben/1'"),
        (lambda f: shutil.rmtree(f / "truth" / "ben"), "shards that the truth does not have: 'ben/0', 'ben/1'"),
        (lambda f: (f / "truth" / "x.csv").write_text("id,label\n"), "arrays of codes beside tables"),
        (lambda f: (f / "truth" / "classes.json").write_text('["a", "a"]'), "expected a list of distinct names"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_done(codes, change, said):
    change(codes)
    with pytest.raises(InputError, match=said):
        gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none")


def test_a_folder_needs_a_folder_and_codes_have_no_columns(codes):
    with pytest.raises(InputError, match=r"said: a folder of shards, but the truth is none; give both as files, or"):
        gnomon.score("labels", rows()[0], {"mine": codes / "said"}, out="none")
    with pytest.raises(InputError, match="expected a folder of shards"):
        gnomon.score("labels", codes / "truth", {"mine": {"id": ["a"], "label": ["b"]}}, out="none")
    with pytest.raises(InputError, match="arrays of codes have no columns"):
        gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, slice=("x",), out="none")


def test_runs_of_shards_are_compared(codes):
    other = codes / "other"
    shutil.copytree(codes / "said", other)
    np.save(other / "ben" / "0.npy", np.zeros(4000, np.uint8))
    result = gnomon.score("labels", codes / "truth", {"mine": codes / "said", "theirs": other}, out="none")
    assert "comparison" in result.tables


def test_a_shard_without_some_of_the_named_classes_counts_none_of_them(codes):
    for side in ("truth", "said"):
        path = codes / side / "ben" / "1.npy"
        np.save(path, np.minimum(np.load(path), 1))
    whole = gnomon.score("labels", read_codes(codes / "truth"), {"mine": read_codes(codes / "said")}, out="none")
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none")
    assert found.runs[0].coverage["complete"]
    assert values(found.runs[0]) == values(whole.runs[0])
    names = ["sit", "walk", "run", "fly", "swim"]
    (codes / "truth" / "classes.json").write_text(json.dumps({"classes": names, "ignore": 4}))
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none")
    assert found.runs[0].coverage["rows"]["scored"] == 24_000


def test_names_with_dots_are_names(codes):
    """The same arrays under other names: the same counts, of the same classes, without the one to be ignored."""
    (codes / "truth" / "classes.json").write_text(json.dumps({"classes": list(NAMES), "ignore": 2}))
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none").runs[0]
    for path in [*codes.glob("truth/*/*.npy"), *codes.glob("said/*/*.npy")]:
        path.rename(path.with_name(f"scan.{path.name}"))
    dotted = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none").runs[0]
    assert values(dotted) == values(found)
    assert dotted.coverage["rows"] == found.coverage["rows"]


def stamped(folder):
    """Give all files of a folder one time stamp, as archives and reproducible builds do."""
    for path in folder.rglob("*.*"):
        os.utime(path, ns=(10**18, 10**18))


def test_systems_whose_files_have_one_size_and_one_time_stamp_are_told_apart(codes):
    shutil.copytree(codes / "said", codes / "other")
    for path in (codes / "other").rglob("*.npy"):
        np.save(path, 2 - np.load(path))
    stamped(codes)
    asked = {"out": str(codes / "runs")}
    alone = [
        gnomon.score("labels", codes / "truth", {"mine": codes / name}, out="none").runs[0]
        for name in ("said", "other")
    ]
    both = gnomon.score("labels", codes / "truth", {"a": codes / "said", "b": codes / "other"}, **asked).runs
    after = gnomon.score("labels", codes / "truth", {"b": codes / "other"}, **asked).runs
    assert [values(run) for run in both] == [values(run) for run in alone]
    assert values(after[0]) == values(alone[1]) != values(alone[0])


def test_an_id_in_two_shards_is_refused(tmp_path):
    truth, said = rows()
    for name, columns in (("truth", truth), ("said", said)):
        spread(tmp_path / name, columns, (0, 100, 200, 300), parquet)
        shutil.copy(tmp_path / name / "part1.parquet", tmp_path / name / "again.parquet")
    message = r"the id '.*' is in more than one shard of the truth: 'again', 'part1'; give it in one of them"
    with pytest.raises(InputError, match=message):
        gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"}, out="none")


def test_a_group_is_in_all_shards_or_in_none(tmp_path):
    truth, said = rows()
    spread(tmp_path / "truth", truth, (0, 100, 200, 300), parquet)
    spread(tmp_path / "said", said, (0, 100, 200, 300), parquet)
    path = tmp_path / "truth" / "part1.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["group"]), path)
    with pytest.raises(InputError, match=r"shard 'part2' has a column 'group' and 'part1' has none; give it in all"):
        gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"}, out="none")


def test_a_shard_that_changes_before_it_is_read_is_not_scored(codes, monkeypatch):
    made = Scorer._node

    def late(*arguments):
        node = made(*arguments)
        if node.labels["task"] == "ben/1":
            np.save(codes / "said" / "ben" / "1.npy", np.zeros(4001, np.uint8))
        return node

    monkeypatch.setattr(Scorer, "_node", late)
    found = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, out="none").runs[0]
    assert not found.coverage["complete"]
    (lost,) = found.coverage["cells"]["missing"]
    assert "1.npy: not what it was when the command began: 4129 bytes, expected 4128" in lost["why"]


def test_what_other_code_tallied_is_tallied_anew(codes, monkeypatch):
    from gnomon.engine import plan, work

    asked = {"out": str(codes / "runs"), "executor": "inline"}
    gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked)
    stored = len(list((codes / "runs" / "store").rglob("part.npz")))
    gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked)
    assert len(list((codes / "runs" / "store").rglob("part.npz"))) == stored == 6
    for module in (plan, work):
        monkeypatch.setattr(module, "identity_of", lambda function: "other")
    gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, **asked)
    assert len(list((codes / "runs" / "store").rglob("part.npz"))) == 12


def test_arrays_of_codes_may_be_done_side_by_side_and_tables_may_not(tmp_path):
    for side in ("truth", "said"):
        (tmp_path / side / "codes").mkdir(parents=True)
        (tmp_path / side / "rows").mkdir()
        for at in range(2):
            np.save(tmp_path / side / "codes" / f"{at}.npy", np.zeros(5, np.uint8))
            csv({"id": [f"{at}"], "label": ["a"]}, tmp_path / side / "rows" / f"{at}")

    def nodes(kind):
        given = ScoreOptions(truth=str(tmp_path / "truth" / kind), predictions=(str(tmp_path / "said" / kind),))
        return list(scoring.score(given).plan)

    assert [node.threaded for node in nodes("codes")] == [True, True]
    assert [node.threaded for node in nodes("rows")] == [False, False]


def test_counting_ends_where_it_is_asked_to(tmp_path):
    for side in ("t", "p"):
        np.save(tmp_path / f"{side}.npy", np.zeros(5, np.uint8))
    stop, context = Event(), copy_context()
    context.run(stoppable, stop)
    chunk = Chunk("s", str(tmp_path / "t.npy"), str(tmp_path / "p.npy"), {"names": None})
    options = ScoreOptions(truth="", predictions=())
    assert context.run(scoring.tally, chunk, options).facts["rows"]["scored"] == 5
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        context.run(scoring.tally, chunk, options)


def lines(columns, path):
    rows = zip(*columns.values(), strict=True)
    text = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    path.with_suffix(".NDJSON").write_text(text)


def test_every_kind_of_table_is_a_shard_in_any_case(tmp_path):
    """Lines of JSON are called by two suffixes, of which one was once left out without a word."""
    truth, said = rows()
    for side, columns in (("truth", truth), ("said", said)):
        spread(tmp_path / side, columns, (0, 100, 200), parquet)
        lines({name: values[200:] for name, values in columns.items()}, tmp_path / side / "part2")
    (run,) = gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"}).runs
    assert run.coverage["rows"]["scored"] == 300
    assert [finding for finding in run.findings if finding.id == "files-left-alone"] == []


def test_files_that_are_no_shards_are_named(codes):
    (codes / "truth" / "ben" / "2.pkl").touch()
    (codes / "said" / "notes.md").touch()
    (run,) = gnomon.score("labels", codes / "truth", {"mine": codes / "said"}).runs
    (finding,) = [finding for finding in run.findings if finding.id == "files-left-alone"]
    assert finding.severity == "warning"
    assert finding.evidence == "2 files are no shard by the suffix, and not scored: '2.pkl', 'notes.md'"
    assert run.complete


@pytest.mark.parametrize("missing", ["skip", "wrong"])
def test_shards_without_a_single_answer_have_no_score(codes, missing):
    for path in sorted((codes / "said").rglob("*.npy")):
        np.save(path, np.full_like(np.load(path), -1, dtype=np.int8))
    with pytest.raises(InputError, match="no id of the truth has a prediction: nothing can be scored"):
        gnomon.score("labels", codes / "truth", {"mine": codes / "said"}, missing=missing, out=codes / "runs")


@pytest.mark.parametrize("missing", ["skip", "wrong"])
@pytest.mark.parametrize("kind", ["tables", "codes"])
def test_a_shard_without_predictions_scores_as_rows_without(tmp_path, kind, missing):
    """A class that only the missing shard has is a class of the truth all the same."""
    truth, said = rows()
    truth["label"][200:220] = ["rare"] * 20
    classes = sorted(set(truth["label"]))
    for side, columns in (("truth", truth), ("said", said)):
        if kind == "tables":
            spread(tmp_path / side, columns, (0, 100, 200, 300), parquet)
        for at in range(3) if kind == "codes" else ():
            (tmp_path / side / f"p{at}").mkdir(parents=True)
            np.save(
                tmp_path / side / f"p{at}" / "0.npy", [classes.index(x) for x in columns["label"][100 * at :][:100]]
            )
    if kind == "codes":
        (tmp_path / "truth" / "classes.json").write_text(json.dumps(classes))
        truth["group"] = [f"p{at // 100}" for at in range(300)]
    next((tmp_path / "said").glob("p*2*/0.npy" if kind == "codes" else "part2*")).unlink()
    lone = {name: values[:200] for name, values in said.items()}
    whole = gnomon.score("labels", truth, {"mine": lone}, missing=missing).runs[0]
    found = gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"}, missing=missing).runs[0]
    assert values(found) == values(whole)
    assert found.coverage["rows"] == whole.coverage["rows"]
    assert found.coverage["shards"]["without predictions"] == 1
    assert found.complete == whole.complete == (missing == "wrong")
    assert found.roster.ids == whole.roster.ids


def test_shards_without_rows_hold_nothing(tmp_path):
    truth, said = rows()
    whole = gnomon.score("labels", truth, {"mine": said}).runs[0]
    for side, columns in (("truth", truth), ("said", said)):
        spread(tmp_path / side, columns, (0, 0, 150, 300, 300), parquet)
    found = gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"})
    assert found.complete
    assert values(found.runs[0]) == values(whole)
    pq.write_table(pa.table(said).slice(0, 2), tmp_path / "said" / "part0.parquet")
    found = gnomon.score("labels", tmp_path / "truth", {"mine": tmp_path / "said"})
    (lost,) = found.runs[0].coverage["cells"]["missing"]
    assert "predictions for ids not in the truth: 'i0', 'i1'" in lost["why"]


def test_a_run_without_a_shard_is_of_the_same_data_and_is_compared_on_what_both_have(codes):
    """Ben has a shard that cannot be read for one of the systems: he is in part there, so he is left out."""
    shutil.copytree(codes / "said", codes / "other")
    (codes / "other" / "ben" / "1.npy").write_bytes(b"broken")
    both = {"mine": codes / "said", "theirs": codes / "other"}
    result = gnomon.score("labels", codes / "truth", both, out=codes / "runs")
    mine, theirs = result.runs
    assert mine.manifest["data_fingerprint"] == theirs.manifest["data_fingerprint"]
    assert theirs.coverage["rows"] == {"truth": 24000, "scored": 20000, "missing": 4000, "extra": 0}
    told = gnomon.compare(mine, theirs).tables["comparison"]
    assert told.title == "paired comparison on 2 of 3 cases"
    assert "theirs is partial: 5 of 6 cells" in told.notes[0]
    assert told.rows[0]["groups"].value == 2


def test_rows_of_a_case_in_different_shards_are_not_taken_for_the_same(codes):
    for name, lost in (("one", "ben/0"), ("two", "ben/1")):
        shutil.copytree(codes / "said", codes / name)
        (codes / name / f"{lost}.npy").write_bytes(b"broken")
    runs = gnomon.score("labels", codes / "truth", {name: codes / name for name in ("one", "two")}).runs
    assert runs[0].manifest["data_fingerprint"] == runs[1].manifest["data_fingerprint"]
    with pytest.raises(
        InputError, match=r"cannot be told which cases all runs scored in full, .*: complete one of them"
    ):
        gnomon.compare(*runs, common=True)


def test_a_system_of_which_nothing_can_be_scored_takes_no_other_along(codes, capsys):
    shutil.copytree(codes / "said", codes / "bad")
    for path in (codes / "bad").glob("*/*.npy"):
        path.write_bytes(b"broken")
    command = ["score", "labels", "--truth", str(codes / "truth"), "--out", str(codes / "runs")]
    given = [text for name in ("said", "bad") for text in ("--predictions", f"{name}={codes / name}")]
    with pytest.raises(SystemExit, match="1"):
        main(command + given)
    assert "not scored, and in no run: bad: anna/0: " in capsys.readouterr().err
    assert only(codes / "runs", complete=True).system == "said"
    with pytest.raises(InputError, match="bad: no shard could be scored; the first: "):
        gnomon.score("labels", codes / "truth", {"bad": codes / "bad"})


def test_memory_is_that_of_the_whole_and_few_parts(tmp_path, monkeypatch):
    """Every group is in every shard: what is kept of a shard is let go when it is added up."""
    monkeypatch.setattr(parts, "ROOM", 1 << 18)
    rng, peaks = np.random.default_rng(1), []
    for count in (10, 60):
        for side in ("truth", "said"):
            (tmp_path / f"{side}{count}").mkdir()
            for part in range(count):
                n = 3000
                columns = {
                    "id": [f"{part}-{row}" for row in range(n)],
                    "label": [f"c{code}" for code in rng.integers(0, 4, n)],
                    "group": [f"g{row % 500}" for row in range(n)],
                }
                parquet(columns, tmp_path / f"{side}{count}" / f"part{part}")
        given = tmp_path / f"truth{count}", {"mine": tmp_path / f"said{count}"}
        tracemalloc.start()
        gnomon.score("labels", *given, executor="inline", interval="none")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.6 * peaks[0]


def test_shards_that_all_systems_lack_are_left_out_of_the_comparison(codes):
    """No system has a prediction for Ben's second shard, and one has none for Cleo's either: both are named."""
    people = sorted(path.name for path in (codes / "truth").iterdir() if path.is_dir())
    shutil.copytree(codes / "said", codes / "other")
    first = sorted((codes / "truth" / people[0]).iterdir())[0].name
    last = sorted((codes / "truth" / people[2]).iterdir())[0].name
    for side in ("said", "other"):
        (codes / side / people[0] / first).unlink()
    (codes / "other" / people[2] / last).unlink()
    both = {"mine": codes / "said", "theirs": codes / "other"}
    found = gnomon.score("labels", codes / "truth", both, missing="skip").tables["comparison"]
    assert found.title == "paired comparison on 1 of 3 cases"
    assert f"'{people[0]}' was not scored in full by mine, theirs" in found.notes[0]
    assert f"'{people[2]}' was not scored in full by theirs" in found.notes[0]
