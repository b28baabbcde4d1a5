"""Editing any module that a node's function can reach changes the key of the node, and editing any other does not.

The package is copied, every function that a node can name is found in its source (what has the signature of a node's
function, and the tally of every suite), and every module is edited in turn. What a function reaches is computed here
without the code under test: the modules that Python has loaded after importing the function's module alone.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gnomon

OWN = Path(gnomon.__file__).parent
SIGNATURE = ["arguments", "needs", "out"]
WALK = """
import json, sys
from pathlib import Path
from gnomon.core import code_identity

functions, files = json.loads(sys.argv[1])
paths = {name: Path(code_identity.__file__).parents[1] / name for name in files}

modules = sorted({function.partition(":")[0] for function in functions})  # the code of a function is that of its module

def keys():
    code_identity.identity_of.cache_clear()  # which module imports which stays cached: an edit here adds no import
    known = {module: code_identity.identity_of(module) for module in modules}
    return {function: known[function.partition(":")[0]] for function in functions}

before, changed = keys(), {}
for name, path in paths.items():
    text = path.read_bytes()
    path.write_bytes(text + b"\\n_EDITED = 1\\n")
    after = keys()
    path.write_bytes(text)
    changed[name] = [function for function in functions if after[function] != before[function]]
assert keys() == before
print(json.dumps(changed))
"""
LOADED = """
import json, sys
from pathlib import Path
import importlib, gnomon
importlib.import_module(sys.argv[1])
own = Path(gnomon.__file__).parent
files = [Path(f) for module in list(sys.modules.values()) if (f := getattr(module, "__file__", None))]
print(json.dumps(sorted(file.relative_to(own).as_posix() for file in files if own in file.parents)))
"""


def node_functions():
    """Return ``module:function`` of every function that a node can name."""
    found = []
    for path in sorted(OWN.rglob("*.py")):
        module = ".".join(("gnomon", *path.relative_to(OWN).with_suffix("").parts)).removesuffix(".__init__")
        for item in ast.parse(path.read_bytes()).body:
            if not isinstance(item, ast.FunctionDef):
                continue
            names = [argument.arg for argument in item.args.args]
            if names == SIGNATURE or (item.name == "tally" and names == ["chunk", "options"]):
                found.append(f"{module}:{item.name}")
    return found


def python(program, *arguments, source):
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_editing_a_module_changes_the_keys_of_what_reaches_it_and_of_nothing_else(tmp_path):
    functions = node_functions()
    suites = {name.split(".")[2] for name in functions if name.startswith("gnomon.suites.")}
    assert suites == {"labels", "events", "har", "change", "episode", "skeleton"}
    source = tmp_path / "src"
    shutil.copytree(OWN, source / "gnomon", ignore=shutil.ignore_patterns("__pycache__"))
    modules = sorted({function.partition(":")[0] for function in functions})
    reached = {module: set(python(LOADED, module, source=source)) for module in modules}
    files = sorted(path.relative_to(OWN).as_posix() for path in OWN.rglob("*.py"))
    changed = python(WALK, json.dumps([functions, files]), source=source)
    for name in files:
        for function in functions:
            if name in reached[function.partition(":")[0]]:
                assert function in changed[name], f"{name} was edited and {function} has the same key"
    for suite in suites:  # no key of a suite depends on another suite
        strange = [
            (name, function)
            for name in files
            if name.startswith("suites/") and name.split("/")[1] not in (suite, "__init__.py")
            for function in changed[name]
            if function.split(".")[2] == suite
        ]
        assert strange == []
