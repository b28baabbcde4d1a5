"""The page about installing says what the package says: extras, variables, versions, programs."""

import re
import tomllib
from pathlib import Path

import pytest

from gnomon.cli.doctor_ import _extra
from gnomon.doctoring.packages import PURPOSES, Extra, Package
from gnomon.doctoring.surroundings import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def rows(heading):
    """The rows of the tables below a heading, as lists of cells."""
    part = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_extra_has_a_row(extra):
    (row,) = (row for row in rows("Extras") if row[0] == f"`{extra}`")
    assert int(row[3]) >= len(EXTRAS[extra]) - (extra == "models")
    assert int(row[4]) > 0
    assert row[1].replace("`", "").split(",")[0].split(" and ")[0] in PURPOSES[extra]
    names = [re.match(r"[\w.-]+", item)[0] for item in EXTRAS[extra]]
    if extra == "test":
        assert row[2] == f"pytest and {len(names) - 1} more"
    else:
        assert sorted(row[2].split(", ")) == sorted(names)


def test_every_variable_has_a_row_and_none_is_made_up():
    named = {row[0].strip("`") for row in rows("Variables of the environment")} - {"variable"}
    assert named == {*VARIABLES, "NUMBA_CACHE_DIR", "_GNOMON_COMPLETE"}


def test_variables_that_the_source_names_are_on_the_page():
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"_?GNOMON_[A-Z_]+", path.read_text(encoding="utf-8")))
    assert named == set(re.findall(r"_?GNOMON_[A-Z_]+", PAGE))


def test_what_doctor_says_is_what_it_says():
    """Made here from pyproject.toml for an install without any extra; an install test compares with a real one."""
    shown = re.search(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1].splitlines()
    made = ["extras"]
    for name in sorted(EXTRAS):
        wanted = sorted(re.fullmatch(r"([\w.-]+)(.*)", item).groups() for item in EXTRAS[name])
        packages = tuple(Package(package, bound, None) for package, bound in wanted)
        made += _extra(Extra(name, PURPOSES[name], packages, f"pip install 'gnomon[{name}]'"))
    assert shown == made


def test_versions_of_the_page():
    assert set(re.findall(r"gnomon-(\d+\.\d+\.\d+)", PAGE)) == {PROJECT["version"]}
    pythons = {row[0] for row in rows("Pythons")} - {"Python"}
    assert pythons == {item.rpartition(" ")[2] for item in PROJECT["classifiers"] if ":: 3." in item}
