"""Whole commands: data of every suite are scored whole; the sampler charges those who work."""

import sys
import time

import pytest
from benchmarks import commands, places
from benchmarks.harness import BenchmarkError
from benchmarks.million import COMMANDS

from gnomon.runs.run import load

SMALL = 2_000


def true_events(total):
    """Events of the truth by what became of them; what has a prime is an event of the results."""
    kept = [place for place, name in enumerate(total.axes["outcome"]) if not name.endswith("'")]
    return int(total["events"][..., kept].sum())


UNITS = {
    "labels": lambda run: run.coverage["rows"]["scored"],
    "har": lambda run: run.coverage["windows"]["scored"],
    "events": lambda run: true_events(run.tallies["recognition"].total()),
    "skeleton": lambda run: run.coverage["samples"]["valid"] * 24,
}
"""How a run tells the units that it scored, where it counts them."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_written_is_scored(name, tmp_path):
    pytest.importorskip(COMMANDS[name].needs)
    words = COMMANDS[name].write(tmp_path, SMALL)
    out = tmp_path / "out"
    out.mkdir()
    assert commands.inside(out, words, sample=False) == 0
    (folder,) = (path for path in (out / "runs").iterdir() if (path / "manifest.json").is_file())
    run = load(folder)
    assert run.coverage["complete"]
    if name in UNITS:
        assert UNITS[name](run) == pytest.approx(SMALL, abs=24)


def test_a_command_is_measured_and_its_data_are_gone(tmp_path):
    row = commands.measured("labels", SMALL, tmp_path).as_dict()
    assert (row["name"], row["n"], row["unit"], row["ratio"]) == ("score-labels", SMALL, "row", None)
    assert 0 < row["cpu_s"] < 60
    assert len(row["places"]) == commands.PLACES
    assert 0 < sum(share for _, share in row["places"]) <= 1
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_fails_is_an_error(tmp_path):
    with pytest.raises(BenchmarkError, match=r"gnomon score labels ended with 2: .*nowhere"):
        commands.run(tmp_path, ["labels", "--truth", "nowhere.csv", "--predictions", "nowhere.csv"])


def test_an_unknown_command_is_named(capsys):
    assert commands.main(["nonsense"]) == 2
    assert "NAME is one of labels, har" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no timer of CPU time")
def test_time_is_charged_to_the_innermost_function_of_the_package(tmp_path):
    module = tmp_path / "inner.py"
    module.write_text("def busy(work):\n    work()\n\ndef idle(work):\n    busy(work)\n", encoding="utf-8")
    space: dict = {}
    exec(compile(module.read_text(encoding="utf-8"), str(module), "exec"), space)

    def work():
        begun = time.process_time()
        while time.process_time() - begun < 0.3:
            pass

    with places.sampled(tmp_path) as found:
        space["idle"](work)
    assert found.own["inner.busy"] > 0.8 * sum(found.own.values()) > 0.2
    assert found.whole["inner.idle"] == found.whole["inner.busy"]
    assert "inner.idle" not in found.own
    assert found.slowest(1)[0][0] == "inner.busy"
    lines: list = []
    places.shown(found, 1, lines.append)
    assert lines[0] == "CPU seconds of its own"
    assert lines[1].endswith("inner.busy")
