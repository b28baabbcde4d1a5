"""The command line as a user meets it: exit codes, one-line errors, machine output on stdout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.cli.main import main
from gnomon.core import registry
from gnomon.core.suite import Suite, Verb
from gnomon.report import FORMATS


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


@pytest.fixture
def pair(tmp_path, capsys):
    code, out, _ = call(capsys, "template", "labels", tmp_path / "data")
    assert code == 0
    return out.split()


@pytest.fixture
def runs(tmp_path, capsys):
    call(capsys, "simulate", "labels", tmp_path / "d", "--groups", 8, "--rows", 40)
    files = {name: tmp_path / "d" / f"{name}.csv" for name in ("truth", "strong", "weak")}
    options = ("--predictions", files["strong"], "--predictions", f"w={files['weak']}", "--out", tmp_path / "runs")
    code, _, err = call(capsys, "score", "labels", "--truth", files["truth"], *options)
    assert code == 0
    return [line.removeprefix("run: ") for line in err.splitlines()]


def test_score_prints_a_table_and_names_the_run(capsys, pair, tmp_path):
    code, out, err = call(
        capsys, "score", "labels", "--truth", pair[0], "--predictions", pair[1], "--out", tmp_path / "r"
    )
    assert code == 0
    assert "macro f1" in out
    assert "0.778" in out
    assert err.startswith("run: ")


def test_json_is_alone_on_stdout(capsys, pair, tmp_path):
    arguments = ("score", "labels", "--truth", pair[0], "--predictions", pair[1], "--out", tmp_path / "r", "--json")
    code, out, err = call(capsys, *arguments)
    record = json.loads(out)
    assert code == 0
    assert record["runs"][0]["system"] == "predictions"
    assert {score["name"] for score in record["runs"][0]["scores"]} >= {"accuracy", "macro_f1", "f1[walking]"}
    assert "run: " in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "labels", "--truth", "absent.csv", "--predictions", "x.csv"), ["absent.csv", "no such file"]),
        (("score", "labels", "--truth", "t.csv"), ["--predictions"]),
        (("score", "nothing"), ["nothing"]),
        (("frobnicate",), ["frobnicate", "--help"]),
        (("verify", "absent"), ["absent"]),
        (("report", "absent"), ["absent"]),
        (("score", "labels", "--truth", "t", "--predictions", "p", "--missing", "maybe"), ["maybe", "skip"]),
        (("score", "labels", "--truth", "t", "--predictions", "p", "--level", "2"), ["level", "2"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    "words", [(), ("score",), ("run",), ("search",), ("ablate",), ("simulate",), ("template",), ("data",)]
)
def test_without_arguments_the_help_is_printed_as_it_is(capsys, words):
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert err.count("\n") > 10
    assert (0, err, "") == call(capsys, *words, "--help")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scoer",), "no verb 'scoer'; did you mean 'score'? Verbs are score, run, "),
        (("frobnicate",), "no verb 'frobnicate'; verbs are score, run, "),
        (
            ("lables",),
            "no verb 'lables'; did you mean the suite 'labels'? A verb comes first, as in 'gnomon score labels', ",
        ),
        (("labels",), "no verb 'labels': it is a suite, and a verb comes first, as in 'gnomon score labels', "),
        (
            ("--quick",),
            "no option '--quick' of 'gnomon' itself: name the verb first, as in 'gnomon VERB --quick ...'; ",
        ),
        (("--versoin",), "Did you mean '--version'? (see 'gnomon --help')"),
        (("score", "label"), "no suite 'label' of 'gnomon score'; did you mean 'labels'? Suites are change, episode, "),
        (("score", "nothing"), "no suite 'nothing' of 'gnomon score'; suites are change, episode, "),
        (("search", "lable"), "did you mean 'labels'? Suites are change, events, labels (see "),
        (
            ("score", "--truth", "t.csv"),
            "no option '--truth' of 'gnomon score' itself: name the suite first, as in "
            "'gnomon score SUITE --truth ...'; suites are change, episode, ",
        ),
        (("score", "labels", "--thruth", "t.csv"), "Did you mean '--truth'? (see 'gnomon score labels --help')"),
        (
            ("score", "skeleton", "--truth", "t.npz"),
            "--predictions is missing: give --truth FILE and --predictions FILE",
        ),
        (("score", "skeleton", "--predictions", "p.npz"), "or --pred-file FILE, which holds both sides and cameras"),
        (("run", "events", "--truth", "t.json"), "No such option '--truth': truth files are given without an option"),
        (("run", "labels", "--predictions", "p.csv"), "'gnomon score' scores predictions made elsewhere"),
        (("compare", "runs", "--measure", "f1"), "No such option '--measure': it is --metrics. (see 'gnomon compare"),
        (("search", "labels", "--metric", "f1"), "No such option '--metric': it is --metrics. (see 'gnomon search"),
        (("run", "skeleton", "--arms", "2"), "No such option '--arms'. (see 'gnomon run skeleton --help')"),
        (
            ("data", "chek"),
            "no command 'chek' of 'gnomon data'; did you mean 'check'? Commands are check, describe, list",
        ),
        (("demo", "--suite", "lable"), "no suite 'lable'; did you mean 'labels'? Installed are change, "),
    ],
)
def test_names_that_nothing_has_bring_near_ones(capsys, words, said):
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_suite_that_does_not_offer_a_verb_is_no_suite_of_it(capsys, monkeypatch):
    toy = Suite("toy", "a toy", {"run": Verb(dict, "", "run it")}, "")
    monkeypatch.setattr(registry, "suites", lambda: {"toy": toy})
    code, _, err = call(capsys, "score", "toy")
    assert code == 2
    assert err == "gnomon: suite 'toy' does not offer 'score'; it offers run (see 'gnomon score --help')\n"


def test_help_shows_defaults_as_they_are_typed(capsys):
    assert "[default: majority, stratified, nearest_mean]" in _words(call(capsys, "run", "labels", "--help")[1])
    for name, suite in registry.suites().items():
        for verb in suite.verbs:
            assert "[default: (" not in _words(call(capsys, verb, name, "--help")[1]), (verb, name)


def test_help_says_what_a_verb_does_and_how_long_a_demonstration_takes(capsys):
    assert "skeleton  Score prediction files by the published protocol." in call(capsys, "run", "--help")[1]
    assert "--quick       Smaller data: under a minute." in call(capsys, "demo", "--help")[1]


def _words(text):
    return " ".join(text.split())


def test_a_table_by_another_separator_is_suspected(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("id;label;person;room\n1;a;x;k\n")
    code, _, err = call(capsys, "score", "labels", "--truth", tmp_path / "t.csv", "--predictions", tmp_path / "t.csv")
    assert code == 2
    assert "no column 'id', 'label'" in err
    assert "seems to be separated by semicolons, as 'id', 'label', 'person', 'room': save it with commas (.csv)" in err


def test_tracebacks_only_with_debug():
    command = [sys.executable, "-m", "gnomon", "score", "labels", "--truth", "absent.csv", "--predictions", "x"]
    plain = subprocess.run(command, capture_output=True, text=True)
    debug = subprocess.run([*command, "--debug"], capture_output=True, text=True)
    assert plain.returncode == 2
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr


def test_report_in_every_format(capsys, runs, tmp_path):
    for form in ("terminal", "csv", "markdown", "latex", "html", "json"):
        code, out, _ = call(capsys, "report", *runs, "--format", form)
        assert code == 0
        assert "strong" in out
    code, out, err = call(capsys, "report", tmp_path / "runs", "--format", "markdown", "--output", tmp_path / "o/r.md")
    assert (code, out) == (0, "")
    assert "| system |" in (tmp_path / "o/r.md").read_text()
    assert "wrote" in err


def test_html_in_a_file_is_a_page_and_on_stdout_a_part_of_one(capsys, runs, tmp_path):
    call(capsys, "report", *runs, "--format", "html", "--output", tmp_path / "o.html")
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    part = call(capsys, "report", *runs, "--format", "html")[1]
    assert "<html" not in part
    assert part.startswith("<table")


def test_help_names_every_format(capsys):
    line = next(line for line in call(capsys, "--help")[1].splitlines() if "show runs as tables" in line)
    assert all(form in line for form in FORMATS)


def test_compare(capsys, runs):
    code, out, _ = call(capsys, "compare", *runs, "--metrics", "accuracy", "--metrics", "kappa", "--json")
    assert code == 0
    assert [row["measure"]["value"] for row in json.loads(out)["tables"][0]["rows"]] == ["accuracy", "kappa"]
    code, _, err = call(capsys, "compare", runs[0])
    assert code == 2
    assert "at least two" in err
    code, _, err = call(capsys, "compare", *runs, "--metrics", "beauty")
    assert code == 2
    assert "beauty" in err


def test_compare_refuses_different_data(capsys, runs, pair, tmp_path):
    call(capsys, "score", "labels", "--truth", pair[0], "--predictions", pair[1], "--out", tmp_path / "other")
    code, _, err = call(capsys, "compare", runs[0], tmp_path / "other")
    assert code == 2
    assert "different data" in err


def test_verify_and_list(capsys, runs, tmp_path):
    code, out, _ = call(capsys, "verify", *runs)
    assert code == 0
    assert out.count("ok") >= 8
    code, out, _ = call(capsys, "list", "runs", "--runs", tmp_path / "runs")
    assert code == 0
    assert "complete" in out
    with open(f"{runs[0]}/scores.json", "r+b") as stream:
        stream.seek(100)
        stream.write(b"#")
    code, out, _ = call(capsys, "verify", *runs, "--json")
    assert code == 1
    assert json.loads(out)["passed"] is False
    for what in ("suites", "measures"):
        code, out, _ = call(capsys, "list", what)
        assert code == 0
        assert "labels" in out or "classification" in out


def test_scoring_again_gives_the_same_run_and_bytes(capsys, pair, tmp_path):
    seen = []
    for _ in range(2):
        call(capsys, "score", "labels", "--truth", pair[0], "--predictions", pair[1], "--out", tmp_path / "r")
        (run,) = (tmp_path / "r").iterdir()
        seen.append((run.name, (run / "scores.json").read_bytes(), (run / "tallies.npz").read_bytes()))
    assert seen[0] == seen[1]


def test_completion_offers_verbs_suites_and_options(monkeypatch):
    def complete(line, count):
        environment = {"_GNOMON_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(count)}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        done = subprocess.run([sys.executable, "-m", "gnomon"], capture_output=True, text=True)
        return [item.partition(",")[2] for item in done.stdout.split()]

    assert "score" in complete("gnomon sc", 1)
    assert "labels" in complete("gnomon score ", 2)
    assert "--truth" in complete("gnomon score labels --tr", 3)
    assert "skip" in complete("gnomon score labels --missing ", 4)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(capsys, shell):
    code, out, _ = call(capsys, "completion", shell)
    assert code == 0
    assert "_GNOMON_COMPLETE" in out


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path):
    """As of other programs: 141, ended by SIGPIPE, and not a word. The reader is gone before anything is said."""
    program = Path(sys.executable).parent / "gnomon"
    command = f'"{program}" list measures | true; echo "${{PIPESTATUS[@]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("141 0", "")
