"""One path of scoring: what chunks leave, what a run records of it, and systems that fail. Expected values: by hand."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.code_identity import identity_of
from gnomon.core.errors import InputError
from gnomon.engine.job import Outcome
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node
from gnomon.engine.scoring import PREDICTIONS, TRUTH, Chunk, Partials, Scorer, System, _left_alone, tally_chunk
from gnomon.runs import exhibits, parts
from gnomon.runs.content import table_digest
from gnomon.runs.parts import Part


def part(name):
    return Part(Roster((name,), (name,), level="group"), {}, facts={TRUTH: f"digest of {name}"}, table=pa.table({}))


def lost(*names):
    return Outcome({}, {name: f"{name} is broken" for name in names}, (), frozenset())


@dataclass(frozen=True)
class Finished:
    """Stands for an evaluation."""

    system: str
    findings: tuple = ()


def finish(partials, options):
    for _ in partials:
        pass
    return [Finished(partials.system.name)]


SCORER = Scorer(lambda chunk, options: part(chunk.name), finish, ())


def outcome(tmp_path, *systems, broken=()):
    """Cells of one chunk ``a`` for every system; those of broken ones failed."""
    cells = tuple(Node(f"{name}: a", "m:f", {"of": name}, labels={"system": name}) for name in systems)
    done = {cell.name: tmp_path for cell in cells if cell.labels["system"] not in broken}
    missing = {cell.name: f"{cell.name} is broken" for cell in cells if cell.labels["system"] in broken}
    return Outcome(done, missing, cells)


def test_a_system_of_which_nothing_is_scored_takes_no_other_along(tmp_path):
    parts.write(part("a"), tmp_path)
    systems = [System(name, f"folder {name}", [Chunk("a", "t", "p")]) for name in ("good", "bad", "other")]
    found = SCORER._assemble(systems, outcome(tmp_path, "good", "bad", "other", broken=("bad",)), EngineOptions())
    assert [one.system for one in found] == ["good", "other"]
    with pytest.raises(InputError, match=r"^folder bad: no shard could be scored; the first: bad: a is broken$"):
        SCORER._assemble(systems[1:2], outcome(tmp_path, "bad", broken=("bad",)), EngineOptions())


def test_any_other_error_ends_it():
    def refuse(partials, options):
        raise InputError(partials.system.name)

    systems = [System(name, name, [Chunk("", "t", "p")]) for name in ("first", "second")]
    with pytest.raises(InputError, match="first"):
        Scorer(SCORER.tally, refuse, ()).score(systems, EngineOptions())


def test_one_chunk_in_memory_is_scored_at_once():
    systems = [System(name, name, [Chunk("", object(), object())]) for name in ("first", "second")]
    assert SCORER.score(systems, EngineOptions()) == [Finished("first"), Finished("second")]


def test_chunks_in_memory_are_tallied_together_where_a_suite_does_so():
    seen = []

    def together(chunks, options):
        seen.append([(chunk.reader, chunk.predictions) for chunk in chunks])
        return [part(chunk.predictions) for chunk in chunks]

    scorer = Scorer(None, lambda partials, options: [partials[0][1].roster.ids], (), together)
    systems = [System(name, name, [Chunk("", "t", name)]) for name in ("first", "second")]
    assert scorer.score(systems, EngineOptions()) == [part("first").roster.ids, part("second").roster.ids]
    assert scorer.score_whole("third", "", Chunk("", "t", "third"), EngineOptions()) == [part("third").roster.ids]
    assert seen == [[("first", "first"), ("second", "second")], [("third", "third")]]


def test_what_is_known_of_a_chunk_that_failed_is_what_its_suite_says(tmp_path):
    scorer = replace(SCORER, describe_truth=lambda chunk, options: {"of": chunk.name}, noun="scene")
    system = System("mine", "folder", [Chunk("a", "t", "p"), Chunk("b", "t")])
    refused = Outcome({"mine: a": tmp_path}, {"mine: b": "broken"}, (), frozenset({"mine: b"}))
    assert Partials.stored(system, refused, scorer, EngineOptions()).alone == {"b": {"of": "b"}}
    with pytest.raises(InputError, match=r"^folder: no scene could be scored; the first: broken$"):
        Partials.stored(system, Outcome({}, {"mine: b": "broken"}, ()), scorer, EngineOptions())


def test_the_worst_snapshots_of_all_chunks_are_kept(tmp_path):
    kept = [exhibits.Exhibit(case, badness=badness) for case, badness in (("a", 0.1), ("b", 0.9), ("c", 0.5))]
    system = System("mine", "mine", [Chunk(name, "t", "p") for name in "xy"])
    for name, own in (("x", kept[:1]), ("y", kept[1:])):
        (tmp_path / name / "strict").mkdir(parents=True)
        (tmp_path / name / "strict" / exhibits.NAME).write_bytes(exhibits.pack(own, of=len(own)))
    stored = Partials(system, [(name, tmp_path / name) for name in "xy"], lost())
    assert stored.snapshots(2, 3, "strict") == {exhibits.NAME: exhibits.pack(kept[1:], of=3)}
    assert stored.snapshots(2, 3) == stored.snapshots(0, 3, "strict") == {}
    whole = Partials.whole(system, replace(part("a"), files={f"strict/{exhibits.NAME}": b"packed"}))
    assert whole.snapshots(2, 3, "strict") == {exhibits.NAME: b"packed"}
    assert whole.snapshots(2, 3) == {}


def test_files_that_are_no_shards_are_named():
    assert _left_alone([]) == ()
    (one,) = _left_alone([Path("a", "x.pkl")])
    assert (one.id, one.severity, one.where) == ("files-left-alone", "warning", "a")
    assert one.evidence == "1 file is no shard by the suffix, and not scored: 'x.pkl'"
    (many,) = _left_alone([Path("a", f"{n}.pkl") for n in range(5)])
    assert many.evidence.startswith("5 files are no shard by the suffix, and not scored: '0.pkl', '1.pkl', '2.pkl'")


def test_shards_without_predictions_are_scored_or_skipped():
    system = System("mine", "mine", [Chunk("a", "a", "b"), Chunk("c", "c")])
    done = Outcome({"mine: a": Path("x"), "mine: c": Path("y")}, {}, ())
    partials = Partials(system, [("a", Path("x")), ("c", Path("y"))], done)
    found = partials.coverage({"complete": True}, "wrong")
    assert found["shards"] == {"truth": 2, "scored": 2, "without predictions": 1}
    assert found["complete"]
    assert found["cells"]["done"] == 2
    found = partials.coverage({"complete": False}, "skip")
    assert found["shards"] == {"truth": 2, "scored": 1, "without predictions": 1, "skipped": ["c"]}
    assert not found["complete"]
    assert "cells" not in found, "they are not what makes it partial"


def test_data_are_the_same_whatever_could_be_scored_of_them():
    system = System("mine", "mine", [Chunk(name, name, name) for name in "abc"])
    held = [(name, part(name)) for name in "abc"]
    whole = Partials(system, held, lost()).data()
    assert Partials(system, held[::2], lost("b"), {"b": held[1][1].facts}).data() == whole
    assert Partials(system, held[::2], lost("b")).data() != whole


def test_the_digest_of_one_chunk_is_that_of_the_data():
    system = System("mine", "mine", [Chunk("", np.zeros(3))])
    assert Partials.whole(system, Part(Roster((), ()), {}, facts={TRUTH: "digest"})).data() == "digest"


def test_several_evaluations_of_one_chunk_have_facts_and_tables_by_key(tmp_path):
    tables = {key: pa.table({"id": [key]}) for key in ("x", "y")}
    chunk = Part(Roster((), ()), {}, facts={key: {TRUTH: f"digest {key}"} for key in tables}, tables=tables)
    whole = Partials.whole(System("mine", "mine", [Chunk("", "t")]), chunk)
    assert [whole.data(key) for key in tables] == ["digest x", "digest y"]
    assert whole.table("y") == tables["y"]
    facts = {key: {**chunk.facts[key], PREDICTIONS: f"table {key}"} for key in tables}
    stored = Partials(System("mine", "mine", [Chunk("a", "t")]), [("a", Part(Roster((), ()), {}, facts=facts))], lost())
    assert stored.data("y") == fingerprint([["a", "digest y"]]) != stored.data("x")
    assert stored.table("y").to_pylist() == [{"shard": "a", "predictions": "table y"}]


def tally_by_key(chunk, options):
    """Tally for the test below: a table for each of two keys."""
    tables = {key: pa.table({"id": [key]}) for key in ("x", "y")}
    return Part(Roster((), ()), {}, facts={key: {TRUTH: chunk.name} for key in tables}, tables=tables)


def test_a_cell_stores_the_fingerprint_of_every_table(tmp_path):
    scorer = Scorer(tally_by_key, finish, ())
    (node,) = scorer.score([System("a", "a", [Chunk("one", tmp_path)])], EngineOptions()).plan
    tally_chunk({**node.arguments, **node.context}, {}, tmp_path)
    facts = parts.read(tmp_path).facts
    assert facts["y"] == {TRUTH: "one", PREDICTIONS: table_digest(pa.table({"id": ["y"]}))}
    assert facts["x"][PREDICTIONS] != facts["y"][PREDICTIONS]


def test_shards_that_hold_both_sides_are_given_or_scored():
    system = System("mine", "mine", [Chunk("a", "a"), Chunk("c", "c")])
    partials = Partials(system, [("a", Path("x"))], Outcome({"mine: a": Path("x")}, {"mine: c": "broken"}, ()))
    found = partials.coverage({"complete": True}, None)
    assert (found["shards"], found["complete"]) == ({"given": 2, "scored": 1}, False)
    assert found["cells"]["done"] == 1


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package of two files, and a module that is one file."""
    for name in ("some_package/__init__.py", "some_package/scoring.py", "some_module.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("def tally(chunk, options): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    identity_of.cache_clear()
    yield tmp_path
    identity_of.cache_clear()


@pytest.mark.parametrize(
    ("function", "file"),
    [("some_package.scoring:tally", "some_package/__init__.py"), ("some_module:tally", "some_module.py")],
)
def test_code_of_another_package_counts(packages, function, file):
    before = identity_of(function)
    (packages / file).write_text("VALUE = 2\n")
    assert identity_of(function) == before  # a process keeps the code that it imported
    identity_of.cache_clear()
    assert identity_of(function) != before


def test_a_cell_counts_the_code_of_the_suite(packages):
    import some_module

    truth = packages / "truth.csv"
    truth.write_text("id,label\n")

    def key():
        identity_of.cache_clear()
        job = Scorer(some_module.tally, finish, ()).score([System("a", "a", [Chunk("one", truth)])], EngineOptions())
        return next(iter(job.plan)).key

    before = key()
    assert key() == before
    (packages / "some_module.py").write_text("def tally(chunk, options): return 1\n")
    assert key() != before


def tally_needs(chunk, options):
    """Tally a chunk by what its cell needs."""
    read = {role: (folder / "size").read_text() for role, folder in chunk.needs.items()}
    return Part(Roster((), ()), {}, facts={TRUTH: chunk.name, "read": read})


def test_a_cell_finds_what_it_needs_in_folders(tmp_path):
    from gnomon.runs import parts

    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "size").write_text("3")
    made = Node("made", "m:f", {"size": 3}, kind="artefact")
    job = Scorer(tally_needs, finish, ()).plan(
        [System("a", "a", [Chunk("one", None, needs={"size": made})])], EngineOptions()
    )
    assert [node.name for node in job.plan] == ["made", "a: one"]
    (cell,) = job.plan.cells
    tally_chunk({**cell.arguments, **cell.context}, {"size": tmp_path / "made"}, tmp_path)
    assert parts.read(tmp_path).facts["read"] == {"size": "3"}
    other = Scorer(tally_needs, finish, ()).plan([System("a", "a", [Chunk("one", None)])], EngineOptions())
    assert other.plan.cells[0].key != cell.key


def test_the_facts_of_a_truth_that_is_no_file_of_the_chunk_are_not_read():
    @dataclass(frozen=True, kw_only=True)
    class Options(EngineOptions):
        missing: str = "error"

    assert SCORER.facts_of_truth(Chunk("a", "t", "p"), Options()) == {TRUTH: "digest of a"}
    assert SCORER.facts_of_truth(Chunk("a", None, "p"), Options()) is None


def test_a_suite_may_say_that_nothing_was_scored():
    partials = Partials(System("mine", "folder", []), [], lost("first", "second"))
    error = partials.nothing_scored()
    assert str(error) == "folder: no shard could be scored; the first: first is broken"


def test_all_evaluations_are_exported_once_they_are_made(packages):
    import some_module

    from gnomon.runs import parts

    written = []
    systems = [System(name, name, [Chunk("", object(), object())]) for name in ("first", "second")]
    found = SCORER.score(systems, EngineOptions(), export=written.append)
    assert written == [found]
    parts.write(part("a"), packages)
    (packages / "truth.csv").touch()
    systems = [System(name, name, [Chunk("a", packages / "truth.csv")]) for name in ("good", "bad")]
    job = Scorer(some_module.tally, finish, ()).score(systems, EngineOptions(), export=written.append)
    assert len(written) == 1, "nothing is made yet"
    found = job.assemble(outcome(packages, "good", "bad", broken=("bad",)))
    assert [one.system for one in found] == ["good"]
    assert written[1:] == [found]
