"""Natural calls of ``labels``: each gives the numbers of the long way round, to the last bit, or says how to mend it.

The long way round is a truth table and a prediction table with invented ids, as CSV files.
"""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError

CLASSES = ("run", "sit", "walk")
ROWS = 90


class OnlyDlpack:
    """A tensor of a framework that offers DLPack and nothing else."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.fixture(scope="module")
def data():
    """Labels of two systems for ten subjects, with scores by class of the first."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 3, ROWS)
    a = np.where(rng.random(ROWS) < 0.8, truth, rng.integers(0, 3, ROWS))
    b = np.where(rng.random(ROWS) < 0.6, truth, rng.integers(0, 3, ROWS))
    scores = rng.random((ROWS, 3)) * 0.4
    scores[np.arange(ROWS), a] += 0.5
    names = np.array(CLASSES)
    subject = np.array([f"s{row % 10}" for row in range(ROWS)])
    return {
        "subject": subject,
        "window_start": np.arange(ROWS) * 2.5,
        "y_true": names[truth],
        "y_pred_modelA": names[a],
        "y_pred_modelB": names[b],
        **{f"p_modelA_{name}": scores[:, place].round(6) for place, name in enumerate(CLASSES)},
    }


def write_csv(path, columns):
    rows = zip(*columns.values(), strict=True)
    text = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """The wide table as files, and the long way round."""
    root = tmp_path_factory.mktemp("natural")
    write_csv(root / "results.csv", data)
    ids = [f"w{row:03d}" for row in range(ROWS)]
    write_csv(root / "truth.csv", {"id": ids, "label": data["y_true"], "group": data["subject"]})
    write_csv(root / "a.csv", {"id": ids, "label": data["y_pred_modelA"]})
    write_csv(root / "b.csv", {"id": ids, "label": data["y_pred_modelB"]})
    write_csv(root / "groups.csv", {"id": ids, "who": data["subject"]})
    write_csv(root / "own.csv", {"key": ids, "activity": data["y_true"], "subject": data["subject"]})
    write_csv(root / "own_a.csv", {"key": ids, "activity": data["y_pred_modelA"]})
    probabilities = {f"p_{name}": data[f"p_modelA_{name}"] for name in CLASSES}
    write_csv(root / "only_scores.csv", {"id": ids, **probabilities})
    return root


@pytest.fixture(scope="module")
def long_way(folder):
    result = gnomon.score("labels", str(folder / "truth.csv"), {"A": str(folder / "a.csv"), "B": str(folder / "b.csv")})
    return scores_of(result)


def scores_of(result):
    """Values and intervals of every score on the whole."""
    return {
        run.system: {s.name: (s.value, s.low, s.high) for s in run.scores if s.slice == "all"} for run in result.runs
    }


def frame(library, data):
    return pytest.importorskip(library).DataFrame(dict(data))


def wide(table, **options):
    predictions = {"A": "y_pred_modelA", "B": "y_pred_modelB"}
    return gnomon.score("labels", "y_true", predictions, table=table, groups="subject", **options)


def arrays(data, make, groups=None):
    columns = {name: make(data[f"y_pred_model{name}"]) for name in "AB"}
    return gnomon.score(
        "labels", make(data["y_true"]), columns, groups=make(data["subject"]) if groups is None else groups
    )


def as_codes(data):
    """Labels as integers, since tensors hold no text; classes then have other names and the same scores."""
    return {
        name: np.unique(data[name], return_inverse=True)[1] for name in ("y_true", "y_pred_modelA", "y_pred_modelB")
    }


def arrow(data):
    return pa.table(dict(data))


def tensor(values):
    return pytest.importorskip("torch").tensor(values)


def xarray_dataset(data):
    xarray = pytest.importorskip("xarray")
    return xarray.Dataset({name: ("row", values) for name, values in data.items()})


def hugging_face(data):
    """What a dataset of Hugging Face offers: columns by name, and itself as an Arrow table by format."""

    class Dataset:
        column_names = tuple(data)

        def with_format(self, name):
            assert name == "arrow"
            return Sliced()

    class Sliced:
        def __getitem__(self, rows):
            assert rows == slice(None)
            return arrow(data)

    return Dataset()


def excel(folder, data):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(data))
    for row in zip(*(values.tolist() for values in data.values()), strict=True):
        sheet.append(row)
    path = folder / "results.xlsx"
    book.save(path)
    return str(path)


CALLS = {
    "arrays of text": lambda data, folder: arrays(data, np.asarray),
    "lists": lambda data, folder: arrays(data, lambda values: values.tolist()),
    "Arrow arrays": lambda data, folder: arrays(data, lambda values: arrow({"x": values})["x"]),
    "pandas Series": lambda data, folder: arrays(data, lambda values: frame("pandas", {"x": values})["x"]),
    "pandas Categorical": lambda data, folder: arrays(
        data, lambda v: frame("pandas", {"x": v})["x"].astype("category")
    ),
    "polars Series": lambda data, folder: arrays(data, lambda values: frame("polars", {"x": values})["x"]),
    "xarray DataArray": lambda data, folder: arrays(data, lambda values: xarray_dataset({"x": values})["x"]),
    "groups as a mapping by row": lambda data, folder: arrays(
        data, np.asarray, {f"{r:02d}": g for r, g in enumerate(data["subject"])}
    ),
    "wide csv": lambda data, folder: wide(str(folder / "results.csv")),
    "wide csv as a path": lambda data, folder: wide(folder / "results.csv"),
    "wide mapping of arrays": lambda data, folder: wide(dict(data)),
    "wide Arrow table": lambda data, folder: wide(arrow(data)),
    "wide pandas frame": lambda data, folder: wide(frame("pandas", data)),
    "wide polars frame": lambda data, folder: wide(frame("polars", data)),
    "wide polars LazyFrame": lambda data, folder: wide(frame("polars", data).lazy()),
    "wide xarray Dataset": lambda data, folder: wide(xarray_dataset(data)),
    "wide Hugging Face dataset": lambda data, folder: wide(hugging_face(data)),
    "wide Excel file": lambda data, folder: wide(excel(folder, data)),
    "groups from a file": lambda data, folder: gnomon.score(
        "labels",
        str(folder / "truth.csv"),
        {"A": str(folder / "a.csv"), "B": str(folder / "b.csv")},
        groups=str(folder / "groups.csv"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_natural_calls_give_the_numbers_of_the_long_way_round(name, data, folder, long_way):
    assert scores_of(CALLS[name](data, folder)) == long_way


@pytest.mark.parametrize("make", [tensor, OnlyDlpack, np.asarray], ids=["torch", "dlpack", "numpy"])
def test_integers_of_any_framework(make, data, long_way):
    codes = as_codes(data)
    columns = {name: make(codes[f"y_pred_model{name}"]) for name in "AB"}
    found = scores_of(gnomon.score("labels", make(codes["y_true"]), columns, groups=data["subject"]))
    for system, scores in found.items():
        assert {n: scores[n] for n in ("accuracy", "macro_f1")} == {
            n: long_way[system][n] for n in ("accuracy", "macro_f1")
        }


def on_the_command_line(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", "none", "--json"])
    code = ended.value.code
    printed = capsys.readouterr()
    return code, (json.loads(printed.out) if printed.out else printed.err)


COMMANDS = {
    "wide table": (
        "--table {d}/results.csv --truth y_true --predictions A=y_pred_modelA --predictions B=y_pred_modelB "
        "--group subject"
    ),
    "own column names": ("--truth {d}/own.csv --predictions A={d}/own_a.csv --id key --label activity --group subject"),
    "groups from a file": "--truth {d}/truth.csv --predictions A={d}/a.csv --group {d}/groups.csv",
    "scores alone": "--truth {d}/truth.csv --predictions A={d}/only_scores.csv --scores p_ --group group",
    "scores in a wide table": "--table {d}/results.csv --truth y_true --scores A=p_modelA_ --group subject",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_the_numbers_of_the_long_way_round(name, folder, long_way, capsys):
    code, found = on_the_command_line(capsys, "score", "labels", *COMMANDS[name].format(d=folder).split())
    assert code == 0, found
    for run in found["runs"]:
        values = {s["name"]: s["value"] for s in run["scores"] if s["slice"] == "all"}
        assert values == {metric: value for metric, (value, *_) in long_way[run["system"]].items()}


def test_array_files(data, long_way, tmp_path):
    for name, column in (("truth", "y_true"), ("a", "y_pred_modelA")):
        np.save(tmp_path / f"{name}.npy", data[column])
    np.save(tmp_path / "scores.npy", np.stack([data[f"p_modelA_{name}"] for name in CLASSES], axis=1))
    found = gnomon.score("labels", tmp_path / "truth.npy", {"A": tmp_path / "a.npy"}, groups=data["subject"])
    assert scores_of(found)["A"] == long_way["A"]
    found = gnomon.score(
        "labels", tmp_path / "truth.npy", {"A": tmp_path / "scores.npy"}, classes=CLASSES, groups=data["subject"]
    )
    assert scores_of(found)["A"] == long_way["A"]


def test_a_table_that_a_data_frame_wrote_with_its_index(data, long_way, tmp_path):
    frame("pandas", data).to_csv(tmp_path / "results.csv")
    assert scores_of(wide(tmp_path / "results.csv")) == long_way


def test_integers_beside_empty_cells(data):
    """pandas holds such a column as floats; expected: the accuracy over the rows that are left, by NumPy."""
    codes = as_codes(data)
    table = frame("pandas", {"t": codes["y_true"], "p": codes["y_pred_modelA"]})
    table["p"] = table["p"].astype("float64").where(table.index != 5)
    found = gnomon.score("labels", "t", {"A": "p"}, table=table, groups="id", missing="skip")
    kept = np.arange(ROWS) != 5
    assert found["A", "accuracy"] == pytest.approx(np.mean(codes["y_true"][kept] == codes["y_pred_modelA"][kept]))


def test_a_table_to_fit_on_needs_no_ids_and_no_usual_names(data, tmp_path):
    """The long way round has the same rows with ids, by their places, and the usual names."""
    rows = {"activity": data["y_true"], "x": data["p_modelA_run"], "y": data["p_modelA_sit"]}
    ids = [f"{row:02d}" for row in range(ROWS)]
    usual = {"id": ids, "label": rows["activity"], "group": data["subject"], "x": rows["x"], "y": rows["y"]}
    expected = gnomon.run("labels", truth=usual, systems="nearest_mean", folds=3, out="none").scores
    own = {**rows, "subject": data["subject"]}
    write_csv(tmp_path / "own.csv", own)
    frame("pandas", own).to_csv(tmp_path / "indexed.csv")
    options = {"systems": "nearest_mean", "folds": 3, "out": "none", "label": "activity"}
    for truth in (own, tmp_path / "own.csv", tmp_path / "indexed.csv", frame("pandas", own)):
        assert gnomon.run("labels", truth=truth, groups="subject", **options).scores == expected
    assert gnomon.run("labels", truth=rows, groups=data["subject"], **options).scores == expected


def test_patterns_of_file_names_are_folders_of_shards(data, long_way, tmp_path):
    for name in ("truth", "a"):
        (tmp_path / name).mkdir()
    ids = np.array([f"w{row:03d}" for row in range(ROWS)])
    for part, rows in enumerate(np.array_split(np.arange(ROWS), 3)):
        own = {name: values[rows] for name, values in data.items()}
        truth = {"id": ids[rows], "label": own["y_true"], "group": own["subject"]}
        write_csv(tmp_path / "truth" / f"part-{part}.csv", truth)
        write_csv(tmp_path / "a" / f"part-{part}.csv", {"id": ids[rows], "label": own["y_pred_modelA"]})
    found = gnomon.score("labels", f"{tmp_path}/truth/part-*.csv", {"A": f"{tmp_path}/a/*.csv"})
    assert scores_of(found)["A"] == long_way["A"]


def test_scores_are_kept_and_give_the_answer(data, long_way, tmp_path):
    """The largest score of every row is the label of A, by construction."""
    scores = np.stack([data[f"p_modelA_{name}"] for name in CLASSES], axis=1)
    result = gnomon.score(
        "labels", data["y_true"], scores={"A": scores}, classes=CLASSES, groups=data["subject"], out=tmp_path
    )
    assert result.scores["A"]["accuracy"] == long_way["A"]["accuracy"][0]
    kept = pq.read_table(next(tmp_path.glob("*/predictions.parquet"))).to_pydict()
    assert np.array_equal(np.stack([kept[f"score:{name}"] for name in CLASSES], axis=1), scores)


def test_the_run_records_that_rows_were_aligned_by_their_order(data):
    assert arrays(data, np.asarray).runs[0].manifest["options"]["resolved"]["aligned_by"] == "row order"


ERRORS = {
    "a misspelt column": (
        lambda data: wide({**data, "y_pred_modelA": data["y_true"]}, slice=("windowstart",)),
        "did you mean 'window_start'?",
    ),
    "lengths that differ": (
        lambda data: gnomon.score("labels", data["y_true"], data["y_true"][1:]),
        "truth has 90 labels",
    ),
    "groups of another length": (
        lambda data: gnomon.score("labels", data["y_true"], data["y_true"], groups=["a", "b"]),
        "groups: 2 values, expected 90, one for each row of the truth",
    ),
    "scores without classes": (
        lambda data: gnomon.score("labels", data["y_true"], scores=np.zeros((ROWS, 3))),
        "give classes=[...]",
    ),
    "scores in place of labels": (
        lambda data: gnomon.score("labels", data["y_true"], np.zeros((ROWS, 3))),
        "give scores by class as scores=",
    ),
    "a prefix that no column has": (
        lambda data: wide(dict(data), scores={"A": "q_"}),
        "no column begins with 'q_'",
    ),
    "group twice": (
        lambda data: gnomon.score("labels", data["y_true"], data["y_true"], groups=data["subject"], group="x"),
        "both groups and group",
    ),
    "an old workbook": (lambda data: wide("results.xls"), "a workbook of a spreadsheet"),
    "files without ids": (
        lambda data: gnomon.score("labels", {"y_true": data["y_true"]}, {"A": {"id": [1], "label": ["a"]}}),
        "--table",
    ),
    "a data frame as labels": (
        lambda data: gnomon.score("labels", data["y_true"], pa_frame(data, "y_pred_modelA", "y_pred_modelB")),
        "got a data frame; give a system for each column",
    ),
    "no name of a suite": (
        lambda data: gnomon.score(data["y_true"], data["y_pred_modelA"]),
        "expected the name of a suite, but got ndarray",
    ),
    "a column with '=' in its name": (
        lambda data: gnomon.score("labels", "y_true", "pred=B", table={**data, "pred=B": data["y_true"]}),
        "give NAME=pred=B for the column 'pred=B'",
    ),
    "an empty cell of a wide table": (
        lambda data: wide({**data, "y_pred_modelA": [None, *data["y_pred_modelA"][1:]]}),
        "empty label of 'A' for data rows 1; fill in every row, or choose --missing",
    ),
    "truth values and numbers": (
        lambda data: gnomon.score("labels", np.array([True, False, True]), np.array([1, 0, 0])),
        "'0' is 'false' in another spelling; write labels alike on both sides",
    ),
    "another case": (
        lambda data: gnomon.score("labels", ["Sit", "Walk"], [" sit", "walk"]),
        "' sit' is 'Sit' in another spelling",
    ),
    "integers that became floats": (
        lambda data: gnomon.score("labels", ["1", "2"], ["1.0", "3.0"]),
        "'1.0' is '1' in another spelling",
    ),
    "a table to fit on without labels": (
        lambda data: gnomon.run("labels", truth={"y": ["a"], "f": [1.0], "group": ["s"]}, out="none"),
        "name the columns that are meant with --id and --label",
    ),
}


def pa_frame(data, *names):
    """A data frame of pandas."""
    return pytest.importorskip("pandas").DataFrame({name: data[name] for name in names})


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line_that_names_the_fix(name, data):
    call, expected = ERRORS[name]
    with pytest.raises(InputError) as caught:
        call(data)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_that_are_all_wrong_are_scored():
    """No label is common, and none is another in its spelling: wrong answers, by hand an accuracy of 0."""
    assert gnomon.score("labels", ["a", "b"], ["c", "d"]).scores["predictions"]["accuracy"] == 0
    assert gnomon.score("labels", ["a", "b"], ["A", "b"]).scores["predictions"]["accuracy"] == 0.5


def test_a_column_that_looks_like_a_group_is_offered(data, folder, capsys):
    wide = f"--table {folder}/results.csv --truth y_true --predictions A=y_pred_modelA"
    _, found = on_the_command_line(capsys, "score", "labels", *wide.split())
    (finding,) = [one for one in found["runs"][0]["findings"] if one["id"] == "no-groups"]
    assert "--group subject" in finding["remedy"]


def test_a_workbook_without_openpyxl_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(Exception, match=r"pip install 'gnomon\[excel\]'"):
        wide(str(tmp_path / "a.xlsx"))
