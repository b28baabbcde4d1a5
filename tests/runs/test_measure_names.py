"""Names of measures: what tables of every suite print, and what messages offer, is accepted by ``--metrics``."""

import re

import pytest

import gnomon
from gnomon.api import choose_metrics, present
from gnomon.core import registry
from gnomon.core.errors import InputError
from gnomon.core.measure import MOST_OFFERED, find_measure
from gnomon.core.table import Table
from gnomon.measures.classification import F1, Accuracy, ClassF1
from gnomon.measures.skeletons import MPJPE
from gnomon.report.cells import heading
from gnomon.suites.change.protocol import FIRST_TABLE as CHANGE_COLUMNS
from gnomon.suites.change.protocol import protocol as change_protocol
from gnomon.suites.events import protocol as events_protocol
from gnomon.suites.har.protocol import measures as har_measures
from gnomon.suites.labels import protocol as labels_protocol
from gnomon.suites.skeleton import protocol as skeleton_protocol

MEASURES = (F1("macro"), Accuracy(), F1("weighted"), ClassF1("a b"), ClassF1("C"), ClassF1("c"), MPJPE((0,)))
BOXES = change_protocol("strict", "max-cardinality", 0.25, ()).measures
TASKS = har_measures(("zs-open", "sup-1"), ("motionsense", "mobiact"), ())


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *((text, "macro_f1") for text in ("macro_f1", "macro f1", "macro F1", "Macro-F1", "MacroF1", "macro f1 ↑")),
        *((text, "mpjpe") for text in ("mpjpe", "MPJPE (mm)", "mpjpe (mm) ↓")),
        ("f1[a b]", "f1[a b]"),
        ("F1 [A_B]", "f1[a b]"),
        ("f1[C]", "f1[C]"),
        ("f1[c]", "f1[c]"),
        (repr(F1("weighted")), "weighted_f1"),
    ],
)
def test_case_blanks_and_punctuation_make_no_difference(given, name):
    assert find_measure(MEASURES, given).name == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("box_macro_f1", "box_macro_f1@0.25:max-cardinality"),
        ("box macro f1@0.25", "box_macro_f1@0.25:max-cardinality"),
        ("macro f1", "box_macro_f1@0.25:max-cardinality"),
        ("mean iou", "box_mean_iou@0.25:max-cardinality"),
        ("mean IoU ↑", "box_mean_iou@0.25:max-cardinality"),
        ("f1[Add]", "box_f1[Add]@0.25:max-cardinality"),
        ("false boxes per scene (1/scene) ↓", "false_boxes_per_scene@0.25:max-cardinality"),
        ("change detection rate", "cdr"),
        ("point macro2 f1", "point_macro2_f1"),
    ],
)
def test_parameters_may_be_left_out_where_one_measure_remains(given, name):
    assert find_measure(BOXES, given).name == name


@pytest.mark.parametrize(("given", "name"), [("zs-open acc (%)", "accuracy[zs-open]"), ("sup-1 F1", "macro_f1[sup-1]")])
def test_headings_of_har(given, name):
    assert find_measure(TASKS, given).name == name


@pytest.mark.parametrize(
    ("measures", "given", "names"),
    [
        (MEASURES, "F1[ c ]", ["f1[C]", "f1[c]"]),
        (MEASURES, "f1", ["f1[a b]", "f1[C]", "f1[c]"]),
        (BOXES, "F1 ↑", ["box_f1[Add]@0.25:max-cardinality", "box_f1[Remove]@0.25:max-cardinality"]),
    ],
)
def test_an_ambiguous_name_lists_the_candidates(measures, given, names):
    with pytest.raises(InputError, match="may be any of") as error:
        find_measure(measures, given)
    assert f"any of {', '.join(names)} in these runs" in str(error.value)


@pytest.mark.parametrize("given", ["", "-", "beauty", "macro_f2"])
def test_an_unknown_name_brings_all_names_where_they_are_few(given):
    with pytest.raises(InputError, match="no measure") as error:
        find_measure(MEASURES, given)
    assert str(error.value).endswith(", ".join(measure.name for measure in MEASURES))


def test_of_many_names_the_nearest_are_offered_and_each_works():
    with pytest.raises(InputError, match=r"\(\d+ in all\)") as error:
        find_measure(TASKS, "weighted f1 mobiact zs open")
    offered = re.search(r"there are (.*) and \d+ more", str(error.value)).group(1).split(", ")
    assert len(offered) == MOST_OFFERED
    assert offered[0] == "weighted_f1[zs-open mobiact]"
    assert all(find_measure(TASKS, name).name == name for name in offered)


def test_every_registered_measure_is_found_by_name_print_and_identity():
    for measure in registry.measures():
        for given in (measure.name, measure.name.upper(), measure.name.replace("_", " "), repr(measure)):
            assert find_measure((measure,), given) is measure


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """One scored run of every suite, of the suite's own example files."""
    folder = tmp_path_factory.mktemp("examples")
    for suite in ("labels", "events", "change", "har", "skeleton", "episode"):
        verb = registry.suite(suite).verb("template")
        verb.load()(verb.options(directory=str(folder / suite)))
    given = {
        "labels": {"truth": folder / "labels/truth.csv", "predictions": str(folder / "labels/predictions.csv")},
        "events": {
            "truth": [str(folder / f"events/{name}.json") for name in ("morning", "noon")],
            "predictions": str(folder / "events/results.json"),
        },
        "change": {
            "truth": str(folder / "change/dataset"),
            "predictions": str(folder / "change/predictions.json"),
            "per_category": True,
        },
        "har": {"truth": folder / "har/truth.csv", "predictions": str(folder / "har/predictions.csv")},
        "skeleton": {"pred_file": str(folder / "skeleton/predictions.npz")},
        "episode": {
            "truth": [str(folder / "episode/episodes")],
            "predictions": str(folder / "episode/predictions"),
        },
    }
    return {suite: gnomon.score(suite, **options) for suite, options in given.items()}


@pytest.mark.parametrize("suite", ["labels", "events", "change", "har", "skeleton", "episode"])
def test_every_metric_that_tables_print_is_accepted(scored, suite):
    """A heading of several measures (one per class or task) is answered by their names, which work."""
    result = scored[suite]
    measures = result.runs[0].measures
    printed = [name for table in result.items if isinstance(table, Table) for name in names_in(table, result.runs[0])]
    assert printed
    for name in printed:
        names = [own.strip() for own in answer(measures, name).split(", ")]
        assert all(find_measure(measures, own).name == own for own in names), name


def answer(measures, name):
    """Return the name of the measure that a text stands for, or of those among which it is ambiguous."""
    try:
        return find_measure(measures, name).name
    except InputError as error:
        offered = re.search(r"may be any of (.*?) (?:and \d+ more|in these runs)", str(error))
        if offered is None:
            raise
        return offered.group(1)


def names_in(table, run):
    """Return the metrics that a table names: headings of scores, and cells of the columns measure and metric."""
    other = {"ceiling", "attainable", "best baseline", "value", "with", "without", run.system, f"F1 {run.system}"}
    headings = [
        heading(column)
        for column in table.columns
        if column.kind == "score" and column.title not in other and not column.key.startswith(("system:", "reported"))
    ]
    keys = ("measure", "metric") if run.suite == "episode" else ("measure",)
    if table.name == "coverage":
        return []
    return headings + [str(row[key].value) for row in table.rows for key in keys if key in row]


@pytest.mark.parametrize("suite", ["labels", "events", "change", "har", "skeleton", "episode"])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_first_table_shows_what_was_chosen_and_nothing_else(scored, suite, count):
    """Names from the end of the list: none of them is a default column of the first place."""
    measures = scored[suite].runs[0].measures
    names = [measure.name for measure in measures[::-1][:count]]
    runs, chosen = choose_metrics(scored[suite].runs, [f"{', '.join(names[:2])}", *names[2:]])
    assert chosen == tuple(names)
    (run,) = runs
    assert [measure.name for measure in run.measures[:count]] == names
    assert len(run.measures) == len(measures)
    assert sorted(map(repr, run.scores)) == sorted(map(repr, scored[suite].runs[0].scores))
    result = present(runs)
    first = next(iter(result.tables.values()))
    assert [column.key for column in first.columns if column.kind == "score"] == names
    for name in names:
        value = run.find(name).value
        shown = first.rows[0][name].value
        factor = next(measure.shown.factor if measure.shown else 1.0 for measure in measures if measure.name == name)
        assert shown == (None if value is None else pytest.approx(value * factor))
    slices = result.tables.get("slices")
    assert slices is None or [column.key for column in slices.columns if column.kind == "score"] == names


def test_the_first_table_without_a_choice_is_declared_by_name(scored):
    declared = {
        "labels": labels_protocol.FIRST_TABLE,
        "events": events_protocol.FIRST_TABLE,
        "change": [f"{name}@0.25:max-cardinality" for name in CHANGE_COLUMNS],
        "skeleton": skeleton_protocol.FIRST_TABLE,
    }
    for suite, names in declared.items():
        first = next(iter(scored[suite].tables.values()))
        assert [column.key for column in first.columns if column.kind == "score"] == list(names), suite
