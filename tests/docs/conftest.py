"""The site, made once for all tests that look at it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site():
    """Every file of the site by its address, and what the builder found wrong."""
    from docs.site.making import make

    return make(ROOT)


@pytest.fixture(scope="session")
def pages(site):
    """What a browser would find in every page."""
    from docs.site.checking import read

    return {address: read(content) for address, content in site.files.items() if address.endswith(".html")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The site takes half a minute to build, in every process that looks at it: that is for the slow tests."""
    for item in items:
        if "site" in getattr(item, "fixturenames", ()) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
