"""Labels, groups and coverage. Every expected figure is the published one, or counted by hand."""

import pytest

from gnomon.core.errors import InputError
from gnomon.suites.har import vocabulary as words


def test_eighty_seven_labels_in_thirty_four_groups():
    assert len(words.LABELS) == len(set(words.LABELS)) == 87
    assert list(words.LABELS) == sorted(words.LABELS)
    assert len(words.TRAINING_GROUPS) == 34
    assert list(words.GROUPS)[:34] == list(words.TRAINING_GROUPS)
    assert list(words.GROUPS)[34:] == ["vehicle_entry", "carrying", "climbing", "kneeling", "painting"]


def test_the_ten_training_sets_have_exactly_these_labels():
    assert len(words.TRAIN_LABELS) == 10
    assert set().union(*words.TRAIN_LABELS.values()) == set(words.LABELS)


@pytest.mark.parametrize(
    ("dataset", "activities", "groups", "allowed", "share", "novel"),
    [
        ("motionsense", 6, 6, 22, 100, ()),
        ("realworld", 8, 8, 30, 100, ()),
        ("mobiact", 13, 9, 34, 85, ("car_step_in", "car_step_out")),
        (
            "vtt_coniot",
            16,
            11,
            20,
            50,
            (
                "carrying",
                "climbing_ladder",
                "kneeling_work",
                "leveling_paint",
                "lifting",
                "pushing_cart",
                "roll_painting",
                "spraying_paint",
            ),
        ),
    ],
)
def test_the_published_masks_and_coverage(dataset, activities, groups, allowed, share, novel):
    found = words.coverage(dataset)
    assert (found.activities, found.groups, found.allowed, found.labels) == (activities, groups, allowed, 87)
    assert int(words.mask(dataset).sum()) == allowed
    assert round(found.share) == share
    assert found.unmappable == novel
    assert (found.novel, found.mappable) == (len(novel), activities - len(novel))
    assert found.ceiling is None
    assert found.why


def test_groups_of_labels():
    assert words.group_of("jogging") == "running"
    assert words.group_of("fall_backward_knees") == "falling"
    assert words.group_of("walking_winding") == "walking"
    assert words.group_of("no such activity") == "no such activity"
    for group, labels in words.GROUPS.items():
        assert all(words.group_of(label) == group for label in labels)


def test_the_ceiling_is_the_share_of_windows_that_can_be_right():
    found = words.coverage("mobiact", {"walking": 6, "car_step_in": 2, "jogging": 2})
    assert found.ceiling == 80
    assert words.coverage("motionsense", {"walking": 3}).ceiling == 100
    assert words.coverage("motionsense", {}).why == "no windows"
    with pytest.raises(InputError, match="swimming"):
        words.coverage("motionsense", {"swimming": 1})


def test_own_datasets_bring_their_labels():
    found = words.coverage("office", labels=["walking", "juggling", "stairs_up"])
    assert (found.allowed, found.mappable, found.unmappable) == (11, 2, ("juggling",))
    assert int(words.mask("office", ["sitting_chair"]).sum()) == 2
    with pytest.raises(InputError, match="'office' is not one of the test sets"):
        words.mask("office")
    with pytest.raises(InputError, match="at least one label"):
        words.coverage("office", labels=[])


def test_the_table_has_a_hash_that_follows_its_content(monkeypatch):
    before = words.digest()
    assert before == words.digest()
    assert len(before) == 64
    monkeypatch.setattr(words, "SYNONYMS", {**words.SYNONYMS, "sitting_chair": "standing"})
    assert words.digest() != before
