"""``gnomon run har`` on small generated datasets: what is planned, what is found, what the audit says."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.runs.auditing import samples_of
from gnomon.suites.har import protocol, running, samples, sources, systems
from gnomon.suites.har.options import RunOptions
from gnomon.suites.har.protocol import Drawing
from gnomon.suites.har.splits import SEED
from gnomon.suites.har.vocabulary import TEST_LABELS

from .conftest import write_dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

FAST = {"systems": "nearest_mean,majority", "profile": "smoke"}


def run(root, out, **options):
    return gnomon.run("har", data_root=str(root), out=str(out), **{**FAST, **options})


@pytest.fixture(scope="module")
def both(root, tmp_path_factory):
    """Both variants of two systems on both test datasets."""
    return run(root, tmp_path_factory.mktemp("both"), variant="both", folds=3)


def findings(result, name):
    return [f for r in result.runs for f in r.findings if f.id == name]


def of(result, system, variant):
    (found,) = (
        r for r in result.runs if r.manifest["system"] == system and r.manifest["protocol"]["variant"] == variant
    )
    return found


def test_a_run_holds_every_metric_on_every_dataset(both):
    found = of(both, "nearest_mean", "strict")
    assert found.complete
    for metric in ("zs-open", "zs-closed", "sup-1", "sup-10"):
        for dataset in ("target", "severe"):
            score = found.find(f"accuracy[{metric} {dataset}]")
            assert score.value is not None
            assert score.groups == {"target": 7, "severe": 6}[dataset]
    assert found.find("accuracy[zs-open]").value == found.find("accuracy[zs-open target]").value
    settings = found.manifest["protocol"]["settings"]
    assert (settings["main"], settings["apart"]) == (["target"], ["severe"])
    assert found.manifest["facts"]["vocabulary"] == settings["vocabulary"]


def test_windows_that_are_plain_to_tell_are_told(both):
    """The sines of the generated data differ by activity, so a nearest mean must be nearly perfect."""
    found = of(both, "nearest_mean", "strict")
    assert found.find("accuracy[sup-10 target]").value > 0.95
    assert found.find("accuracy[zs-closed target]").value > 0.8
    assert (
        found.find("accuracy[zs-closed target]").value
        > of(both, "majority", "strict").find("accuracy[zs-closed target]").value
    )


def test_zero_shot_scores_all_windows_and_supervised_the_test_part(both, tmp_path, root):
    """By hand: 7 subjects x 3 activities x 4 windows of 6 s in 25 s."""
    tasks = of(both, "majority", "strict").manifest["facts"]["tasks"]
    assert tasks["zs-open target"]["n"] == tasks["zs-open target"]["windows"] == 84
    assert tasks["sup-1 target"]["n"] == 84  # three folds, each window tested once
    single = run(root, tmp_path, test="target", tasks="sup-1", systems="majority")
    assert single.runs[0].manifest["facts"]["tasks"]["sup-1 target"]["n"] == 12  # one of seven subjects


def test_variants_stand_side_by_side_with_the_gap(both):
    table = both.tables["variants"]
    rows = {(row["system"].value, row["measure"].value): row for row in table.rows}
    row = rows["nearest_mean", "accuracy[sup-1] (%)"]
    values = [of(both, "nearest_mean", v).find("accuracy[sup-1]").value for v in ("published", "strict")]
    assert row["gap"].value == pytest.approx(100 * (values[1] - values[0]))
    assert any("pre-cutting" in note for note in table.notes)


def test_the_audit_finds_the_published_precutting_by_itself(both):
    published = list(of(both, "nearest_mean", "published").findings)
    ids = {f.id for f in published}
    assert {"read-ranges-overlap", "shared-tag", "window-of-pieces"} <= ids
    overlap = next(f for f in published if f.id == "read-ranges-overlap")
    assert overlap.severity == "error"
    assert "sup-" in overlap.evidence
    strict = {f.id for f in of(both, "nearest_mean", "strict").findings}
    assert not strict & {
        "read-ranges-overlap",
        "shared-tag",
        "exact-duplicates",
        "window-of-pieces",
        "suspicious-scale",
    }


def test_people_of_the_published_split_are_on_both_sides_and_no_claim_is_made(both):
    for variant, apart in (("published", False), ("strict", True)):
        verdict = next(v for v in of(both, "majority", variant).verdicts if v.id == "new-people")
        assert verdict.supported is apart


def test_a_second_run_finds_everything_in_the_store(root, tmp_path, capsys):
    first = run(root, tmp_path, test="target")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "store").rglob("seal.sha256")}
    again = run(root, tmp_path, test="target")
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "store").rglob("seal.sha256")} == before
    assert first.scores == again.scores


def test_windows_are_keyed_by_content_not_by_name(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 9)):
        folder = tmp_path / name
        folder.mkdir()
        write_dataset(folder, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
        write_dataset(folder, "target", "test", ("sitting", "walking"), seed=seed, subjects=3)
    prints = [sources.locate(str(tmp_path / name), (), ())[1][0].content for name in "abc"]
    assert prints[0] == prints[1] != prints[2]
    os.utime(tmp_path / "a" / "target.csv", (0, 0))
    assert sources.locate(str(tmp_path / "a"), (), ())[1][0].content == prints[0]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scores_whoever_does_the_work(root, tmp_path):
    options = {"test": "target", "systems": "random_forest", "seed": 7}
    one, two = (run(root, tmp_path / n, executor=e, **options) for n, e in (("a", "inline"), ("b", "processes")))
    assert one.scores == two.scores
    assert one.runs[0].manifest["prediction_fingerprint"] == two.runs[0].manifest["prediction_fingerprint"]


def test_chosen_metrics_of_several_datasets_in_both_variants(both):
    names = ["macro_f1[zs-open]", "accuracy[sup-10 target]", "exact_accuracy[zs-open target]"]
    result = gnomon.api.present(gnomon.api.choose_metrics(both.runs, names)[0])
    for table in (result.tables["scores"], result.tables["scores_2"]):
        assert [column.key for column in table.columns[3:]] == names
        assert len(table.rows) == 2
    assert len({row["measure"].value for row in result.tables["variants"].rows}) == len(names)


def test_seeds_are_runs_of_their_own_and_one_row(root, tmp_path):
    result = run(root, tmp_path, test="target", systems="random_forest@trees=5", seeds=3, tasks="zs-open,sup-1")
    assert sorted(r.manifest["facts"]["seed"] for r in result.runs) == [42, 43, 44]
    assert len({r.manifest["id"] for r in result.runs}) == 3
    (row,) = result.tables["scores"].rows
    values = [r.find("accuracy[sup-1]").value for r in result.runs]
    assert row["accuracy[sup-1]"].value == pytest.approx(100 * np.mean(values))
    names = ["weighted_f1[sup-1 target]", "accuracy[sup-1]", "group_accuracy[zs-open]"]
    chosen = gnomon.load(tmp_path, metrics=names).tables["scores"]
    assert [column.key for column in chosen.columns[3:]] == names
    (row,) = chosen.rows
    assert row["accuracy[sup-1]"].value == pytest.approx(100 * np.mean(values))
    over = gnomon.compare(result, over="seeds", metrics="accuracy[sup-1]")
    assert over.tables["seeds"].rows[0]["mean"].value == pytest.approx(100 * np.mean(values))


def test_turns_share_the_parts_and_differ_in_the_labelled_windows():
    subjects = [f"s{i % 9}" for i in range(900)]
    labels = [("walking", "sitting", "lying")[i // 300] for i in range(900)]
    for variant, folds in (("published", 0), ("strict", 0), ("strict", 3)):
        first, second = (protocol.split(variant, subjects, labels, 0.1, Drawing(folds, turn)) for turn in (0, 1))
        for a, b in zip(first, second, strict=True):
            assert np.array_equal(a.test, b.test)
            assert np.array_equal(a.train, b.train)
            assert set(a.labelled) != set(b.labelled)
            assert set(b.labelled) <= set(b.train)


def test_folds_test_everybody_once_and_keep_people_apart():
    subjects = np.array([f"s{i % 10}" for i in range(200)])
    parts = protocol.deal(subjects, np.repeat(["a", "b"], 100), 0.1, 5)
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(200))
    for part in parts:
        sides = [set(subjects[rows]) for rows in (part.train, part.val, part.test)]
        assert not sides[0] & sides[1] | sides[0] & sides[2] | sides[1] & sides[2]
        assert len(set(map(len, sides))) <= 2
    with pytest.raises(InputError, match="--folds 11"):
        protocol.deal(subjects, np.repeat(["a", "b"], 100), 0.1, 11)


def test_caps_leave_splits_alone(root, tmp_path, monkeypatch):
    """Scored windows are capped after the split: labelled windows and test parts are drawn from everything."""
    from dataclasses import replace

    whole = run(root, tmp_path / "a", test="target", tasks="sup-10")
    monkeypatch.setitem(protocol.PROFILES, "smoke", replace(protocol.PROFILES["smoke"], scored_windows=5))
    capped = run(root, tmp_path / "b", test="target", tasks="sup-10")
    a, b = (r.runs[0].manifest["facts"]["tasks"]["sup-10 target"] for r in (whole, capped))
    assert (a["n"], b["n"]) == (12, 5)
    assert a["n_train"] == b["n_train"]
    rows = [set(r.runs[0].table["id"].to_pylist()) for r in (whole, capped)]
    assert rows[1] < rows[0]


MODEL = '''
import numpy as np
from gnomon.suites.har.vocabulary import LABELS

class Words:
    """Scores the length of label texts: any text can be asked for."""
    text_aligned = True
    native_rate = True
    def fit(self, windows, codes, conditions):
        self.rates = [w.rate_hz for w in windows]
        return {"updates": 0, "rates": self.rates}
    def embed(self, windows):
        return np.zeros((len(windows), 1))
    def score_labels(self, windows, labels):
        return np.tile([float(text == "running" or text == "never seen") for text in labels], (len(windows), 1))
    def fine_tune(self, train, train_codes, val, val_codes, classes, conditions):
        self.classes = classes
        return self
    def scores(self, windows):
        return self.score_labels(windows, self.classes)

class Wrong(Words):
    text_aligned = False
    def scores(self, windows):
        return np.zeros((len(windows), 3))
'''


def test_a_text_aligned_model_is_asked_for_the_labels_of_the_dataset_at_native_rates(root, tmp_path):
    (tmp_path / "own.py").write_text(MODEL)
    result = run(root, tmp_path / "runs", test="target", systems=f"{tmp_path}/own.py:Words")
    (found,) = result.runs
    assert found.manifest["facts"]["fitted"]["rates"] == [20.0, 25.0]
    assert found.manifest["facts"]["tasks"]["zs-closed target"]["scoring"] == "exact"
    # By hand: a third of the windows is running; exact in the closed set, since "running" is a label of the dataset.
    assert found.find("accuracy[zs-closed target]").value == pytest.approx(1 / 3)
    assert found.find("accuracy[sup-1 target]").value == pytest.approx(1 / 3)


def test_all_work_of_a_model_of_ones_own_is_done_apart(root, tmp_path):
    """One that ends its process must not end the others, however few processors there are."""
    (tmp_path / "own.py").write_text(MODEL)
    names = f"{tmp_path}/own.py:Words,majority"
    options = RunOptions(data_root=str(root), test=("target",), systems=(names,), profile="smoke", out="none")
    nodes = list(running.run(options).plan)
    run_by_it = [node for node in nodes if "system" in node.arguments and "own.py" in node.arguments["system"]]
    assert {node.function.rpartition(":")[2] for node in run_by_it} == {"fit", "zero_shot", "fine_tune"}
    assert [node for node in nodes if node.foreign] == run_by_it


def test_a_cell_that_fails_leaves_a_partial_run(root, tmp_path):
    (tmp_path / "own.py").write_text(MODEL)
    result = run(root, tmp_path / "runs", test="target", systems=f"{tmp_path}/own.py:Wrong,majority", retries=0)
    assert not result.complete
    assert any("scores of shape (84, 3)" in why for why in result.extra["missing"].values())
    broken = next(r for r in result.runs if "Wrong" in r.manifest["system"])
    assert broken.find("accuracy[zs-open target]").value is None
    assert broken.find("accuracy[zs-open target]").why == "no window was scored"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "nothing"}, "--test: no dataset 'nothing'"),
        ({"test": "motionsense"}, "'motionsense' not found"),
        ({"train": "first", "test": "first"}, "trained on and tested on"),
        ({"tasks": "zs"}, "no task 'zs'"),
        ({"metrics": "zs-open,accuracy"}, "--metrics: 'zs-open' is a task: give --tasks zs-open"),
        ({"metrics": "beauty"}, "no measure 'beauty' in a run with these options"),
        ({"systems": ","}, "no system given"),
        ({"systems": "majority@x=1"}, "no parameter 'x'"),
    ],
)
def test_what_is_refused(root, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run(root, tmp_path, **options)


def test_an_empty_folder_names_what_to_do(tmp_path):
    with pytest.raises(InputError, match="gnomon data describe"):
        run(tmp_path, tmp_path / "runs")


def test_planted_copies_of_a_subject_are_found(tmp_path):
    """The signals of one subject under the name of others: the digests of the windows are equal across the split."""
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=6, rate=20, copy=range(1, 7))
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="sup-10", folds=3)
    (finding,) = findings(result, "exact-duplicates")
    assert finding.severity == "error"


def test_planted_units_are_found(tmp_path):
    """One training dataset is in g although its manifest says m/s^2: a factor of 9.8 against the other subjects."""
    write_dataset(tmp_path, "good", "train", ("sitting", "walking"), seed=1, subjects=6)
    write_dataset(tmp_path, "wrong", "train", ("sitting", "walking"), seed=2, subjects=3, scale=1 / 9.80665)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=3, subjects=6)
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (finding,) = findings(result, "resting-acceleration")
    assert finding.severity == "error"
    assert "wrong: at rest the acceleration is 1 m/s^2" in finding.evidence
    assert "in g" in finding.evidence
    assert not findings(result, "suspicious-scale")


def test_planted_degrees_are_found(tmp_path):
    write_dataset(tmp_path, "good", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=3, subjects=3, turning=180 / np.pi)
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (finding,) = findings(result, "turning-rate")
    assert finding.severity == "error"
    assert "target" in finding.evidence
    assert "deg/s" in finding.evidence


def test_one_subject_of_another_unit_is_found_by_its_scale(tmp_path):
    """By hand: one of nine subjects is in g, so that the middle one is not."""
    write_dataset(tmp_path, "first", "train", ("walking",), seed=1, subjects=8)
    write_dataset(tmp_path, "other", "train", ("walking",), seed=2, subjects=1, scale=1 / 9.80665)
    write_dataset(tmp_path, "target", "test", ("walking",), seed=3, subjects=3)
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (finding,) = findings(result, "suspicious-scale")
    assert "1 of 12" in finding.evidence
    assert "g and m/s^2" in finding.evidence


def test_what_was_left_out_and_stated_rates_are_in_the_findings(tmp_path):
    """By hand: a gap of a second cuts one of six recordings, whose pieces of 4 and 20 s leave one too short."""
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=3)
    path = tmp_path / "target.csv"
    lines = path.read_text().splitlines()
    kept = [x for x in lines if not (x.startswith("p1,sitting1,") and 4 <= float(x.split(",")[2]) < 5)]
    path.write_text("\n".join(kept) + "\n")
    toml = tmp_path / "target.toml"
    toml.write_text(toml.read_text().replace("text_hz = 20", "text_hz = 50"))
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (left,) = findings(result, "repaired-or-left-out")
    assert "gaps in time, cut there: 1" in left.evidence
    assert "recordings shorter than a window, left out: 1" in left.evidence
    (rate,) = findings(result, "stated-rate")
    assert "stated rate is 50 Hz, the measured one 20 Hz" in rate.evidence


def test_too_few_people_for_a_split_leave_the_zero_shot_scores(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=2)
    result = run(tmp_path, tmp_path / "runs", systems="majority", retries=0)
    assert not result.complete
    assert result.runs[0].find("accuracy[zs-open]").value is not None
    assert result.runs[0].find("accuracy[sup-1]").value is None
    assert any("2 subjects, expected at least 3" in why for why in result.extra["missing"].values())


def test_labels_outside_the_vocabulary_are_named_and_alone_refused(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=3)
    path = tmp_path / "train.csv"
    path.write_text(path.read_text().replace(",walking,", ",Walking,"))
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (finding,) = findings(result, "labels-outside")
    assert "12 of 24 windows" in finding.evidence
    assert "'Walking' (walking?)" in finding.evidence
    path.write_text(path.read_text().replace(",sitting,", ",juggling,"))
    with pytest.raises(gnomon.NothingScoredError, match="no window has one of the 87 training labels"):
        run(tmp_path, tmp_path / "runs2", systems="nearest_mean", tasks="zs-open", retries=0)


def test_short_recordings_are_windows_of_both_variants(tmp_path):
    """The falls of real datasets are shorter than a window: pre-cutting must not lose their labels."""
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=3, seconds=5.0)
    toml = tmp_path / "target.toml"
    toml.write_text(toml.read_text().replace('short = "drop"', 'short = "pad"'))
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open", variant="both")
    assert [r.manifest["facts"]["tasks"]["zs-open target"]["n"] for r in result.runs] == [6, 6]


def test_options_without_effect_are_refused(root, tmp_path):
    for options, message in (
        ({"variant": "published", "folds": 3}, "the published split is one of windows"),
        ({"folds": 3, "tasks": "zs-open"}, "no supervised task"),
        ({"windows": "continuous"}, "strict always cuts so"),
    ):
        with pytest.raises(InputError, match=message):
            run(root, tmp_path, **options)


def test_claims_are_about_the_metrics_that_were_asked_for(root, tmp_path):
    result = run(root, tmp_path, test="target", systems="majority", tasks="zs-open")
    assert [v.id for v in result.runs[0].verdicts] == ["zero-shot-people", "real-people"]


def test_simulated_data_say_so_everywhere(tmp_path):
    """A mark names the datasets beside it that are simulated; others in the same folder are not."""
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=3)
    for marked, real in ((["train"], True), (["train", "target"], False)):
        (tmp_path / "simulated.json").write_text(json.dumps({"datasets": marked}))
        result = run(tmp_path, tmp_path / f"runs{real}", systems="majority", tasks="zs-open")
        assert result.runs[0].manifest["facts"]["simulated"] == marked
        verdict = next(v for v in result.runs[0].verdicts if v.id == "real-people")
        assert verdict.supported is real
        (finding,) = findings(result, "simulated-data")
        assert ", ".join(marked) in finding.evidence
        note = f"simulated data, no recordings of people: {', '.join(marked)}"
        assert note in result.tables["scores"].notes
        assert note in result.tables["datasets"].notes
    (tmp_path / "simulated.json").unlink()
    result = run(tmp_path, tmp_path / "real", systems="majority", tasks="zs-open")
    assert not findings(result, "simulated-data")


def test_channel_texts_are_those_of_the_variant():
    from gnomon.suites.har.datasets import REGISTRY

    texts = {variant: REGISTRY["mhealth"].manifest.texts(variant) for variant in ("published", "strict")}
    assert texts["published"][0] == "Accelerometer X-axis on the chest, m/s^2"
    assert texts["published"][3] == "Gyroscope X-axis on the left ankle, rad/s"
    assert texts["strict"][3] == "Gyroscope X-axis on the right lower arm, rad/s"
    motion = REGISTRY["motionsense"].manifest
    assert motion.texts("published")[2].endswith("m/s^2, gravity removed")
    assert motion.texts("strict") == motion.channels


def test_mixed_gravity_is_found(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=3, gravity="removed")
    result = run(tmp_path, tmp_path / "runs", systems="majority", tasks="zs-open")
    (finding,) = findings(result, "tags-mixed")
    assert "gravity" in finding.evidence


def test_planted_windows_across_recordings_are_found(root, tmp_path):
    """Windows shifted by hand: one over the end of its recording, one put together, one of another activity."""
    from dataclasses import replace

    sources.prepare(sources.Asked("target", "strict", 20.0, "continuous"), str(root), tmp_path / "w")
    found, about = sources.load(tmp_path / "w"), sources.about(tmp_path / "w")
    assert samples.across(found, about) == ()
    spans = found.spans.copy()
    spans[0] += 22.0
    spans[5, 1] -= 2.0
    labels = ("lying", *found.labels[1:])
    names = [f.id for f in samples.across(replace(found, spans=spans, labels=labels), about)]
    assert names == ["window-across-recordings", "window-of-pieces", "window-across-activities"]


def test_samples_name_every_window_that_is_used(both):
    rows = samples_of(of(both, "majority", "strict"))
    folds = set(rows.column("fold"))
    assert {"", "zero-shot target", "sup-1 target fold 0", "sup-10 severe fold 2"} <= folds
    assert all(rows.digests)
    assert {name.partition("/")[0] for name in rows.column("subject")} == {"first", "second", "target", "severe"}


def test_a_dataset_of_the_same_people_is_left_out_of_strict_training(root, tmp_path, monkeypatch):
    from dataclasses import replace

    from gnomon.suites.har import running

    located = sources.locate

    def same(*given):
        train, test = located(*given)
        return [replace(one, manifest=replace(one.manifest, people="us")) for one in train], test

    monkeypatch.setattr(running.sources, "locate", same)
    result = run(root, tmp_path, test="target", systems="majority", tasks="zs-open", variant="both")
    trained = {
        r.manifest["protocol"]["variant"]: list(r.manifest["protocol"]["settings"]["train"]) for r in result.runs
    }
    assert trained == {"published": ["first", "second"], "strict": ["first"]}
    assert findings(result, "same-people-left-out")
    assert findings(result, "same-cohort")


def test_the_published_shape_is_written(root, tmp_path):
    run(root, tmp_path / "runs", test="target", systems="majority", export_baseline=str(tmp_path / "out"))
    found = json.loads((tmp_path / "out" / "majority_evaluation.json").read_text())
    assert set(found["results"]["target"]) == {
        "zero_shot_open",
        "zero_shot_closed",
        "1pct_supervised",
        "10pct_supervised",
    }
    assert found["results"]["target"]["1pct_supervised"]["n_train_samples"] == 3
    assert (found["variant"], found["profile"], found["seed"]) == ("strict", "smoke", 42)


@pytest.mark.real
def test_real_motionsense_from_dsads_and_wisdm(tmp_path):
    data = os.environ.get("GNOMON_REAL_DATA")
    if not data:
        pytest.skip("GNOMON_REAL_DATA is not set")
    result = run(
        Path(data) / "har", tmp_path, train="dsads,wisdm", test="motionsense", systems="random_forest,majority", folds=5
    )
    forest, majority = (
        next(r for r in result.runs if r.manifest["system"] == n) for n in ("random_forest", "majority")
    )
    assert forest.find("accuracy[zs-closed]").groups == 10
    for metric in ("zs-closed", "sup-1", "sup-10"):
        assert forest.find(f"accuracy[{metric}]").value > majority.find(f"accuracy[{metric}]").high
    assert forest.manifest["facts"]["coverage"]["motionsense"]["activities"] == len(TEST_LABELS["motionsense"])
    assert forest.manifest["protocol"]["split"]["seed"] == SEED


def test_models_say_where_they_deviate():
    spec = running.Spec("tsfm")
    work = SimpleNamespace(
        train={"strict": ()},
        options=SimpleNamespace(profile="cpu"),
        specs={"tsfm": spec},
        cutting=lambda variant, role: "continuous",
    )
    own = running._deviations(work, "strict", spec)
    assert set(systems.SYSTEMS.find("tsfm").deviations) <= set(own)
    others = running._deviations(work, "strict", running.Spec("majority"))
    assert not {item.system for item in others} & {"tsfm"}


def test_published_figures_go_with_the_mean_of_the_same_datasets():
    spec = running.Spec("tsfm")
    found = running._reported(spec, ("mobiact", "motionsense", "realworld"))
    assert found["reported"]["accuracy[zs-closed]"] == pytest.approx(0.511)  # 51.1 % in the published table
    assert found["reported"]["macro_f1[sup-10]"] == pytest.approx(0.8)
    assert running._reported(spec, ("motionsense",)) == {}
    assert running._reported(running.Spec("majority"), ("mobiact", "motionsense", "realworld")) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("moment=w", "has no effect, since none of moment is asked for"),
        ("other=w", "expected moment=DIR, text=DIR"),
        ("text=", "expected moment=DIR, text=DIR"),
        ("text=a,b", "holds a comma or an @"),
    ],
)
def test_weights_that_nobody_takes_are_refused(given, said):
    with pytest.raises(InputError, match=re.escape(said)):
        running._weighted([running.Spec("tsfm"), running.Spec("majority")], [given])


def test_weights_go_to_the_systems_that_they_are_for():
    given = [running.Spec(name) for name in ("tsfm", "majority", "moment")]
    found = running._weighted(given, ["text=a", "moment=b"])
    assert [spec.parameters.get("weights") for spec in found] == ["a", None, "b"]


def _break_recording(path, recording, was):
    """Put a word or a huge number into the first row of a recording that has a number there."""
    lines = path.read_text().split("\n")
    row = next(k for k, line in enumerate(lines) if f",{recording}," in line)
    cells = lines[row].split(",")
    cells[5] = was
    lines[row] = ",".join(cells)
    path.write_text("\n".join(lines))


@pytest.mark.parametrize("was", ["what", "nan", "1e30"])
def test_a_broken_recording_is_left_out_and_named_and_the_others_are_scored(tmp_path, was):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=4)
    _break_recording(tmp_path / "target.csv", "walking2", was)
    result = run(tmp_path, tmp_path / "out", tasks="zs-closed")
    assert not result.complete
    for one in result.runs:
        assert one.manifest["facts"]["tasks"]["zs-closed target"]["n"] == 28  # 7 of 8 recordings, four windows each
        (left,) = one.coverage["unreadable"]["target"]
        assert left.startswith("target.csv: row ")
        assert "column 'acc_y'" in left
    said = findings(result, "files-left-out")
    assert len(said) == 2
    assert all(item.severity == "warning" and "target.csv: row" in item.evidence for item in said)
    assert result.tables["comparison"].rows


def test_a_recording_whose_times_go_backwards_makes_a_partial_run(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=4)
    path = tmp_path / "target.csv"
    lines = path.read_text().splitlines()
    own = [row for row, line in enumerate(lines) if ",walking2," in line]
    lines[own[0] : own[-1] + 1] = lines[own[0] : own[-1] + 1][::-1]
    path.write_text("\n".join(lines) + "\n")
    result = run(tmp_path, tmp_path / "out", tasks="zs-closed", systems="majority")
    assert not result.complete
    (left,) = result.runs[0].coverage["unreadable"]["target"]
    assert "target.csv: recording 'walking2' of " in left
    (said,) = findings(result, "files-left-out")
    assert said.severity == "warning"
    assert "jump back" in said.evidence


def test_a_broken_file_among_several_is_left_out_and_named(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting", "walking"), seed=2, subjects=4)
    manifest = tmp_path / "target.toml"
    manifest.write_text(manifest.read_text().replace('["target.csv"]', '["bad.parquet", "target.csv", "gone.csv"]'))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    result = run(tmp_path, tmp_path / "out", tasks="zs-closed", systems="majority")
    assert not result.complete
    assert result.runs[0].manifest["facts"]["tasks"]["zs-closed target"]["n"] == 32
    left = result.runs[0].coverage["unreadable"]["target"]
    assert [item.split(":")[0] for item in left] == ["bad.parquet", "gone.csv"]


def test_a_dataset_of_which_nothing_can_be_read_fails_with_the_first_error(tmp_path):
    write_dataset(tmp_path, "train", "train", ("sitting", "walking"), seed=1, subjects=3)
    write_dataset(tmp_path, "target", "test", ("sitting",), seed=2, subjects=1)
    _break_recording(tmp_path / "target.csv", "sitting1", "what")
    with pytest.raises(InputError, match=r"no recording of target.*'what', expected a number"):
        run(tmp_path, tmp_path / "out", tasks="zs-closed", systems="majority")
