"""What a part is known by: the code of its suite, also of one from another package."""

import pytest

from gnomon.core.errors import InputError
from gnomon.engine import sharding


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package of two files, and a module that is one file."""
    for name in ("some_package/__init__.py", "some_package/shards.py", "some_module.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sharding.code.cache_clear()
    yield tmp_path
    sharding.code.cache_clear()


@pytest.mark.parametrize(
    ("function", "file"),
    [("some_package.shards:tally", "some_package/__init__.py"), ("some_module:tally", "some_module.py")],
)
def test_code_of_another_package_counts(packages, function, file):
    before = sharding.code(function)
    (packages / file).write_text("VALUE = 2\n")
    assert sharding.code(function) == before  # kept for the life of a process
    sharding.code.cache_clear()
    assert sharding.code(function) != before


def test_suites_are_told_apart():
    found = {sharding.code(f"gnomon.suites.{name}.shards:tally") for name in ("labels", "change", "episode")}
    assert len(found) == 3


def test_a_package_that_is_not_there():
    with pytest.raises(InputError, match="no_such_package: no such package"):
        sharding.code("no_such_package.shards:tally")
