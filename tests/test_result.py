"""What a result gives in Python; expected values are those of its own tables and runs, or were worked out by hand."""

import builtins
import os
import re
import subprocess
import sys

import pytest

import gnomon
from gnomon.core.errors import InputError, MissingExtraError
from gnomon.report.figures import drawing

TRUTH = list("abab" * 6)
GROUPS = [f"s{row % 6}" for row in range(24)]
A = ["b" if row in (0, 7, 9) else label for row, label in enumerate(TRUTH)]
B = ["a" if row % 3 else label for row, label in enumerate(TRUTH)]


@pytest.fixture(scope="module")
def result():
    return gnomon.score("labels", TRUTH, {"A": A, "B": B}, groups=GROUPS)


def test_a_score_is_found_by_system_and_metric(result):
    # by hand: rows 0 is wrong; rows 7 and 9 are "b" in truth, so that they are right
    assert result["A", "accuracy"] == 23 / 24
    assert result["A", "macro_f1"] == result.scores["A"]["macro_f1"]
    for spelled in ("macro F1", "Macro f1", "macro-f1"):
        assert result["A", spelled] == result["A", "macro_f1"]


def test_an_undefined_score_is_none():
    alone = gnomon.score("labels", ["a", "a"], {"A": ["a", "a"]}, groups=["x", "y"])
    assert alone["A", "kappa"] is None


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (("C", "accuracy"), "no system 'C': there are A, B"),
        (("A", "acuracy"), "no measure 'acuracy' in the run of 'A'; there are macro_f1, accuracy"),
        ("A", r"expected result\[system, metric\], such as result\['A', 'macro_f1'\], but got 'A'"),
        (("A", 3), r"expected result\[system, metric\]"),
    ],
)
def test_a_wrong_key_is_refused_with_what_there_is(result, key, said):
    with pytest.raises(InputError, match=said):
        result[key]


def test_frames_of_every_library_hold_the_same(result):
    pytest.importorskip("polars")
    rows = result.tables["scores"].flat()
    assert result.to_arrow().to_pylist() == rows
    assert result.to_pandas().to_dict("records") == rows
    assert result.to_polars().to_dicts() == rows
    assert result.to_polars("comparison").to_dicts() == result.tables["comparison"].flat()
    with pytest.raises(InputError, match="no table 'score': did you mean 'scores'"):
        result.to_polars("score")


def test_polars_takes_columns_that_begin_with_nothing():
    pytest.importorskip("polars")
    truth, said = ["a"] * 200 + ["b", "a"], ["a"] * 202
    found = gnomon.score("labels", truth, {"A": said}, groups=list(range(202)), slice="group")
    assert found.to_polars("slices").height == len(found.tables["slices"].rows)


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_polars", "polars")])
def test_a_missing_library_is_named_with_how_to_get_it(result, monkeypatch, method, package):
    real = builtins.__import__

    def without(name, *rest):
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=f"{method}\\(\\) needs {package}, .*pip install"):
        getattr(result, method)()


def test_texts_of_everything_and_of_one_table(result):
    assert result.to_markdown() == result.to("markdown")
    assert result.to_latex() == result.to("latex")
    assert result.to_markdown("comparison").startswith("**paired comparison**")
    assert result.to_latex("comparison").count(r"\begin{table}") == 1


def test_a_figure_shows_and_is_saved(result, tmp_path):
    pytest.importorskip("vl_convert")
    figure = result.plot()
    assert figure.name == "intervals_1"
    assert "A 0.958" in repr(result.plot("intervals_2"))
    assert figure.spec["$schema"].endswith("v5.json")
    assert figure._repr_html_().startswith('<div class="gnomon-figure"><svg')
    assert figure.save(tmp_path / "f.svg").read_bytes().startswith(b"<?xml")
    assert figure.save(tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert figure.save(tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match=r"no kind of figure '\.jpg'; .*are svg, png, pdf"):
        figure.save(tmp_path / "f.jpg")
    with pytest.raises(InputError, match="cannot be written"):
        figure.save(tmp_path / "no" / "f.svg")


def test_figures_are_found_by_name_and_by_table(result):
    assert result.plot("strips_1").view.kind == "strips"
    assert result.plot("scores").name == "intervals_1"
    with pytest.raises(InputError, match=r"no figure 'strips': did you mean 'strips_1'\? There are intervals_1, "):
        result.plot("strips")


def test_the_page_of_a_notebook_holds_the_figure_and_nothing_from_elsewhere(result):
    pytest.importorskip("vl_convert")
    shown = result._repr_html_()
    assert shown.startswith('<table class="gnomon">')
    assert shown.count("<svg") == 1
    assert "<script" not in shown
    assert not re.search(r"(src|href)=", shown)
    assert "https://" not in shown
    assert len(shown) < 50_000


def test_without_what_draws_a_notebook_says_how_to_get_it(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "pip install 'gnomon[report]'" in result._repr_html_()
    with pytest.raises(MissingExtraError, match=r"gnomon\[report\]"):
        result.plot().save("figure.svg")
    assert not drawing.available()


def test_an_audit_has_no_figure_of_its_own_and_can_be_plotted(result):
    audit = gnomon.audit(result)
    assert "<svg" not in audit._repr_html_()
    assert audit.plot().name == "intervals_1"


def test_results_without_runs_or_tables_say_so():
    empty = gnomon.Result((), ())
    with pytest.raises(InputError, match="nothing to plot"):
        empty.plot()
    with pytest.raises(InputError, match="no table"):
        empty.to_arrow()
    assert empty._repr_html_() == ""


def files(folder):
    """Everything in the runs of a folder but what says where and when they were made."""
    skipped = ("manifest.json", "seal.sha256")
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in skipped)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("systems", [{"A": A, "B": B}, {"A": A, "copy": A}])
def test_saving_gives_the_runs_that_out_gives(tmp_path, systems):
    """Two systems with the same answers get findings when they are shown together, which are not part of the runs."""
    found = gnomon.score("labels", TRUTH, systems, groups=GROUPS)
    paths = found.save(tmp_path / "saved")
    assert [path.name for path in paths] == [run.manifest["id"] for run in found.runs]
    assert all(check.passed for check in gnomon.verify(tmp_path / "saved"))
    gnomon.score("labels", TRUTH, systems, groups=GROUPS, out=tmp_path / "out")
    assert files(tmp_path / "saved") == files(tmp_path / "out")
    assert gnomon.load(tmp_path / "saved").scores == found.scores


def test_stored_runs_are_copied_whole(tmp_path, result):
    result.save(tmp_path / "first")
    paths = gnomon.load(tmp_path / "first").save(tmp_path / "second")
    assert len(paths) == 2
    assert files(tmp_path / "second") == files(tmp_path / "first")
    assert all(check.passed for check in gnomon.verify(tmp_path / "second"))
    assert gnomon.load(tmp_path / "first").save(tmp_path / "first") == result.save(tmp_path / "first")
    loaded = gnomon.load(tmp_path / "first")
    (tmp_path / "first" / loaded.runs[0].manifest["id"] / "scores.json").write_text("{}")
    with pytest.raises(InputError, match="damaged and is not copied"):
        loaded.save(tmp_path / "third")


def test_a_file_is_no_folder_to_save_into(tmp_path, result):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        result.save(tmp_path / "file")


def test_frames_are_not_loaded_unless_asked_for():
    """Pandas is not among them: Arrow itself loads it, where it is installed."""
    code = (
        "import sys, gnomon\n"
        "r = gnomon.score('labels', list('abab'), {'A': list('abab')}, groups=list('xyxy'))\n"
        "r['A', 'accuracy'], r.to_markdown(), str(r)\n"
        "print([m for m in ('polars', 'vl_convert', 'IPython') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.split("\n")[-2] == "[]"
