"""LaTeX: escaping, balance, marks. A TeX engine compiles the tables where one is installed."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.table import Cell, Column, Table
from gnomon.report import FORMATS, render
from gnomon.report.latex import escape, for_paper

SPECIAL = "[ * _ % & # $ { } ~ ^ \\ < > | \" ` '"
ENGINE = next((name for name in ("pdflatex", "lualatex", "xelatex", "tectonic") if shutil.which(name)), None)
TABLE = Table(
    "t",
    f"title {SPECIAL}",
    (
        Column("system", f"system {SPECIAL}"),
        Column("n", "n", "count"),
        Column("error", "error", "score", "mm", "down", 1),
    ),
    (
        {"system": Cell(f"{SPECIAL} a"), "n": Cell(12345), "error": Cell(80.529, 70.0, 91.06, mark="best")},
        {"system": Cell("b", mark="partial"), "n": Cell(0), "error": Cell(None, why="no samples")},
    ),
    (f"a note {SPECIAL}",),
)


def unescaped(text):
    """What is left of special characters when everything that LaTeX defines is taken out."""
    known = (
        r"\\textbackslash\{\}|\\textasciitilde\{\}|\\textasciicircum\{\}|\\textless\{\}|\\textgreater\{\}|\\textbar\{\}"
        r"|\{\\char34\}|\\textasciigrave\{\}|\{\\textquotesingle\}|\\[{}_%&#$]"
        r"|\{[\[*]\}|\$\\(?:uparrow|downarrow|pm|times|leq|geq)\$|\{\$-\$\}|\{\}"
    )
    return re.sub(known, "", text)


def test_every_special_character_is_escaped():
    assert not set(unescaped(escape(SPECIAL))) & set("_%&#$~^\\{}<>|\"`'[*")


@given(st.text(max_size=40))
def test_any_text_is_balanced_and_on_one_line(text):
    found = escape(text)
    assert "\n" not in found
    assert not set(unescaped(found)) & set("_%&#$~^\\{}")


def test_a_table_is_whole_and_balanced():
    text = render([TABLE], "latex")
    for environment in ("table", "tabular"):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}") == 1
    plain = text.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    # Three columns, the last of two cells: a value with its interval, or a text over both.
    assert [len(re.findall(r"(?<!\\)&", line)) for line in body.strip().splitlines()] == [3, 2]
    assert r"\begin{tabular}{lrr@{\hspace{3pt}}l}" in text
    assert r"\multicolumn{2}{r}{undefined (no samples)}" in text


def test_marks_and_directions():
    text = render([TABLE], "latex")
    assert r"\bfseries 80.5 & {\scriptsize {[}70.0, 91.1]}" in text
    assert r"b{$^{\dagger}$}" in text
    assert "partial run" in text
    assert r"error (mm) $\downarrow$" in text
    assert "12345" in text
    assert "undefined (no samples)" in text


RAGGED = Table(
    "r", "ragged", (Column("a", "a"), Column("b", "b")), ({"a": Cell("x")}, {"a": Cell("y"), "b": Cell("z")})
)


@pytest.mark.parametrize("format", FORMATS)
def test_ragged_tables_are_an_error_unless_a_policy_is_named(format):
    with pytest.raises(InputError, match=r"1 cells are missing, the first in row 1, column 'b'"):
        render([RAGGED], format)
    assert "not there (1 of 4 cells)" in render([RAGGED], format, "dash") or format == "csv"


def test_intervals_of_a_wide_table_stand_under_their_numbers():
    columns = tuple(Column(f"c{index}", f"column {index}", "score") for index in range(6))
    wide = Table("w", "wide", columns, ({column.key: Cell(0.5, 0.4, 0.6) for column in columns},))
    text = render([wide], "latex")
    numbers, spans = text.split("\\midrule\n")[1].splitlines()[:2]
    assert numbers.strip() == " & ".join(["0.500"] * 6) + r" \\[-2pt]"
    assert spans.strip() == " & ".join([r"{\scriptsize {[}0.400, 0.600]}"] * 6) + r" \\[2pt]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a--b", "a-{}-b"),
        ("a---b", "a-{}-{}-b"),
        ("1,,2", "1,{},2"),
        ("A - B", "A {$-$} B"),
        ("from -1 to [-.5, 2]", "from {$-$}1 to {[}{$-$}.5, 2]"),
        ("well-known t-1", "well-known t-1"),
        ("2 − 1 ≤ 1", r"2 {$-$} 1 $\leq$ 1"),
    ],
)
def test_hyphens_stay_and_minus_signs_are_of_mathematics(text, shown):
    assert escape(text) == shown


def test_negative_numbers_have_a_minus():
    below = Table("b", "b", (Column("d", "A - B", "score"),), ({"d": Cell(-0.54, -1.0, -0.08)},))
    text = render([below], "latex")
    assert r"{$-$}0.540 & {\scriptsize {[}{$-$}1.000, {$-$}0.080]}" in text
    assert "A~{$-$}~B" in text


def test_there_is_a_skip_under_the_caption():
    text = render([TABLE], "latex")
    assert text.index(r"\setlength{\belowcaptionskip}{6pt}") < text.index(r"\caption{")


@pytest.mark.parametrize(
    ("note", "left"),
    [
        (
            "no paired comparison: b is partial: 2 of 3 rows scored: complete the runs before comparing; --common (in "
            "Python: common=True) compares on 1 of 2 cases that all runs scored",
            "no paired comparison: b is partial: 2 of 3 rows scored",
        ),
        (
            "warning: no groups, so no interval; add a column 'group', or --group id",
            "warning: no groups, so no interval",
        ),
        ("warning: run 'gnomon verify' on it", ""),
        ("--classes: check the spelling; they count as 0/0", ""),
        ("* better than every other", "bold: better than every other"),
        ("a--b: 1 class rests on fewer; than 10", "a--b: 1 class rests on fewer; than 10"),
    ],
)
def test_advice_for_the_terminal_is_left_out(note, left):
    assert for_paper(note) == left
    text = render([Table("n", "n", (Column("a", "a"),), (), (note,))], "latex")
    assert text.count("footnotesize") == bool(left)


def test_an_unknown_policy_is_refused():
    with pytest.raises(InputError, match="error, dash, but got 'blank'"):
        render([RAGGED], "latex", "blank")


WIDE = Table(
    "w",
    "wide - with a--b",
    (Column("system", "system"), *(Column(f"c{at}", f"score - {at}", "score", "s", "up") for at in range(5))),
    (
        {"system": Cell("a"), **{f"c{at}": Cell(-0.5, -0.75, 0.25, mark="best") for at in range(5)}},
        {"system": Cell("b"), **{f"c{at}": Cell(None, why="failed", mark="partial") for at in range(5)}},
        {"system": Cell("c"), **{f"c{at}": Cell(12.5, interval_why="undefined (1 group)") for at in range(5)}},
    ),
)


def compiled(folder, packages, tables):
    page = f"\\documentclass{{article}}\\usepackage[T1]{{fontenc}}\\usepackage{{{packages}}}\\begin{{document}}\n"
    (folder / "page.tex").write_text(page + tables + "\\end{document}\n", encoding="utf-8")
    return subprocess.run([ENGINE, "-interaction=nonstopmode", "page.tex"], cwd=folder, capture_output=True, text=True)


@pytest.mark.skipif(ENGINE is None, reason="no TeX engine is installed")
def test_it_compiles(tmp_path):
    done = compiled(tmp_path, "textcomp,booktabs,graphicx", render([TABLE, WIDE], "latex"))
    assert done.returncode == 0, done.stdout[-2000:]


def has(package):
    return (
        bool(shutil.which("kpsewhich")) and subprocess.run(["kpsewhich", package], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(ENGINE is None or not has("siunitx.sty"), reason="no TeX engine with siunitx is installed")
def test_columns_of_numbers_may_be_those_of_siunitx(tmp_path):
    """Every column of numbers is made an S column, beside intervals and over them."""
    text = render([TABLE, WIDE], "latex")
    for plain, numbers in (("{lrr@{\\hspace{3pt}}l}", "{lSS@{\\hspace{3pt}}l}"), ("{lrrrrr}", "{lSSSSS}")):
        assert text.count(plain) == 1
        text = text.replace(plain, numbers)
    done = compiled(tmp_path, "textcomp,booktabs,graphicx,siunitx", text)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "siunitx Error" not in done.stdout


LONG = Table(
    "l",
    "long",
    (Column("a", "a"), Column("b", "b", "score")),
    tuple({"a": Cell(f"row {n}"), "b": Cell(n / 7, n / 8, n / 6)} for n in range(150)),
    tuple(f"note {n} of a table whose notes would fill a page of their own " * 3 for n in range(30)),
)


def test_a_long_table_goes_over_several_pages():
    text = render([LONG], "latex")
    parts = text.split(r"\begin{table}")[1:]
    assert len(parts) > 1
    assert all(f"row {n} " in text for n in range(150))
    assert [part.count(r"\caption{long") for part in parts] == [1] * len(parts)
    assert r"\caption{long (continued)}" in parts[-1]
    assert all(part.split(r"\end{table}")[0].count(r"\\") < 60 for part in parts)


@pytest.mark.skipif(ENGINE is None, reason="no LaTeX engine is installed")
def test_a_long_table_fits_the_pages(tmp_path):
    body = render([LONG], "latex")
    head = r"\documentclass{article}\usepackage{booktabs,graphicx,textcomp}\begin{document}"
    (tmp_path / "t.tex").write_text(f"{head}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    done = subprocess.run(
        [ENGINE, "-interaction=nonstopmode", "t.tex"], cwd=tmp_path, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0
    assert b"Float too large" not in done.stdout
