"""``gnomon compare`` as a user meets it, on small real runs."""

import json

import pytest

from gnomon.cli.main import main

FLIP = {"a": "b", "b": "a"}


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def write(folder, groups, systems):
    """Write a truth of four rows per group and systems that are wrong on some rows or lack the last ones."""
    folder.mkdir(parents=True)
    labels = ["aabb"[i % 4] for i in range(4 * groups)]
    rows = [f"{i},{label},g{i // 4}" for i, label in enumerate(labels)]
    (folder / "truth.csv").write_text("\n".join(["id,label,group", *rows]))
    options = []
    for name, (wrong, kept) in systems.items():
        given = [f"{i},{FLIP[x] if i in wrong else x}" for i, x in enumerate(labels) if i < kept]
        (folder / f"{name}.csv").write_text("\n".join(["id,label", *given]))
        options += ["--predictions", folder / f"{name}.csv"]
    return ["--truth", folder / "truth.csv", *options]


@pytest.fixture
def score(tmp_path, capsys):
    def make(name, groups, systems, *options):
        given = write(tmp_path / name, groups, systems)
        code, _, err = call(capsys, "score", "labels", *given, *options, "--out", tmp_path / f"runs-{name}")
        assert code == (1 if options else 0), err  # a partial run leaves with 1
        return tmp_path / f"runs-{name}"

    return make


SYSTEMS = {"strong": ({3}, 99), "middle": ({0, 5, 9}, 99), "weak": ({0, 1, 6, 11, 17, 22}, 99)}


def tables(out):
    return {table["name"]: table for table in json.loads(out)["tables"]}


def test_both_tables_are_printed(capsys, score):
    code, out, _ = call(capsys, "compare", score("d", 8, SYSTEMS), "--metrics", "accuracy")
    assert code == 0
    for words in (
        "paired comparison",
        "p (Holm)",
        "since the best was chosen by its score",
        "per-group evidence: accuracy",
        "won/",
    ):
        assert words in out


def test_tables_for_a_paper_and_a_browser(capsys, score, tmp_path):
    folder = score("d", 8, SYSTEMS)
    code, out, _ = call(capsys, "compare", folder, "--format", "latex")
    assert code == 0
    assert out.count(r"\toprule") == 2
    assert "A~{$-$}~B" in out
    code, out, err = call(capsys, "compare", folder, "--format", "html", "--output", tmp_path / "new" / "page.html")
    assert (code, out, err) == (0, "", f"wrote {tmp_path / 'new' / 'page.html'}\n")
    assert '<meta charset="utf-8">' in (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    _, out, _ = call(capsys, "compare", folder, "--format", "json")
    assert out == call(capsys, "compare", folder, "--json")[1]
    code, _, err = call(capsys, "compare", folder, "--format", "csv", "--output", tmp_path / "d" / "truth.csv" / "x")
    assert code == 2
    assert "cannot be written" in err


def test_machine_output_has_both_tables(capsys, score):
    folder = score("d", 8, SYSTEMS)
    code, out, _ = call(capsys, "compare", folder, "--metrics", "accuracy", "--json")
    found = tables(out)
    assert code == 0
    assert list(found) == ["comparison", "effects"]
    assert len(json.loads(out)["runs"]) == 3
    first = found["comparison"]["rows"][0]
    # By hand: 31 of 32 right against 29 of 32; both have one wrong in the first group.
    assert (first["a"]["value"], first["b"]["value"]) == ("strong", "middle")
    assert first["difference"]["value"] == pytest.approx(2 / 32)
    assert set(first) == {"measure", "a", "b", "difference", "p", "p_holm", "groups"}
    assert found["effects"]["rows"][0]["wins"]["value"] == "2/6/0"


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        ((), [("strong", "middle"), ("strong", "weak")]),
        (("--against", "weak"), [("strong", "weak"), ("middle", "weak")]),
        (("--all-pairs",), [("strong", "middle"), ("strong", "weak"), ("middle", "weak")]),
    ],
)
def test_who_is_compared(capsys, score, options, pairs):
    _, out, _ = call(capsys, "compare", score("d", 8, SYSTEMS), *options, "--json")
    for table in tables(out).values():
        assert [(row["a"]["value"], row["b"]["value"]) for row in table["rows"]] == pairs


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--against", "nobody"), "no system 'nobody'"),
        (("--against", "weak", "--all-pairs"), "exclude each other"),
        (("--over", "rooms"), "rooms"),
        (("--over", "datasets"), "at least two datasets"),
        (("--over", "seeds"), "no system has runs of several seeds"),
    ],
)
def test_bad_requests_are_one_line_and_exit_2(capsys, score, options, words):
    code, out, err = call(capsys, "compare", score("d", 8, SYSTEMS), *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_partial_runs_are_compared_on_common_cases(capsys, score):
    """'weak' has 26 of 32 rows: six whole groups of eight."""
    folder = score("d", 8, {**SYSTEMS, "weak": ({0, 1, 6}, 26)}, "--missing", "skip")
    code, out, _ = call(capsys, "compare", folder, "--json")
    assert code == 0
    assert {row["b"]["value"]: row["groups"]["value"] for row in tables(out)["comparison"]["rows"]}["weak"] == 6
    code, out, _ = call(capsys, "compare", folder, "--common", "--json")
    assert code == 0
    found = tables(out)
    assert found["comparison"]["title"] == "paired comparison on 6 of 8 cases"
    assert found["comparison"]["notes"][0].startswith("compared on 6 of 8 cases: ")
    assert {row["groups"]["value"] for row in found["comparison"]["rows"]} == {6}


def test_over_datasets(capsys, score):
    folders = [score(name, groups, SYSTEMS) for name, groups in (("lab", 8), ("home", 9))]
    code, out, _ = call(capsys, "compare", "--over", "datasets", *folders, "--metrics", "accuracy")
    assert code == 0
    for words in (
        "3 systems on 2 datasets",
        "lab",
        "home",
        "composite",
        "undefined (2 datasets: from 5 on",
        "mean rank",
    ):
        assert words in out
    _, out, _ = call(capsys, "compare", "--over", "datasets", *folders, "--metrics", "accuracy", "--json")
    found = tables(out)
    assert list(found) == ["datasets", "comparison", "friedman", "ranks"]
    row = found["datasets"]["rows"][0]
    # By hand: 31 of 32 and 35 of 36 right.
    assert row["composite"]["value"] == pytest.approx((31 / 32 + 35 / 36) / 2)


def test_over_seeds(capsys, tmp_path):
    call(capsys, "simulate", "labels", tmp_path / "d", "--groups", 6, "--rows", 20)
    for seed in (0, 1):
        options = ("--truth", tmp_path / "d/truth.csv", "--folds", 3, "--seed", seed, "--out", tmp_path / "runs")
        assert call(capsys, "run", "labels", *options)[0] == 0
    code, out, _ = call(capsys, "compare", "--over", "seeds", tmp_path / "runs")
    assert code == 0
    for words in ("mean scores over seeds", "se: seeds", "interval rests on only 2 seeds", "over the same seeds"):
        assert words in out


def test_the_same_folder_twice_is_the_folder(capsys, score):
    folder = score("d", 8, SYSTEMS)
    once, twice = (call(capsys, "compare", *folders)[1] for folders in ([folder], [folder, folder]))
    assert once == twice
    assert "for all 3 pairs of systems" in once


def test_gaps_over_datasets_are_dashes_on_request(capsys, score):
    """'weak' was not scored at home."""
    folders = [score("lab", 8, SYSTEMS), score("home", 9, {n: SYSTEMS[n] for n in ("strong", "middle")})]
    code, _, err = call(capsys, "compare", "--over", "datasets", *folders)
    assert (code, err.count("\n")) == (2, 1)
    assert "no run of weak on home" in err
    assert "--ragged dash" in err
    code, out, _ = call(capsys, "compare", "--over", "datasets", "--ragged", "dash", *folders, "--json")
    assert code == 0
    row = next(row for row in tables(out)["datasets"]["rows"] if row["system"]["value"] == "weak")
    assert (row["dataset:home"]["value"], row["composite"]["value"]) == ("-", "-")
    assert {row["system"]["value"] for row in tables(out)["ranks"]["rows"]} == {"strong", "middle"}
    code, _, err = call(capsys, "compare", "--ragged", "dash", folders[0])
    assert code == 2
    assert "dash where datasets are compared over" in err
