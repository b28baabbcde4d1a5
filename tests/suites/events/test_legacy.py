"""perfboard's ``scores.json`` as timelines, against what the same results show when a run keeps them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import InputError
from gnomon.runs.run import load
from gnomon.suites.events import exhibits, lanes, legacy

TRUTH = {
    "one": {
        "t1": "2012-05-16T09:00:00-08:00",
        "t2": "2012-05-16T09:01:40-08:00",
        "device": "phone",
        "labels": [
            {"t1": "2012-05-16T09:00:10-08:00", "t2": "2012-05-16T09:00:30-08:00", "label": "A"},
            {"t1": "2012-05-16T09:00:50-08:00", "t2": "2012-05-16T09:01:00-08:00", "label": "B"},
        ],
    },
    "two": {"t1": 5, "t2": 100, "labels": [{"t1": 20, "t2": 30, "label": "A"}]},
}
RESULTS = {
    "late": {
        "one": [{"t1": 15, "t2": 35, "label": "A"}, {"t1": 80, "t2": 90, "label": "B"}],
        "two": [{"t1": 20, "t2": 24, "label": "A"}, {"t1": 26, "t2": 30, "label": "A"}],
    },
    "good": {"one": [{"t1": 10, "t2": 30, "label": "A"}], "two": [{"t1": 20, "t2": 30, "label": "A"}]},
}


@pytest.fixture
def exported(tmp_path):
    """Score two systems on two recordings, and export them; return the file and the runs by variant and system."""

    def build(variant):
        for name, truth in TRUTH.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(truth))
        for name, found in RESULTS.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(found))
        done = gnomon.score(
            "events",
            tuple(str(tmp_path / f"{name}.json") for name in TRUTH),
            tuple(f"{name}={tmp_path / name}.json" for name in RESULTS),
            variant=variant,
            out=str(tmp_path / "runs"),
            export_perfboard=str(tmp_path / "out" / "scores.json"),
        )
        return tmp_path / "out" / "scores.json", [load(run.path) for run in done.runs]

    return build


@pytest.mark.parametrize("variant", ["published", "strict"])
def test_an_export_shows_what_the_runs_show(exported, variant):
    path, runs = exported(variant)
    assert legacy.is_legacy(path)
    assert legacy.results(path) == ("one", "two")
    for case in TRUTH:
        ours, theirs = exhibits.shown(runs, case).data, legacy.shown(path, case).data
        for key in ("case", "window", "clock", "labels", "outcomes", "zones"):
            assert ours[key] == theirs[key], key
        assert [(lane["group"], lane["name"]) for lane in ours["lanes"]] == [
            (lane["group"], lane["name"]) for lane in theirs["lanes"]
        ]
        for own, other in zip(ours["lanes"], theirs["lanes"], strict=True):
            for part in ("start", "end", "code"):
                assert np.array_equal(own[part], other[part]), (own["group"], own["name"])


def test_both_variants_in_one_file_are_two_lanes(exported):
    path, _ = exported("both")
    names = [lane["name"] for lane in legacy.shown(path, "one").data["lanes"] if lane["group"] == "late"]
    assert names == ["returned", "errors, pooled", "errors, by class"]


def test_a_recording_that_is_not_there_is_named(exported):
    path, _ = exported("published")
    with pytest.raises(InputError, match="no recording 'three'; there are 'one', 'two'"):
        legacy.shown(path, "three")


def test_other_files_are_not_taken_for_one(tmp_path):
    assert not legacy.is_legacy(tmp_path / "nowhere.json")
    assert not legacy.is_legacy(tmp_path)
    for number, content in enumerate([b"", b"[]", b'{"scores": []}', b'"recognizers"', b"\x00" * 100]):
        path = tmp_path / f"{number}.json"
        path.write_bytes(content)
        assert not legacy.is_legacy(path), content
    (tmp_path / "yes.json").write_bytes(b'\xef\xbb\xbf {"t": 1, "recognizers": []}')
    assert legacy.is_legacy(tmp_path / "yes.json")


def test_a_file_that_has_changed_is_read_again(exported):
    path, _ = exported("published")
    assert legacy.results(path) == ("one", "two")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "results": document["results"][:1]}))
    assert legacy.results(path) == ("one",)


GOOD = {
    "t1": 0,
    "t2": 10,
    "labels": [{"t1": 1, "t2": 2, "label": "A"}],
    "recognizer": "r",
    "labels_file": "x.json",
    "detected": [],
    "scores": {"segments": [{"t1": 0, "t2": 1, "score": "TN"}, {"t1": 1, "t2": 2, "score": "FN", "err": "D"}]},
}


def written(folder, *results):
    path = folder / "scores.json"
    path.write_text(json.dumps({"recognizers": ["r"], "results": list(results)}))
    return path


def everything(path):
    return [legacy.shown(path, name) for name in legacy.results(path)]


def test_segments_are_shown_as_they_stand(tmp_path):
    (name,) = legacy.results(written(tmp_path, GOOD))
    view = legacy.shown(tmp_path / "scores.json", name)
    (lane,) = (lane for lane in view.data["lanes"] if lane["kind"] == "outcomes")
    assert (name, lane["start"].tolist(), lane["end"].tolist()) == ("x", [1.0], [2.0])
    assert [lanes.SEVERITY[code] for code in lane["code"]] == ["D"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"t1": None}, "t1: got NoneType"),
        ({"t2": 0}, "the window ends at 0"),
        ({"recognizer": 3}, "recognizer: got int, expected a name"),
        ({"scores": []}, "expected an object with a list 'segments'"),
        ({"scores": {"segments": [3]}}, r"segments\[0\]: expected an object with t1, t2 and score"),
        ({"scores": {"segments": [{"t1": 0, "t2": 1, "score": "XX"}]}}, "got 'XX', expected one of TP"),
        ({"scores": {"segments": [{"t1": "then", "t2": 1, "score": "TP"}]}}, "not an ISO 8601 date"),
        ({"labels": {}}, "got dict, expected a list"),
        ({"detected": [{"t1": 3}]}, "no end or t2 or offset"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, said):
    path = written(tmp_path, {**GOOD, **change})
    with pytest.raises(InputError, match=said):
        everything(path)


def test_a_second_result_for_one_recording_is_refused(tmp_path):
    with pytest.raises(InputError, match="a second result of 'r'"):
        legacy.results(written(tmp_path, GOOD, GOOD))


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "segments", "x"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), plain), st.sampled_from(list(GOOD)))
def test_any_other_content_is_refused_by_an_input_error_alone(tmp_path_factory, change, lost):
    folder = tmp_path_factory.mktemp("legacy")
    result = {key: value for key, value in {**GOOD, **change}.items() if key != lost or lost in change}
    path = written(folder, result)
    said = ""
    try:
        everything(path)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
