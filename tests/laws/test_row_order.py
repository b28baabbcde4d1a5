"""The order of rows, boxes, events and files changes no score of a suite.

The published variant of ``skeleton`` is the one exception, since its definition names the first row of a file
(``tests/suites/skeleton/test_row_order.py``). Boxes and events lie on coarse grids here, so that many overlaps tie.
"""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.core import registry

SEEDS = (1, 2)


def numbers(result):
    """Every score with its interval, of every variant."""
    return {
        (run.manifest["protocol"]["variant"], score.name, score.slice): (score.value, score.low, score.high, score.n)
        for run in result.runs
        for score in run.scores
    }


def shuffle_table(source, target, seed):
    with Path(source).open(newline="") as file:
        header, *rows = csv.reader(file)
    random.Random(seed).shuffle(rows)
    with Path(target).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(target)


def template(suite, folder):
    verb = registry.suite(suite).verb("template")
    list(verb.load()(verb.options(directory=str(folder))))
    return folder


def write_labels(folder):
    rng = random.Random(0)
    rows = [(i, rng.choice("abc"), f"g{i % 7}", f"s{i % 3}", rng.random(), rng.choice("abcd")) for i in range(140)]
    with (folder / "truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label", "group", "site", "x"), *(row[:5] for row in rows)])
    with (folder / "predictions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((row[0], row[5]) for row in rows)])
    return str(folder / "truth.csv"), str(folder / "predictions.csv")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("interval", ["jackknife-t", "percentile"])
def test_labels(tmp_path, seed, interval):
    truth, predictions = write_labels(tmp_path)
    options = {"slice": "site", "interval": interval, "resamples": 100}
    other = shuffle_table(truth, tmp_path / "t.csv", seed), shuffle_table(predictions, tmp_path / "p.csv", seed + 10)
    assert numbers(gnomon.score("labels", truth, predictions, **options)) == numbers(
        gnomon.score("labels", *other, **options)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_that_are_fitted(tmp_path, seed):
    truth, _ = write_labels(tmp_path)
    other = shuffle_table(truth, tmp_path / "t.csv", seed)
    asked = {"systems": "stratified,nearest_mean", "out": "none"}
    assert numbers(gnomon.run("labels", truth=truth, **asked)) == numbers(gnomon.run("labels", truth=other, **asked))


@pytest.mark.parametrize("seed", SEEDS)
def test_har(tmp_path, seed):
    given = [str(template("har", tmp_path / "a") / name) for name in ("truth.csv", "predictions.csv")]
    other = [shuffle_table(path, tmp_path / Path(path).name, seed) for path in given]
    assert numbers(gnomon.score("har", *given)) == numbers(gnomon.score("har", *other))


def stamp(second):
    return f"2012-05-16T09:{second // 60:02d}:{second % 60:02d}+00:00"


def write_events(folder, seed=None):
    """Six recordings; detections overlap, and share times, labels and scores."""
    rng, order = random.Random(3), random.Random(seed)
    mixed = (lambda rows: rows) if seed is None else (lambda rows: order.sample(rows, len(rows)))
    folder.mkdir()
    results, paths = {}, []
    for number in range(6):
        at, events = 0, []
        while at < 3000:
            start, at = at + 60 * rng.randrange(3), at + 60 * rng.randrange(4, 8)
            events.append({"t1": stamp(start), "t2": stamp(at), "label": rng.choice("ab")})
        record = {"labels": mixed(events), "subject": {"id": f"s{number % 3}"}, "t1": stamp(0), "t2": stamp(3599)}
        paths.append(folder / f"r{number}.json")
        paths[-1].write_text(json.dumps(record))
        starts = [60 * rng.randrange(50) for _ in range(9)]
        results[f"r{number}"] = mixed(
            [
                {"t1": stamp(t), "t2": stamp(t + 60 * rng.randrange(1, 9)), "label": rng.choice("ab"), "score": s}
                for t, s in zip(starts, rng.choices([0.3, 0.5], k=9), strict=True)
            ]
        )
    (folder / "results.json").write_text(json.dumps(dict(mixed(list(results.items())))))
    return [str(path) for path in mixed(paths)], str(folder / "results.json")


@pytest.mark.parametrize("variant", ["published", "strict"])
@pytest.mark.parametrize("seed", SEEDS)
def test_events(tmp_path, variant, seed):
    given, other = write_events(tmp_path / "a"), write_events(tmp_path / "b", seed)
    assert numbers(gnomon.score("events", *given, variant=variant)) == numbers(
        gnomon.score("events", *other, variant=variant)
    )


def draw_boxes(rng, count):
    for _ in range(count):
        low = [0.25 * rng.randrange(4) for _ in range(3)]
        yield rng.choice(["Add", "Remove"]), low, [at + rng.choice([0.25, 0.5, 0.75]) for at in low]


def write_boxes(folder, seed=None):
    """Ten scenes of boxes on a grid, with two scores in all."""
    order = random.Random(seed)
    mixed = (lambda rows: rows) if seed is None else (lambda rows: order.sample(rows, len(rows)))
    template("change", folder)
    scenes = []
    for number, label in enumerate(sorted((folder / "dataset" / "Label").glob("*.json"))):
        rng = random.Random(number)
        true = [] if label.stem.endswith("-6") else draw_boxes(rng, 5)  # scan 6 is unchanged
        objects = [{"label": name, "min": low, "max": high} for name, low, high in true]
        label.write_text(json.dumps({"filename": label.stem, "objects": mixed(objects)}))
        label.with_suffix(".points.npz").unlink(missing_ok=True)
        boxes = [
            {"class": name, "min": low, "max": high, "score": rng.choice([0.3, 0.5])}
            for name, low, high in draw_boxes(rng, 8)
        ]
        scenes.append({"scene": label.stem, "boxes": mixed(boxes), "seconds": 0.5})
    (folder / "boxes.json").write_text(json.dumps({"scenes": mixed(scenes)}))
    return str(folder / "dataset"), str(folder / "boxes.json")


@pytest.mark.parametrize("options", [{"variant": "both"}, {"matching": "greedy"}, {"matching": "gated-hungarian"}])
def test_change(tmp_path, options):
    given, other = write_boxes(tmp_path / "a"), write_boxes(tmp_path / "b", 1)
    assert numbers(gnomon.score("change", *given, **options)) == numbers(gnomon.score("change", *other, **options))


def test_episode(tmp_path):
    folder = template("episode", tmp_path / "a")
    given = folder / "predictions"
    other = tmp_path / "other"
    other.mkdir()
    shuffle_table(given / "labels.csv", other / "labels.csv", 1)
    vectors = dict(np.load(given / "hand_trajectory_forecast.npz"))
    rows = np.random.default_rng(0).permutation(len(vectors["samples"]))
    np.savez(other / "hand_trajectory_forecast.npz", **{name: value[rows] for name, value in vectors.items()})
    truth = str(folder / "episodes")
    assert numbers(gnomon.score("episode", truth, str(given))) == numbers(gnomon.score("episode", truth, str(other)))
