"""The wheel and the sdist, built once for the tests of packaging."""

import pytest
from acceptance.installed_wheel import built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    return built(tmp_path_factory.mktemp("sdist"), "sdist")
