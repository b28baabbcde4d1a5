"""Processors of a process, as the system says in a process that was given one of them."""

import os
import subprocess
import sys

import pytest

from gnomon.core.processors import processors


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not give processors to processes")
def test_those_that_it_may_use_count():
    script = (
        "import os; from gnomon.core.processors import processors; "
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(processors())"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "1\n"


def test_all_of_them_where_a_system_does_not_tell(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processors() == os.cpu_count()
