"""The registry against the functions it names; what importing it costs is seen in a fresh interpreter."""

import subprocess
import sys

import pytest

from gnomon.audit import CHECKS


def test_ids_are_their_keys():
    assert all(check.id == name for name, check in CHECKS.items())


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_says_what_it_needs_and_what_it_cannot_see(name):
    said = CHECKS[name].load().__doc__
    assert "Needs" in said
    assert "Cannot see" in said
    assert CHECKS[name].summary
    assert CHECKS[name].finds


def test_nothing_numerical_is_imported_before_a_check_is_made():
    code = "import sys; import gnomon.audit; print([m for m in ('numpy', 'scipy', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
