"""Pages show what their commands print, and their Python runs: each page is produced again and compared."""

import subprocess
import sys
from pathlib import Path

import pytest
from docs.produce import produced, runs

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if runs(path.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_its_commands_print(page):
    command = [sys.executable, str(ROOT / "docs" / "produce.py"), "--check", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_blocks_are_run_in_their_order_in_one_folder(tmp_path):
    page = (
        "```console\n$ echo 1 > a; cat a\nold\n```\n\n```python run\nopen('b', 'w').write('2')\n```\n\n"
        "```console\n$ cat a b\n```\n\n```python\nnot python\n```\n"
    )
    shown = produced(page, tmp_path, models=False)
    assert shown == page.replace("\nold\n", "\n1\n").replace("$ cat a b\n", "$ cat a b\n1\n2\n")


def test_python_that_fails_is_said(tmp_path):
    with pytest.raises(SystemExit, match="ZeroDivisionError"):
        produced("```python run\n1 / 0\n```\n", tmp_path, models=False)
