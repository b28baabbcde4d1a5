"""What the tally of a shard is known by: the code of the engine's part and of the suite's, also of another package."""

import pytest

from gnomon.core.code_identity import identity_of
from gnomon.engine import sharding
from gnomon.engine.folding import Given
from gnomon.engine.options import EngineOptions


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package of two files, and a module that is one file."""
    for name in ("some_package/__init__.py", "some_package/shards.py", "some_module.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    identity_of.cache_clear()
    yield tmp_path
    identity_of.cache_clear()


@pytest.mark.parametrize(
    ("function", "file"),
    [("some_package.shards:tally", "some_package/__init__.py"), ("some_module:tally", "some_module.py")],
)
def test_code_of_another_package_counts(packages, function, file):
    before = identity_of(function)
    (packages / file).write_text("VALUE = 2\n")
    assert identity_of(function) == before  # a process keeps the code that it imported
    identity_of.cache_clear()
    assert identity_of(function) != before


def test_suites_are_told_apart():
    found = {identity_of(f"gnomon.suites.{name}.shards:tally") for name in ("labels", "change", "episode")}
    assert len(found) == 3


def test_a_cell_counts_the_code_of_the_suite(packages):
    truth = packages / "truth.csv"
    truth.write_text("id,label\n")

    def key():
        identity_of.cache_clear()
        given = Given("a", "a", [("one", truth, None)])
        job = sharding.job("some_module:tally", [given], {}, EngineOptions(), lambda *_: [])
        return next(iter(job.plan)).key

    before = key()
    assert key() == before
    (packages / "some_module.py").write_text("VALUE = 2\n")
    assert key() != before
