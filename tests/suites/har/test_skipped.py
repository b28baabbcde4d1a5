"""Files of datasets in wrong places, and datasets behind links: each is read or named."""

import os
import shutil

import pytest

import gnomon
from gnomon.report import render
from gnomon.suites.har.datasets import REGISTRY, found, motionsense
from gnomon.suites.har.datasets.catalogue import catalogue

PLACES = {
    "dsads": ("data/a01/p1/s01.txt", "data/a01/s02.txt"),
    "hapt": ("RawData/acc_exp01_user01.txt", "gyro_exp01_user01.txt"),
    "ku_har": ("1.Raw_time_domian_data/1.Stand/1001_A_1.csv", "1.Raw_time_domian_data/Stand/1002_A_1.csv"),
    "mobiact": ("MobiAct_Dataset/WAL/WAL_acc_1_1.txt", "MobiAct_Dataset/WAL_acc_1_2.txt"),
    "motionsense": ("A_DeviceMotion_data/wlk_7/sub_1.csv", "A_DeviceMotion_data/walk_8/sub_2.csv"),
    "pamap2": ("PAMAP2_Dataset/Protocol/subject101.dat", "subject102.dat"),
    "realworld": ("proband1/data/acc_walking_csv/acc_walking_waist.csv", "proband1/acc_running_waist.csv"),
    "uci_har": ("UCI HAR Dataset/train/Inertial Signals/body_acc_x_train.txt", "body_acc_y_train.txt"),
    "unimib": ("data/acc_data.mat", "acc_labels.mat"),
    "wisdm": ("wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt", "wisdm-dataset/raw/data_1601_accel_phone.txt"),
}
"""Where a file belongs, and another one where none is expected."""
ANYWHERE = {"hhar", "mhealth", "recgym", "vtt_coniot"}
"""Their files may lie in any folder, so that none can be in a wrong one."""
KNOWN = {
    "motionsense": ("B_Accelerometer_data/wlk_7/sub_1.csv", "data_subjects_info.csv"),
    "ku_har": ("2.Trimmed_interpolated_data/1.Stand/1001_A_1.csv",),
    "wisdm": ("wisdm-dataset/raw/watch/accel/data_1600_accel_watch.txt",),
    "mobiact": ("MobiAct_Dataset/WAL/WAL_ori_1_1.txt",),
    "uci_har": ("UCI HAR Dataset/train/X_train.txt",),
    "unimib": ("data/adl_data.mat",),
}
"""Files of the original distributions that are not read, and need not be named."""


TRIALS = (
    *("dws_1", "dws_2", "dws_11", "ups_3", "ups_4", "ups_12", "wlk_7", "wlk_8", "wlk_15"),
    *("jog_9", "jog_16", "sit_5", "sit_13", "std_6", "std_14"),
)
"""What everybody does in MotionSense."""


def write_motionsense(root, rows=650, people=(1, 2), activities=("wlk_7", "std_6")):
    for activity in activities:
        for person in people:
            path = root / "A_DeviceMotion_data" / activity / f"sub_{person}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"{k},0,0,0,0.6,0.0,-0.8,0.1,0.2,0.3,{k % 7 / 100!r},0.0,0.0" for k in range(rows)]
            path.write_text(",".join(motionsense.COLUMNS) + "\n" + "\n".join(lines) + "\n")


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_every_dataset_is_looked_at():
    assert set(PLACES) | ANYWHERE == set(REGISTRY)


@pytest.mark.parametrize("name", PLACES)
def test_a_file_in_a_wrong_folder_is_named(tmp_path, name):
    right, wrong = PLACES[name]
    touch(tmp_path / name / right, tmp_path / name / wrong, tmp_path / "notes" / "s.txt")
    there = found(tmp_path)
    assert list(there.usable) == [name]
    assert there.skipped == {name: (f"{name}/{wrong}",)}


def test_datasets_beside_each_other_are_not_taken_for_one_another(tmp_path):
    for name, (right, _) in PLACES.items():
        touch(tmp_path / name / right)
    for name, others in KNOWN.items():
        touch(*(tmp_path / name / other for other in others))
    there = found(tmp_path)
    assert set(there.usable) == set(PLACES)
    assert (there.skipped, there.strays) == ({}, {})


def test_a_file_between_several_datasets_is_nobodys(tmp_path):
    """It lies in a folder of all of them: which one it belongs to is not known, and other things may lie there."""
    for name in ("motionsense", "pamap2"):
        touch(tmp_path / "all" / name / PLACES[name][0])
    touch(tmp_path / "all" / "subject102.dat", tmp_path / "all" / "pamap2" / "subject103.dat")
    assert found(tmp_path).skipped == {"pamap2": ("all/pamap2/subject103.dat",)}


def told(folder):
    return render(catalogue("check", str(folder)).tables, "terminal")


def test_a_dataset_with_skipped_files_is_not_complete(tmp_path):
    """All 24 people and 15 trials; then three of them lie where none is expected, and all people are still there."""
    root = tmp_path / "motionsense"
    write_motionsense(root, rows=310, people=range(1, 25), activities=TRIALS)
    assert REGISTRY["motionsense"].check(tmp_path).state == "complete"
    for person in (1, 2, 3):
        (root / "late").mkdir(exist_ok=True)
        (root / f"A_DeviceMotion_data/wlk_8/sub_{person}.csv").rename(root / f"late/sub_{person}.csv")
    report = REGISTRY["motionsense"].check(tmp_path)
    assert report.state == "a part"
    assert report.missing == ("3 files of 360: person 1 has 14 of 15; person 2 has 14 of 15; person 3 has 14 of 15",)
    assert len(report.skipped) == 3
    said = " ".join(told(tmp_path).split())
    assert "3 files that look like files of motionsense, by name or place: 'motionsense/late/sub_1.csv'" in said
    assert "expected A_DeviceMotion_data/<activity>_<trial>/sub_<n>.csv" in said


def test_missing_files_of_a_person_are_counted(tmp_path):
    root = tmp_path / "motionsense"
    write_motionsense(root, rows=310, people=range(1, 25), activities=TRIALS)
    (root / "A_DeviceMotion_data/wlk_8/sub_3.csv").unlink()
    report = REGISTRY["motionsense"].check(tmp_path)
    assert (report.state, report.skipped) == ("a part", ())
    assert report.missing == ("1 file of 360: person 3 has 14 of 15",)


def test_a_person_with_fewer_files_than_others_is_named(tmp_path):
    folder = tmp_path / "data" / "a01"
    touch(*(folder / f"p{person}" / f"s0{segment}.txt" for person in (1, 2) for segment in (1, 2, 3)))
    dataset = REGISTRY["dsads"]
    assert list(dataset._missing_files(dataset._matches(dataset.find(tmp_path)))) == []
    (folder / "p2" / "s03.txt").unlink()
    assert list(dataset._missing_files(dataset._matches(dataset.find(tmp_path)))) == [
        "1 file of 6: person 2 has 2 of 3"
    ]


@pytest.mark.parametrize("everything", [False, True])
def test_misnamed_files_in_the_right_folder_are_named(tmp_path, everything):
    """Also where no file of the folder has the right name; what is called otherwise is not a data file."""
    folder = tmp_path / "motionsense" / "A_DeviceMotion_data" / "dws_1"
    names = {1: "sub1.csv", 2: "sub_2.txt", 3: "sub_3 (1).csv", 4: "sub_4.csv.gz"}
    for trial in ("dws_1", "dws_2"):
        touch(*(folder.parent / trial / f"sub_{person}.csv" for person in range(1, 6)))
    for person, name in names.items():
        (folder / f"sub_{person}.csv").rename(folder / name)
    if everything:
        (folder / "sub_5.csv").unlink()
    touch(folder / "readme.txt", folder / ".DS_Store", folder / "._sub_5.csv", folder.parent / "dws_notes.txt")
    expected = tuple(sorted(f"motionsense/A_DeviceMotion_data/dws_1/{name}" for name in names.values()))
    assert found(tmp_path).skipped == {"motionsense": expected}


SPELT = {
    "dsads": ("data/a01/p1/s01.txt", "data/a01/p1/s2.txt"),
    "hapt": ("RawData/acc_exp01_user01.txt", "RawData/acc_exp01-user02.txt"),
    "hhar": ("Phones_accelerometer.csv", "Phones_gyroscope.csv.gz"),
    "ku_har": ("1.Raw_time_domian_data/1.Stand/1001_A_1.csv", "1.Raw_time_domian_data/1.Stand/1002A1.csv"),
    "mhealth": ("mHealth_subject1.log", "mHealth_subject2.txt"),
    "mobiact": ("MobiAct_Dataset/WAL/WAL_acc_1_1.txt", "MobiAct_Dataset/WAL/WAL_acc_1_2.csv"),
    "pamap2": ("PAMAP2_Dataset/Protocol/subject101.dat", "PAMAP2_Dataset/Protocol/subject_102.dat"),
    "realworld": (
        "proband1/data/acc_walking_csv/acc_walking_waist.csv",
        "proband2/data/acc_walking_csv/acc_walking-waist.csv",
    ),
    "recgym": ("RecGym.csv", "RecGym (1).csv"),
    "uci_har": (
        "UCI HAR Dataset/train/Inertial Signals/body_acc_x_train.txt",
        "UCI HAR Dataset/train/Inertial Signals/body_acc_x_train.csv",
    ),
    "unimib": ("data/acc_data.mat", "data/acc_data (1).mat"),
    "vtt_coniot": ("activity_1_user_1_combined.csv", "activity_2_user_1_combined.txt"),
    "wisdm": (
        "wisdm-dataset/raw/phone/accel/data_1600_accel_phone.txt",
        "wisdm-dataset/raw/phone/accel/data_1601_accel_phone.csv",
    ),
}
"""A file, and another one whose name is not quite that of a file."""


@pytest.mark.parametrize("name", SPELT)
def test_a_misspelt_file_is_named(tmp_path, name):
    right, wrong = SPELT[name]
    touch(tmp_path / name / right, tmp_path / name / wrong)
    assert found(tmp_path).skipped == {name: (f"{name}/{wrong}",)}


def test_a_run_names_skipped_files(tmp_path, write):
    root = tmp_path / "data"
    write_motionsense(root / "motionsense", activities=("wlk_7", "sit_5"))
    shutil.copy(
        root / "motionsense/A_DeviceMotion_data/wlk_7/sub_1.csv", root / "motionsense/A_DeviceMotion_data/sub_9.csv"
    )
    write(root, "mine", "train", ("sitting", "walking"), subjects=2)
    asked = {"systems": "majority", "tasks": "zs-open", "profile": "smoke", "out": "none"}
    run = gnomon.run("har", data_root=str(root), train="mine", test="motionsense", **asked).runs[0]
    evidence = [finding.evidence for finding in run.findings if finding.id == "files-not-read"]
    assert len(evidence) == 1
    assert "'motionsense/A_DeviceMotion_data/sub_9.csv'" in evidence[0]


def test_links_that_lead_nowhere_and_files_of_other_datasets_are_named(tmp_path, write):
    root = tmp_path / "data"
    write_motionsense(root / "motionsense", activities=("wlk_7", "sit_5"))
    folder = root / "motionsense/A_DeviceMotion_data"
    (folder / "wlk_8").symlink_to(tmp_path / "gone")
    touch(folder / "wlk_7" / "subject101.dat", root / "motionsense" / "readme.txt")
    write(root, "mine", "train", ("sitting", "walking"), subjects=2)
    lost = "not read: 1 link to what does not exist: 'motionsense/A_DeviceMotion_data/wlk_8'; mend or remove"
    foreign = (
        "not read: 1 file in its folder that look like files of pamap2: "
        "'motionsense/A_DeviceMotion_data/wlk_7/subject101.dat'; expected PAMAP2_Dataset/"
    )
    notes = catalogue("check", str(root)).tables[0].notes
    assert f"motionsense: {lost}" in notes
    assert any(note.startswith(f"motionsense: {foreign}") for note in notes)
    asked = {"systems": "majority", "tasks": "zs-open", "profile": "smoke", "out": "none"}
    run = gnomon.run("har", data_root=str(root), train="mine", test="motionsense", **asked).runs[0]
    (finding,) = [finding for finding in run.findings if finding.id == "files-not-read"]
    assert lost in finding.evidence
    assert foreign in finding.evidence


def test_a_data_file_that_is_a_link_to_nothing_is_left_out_as_unreadable(tmp_path):
    write_motionsense(tmp_path / "motionsense")
    path = tmp_path / "motionsense/A_DeviceMotion_data/wlk_7/sub_3.csv"
    path.symlink_to(tmp_path / "gone.csv")
    assert found(tmp_path).strays == {}
    (left,) = REGISTRY["motionsense"].check(tmp_path).broken
    assert "sub_3.csv" in left


def test_a_link_to_nothing_outside_of_every_dataset_is_a_note(tmp_path):
    for name in ("motionsense", "pamap2"):
        touch(tmp_path / name / PLACES[name][0])
    (tmp_path / "wisdm").symlink_to(tmp_path / "gone")
    (tmp_path / "motionsense" / ".lock").symlink_to("nobody@nowhere")
    there = found(tmp_path)
    assert any("1 link to what does not exist: 'wisdm'" in note for note in there.notes)
    assert there.strays == {}


def test_a_dataset_behind_a_link_is_read(tmp_path):
    write_motionsense(tmp_path / "away" / "motionsense")
    root = tmp_path / "root"
    root.mkdir()
    (root / "motionsense").symlink_to(tmp_path / "away" / "motionsense")
    assert found(root)["motionsense"][1][0].inside == "motionsense/"
    report = REGISTRY["motionsense"].check(root)
    assert (report.recordings, report.subjects) == (4, ("sub_1", "sub_2"))


def test_links_that_lead_to_the_same_dataset_are_named_and_read_once(tmp_path):
    write_motionsense(tmp_path / "zz")
    (tmp_path / "again").symlink_to("zz")
    (tmp_path / "zz" / "loop").symlink_to(tmp_path)
    there = found(tmp_path)
    assert there["motionsense"][1][0].inside == "zz/"
    assert len(there.notes) == 2
    assert "again is a link to zz, where 'motionsense' is read: not read twice" in there.notes
    assert "again is a link to zz" in told(tmp_path)


def test_a_link_to_a_simulated_dataset_does_not_hide_the_mark(tmp_path):
    sim = tmp_path / "sim"
    write_motionsense(sim / "motionsense")
    (sim / "simulated.json").write_text('{"datasets": ["motionsense"]}')
    root = tmp_path / "root"
    root.mkdir()
    (root / "mine").symlink_to(sim / "motionsense")
    assert "simulated data, no recordings of people: motionsense" in told(root)


def test_own_tables_behind_two_paths_are_one_dataset(tmp_path, write):
    (tmp_path / "own").mkdir()
    write(tmp_path / "own", "mine", "train", ("sitting",), subjects=1)
    (tmp_path / "a_link").symlink_to("own")
    there = found(tmp_path)
    assert there.faults == {}
    assert os.fspath(there["mine"][1][0].path).endswith("own/mine.toml")
    assert any("a_link/mine.toml leads to" in note for note in there.notes)


def test_folders_that_are_too_deep_are_named(tmp_path):
    deep = tmp_path.joinpath(*"abcdefghij")
    touch(deep / "RecGym.csv")
    assert any("not looked into: more than 8 folders deep" in note for note in found(tmp_path).notes)
