"""The command ``perfboard`` as its users know it, and its example. Expected values are worked by hand."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gnomon
from gnomon.compat import perfboard
from gnomon.core.loading import find_class

pytestmark = pytest.mark.usefixtures("in_this_process")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "perfboard"
COMMAND = [sys.executable, "-P", "-c", "from gnomon.compat.perfboard import main; main()"]
"""As the installed command: the working folder is not on the path."""
RECOGNISER = """
class Fixed:
    found = [{"t1": 2, "t2": 5, "label": "walking"}]
    def process(self, recs):
        print(len(list(recs)), "records")
    def detected(self, time_range=None):
        return self.found
    def labels(self):
        return ["walking"]

class Idle(Fixed):
    found = []

class Raises(Fixed):
    def process(self, recs):
        raise RuntimeError("sensor fault")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a package ``test``, a truth file of 10 s with walking from 2 to 6, and its raw data."""
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "recognizers.py").write_text(RECOGNISER)
    labels = [{"t1": 2, "t2": 6, "label": "walking"}]
    (tmp_path / "test" / "truth.json").write_text(
        json.dumps({"data_path": "raw.json", "t1": 0, "t2": 10, "labels": labels})
    )
    records = [{"time": second, "type": "accel", "values": [0, 0, 9.8]} for second in range(10)]
    (tmp_path / "test" / "raw.json").write_text(json.dumps(records))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [item for item in sys.path if item not in ("", str(tmp_path))])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        perfboard.main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


@pytest.mark.parametrize("package", [True, False])
def test_the_published_usage(folder, package):
    """Python has a package ``test`` of its own; that of the working folder is meant, with ``__init__`` or without."""
    if package:
        (folder / "test" / "__init__.py").write_text("")
        (folder / "test" / "labels.py").write_text("NAME = 'walking'\n")
        (folder / "test" / "recognizers.py").write_text(f"from test.labels import NAME\n{RECOGNISER}")
    before = set(folder.rglob("*"))
    command = [*COMMAND, "--recognizers=test.recognizers.Fixed", "test/truth.json"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert set(folder.rglob("*")) - before == {folder / "static", folder / "static" / "scores.json"}
    assert "events (published): scores" in done.stdout
    assert "records" not in done.stdout
    assert done.stderr.splitlines()[-1] == f"scores: {os.path.join('static', 'scores.json')}"
    found = json.loads((folder / "static" / "scores.json").read_text())
    assert found["recognizers"] == ["test.recognizers.Fixed"]
    assert found["results"][0]["labels_file"] == "test/truth.json"
    counts = found["scores"]["frame_scores"]["frame_counts"]
    assert {name: seconds for name, seconds in counts.items() if seconds} == {
        "TP": 3,
        "Ue": 1,
        "TN": 6,
        "P": 4,
        "N": 6,
    }


def test_gnomon_run_finds_recognisers_of_the_working_folder_too(folder):
    command = [sys.executable, "-P", "-m", "gnomon", "run", "events", "--executor", "processes", "--workers", "1"]
    command += ["--recognizers", "test.recognizers.Fixed", "test/truth.json", "--export-perfboard", "scores.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads((folder / "scores.json").read_text())["results"]
    assert result["label"] == "walking"


def test_several_recognisers_and_outpath(folder, capsys):
    names = "test/recognizers.py:Fixed,test/recognizers.py:Idle"
    code, out, err = call(capsys, "--outpath", "new/deep/s.json", "--recognizers", names, "test/truth.json")
    assert code == 0
    assert "test/recognizers.py:Idle" in out
    assert "scores: new/deep/s.json" in err
    found = json.loads((folder / "new" / "deep" / "s.json").read_text())
    assert [result["recognizer"] for result in found["results"]] == names.split(",")
    assert found["scores"]["event_scores"]["t_counts"] == {"C": 1, "D": 1, "F": 0, "FM": 0, "M": 0}
    assert not (folder / "runs").exists()


def test_partial_work_is_written_and_said(folder, capsys):
    names = ("--recognizers", "test/recognizers.py:Raises", "--recognizers", "test/recognizers.py:Fixed")
    code, _, err = call(capsys, *names, "test/truth.json")
    assert code == 1
    assert "RuntimeError: sensor fault" in err
    found = json.loads((folder / "static" / "scores.json").read_text())
    assert [result["recognizer"] for result in found["results"]] == ["test/recognizers.py:Fixed"]


GOOD = "--recognizers=test/recognizers.py:Fixed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["test/truth.json"], ["--recognizers", "perfboard --help"]),
        ([GOOD], ["TRUTH_FILE"]),
        ([GOOD, "absent.json"], ["absent.json", "no such file"]),
        (["--recognizers=nowhere.Fixed", "test/truth.json"], ["nowhere", "cannot be imported"]),
        (["--recognizers=test.recognizers.Nobody", "test/truth.json"], ["process and detected and labels"]),
        (["--recognizers=,", "test/truth.json"], ["no recognizer given"]),
        ([GOOD, "--outpath=test", "test/truth.json"], ["is a folder"]),
        ([GOOD, "--outpath=test/raw.json/s.json", "test/truth.json"], ["no folder to write into"]),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(folder, capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("perfboard: ")
    assert len(err.splitlines()) == 1
    assert all(word in err for word in words)
    assert not (folder / "static").exists()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(KeyboardInterrupt(), 130, "perfboard: interrupted\n"), (ZeroDivisionError("x"), 1, "internal error: Zero")],
)
def test_other_ends(folder, capsys, monkeypatch, error, code, words):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("gnomon.api.perform", fail)
    left, _, err = call(capsys, GOOD, "test/truth.json")
    assert left == code
    assert words in err
    if code == 1:
        with pytest.raises(ZeroDivisionError):
            perfboard.main([GOOD, "--debug", "test/truth.json"])


def test_help_is_the_published_usage_and_light():
    code = (
        "import sys; from gnomon.compat.perfboard import _parser; print(' '.join(_parser().format_usage().split()));"
        "print(*[name for name in ('numpy', 'numba', 'scipy', 'pyarrow', 'rich', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    usage, heavy = done.stdout.split("\n")[:2]
    published = "[-h] [--outpath OUTPUT_PATH] --recognizers RECOGNIZER_LIST TRUTH_FILE [TRUTH_FILE ...]"
    assert usage == f"usage: perfboard {published}"
    assert heavy == ""


def test_the_command_is_installed_under_its_name():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["perfboard"] == "gnomon.compat.perfboard:main"


def test_the_published_base_class():
    assert perfboard.AbstractRecognizer.__abstractmethods__ == {"process", "detected", "labels"}


def test_modules_of_the_working_folder_hide_nothing_for_long(folder, monkeypatch):
    """A name means the file below the working folder of the moment; what is installed is found before it later."""
    (folder / "plain_recogniser.py").write_text(RECOGNISER)
    first = find_class("plain_recogniser.Fixed", ("process",), "recognizer", {})
    assert sys.path[0] != str(folder)
    assert sys.path[-1] == str(folder)
    (folder / "other").mkdir()
    (folder / "other" / "plain_recogniser.py").write_text(RECOGNISER.replace("walking", "running"))
    monkeypatch.chdir(folder / "other")
    second = find_class("plain_recogniser.Fixed", ("process",), "recognizer", {})
    assert [kind().labels() for kind in (first, second)] == [["walking"], ["running"]]
    (folder / "other" / "broken_recogniser.py").write_text("def (:")
    with pytest.raises(gnomon.InputError, match=r"broken_recogniser: cannot be imported \(SyntaxError"):
        find_class("broken_recogniser.Fixed", ("process",), "recognizer", {})


def test_the_example_is_what_the_command_writes(tmp_path):
    command = [*COMMAND, "--outpath", str(tmp_path / "s.json"), "--recognizers=recognizers.DummyWalkingDetector"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "example_truth.json"], capture_output=True, text=True, cwd=EXAMPLE, env=environment
    )
    assert done.returncode == 0, done.stderr
    written, kept = (json.loads(path.read_text()) for path in (tmp_path / "s.json", EXAMPLE / "example_scores.json"))
    assert {**written, "t": ""} == {**kept, "t": ""}
    truth = json.loads((EXAMPLE / "example_truth.json").read_text())
    assert {key: kept["results"][0][key] for key in truth} == truth


def test_the_example_is_scored_as_its_page_says():
    """By hand from the labels and the returns of the example, all of which are whole or half seconds."""
    scores = json.loads((EXAMPLE / "example_scores.json").read_text())["scores"]
    counts = {"TP": 30 + 28 + 14 + 16.5, "D": 12, "F": 6, "Us": 1, "Ue": 1, "I": 6, "M": 4.5, "Os": 0, "Oe": 1}
    expected = {**counts, "TN": 240 - sum(counts.values()), "P": 108.5, "N": 131.5}
    assert scores["frame_scores"]["frame_counts"] == expected
    assert scores["event_scores"]["t_counts"] == {"C": 1, "D": 1, "F": 1, "FM": 0, "M": 2}
    assert scores["event_scores"]["d_counts"] == {"C'": 1, "I'": 1, "F'": 2, "FM'": 0, "M'": 1}
    page = (EXAMPLE / "README.md").read_text()
    assert f"{expected['TP']} of {expected['P']} s" in page
    assert f"{expected['TP'] + expected['TN']} of 240 s" in page


def test_the_example_data_is_what_its_script_makes(tmp_path):
    shutil.copy(EXAMPLE / "make_data.py", tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "make_data.py")], check=True)
    names = sorted(path.name for path in (EXAMPLE / "example_data").iterdir())
    assert sorted(path.name for path in (tmp_path / "example_data").iterdir()) == names
    for name in names:
        made, kept = (gzip.decompress((at / "example_data" / name).read_bytes()) for at in (tmp_path, EXAMPLE))
        assert json.loads(made) == json.loads(kept)


@pytest.mark.parametrize("chunk", [1, 7])
def test_chunks_do_not_change_the_example(tmp_path, chunk):
    options = {"recognizers": f"{EXAMPLE / 'recognizers.py'}:DummyWalkingDetector", "out": "none", "chunk": chunk}
    gnomon.run("events", truth=str(EXAMPLE / "example_truth.json"), export_perfboard=tmp_path / "s.json", **options)
    made, kept = (json.loads(path.read_text()) for path in (tmp_path / "s.json", EXAMPLE / "example_scores.json"))
    assert made["results"][0]["detected"] == kept["results"][0]["detected"]


def test_detected_takes_a_range_of_time():
    kind = find_class(f"{EXAMPLE / 'recognizers.py'}:DummyWalkingDetector", ("process",), "recognizer", {})
    detector = kind()
    detector.process({"time": t / 2, "type": "accel", "values": [0, 0, 5 + 10 * (t % 2)]} for t in range(8))
    detector.process([{"time": 9.0, "type": "gyro", "values": [9, 9, 9]}])
    assert detector.detected() == detector.detected((3.9, 5)) == [{"t1": 0.0, "t2": 4.0, "label": "walking"}]
    assert detector.detected((4.0, 5.0)) == []
