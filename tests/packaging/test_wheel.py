"""Wheel and sdist: what is in them, and the wheel by itself in an empty environment."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from acceptance.installed_wheel import Environment, built

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def sources():
    """Everything of the package, code and data, but what Python compiles."""
    found = (path for path in (ROOT / "src/gnomon").rglob("*") if path.is_file())
    return {path.relative_to(ROOT / "src").as_posix() for path in found if "__pycache__" not in path.parts}


def test_wheel_is_complete_and_small(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    own = {name for name in names if not name.startswith("gnomon-")}
    assert own == sources()
    assert "gnomon/py.typed" in own
    assert {"gnomon/report/assets/style.css", "gnomon/report/assets/report.js"} <= own
    assert {"gnomon/dashboard/static/icon.svg", "gnomon/dashboard/static/timeline.js"} <= own
    assert wheel.stat().st_size < 2_000_000


def test_wheel_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    read = Parser().parsestr(archive.read(name).decode())
    assert (read["Name"], read["Version"], read["License-Expression"]) == ("gnomon", PROJECT["version"], "MIT")
    assert read["Requires-Python"] == ">=3.11"
    assert set(read.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert any(item.endswith(".dist-info/licenses/LICENSE") for item in archive.namelist())
    assert b"gnomon = gnomon.cli.main:main" in archive.read(name.replace("METADATA", "entry_points.txt"))


def test_classifiers_exist():
    known = pytest.importorskip("trove_classifiers").classifiers
    assert set(PROJECT["classifiers"]) <= known


def test_sdist_is_complete_and_small(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in sources()} <= names
    assert {"CITATION.cff", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "constraints.txt"} <= names
    assert {"docs/install.md", "tests/packaging/test_wheel.py", "acceptance/installed_wheel.py"} <= names
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|\.nbi$|\.nbc$|^\.venv|^site/|^runs/", name)]
    assert sdist.stat().st_size < 5_000_000


def test_the_sdist_builds_the_same_wheel(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    again = zipfile.ZipFile(built(tmp_path / "dist", source=source))
    first = zipfile.ZipFile(wheel)
    assert {item.filename: item.CRC for item in again.infolist()} == {
        item.filename: item.CRC for item in first.infolist()
    }


def test_versions_agree():
    version = PROJECT["version"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", cited, re.MULTILINE)[1].strip("\"'") == version
    (date,) = re.findall(r"^date-released: [\"']?([\d-]+)[\"']?$", cited, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\d[^\]]*)\] - ([\d-]+)$", changes, re.MULTILINE)[0] == (version, date)


@pytest.mark.install
def test_demo_in_an_empty_environment(wheel, tmp_path):
    environment = Environment(tmp_path / "env")
    environment.install(wheel)
    done = environment.run("gnomon", "demo", "--quick", cwd=tmp_path)
    assert re.search(r"(\d+) of \1 runs verified", done.stdout)
    told = environment.run("gnomon", "doctor", "--load", cwd=tmp_path).stdout
    assert "base install: whole" in told
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert told[told.index("extras\n") : told.index("\nother tools")] in page
    uses = "_gnomon_completion"
    assert uses in environment.run("gnomon", "completion", "bash", cwd=tmp_path).stdout
    environment.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "numba", cwd=tmp_path)
    done = environment.run("gnomon", "doctor", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "numba is not installed: pip install 'numba>=0.61'" in " ".join(done.stdout.split())


@pytest.mark.install
@pytest.mark.parametrize("python", ["python3.12", "python3.13"])
def test_other_pythons(wheel, tmp_path, python):
    program = shutil.which(python)
    if program is None or subprocess.run([program, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no {python} on this machine")
    if sys.version_info[:2] == tuple(map(int, python.removeprefix("python").split("."))):
        pytest.skip(f"{python} runs these tests")
    environment = Environment(tmp_path / "env", program)
    environment.install("--only-binary=:all:", wheel)
    done = environment.run("gnomon", "demo", "--quick", cwd=tmp_path)
    assert re.search(r"(\d+) of \1 runs verified", done.stdout)
    assert "base install: whole" in environment.run("gnomon", "doctor", "--load", cwd=tmp_path).stdout
