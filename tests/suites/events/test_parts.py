"""Parts of the subjects in ``gnomon run events``, and parameters of recognisers. Expected values are worked by hand."""

import json
import re

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.partition import parts, shares

pytestmark = pytest.mark.usefixtures("in_this_process")

SUBJECTS = [f"s{n:02d}" for n in range(1, 11)]
SOURCE = """
class Level:
    '''Returns what exceeds a level; it learns the largest level below all it saw inside of true stretches.'''
    def __init__(self, level: float = 1.5, label: str = "moving"):
        self.level, self.label = level, label
        self.reset()
    def reset(self):
        self.found, self.open = [], None
    def process(self, recs):
        for record in recs:
            high = record["values"][0] > self.level
            if high and self.open is None:
                self.open = record["time"]
            if not high and self.open is not None:
                self.found.append({"t1": self.open, "t2": record["time"], "label": self.label, "score": self.level})
                self.open = None
    def detected(self, time_range=None):
        return self.found
    def labels(self):
        return [self.label]

class Learner(Level):
    '''Its level is the sum of the numbers of the subjects that it was trained on.'''
    def __init__(self, level: float = 0.0):
        super().__init__(level)
    def train(self, recs, labels):
        self.level += next(iter(recs))["values"][1]
    def process(self, recs):
        for _ in recs:
            pass
    def detected(self, time_range=None):
        return [{"t1": 0, "t2": 1, "label": "moving", "score": self.level}]
"""


@pytest.fixture
def data(tmp_path):
    """Ten subjects with two recordings each: 2 from 5 to 9 and 4 from 12 to 15, else 0; and the subject's number."""
    (tmp_path / "rec.py").write_text(SOURCE)
    for number, subject in enumerate(SUBJECTS, start=1):
        for take in "ab":
            name = f"{subject}{take}"
            values = [2.0 if 5 <= t < 9 else 4.0 if 12 <= t < 15 else 0.0 for t in range(20)]
            records = [{"time": t, "type": "accel", "values": [v, 2.0**number]} for t, v in enumerate(values)]
            (tmp_path / f"{name}.raw.json").write_text(json.dumps(records))
            labels = [{"t1": 5, "t2": 9, "label": "moving"}, {"t1": 12, "t2": 15, "label": "moving"}]
            case = {"data_path": f"{name}.raw.json", "t1": 0, "t2": 20, "subject": {"id": subject}, "take": take}
            (tmp_path / f"{name}.json").write_text(json.dumps({**case, "labels": labels}))
    return tmp_path


def run(data, recogniser="Level", **options):
    truth = [str(data / f"{subject}{take}.json") for subject in SUBJECTS for take in "ab"]
    systems = [f"{data / 'rec.py'}:{name}" for name in recogniser.split(",")]
    return gnomon.run("events", **{"truth": truth, "recognizers": systems, "out": "none", **options})


def of(part, split="60/20/20", seed=42):
    return {subject for subject, own in parts(SUBJECTS, shares(split), seed).items() if own == part}


def subjects_of(result):
    return {case[:3] for case in result.runs[0].roster.ids}


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_a_part_holds_whole_subjects_of_that_part(data, part):
    result = run(data, part=part, split="60/20/20")
    run_ = result.runs[0]
    assert subjects_of(result) == of(part)
    assert len(run_.roster.ids) == 2 * len(of(part))
    assert run_.manifest["protocol"]["split"]["part"] == part
    assert run_.manifest["protocol"]["split"]["groups"] == {"train": 6, "val": 2, "test": 2}
    assert run_.manifest["options"]["resolved"]["part"] == part


def test_parts_do_not_depend_on_the_order_of_files_nor_on_the_selection(data):
    asked = {"part": "val", "split": "60/20/20"}
    backwards = [str(data / f"{subject}{take}.json") for take in "ba" for subject in reversed(SUBJECTS)]
    assert subjects_of(run(data, truth=backwards, **asked)) == of("val")
    chosen = run(data, select="take=a", **asked)
    assert sorted(chosen.runs[0].roster.ids) == sorted(f"{subject}a" for subject in of("val"))
    assert subjects_of(run(data, split_seed=7, **asked)) == of("val", seed=7) != of("val")


def test_everything_is_tested_without_a_part_and_the_protocol_says_nothing(data):
    result = run(data)
    assert subjects_of(result) == set(SUBJECTS)
    assert result.runs[0].manifest["protocol"]["split"] == {}


def test_learners_are_trained_on_the_train_part(data):
    """By hand: a subject's number is a power of two, so that the sum (of two recordings each) names who was seen."""
    for part in ("val", "test"):
        result = run(data, "Learner", part=part, split="60/20/20")
        expected = 2 * sum(2.0 ** (1 + SUBJECTS.index(subject)) for subject in of("train"))
        assert set(result.runs[0].table["score"].to_pylist()) == {expected}
        assert result.runs[0].manifest["options"]["resolved"]["trained"] is True
        assert not [f for f in result.runs[0].findings if f.severity == "error"]


def test_leaving_out_stays_within_the_part(data):
    result = run(data, "Learner", part="val", split="60/20/20", leave_out="subject")
    one, other = sorted(of("val"))
    table = result.runs[0].table
    seen = {case[:3]: score for case, score in zip(table["case"].to_pylist(), table["score"].to_pylist(), strict=True)}
    number = {subject: 2 * 2.0 ** (1 + SUBJECTS.index(subject)) for subject in SUBJECTS}
    assert seen == {one: number[other], other: number[one]}


def test_the_raw_data_of_other_parts_is_not_read(data):
    """Without training only the part's own files are there; with training those of train as well."""
    for subject in of("test"):
        for take in "ab":
            (data / f"{subject}{take}.raw.json").unlink()
    assert run(data, "Learner", part="val", split="60/20/20").complete
    for subject in of("train"):
        for take in "ab":
            (data / f"{subject}{take}.raw.json").unlink()
    assert run(data, "Level", part="val", split="60/20/20").complete


def test_training_files_of_the_test_part_are_refused_on_val(data):
    inside, held = (str(data / f"{min(of(part))}a.json") for part in ("train", "test"))
    asked = {"part": "val", "split": "60/20/20"}
    assert run(data, "Learner", train=inside, **asked).complete
    with pytest.raises(InputError, match=r"--train: case .* is of a subject of the test part"):
        run(data, "Learner", train=(inside, held), **asked)


def test_too_few_subjects_for_the_shares(data):
    truth = [str(data / f"{subject}a.json") for subject in SUBJECTS[:3]]
    with pytest.raises(InputError, match="3 subjects split 70/15/15 leave none for test"):
        run(data, truth=truth, part="val")
    with pytest.raises(InputError, match="expected three shares"):
        run(data, part="val", split="80/20")
    with pytest.raises(InputError, match=r"leaves no case|no case of it is left"):
        run(data, part="val", split="60/20/20", select=("take=a", f"subject={min(of('test'))}"))


def test_parameters_reach_the_recogniser(data):
    """By hand: above 1.5 are both events of a recording, above 3 only the second, above 9 none."""
    result = run(data, "Level,Level@level=3,Level@level=9@label=moving", truth=[str(data / "s01a.json")])
    recall = {name.rpartition(":")[2]: scores["any_overlap_recall"] for name, scores in result.scores.items()}
    assert recall == {"Level": 1.0, "Level@level=3.0": 0.5, "Level@label=moving@level=9.0": 0.0}
    resolved = result.runs[1].manifest["options"]["resolved"]
    assert resolved["parameters"] == {"level": 3.0}
    assert resolved["system"].endswith("Level@level=3.0")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("Level@depth=3", "has no parameter 'depth'; it has 'level', 'label'"),
        ("Level@level=high", "expected a number"),
        ("Level@level", "'level' is not key=value"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(data, spec, words):
    with pytest.raises(InputError, match=words):
        run(data, spec)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("threshold-walker@threshold=0", "threshold: expected more than 0"),
        ("threshold-walker@window_s=0.1", "window_s: expected at least 0.4 s"),
        ("spectral-walker@window_s=2", "window_s: expected at least 2.4 s"),
        ("spectral-walker@bridged_s=-1", "bridged_s: expected 0 s or more"),
        ("hmm-walker@prior=0", "a prior above 0"),
        ("visit-detector@pace=0", "pace: expected more than 0"),
        ("visit-detector@near_m=-5", "near_m: expected 0 or more"),
    ],
)
def test_built_in_recognisers_say_which_values_they_take(data, spec, words):
    with pytest.raises(InputError, match=re.escape(words)):  # before any cell is planned
        gnomon.run("events", truth=str(data / "s01a.json"), recognizers=spec, out="none", retries=0)
