"""What is resampled. Expectations are written by hand."""

import pytest

from gnomon.core.errors import InputError
from gnomon.suites.skeleton.grouping import level_of, regroup
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import find, find_labels, make_roster

FOUND = find_labels(["a", "a", "b", "c", "c"])


def groups(group, found=FOUND):
    return [one.subject for one in regroup(found, group).named]


def test_groups_by_mapping_values_and_table(tmp_path):
    assert groups({"a": 1, "b": 1, "c": 2}) == ["1", "1", "2"]
    assert groups(["x", "y", "y"]) == ["x", "y", "y"]
    assert groups(["x", "x", "y", "y", "y"]) == ["x", "y", "y"]
    (tmp_path / "g.csv").write_text("sequence,room\nc,3\nb,2\na,2\n")
    assert groups(str(tmp_path / "g.csv")) == ["2", "2", "3"]


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (["x", "y"], "2 values, expected 3, one for each sequence of the truth or 5, one for each row"),
        (["x", "y", "y", "y", "y"], "sequence 'a' has the groups 'x' and 'y'"),
        ({"a": 1}, "no group for 2 of 3 sequences: 'b', 'c'"),
        ("subject", "no subject is known of 'a', 'b', 'c'"),
        ("room", "expected subject, sequence, or the path of a table"),
    ],
)
def test_groups_that_do_not_fit(group, said):
    with pytest.raises(InputError, match=said):
        regroup(FOUND, group)


def test_names_of_levels():
    assert level_of(ScoreOptions()) == ""
    assert level_of(ScoreOptions(group="sequence")) == "sequence"
    assert level_of(ScoreOptions(id_preset="3dpw")) == "recording"
    assert level_of(ScoreOptions(group="rooms.csv")) == "group"
    assert make_roster(FOUND.named, "sequence").groups == ("a", "b", "c")


@pytest.mark.parametrize(
    ("preset", "text", "expected"),
    [
        ("h36m", "S9_Walking_1", ("S9_Walking_1", "S9", "Walking", -1)),
        ("h36m", "S11_WalkTogether", ("S11_WalkTogether", "S11", "WalkTogether", -1)),
        ("h36m", "S9_Walking 1", ("S9_Walking 1", "S9", "Walking", -1)),
        ("h36m", "S9_Walking_000123", ("S9_Walking", "S9", "Walking", 123)),
        ("h36m", "S9_Walking_1_000123", ("S9_Walking_1", "S9", "Walking", 123)),
        ("h36m", "S9_Walking_1.60457274_000123.jpg", ("S9_Walking_1.60457274", "S9", "Walking", 123)),
        ("h36m", "images/S9/Walking_1/00042", ("S9/Walking_1", "S9", "Walking", 42)),
        ("3dpw", "downtown_arguing_00", ("downtown_arguing_00", "downtown_arguing_00", "arguing", -1)),
        ("3dpw", "downtown_arguing_00_1", ("downtown_arguing_00_1", "downtown_arguing_00", "arguing", -1)),
        ("3dpw", "downtown_arguing_00/image_00042.jpg", ("downtown_arguing_00", "downtown_arguing_00", "arguing", 42)),
        ("3dpw", "flat_packBags_00_0_00017", ("flat_packBags_00_0", "flat_packBags_00", "packBags", 17)),
    ],
)
def test_ids_of_known_datasets(preset, text, expected):
    found = find([text], 1, preset=preset)
    assert (*found.named[0], int(found.frames[0])) == expected


@pytest.mark.parametrize(("preset", "text"), [("h36m", "walking_1"), ("3dpw", "S9_Walking_1"), ("h36m", "S9")])
def test_ids_of_other_kinds(preset, text):
    with pytest.raises(InputError, match=f"--id-preset {preset}: sample id '{text}' is not written as"):
        find([text], 1, preset=preset)


def test_people_keep_what_their_sequence_says():
    found = find_labels(["S9_Eating_1 person 2"], preset="h36m")
    assert found.named[0] == ("S9_Eating_1 person 2", "S9", "Eating")


def test_samples_without_ids_are_a_sequence_for_every_group():
    found = regroup(find(None, 4), ["anna", "ben", "anna", "ben"])
    assert found.codes.tolist() == [0, 1, 0, 1]
    assert [(one.sequence, one.subject) for one in found.named] == [("anna", "anna"), ("ben", "ben")]
