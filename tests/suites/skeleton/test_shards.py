"""Folders of shards: scores are those of the file in one piece, to the last bit; faults name their shard.

Expected values are those of the plain form, whose own tests say who computed them, and of numpy for quantiles.
"""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.engine.scoring import tally_chunk
from gnomon.runs import exhibits
from gnomon.suites.skeleton import spreads
from gnomon.suites.skeleton.options import ScoreOptions, SimulateOptions
from gnomon.suites.skeleton.scoring import score
from gnomon.suites.skeleton.simulate import simulate

BY_SAMPLE = ("sample_ids", "gt_keypoints", "pred_keypoints", "gt_cameras_stream", "pred_cameras_stream")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of 8 subjects, with what a file has of faults: lost joints, lost cameras."""
    folder = tmp_path_factory.mktemp("skeleton")
    simulate(SimulateOptions(directory=str(folder), subjects=8, frames=20))
    with np.load(folder / "weak.npz") as file:
        fields = {name: file[name].copy() for name in file}
    rng = np.random.default_rng(0)
    fields["pred_keypoints"][rng.choice(len(fields["sample_ids"]), 9, replace=False), 3] = np.nan
    fields["gt_cameras_stream"][rng.choice(len(fields["sample_ids"]), 15, replace=False)] = np.nan
    return fields


def sequence_of(ids):
    return np.array(["_".join(text.split("_")[:2]) for text in ids.tolist()])


def write(folder, fields, shards):
    """Deal whole sequences into shards, in a mixed order; the samples of a sequence keep theirs."""
    folder.mkdir(parents=True)
    names = np.unique(sequence_of(fields["sample_ids"]))
    order = np.random.default_rng(4).permutation(names)
    for part in range(shards):
        own = np.flatnonzero(np.isin(sequence_of(fields["sample_ids"]), order[part::shards]))
        np.savez(folder / f"part{part}.npz", **{k: v[own] if k in BY_SAMPLE else v for k, v in fields.items()})
    return {"pred_file": f"mine={folder}"}


def scored(given, out, **options):
    runs = gnomon.score("skeleton", **given, out=out, **options).runs
    return [[(s.name, s.slice, s.value, s.low, s.high, s.n, s.why) for s in run.scores] for run in runs], runs


def command(capfd, *words):
    """Exit code and text of a command."""
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return stop.value.code or 0, "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "both"},
        {"ablation": True},
        {"projection_mode": "multi_sensor", "fusion_mode": "weighted", "reliability_source": "hybrid", "rig": "gt"},
        {"smooth_window": 5, "smooth_on": "both", "fps": 30.0, "bones": "0-1,1-4", "reference": "medoid"},
    ],
)
def test_scores_do_not_depend_on_shards(tmp_path, whole, options):
    np.savez(tmp_path / "whole.npz", **whole)
    want, plain = scored({"pred_file": f"mine={tmp_path / 'whole.npz'}"}, tmp_path / "out", **options)
    for shards in (1, 3, 11):
        got, runs = scored(write(tmp_path / f"in{shards}", whole, shards), tmp_path / f"runs{shards}", **options)
        assert got == want
        for a, b in zip(plain, runs, strict=True):
            same(a, b)


def same(a, b):
    """What a run says besides its scores, of the file in one piece and of its shards."""
    assert (a.system, a.roster.level, a.complete) == (b.system, b.roster.level, b.complete)
    assert dict(zip(a.roster.ids, a.roster.groups, strict=True)) == dict(
        zip(b.roster.ids, b.roster.groups, strict=True)
    )
    assert a.coverage["samples"] == b.coverage["samples"]
    assert a.manifest["protocol_fingerprint"] == b.manifest["protocol_fingerprint"]
    facts = a.manifest["facts"], b.manifest["facts"]
    assert facts[0].keys() == facts[1].keys()
    free = {"reference_sensitivity", "pa_invariance_m", "pelvis_invariance_m", "fusion_deviation_m"}
    for name in facts[0].keys() - free:
        close(facts[0][name], facts[1][name])
    found = [[f.record() for f in run.findings if f.id != "reference-sensitivity"] for run in (a, b)]
    assert found[0] == found[1]


def close(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            close(a[name], b[name])
    elif isinstance(a, float):
        assert b == pytest.approx(a, rel=3e-4)
    else:
        assert a == b


def test_processes_score_the_same(tmp_path, whole):
    given = write(tmp_path / "in", whole, 4)
    inline, _ = scored(given, tmp_path / "inline", executor="inline")
    others, (run,) = scored(given, tmp_path / "processes", executor="processes", workers=2)
    assert inline == others
    assert all(check.passed for check in gnomon.verify(run.path))


@pytest.mark.parametrize("kind", ["truncated", "flipped", "shape"])
def test_a_corrupt_shard_fails_alone_and_is_finished_later(tmp_path, capfd, whole, kind):
    given = write(tmp_path / "in", whole, 4)
    bad, kept = tmp_path / "in" / "part2.npz", tmp_path / "kept.npz"
    shutil.copy(bad, kept)
    content = bad.read_bytes()
    if kind == "truncated":
        bad.write_bytes(content[: len(content) // 2])
    elif kind == "flipped":
        at = len(content) // 2
        bad.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
    else:
        np.savez(bad, gt_keypoints=np.zeros((4, 24, 2)), pred_keypoints=np.zeros((4, 24, 2)))
    words = ["score", "skeleton", "--pred-file", given["pred_file"], "--out", str(tmp_path / "runs"), "--retries", "0"]
    words += ["--executor", "inline"]
    code, text = command(capfd, *words)
    assert code == 1
    assert "part2" in text
    (run,) = gnomon.load(tmp_path / "runs").runs
    coverage = json.loads((run.path / "coverage.json").read_text())
    assert not coverage["complete"]
    assert coverage["shards"] == {"given": 4, "scored": 3}
    (missing,) = coverage["cells"]["missing"]
    assert missing["cell"] == "mine: part2"
    assert str(bad) in missing["why"]
    shutil.copy(kept, bad)
    assert command(capfd, *words)[0] == 0
    told = [json.loads(line) for line in (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()]
    last = told[max(at for at, one in enumerate(told) if one["event"] == "plan") :]
    assert [one["name"] for one in last if one["event"] == "done"] == ["mine: part2"]
    assert sum(one["event"] == "found" for one in last) == 3
    complete = next(run for run in gnomon.load(tmp_path / "runs").runs if run.complete)
    fresh, _ = scored(given, tmp_path / "fresh")
    assert [(s.name, s.value) for s in complete.scores] == [(name, value) for name, _, value, *_ in fresh[0]]


def test_what_does_not_fit_is_refused(tmp_path, whole):
    given = write(tmp_path / "in", whole, 3)
    shutil.copy(tmp_path / "in" / "part0.npz", tmp_path / "in" / "part9.npz")
    with pytest.raises(InputError, match=r"is in the shards part0 and part9; keep every sequence in one shard"):
        gnomon.score("skeleton", **given, out=tmp_path / "runs")
    body = np.zeros((4, 17, 3), np.float32)
    np.savez(tmp_path / "in" / "part9.npz", gt_keypoints=body, pred_keypoints=body)
    with pytest.raises(InputError, match=r"shard part9 has 17 joints and part0 has 24"):
        gnomon.score("skeleton", **given, out=tmp_path / "runs")
    np.savez(tmp_path / "whole.npz", **whole)
    with pytest.raises(InputError, match="a file beside folders of shards"):
        gnomon.score("skeleton", pred_file=(f"a={tmp_path / 'whole.npz'}", f"b={tmp_path / 'in'}"))


def test_shards_without_ids_are_sequences(tmp_path, whole):
    for part in range(3):
        own = np.flatnonzero(sequence_of(whole["sample_ids"]) == np.unique(sequence_of(whole["sample_ids"]))[part])
        path = tmp_path / "in" / "home" / f"part{part}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **{k: v[own] if k in BY_SAMPLE else v for k, v in whole.items() if k != "sample_ids"})
    (run,) = gnomon.score("skeleton", pred_file=str(tmp_path / "in"), out=tmp_path / "runs").runs
    assert [text.replace("%2F", "/") for text in run.roster.ids] == [f"home/part{part}" for part in range(3)]


def test_sharded_runs_are_compared_and_looked_at(tmp_path, capfd, whole):
    better = {**whole, "pred_keypoints": (whole["pred_keypoints"] + whole["gt_keypoints"]) / 2}
    pair = (write(tmp_path / "a", whole, 3)["pred_file"], f"better={tmp_path / 'b'}")
    write(tmp_path / "b", better, 3)
    mine, good = gnomon.score("skeleton", pred_file=pair, out=tmp_path / "runs", exhibits=5).runs
    assert good.scores[0].value < mine.scores[0].value
    code, text = command(capfd, "compare", str(mine.path), str(good.path))
    assert code == 0
    assert "better" in text
    np.savez(tmp_path / "whole.npz", **whole)
    (plain,) = gnomon.score("skeleton", pred_file=str(tmp_path / "whole.npz"), out=tmp_path / "runs", exhibits=5).runs
    listed = [exhibits.listed(run.path) for run in (plain, mine)]
    assert listed[0] == listed[1]
    assert len(listed[0].entries) == 5


def test_help_names_folders(capfd):
    assert "folder of .npz shards" in " ".join(command(capfd, "score", "skeleton", "--help")[1].split())


@drawn_from(
    st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=60),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_quantiles_of_counts_are_those_of_the_numbers(values, shares, parts):
    numbers = np.array(values)
    kept = [spreads.counted(numbers[part::parts]) for part in range(parts)]
    bins, counts = (np.concatenate(side) for side in zip(*kept, strict=True))
    used, place = np.unique(bins, return_inverse=True)
    found = spreads.quantiles(used, np.bincount(place, weights=counts).astype(np.int64), shares)
    want = np.quantile(numbers, shares)
    assert found == pytest.approx(want.tolist(), rel=2**-11, abs=1e-35)


def test_parts_of_a_ledger_add_up():
    kept = spreads.ledger({"a": np.array([1.0, 1.0, 2.0]), "b": np.zeros(0)})
    assert spreads.of(kept, "a")[1].tolist() == [2, 1]
    assert spreads.quantiles(*spreads.of(kept, "b"), [0.5]) == []
    assert spreads.quantiles(*spreads.of(kept, "c"), [0.5]) == []


def test_exact_quantiles_come_before_counts():
    counts = spreads.ledger({"a": np.array([1.0, 2.0]), "b": np.array([4.0])})
    found = spreads.Spreads(counts, {"a": {0.5: 1.25}, "none": {}})
    assert found.quantiles("a", (0.5,)) == [1.25]
    assert found.quantiles("b", (0.5, 0.9)) == pytest.approx([4.0, 4.0], rel=2**-11)
    assert found.quantiles("none", (0.5,)) == found.quantiles("c", (0.5,)) == []


def test_a_rig_is_known_by_its_content_and_brought_to_workers_by_its_place(whole, tmp_path):
    folder = write(tmp_path / "data", whole, 2)["pred_file"].partition("=")[2]
    nodes = []
    for name in ("here", "there"):
        rig = tmp_path / name / "rig.json"
        rig.parent.mkdir()
        rig.write_text(json.dumps({"rgb": np.eye(4).tolist()}))
        asked = {"projection_mode": "multi_sensor", "rig": "file", "rig_file": str(rig)}
        nodes.append(score(ScoreOptions(pred_file=(f"mine={folder}",), **asked)).plan.cells)
    assert [node.key for node in nodes[0]] == [node.key for node in nodes[1]]
    assert [node.context["context"]["rig_file"] for node in nodes[1]] == [str(rig)] * 2
    rig.write_text(json.dumps({"rgb": np.diag([1, -1, -1, 1]).tolist()}))
    own = nodes[1][0]
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(InputError, match=r"rig\.json: not what it was when the command began"):
        tally_chunk({**own.arguments, **own.context}, {}, out)
