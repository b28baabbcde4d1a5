"""What a run records of its shards, and systems that fail. Expected values: by hand."""

from pathlib import Path

import pytest

from gnomon.core.errors import InputError
from gnomon.engine import folding
from gnomon.engine.folding import Given, Stored
from gnomon.engine.job import Outcome


def lost(*names, refused=()):
    return Outcome({}, {name: f"{name} is broken" for name in names}, (), frozenset(refused))


def test_a_system_of_which_nothing_is_scored_takes_no_other_along():
    def make(name):
        if name == "bad":
            raise folding.nothing_scored("folder", lost("one", "two"))
        return [name]

    assert folding.for_each(["good", "bad", "other"], make) == ["good", "other"]
    with pytest.raises(InputError, match=r"^folder: no shard could be scored; the first: one is broken$"):
        folding.for_each(["bad"], make)


def test_any_other_error_ends_it():
    def make(name):
        raise InputError(name)

    with pytest.raises(InputError, match="first"):
        folding.for_each(["first", "second"], make)


def test_files_that_are_no_shards_are_named():
    assert folding.left_alone([]) == ()
    (one,) = folding.left_alone([Path("a", "x.pkl")])
    assert (one.id, one.severity, one.where) == ("files-left-alone", "warning", "a")
    assert one.evidence == "1 file is no shard by the suffix, and not scored: 'x.pkl'"
    (many,) = folding.left_alone([Path("a", f"{n}.pkl") for n in range(5)])
    assert many.evidence.startswith("5 files are no shard by the suffix, and not scored: '0.pkl', '1.pkl', '2.pkl'")


def test_shards_without_predictions_are_scored_or_skipped():
    given = Given("mine", "mine", [("a", Path("a"), Path("b")), ("c", Path("c"), None)])
    read = Stored([("a", Path("x")), ("c", Path("y"))])
    done = Outcome({"mine: a": Path("x"), "mine: c": Path("y")}, {}, ())
    found = folding.covered({"complete": True}, given, read, done, "wrong")
    assert found["shards"] == {"truth": 2, "scored": 2, "without predictions": 1}
    assert found["complete"]
    assert found["cells"]["done"] == 2
    found = folding.covered({"complete": False}, given, read, done, "skip")
    assert found["shards"] == {"truth": 2, "scored": 1, "without predictions": 1, "skipped": ["c"]}
    assert not found["complete"]
    assert "cells" not in found, "they are not what makes it partial"


def test_data_are_the_same_whatever_could_be_scored_of_them():
    given = Given("mine", "mine", [(name, Path(name), Path(name)) for name in "abc"])
    facts = {name: {folding.TRUTH: f"digest of {name}"} for name in "abc"}
    whole = folding.content(given, facts, Stored([]))
    part = {name: facts[name] for name in "ac"}
    assert folding.content(given, part, Stored([], {"b": facts["b"]})) == whole
    assert folding.content(given, part, Stored([])) != whole
