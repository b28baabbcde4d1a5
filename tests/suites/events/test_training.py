"""Training recognisers: on given cases, or leaving one value of a tag out. Expected values are worked by hand."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError

pytestmark = pytest.mark.usefixtures("in_this_process")

SOURCE = """
class Level:
    '''Learns the smallest value inside of true stretches, then returns what reaches it.'''
    def __init__(self):
        self.level, self.calls, self.found, self.open = None, 0, [], None
    def train(self, recs, labels):
        self.calls += 1
        inside = [r["values"][0] for r in recs if any(l["t1"] <= r["time"] < l["t2"] for l in labels)]
        self.level = min([*inside, *([] if self.level is None else [self.level])])
    def reset(self):
        self.found, self.open = [], None
    def process(self, recs):
        for record in recs:
            high = record["values"][0] >= self.level
            if high and self.open is None:
                self.open = record["time"]
            if not high and self.open is not None:
                self.found.append({"t1": self.open, "t2": record["time"], "label": "moving", "score": self.level})
                self.open = None
    def detected(self, time_range=None):
        return self.found
    def labels(self):
        return ["moving"]

class Fixed(Level):
    train = None
    def __init__(self):
        super().__init__()
        self.level = 100.0

class Closure(Level):
    def train(self, recs, labels):
        super().train(recs, labels)
        self.rule = lambda value: value > self.level
"""
SPLIT = ("read-ranges-overlap", "exact-duplicates", "shared-tag")
"""What an audit finds where test and training are not kept apart."""
HEIGHT = {"a": 5.0, "b": 3.0, "c": 2.0}
"""Values inside of the events of each subject; elsewhere 1."""


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rec.py").write_text(SOURCE)
    for subject, height in HEIGHT.items():
        values = [height if 5 <= t < 9 else 1.0 for t in range(20)]
        records = [{"time": t, "type": "accel", "values": [value]} for t, value in enumerate(values)]
        (tmp_path / f"{subject}.raw.json").write_text(json.dumps(records))
        case = {"data_path": f"{subject}.raw.json", "t1": 0, "t2": 20, "subject": {"id": subject}, "device": "phone"}
        case["labels"] = [{"t1": 5, "t2": 9, "label": "moving"}]
        (tmp_path / f"{subject}.json").write_text(json.dumps(case))
    return tmp_path


def run(data, *subjects, recogniser="Level", **options):
    truth = [str(data / f"{subject}.json") for subject in subjects]
    given = {"truth": truth, "recognizers": f"{data / 'rec.py'}:{recogniser}", "out": data / "runs", **options}
    return gnomon.run("events", **given)


def levels(result):
    """The threshold that each case was tested with, which the recogniser gives as the score of its results."""
    table = result.runs[0].table
    return dict(zip(table["case"].to_pylist(), table["score"].to_pylist(), strict=True))


@pytest.mark.parametrize("executor", ["inline", "processes"])
@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_leave_out_trains_on_the_others(data, executor, chunk):
    """By hand: without a the smallest is 2 (c), without b 2 (c), without c 3 (b), which finds nothing in c."""
    result = run(data, "a", "b", "c", leave_out="subject", executor=executor, workers=1, chunk=chunk, out="none")
    assert result.scores[result.runs[0].system]["any_overlap_recall"] == pytest.approx(2 / 3)
    assert levels(result) == {"a": 2.0, "b": 2.0}
    assert not [f for f in result.runs[0].findings if f.id in SPLIT]
    assert result.runs[0].manifest["options"]["resolved"]["trained"] is True


def test_given_training_cases(data):
    assert levels(run(data, "a", "b", train=str(data / "c.json"))) == {"a": 2.0, "b": 2.0}


def test_training_on_test_recordings_is_an_error_that_is_said(data):
    """The copy has another name and another subject, but the same raw bytes."""
    case = json.loads((data / "a.json").read_text())
    (data / "copy.json").write_text(json.dumps({**case, "subject": {"id": "z"}, "id": "copy"}))
    found = run(data, "a", "b", train=str(data / "copy.json")).runs[0].findings
    assert [(f.id, f.severity) for f in found if f.id in SPLIT] == [
        ("read-ranges-overlap", "error"),
        ("exact-duplicates", "error"),
    ]
    assert all("1 of 2 test samples" in f.evidence and "'a' and" in f.evidence for f in found if f.id in SPLIT)


def test_training_on_the_same_person_is_a_warning(data):
    case = json.loads((data / "c.json").read_text())
    (data / "again.json").write_text(json.dumps({**case, "subject": {"id": "a"}}))
    found = run(data, "a", "b", train=str(data / "again.json")).runs[0].findings
    assert [(f.id, f.severity, f.where) for f in found if f.id in SPLIT] == [("shared-tag", "warning", "subject")]


def test_a_leave_out_tag_that_is_not_the_person_is_found(data):
    """Two recordings of one subject on two devices: leaving out a device trains on the same subject."""
    for name, device in (("a", "phone"), ("b", "watch")):
        case = json.loads((data / f"{name}.json").read_text())
        (data / f"{name}.json").write_text(json.dumps({**case, "subject": {"id": "same"}, "device": device}))
    found = run(data, "a", "b", leave_out="device").runs[0].findings
    (finding,) = [f for f in found if f.id in SPLIT]
    assert (finding.id, finding.where) == ("shared-tag", "subject")
    assert "in 2 of 2 folds" in finding.evidence


def test_a_recogniser_without_train_is_run_as_it_is(data):
    result = run(data, "a", "b", recogniser="Fixed", leave_out="subject")
    assert result.complete
    assert result.runs[0].manifest["options"]["resolved"]["trained"] is False


def test_what_cannot_be_kept_is_named(data):
    with pytest.raises(gnomon.NothingScoredError, match=r"all 2 cells failed; .*cannot be stored after training"):
        run(data, "a", "b", recogniser="Closure", leave_out="subject", retries=0)


def test_trained_recognisers_are_kept_and_shared(data):
    case = json.loads((data / "a.json").read_text())
    (data / "a2.json").write_text(json.dumps({**case, "labels": []}))
    run(data, "a", "a2", "b", leave_out="subject")
    events = [json.loads(line) for line in (data / "runs" / "store" / "progress.jsonl").read_text().splitlines()]
    done = [event["name"] for event in events if event["event"] == "done"]
    assert sum(name.startswith("train ") for name in done) == 2
    assert len(done) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"leave_out": "shoe"}, "no such tag in case 'a'"),
        ({"leave_out": "device"}, "training needs a second value"),
        ({"leave_out": "subject", "train": "x.json"}, "exclude each other"),
    ],
)
def test_bad_options_are_named(data, options, words):
    with pytest.raises(InputError, match=words):
        run(data, "a", "b", **options)
