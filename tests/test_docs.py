"""Pages show what their commands print: each page is produced again and compared."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if "```console" in path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_its_commands_print(page):
    command = [sys.executable, str(ROOT / "docs" / "produce.py"), "--check", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
