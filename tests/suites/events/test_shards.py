"""Folders of shards: scores are those of the same recordings in one file, to the last bit; faults name their shard.

Expected values are those of the plain form, whose own tests say who computed them; runs of frames are counted in the
test by :func:`itertools.groupby`.
"""

import itertools
import json
import re
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.runs import tables
from gnomon.suites.events import frames, tallying

RATE = 50
NAMES = ["nothing", "walk", "fall", "sit"]


def command(capfd, *words):
    """Exit code and text of a command."""
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return stop.value.code or 0, "".join(capfd.readouterr())


def drawn(seed=0, recordings=8, n=4000):
    """Codes of frames by recording, of subjects in turn: truth, and a disturbed copy."""
    rng = np.random.default_rng(seed)
    found = {}
    for i in range(recordings):
        codes = rng.integers(0, 4, n // 100)
        edges = np.sort(rng.choice(np.arange(1, n), len(codes) - 1, replace=False))
        lengths = np.diff(edges, prepend=0, append=n)
        moved = np.sort(np.clip(edges + rng.integers(-20, 21, len(edges)), 0, n))
        guesses = np.where(rng.random(len(codes)) < 0.2, rng.integers(0, 4, len(codes)), codes)
        sides = np.repeat(codes, lengths), np.repeat(guesses, np.diff(moved, prepend=0, append=n))
        found[f"s{i % 4}/r{i}"] = [side.astype(np.uint8) for side in sides]
    return found


def stretches(codes):
    found, at = [], 0
    for code, run in itertools.groupby(codes.tolist()):
        stop = at + len(list(run))
        if code:
            found.append({"t1": at / RATE, "t2": stop / RATE, "label": NAMES[code]})
        at = stop
    return found


def write_frames(root, data, meaning=None):
    for name, sides in data.items():
        for folder, side in zip(("truth", "mine"), sides, strict=True):
            path = root / folder / f"{name}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, side)
    told = {"classes": NAMES, "rate_hz": RATE} if meaning is None else meaning
    (root / "truth" / "classes.json").write_text(json.dumps(told))
    return {"truth": str(root / "truth"), "predictions": f"mine={root / 'mine'}"}


def documents(data, scored=()):
    """The same recordings as truth objects and results."""
    rng = np.random.default_rng(5)
    truth, results = [], {}
    for name, (true, returned) in data.items():
        subject, _, case = name.partition("/")
        truth.append(
            {
                "id": case,
                "t1": 0,
                "t2": len(true) / RATE,
                "folder": subject,
                "subject": subject,
                "labels": stretches(true),
            }
        )
        results[case] = stretches(returned)
        for item in results[case] if case in scored else ():
            item["score"] = float(rng.random())
    return truth, results


def write_files(root, data, shards, scored=()):
    """Recordings dealt into so many shards, in a mixed order; 0 is the plain form."""
    truth, results = documents(data, scored)
    for folder in ("truth", "mine"):
        (root / folder).mkdir(parents=True)
    order = np.random.default_rng(3).permutation(len(truth))
    for part in range(shards or 1):
        own = [truth[i] for i in (order[part::shards] if shards else range(len(truth)))]
        (root / "truth" / f"part{part}.json").write_text(json.dumps(own))
        (root / "mine" / f"part{part}.json").write_text(json.dumps({item["id"]: results[item["id"]] for item in own}))
    if not shards:
        return {"truth": str(root / "truth" / "part0.json"), "predictions": f"mine={root / 'mine' / 'part0.json'}"}
    return {"truth": str(root / "truth"), "predictions": f"mine={root / 'mine'}"}


def scores(given, out, **options):
    runs = gnomon.score("events", **given, out=out, **options).runs
    return [[(s.name, s.slice, s.value, s.low, s.high, s.n, s.why) for s in run.scores] for run in runs], runs


@pytest.mark.parametrize("scored", [(), ("r0", "r3"), tuple(f"r{i}" for i in range(8))])
@pytest.mark.parametrize("options", [{}, {"variant": "both", "background": ("sit",)}, {"interval": "percentile"}])
def test_scores_do_not_depend_on_shards(tmp_path, scored, options):
    data = drawn()
    options = {**options, "slice": ("subject",), "resamples": 200}
    want, plain = scores(write_files(tmp_path / "plain", data, 0, scored), tmp_path / "out", **options)
    for shards in (1, 3, 8):
        got, runs = scores(write_files(tmp_path / str(shards), data, shards, scored), tmp_path / f"{shards}", **options)
        assert got == want
        for a, b in zip(plain, runs, strict=True):
            assert a.manifest["facts"] == b.manifest["facts"]
            assert a.coverage["cases"] == b.coverage["cases"]
            assert b.complete
            assert dict(zip(a.roster.ids, a.roster.groups, strict=True)) == dict(
                zip(b.roster.ids, b.roster.groups, strict=True)
            )
            assert {f.id for f in a.findings} == {f.id for f in b.findings}
            assert a.ledgers.keys() == b.ledgers.keys()


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_frames_score_as_the_stretches_that_they_are(tmp_path, executor):
    data = drawn(1)
    want, _ = scores(write_files(tmp_path / "plain", data, 0), tmp_path / "out", group="folder")
    got, (run,) = scores(write_frames(tmp_path / "frames", data), tmp_path / "runs", executor=executor, workers=2)
    assert got == want
    assert run.roster.level == "folder"
    assert set(run.roster.groups) == {"s0", "s1", "s2", "s3"}
    assert run.roster.ids[0] == "s0/r0"
    assert all(check.passed for check in gnomon.verify(run.path))


def test_recordings_too_long_for_an_edit_score(tmp_path, monkeypatch):
    data = drawn(2) | {"s0/long": drawn(3, 1, 9000)["s0/r0"]}
    _, (edited,) = scores(write_files(tmp_path / "edited", data, 0), tmp_path / "out")
    monkeypatch.setattr(tallying, "MOST_EDITED", 25)
    want, plain = scores(write_files(tmp_path / "plain", data, 0), tmp_path / "out")
    got, _ = scores(write_files(tmp_path / "many", data, 9), tmp_path / "runs", executor="inline")
    assert got == want
    names = {measure.name for measure in plain[0].measures}
    assert {measure.name for measure in edited.measures} - names == {"edit"}
    assert [plain[0].find(f"f1@{at}").value for at in (10, 25, 50)] == [
        edited.find(f"f1@{at}").value for at in (10, 25, 50)
    ]


def test_groups_of_frames(tmp_path):
    data = {name.replace("/", "-"): sides for name, sides in drawn().items()}
    flat = write_frames(tmp_path / "flat", data)
    _, (run,) = scores(flat, tmp_path / "runs")
    assert run.roster.level == "recording"
    assert run.roster.groups == run.roster.ids
    deep = write_frames(tmp_path / "deep", drawn())
    _, (run,) = scores(deep, tmp_path / "runs", group="recording", slice=("folder",))
    assert run.roster.level == "recording"
    assert set(run.roster.tags["folder"]) == {"s0", "s1", "s2", "s3"}


def damaged(kind, path):
    content = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(content[:-7])
    elif kind == "flipped":
        path.write_bytes(content[:1] + bytes([content[1] ^ 0xFF]) + content[2:])
    else:
        np.save(path, np.zeros((3, 2), np.uint8))


@pytest.mark.parametrize("kind", ["truncated", "flipped", "shape"])
@pytest.mark.parametrize("side", ["truth", "mine"])
def test_a_corrupt_shard_fails_alone_and_is_finished_later(tmp_path, capfd, kind, side):
    given = write_frames(tmp_path, drawn())
    bad, kept = tmp_path / side / "s1" / "r5.npy", tmp_path / "kept.npy"
    shutil.copy(bad, kept)
    damaged(kind, bad)
    words = ["score", "events", "--truth", given["truth"], "--predictions", given["predictions"]]
    words += ["--out", str(tmp_path / "runs"), "--executor", "inline", "--retries", "0"]
    code, text = command(capfd, *words)
    assert code == 1
    assert "s1/r5" in text
    (run,) = gnomon.load(tmp_path / "runs").runs
    coverage = json.loads((run.path / "coverage.json").read_text())
    assert not coverage["complete"]
    assert coverage["shards"] == {"truth": 8, "scored": 7, "without predictions": 0}
    assert coverage["cells"]["done"] == 7
    (missing,) = coverage["cells"]["missing"]
    assert missing["cell"] == "mine: s1/r5"
    assert str(bad) in missing["why"]
    assert len(run.roster) == 7
    shutil.copy(kept, bad)
    assert command(capfd, *words)[0] == 0
    told = [json.loads(line) for line in (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()]
    last = told[max(at for at, one in enumerate(told) if one["event"] == "plan") :]
    assert sorted(one["name"] for one in last if one["event"] == "done") == ["mine: s1/r5"]
    assert sum(one["event"] == "found" for one in last) == 7
    whole, _ = scores(write_frames(tmp_path / "again", drawn()), tmp_path / "other")
    runs = [run for run in gnomon.load(tmp_path / "runs").runs if run.complete]
    assert [(s.name, s.value) for s in runs[0].scores] == [(name, value) for name, _, value, *_ in whole[0]]


def test_missing_and_extra_shards(tmp_path):
    given = write_frames(tmp_path, drawn())
    (tmp_path / "mine" / "s1" / "r5.npy").rename(tmp_path / "mine" / "s1" / "other.npy")
    with pytest.raises(InputError, match=r"no predictions for shards of the truth: 's1/r5'.*--missing empty or"):
        gnomon.score("events", **given, out=tmp_path / "runs")
    with pytest.raises(InputError, match=r"shards that the truth does not have: 's1/other'; remove them$"):
        gnomon.score("events", **given, out=tmp_path / "runs", missing="skip")
    (tmp_path / "mine" / "s1" / "other.npy").unlink()
    (skipped,) = gnomon.score("events", **given, out=tmp_path / "runs", missing="skip").runs
    assert len(skipped.roster) == 7
    assert not skipped.complete
    assert skipped.coverage["shards"] == {"truth": 8, "scored": 7, "without predictions": 1, "skipped": ["s1/r5"]}
    assert tables.partial(skipped) == "partial: 7 of 8 shards; without predictions: 's1/r5'"
    assert all(check.passed for check in gnomon.verify(skipped.path))
    (empty,) = gnomon.score("events", **given, out=tmp_path / "runs", missing="empty").runs
    data = drawn()
    data["s1/r5"][1] = np.zeros_like(data["s1/r5"][1])
    (zeros,) = gnomon.score("events", **write_frames(tmp_path / "zeros", data), out=tmp_path / "runs").runs
    assert [s.value for s in empty.scores] == [s.value for s in zeros.scores]


def test_one_case_in_two_shards_is_an_error(tmp_path):
    given = write_files(tmp_path, drawn(), 3)
    for folder in ("truth", "mine"):
        shutil.copy(tmp_path / folder / "part0.json", tmp_path / folder / "part7.json")
    with pytest.raises(InputError, match=r"is in the shards part0 and part7; give each case its own id"):
        gnomon.score("events", **given, out=tmp_path / "runs")


def test_recordings_without_ids_are_called_by_their_shard(tmp_path):
    truth, results = documents(drawn())
    for i, item in enumerate(truth):
        for folder in ("truth", "mine"):
            (tmp_path / folder / f"home{i}").mkdir(parents=True)
        bare = {key: item[key] for key in ("t1", "t2", "labels")}
        (tmp_path / "truth" / f"home{i}" / "day.json").write_text(json.dumps(bare))
        (tmp_path / "mine" / f"home{i}" / "day.json").write_text(json.dumps(results[item["id"]]))
    given = {"truth": str(tmp_path / "truth"), "predictions": str(tmp_path / "mine")}
    (run,) = gnomon.score("events", **given, out=tmp_path / "runs").runs
    assert run.roster.ids == tuple(f"home{i}/day" for i in range(8))
    assert run.roster.level == "recording"
    (run,) = gnomon.score("events", **given, out=tmp_path / "runs", group="folder").runs
    assert set(run.roster.groups) == {f"home{i}" for i in range(8)}


def test_a_folder_of_predictions_beside_a_truth_file_is_scored_like_a_file(tmp_path):
    files = write_files(tmp_path / "one", drawn(), 0)
    folder = write_files(tmp_path, drawn(), 2)["predictions"]
    (alone,), (beside,) = (gnomon.score("events", **(files | more)).runs for more in ({}, {"predictions": folder}))
    assert [(one.name, one.value) for one in beside.scores] == [(one.name, one.value) for one in alone.scores]


def test_what_does_not_fit_is_refused(tmp_path):
    given = write_frames(tmp_path, drawn())
    with pytest.raises(InputError, match="expected one folder of shards"):
        gnomon.score("events", truth=(given["truth"], given["truth"]), predictions=given["predictions"])
    with pytest.raises(InputError, match="expected a folder of shards, as the truth"):
        gnomon.score("events", truth=given["truth"], predictions=str(tmp_path / "truth" / "classes.json"))
    with pytest.raises(InputError, match="--export-perfboard holds all recordings"):
        gnomon.score("events", **given, export_perfboard=str(tmp_path / "scores.json"))
    (tmp_path / "truth" / "more.json").write_text("{}")
    with pytest.raises(InputError, match=r"frames beside other files \('more.json'\)"):
        gnomon.score("events", **given)


@pytest.mark.parametrize(
    ("meaning", "message"),
    [
        ([], "got list, expected an object with rate_hz"),
        ({"classes": NAMES}, "rate_hz: got None, expected frames per second"),
        ({"rate_hz": True}, "rate_hz: got True"),
        ({"rate_hz": 50, "classes": ["a", "a"]}, "expected a list of distinct names"),
        ({"rate_hz": 50, "nothing": "none"}, "nothing: got 'none', expected the code"),
        ({"rate_hz": 50, "null": 0}, "unknown field 'null'"),
    ],
)
def test_a_senseless_meaning_of_codes_is_refused(tmp_path, meaning, message):
    given = write_frames(tmp_path, drawn(), meaning)
    with pytest.raises(InputError, match=message):
        gnomon.score("events", **given, out=tmp_path / "runs")
    (tmp_path / "truth" / "classes.json").unlink()
    with pytest.raises(InputError, match="frames need it"):
        gnomon.score("events", **given, out=tmp_path / "runs")


def test_two_sharded_runs_are_compared(tmp_path, capfd):
    given = write_frames(tmp_path, drawn())
    for name, (true, _) in drawn().items():
        path = tmp_path / "perfect" / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, true)
    pair = (given["predictions"], f"perfect={tmp_path / 'perfect'}")
    result = gnomon.score("events", truth=given["truth"], predictions=pair, out=tmp_path / "runs")
    mine, perfect = result.runs
    assert [perfect.scores[0].value, mine.scores[0].value < 1.0] == [1.0, True]
    code, text = command(capfd, "compare", str(mine.path), str(perfect.path))
    assert code == 0
    assert "perfect" in text
    assert all(check.passed for run in (mine, perfect) for check in gnomon.verify(run.path))


def test_exhibits_of_shards_are_those_of_the_plain_form(tmp_path):
    data = drawn()
    _, (plain,) = scores(write_files(tmp_path / "plain", data, 0), tmp_path / "out", exhibits=3)
    _, (many,) = scores(write_files(tmp_path / "many", data, 3), tmp_path / "runs", exhibits=3)
    assert (plain.path / "exhibits.npz").read_bytes() == (many.path / "exhibits.npz").read_bytes()


def test_help_names_folders(capfd):
    text = " ".join(command(capfd, "score", "events", "--help")[1].split())
    assert "a folder or a pattern of such files" in text
    assert "a folder of .npy with a class code per frame" in text


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=30), st.integers(1, 12))
def test_runs_go_on_over_the_borders_of_parts(tmp_path_factory, runs, part):
    codes = np.repeat([code for code, _ in runs], [length for _, length in runs]).astype(np.int16)
    path = tmp_path_factory.mktemp("frames") / "a.npy"
    np.save(path, codes)
    found = frames.read_runs(path, part)
    want = [(code, len(list(own))) for code, own in itertools.groupby(codes.tolist())]
    assert found.codes.tolist() == [code for code, _ in want]
    assert np.diff(found.firsts, append=len(codes)).tolist() == [length for _, length in want]


def test_memory_is_that_of_stretches_and_one_part(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.repeat(np.arange(1000) % 7, 8000).astype(np.int32))  # 32 MB in 1000 runs
    frames.read_runs(path, 1 << 16)
    tracemalloc.start()
    found = frames.read_runs(path, 1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.firsts) == 1000
    assert peak < 2 << 20  # a part is 256 KiB


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.array([0, 1, 9, 9, 2], np.uint8), r"code 9 at frame 2, expected one of the 4 that classes.json names"),
        (np.array([0, 1, -1, 1, 2], np.int8), r"code -1 at frame 2"),
        (np.array([0.0, 1, 2, 3, 0]), r"float64 of shape \(5,\), expected an integer code per frame"),
        (np.array([0, 1, 2, 3, 0], ">i4"), "foreign byte order"),
        (np.array([0, 1, 2, 3], np.uint8), "4 frames, expected the 5 of"),
        (np.array([], np.uint8), "no frames"),
    ],
)
def test_wrong_frames_are_named(tmp_path, codes, message):
    truth = np.array([0, 1, 1, 2, 0], np.uint8)
    given = write_frames(tmp_path, {"a": [truth, codes], "b": [truth, truth]})
    (run,) = gnomon.score("events", **given, out=tmp_path / "runs", executor="inline", retries=0).runs
    (missing,) = run.coverage["cells"]["missing"]
    assert missing["cell"] == "mine: a"
    assert re.search(message, missing["why"])


def test_codes_of_nothing_and_names_of_codes(tmp_path):
    truth = np.array([5, 1, 1, 0, 2, 2, -1, -1], np.int8)
    given = write_frames(tmp_path, {"a": [truth, truth]}, {"rate_hz": 2, "nothing": [0, -1]})
    (run,) = gnomon.score("events", **given, out=tmp_path / "runs").runs
    assert run.ledgers["confusion"].labels["truth"] == ("1", "2", "5", "(nothing)")
    assert float(run.tallies["recognition"].fields["null_s"][0]) == 1.5  # three frames of half a second


@pytest.mark.parametrize("missing", ["skip", "empty"])
@pytest.mark.parametrize("write", ["files", "frames"])
def test_a_shard_without_results_counts_as_a_recording_without(tmp_path, write, missing):
    """Its recordings are missing, and those of the truth are all known, as where they are in one file."""
    data = drawn()
    if write == "frames":
        given, lost, cases = write_frames(tmp_path / "parts", data), tmp_path / "parts" / "mine" / "s1" / "r5.npy", 1
    else:
        given, lost = write_files(tmp_path / "parts", data, 4), tmp_path / "parts" / "mine" / "part1.json"
        cases = 2
    lost.unlink()
    (run,) = gnomon.score("events", **given, missing=missing).runs
    assert run.coverage["shards"]["without predictions"] == 1
    assert run.coverage["cases"]["truth"] == 8
    assert len(run.coverage["cases"]["missing"]) == (cases if missing == "skip" else 0)
    assert run.complete == (missing == "empty")
    if write == "files":
        whole = write_files(tmp_path / "whole", data, 0)
        path = tmp_path / "whole" / "mine" / "part0.json"
        gone = {one["id"] for one in json.loads((tmp_path / "parts" / "truth" / "part1.json").read_text())}
        results = json.loads(path.read_text())
        path.write_text(json.dumps({name: own for name, own in results.items() if name not in gone}))
        assert scores(given, "none", missing=missing)[0] == scores(whole, "none", missing=missing)[0]


def test_a_corrupt_shard_changes_neither_the_data_nor_what_is_resampled(tmp_path):
    """One recording has no subject, so that recordings are resampled: also where its results cannot be read."""
    given = write_files(tmp_path, drawn(), 4)
    path = tmp_path / "truth" / "part2.json"
    truth = json.loads(path.read_text())
    for name in ("subject", "folder"):
        del truth[0][name]
    path.write_text(json.dumps(truth))
    (whole,) = gnomon.score("events", **given, out=tmp_path / "runs").runs
    (tmp_path / "mine" / "part2.json").write_text("{")
    (part,) = gnomon.score("events", **given, out=tmp_path / "runs").runs
    assert not part.complete
    assert part.roster.level == whole.roster.level == "recording"
    assert part.manifest["data_fingerprint"] == whole.manifest["data_fingerprint"]
    assert part.coverage["cases"]["truth"] == 8
    found = gnomon.compare(whole, part, common=True)
    assert "on 6 of 8 cases" in str(found)
