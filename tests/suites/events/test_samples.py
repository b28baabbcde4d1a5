"""Raw files as samples; expected rows are worked by hand."""

import json

import pytest

import gnomon

pytestmark = pytest.mark.usefixtures("in_this_process")

SOURCE = """
class Learner:
    def train(self, recs, labels):
        list(recs)
    def process(self, recs):
        list(recs)
    def detected(self, time_range=None):
        return []
    def labels(self):
        return ["x"]
"""


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rec.py").write_text(SOURCE)
    return tmp_path


def case(folder, name, subject, value, start="2024-05-01T10:00:00+02:00", end="2024-05-01T10:00:10+02:00", **fields):
    for sensor in ("accel", "gyro"):
        records = [{"time": f"2024-05-01T10:00:0{t}+02:00", "type": sensor, "values": [value, t]} for t in range(10)]
        (folder / f"{name}-{sensor}.raw").write_text(json.dumps(records))
    content = {"id": name, "data_path": f"{name}-*.raw", "t1": start, "t2": end, "subject": {"id": subject}, **fields}
    (folder / f"{name}.json").write_text(json.dumps({**content, "labels": []}))
    return str(folder / f"{name}.json")


def run(data, truth, **options):
    return gnomon.run("events", truth=truth, recognizers=f"{data / 'rec.py'}:Learner", out="none", **options).runs[0]


def test_a_sample_is_a_raw_file_with_the_window_and_the_tags_of_its_case(data):
    long = "a long description " * 9
    truth = [case(data, "one", "ann", 1), case(data, "two", "ben", 2, device="watch", description=long)]
    found = run(data, truth, train=case(data, "three", "cat", 3)).samples
    assert found.ids == (
        *("three: three-accel.raw", "three: three-gyro.raw", "one: one-accel.raw", "one: one-gyro.raw"),
        *("two: two-accel.raw", "two: two-gyro.raw"),
    )
    assert found.parts == ("train",) * 2 + ("test",) * 4
    assert found.tags["subject"] == ("cat", "cat", "ann", "ann", "ben", "ben")
    assert found.tags["device"] == ("", "", "", "", "watch", "watch")
    assert "description" not in found.tags
    assert len(set(found.digests)) == 6
    assert found.input_range[0].tolist() == [1714550400.0, 1714550410.0]  # 08:00 in UTC, by date -u -d


def test_one_shared_file_of_several_is_found(data):
    truth = [case(data, "one", "ann", 1), case(data, "two", "ben", 2)]
    train = case(data, "three", "cat", 3)
    (data / "three-gyro.raw").write_bytes((data / "one-gyro.raw").read_bytes())
    (finding,) = [f for f in run(data, truth, train=train).findings if f.id == "exact-duplicates"]
    assert "1 of 4 test samples" in finding.evidence
    assert "'one: one-gyro.raw' and 'three: three-gyro.raw'" in finding.evidence


def test_files_without_a_recording_are_not_compared(data):
    truth = [case(data, "one", "ann", 1), case(data, "two", "ben", 2)]
    train = case(data, "three", "cat", 3)
    for name in ("one", "three"):
        (data / f"{name}-gyro.raw").write_text("[]")
    found = run(data, truth, train=train)
    assert [f.id for f in found.findings if f.id in ("exact-duplicates", "digests-missing")] == ["digests-missing"]


def test_where_recordings_are_groups_they_are_known_by_their_content(data):
    truth = [case(data, name, "ann", value) for name, value in (("one", 1), ("two", 2))]
    found = run(data, truth, train=truth[0], group="recording")
    assert {"exact-duplicates", "shared-tag"} <= {f.id for f in found.findings}
    names = [name.partition(" (")[0] for name in found.samples.tags["recording"]]
    assert names == ["one", "one", "one", "one", "two", "two"]
    assert len(set(found.samples.tags["recording"])) == 4  # two files each, in test and training the same


def test_a_recogniser_that_is_not_trained_has_no_samples(data):
    truth = [case(data, "one", "ann", 1), case(data, "two", "ben", 2)]
    found = run(data, truth)
    assert found.samples is None
    assert found.not_made["exact-duplicates"].startswith("no training part")


def test_a_recogniser_may_call_itself_trivial(data):
    (data / "rec.py").write_text(SOURCE.replace("class Learner:", "class Learner:\n    trivial = True"))
    found = run(data, [case(data, "one", "ann", 1)])
    assert found.manifest["facts"]["trivial"] is True
