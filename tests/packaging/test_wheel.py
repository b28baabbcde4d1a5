"""The wheel by itself: built, installed in an empty environment, and used."""

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = out.glob("*.whl")
    return built


def test_wheel_is_complete_and_small(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/gnomon").rglob("*.py")}
    assert sources <= names
    assert "gnomon/py.typed" in names
    assert not any(name.startswith(("tests/", "acceptance/", "benchmarks/")) for name in names)
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.install
def test_demo_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")}
    install = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel]
    subprocess.run(install, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path)
    command = [tmp_path / "env" / "bin" / "gnomon", "demo", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"(\d+) of \1 runs verified", done.stdout)
    frames = (
        "import gnomon; gnomon.score('labels', {'id': [1], 'label': ['a']}, {'id': [1], 'label': ['a']}).to_frame()"
    )
    done = subprocess.run([python, "-c", frames], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "MissingExtraError" in done.stderr
    assert "to_arrow()" in done.stderr
