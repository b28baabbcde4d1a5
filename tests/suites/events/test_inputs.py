"""What a user gives: files, folders, patterns, tiers. Scores of natural calls are in tests/natural/test_events.py."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.events.inputs import list_files, list_systems

GRID = (
    'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n10\n<exists>\n2\n'
    '"IntervalTier"\n"truth"\n0\n10\n2\n0\n4\n"walk"\n4\n10\n""\n'
    '"IntervalTier"\n"system"\n0\n10\n2\n0\n2\n"walk"\n2\n10\n""\n'
)


def test_files_are_called_by_their_names(tmp_path):
    for name in ("a.txt", "sub/b.TextGrid", "c.csv.gz", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert list(list_files(tmp_path)) == ["a", "c", "sub/b"]
    assert list(list_files(f"{tmp_path}/*.txt")) == ["a"]
    assert list(list_files(f"{tmp_path}/**/*.TextGrid")) == ["b"]
    assert list_files(tmp_path / "none.csv") == {"none": tmp_path / "none.csv"}
    with pytest.raises(InputError, match=r"\*.rttm: no file matches; check the pattern"):
        list_files(f"{tmp_path}/*.rttm")


def test_systems_have_names():
    rows = [(0, 1, "a")]
    listed = list_systems(({"a": rows, "b": "x.csv"}, "c=y.csv", "preds/*.txt"), ["r"])
    assert [(one.name, one.content) for one in listed] == [
        ("a", rows), ("b", "x.csv"), ("c", "y.csv"), ("preds", "preds/*.txt")
    ]  # fmt: skip
    assert [one.name for one in list_systems(({"r": rows, "b": rows},), ["r"])] == ["predictions"]
    assert [one.name for one in list_systems((), ["r"])] == ["predictions"]
    with pytest.raises(InputError, match="'a' occur twice"):
        list_systems(({"a": rows}, "a=x.csv"), ["r"])


def test_two_tiers_of_one_file(tmp_path):
    (tmp_path / "a.TextGrid").write_text(GRID)
    path = str(tmp_path / "a.TextGrid")
    run = gnomon.score("events", path, {"mine": path}, tier="truth", predictions_tier="system").runs[0]
    assert run.find("time_accuracy").value == 0.8
    with pytest.raises(InputError, match="2 interval tiers; there are 'truth', 'system': name one with --tier"):
        gnomon.score("events", path, {"mine": path})


def test_a_recording_in_two_files_is_refused(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("file,start,end,label\nx,0,1,a\n")
    with pytest.raises(InputError, match=r"b.csv: id: 'x' is also in .*a.csv; give each recording its own"):
        gnomon.score("events", f"{tmp_path}/*.csv", [(0, 1, "a")])
    with pytest.raises(InputError, match=r"b.csv: recording 'x' is there twice; keep it in one file"):
        gnomon.score("events", str(tmp_path / "a.csv"), f"mine={tmp_path}/*.csv")


def test_a_duration_beside_stated_windows_is_refused(tmp_path):
    truth = {"t1": 0, "t2": 10, "labels": [{"t1": 0, "t2": 4, "label": "walk"}]}
    (tmp_path / "a.json").write_text(json.dumps(truth))
    with pytest.raises(InputError, match=r"--duration: .*a.json states its windows by t1 and t2; leave the option out"):
        gnomon.score("events", str(tmp_path / "a.json"), [(0, 4, "walk")], duration=20)


def test_a_unit_of_the_truth_holds_for_json(tmp_path):
    truth = {"t1": 0, "t2": 10_000, "labels": [{"t1": 0, "t2": 4000, "label": "walk"}]}
    (tmp_path / "a.json").write_text(json.dumps(truth))
    run = gnomon.score("events", str(tmp_path / "a.json"), [(0, 2, "walk")], truth_unit="ms").runs[0]
    assert run.find("time_accuracy").value == 0.8


def test_an_empty_label_track_is_a_recording_without_events(tmp_path):
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a.txt").write_text("0\t4\twalk\n")
    (tmp_path / "truth" / "b.txt").write_text("")
    found = {"a": [(0, 4, "walk")], "b": [(0, 2, "walk")]}
    with pytest.raises(InputError, match="'b' has no event after its start, so that its length is not known"):
        gnomon.score("events", str(tmp_path / "truth"), found)
    run = gnomon.score("events", str(tmp_path / "truth"), found, duration=10).runs[0]
    assert run.find("time_accuracy").value == 0.9


def test_perfboard_is_written_from_tables(tmp_path):
    (tmp_path / "a.csv").write_text("start,end,label\n0,4,walk\n")
    gnomon.score("events", str(tmp_path / "a.csv"), [(0, 2, "walk")], export_perfboard=str(tmp_path / "scores.json"))
    (result,) = json.loads((tmp_path / "scores.json").read_text())["results"]
    assert (result["t1"], result["t2"], result["labels"]) == (0.0, 4.0, [{"t1": 0.0, "t2": 4.0, "label": "walk"}])


def test_shards_of_json_take_predictions_of_any_format(tmp_path):
    for folder in ("truth", "mine"):
        (tmp_path / folder).mkdir()
    truth = {"t1": 0, "t2": 10, "labels": [{"t1": 0, "t2": 4, "label": "walk"}]}
    (tmp_path / "truth" / "a.json").write_text(json.dumps(truth))
    (tmp_path / "mine" / "a.TextGrid").write_text(GRID)
    given = str(tmp_path / "truth"), f"mine={tmp_path / 'mine'}"
    assert gnomon.score("events", *given, tier="system").runs[0].find("time_accuracy").value == 0.8
    for more, message in (({"duration": 3}, "state their windows"), ({"group": {"a": "b"}}, "name a tag")):
        with pytest.raises(InputError, match=message):
            gnomon.score("events", *given, tier="system", **more)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start,end,label\n0,4,walk\n5,3,walk\n", r"a\.csv: row 3: ends before it starts: 5.0 to 3.0; exchange or"),
        ("start,end,label\n0,4,walk\n5,,walk\n", r"a\.csv: row 3.end: the cell is empty, expected a time"),
        ("start,end,label\n0,4,walk\n5,6,\n", r"a\.csv: row 3.label: got None, expected text"),
        ("start,end,label\n2024-01-02,2024-01-01,walk\n", r"a\.csv: row 2: ends before it starts: 2024-01-02"),
        ("start,end,label\n0,4,walk\n5;6,6,walk\n", r"a\.csv: row 3.start: '5;6' is not an ISO 8601 date"),
    ],
)
def test_a_row_that_is_wrong_is_named_on_both_sides(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    for truth, found in ((str(tmp_path / "a.csv"), [(0, 4, "walk")]), ([(0, 4, "walk")], str(tmp_path / "a.csv"))):
        with pytest.raises(InputError, match=message):
            gnomon.score("events", truth, found)


def test_a_table_is_no_truth_of_a_recogniser(tmp_path):
    (tmp_path / "a.csv").write_text("start,end,label\n0,4,walk\n")
    with pytest.raises(InputError, match=r"a\.csv: this is CSV; expected JSON with t1, t2 and labels"):
        gnomon.run("events", truth=str(tmp_path / "a.csv"), recognizers="never", out="none")
