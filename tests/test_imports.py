"""What importing costs: nothing numerical until it is used."""

import subprocess
import sys

HEAVY = ("numpy", "numba", "scipy", "torch", "pandas", "altair", "plotly", "pyarrow")


def loaded(statement):
    code = f"import sys; {statement}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split() if done.stdout.strip() else []


def test_import_gnomon_is_light():
    assert loaded("import gnomon") == []


def test_help_is_light():
    run = "from gnomon.cli.main import gnomon as g"
    for arguments in ("['--help']", "['score', '--help']", "['score', 'labels', '--help']"):
        assert loaded(f"{run}; g.main({arguments}, prog_name='gnomon', standalone_mode=False)") == [], arguments


def test_public_names_resolve():
    import gnomon

    for name in gnomon.__all__:
        assert getattr(gnomon, name) is not None
    assert gnomon.__version__
    assert gnomon.measures.classification.evaluate([1], [1])["accuracy"] == 1.0
    assert not hasattr(gnomon, "nonsense")
