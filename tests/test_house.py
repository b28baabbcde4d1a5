"""The house as a whole: nothing of a workplace in it, and decisions are numbered."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def tracked():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in done.stdout.splitlines()]


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(int(path.name[:3]) for path in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_source_files_have_docstrings_and_stay_short():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path
        assert text.count("\n") <= 500, path


def test_no_leftovers():
    pattern = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
    for path in tracked():
        if path.suffix == ".py" and "tests" not in path.parts:
            assert not pattern.search(path.read_text(encoding="utf-8")), path
