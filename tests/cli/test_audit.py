"""``gnomon audit`` as a user meets it: leaks planted through the command line fail it, their clean twins do not."""

import json

import pytest

from gnomon.cli.main import main

pytestmark = pytest.mark.usefixtures("in_this_process")

RECOGNISERS = """
class Learner:
    '''Learns the smallest value inside of true stretches, then returns what reaches it.'''
    OFFSET = 0.0
    def __init__(self):
        self.level, self.found, self.open = 99.0, [], None
    def train(self, recs, labels):
        inside = [r["values"][0] for r in recs if any(l["t1"] <= r["time"] < l["t2"] for l in labels)]
        self.level = min([self.level, *inside])
    def reset(self):
        self.found, self.open = [], None
    def process(self, recs):
        for record in recs:
            high = record["values"][0] >= self.level + self.OFFSET
            if high and self.open is None:
                self.open = record["time"]
            if not high and self.open is not None:
                self.found.append({"t1": self.open, "t2": record["time"], "label": "moving"})
                self.open = None
    def detected(self, time_range=None):
        return self.found
    def labels(self):
        return ["moving"]

class Strict(Learner):
    OFFSET = 1.5

class Idle(Learner):
    SWITCH = False

class Silent(Learner):
    trivial = True
    train = None
    def detected(self, time_range=None):
        return []
"""
HEIGHT = {"a": 5.0, "b": 3.0, "c": 4.0, "d": 2.5}
"""Values inside of the one event of each subject; elsewhere 1."""


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rec.py").write_text(RECOGNISERS)
    for subject, height in HEIGHT.items():
        values = [height if 5 <= t < 9 else 1.0 for t in range(20)]
        records = [{"time": t, "type": "accel", "values": [value]} for t, value in enumerate(values)]
        (tmp_path / f"{subject}.raw.json").write_text(json.dumps(records))
        write(tmp_path, subject)
    return tmp_path


def write(folder, name, **changes):
    """Write the truth of a subject, or of a copy of its recording."""
    case = {"data_path": f"{name}.raw.json", "t1": 0, "t2": 20, "subject": {"id": name}, "id": name}
    case["labels"] = [{"t1": 5, "t2": 9, "label": "moving"}]
    (folder / f"{changes.get('id', name)}.json").write_text(json.dumps(case | changes))


@pytest.fixture
def run(data, capsys):
    def work(*systems, test=("a", "b"), train="c", out="runs"):
        names = ",".join(f"{data / 'rec.py'}:{name}" for name in systems)
        truth = [data / f"{name}.json" for name in test]
        options = ("--recognizers", names, "--train", data / f"{train}.json", "--out", data / out)
        code, _, err = call(capsys, "run", "events", *truth, *options)
        assert code == 0, err
        return data / out

    return work


@pytest.fixture
def audit(capsys):
    def look(*arguments):
        code, out, _ = call(capsys, "audit", *arguments, "--json")
        record = json.loads(out)
        found = {f["id"] for item in (*record["runs"], *record["across"]) for f in item["findings"]}
        return code, found, record

    return look


def test_a_clean_split_passes(run, audit):
    code, found, record = audit(run("Learner"), "--fail-on", "error")
    assert (code, found, record["failed"]) == (0, set(), False)
    assert {"read-ranges", "exact-duplicates", "shared-tags"} <= set(record["runs"][0]["made"])


def test_training_on_the_test_recordings_themselves_fails(run, audit):
    code, found, record = audit(run("Learner", train="a"), "--fail-on", "error")
    assert code == 1
    assert found == {"exact-duplicates", "read-ranges-overlap", "shared-tag"}
    assert record["worst"] == "error"
    assert record["failed"] is True


def test_a_copy_under_another_name_fails(data, run, audit):
    write(data, "a", id="copy", subject={"id": "someone"})
    code, found, _ = audit(run("Learner", train="copy"), "--fail-on", "error")
    assert (code, found) == (1, {"exact-duplicates", "read-ranges-overlap"})


def test_another_recording_of_the_same_name_passes(data, run, audit):
    """Recordings are known by their content: an id that is used twice is no leak."""
    write(data, "c", id="c2", subject={"id": "someone"})
    (data / "c2.json").write_text((data / "c2.json").read_text().replace('"c2"', '"a"'))
    code, found, _ = audit(run("Learner", train="c2"), "--fail-on", "warning")
    assert (code, found) == (0, set())


def test_another_recording_of_the_same_person_is_a_warning(data, run, audit):
    write(data, "c", subject={"id": "a"})
    folder = run("Learner")
    assert audit(folder, "--fail-on", "warning")[:2] == (1, {"shared-tag"})
    assert audit(folder, "--fail-on", "error")[0] == 0


def test_two_identical_arms_fail_and_different_ones_pass(run, audit):
    code, found, _ = audit(run("Learner", "Idle", "Silent"), "--fail-on", "error")
    assert (code, found) == (1, {"same-predictions", "no-op-arm"})
    code, found, _ = audit(run("Learner", "Strict", "Silent", train="d", out="twin"), "--fail-on", "warning")
    assert (code, found) == (0, set())


def test_findings_never_fail_unless_asked(run, audit):
    assert audit(run("Learner", train="a"))[0] == 0


def test_json_has_a_fixed_form(run, audit):
    _, _, record = audit(run("Learner", "Strict", train="a"))
    assert set(record) == {"schema", "worst", "fail_on", "failed", "runs", "across", "broken"}
    assert record["schema"] == "gnomon.audit/1"
    (ground,) = record["across"]
    keys = {"name", "suite", "systems", "runs", "paths", "worst", "findings", "made", "not_made"}
    for item in (*record["runs"], ground):
        assert set(item) == keys | ({"claims"} if item is not ground else set())
        assert all(set(f) - {"claims"} == {"id", "severity", "where", "evidence", "remedy"} for f in item["findings"])
        assert all(isinstance(why, str) for why in item["not_made"].values())
    assert ground["runs"] == [run["runs"][0] for run in record["runs"]]


def test_a_person_reads_summary_findings_and_what_was_not_made(run, capsys):
    code, out, err = call(capsys, "audit", run("Learner", train="a"))
    assert (code, err) == (0, "")
    places = [
        out.index(text) for text in ("audit of 1 run", "findings, worst first (3)", "\nmade\n", "not made, by reason")
    ]
    assert places == sorted(places)
    assert "error: exact-duplicates (parts)" in out
    assert "To do: drop one of each pair" in out
    assert "Asks the system itself" in out
    assert max(map(len, out.splitlines())) <= 120, "a line is too long to read"


def test_leave_one_out_is_audited_fold_by_fold(data, capsys, audit):
    truth = [data / f"{name}.json" for name in HEIGHT]
    options = ("--recognizers", f"{data / 'rec.py'}:Learner", "--leave-out", "subject", "--out", data / "runs")
    assert call(capsys, "run", "events", *truth, *options)[0] == 0
    assert audit(data / "runs", "--fail-on", "warning")[:2] == (0, set())
    write(data, "a", id="copy", subject={"id": "someone"})
    assert call(capsys, "run", "events", *truth, data / "copy.json", *options[:-1], data / "leak")[0] == 0
    code, found, record = audit(data / "leak", "--fail-on", "error")
    assert (code, found) == (1, {"exact-duplicates", "read-ranges-overlap"})
    assert all("in 2 of 5 folds" in f["evidence"] for f in record["runs"][0]["findings"])


def test_runs_that_cannot_be_audited_are_errors_of_their_own(run, capsys):
    folder = run("Learner", "Strict")
    broken = min(folder.glob("events-*"))
    (broken / "samples.parquet").unlink()
    code, out, err = call(capsys, "audit", folder)
    assert code == 1
    assert f"{broken} was not audited: samples.parquet: sealed but missing" in err
    assert "audit of 1 run, 1 not audited" in out
    assert "no findings, but 1 run could not be audited" in out or "(1), but 1 run could not be audited" in out


def test_a_broken_run_alone_is_not_said_to_have_no_findings(run, capsys):
    folder = run("Learner")
    (broken,) = folder.glob("events-*")
    (broken / "samples.parquet").unlink()
    code, out, _ = call(capsys, "audit", folder)
    assert code == 1
    assert "undefined (not audited)" in out
    assert "nothing was audited" in out
    assert "no findings" not in out


@pytest.mark.parametrize("place", ["absent", "."])
def test_no_run_is_bad_input(tmp_path, capsys, place):
    code, out, err = call(capsys, "audit", tmp_path / place)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_predictions_from_elsewhere_have_no_training_part(tmp_path, capsys, audit):
    call(capsys, "template", "labels", tmp_path / "d")
    files = sorted((tmp_path / "d").glob("*.csv"))
    options = ("--truth", files[1], "--predictions", files[0], "--out", tmp_path / "r")
    assert call(capsys, "score", "labels", *options)[0] == 0
    record = audit(tmp_path / "r")[2]
    assert record["runs"][0]["not_made"]["exact-duplicates"].startswith("no training part")


def test_rows_that_were_copied_into_another_group_are_found(tmp_path, capsys, audit):
    """By hand: four rows of group g0 again, under new ids and a new group; eight groups are dealt into four folds."""
    call(capsys, "simulate", "labels", tmp_path / "d", "--groups", 7, "--rows", 20)
    path = tmp_path / "d" / "truth.csv"
    head, *rows = path.read_text().splitlines()
    assert head.startswith('"id","label","group",')
    copies = [row.split(",") for row in rows[:4]]
    for number, cells in enumerate(copies):
        cells[0], cells[2] = f"copy{number}", "new"
    leak = tmp_path / "d" / "leak.csv"
    leak.write_text("\n".join([head, *rows, *(",".join(cells) for cells in copies)]) + "\n")
    for name, code in ((path, 0), (leak, 1)):
        out = tmp_path / name.stem
        assert call(capsys, "run", "labels", "--truth", name, "--folds", 4, "--out", out)[0] == 0
        left, found, _ = audit(out, "--fail-on", "error")
        assert left == code
        assert ("exact-duplicates" in found) == bool(code)
