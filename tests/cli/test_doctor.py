"""``gnomon doctor``: what it says of this install, and of installs that are made up here by hand."""

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path

import pytest

from gnomon.cli.main import main
from gnomon.core import registry
from gnomon.core.errors import InputError
from gnomon.core.registry import Broken
from gnomon.doctoring import examination, packages, surroundings
from gnomon.doctoring.examination import examine

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["doctor", *arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


@pytest.fixture
def plain(monkeypatch):
    """No variables of gnomon or numba are set."""
    for name in (*surroundings.VARIABLES, "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Make up a distribution ``gnomon`` from the lines of its metadata and the files of its record."""

    def make(*lines, record=(), direct=""):
        folder = tmp_path / "gnomon-9.9.dist-info"
        folder.mkdir()
        head = ("Metadata-Version: 2.4", "Name: gnomon", "Version: 9.9")
        (folder / "METADATA").write_text("\n".join((*head, *lines)) + "\n")
        (folder / "RECORD").write_text("".join(f"{name},,\n" for name in record))
        if direct:
            (folder / "direct_url.json").write_text(direct)
        made = PathDistribution(folder)
        monkeypatch.setattr(packages, "found", lambda _: made)
        return made

    return make


def test_this_install_is_whole(capsys, plain):
    code, out, err = call(capsys)
    assert (code, err) == (0, "")
    assert "base install: whole" in out
    for suite in registry.suites():
        assert suite in out


def test_the_page_is_readable_in_eighty_columns(capsys, plain):
    plain.setenv("GNOMON_THREDS", "4")
    _, out, _ = call(capsys)
    for line in out.splitlines():
        words = line.split()
        assert len(line) <= 80 or len(words) <= 2, line


def test_nothing_large_is_loaded():
    code = (
        "import sys; from gnomon.cli.main import gnomon as g; g.main(['doctor'], standalone_mode=False);"
        "print(*[m for m in ('numpy', 'numba', 'scipy', 'pyarrow', 'torch', 'pandas', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_json_is_one_document(capsys, plain):
    code, out, _ = call(capsys, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["whole"] is True
    assert {item["name"]: item["wanted"] for item in told["dependencies"]} == {
        re.match(r"[\w-]+", text)[0]: re.search(r"[>=].*", text)[0] for text in PROJECT["dependencies"]
    }
    assert {item["state"] for item in told["dependencies"]} == {"ok"}
    assert told["suites"] == sorted(registry.suites())


def test_every_extra_has_its_line():
    assert set(packages.PURPOSES) == set(PROJECT["optional-dependencies"])
    for name, purpose in packages.PURPOSES.items():
        assert len(purpose) > 15, name
        assert "\n" not in purpose


def test_extras_are_those_of_the_metadata(install):
    own = install(
        "Requires-Dist: click>=8.1",
        "Provides-Extra: frames",
        "Requires-Dist: no-such-frames<3,>=2; extra == 'frames'",
        "Requires-Dist: click[shell] (>=99) ; python_version > '3' and extra == \"frames\"",
    )
    (extra,) = packages.extras(own)
    assert (extra.name, extra.command) == ("frames", "pip install 'gnomon[frames]'")
    assert [(item.name, item.wanted, item.state) for item in extra.lacking] == [
        ("click", ">=99", "other version"),
        ("no-such-frames", "<3,>=2", "missing"),
    ]
    assert [item.name for item in packages.dependencies(own)] == ["click"]


def test_a_missing_dependency_is_a_fault_and_a_missing_extra_is_none(capsys, install, plain):
    install("Requires-Dist: no-such-package>=2", "Provides-Extra: frames", "Requires-Dist: nothing; extra == 'frames'")
    code, out, _ = call(capsys)
    assert code == 1
    assert "base install: not whole" in out
    assert "no-such-package is not installed: pip install 'no-such-package>=2'" in " ".join(out.split())
    assert examine().faults == ("no-such-package is not installed: pip install 'no-such-package>=2'",)


def test_old_packages_old_python_and_lost_files_are_faults(install, plain):
    install("Requires-Dist: click>=99", "Requires-Python: >=4", record=("gnomon/gone.py", "gnomon/x.pyc"))
    python, package, files = examine().faults
    assert "is not >=4" in python
    assert re.fullmatch(r"click is \S+, wanted >=99: pip install 'click>=99'", package)
    assert files.startswith("1 file of gnomon")
    assert "gnomon/gone.py" in files


def test_importable_is_not_installed(capsys, plain):
    plain.setattr(packages, "found", lambda _: None)
    code, out, _ = call(capsys)
    assert code == 1
    assert "gnomon (not installed)" in out


def test_metadata_older_than_the_source_are_doubted(install, plain):
    install("Provides-Extra: frames", direct='{"dir_info": {"editable": true}}')
    found = examine()
    assert found.editable
    assert any("'classical'" in doubt and "newer than the metadata" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(("source", "code"), [("gnomon", 1), ("other", 0)])
def test_broken_plug_ins(capsys, plain, source, code):
    item = Broken(registry.SUITES, "odd", source, "ImportError: no odd")
    plain.setattr(registry, "suites", dict)
    plain.setattr(registry, "broken", lambda: (item,))
    left, out, _ = call(capsys)
    assert left == code
    assert "plug-in 'odd'" in out
    assert "no odd" in " ".join(out.split())


def test_measures_of_others_are_loaded(plain):
    point = EntryPoint("odd", "no_such_module:MEASURES", registry.MEASURES)
    real = examination.entry_points
    plain.setattr(
        examination, "entry_points", lambda group: [*real(group=group), *[point] * (group == registry.MEASURES)]
    )
    item = Broken(registry.MEASURES, "odd", "other", "ImportError")
    plain.setattr(registry, "broken", lambda: (item,))
    assert examine().broken == (item,)


def test_a_measure_whose_module_is_gone_is_a_fault(plain):
    own = next(point.dist for point in examination.entry_points(group=registry.MEASURES))
    points = [
        EntryPoint("gone", f"gnomon.{path}:MEASURES", registry.MEASURES)._for(own)
        for path in ("measures.no_such", "none.such", "measures.points")
    ]
    real = examination.entry_points
    plain.setattr(
        examination, "entry_points", lambda group: points if group == registry.MEASURES else real(group=group)
    )
    faults = examine().faults
    assert len(faults) == 2
    assert "no module gnomon.measures.no_such" in faults[0]
    assert "no module gnomon.none.such" in faults[1]


def test_load_asks_the_registry(capsys, plain):
    asked = []
    plain.setattr(registry, "broken", lambda: asked.append(1) or ())
    assert call(capsys, "--load")[0] == 0
    assert asked


# Expected by hand, after the rules for versions of Python packages.
@pytest.mark.parametrize(
    ("version", "wanted", "fine"),
    [
        ("2.0", ">=2.0", True),
        ("2", ">=2.0", True),
        ("1.26.4", ">=2.0", False),
        ("10.0", ">=9.1", True),
        ("2.13.0+cpu", "==2.13.0", True),
        ("2.13.1", "==2.13.0", False),
        ("1.9.0.post1", ">=1.7", True),
        ("3.4", ">=3,<3.4", False),
        ("3.3.9", "<3.4,>=3", True),
        ("3.11.7", ">3.11.7", False),
        ("3.11.7", "<=3.11.7", True),
        ("1!1.0", ">=1.0", True),
        ("5", "", True),
        ("1.4.9", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("2.1.3", "!=2.1.*", False),
    ],
)
def test_versions(version, wanted, fine):
    assert packages.fits(version, wanted) is fine


@pytest.mark.parametrize("text", ["", " ", "1", " 8 ", "0", "-1", "1.5", "many", "١"])
def test_threads_are_judged_as_they_are_read(plain, text):
    from gnomon.engine.torches import threads

    plain.setenv("GNOMON_THREADS", text)
    (told,) = surroundings.variables()
    try:
        threads()
    except InputError:
        assert told.fault
    else:
        assert not told.fault


@pytest.mark.parametrize("text", ["", "0", "17179869184", " 5 ", "8G", "-1", "1e9", "9" * 19, "٣"])
def test_sizes_are_judged_as_they_are_read(plain, text):
    from gnomon.intake.limits import Limits

    plain.setenv("GNOMON_MAX_FILE_BYTES", text)
    (told,) = surroundings.variables()
    try:
        Limits().raised()
    except InputError:
        assert told.fault
    else:
        assert not told.fault


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("GNOMON_CHECKPOINT_S", "0.5", True),
        ("GNOMON_CHECKPOINT_S", "", True),
        ("GNOMON_CHECKPOINT_S", "nan", False),
        ("GNOMON_CHECKPOINT_S", "soon", False),
        ("GNOMON_DEVICE", "cuda:1", True),
        ("GNOMON_DEVICE", "gpu", False),
        ("GNOMON_REAL_DATA", "/", True),
        ("GNOMON_REAL_DATA", "/no/such/folder", False),
        ("GNOMON_CHROMIUM", "no-such-browser", False),
        ("GNOMON_PEERS", "required", True),
    ],
)
def test_values_of_variables(plain, name, value, fine):
    plain.setenv(name, value)
    (told,) = surroundings.variables()
    assert told.purpose
    assert (told.fault == "") is fine
    assert any(doubt.startswith(f"{name}={value}:") for doubt in examine().doubts) is not fine


def test_secrets_are_not_shown(capsys, plain):
    from gnomon.dashboard import serving

    assert surroundings.LEAST_TOKEN == serving.LEAST_TOKEN
    for value in ("short-and-dull", "long enough to be taken"):
        plain.setenv("GNOMON_TOKEN", value)
        for arguments in ((), ("--json",)):
            _, out, _ = call(capsys, *arguments)
            assert "GNOMON_TOKEN" in out
            assert value not in out
            assert ("at least 16 characters" in " ".join(out.split())) == (value == "short-and-dull")


def test_a_misspelt_variable_is_named_and_is_no_fault(capsys, plain):
    plain.setenv("GNOMON_THREAD", "4")
    code, out, _ = call(capsys)
    assert code == 0
    assert "did you mean GNOMON_THREADS?" in " ".join(out.split())


def test_the_cache_of_kernels(plain, tmp_path):
    plain.setenv("NUMBA_CACHE_DIR", str(tmp_path / "made" / "later"))
    assert surroundings.machine().cache == str(tmp_path / "made" / "later")
    assert not (tmp_path / "made").exists()
    (tmp_path / "file").write_text("")
    plain.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    found = examine()
    assert found.machine.cache.endswith("__pycache__")
    assert any(doubt.startswith("NUMBA_CACHE_DIR=") for doubt in found.doubts)
    plain.setattr(surroundings, "writable", lambda _: False)
    assert any("no place to keep compiled kernels" in doubt for doubt in examine().doubts)


def test_the_machine(plain):
    found = surroundings.machine()
    assert found.cores >= 1
    assert found.memory_bytes is None or found.memory_bytes >= (found.memory_free_bytes or 0) > 0
    little = dataclasses.replace(found, disk_free_bytes=5, temporary="", temporary_free_bytes=0)
    plain.setattr(surroundings, "machine", lambda: little)
    assert any("no folder for temporary files" in doubt for doubt in examine().doubts)
    plain.setattr(surroundings, "machine", lambda: dataclasses.replace(little, temporary="/tmp"))
    assert sum("GiB free on the disk" in doubt for doubt in examine().doubts) == 2


def test_names_that_tests_and_models_use_are_the_same(plain):
    from acceptance.browsing import program

    from gnomon.suites.har.systems.neural import text
    from gnomon.suites.har.systems.neural.text import folder

    assert (surroundings.ENCODER, surroundings.ENCODER_PACKAGE) == (text.DISTRIBUTION, text.PACKAGE)
    assert folder.WEIGHTS == "model.safetensors"
    (browser,) = (tool for tool in surroundings.tools() if tool.name == "Chromium")
    assert browser.found == (program() or "")


@pytest.mark.parametrize(
    ("version", "says"), [(None, ""), ("2.13.0+cpu", "torch 2.13.0+cpu: cpu"), ("2.13.0", "torch 2.13.0: ")]
)
def test_torch_is_not_asked(plain, version, says):
    plain.setattr(surroundings, "installed", lambda name: version if name == "torch" else None)
    plain.setattr(sys, "platform", "linux")
    (device,) = (tool for tool in surroundings.tools() if tool.name == "torch device")
    assert device.found.startswith(says)
    assert bool(device.found) == bool(says)


def test_variables_that_the_package_reads_are_known():
    read = set()
    for path in (ROOT / "src").rglob("*.py"):
        read |= set(re.findall(r"(?<!_)GNOMON_[A-Z_]+", path.read_text(encoding="utf-8")))
    assert read == set(surroundings.VARIABLES)
