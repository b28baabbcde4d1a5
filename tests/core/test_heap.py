"""What arrays give back is not fetched from the system again. Counted: page faults, by the system."""

import platform
import subprocess
import sys

import pytest

ALONE = """
import resource
import numpy as np
{}
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work = lambda: (np.ones(400_000) + np.ones(400_000)).sum()  # three arrays of 3.2 MB, together
work()
before = faults()
for _ in range(20):
    work()
print(faults() - before)
"""
PAGES = 3 * 400_000 * 8 // 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library has this threshold")
def test_memory_of_arrays_stays_with_the_process():
    found = subprocess.run(
        [sys.executable, "-c", ALONE.format("import gnomon.core.tallies")], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < PAGES  # less than all arrays of one round, in twenty
