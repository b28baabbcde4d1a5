"""Natural calls of ``events``: each gives what the long way round gives, to the last bit, or a one-line error.

The long way round is the JSON truth with windows and the JSON results of the suite. Files are written by the libraries
that people use for them: pandas (CSV, TSV), pyarrow (parquet), pympi-ling (ELAN) and praatio (TextGrid). RTTM is
written by hand after the definition of NIST, Audacity labels as Audacity exports them.
"""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError

TRUTH = {
    "kitchen": [(0.5, 2.0, "läuft"), (3.0, 4.537, "sit"), (4.537, 6.25, "läuft"), (8.1, 9.375, "fall")],
    "hall": [(0.25, 1.125, "sit"), (2.0, 7.003, "läuft"), (9.0, 12.6, "sit")],
    "room": [(1.0, 3.3, "fall"), (3.6, 4.2, "sit")],
}
FOUND = {
    "kitchen": [(0.6, 2.1, "läuft", 0.9), (3.0, 4.1, "sit", 0.8), (4.537, 6.25, "sit", 0.3)],
    "hall": [(0.25, 1.0, "sit", 0.75), (2.25, 5.0, "läuft", 0.7), (5.5, 7.0, "läuft", 0.65), (9.5, 12.0, "fall", 0.2)],
    "room": [(1.1, 3.0, "fall", 0.6)],
}
SUBJECTS = {"kitchen": "anna", "hall": "ben", "room": "anna"}


def plain(events):
    return {name: [event[:3] for event in own] for name, own in events.items()}


def end(name):
    return max(event[1] for event in TRUTH[name])


def rows(events):
    return [(name, *event) for name, own in events.items() for event in own]


def objects(own):
    return [dict(zip(("t1", "t2", "label", "score"), event, strict=False)) for event in own]


def frame(events, names=("recording", "start", "end", "label", "score")):
    held = rows(events)
    return pd.DataFrame(held, columns=list(names[: len(held[0])]))


def long_way(folder, truth=None, found=None, windows=None, **options):
    """The truth and results as the suite's own JSON."""
    truth, found = TRUTH if truth is None else truth, FOUND if found is None else found
    (folder / "long").mkdir(exist_ok=True)
    paths = []
    for name, own in truth.items():
        until = (windows or {}).get(name) or max(event[1] for event in own)
        held = {"id": name, "t1": 0, "t2": until, "labels": objects(own), "subject": SUBJECTS.get(name, "x")}
        (folder / "long" / f"{name}.json").write_text(json.dumps(held))
        paths.append(str(folder / "long" / f"{name}.json"))
    (folder / "long" / "results.json").write_text(json.dumps({name: objects(own) for name, own in found.items()}))
    options = {"group": "recording", **options}
    return gnomon.score("events", paths, {"mine": str(folder / "long" / "results.json")}, **options).runs[0]


def assert_same(run, other):
    """Scores with their intervals, groups, and what was detected, to the last bit."""
    assert [repr(score) for score in run.scores] == [repr(score) for score in other.scores]
    assert len(run.scores) > 20
    assert (run.roster.ids, run.roster.groups) == (other.roster.ids, other.roster.groups)
    table = pq.read_table(run.path / "predictions.parquet") if run.table is None else run.table
    assert table.equals(other.table)
    assert run.ground == other.ground


def write_csv(folder, events):
    frame(events).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def write_semicolons(folder, events):
    names = ("Filename", "Start Time", "End Time", "Activity", "Confidence")
    frame(events, names).to_csv(folder / "t.csv", index=False, sep=";")
    return folder / "t.csv"


def write_packed(folder, events):
    frame(events, ("file", "begin", "end", "class", "prob")).to_csv(folder / "t.csv.gz", index=False)
    return folder / "t.csv.gz"


def write_durations(folder, events):
    held = frame(events, ("video", "onset", "offset", "event_label", "probability"))
    held["duration"] = [f"{b - a:.3f}" for a, b in zip(held["onset"], held["offset"], strict=True)]
    held.drop(columns="offset").to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def write_dcase(folder, events):
    frame(events, ("filename", "onset", "offset", "event_label", "score")).to_csv(
        folder / "t.tsv", index=False, sep="\t"
    )
    return folder / "t.tsv"


def write_bare_dcase(folder, events):
    frame(plain(events)).to_csv(folder / "t.tsv", index=False, header=False, sep="\t")
    return folder / "t.tsv"


def write_parquet(folder, events):
    pq.write_table(pa.Table.from_pandas(frame(events), preserve_index=False), folder / "t.parquet")
    return folder / "t.parquet"


def write_lines(folder, events):
    frame(events).to_json(folder / "t.jsonl", orient="records", lines=True, force_ascii=False, double_precision=15)
    return folder / "t.jsonl"


def write_audacity(folder, events):
    (folder / "tracks").mkdir()
    for name, own in events.items():
        lines = [f"{a:.6f}\t{b:.6f}\t{label}\n\\\t-1.000000\t8000.000000\n" for a, b, label, *_ in own]
        (folder / "tracks" / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder / "tracks"


def write_elan(folder, events):
    pympi = pytest.importorskip("pympi", reason="pympi-ling is not installed (extra test)")
    (folder / "elan").mkdir()
    for name, own in events.items():
        document = pympi.Elan.Eaf(author="someone")
        document.remove_tier("default")
        document.add_tier("activity")
        for a, b, label, *_ in own:
            document.add_annotation("activity", round(a * 1000), round(b * 1000), label)
        document.to_file(str(folder / "elan" / f"{name}.eaf"))
    return folder / "elan"


def write_grids(folder, events, form="long_textgrid", encoding=None):
    praatio = pytest.importorskip("praatio.textgrid", reason="praatio is not installed (extra test)")
    tiers = pytest.importorskip("praatio.data_classes.interval_tier")
    (folder / "grids").mkdir()
    for name, own in events.items():
        grid = praatio.Textgrid()
        grid.addTier(tiers.IntervalTier("activity", [event[:3] for event in own], 0, end(name)))
        path = folder / "grids" / f"{name}.TextGrid"
        grid.save(str(path), format=form, includeBlankSpaces=True)
        if encoding:  # as Praat itself saves text that is not ASCII
            path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    return folder / "grids"


def write_short_grids(folder, events):
    return write_grids(folder, events, "short_textgrid", "utf-16")


def write_rttm(folder, events):
    lines = [
        f"SPEAKER {name} 1 {a:.3f} {b - a:.3f} <NA> <NA> {label} {score[0] if score else '<NA>'} <NA>"
        for name, a, b, label, *score in rows(events)
    ]
    (folder / "t.rttm").write_text("\n".join([";; by hand", *lines, ""]), encoding="utf-8")
    return folder / "t.rttm"


def write_json(folder, events):
    (folder / "t.json").write_text(json.dumps({name: objects(own) for name, own in events.items()}))
    return folder / "t.json"


SCORED = [
    write_csv,
    write_semicolons,
    write_packed,
    write_durations,
    write_dcase,
    write_parquet,
    write_lines,
    write_rttm,
]
UNSCORED = [write_bare_dcase, write_audacity, write_elan, write_grids, write_short_grids]


@pytest.mark.parametrize("write", [*SCORED, *UNSCORED], ids=lambda write: write.__name__)
def test_a_truth_in_any_format(tmp_path, write):
    path = write(tmp_path, plain(TRUTH))
    found = gnomon.score("events", str(path), {"mine": write_json(tmp_path, FOUND)}, group="recording").runs[0]
    expected = long_way(tmp_path)
    by_name = write in (write_audacity, write_elan, write_grids, write_short_grids)  # folders are in natural order
    if by_name:
        held = {name: TRUTH[name] for name in sorted(TRUTH)}
        expected = long_way(tmp_path, held)
    assert_same(found, expected)


@pytest.mark.parametrize("write", [*SCORED, *UNSCORED, write_json], ids=lambda write: write.__name__)
def test_predictions_in_any_format(tmp_path, write):
    truth = write_csv(tmp_path, plain(TRUTH)).rename(tmp_path / "truth.csv")
    path = write(tmp_path, FOUND)
    found = gnomon.score("events", truth, {"mine": path}, group="recording").runs[0]
    assert_same(found, long_way(tmp_path, found=plain(FOUND) if write in UNSCORED else FOUND))


def by_recording(events):
    return {name: [tuple(event) for event in own] for name, own in events.items()}


def one(events):
    return events["kitchen"]


ONE_TRUTH, ONE_FOUND = {"recording": TRUTH["kitchen"]}, {"recording": FOUND["kitchen"]}


class Stream:
    """A table of another library, known by the Arrow interface alone."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


PYTHON = {
    "pandas frames": (lambda: frame(plain(TRUTH)), lambda: {"mine": frame(FOUND)}),
    "categories": (lambda: frame(plain(TRUTH)).astype({"label": "category"}), lambda: {"mine": frame(FOUND)}),
    "Arrow tables": (
        lambda: pa.Table.from_pandas(frame(plain(TRUTH))),
        lambda: {"mine": pa.Table.from_pandas(frame(FOUND), preserve_index=False)},
    ),
    "tables of another library": (
        lambda: Stream(pa.Table.from_pandas(frame(plain(TRUTH)))),
        lambda: {"mine": Stream(pa.Table.from_pandas(frame(FOUND)))},
    ),
    "mappings of columns": (
        lambda: frame(plain(TRUTH)).to_dict("list"),
        lambda: {"mine": frame(FOUND).to_dict("list")},
    ),
    "recordings called by their sound files": (
        lambda: by_recording(TRUTH),
        lambda: {"mine": {f"{name}.wav": own for name, own in by_recording(FOUND).items()}},
    ),
    "lists by recording": (lambda: by_recording(TRUTH), lambda: {"mine": by_recording(FOUND)}),
    "a frame by recording": (
        lambda: {
            name: own.drop(columns="recording") for name, own in frame(plain(TRUTH)).groupby("recording", sort=False)
        },
        lambda: {"mine": by_recording(FOUND)},
    ),
    "objects": (
        lambda: [{"recording": n, "onset": a, "offset": b, "label": x} for n, a, b, x in rows(plain(TRUTH))],
        lambda: {"mine": by_recording(FOUND)},
    ),
}


@pytest.mark.parametrize("name", PYTHON)
def test_what_is_in_memory(tmp_path, name):
    truth, found = (make() for make in PYTHON[name])
    run = gnomon.score("events", truth, found, group="recording").runs[0]
    assert_same(run, long_way(tmp_path))
    assert run.manifest["inputs"] == []


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        (TRUTH["kitchen"], FOUND["kitchen"]),
        ([list(event) for event in TRUTH["kitchen"]], tuple(FOUND["kitchen"])),
        (objects(TRUTH["kitchen"]), objects(FOUND["kitchen"])),
        (frame({"": TRUTH["kitchen"]}).drop(columns="recording"), FOUND["kitchen"]),
    ],
    ids=["tuples", "lists", "objects", "a frame without recordings"],
)
def test_one_recording_in_memory(tmp_path, truth, found):
    run = gnomon.score("events", truth, found).runs[0]
    assert run.system == "predictions"
    assert_same(run, long_way(tmp_path, ONE_TRUTH, ONE_FOUND))


def test_predictions_by_recording_without_a_name(tmp_path):
    """A name that is a recording of the truth makes a mapping one by recording."""
    run = gnomon.score("events", by_recording(TRUTH), by_recording(FOUND)).runs[0]
    assert run.system == "predictions"
    assert_same(run, long_way(tmp_path))


def test_several_systems_by_name(tmp_path):
    result = gnomon.score("events", frame(plain(TRUTH)), {"perfect": frame(plain(TRUTH)), "mine": by_recording(FOUND)})
    assert [run.system for run in result.runs] == ["perfect", "mine"]
    assert result.scores["perfect"]["event_macro_f1"] == 1.0
    assert_same(result.runs[1], long_way(tmp_path))


GROUPS = {
    "a column": lambda folder: "subject",
    "a mapping": lambda folder: SUBJECTS,
    "one value per recording": lambda folder: ["anna", "ben", "anna"],
    "one value per row": lambda folder: pd.Series([SUBJECTS[name] for name, *_ in rows(TRUTH)]),
    "a table": lambda folder: write_groups(folder),
    "nothing, where the truth names subjects": lambda folder: "",
}


def write_groups(folder):
    pd.DataFrame(SUBJECTS.items(), columns=["recording", "subject"]).to_csv(folder / "groups.csv", index=False)
    return str(folder / "groups.csv")


@pytest.mark.parametrize("name", GROUPS)
def test_groups(tmp_path, name):
    truth = frame(plain(TRUTH))
    if name in ("a column", "nothing, where the truth names subjects"):
        truth["subject"] = [SUBJECTS[recording] for recording in truth["recording"]]
    run = gnomon.score("events", truth, {"mine": frame(FOUND)}, group=GROUPS[name](tmp_path)).runs[0]
    expected = long_way(tmp_path, group="subject")
    values = [[(one.name, one.value, one.low, one.high) for one in held.scores] for held in (run, expected)]
    assert values[0] == values[1]
    assert run.roster.groups == expected.roster.groups == ("anna", "ben", "anna")
    resolved = run.manifest["options"]["resolved"]
    inside = name in ("a column", "nothing, where the truth names subjects")
    assert resolved["group"] == ("subject" if inside or name == "a table" else "group")
    assert ("groups_from" in resolved) == (not inside)


def command(tmp_path, *words):
    """What a command scored, from its run."""
    with pytest.raises(SystemExit) as stop:
        main(["score", "events", *map(str, words), "--out", str(tmp_path / "runs")])
    assert not stop.value.code
    return gnomon.load(tmp_path / "runs").runs[0]


def test_a_command_with_two_tables(tmp_path):
    truth = write_csv(tmp_path, plain(TRUTH)).rename(tmp_path / "truth.csv")
    run = command(tmp_path, "--truth", truth, "--predictions", f"mine={write_dcase(tmp_path, FOUND)}")
    assert run.system == "mine"
    assert_same(run, long_way(tmp_path))
    (finding,) = (one for one in run.findings if one.id == "windows-used")
    assert finding.severity == "info"
    assert "with the last true event (3 recordings, 4.2 to 12.6 s)" in finding.evidence
    assert run.manifest["options"]["resolved"]["windows"] == "last-event"


def test_a_command_with_a_pattern_and_a_folder(tmp_path):
    write_grids(tmp_path, plain(TRUTH))
    write_audacity(tmp_path, FOUND)
    words = ("--truth", tmp_path / "grids" / "*.TextGrid", "--predictions", tmp_path / "tracks")
    run = command(tmp_path, *words)
    assert run.system == "tracks"
    assert_same(run, long_way(tmp_path, {name: TRUTH[name] for name in sorted(TRUTH)}, plain(FOUND)))
    assert run.manifest["options"]["resolved"]["windows"] == "file"


def test_a_command_with_a_pattern_of_predictions_is_called_after_its_folder(tmp_path):
    truth = write_csv(tmp_path, plain(TRUTH))
    run = command(tmp_path, "--truth", truth, "--predictions", f"{write_audacity(tmp_path, FOUND)}/*.txt")
    assert run.system == "tracks"
    assert_same(run, long_way(tmp_path, found=plain(FOUND)))


def test_a_command_with_several_truth_files(tmp_path):
    folder = write_elan(tmp_path, plain(TRUTH))
    files = [word for name in TRUTH for word in ("--truth", folder / f"{name}.eaf")]
    run = command(tmp_path, *files, "--predictions", f"mine={write_rttm(tmp_path, FOUND)}")
    assert_same(run, long_way(tmp_path))


LENGTHS = {"kitchen": 20.0, "hall": 20.0, "room": 20.0}
DURATIONS = {
    "seconds": lambda folder: 20,
    "text": lambda folder: "20",
    "a mapping": lambda folder: LENGTHS,
    "a frame": lambda folder: pd.DataFrame({"recording": LENGTHS.keys(), "duration": LENGTHS.values()}),
    "a table": lambda folder: write_lengths(folder),
}


def write_lengths(folder):
    pd.DataFrame({"filename": LENGTHS.keys(), "duration": LENGTHS.values()}).to_csv(folder / "d.csv", index=False)
    return str(folder / "d.csv")


@pytest.mark.parametrize("name", DURATIONS)
def test_durations(tmp_path, name):
    truth, length = frame(plain(TRUTH)), DURATIONS[name](tmp_path)
    run = gnomon.score("events", truth, {"mine": frame(FOUND)}, duration=length).runs[0]
    assert_same(run, long_way(tmp_path, windows=LENGTHS))
    assert run.manifest["options"]["resolved"]["windows"] == "duration"


def test_the_last_event_in_place_of_what_a_file_says(tmp_path):
    (tmp_path / "a.TextGrid").write_text(
        'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n60\n<exists>\n1\n"IntervalTier"\n"x"\n0\n60\n2\n'
        '0\n4\n"walk"\n4\n60\n""\n'
    )
    given = str(tmp_path / "a.TextGrid"), [(0, 4, "walk"), (4, 5, "walk")]
    whole, last = (gnomon.score("events", *given, duration=asked).runs[0] for asked in ("", "last-event"))
    assert whole.find("time_accuracy").value == 59 / 60
    assert last.find("time_accuracy").value == 1.0


def test_milliseconds_on_either_side(tmp_path):
    truth, found = frame(plain(TRUTH)), frame(FOUND)
    for held in (truth, found):
        held[["start", "end"]] = (held[["start", "end"]] * 1000).round().astype(int)
    units = {"unit": "ms", "truth_unit": "ms"}
    assert_same(gnomon.score("events", truth, {"mine": found}, **units).runs[0], long_way(tmp_path))


def shifted(events, by=0.0, times=1.0):
    return {n: [(a * times + by, b * times + by, *rest) for a, b, *rest in own] for n, own in events.items()}


LONG = {name: [(60 * a, 60 * b, label) for a, b, label in own] for name, own in plain(TRUTH).items()}
ERRORS = {
    "labels in another case": (
        {"truth": [(0, 4, "Walk"), (6, 9, "Sit")], "predictions": [(0, 4, "walk"), (6, 9, "sit")]},
        "'sit' is 'Sit' in another spelling; write labels alike on both sides",
    ),
    "a duration before the last event": (
        {"truth": {"a": [(0, 4, "x"), (6, 9, "x")]}, "predictions": [(0, 4, "x")], "duration": 5},
        "a true event of 'a' starts at 6 s, but --duration ends the recording at 5 s",
    ),
    "rows that begin with their recording": (
        {"truth": [("a", 0, 4, "x")], "predictions": [("a", 0, 4, "x")]},
        r"got \('a', 0, 4, 'x'\); give several recordings as a mapping",
    ),
    "a decimal comma": (
        {"truth": {"start": ["0,5"], "end": ["1,5"], "label": ["x"]}, "predictions": [(0, 4, "x")]},
        "has a decimal comma; write numbers with a point, as [01].5",
    ),
    "predictions that name no recording": (
        {"truth": {"a": [(0, 4, "x")], "b": [(0, 4, "x")]}, "predictions": [(0, 4, "x")]},
        "there are 2: 'a', 'b'; name the case of every result, in a table by a column 'recording'",
    ),
    "milliseconds as predictions": (
        {"truth": LONG, "predictions": {"mine": shifted(LONG, times=1000)}},
        "times look like milliseconds; give --unit ms",
    ),
    "milliseconds as truth": (
        {"truth": shifted(LONG, times=1000), "predictions": {"mine": LONG}},
        "the truth looks like milliseconds",
    ),
    "milliseconds on both sides": (
        {"truth": {"a": [(1000, 90_000, "x"), (100_000, 400_000, "x")]}, "predictions": [(1000, 90_000, "x")]},
        "would be 4.6 days: times look like milliseconds; give --truth-unit ms",
    ),
    "a clock": (
        {"truth": shifted(LONG, by=1.7e9), "predictions": {"mine": shifted(LONG, by=1.7e9)}},
        "look like those of a clock; write them from the start of the recording",
    ),
    "predictions that are elsewhere": (
        {"truth": LONG, "predictions": {"mine": shifted(LONG, by=1000)}},
        "9 of 9 detections lie outside of the windows, which last up to 756 s",
    ),
    "an unknown recording": (
        {"truth": TRUTH, "predictions": {"mine": {**FOUND, "attic": []}}},
        "not in the truth: 'attic'; it has 'kitchen', 'hall', 'room'",
    ),
    "a recording by its file": (
        {"truth": TRUTH, "predictions": {"mine": {**FOUND, "hall.wav": []}}},
        "'hall.wav' differs by its suffix alone",
    ),
    "a recording without events": (
        {"truth": {**TRUTH, "attic": []}, "predictions": {"mine": {**FOUND, "attic": []}}},
        "recording 'attic' has no event .*; give --duration",
    ),
    "rows that are too short": ({"truth": [(0, 1)], "predictions": []}, r"row 1: expected \(start, end, label\)"),
    "an array": ({"truth": pa.array([1.0]), "predictions": []}, "truth: expected a path, a table, a list"),
    "a column that is not there": (
        {"truth": pd.DataFrame({"start": [0.0], "label": ["x"]}), "predictions": []},
        "no end or t2 or offset or end_time; expected a start, an end and a label; there are 'start', 'label'",
    ),
    "groups of another length": (
        {"truth": TRUTH, "predictions": FOUND, "group": ["a"]},
        "1 values, expected 3, one for each recording",
    ),
    "a group that is not there": ({"truth": TRUTH, "predictions": FOUND, "group": "x"}, "no tag 'x' in every case"),
    "a duration that is none": ({"truth": TRUTH, "predictions": FOUND, "duration": "long"}, "expected seconds, last-"),
    "a tier of tables": ({"truth": TRUTH, "predictions": FOUND, "tier": "x"}, "only files of ELAN and Praat TextGrid"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_names_the_fix(name):
    given, message = ERRORS[name]
    with pytest.raises(InputError, match=message) as error:
        gnomon.score("events", **given)
    assert "\n" not in str(error.value)


def test_a_room_is_offered_as_a_group():
    truth = frame(plain(TRUTH)).assign(room=["one" if name == "kitchen" else "two" for name, *_ in rows(TRUTH)])
    run = gnomon.score("events", truth, {"mine": frame(FOUND)}).runs[0]
    (finding,) = (one for one in run.findings if one.id == "group-offered")
    assert finding.remedy == "give --group room if recordings of one room belong together"
    grouped = gnomon.score("events", truth, {"mine": frame(FOUND)}, group="room").runs[0]
    assert grouped.roster.level == "room"
    assert not [one for one in grouped.findings if one.id == "group-offered"]


def test_columns_that_are_not_read_are_named_once(tmp_path):
    truth = frame(plain(TRUTH)).assign(note=range(len(rows(TRUTH))), device="phone")
    run = gnomon.score("events", truth, {"mine": frame(FOUND).assign(frame=1)}, slice="device").runs[0]
    (finding,) = (one for one in run.findings if one.id == "unread-input")
    assert "'frame' (8 rows)" in finding.evidence
    assert "'note' (9 rows)" in finding.evidence
    assert "device" not in finding.evidence


def test_dates_count_from_the_first_event(tmp_path):
    truth = frame(plain(TRUTH))
    for side in ("start", "end"):
        truth[side] = pd.Timestamp("2024-05-01T09:00:00Z") + pd.to_timedelta(truth[side], unit="s")
    run = gnomon.score("events", truth, {"mine": truth}).runs[0]
    assert run.find("time_accuracy").value == 1.0
    assert "(3 recordings, 3.2 to 12.35 s)" in next(one for one in run.findings if one.id == "windows-used").evidence
