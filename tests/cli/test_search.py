"""``gnomon search``: on the validation part alone, resumable, honest about its winner. Expected values by hand."""

import json
import shutil

import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core import grids
from gnomon.core.errors import InputError, NothingScoredError
from gnomon.core.partition import parts, shares
from gnomon.suites.events import running
from gnomon.tuning import perform_search

pytestmark = pytest.mark.usefixtures("in_this_process")

SUBJECTS = [f"s{n:02d}" for n in range(1, 13)]
SPLIT = "50/25/25"
SPY = """
import json, os

class Spy:
    '''Writes down whose records it is given, and when; finds what exceeds its level.'''
    def __init__(self, level: float = 3.0, idle: float = 0.0, bridging: bool = True):
        if level < 0:
            raise ValueError(f"a level of {level}")
        self.level, self.idle = level, idle
        self.reset()
    def note(self, why, recs):
        recs = list(recs)
        with open(os.environ["SPY_LOG"], "a") as log:
            log.write(json.dumps([why, self.level, sorted({r["values"][1] for r in recs})]) + "\\n")
        return recs
    def train(self, recs, labels):
        self.note("train", recs)
    def reset(self):
        self.found, self.open = [], None
    def process(self, recs):
        for record in self.note("process", recs):
            high = record["values"][0] > self.level
            if high and self.open is None:
                self.open = record["time"]
            if not high and self.open is not None:
                self.found.append({"t1": self.open, "t2": record["time"], "label": "moving"})
                self.open = None
    def detected(self, time_range=None):
        return self.found
    def labels(self):
        return ["moving"]

class Plain(Spy):
    '''One that cannot be trained.'''
    train = None
"""


def of(part):
    return {subject for subject, own in parts(SUBJECTS, shares(SPLIT), 42).items() if own == part}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Twelve subjects, 20 s each: 2 inside the event from 5 to 9, 4 inside that from 12 to 15, 1 elsewhere."""
    monkeypatch.setenv("SPY_LOG", str(tmp_path / "log"))
    (tmp_path / "spy.py").write_text(SPY)
    for number, subject in enumerate(SUBJECTS):
        values = [2.0 if 5 <= t < 9 else 4.0 if 12 <= t < 15 else 1.0 for t in range(20)]
        records = [{"time": t, "type": "accel", "values": [v, number]} for t, v in enumerate(values)]
        (tmp_path / f"{subject}.raw.json").write_text(json.dumps(records))
        labels = [{"t1": 5, "t2": 9, "label": "moving"}, {"t1": 12, "t2": 15, "label": "moving"}]
        case = {"data_path": f"{subject}.raw.json", "t1": 0, "t2": 20, "subject": {"id": subject}, "labels": labels}
        (tmp_path / f"{subject}.json").write_text(json.dumps(case))
    return tmp_path


def seen(data):
    """Return the subjects that the spy was given, by why, and empty its log."""
    log = data / "log"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    found = {"train": [], "process": []}
    for why, level, numbers in lines:
        found[why] += [(level, SUBJECTS[int(number)]) for number in numbers]
    return found


def options(data, name="Plain", grid=(1.5, 3.0, 5.0), **more):
    given = {
        "recognizers": f"{data / 'spy.py'}:{name}",
        "truth": [str(data / f"{subject}.json") for subject in SUBJECTS],
        "split": SPLIT,
        "out": str(data / "runs"),
        "grid": {"level": grid},
        "metrics": "any_overlap_recall",
    }
    return {**given, **more}


def search(data, *arguments, **more):
    return gnomon.search("events", **options(data, *arguments, **more))


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def command_line(data, *more):
    truth = [data / f"{subject}.json" for subject in SUBJECTS]
    base = ("--recognizers", f"{data / 'spy.py'}:Plain", "--split", SPLIT, "--out", data / "runs")
    return ("search", "events", *base, *more, *truth)


@pytest.mark.parametrize("name", ["Spy", "Plain"])
@pytest.mark.parametrize("there", [True, False])
def test_nothing_of_the_test_part_is_ever_read(data, name, there):
    """The spy is given nothing of it, to train on or to test; and nobody misses its files where they are gone."""
    for subject in () if there else of("test"):
        (data / f"{subject}.raw.json").unlink()
    result = search(data, name)
    assert result.complete
    found = seen(data)
    assert {subject for _, subject in found["process"]} == of("val")
    assert {subject for _, subject in found["train"]} == (of("train") if name == "Spy" else set())
    assert of("train") | of("val") | of("test") == set(SUBJECTS)
    assert all(set(run.roster.groups) == of("val") for run in result.runs)


def test_the_spy_would_have_seen_it(data, monkeypatch):
    """With the part ignored, the same search reads all parts: the test above can fail."""
    chosen = running.choose
    monkeypatch.setattr(
        running, "choose", lambda asked: chosen(type(asked)(truth=asked.truth, recognizers=asked.recognizers))
    )
    search(data, "Spy")
    assert {subject for _, subject in seen(data)["process"]} == set(SUBJECTS)


def test_the_winner_is_tested_by_the_command_that_is_given(data, capsys):
    """By hand: above 1.5 both events are found, above 3 one of two, above 5 none; the default is 3."""
    result = search(data)
    record = result.record()["search"]
    values = {trial["setting"]["level"]: trial["value"] for trial in record["trials"]}
    assert values == {3.0: 0.5, 1.5: 1.0, 5.0: 0.0}
    assert record["winner"].endswith("Plain@level=1.5")
    assert record["default"].endswith("Plain")
    seen(data)
    words = record["command"].split()
    assert words[:3] == ["gnomon", "run", "events"]
    code, out, _ = call(capsys, *words[1:], "--json")
    assert code == 0
    tested = json.loads(out)
    assert [run["system"].rpartition(":")[2] for run in tested["runs"]] == ["Plain@level=1.5", "Plain"]
    assert {subject for _, subject in seen(data)["process"]} == of("test")


def test_the_table_tells_arms_ranks_and_best_so_far(data):
    result = search(data, grid=(5.0, 1.5, 1.7))
    rows = result.tables["search"].rows
    assert [row["level"].value for row in rows] == ["3.0", "5.0", "1.5", "1.7"]
    assert [row["arm"].value for row in rows] == [1, 2, 3, 4]
    assert [row["score"].value for row in rows] == [0.5, 0.0, 1.0, 1.0]
    assert [row["best"].value for row in rows] == [0.5, 0.5, 1.0, 1.0]
    assert [row["rank"].value for row in rows] == [3, 4, 1, 1]
    assert [row["which"].value for row in rows] == ["default", "", "winner", ""]
    (curve,) = [item for item in result.items if item.name == "best_so_far"]
    assert curve.kind == "lines"
    assert curve.data["y"] == [0.5, 0.5, 1.0, 1.0]
    assert curve.data["lines"][0].strip() == "▁▁██"


def test_what_was_searched_is_recorded_with_every_run(data):
    for run in search(data).runs:
        manifest = run.manifest["options"]
        assert manifest["search"] == {
            "metric": "any_overlap_recall",
            "part": "val",
            "grid": {"level": [1.5, 3.0, 5.0]},
            "random": 0,
            "arms": 3,
        }
        assert manifest["resolved"]["part"] == "val"


def test_the_default_is_run_once_whether_the_grid_holds_it_or_not(data):
    assert len(search(data, grid=(1.5, 3)).runs) == 2
    assert len(search(data, grid=(1.5,)).runs) == 2
    result = search(data, recognizers=f"{data / 'spy.py'}:Plain@level=5", grid=(1.5, 3, 5))
    assert [row["which"].value for row in result.tables["search"].rows] == ["default", "winner", ""]
    assert len(result.runs) == 3


def test_only_what_is_missing_is_done(data):
    """3 arms on 3 subjects are 9 cells, the default's 3 among them; then one is lost, then an arm is added."""
    search(data)
    assert len(seen(data)["process"]) == 9
    search(data)
    assert seen(data)["process"] == []
    lost = next((data / "runs" / "store").glob("??/*/detected.json")).parent
    shutil.rmtree(lost)
    search(data)
    assert len(seen(data)["process"]) == 1
    search(data, grid=(1.5, 3.0, 5.0, 7.0))
    assert {level for level, _ in seen(data)["process"]} == {7.0}


def test_a_winner_that_cannot_be_told_from_the_default_is_a_warning(data):
    """By hand: a better arm by 0.5 in each of 3 subjects, but swaps of 3 subjects give no p below 0.25."""
    result = search(data)
    (finding,) = [f for f in result.record()["findings"] if f["id"] == "winner-not-distinguishable"]
    assert finding["severity"] == "warning"
    assert "arm 2 (level=1.5) minus the default is 0.5, over 3 subjects: p (Holm) is 0.5" in finding["evidence"]
    row = result.tables["winner"].rows[0]
    assert row["difference"].value == 0.5
    assert row["p"].value == 0.25
    notes = " ".join(result.tables["winner"].notes)
    assert row["p_holm"].value == 0.5
    assert "corrected for 2 comparisons of an arm with the default" in notes
    assert "keep the default" in notes
    assert "optimistic" in " ".join(result.tables["search"].notes)


def test_a_winner_over_enough_subjects_is_none(data):
    """By hand: over 6 subjects the smallest p is 2 / 2**6, and the difference is 0.5 in each."""
    result = search(data, split="0/50/50", grid=(1.5,))
    assert result.tables["winner"].rows[0]["p"].value == 2 / 64
    assert not [f for f in result.record()["findings"] if f["id"] == "winner-not-distinguishable"]


def test_no_arm_better_than_the_default(data):
    result = search(data, recognizers=f"{data / 'spy.py'}:Plain@level=1.5", grid=(3.0, 5.0))
    assert "winner" not in result.tables
    assert any("no arm is better than the default" in note for note in result.tables["search"].notes)
    assert "--part test" in result.record()["search"]["command"]
    assert result.record()["search"]["winner"].endswith("@level=1.5")


def test_arms_that_do_nothing_are_named(data):
    result = search(data, grid=(1.5, 1.7, 3.0, 2.5))
    evidence = [f["evidence"] for f in result.record()["findings"] if f["id"] == "no-op-arm"]
    assert len(evidence) == 2
    assert any("'arm 1', 'arm 4'" in text for text in evidence)
    assert any("'arm 2', 'arm 3'" in text for text in evidence)


def test_a_failed_arm_is_listed_with_the_reason_and_the_others_go_on(data, capsys):
    code, out, _ = call(
        capsys, *command_line(data, "--grid", "level=-1,1.5", "--metrics", "any_overlap_recall", "--retries", 0)
    )
    assert code == 1
    assert "undefined (failed)" in out
    assert "arm 2 failed in 3 of 3 cells: ValueError: a level of -1.0" in out
    assert "winner" in out
    result = search(data, grid=(-1.0, 1.5), retries=0)
    assert not result.complete
    trials = {trial["setting"]["level"]: trial for trial in result.record()["search"]["trials"]}
    assert trials[-1.0]["value"] is None
    assert "a level of -1" in trials[-1.0]["failure"]
    assert trials[1.5]["value"] == 1.0


def test_a_failed_default_leaves_a_winner_without_comparison(data):
    result = search(data, recognizers=f"{data / 'spy.py'}:Plain@level=-1", grid=(1.5,), retries=0)
    assert result.tables["search"].rows[1]["which"].value == "winner"
    assert "cannot be compared with the default" in result.record()["findings"][0]["evidence"]
    asked = {"recognizers": f"{data / 'spy.py'}:Plain@level=-1", "retries": 0}
    with pytest.raises(NothingScoredError, match=r"level=-1.0': all 3 cells failed; the first: ValueError"):
        search(data, grid=(-2.0,), **asked)
    given = {name: value for name, value in options(data, **asked).items() if name != "grid"}
    everything = perform_search("events", given, {"level": grids.axis("level", (-2.0,))})
    assert everything.record()["search"]["winner"] is None
    assert any("no arm has a score" in note for note in everything.tables["search"].notes)


def test_a_measure_that_is_better_when_lower(data):
    result = search(data, metrics="serious_error")
    assert result.record()["search"]["winner"].endswith("@level=1.5")
    rows = result.tables["search"].rows
    assert [row["best"].value for row in rows] == pytest.approx([0.2, 0.0, 0.0])


def test_random_search_draws_by_the_seed(data):
    grid = {"level": "0.5..5", "idle": (0, 1)}

    def systems(**asked):
        result = gnomon.search("events", **{**options(data, **asked), "grid": grid})
        return [trial["system"] for trial in result.record()["search"]["trials"]]

    first = systems(random=4)
    assert len(set(first)) == 5
    assert systems(random=4) == first
    assert systems(random=6)[:5] == first
    assert systems(random=4, seed=1)[1:] != first[1:]


def test_nothing_is_kept_with_out_none(data, tmp_path):
    result = search(data, out="none")
    assert result.complete
    assert all(run.path is None for run in result.runs)
    assert not (tmp_path / "runs").exists()
    assert len(seen(data)["process"]) == 9


def test_json_is_alone_on_stdout(data, capsys):
    code, out, err = call(
        capsys, *command_line(data, "--grid", "level=1.5,5", "--metrics", "any_overlap_recall", "--json")
    )
    record = json.loads(out)
    assert code == 0
    assert record["search"]["part"] == "val"
    assert [table["name"] for table in record["tables"]] == ["search", "winner"]
    assert {view["name"] for view in record["views"]} == {"best_so_far", "next"}
    assert "3 runs in" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--metrics", "any_overlap_recall"), "--grid"),
        (("--grid", "level=1"), "--metrics"),
        (("--grid", "level=1", "--metrics", "beauty"), "no measure 'beauty' in a run with these options"),
        (("--grid", "depth=1", "--metrics", "any_overlap_recall"), "has no parameter 'depth'; it has 'level'"),
        (("--grid", "level=deep", "--metrics", "any_overlap_recall"), "expected a number"),
        (("--grid", "level", "--metrics", "any_overlap_recall"), "expected key=a,b,c"),
        (("--grid", "level=1..2", "--metrics", "any_overlap_recall"), "a range needs --random"),
        (("--grid", "level=1,2", "--random", "3", "--metrics", "any_overlap_recall"), "has only 2 arms"),
        (("--grid", "level=1", "--metrics", "any_overlap_recall", "--part", "test"), "No such option '--part'"),
        (("--grid", "level=1", "--metrics", "any_overlap_recall", "--variant", "both"), "two runs per arm"),
        (("--grid", "level=1", "--metrics", "x", "--recognizers", "threshold-walker"), "exactly one system"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(data, capsys, more, words):
    code, out, err = call(capsys, *command_line(data, *more))
    assert code == 2
    assert out == ""
    assert words in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--metrics", "macro_f1"), "no measure 'macro_f1'"),
        (("--metrics", "first_onset_error_median"), "is a signed error, of which neither higher nor lower is better"),
        (("--metrics", "first onset error p90"), "choose another metric, for example onset_error"),
        (("--metrics", "any_overlap_recall", "--output", "taken/table.txt"), "--output taken/table.txt: cannot be"),
        (("--metrics", "any_overlap_recall", "--export-perfboard", "."), "--export-perfboard .: is a folder"),
        (("--metrics", "any_overlap_recall", "--store", "taken"), "--store taken: is a file"),
        (("--metrics", "any_overlap_recall", "--slice", "moon"), "no tag 'moon'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_arm_runs(data, capsys, monkeypatch, more, words):
    monkeypatch.chdir(data.parent)
    (data.parent / "taken").write_text("")
    code, _, err = call(capsys, *command_line(data, "--grid", "level=1.5,5", *more))
    assert code == 2
    assert words in err
    assert seen(data)["process"] == []


def test_a_metric_may_be_given_as_tables_print_it(data):
    found = search(data, grid=(1.5, 5.0), metrics="Any-overlap RECALL")
    assert found.extra["search"]["metric"] == "any_overlap_recall"
    assert {run.manifest["options"]["search"]["metric"] for run in found.runs} == {"any_overlap_recall"}


def test_the_part_cannot_be_chosen_in_python_either(data):
    with pytest.raises(InputError, match="works on the part 'val' alone"):
        search(data, part="test")
    with pytest.raises(InputError, match="nothing to search"):
        gnomon.search("events", **{**options(data), "grid": {}})


def test_a_suite_without_parameters_says_so(capsys):
    code, _, err = call(capsys, "search", "skeleton", "x")
    assert code == 2
    assert "the systems of suite 'skeleton' have no parameters to search; those of" in err
    assert "events, labels" in err


def test_tables_for_a_paper_are_written_to_a_file(data, capsys):
    more = ("--grid", "level=1.5,5", "--metrics", "any_overlap_recall", "--format", "latex", "--output", data / "t.tex")
    code, out, err = call(capsys, *command_line(data, *more))
    assert (code, out) == (0, "")
    assert f"wrote {data / 't.tex'}" in err
    assert (data / "t.tex").read_text().count(r"\toprule") == 2


def test_without_a_test_part_no_command_is_given(data, capsys):
    more = ("--grid", "level=1.5,5", "--metrics", "any_overlap_recall", "--split", "50/50/0")
    code, out, _ = call(capsys, *command_line(data, *more))
    assert code == 0
    assert "--part test" not in out
    assert "nothing is left to test on" in out
    assert "--split 50/50/0 gives the part 'test' no group" in out
    assert search(data, split="50/50/0").record()["search"]["command"] == ""


@pytest.mark.parametrize("verb", ["search", "ablate"])
def test_exactly_one_system_is_asked_for(tmp_path, capsys, verb):
    _, out, _ = call(capsys, verb, "labels", "--help")
    assert "majority" not in out
    assert f"The one system to {verb}" in " ".join(out.split())
    own = ("--grid", "shrinkage=1", "--metrics", "macro_f1") if verb == "search" else ("--without", "scaling")
    code, _, err = call(capsys, verb, "labels", "--truth", tmp_path / "t.csv", *own)
    assert code == 2
    assert "Missing option '--systems'" in err
    code, _, err = call(capsys, verb, "labels", "--truth", tmp_path / "t.csv", *own, "--systems", "majority,stratified")
    assert code == 2
    assert "but got 2: 'majority', 'stratified'" in err


def test_no_system_in_python_is_said(data):
    with pytest.raises(InputError, match="but got none: give --recognizers NAME"):
        search(data, recognizers=())


def test_labels_can_be_searched(tmp_path, capsys):
    call(capsys, "simulate", "labels", tmp_path / "d", "--groups", 20, "--rows", 30)
    base = ("--truth", tmp_path / "d" / "truth.csv", "--systems", "nearest_mean", "--out", tmp_path / "runs")
    grid = ("--grid", "shrinkage=0,1", "--grid", "scaling=true,false", "--metrics", "macro_f1")
    code, out, _ = call(capsys, "search", "labels", *base, *grid, "--json")
    record = json.loads(out)
    assert code == 0
    assert len(record["runs"]) == 4
    best = max(trial["value"] for trial in record["search"]["trials"])
    by_name = {trial["system"]: trial["value"] for trial in record["search"]["trials"]}
    assert by_name[record["search"]["winner"]] == best
    assert by_name["nearest_mean@shrinkage=1.0"] == by_name["nearest_mean@scaling=false@shrinkage=1.0"]
