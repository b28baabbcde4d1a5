"""The model of one's own that the documentation shows, run as it stands there."""

import re
from pathlib import Path

import pytest

import gnomon

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "har_model" / "convnet.py"


def test_the_page_shows_the_example_as_it_is():
    shown = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "har.md").read_text(), re.DOTALL)[1]
    assert shown == EXAMPLE.read_text()


@pytest.mark.training
def test_the_example_runs_and_learns(root, tmp_path):
    pytest.importorskip("torch", reason="needs the extra models")
    systems = f"majority,{EXAMPLE}:ConvNet@epochs=40"
    result = gnomon.run("har", data_root=str(root), out=str(tmp_path), systems=systems, profile="smoke", test="target")
    assert result.complete
    mine, trivial = (next(r for r in result.runs if name in r.system) for name in ("ConvNet", "majority"))
    for metric in ("zs-closed", "sup-10"):
        assert mine.find(f"accuracy[{metric}]").value > trivial.find(f"accuracy[{metric}]").value
    assert mine.manifest["facts"]["fitted"]["parameters"] == 6 * 32 * 5 + 32 + 32 * 32 * 5 + 32  # by hand
