"""Systems that are not gnomon's own, through the commands: one that ends its process, and one that writes anywhere."""

import json
import shutil
import subprocess
import sys

import pytest

from gnomon.core import loading
from gnomon.core.errors import InputError
from gnomon.engine.job import chosen
from gnomon.engine.plan import Limits, Node, Plan
from gnomon.suites.change.options import SimulateOptions
from gnomon.suites.change.simulate import simulate

RECOGNIZERS = """
import ctypes, os

class Sound:
    def __init__(self, level: float = 1.0):
        self.level = level
    def process(self, recs):
        pass
    def detected(self, time_range=None):
        return [{"t1": 5, "t2": 9, "label": "moving"}]
    def labels(self):
        return ["moving"]

class Exits(Sound):
    def process(self, recs):
        os._exit(3)

class Crashes(Sound):
    def __init__(self):
        ctypes.string_at(0)

class Starved(Sound):
    def detected(self, time_range=None):
        os.kill(os.getpid(), 9)

class Forks(Sound):
    def process(self, recs):
        os.fork()

class Picky(Sound):
    def process(self, recs):
        if self.level > 1:
            os._exit(3)
"""
LOUD = """
import atexit, ctypes, os
os.write(1, b"written by the import\\n")
print("printed by the import")
atexit.register(print, "printed at the end")

class Loud:
    def process(self, recs):
        os.write(1, b"written\\n")
        print("printed")
        os.system("echo echoed")
        ctypes.CDLL(None).puts(b"put by C")
        ctypes.CDLL(None).fflush(None)
    def detected(self, time_range=None):
        return []
    def labels(self):
        return ["moving"]
"""
LABELS = """
import os

class Exits:
    def fit(self, features, labels, rng):
        os._exit(3)
    def predict(self, features):
        return []
"""
DETECTORS = """
import os

class Exits:
    def __init__(self):
        os._exit(3)
    def detect(self, reference, comparison):
        return None
"""


def gnomon(*arguments, cwd):
    """Run the command itself: whatever ends it must not end the test."""
    command = [sys.executable, "-m", "gnomon", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def recordings(tmp_path):
    for name in ("one", "two", "three", "four"):
        records = [{"time": t, "type": "accel", "values": [float(t)]} for t in range(20)]
        (tmp_path / f"{name}.raw.json").write_text(json.dumps(records))
        truth = {"t1": 0, "t2": 20, "subject": name, "data_path": f"{name}.raw.json"}
        truth["labels"] = [{"t1": 5, "t2": 9, "label": "moving"}]
        (tmp_path / f"{name}.json").write_text(json.dumps(truth))
    (tmp_path / "rec.py").write_text(RECOGNIZERS)
    (tmp_path / "loud.py").write_text(LOUD)
    return tmp_path


@pytest.mark.parametrize(
    ("system", "cause", "more", "attempts"),
    [
        ("Exits", "exit code 3", (), "4 attempts"),
        ("Crashes", "killed by SIGSEGV", ("--deaths", "0"), "1 attempt"),
        ("Starved", "killed by SIGKILL", ("--deaths", "0"), "1 attempt"),
    ],
)
def test_a_recognizer_that_ends_its_process_fails_alone(recordings, system, cause, more, attempts):
    """It is tried again as often as is said, else three times: with every attempt, a worker starts."""
    systems = f"rec.py:{system},rec.py:Sound,never"
    done = gnomon("run", "events", "one.json", "two.json", "--recognizers", systems, "--json", *more, cwd=recordings)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert {run["system"]: run["complete"] for run in result["runs"]} == {
        f"rec.py:{system}": False,
        "rec.py:Sound": True,
        "never": True,
    }
    assert result["missing"] == {
        f"rec.py:{system} {case}": f"its worker died ({cause}) ({attempts})" for case in ("one", "two")
    }


@pytest.mark.parametrize("executor", ["auto", "inline"])
def test_a_recognizer_that_forks_is_scored_once(recordings, executor):
    done = gnomon(
        *("run", "events", "one.json", "two.json", "--recognizers", "rec.py:Forks,rec.py:Sound", "--json"),
        *("--executor", executor),
        cwd=recordings,
    )
    assert done.returncode == 0, done.stderr
    assert {run["system"]: run["complete"] for run in json.loads(done.stdout)["runs"]} == {
        "rec.py:Forks": True,
        "rec.py:Sound": True,
    }


def test_a_labels_system_that_ends_its_process_fails_alone(tmp_path):
    rows = [f"{n},{'ab'[n % 2]},g{n % 5},{n}" for n in range(20)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,x", *rows, ""]))
    (tmp_path / "own.py").write_text(LABELS)
    given = ("run", "labels", "--truth", "truth.csv", "--systems", "own.py:Exits,majority", "--folds", "2", "--json")
    done = gnomon(*given, "--deaths", "0", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert {run["system"]: run["complete"] for run in result["runs"]} == {"own.py:Exits": False, "majority": True}


def test_a_detector_whose_constructor_ends_its_process_fails_alone(tmp_path):
    simulate(SimulateOptions(directory=str(tmp_path / "rooms"), rooms=1, seed=3, points=2500, format="npz"))
    (tmp_path / "own.py").write_text(DETECTORS)
    systems = ("--systems", "own.py:Exits,nothing", "--part", "all", "--deaths", "0", "--json")
    done = gnomon("run", "change", "--data-path", "rooms", *systems, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert {run["system"]: run["complete"] for run in result["runs"]} == {"own.py:Exits": False, "nothing": True}


def test_a_setting_that_ends_its_process_does_not_end_a_search(recordings):
    files = [f"{name}.json" for name in ("one", "two", "three", "four")]
    asked = ("--recognizers", "rec.py:Picky", "--grid", "level=0.5,2", "--metrics", "event_macro_f1")
    parts = ("--split", "50/25/25", "--deaths", "0", "--json")
    done = gnomon("search", "events", *files, *asked, *parts, cwd=recordings)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert [run["complete"] for run in result["runs"]].count(True) == 2  # the default setting, too
    assert all("its worker died (exit code 3)" in why for why in result["missing"].values())


@pytest.mark.parametrize("executor", ["auto", "inline", pytest.param("processes", marks=pytest.mark.slow)])
def test_standard_output_holds_the_result_alone(recordings, executor):
    asked = ("--recognizers", "loud.py:Loud", "--executor", executor, "--json")
    done = gnomon("run", "events", "one.json", *asked, cwd=recordings)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["system"] == "loud.py:Loud"
    for told in ("by the import", "printed by", "printed at the end", "written", "printed", "echoed", "put by C"):
        assert told in done.stderr


def test_the_published_command_keeps_standard_output_too(recordings):
    code = "from gnomon.compat.perfboard import main; main()"
    command = [sys.executable, "-c", code, "--recognizers", "loud.py:Loud", "one.json"]
    done = subprocess.run(command, cwd=recordings, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "printed" not in done.stdout
    assert "written" not in done.stdout


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os._exit(4)", "exit code 4"),
        ("import os; os._exit(0)", "exit code 0"),
        ("exit(3)", "SystemExit: 3"),
    ],
)
def test_a_module_whose_import_ends_the_process_is_bad_input(recordings, code, cause):
    (recordings / "dead.py").write_text(code)
    done = gnomon("run", "events", "one.json", "--recognizers", "rec.py:Sound,dead.py:X", cwd=recordings)
    assert done.returncode == 2
    assert "dead.py" in done.stderr
    assert cause in done.stderr


def test_a_module_whose_import_does_not_end_is_bad_input(recordings):
    (recordings / "waits.py").write_text(f"import time\ntime.sleep(600)\n{RECOGNIZERS}")
    program = "from gnomon.core import loading; loading.IMPORT_LIMIT = 3.0\nfrom gnomon.cli.main import main; main()"
    given = ("run", "events", "one.json", "--recognizers", "waits.py:Sound", "--timeout", "1")
    command = [sys.executable, "-c", program, *given]
    done = subprocess.run(command, cwd=recordings, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 2
    assert "'waits.py:Sound': importing waits.py did not end within 3 s; move what waits" in done.stderr


def test_the_look_at_a_module_is_shortened_by_the_time_limit_of_a_cell(monkeypatch, tmp_path):
    (tmp_path / "waits.py").write_text("import time\ntime.sleep(600)\nclass X: pass\n")
    monkeypatch.setattr(loading, "LEAST", 0.5)
    with loading.limit_imports(0.1), pytest.raises(InputError, match=r"did not end within 0\.5 s"):
        loading.find_class(f"{tmp_path / 'waits.py'}:X", (), "system", {})


def test_the_time_limit_of_a_cell_covers_the_import_of_a_users_module(recordings):
    """It is imported to look at it, to plan and in a worker: the third time it waits."""
    wait = (
        "import time\nwith open('imports', 'a+') as file:\n    file.write('x')\n    file.seek(0)\n"
        "    if len(file.read()) > 2:\n        time.sleep(600)\n"
    )
    (recordings / "late.py").write_text(f"{wait}{RECOGNIZERS}")
    asked = ("--recognizers", "late.py:Sound", "--timeout", "2", "--retries", "0", "--json")
    done = gnomon("run", "events", "one.json", *asked, cwd=recordings)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["missing"] == {"late.py:Sound one": "exceeded its time limit of 2 s (1 attempt)"}


@pytest.mark.parametrize("name", ["learning.py:Learns", pytest.param("learning:Learns", marks=pytest.mark.slow)])
def test_a_trained_recognizer_is_found_by_a_worker_that_did_not_train_it(recordings, name):
    trains = "class Learns(Sound):\n    def train(self, recs, labels):\n        self.level = len(list(recs))\n"
    (recordings / "learning.py").write_text(f"{RECOGNIZERS}\n{trains}")
    given = ("run", "events", "two.json", "--train", "one.json", "--recognizers", name, "--executor", "processes")
    assert gnomon(*given, cwd=recordings).returncode == 0
    (found,) = (recordings / "runs" / "store").glob("??/*/detected.json")
    shutil.rmtree(found.parent)
    done = gnomon(*given, cwd=recordings)
    assert done.returncode == 0, done.stderr


def test_auto_takes_worker_processes_for_code_that_is_not_gnomons_own():
    own, foreign = Node("a", "m:f"), Node("b", "m:f", {"x": 1}, foreign=True)
    assert chosen(Plan([own]), "auto", 1) == "inline"
    assert chosen(Plan([own, foreign]), "auto", 1) == "processes"
    assert chosen(Plan([own, foreign]), "inline", 1) == "inline"
    assert chosen(Plan([Node("c", "m:f", limits=Limits(seconds=1))]), "auto", 1) == "processes"
    assert own.key == Node("a", "m:f", foreign=True).key


def test_a_class_of_the_running_script_is_run_in_its_process(tmp_path):
    """Also where the path of modules holds something else than text."""
    (tmp_path / "script.py").write_text(
        "import sys\nfrom pathlib import Path\nimport gnomon\nsys.path.append(Path('lib'))\n"
        "class Mine:\n"
        "    def fit(self, features, labels):\n        self.label = labels[0]\n"
        "    def predict(self, features):\n        return [self.label] * len(features)\n"
        "if __name__ == '__main__':\n"
        "    rows = range(12)\n"
        "    truth = {'id': rows, 'label': ['a', 'b'] * 6, 'group': [i % 6 for i in rows], 'x': rows}\n"
        "    for name in ('__main__:Mine', 'other.py:Mine'):\n"
        "        found = gnomon.run('labels', truth=truth, systems=name, folds=2, out='none')\n"
        "        print(found.runs[0].find('accuracy').value)\n"
    )
    (tmp_path / "other.py").write_text((tmp_path / "script.py").read_text())
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    first, second = done.stdout.split() or (done.stderr, "")
    assert first == second


def test_a_class_without_source_is_refused(tmp_path):
    program = (
        "import gnomon\n"
        "class Mine:\n    def fit(self, x, y): ...\n    def predict(self, x): return ['a'] * len(x)\n"
        "truth = {'id': range(4), 'label': list('abab'), 'group': list('xyxy'), 'x': range(4)}\n"
        "gnomon.run('labels', truth=truth, systems='__main__:Mine', folds=2, out='none')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert "Mine: __main__ has no source file, so that results of other code" in done.stderr
