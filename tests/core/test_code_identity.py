"""The identity of code: which files and packages count, and that a change of any of them changes it."""

import importlib
import importlib.metadata
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from gnomon.core import code_identity
from gnomon.core.code_identity import files_imported_by, graph, identity_of, identity_of_object, version_of
from gnomon.core.errors import InputError
from gnomon.core.loading import find_class, source_identity

SOURCE = Path(importlib.import_module("gnomon").__file__).parent
CELLS = [
    "gnomon.suites.labels.cells",
    "gnomon.suites.labels.scoring",
    "gnomon.suites.events.cells",
    "gnomon.suites.events.scoring",
    "gnomon.suites.har.cells",
    "gnomon.suites.har.scoring",
    "gnomon.suites.change.cells",
    "gnomon.suites.change.scoring",
    "gnomon.suites.episode.cells",
    "gnomon.suites.episode.scoring",
    "gnomon.suites.skeleton.scoring",
]


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__in", "/__init__").replace("_in_", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(code):
    return set(code.files)


INNER = {"package/__init__.py", "package/inner.py"}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import other", {"other.py"}),
        ("import other as o, json", {"other.py"}),
        ("from other import name", {"other.py"}),
        ("def f():\n    from other import name", {"other.py"}),
        ("try:\n    import other\nexcept ImportError:\n    pass", {"other.py"}),
        ("import package.inner", INNER),
        ("from package import inner", INNER),
        ("from package import (\n    nothing,  # none, really\n    inner as i,\n)", INNER),
        ("from package \\\n    import inner", INNER),
        ("from package.inner import value", INNER),
        ("import importlib\nimportlib.import_module('other')", {"other.py"}),
        ("import json; import other", {"other.py"}),
        ("if True: import other", {"other.py"}),
        ("try: import other\nexcept ImportError: pass", {"other.py"}),
        ("from package import (\n    nothing,  # a constant (unused)\n    inner,\n)", INNER),
        ("__import__('other')", {"other.py"}),
        ("import importlib\nimportlib.import_module(name='other')", {"other.py"}),
        ("from importlib import import_module\nimport_module('.inner', 'package')", INNER),
        ("import spaces.deep.one", {"spaces/deep/one.py"}),
        ("text = 'import other'", set()),
        ("import json", set()),
        ("# import other", set()),
        ("if TYPE_CHECKING:\n    import other\n\n    from package import inner\n", set()),
        ("if typing.TYPE_CHECKING:\n    import json\nelse:\n    import other", {"other.py"}),
        ("import nothing_of_this_name", set()),
    ],
)  # fmt: skip
def test_imports_are_followed(tmp_path, statement, expected):
    write(
        tmp_path, other="x = 1\n", package__in="", package_in_inner="", spaces_in_deep_in_one="", root=statement + "\n"
    )
    assert names(graph([tmp_path / "root.py"])) - {"root.py"} == expected


def test_relative_and_absolute_imports_inside_a_package(tmp_path):
    write(
        tmp_path,
        own__in="",
        own_in_model="from . import layers\nfrom own.deep import tool\n",
        own_in_layers="from .losses import loss\n",
        own_in_losses="loss = 1\n",
        own_in_deep__in="",
        own_in_deep_in_tool="from ..losses import loss\n",
        own_in_unused="",
    )
    expected = {"__init__", "model", "layers", "losses", "deep/__init__", "deep/tool"}
    assert names(graph([tmp_path / "own/model.py"])) == {f"own/{name}.py" for name in expected}


def test_identity_changes_with_any_file_of_the_graph_and_with_no_other(tmp_path):
    files = {"a": "import b\n", "b": "import c\n", "c": "value = 1\n", "d": "value = 1\n"}
    write(tmp_path, **files)

    def identity():
        return graph([tmp_path / "a.py"]).identity

    first = identity()
    write(tmp_path, d="value = 2\n")
    assert identity() == first
    seen = {first}
    for name in "abc":
        write(tmp_path, **{name: files[name] + "more = 1\n"})
        seen.add(identity())
        write(tmp_path, **{name: files[name]})
        assert identity() == first
    assert len(seen) == 4


def test_identity_does_not_depend_on_the_folder(tmp_path):
    for folder in ("one", "two"):
        write(tmp_path / folder, a="import b\n", b="")
    assert graph([tmp_path / "one/a.py"]).identity == graph([tmp_path / "two/a.py"]).identity


def test_packages_count_by_their_versions(tmp_path, monkeypatch):
    write(tmp_path, a="import numpy as np\nimport sklearn.svm\nimport os.path\n")
    code = graph([tmp_path / "a.py"])
    expected = {"numpy": importlib.metadata.version("numpy"), "sklearn": importlib.metadata.version("scikit-learn")}
    assert dict(code.packages) == expected
    monkeypatch.setattr("gnomon.core.code_identity.version_of", lambda name: "0")
    assert graph([tmp_path / "a.py"]).identity != code.identity


def test_version_of_a_package_whose_distribution_has_another_name():
    assert version_of("_pytest") == f"pytest {importlib.metadata.version('pytest')}"
    assert version_of("no_such_package") == "not installed"


def test_a_class_of_an_installed_package_counts_by_version_and_content():
    import sklearn.svm

    version = importlib.metadata.version("scikit-learn")
    assert identity_of_object(sklearn.svm.SVC).startswith(f"SVC:sklearn {version} ")


def test_a_users_package_that_is_installed_again_under_the_same_version_is_other_code(tmp_path, monkeypatch):
    monkeypatch.setattr(code_identity, "_INSTALLED", (tmp_path,))
    monkeypatch.syspath_prepend(tmp_path)
    write(
        tmp_path, installed_one__in="", installed_one_in_model="class Model: ...\n", installed_one_in_layers="K = 1\n"
    )
    kind = importlib.import_module("installed_one.model").Model
    before = identity_of_object(kind)
    assert before.startswith("Model:installed_one not installed ")
    write(tmp_path, installed_one_in_layers="K = 2\n")
    code_identity._hash_package.cache_clear()  # as in the next process
    assert identity_of_object(kind) != before


def test_a_file_that_extends_the_path_counts_with_what_it_imports_from_there(tmp_path):
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", extended_one="C = 1\n")
    write(
        tmp_path,
        extends="import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'other'))\n"
        "import extended_one\nclass Model:\n    def fit(self): return extended_one.C\n",
    )
    before = list(sys.path)
    try:
        kind = find_class(f"{tmp_path / 'extends.py'}:Model", ("fit",), "system", {})
        first = source_identity(f"{tmp_path / 'extends.py'}:Model", kind)
        write(tmp_path / "other", extended_one="C = 2\n")
        assert source_identity(f"{tmp_path / 'extends.py'}:Model", kind) != first
    finally:
        sys.path[:] = before


def test_compiled_modules_and_aliases_of_import_module_count(tmp_path):
    suffix = EXTENSION_SUFFIXES[0]
    (tmp_path / f"fast{suffix}").write_bytes(b"\x7fELF one")
    write(tmp_path, root="import fast\nfrom importlib import import_module as im\nlazy = im('aliased')\n", aliased="")
    code = graph([tmp_path / "root.py"])
    before = code.identity
    assert names(code) == {"root.py", f"fast{suffix}", "aliased.py"}
    (tmp_path / f"fast{suffix}").write_bytes(b"\x7fELF two")
    assert graph([tmp_path / "root.py"]).identity != before


def test_a_compiled_file_that_python_could_not_write_is_no_proof_of_a_change(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write(tmp_path, readonly_one="class Model: ...\n")
    kind = importlib.import_module("readonly_one").Model
    write(tmp_path, readonly_one="class Model:\n    K = 1\n")
    monkeypatch.setattr(code_identity.os, "access", lambda path, mode: mode != code_identity.os.W_OK)
    assert source_identity("readonly_one:Model", kind).startswith("Model:")


def test_absolute_imports_of_the_users_own_package_count(tmp_path, monkeypatch):
    text = "from counted_one.layers import scale\nclass Model:\n    def fit(self): ...\n"
    write(tmp_path, counted_one__in="", counted_one_in_model=text, counted_one_in_layers="scale = 1\n")
    monkeypatch.chdir(tmp_path)
    kind = find_class("counted_one.model:Model", ("fit",), "system", {})
    code = graph([tmp_path / "counted_one/model.py"])
    assert names(code) == {"counted_one/__init__.py", "counted_one/model.py", "counted_one/layers.py"}
    assert source_identity("counted_one.model:Model", kind) == f"Model:{code.identity}"


def test_source_that_was_changed_since_it_was_imported_is_refused(tmp_path, monkeypatch):
    write(tmp_path, changed_one="class Model:\n    def fit(self): ...\n")
    monkeypatch.chdir(tmp_path)
    kind = find_class("changed_one:Model", ("fit",), "system", {})
    source_identity("changed_one:Model", kind)
    write(tmp_path, changed_one="class Model:\n    def fit(self): return 1\n")
    with pytest.raises(InputError, match=r"changed_one.py: changed since it was imported; start Python again"):
        source_identity("changed_one:Model", kind)


def test_source_that_was_changed_before_the_first_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write(tmp_path, changed_two="class Model:\n    def fit(self): ...\n")
    kind = importlib.import_module("changed_two").Model
    write(tmp_path, changed_two="class Model:\n    def fit(self): return 1\n")
    with pytest.raises(InputError, match=r"changed_two.py: changed since it was imported"):
        source_identity("changed_two:Model", kind)


def test_the_module_that_a_class_is_taken_from_counts_beside_the_one_that_defines_it(tmp_path, monkeypatch):
    build = "def build(value):\n    class Model:\n        K = value\n    return Model\n"
    write(tmp_path, building_one=build, taken_one="from building_one import build\nModel = build(0)\n")
    write(tmp_path, taken_two="from building_one import build\nModel = build(5)\n")
    monkeypatch.syspath_prepend(tmp_path)
    kinds = {name: importlib.import_module(name).Model for name in ("taken_one", "taken_two")}
    assert len({kind.__module__ for kind in kinds.values()}) == 1
    assert len({source_identity(f"{name}:Model", kind) for name, kind in kinds.items()}) == 2


def test_a_file_and_what_it_imports_are_loaded_as_they_are_now(tmp_path):
    write(tmp_path, helping_one="value = 1\n", model="import helping_one\nclass M:\n    value = helping_one.value\n")
    name = f"{tmp_path / 'model.py'}:M"
    first = find_class(name, (), "system", {})
    before = source_identity(name, first)
    write(tmp_path, helping_one="value = 2\n")
    second = find_class(name, (), "system", {})
    assert (first.value, second.value) == (1, 2)
    assert source_identity(name, second) != before


def test_files_beside_a_file(tmp_path):
    write(tmp_path, a="import b, sub.c\n", b="", sub_in_c="import json\n", z="")
    found = [path.relative_to(tmp_path.resolve()).as_posix() for path in files_imported_by(tmp_path / "a.py")]
    assert found == ["b.py", "sub/c.py"]


def test_a_module_that_does_not_exist_has_an_identity():
    assert identity_of("no_such_module:f") == "no source of no_such_module"


@pytest.mark.parametrize("module", CELLS)
def test_all_own_modules_that_are_imported_with_a_cell_are_in_its_graph(module):
    """Python itself says which modules importing a cell loads; the graph, read from the source, has all of them."""
    program = f"import sys, {module}\nprint(*(n for n in sys.modules if n.partition('.')[0] == 'gnomon'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {Path(*name.split(".")).as_posix() for name in done.stdout.split()}
    code = graph([SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py")])
    known = {name.removesuffix(".py").removesuffix("/__init__") for name in code.files}
    assert loaded <= known


@pytest.mark.parametrize(
    ("function", "reader"),
    [
        ("gnomon.suites.har.cells:windows", "intake/numbers.py"),
        ("gnomon.suites.change.systems.icp", "numerics/rigid.py"),
        ("gnomon.suites.episode.cells:features", "suites/episode/_moving.py"),
        ("gnomon.suites.events.cells:recognise", "intake/documents.py"),
        ("gnomon.suites.labels.cells:prepare", "intake/delimited.py"),
        ("gnomon.suites.skeleton.scoring:tally", "numerics/procrustes.py"),
    ],
)
def test_readers_and_kernels_far_below_a_cell_count(function, reader):
    module = function.partition(":")[0]
    code = graph([SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py")])
    assert f"gnomon/{reader}" in code.files


def test_packages_of_another_folder_on_the_path_count_by_their_version(tmp_path, monkeypatch):
    """As ``pip install --target`` and layered environments have them; their source is not followed."""
    (tmp_path / "packages" / "other_library").mkdir(parents=True)
    (tmp_path / "packages" / "other_library" / "__init__.py").write_text("import json\n")
    metadata = tmp_path / "packages" / "other_library-2.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other_library\nVersion: 2.5\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text("import other_library\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    found = graph([tmp_path / "mine" / "own.py"])
    assert list(found.files) == ["own.py"]
    assert found.packages == {"other_library": "2.5"}
