"""Tables of episode runs, as a reader sees them.

Expected values: the scores of the runs; the declared tasks; by hand.
"""

from dataclasses import replace

import pytest

from gnomon.core.table import Table
from gnomon.report.cells import grid
from gnomon.suites.episode import views
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.heads import trivial
from gnomon.suites.episode.options import TRIVIAL
from gnomon.suites.episode.tasks.declared import TASKS


@pytest.fixture
def strict(runs):
    return list(runs["strict"].values())


def by_task(table):
    return {row["task"].value: row for row in table.rows}


def changed(run, **facts):
    return replace(run, manifest={**run.manifest, "facts": {**run.manifest["facts"], **facts}})


def test_every_task_has_a_row_with_head_baseline_ceiling_and_the_reported_figure(strict, runs):
    table = views.overview(strict)
    rows = by_task(table)
    assert list(rows) == list(TASKS)
    head = runs["strict"]["minimal"]
    for name, task in TASKS.items():
        measure = f"{task.metric}[{name}]"
        assert rows[name][head.system].value == head.find(measure).value
        assert rows[name]["reported minimal"].value == task.published["minimal"]
        assert rows[name]["n"].value == head.manifest["facts"]["tasks"][name]["samples"]["test"]
        found = [runs["strict"][system].find(measure) for system in TRIVIAL]
        known = [score.value for score in found if score.value is not None]
        if known:
            assert rows[name]["trivial"].value == (max if task.direction == "up" else min)(known)
            assert rows[name]["ceiling"].value is not None
        else:  # a task that these episodes are too short for
            assert head.manifest["facts"]["tasks"][name]["lacks"]
            assert (rows[name]["trivial"].value, rows[name]["ceiling"].value) == (None, None)


def test_baselines_have_a_row_for_each_task_that_they_answer(strict):
    table = views.baselines(strict)
    named = {(row["task"].value, row["baseline"].value) for row in table.rows}
    assert ("hand_trajectory_forecast", "persistence") in named
    assert ("caption_grounding", "majority") not in named
    assert {name for _, name in named} == set(trivial.NAMES)
    assert views.baselines([run for run in strict if run.manifest["system"] == "minimal"]) is None


def test_no_cell_says_undefined_for_what_does_not_apply(strict):
    """What a task has not got is blank; only scores that should be there and are not are undefined."""
    for item in views.tables(strict):
        if isinstance(item, Table):
            _, rows = grid(item)
            assert not any("undefined (" in text for row in rows for text in row), item.name


def test_names_of_systems_do_not_repeat_the_variant_of_the_title(strict):
    aliased = [replace(run, alias=f"{run.manifest['system']} [strict]") for run in strict]
    assert "strict" in views.overview(aliased).title
    assert [column.title for column in views.overview(aliased).columns][3] == "minimal"


def test_a_task_that_was_not_answered_is_undefined_and_the_reason_is_below(strict):
    head = next(run for run in strict if run.manifest["system"] == "minimal")
    tasks = dict(head.manifest["facts"]["tasks"])
    tasks["next_action"] = {key: value for key, value in tasks["next_action"].items() if key != "answered"}
    tasks["next_action"]["lacks"] = "no sample to test on"
    without = changed(head, tasks=tasks)
    assert by_task(views.overview([without]))["next_action"][head.system].value is None
    assert "next_action, not asked: no sample to test on" in views.samples(without).notes


def test_samples_are_counted_by_part_and_reason(runs):
    run = runs["strict"]["minimal"]
    row = by_task(views.samples(run))["misalignment_detection"]
    facts = run.manifest["facts"]["tasks"]["misalignment_detection"]
    assert row["purged"].value == facts["samples"]["purged"] > 0
    assert row["dropped"].value == 16  # by hand: 8 windows of each episode have no second one
    assert row["reported"].value == "1614 / 692"


def test_classes_that_training_never_showed_are_named_with_what_they_leave(runs):
    run = runs["strict"]["minimal"]
    table = by_task(views.unseen(run))
    facts = run.manifest["facts"]["tasks"]
    assert set(table) == {
        name for name, task in TASKS.items() if task.kind in ("label", "binary", "pair", "multilabel")
    }
    assert table["timeline_action"]["unseen"].value == len(facts["timeline_action"]["unseen_test_classes"]) > 0
    assert table["timeline_action"]["ceiling"].value == facts["timeline_action"]["ceiling"] < 1


@pytest.mark.parametrize("form", ["terminal", "markdown", "csv", "latex", "html", "json"])
def test_every_table_is_whole_in_every_form(result, form):
    assert "timeline_action" in result.to(form).replace("\\_", "_")


def test_every_table_is_a_frame_of_one_kind_a_column(result):
    for name, table in result.tables.items():
        if name not in ("variants", "comparison"):  # not of this suite
            assert result.to_arrow(name).num_rows == len(table.rows)


def test_coverage_of_few_episodes_is_by_episode_and_of_many_summed_up(runs):
    run = runs["strict"]["minimal"]
    table = views.coverage(run)
    assert [row["block"].value for row in table.rows] == list(NAMES)
    assert [column.title for column in table.columns][1:] == ["session_000/ep0", "session_001/ep0"]
    one = run.manifest["facts"]["streams"]["session_000/ep0"]
    full = {**one, "coverage": dict.fromkeys(NAMES, 1.0), "masked": {}}
    low = {**full, "coverage": {**full["coverage"], "calibration": 0.5}}
    many = views.coverage(changed(run, streams={**{f"s/ep{k}": full for k in range(4)}, "s/ep4": low}))
    row = next(row for row in many.rows if row["block"].value == "calibration")
    assert (row["mean"].value, row["least"].value, row["where"].value) == (pytest.approx(0.9), 0.5, "s/ep4")
    assert "audio: present, featurized: false" in many.notes


@pytest.mark.parametrize(
    ("present", "said"),
    [((True,), "present"), ((False,), "absent"), ((None,), "not looked at"), ((True, False), "present in some")],
)
def test_audio_is_said_to_be_there_and_never_featurized(runs, present, said):
    run = runs["strict"]["minimal"]
    one = run.manifest["facts"]["streams"]["session_000/ep0"]
    streams = {f"s/ep{k}": {**one, "audio": {"present": value}} for k, value in enumerate(present)}
    assert views.coverage(changed(run, streams=streams)).notes[0] == f"audio: {said}, featurized: false"


def test_the_gate_is_that_of_the_heads_not_of_the_baselines(strict):
    (table,) = (item for item in views.tables(strict[::-1]) if item.name == "gate")
    met = {row["condition"].value: row["met"].value for row in table.rows}
    assert met["training metadata"] == "yes"
    assert met["at least 32 valid episodes, real and with every stream"] == "no"


def test_one_run_shows_its_confusions(runs):
    """Rows are truth: their sums are the test samples of each class."""
    run = runs["strict"]["minimal"]
    found = {item.name: item for item in views.tables([run])}
    matrix = found["confusion_temporal_order"].data
    assert matrix["labels"] == matrix["predicted"] == ["forward", "reversed"]
    half = run.manifest["facts"]["tasks"]["temporal_order"]["samples"]["test"] // 2
    assert [sum(row) for row in matrix["counts"]] == [half, half]
    assert "baselines" not in found


def test_a_reason_is_said_once_for_all_blocks_and_episodes(runs):
    """Five videos were left out of both episodes."""
    notes = [note for note in views.coverage(runs["strict"]["minimal"]).notes if "left out on request" in note]
    assert len(notes) == 1
    assert "'video_fisheye_cam0'" in notes[0]
    assert "'session_000/ep0', 'session_001/ep0'" in notes[0]
