"""Pictures of the pages that are drawn from numbers are those that are drawn now."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PICTURES = sorted(FIGURES.glob("concepts-*.svg"))


def test_pictures_of_concepts_are_as_drawn():
    pytest.importorskip("pandas")
    command = [sys.executable, str(FIGURES / "concepts.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_has_a_title_and_loads_nothing(path):
    root = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("aria-label") == root.find(f"{space}title").text
    assert {element.tag.removeprefix(space) for element in root.iter()} <= {
        "svg", "title", "style", "rect", "text", "path", "circle"
    }  # fmt: skip
