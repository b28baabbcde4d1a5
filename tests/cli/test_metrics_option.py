"""``--metrics``: every table, format and page shows the chosen metrics, and a user's own among them."""

import csv
import io
import json
import re
import shutil

import numpy as np
import pytest

import gnomon
from gnomon.api import present
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.core.measure import Scored
from gnomon.measures.classification import ClassCounts
from gnomon.report import FORMATS

CLASSES = ("walk", "sit, down", "stand", "lie")
NINE = "kappa,f1[sit, down],accuracy,recall[walk],macro_f1,precision[lie],micro_f1,weighted_f1,balanced_accuracy"
NINE_NAMES = [
    "kappa",
    "f1[sit, down]",
    "accuracy",
    "recall[walk]",
    "macro_f1",
    "precision[lie]",
    "micro_f1",
    "weighted_f1",
    "balanced_accuracy",
]
MCC = """
from dataclasses import dataclass
import numpy as np
from gnomon.core.measure import Scored
from gnomon.measures.classification import ClassCounts
from gnomon.measures.recognition import WindowShare
from gnomon.measures.skeletons import MPJPE


class Mcc(ClassCounts):
    bounds = (-1.0, 1.0)

    def score(self, totals, frozen=None):
        true, said, n = (np.asarray(totals[field], dtype=np.float64) for field in ("truth", "predicted", "n"))
        together = n * totals["tp"].sum(axis=-1) - (true * said).sum(axis=-1)
        spread = (n**2 - (true**2).sum(axis=-1)) * (n**2 - (said**2).sum(axis=-1))
        return Scored.ratio(together, np.sqrt(spread))


@dataclass(frozen=True)
class Fbeta(ClassCounts):
    beta: float = 1.0

    def score(self, totals, frozen=None):
        square = self.beta**2
        below = square * totals["truth"][..., 0] + totals["predicted"][..., 0]
        return Scored.ratio((1 + square) * totals["tp"][..., 0], below)


class Broken(ClassCounts):
    def score(self, totals, frozen=None):
        return Scored.ratio(totals["colour"], totals["n"])


class Loud(ClassCounts):
    def score(self, totals, frozen=None):
        print("loud")
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


class Nan(ClassCounts):
    def score(self, totals, frozen=None):
        return Scored(np.full(totals["n"].shape, np.nan), np.ones(totals["n"].shape, dtype=bool))
"""


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def drawn(seed=0, groups=8, size=96):
    """Return a truth with a tag, and answers of three systems: right at 90, 70 and 40 %."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(CLASSES, size)
    table = {
        "id": list(range(size)),
        "label": truth.tolist(),
        "group": [f"g{index % groups}" for index in range(size)],
        "room": [("hall", "attic")[index % 2] for index in range(size)],
    }
    systems = {}
    for name, share in (("good", 0.9), ("fair", 0.7), ("poor", 0.4)):
        said = np.where(rng.random(size) < share, truth, rng.choice(CLASSES, size))
        systems[name] = {"id": list(range(size)), "label": said.tolist()}
    return table, systems


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of three systems, scored by default metrics, and a file with metrics of one's own."""
    folder = tmp_path_factory.mktemp("metrics")
    truth, systems = drawn()
    gnomon.score("labels", truth, systems, out=str(folder / "runs"), slice="room")
    (folder / "mcc.py").write_text(MCC)
    return folder


def columns(table):
    return [column.key for column in table.columns if column.kind == "score"]


def headings(names):
    return [name.replace("_", " ") for name in names]


@pytest.mark.parametrize("names", [NINE_NAMES[:1], NINE_NAMES[:3], NINE_NAMES])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_exactly_these_columns(folder, capsys, names, form):
    code, out, _ = call(capsys, "report", folder / "runs", "--metrics", ",".join(names), "--format", form)
    assert code == 0
    titles = headings(names)
    if form == "json":
        tables = {table["name"]: table for table in json.loads(out)["tables"]}
        for name in ("scores", "slices"):
            assert [c["key"] for c in tables[name]["columns"] if c["kind"] == "score"] == names
        return
    if form == "csv":
        heads = [row for row in csv.reader(io.StringIO(out)) if "system" in row]
        assert [name for name in names if name in heads[0]] == names
        others = {"macro_recall", "weighted_f1", "kappa", "accuracy", "macro_f1"} - set(names)
        assert not others & set(heads[0])
        return
    if form == "latex":
        head = out.split(r"\toprule")[1].split(r"\midrule")[0]
        cells = re.sub(
            r"\\(begin|end)\{tabular\}(\[b\]\{@\{\}r@\{\}\})?|\\multicolumn\{2\}\{r\}|\\uparrow", " ", head
        ).split("&")
        assert [letters(cell) for cell in cells[3:]] == [letters(title) for title in titles]
        return
    text = letters(re.sub(r"<[^>]*>", " ", out))
    first = text[: text.index("good")]
    place = first.index("".join(letters(title) for title in titles))
    assert first[:place].endswith("systemngroups"), first


def letters(text):
    return "".join(character for character in text.casefold() if character.isalnum())


def test_the_dashboard_shows_the_chosen_columns(folder, tmp_path):
    pytest.importorskip("starlette")
    from gnomon.dashboard.gathering import gather
    from gnomon.dashboard.library import Library

    truth, systems = drawn()
    gnomon.score("labels", truth, systems, out=str(tmp_path), metrics=NINE, slice="room")
    library = Library(tmp_path)
    keys = [item.key for item in library.listed()]
    for asked in (keys, keys[:1]):
        found = gather(library, "together", asked, {})
        tables = {item.name: item for section in found.sections for item in section.items if hasattr(item, "columns")}
        assert columns(tables["scores"]) == columns(tables["slices"]) == NINE_NAMES
    assert {item.entry.headline for item in library.listed()} == {"kappa"}


def test_ranking_star_comparison_and_list_follow_the_first(tmp_path, capsys):
    """By f1[lie] the system that is worst by accuracy is the best."""
    truth, _ = drawn(size=192)
    labels = np.array(truth["label"])
    others = {"walk": "stand", "stand": "walk", "sit, down": "walk", "lie": "lie"}
    systems = {
        "lies": {"id": truth["id"], "label": [others[label] for label in labels]},
        "rest": {"id": truth["id"], "label": np.where(labels == "lie", "walk", labels).tolist()},
    }
    options = {"out": str(tmp_path)}
    by_accuracy = gnomon.score("labels", truth, systems, metrics="accuracy", **options)
    assert [row["system"].value for row in by_accuracy.tables["scores"].rows] == ["rest", "lies"]
    by_class = gnomon.score("labels", truth, systems, metrics="f1[lie],accuracy", **options)
    rows = by_class.tables["scores"].rows
    assert [row["system"].value for row in rows] == ["lies", "rest"]
    assert rows[0]["f1[lie]"].mark == "best"
    compared = by_class.tables["comparison"].rows[0]
    assert (compared["measure"].value, compared["a"].value) == ("f1[lie]", "lies")
    code, out, _ = call(capsys, "list", "runs", "--runs", tmp_path)
    assert code == 0
    assert out.count("f1[lie]") == 2
    code, out, _ = call(capsys, "compare", tmp_path)
    assert code == 0
    assert "f1[lie]" in out
    assert all(check.passed for check in gnomon.verify(tmp_path))


def test_names_of_one_variant_and_of_both(tmp_path):
    verb = gnomon.core.registry.suite("events").verb("template")
    verb.load()(verb.options(directory=str(tmp_path / "events")))
    truth = [str(tmp_path / f"events/{name}.json") for name in ("morning", "noon")]
    given = {"truth": truth, "predictions": str(tmp_path / "events/results.json"), "variant": "both", "out": "none"}
    result = gnomon.score("events", **given, metrics="edit,time_accuracy")
    shown = {run.manifest["protocol"]["variant"]: run.chosen for run in result.runs}
    assert shown == {"published": ("time_accuracy",), "strict": ("edit", "time_accuracy")}
    tables = result.tables
    assert [columns(tables[name]) for name in ("scores", "scores_2")] == [["time_accuracy"], ["edit", "time_accuracy"]]
    assert {row["measure"].value for row in tables["variants"].rows} == {"time accuracy"}
    with pytest.raises(InputError, match="no measure 'beauty'"):
        gnomon.score("events", **given, metrics="beauty")


def test_shards_have_the_chosen_columns(tmp_path):
    truth, systems = drawn()
    for part in range(2):
        rows = range(part * 48, part * 48 + 48)
        for name, table in (("truth", truth), ("good", systems["good"])):
            (tmp_path / name).mkdir(exist_ok=True)
            lines = [[table[key][row] for key in table] for row in rows]
            with (tmp_path / name / f"part-{part}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([list(table), *lines])
    (tmp_path / "mcc.py").write_text(MCC)
    options = {"truth": str(tmp_path / "truth"), "predictions": {"good": str(tmp_path / "good")}, "group": "group"}
    sharded = gnomon.score("labels", **options, out="none", metrics=f"{tmp_path}/mcc.py:Mcc,f1[sit, down]")
    whole = gnomon.score("labels", truth, systems["good"], metrics=f"{tmp_path}/mcc.py:Mcc,f1[sit, down]")
    assert columns(sharded.tables["scores"]) == ["mcc", "f1[sit, down]"]
    assert [s.value for s in sharded.runs[0].scores[:2]] == [s.value for s in whole.runs[0].scores[:2]]


def test_an_own_metric_in_json_compare_and_list(folder, tmp_path, capsys):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, systems = drawn()
    result = gnomon.score("labels", truth, systems, metrics=f"{folder}/mcc.py:Mcc", slice="room", out=str(tmp_path))
    for run in result.runs:
        expected = metrics.matthews_corrcoef(truth["label"], systems[run.system]["label"])
        found = run.find("mcc")
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.low < found.value < found.high
        assert run.find("mcc", "room=hall") is not None
        assert run.manifest["summary"]["headline"] == "mcc"
    assert columns(result.tables["scores"]) == columns(result.tables["slices"]) == ["mcc"]
    assert result.tables["scores"].rows[0]["mcc"].mark == "best"
    code, out, _ = call(capsys, "compare", folder / "runs", "--metrics", f"{folder}/mcc.py:Mcc", "--json")
    assert code == 0
    row = json.loads(out)["tables"][0]["rows"][0]
    good, fair = (metrics.matthews_corrcoef(truth["label"], systems[name]["label"]) for name in ("good", "fair"))
    assert (row["measure"]["value"], row["difference"]["value"]) == ("mcc", pytest.approx(good - fair, abs=1e-12))


@pytest.mark.parametrize("verb", ["score", "compare", "report"])
def test_what_an_own_metric_prints_does_not_mix_with_machine_output(folder, tmp_path, capsys, verb):
    truth, systems = drawn()
    paths = {name: tmp_path / f"{name}.csv" for name in ("truth", "good")}
    for path, table in zip(paths.values(), (truth, systems["good"]), strict=True):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    given = {
        "score": ("labels", "--truth", paths["truth"], "--predictions", paths["good"], "--out", "none"),
        "compare": (folder / "runs",),
        "report": (folder / "runs",),
    }[verb]
    code, out, err = call(capsys, verb, *given, "--metrics", f"{folder}/mcc.py:Loud", "--json")
    assert (code, "loud" in err) == (0, True)
    assert json.loads(out)["tables"]


def test_parameters_of_an_own_metric(folder):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, systems = drawn()
    asked = f"{folder}/mcc.py:Fbeta@beta=2,{folder}/mcc.py:Fbeta"
    (run,) = gnomon.score("labels", truth, systems["fair"], metrics=asked).runs
    assert run.chosen == ("fbeta@beta=2.0", "fbeta")
    for name, beta in (("fbeta@beta=2.0", 2), ("fbeta", 1)):
        expected = metrics.fbeta_score(
            truth["label"], systems["fair"]["label"], beta=beta, average=None, labels=["lie"]
        )
        assert run.find(name).value == pytest.approx(float(expected[0]), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Broken", r"its score fails \(.*colour"),
        ("Nan", "expected a finite score, or one that is marked as undefined, but got nan"),
        ("WindowShare@what=serious", "is computed from 'recognition', which is not among the counts"),
        ("Fbeta@gamma=1", "has no parameter 'gamma'"),
        ("Absent", "expected a class with score"),
    ],
)
def test_an_own_metric_that_cannot_be_scored_is_an_error_of_one_line(folder, capsys, name, said):
    code, out, err = call(capsys, "report", folder / "runs", "--metrics", f"{folder}/mcc.py:{name}")
    assert (code, out) == (2, "")
    assert re.search(said, err)
    assert "Traceback" not in err


class Right(ClassCounts):
    """Share of right rows."""

    def score(self, totals, frozen=None):
        """Divide right rows by all rows."""
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


def test_python_takes_a_class_and_a_metric(folder):
    truth, systems = drawn()
    for given in (Right, Right(), [Right, "kappa"]):
        result = gnomon.score("labels", truth, systems, metrics=given)
        run = result.runs[0]
        assert run.find("right").value == run.find("accuracy").value
        assert columns(result.tables["scores"])[0] == "right"
        json.dumps(result.record())
    compared = gnomon.compare(folder / "runs", metrics=[Right, "kappa"])
    assert {row["measure"].value for row in compared.tables["comparison"].rows} == {"right", "kappa"}
    assert columns(gnomon.load(folder / "runs", metrics=Right).tables["scores"]) == ["right"]


@pytest.fixture
def marked(folder, tmp_path):
    """Runs whose own metric leaves a mark whenever its file is imported; the mark of scoring is removed."""
    truth, systems = drawn()
    mark = tmp_path / "imported"
    file = tmp_path / "own.py"
    file.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{MCC}")
    result = gnomon.score("labels", truth, systems, metrics=f"{file}:Mcc,accuracy", out=str(tmp_path / "runs"))
    assert mark.exists()
    mark.unlink()
    return tmp_path / "runs", mark, {run.system: run.find("mcc").value for run in result.runs}


@pytest.mark.parametrize(
    "words",
    [
        ("list", "runs", "--runs"),
        ("report",),
        ("report", "--format", "html"),
        ("report", "--format", "latex"),
        ("report", "--metrics", "mcc,kappa"),
        ("verify",),
        ("compare",),
        ("compare", "--common"),
        ("audit",),
    ],
)
def test_reading_a_run_imports_nothing_that_it_names(marked, capsys, words):
    runs, mark, scores = marked
    code, out, err = call(capsys, *words, runs)
    assert code in (0, 1) if words == ("audit",) else code == 0, err
    assert not mark.exists()
    if words[0] in ("list", "report"):
        assert all(f"{value:.3f}" in out for value in scores.values())
    if words[0] == "verify":
        assert "not computed again: 'mcc'" in out
    if words[0] == "compare":
        assert "accuracy" in out
        assert "not compared by mcc, a user's own metric: name its class in --metrics to compare by it" in out
    shutil.rmtree(runs)


def test_the_dashboard_imports_nothing_that_a_run_names(marked):
    pytest.importorskip("starlette")
    from gnomon.dashboard.gathering import gather
    from gnomon.dashboard.library import Library

    runs, mark, scores = marked
    library = Library(runs)
    keys = [item.key for item in library.listed()]
    found = gather(library, "together", keys, {})
    table = next(item for section in found.sections for item in section.items if item.name == "scores")
    assert {row["system"].value: row["mcc"].value for row in table.rows} == scores
    gather(library, "compare", keys, {})
    gather(library, "compare", keys, {"measure": "mcc"})
    assert {item.entry.direction for item in library.listed()} == {"up"}
    assert not mark.exists()


def test_an_own_metric_is_computed_anew_where_its_class_is_named(marked):
    runs, mark, scores = marked
    with (mark.parent / "own.py").open("a") as file:
        file.write("# edited, so that it is imported again\n")
    loaded = gnomon.load(runs, metrics=f"{mark.parent}/own.py:Mcc")
    assert mark.exists()
    assert {run.system: run.find("mcc").value for run in loaded.runs} == scores
    text = (
        (mark.parent / "own.py")
        .read_text()
        .replace("Scored.ratio(together, np.sqrt(spread))", "Scored.ratio(n, 2 * n)")
    )
    (mark.parent / "own.py").write_text(text)
    again = gnomon.load(runs, metrics=f"{mark.parent}/own.py:Mcc")
    assert {run.find("mcc").value for run in again.runs} == {0.5}
    assert present(again.runs).tables["scores"].rows[0]["mcc"].value == 0.5


def test_search_decides_by_an_own_metric_and_run_uses_processes(folder, tmp_path):
    """An own metric is scored in the main process, whatever the executor; the first one decides."""
    rng = np.random.default_rng(4)
    truth = rng.choice(["a", "b"], 120)
    table = {
        "id": list(range(120)),
        "label": truth.tolist(),
        "group": [f"g{index % 12}" for index in range(120)],
        "x": (np.where(truth == "a", 0.0, 1.0) + rng.normal(0, 0.6, 120)).tolist(),
        "y": rng.normal(0, 1, 120).tolist(),
    }
    asked = {"truth": table, "metrics": f"{folder}/mcc.py:Mcc,accuracy", "out": "none", "executor": "processes"}
    result = gnomon.run("labels", systems="majority,nearest_mean", **asked, workers=1)
    assert columns(result.tables["scores"]) == ["mcc", "accuracy"]
    assert result.runs[1].find("mcc").value > 0.2
    found = gnomon.search("labels", systems="nearest_mean", grid={"shrinkage": (0.0, 1.0)}, split="50/25/25", **asked)
    record = found.extra["search"]
    assert record["metric"] == "mcc"
    assert {run.manifest["options"]["search"]["metric"] for run in found.runs} == {"mcc"}
    best = max(found.runs, key=lambda run: run.find("mcc").value or -1.0)
    assert record["winner"] == best.manifest["system"]


@pytest.mark.parametrize(
    ("suite", "base", "field"), [("events", "WindowShare", "window_s"), ("skeleton", "MPJPE", "joints")]
)
def test_an_own_metric_from_other_counts(tmp_path, suite, base, field):
    verb = gnomon.core.registry.suite(suite).verb("template")
    verb.load()(verb.options(directory=str(tmp_path)))
    (tmp_path / "own.py").write_text(
        f"import numpy as np\n{MCC}\n"
        f"class Amount({base}):\n"
        "    name = 'amount'\n"
        "    bounds = (0.0, float('inf'))\n"
        "    def score(self, totals, frozen=None):\n"
        f"        found = np.asarray(totals[{field!r}], dtype=float)\n"
        "        found = found.reshape(*np.shape(totals['n']), -1).sum(axis=-1)\n"
        "        return Scored(found, np.ones(found.shape, dtype=bool))\n"
    )
    given = {
        "events": {
            "truth": [str(tmp_path / f"{name}.json") for name in ("morning", "noon")],
            "predictions": str(tmp_path / "results.json"),
        },
        "skeleton": {"pred_file": str(tmp_path / "predictions.npz")},
    }
    result = gnomon.score(suite, **given[suite], metrics=f"{tmp_path}/own.py:Amount", out=str(tmp_path / "runs"))
    (run,) = result.runs
    tallies = run.tallies[run.measures[0].family]
    assert run.find("amount").value == pytest.approx(float(tallies.fields[field].sum()))
    again = gnomon.load(tmp_path / "runs")
    assert next(iter(again.tables.values())).rows[0]["amount"].value is not None
    assert all(check.passed for check in gnomon.verify(tmp_path / "runs"))
    with pytest.raises(InputError, match="is computed from 'classification', which is not among the counts"):
        gnomon.score(suite, **given[suite], metrics=f"{tmp_path}/own.py:Mcc", out="none")
