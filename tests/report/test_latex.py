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
from gnomon.report.latex import escape

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
        r"|\{[\[*]\}|\$\\(?:uparrow|downarrow|pm|times)\$"
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
    assert [len(re.findall(r"(?<!\\)&", line)) for line in body.strip().splitlines()] == [2, 2]


def test_marks_and_directions():
    text = render([TABLE], "latex")
    assert r"\textbf{80.5} {\scriptsize {[}70.0, 91.1]}" in text
    assert r"b$^{\dagger}$" in text
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
    assert text.count(r"\begin{tabular}[t]{@{}r@{}}0.500\\{\scriptsize {[}0.400, 0.600]}\end{tabular}") == 6


def test_an_unknown_policy_is_refused():
    with pytest.raises(InputError, match="error, dash, but got 'blank'"):
        render([RAGGED], "latex", "blank")


@pytest.mark.skipif(ENGINE is None, reason="no TeX engine is installed")
def test_it_compiles(tmp_path):
    page = (
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{textcomp,booktabs,graphicx}\\begin{document}\n"
    )
    (tmp_path / "page.tex").write_text(page + render([TABLE], "latex") + "\\end{document}\n", encoding="utf-8")
    done = subprocess.run(
        [ENGINE, "-interaction=nonstopmode", "page.tex"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]
