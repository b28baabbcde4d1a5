"""``gnomon ablate``: what a part of a system is worth. Expected values by hand."""

import json

import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError

pytestmark = pytest.mark.usefixtures("in_this_process")

SOURCE = """
class Parts:
    '''Finds the first event with `first`, the second with `second`; `idle` does nothing; `needed` is needed.'''
    def __init__(self, first: bool = True, second: bool = True, idle: bool = True, needed: bool = True,
                 level: float = 1.0, off: bool = False):
        if not needed:
            raise RuntimeError("cannot do without it")
        self.results = [{"t1": 5, "t2": 9, "label": "moving"}] * first
        self.results += [{"t1": 12, "t2": 15, "label": "moving"}] * second
    def process(self, recs):
        pass
    def detected(self, time_range=None):
        return self.results
    def labels(self):
        return ["moving"]
"""
SUBJECTS = [f"s{n}" for n in range(1, 7)]


@pytest.fixture
def data(tmp_path):
    """Six subjects; the true events are from 5 to 9 and from 12 to 15, the second only with the first three."""
    (tmp_path / "parts.py").write_text(SOURCE)
    for number, subject in enumerate(SUBJECTS):
        (tmp_path / f"{subject}.raw.json").write_text(json.dumps([{"time": 0, "type": "accel", "values": [number]}]))
        labels = [{"t1": 5, "t2": 9, "label": "moving"}]
        labels += [{"t1": 12, "t2": 15, "label": "moving"}] if number < 3 else []
        case = {"data_path": f"{subject}.raw.json", "t1": 0, "t2": 20, "subject": {"id": subject}, "labels": labels}
        (tmp_path / f"{subject}.json").write_text(json.dumps(case))
    return tmp_path


def ablate(data, without, system="Parts", **more):
    given = {"recognizers": f"{data / 'parts.py'}:{system}", "out": "none", "metrics": "any_overlap_recall"}
    truth = [str(data / f"{subject}.json") for subject in SUBJECTS]
    return gnomon.ablate("events", without=without, **{**given, "truth": truth, **more})


def test_what_each_part_is_worth_in_points(data):
    """By hand: 9 true events; without the first 3 are found, without the second 6; swaps of 6 subjects."""
    table = ablate(data, ("first", "second")).tables["ablation"]
    rows = {row["configuration"].value: row for row in table.rows}
    assert list(rows) == ["Full", "w/o first", "w/o second"]
    assert rows["Full"]["score"].value == 1.0
    assert rows["w/o first"]["score"].value == pytest.approx(3 / 9)
    assert rows["w/o first"]["difference"].value == pytest.approx(-100 * 6 / 9)
    assert rows["w/o second"]["difference"].value == pytest.approx(-100 * 3 / 9)
    assert rows["w/o second"]["difference"].low < -100 * 3 / 9 < rows["w/o second"]["difference"].high
    columns = {column.key: column for column in table.columns}
    assert columns["difference"].unit == "points"
    assert columns["p"].title == "p (Holm)"
    # p by hand: the difference is reached only if all who differ are swapped alike: 2 of 2**6 (6 differ) for the
    # first, 2 of 2**3 (3 differ) for the second; Holm doubles the smaller one.
    assert rows["w/o first"]["p"].value == pytest.approx(2 * 2 / 64)
    assert rows["w/o second"]["p"].value == pytest.approx(2 / 8)
    assert rows["Full"]["difference"].value == ""


def test_commas_and_repetition_are_the_same(data):
    together, apart = (ablate(data, without) for without in ("first,second", ("first", "second")))
    assert together.tables["ablation"].rows == apart.tables["ablation"].rows


def test_a_part_that_does_nothing_is_named(data):
    result = ablate(data, "idle")
    (finding,) = result.record()["findings"]
    assert finding["id"] == "no-op-arm"
    assert "'Full', 'w/o idle'" in finding["evidence"]
    assert any("do not report it as an effect of zero" in note for note in result.tables["ablation"].notes)
    assert {column.title for column in result.tables["ablation"].columns} >= {"p"}


def test_a_configuration_that_fails_is_listed_and_the_others_go_on(data):
    result = ablate(data, "needed,first", retries=0)
    assert not result.complete
    rows = {row["configuration"].value: row for row in result.tables["ablation"].rows}
    assert rows["w/o needed"]["score"].why == "failed"
    assert rows["w/o needed"]["difference"].value is None
    assert rows["w/o first"]["p"].value == pytest.approx(2 / 64)
    assert any("w/o needed failed in 6 of 6 cells" in note for note in result.tables["ablation"].notes)


def test_a_recording_that_every_configuration_lacks_leaves_the_others_to_be_compared(data):
    """The recording of the last subject breaks every configuration: 5 subjects are left, all of whom differ."""
    source = (data / "parts.py").read_text()
    (data / "parts.py").write_text(
        source.replace(
            "        pass\n", "        if recs[0]['values'] == [5]:\n            raise ValueError('no signal')\n"
        )
    )
    result = ablate(data, "first", retries=0)
    assert not result.complete
    rows = {row["configuration"].value: row for row in result.tables["ablation"].rows}
    assert rows["Full"]["score"].value == 1.0
    assert (rows["w/o first"]["p"].value, rows["w/o first"]["groups"].value) == (pytest.approx(2 / 32), 5)
    notes = "\n".join(result.tables["ablation"].notes)
    assert "Full, w/o first failed in 1 of 6 cells: ValueError: no signal" in notes
    assert "all are compared on the 5 cases that every one of them scored" in notes


def test_a_measure_in_seconds_differs_in_seconds(data):
    table = ablate(data, "first", metrics="serious_error").tables["ablation"]
    assert {column.key: column.unit for column in table.columns}["difference"] == "points"
    table = ablate(data, "first", metrics="onset_error").tables["ablation"]
    assert {column.key: column.unit for column in table.columns}["difference"] == "s"


def test_a_signed_error_does_not_decide(data):
    with pytest.raises(InputError, match=r"first_onset_error_median is a signed error.* for example onset_error"):
        ablate(data, "first", metrics="first_onset_error_median")


def test_parts_headline_and_record(data):
    result = ablate(data, "first", metrics="", part="val", split="34/33/33")
    run = result.runs[0]
    assert run.roster.ids == run.roster.groups
    assert len(run.roster.ids) == 2
    assert run.manifest["options"]["ablation"] == {"without": ["first"], "metric": "event_macro_f1"}
    assert result.record()["ablation"]["metric"] == "event_macro_f1"
    assert "on the val part" in result.tables["ablation"].title


def test_the_table_can_be_set_for_a_paper(data):
    text = ablate(data, "first,second").to("latex")
    assert r"w/o first" in text
    assert r"difference (points)" in text
    assert r"\toprule" in text


def test_the_table_for_a_paper_is_had_from_the_command_line(data, capsys):
    truth = [str(data / f"{subject}.json") for subject in SUBJECTS]
    base = ["ablate", "events", "--recognizers", f"{data / 'parts.py'}:Parts", "--out", "none", "--format", "latex"]
    with pytest.raises(SystemExit) as left:
        main([*base, "--without", "first", "--metrics", "any_overlap_recall", *truth])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert out.startswith(r"\begin{table}")
    assert "{$-$}66.67" in out


@pytest.mark.parametrize(
    ("without", "system", "words"),
    [
        ("", "Parts", "nothing to switch off"),
        ("third", "Parts", "--without 'third' is unknown; .* can do without 'first', 'second', 'idle', 'needed'"),
        ("level", "Parts", "is no switch"),
        ("off", "Parts", "is off already"),
        ("first", "Parts@first=false", "is off already"),
        ("first,first", "Parts", "given twice"),
        ("first", "Parts@level=high", "expected a number"),
    ],
)
def test_what_cannot_be_switched_off_is_said(data, without, system, words):
    with pytest.raises(InputError, match=words):
        ablate(data, without, system)


def test_the_command_line(data, capsys):
    truth = [str(data / f"{subject}.json") for subject in SUBJECTS]
    base = ["ablate", "events", "--recognizers", f"{data / 'parts.py'}:Parts", "--out", str(data / "runs")]
    with pytest.raises(SystemExit) as left:
        main([*base, "--without", "first", "--without", "second", "--metrics", "any_overlap_recall", *truth])
    captured = capsys.readouterr()
    assert left.value.code == 0
    assert "w/o first" in captured.out
    assert "-66.67" in captured.out
    assert "3 runs in" in captured.err
    with pytest.raises(SystemExit) as left:
        main([*base, "--without", "first", "--json", *truth])
    record = json.loads(capsys.readouterr().out)
    assert [trial["name"] for trial in record["ablation"]["trials"]] == ["Full", "w/o first"]


def test_a_wrong_metric_is_refused_before_any_work(data, tmp_path):
    with pytest.raises(InputError, match="no measure 'beauty' in a run with these options"):
        ablate(data, ("first",), metrics="beauty", out=tmp_path / "runs")
    assert not (tmp_path / "runs" / "store").exists()
