"""A peer that is not installed skips its comparisons, except where ``GNOMON_PEERS=required`` says that it has to be."""

import os

import pytest


def required(report):
    """Turn a skip into a failure where the peers are required."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("GNOMON_PEERS") == "required":
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"GNOMON_PEERS=required, but {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return required((yield))
