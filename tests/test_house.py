"""The house as a whole: nothing of a workplace in it, and decisions are numbered."""

import ast
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


def test_source_files_have_docstrings():
    for path in (ROOT / "src").rglob("*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_no_leftovers():
    pattern = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
    for path in tracked():
        if path.suffix == ".py" and "tests" not in path.parts:
            assert not pattern.search(path.read_text(encoding="utf-8")), path


def suite_modules():
    return {
        path.relative_to(ROOT / "src/gnomon").as_posix(): ast.parse(path.read_bytes())
        for path in (ROOT / "src/gnomon/suites").rglob("*.py")
    }


def called(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


@pytest.mark.parametrize(
    ("mechanism", "home"),
    [
        ("Node", "engine/planner.py and engine/scoring.py make the nodes of a plan"),
        ("find_class", "core/systems.py finds systems by name"),
        ("find_maker", "core/systems.py finds systems by name"),
        ("source_identity", "core/systems.py says which code a system is"),
        ("identity_of", "engine/plan.py says which code a cell is"),
    ],
)
def test_no_suite_has_a_mechanism_of_its_own(mechanism, home):
    found = [name for name, tree in suite_modules().items() if mechanism in called(tree)]
    assert found == [], home


def test_every_suite_scores_by_one_path():
    """A folder of shards is scored by the same functions as a file."""
    modules = suite_modules()
    assert [name for name in modules if name.endswith("/shards.py")] == []
    scored = {name.split("/")[1] for name, tree in modules.items() if "Scorer" in called(tree)}
    assert scored == {"labels", "events", "har", "change", "episode", "skeleton"}
    keepers = [
        name for name, tree in modules.items() for node in ast.walk(tree) if getattr(node, "name", "") == "Keeper"
    ]
    assert keepers == []
