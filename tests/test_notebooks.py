"""Notebooks hold what their cells give: each is executed again and compared, and read by the rules of its format.

They are executed by ``notebooks/make.py`` in one namespace and not by ``nbclient``: that needs a kernel with its
message queue (ipykernel, jupyter-client, pyzmq, tornado), for nothing but running cells one after another.
"""

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "notebooks"
NAMES = sorted(path.stem for path in (HOME / "source").glob("*.py"))
SUITES = {"change", "episode", "events", "har", "labels", "skeleton"}
NEEDS = {"episode": ("h5py", "av")}
MOST_BYTES = 100_000


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_notebooks", HOME / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_holds_what_its_cells_give(name):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    command = [sys.executable, str(HOME / "make.py"), "--check", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_suite_has_a_notebook_and_every_notebook_a_script():
    assert set(NAMES) == SUITES
    assert {path.stem for path in HOME.glob("*.ipynb")} == SUITES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_one_of_format_4_5_and_has_the_text_of_its_script(make, name):
    text = (HOME / f"{name}.ipynb").read_text(encoding="utf-8")
    held = json.loads(text)
    assert (held["nbformat"], held["nbformat_minor"]) == (4, 5)
    assert len(text.encode()) < MOST_BYTES
    ids = [cell["id"] for cell in held["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    found = make.cells((HOME / "source" / f"{name}.py").read_text(encoding="utf-8"))
    assert [("".join(cell["source"]), cell["cell_type"] == "markdown") for cell in held["cells"]] == found
    outputs = [output for cell in held["cells"] for output in cell.get("outputs", ())]
    assert not any(output["output_type"] == "error" for output in outputs)
    assert any("text/html" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_says_that_its_data_is_simulated_and_names_no_folder_of_this_machine(name):
    text = (HOME / f"{name}.ipynb").read_text(encoding="utf-8")
    assert "**simulated**" in text
    places = {str(HOME.parent), str(Path.home()), tempfile.gettempdir()}
    assert not any(f"{place}/" in text for place in places)
    assert not re.search(r"(?<![\w.:/-])/(?:home|Users|var)/", text)


def test_cells_are_cut_and_executed_in_one_namespace(make):
    script = '"""Not shown."""\n# %% [markdown]\n# # Title\n# text\n# %%\na = 2\n# !echo said\n# %%\nprint(a)\na + 1\n'
    held = json.loads(make.notebook(script))["cells"]
    assert [cell["cell_type"] for cell in held] == ["markdown", "code", "code"]
    assert "".join(held[0]["source"]) == "# Title\ntext"
    assert "".join(held[1]["source"]) == "a = 2\n!echo said"
    assert held[1]["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["said\n"]}]
    printed, value = held[2]["outputs"]
    assert printed["text"] == ["2\n"]
    assert (value["data"], value["execution_count"]) == ({"text/plain": ["3"]}, None)


def test_a_shell_command_that_fails_stops_the_notebook(make):
    with pytest.raises(SystemExit, match="left with 3"):
        make.notebook("# %%\n# !exit 3\n")


def test_html_is_kept_and_cut_at_rows(make):
    row = "class Row:\n    def _repr_html_(self):\n        return '<tr>1</tr><tr>2</tr>'\n"
    script = f"# %%\n{row}\nRow.__repr__ = lambda self: 'r'\nRow()\n"
    output = json.loads(make.notebook(script))["cells"][0]["outputs"][0]
    assert output["data"] == {"text/html": ["<tr>1</tr>", "<tr>2</tr>"], "text/plain": ["r"]}
