"""Parts of shards: stored, read, and folded. Expected: the tallies of all cases at once, by plain counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.ledgers import Ledger
from gnomon.intake.arrays import read_npz
from gnomon.runs import parts
from gnomon.runs.packing import write_npz
from gnomon.runs.parts import Part

LABELS = "abc"
pairs = st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS))
shard = st.dictionaries(st.sampled_from(["p1", "p2", "p10"]), st.lists(pairs, min_size=1, max_size=6), min_size=1)


def part_of(count_cases, cases):
    """A part of named cases, each of a group of its own, with a confusion ledger."""
    rows = sorted({(at, t, p) for at, case in enumerate(cases.values()) for t, p in case})
    counts = [list(cases.values())[at].count((t, p)) for at, t, p in rows]
    columns = {
        "truth": np.array([LABELS.index(t) for _, t, _ in rows]),
        "predicted": np.array([LABELS.index(p) for _, _, p in rows]),
        "count": np.array(counts),
    }
    ledger = Ledger(np.array([at for at, _, _ in rows]), columns, {"truth": tuple(LABELS), "predicted": tuple(LABELS)})
    roster = Roster(tuple(cases), tuple(cases), {"room": tuple(f"r{name}" for name in cases)}, "person")
    return Part(roster, {"classification": count_cases(*cases.values())}, {"confusion": ledger}, {"rows": len(rows)})


@settings(max_examples=50)
@given(st.lists(shard, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_folded_parts_are_the_whole(count_cases, given_shards, order):
    whole = {}
    for one in given_shards:
        for name, case in one.items():
            whole[name] = whole.get(name, []) + case
    whole = {name: whole[name] for name in ("p1", "p2", "p10") if name in whole}
    order.shuffle(given_shards)
    found = parts.folded(
        [part_of(count_cases, one) for one in given_shards], {"confusion": ("truth", "predicted", "count")}
    )
    wanted = part_of(count_cases, whole)
    place = [found.roster.ids.index(name) for name in wanted.roster.ids]
    assert found.roster.take(place) == wanted.roster
    tallies, other = found.tallies["classification"].aligned(wanted.tallies["classification"])
    assert tallies.take(np.array(place)) == other
    rows = {(found.roster.ids[c], t, p): n for c, t, p, n in zip(*_columns(found.ledgers["confusion"]), strict=True)}
    assert rows == {
        (wanted.roster.ids[c], t, p): n for c, t, p, n in zip(*_columns(wanted.ledgers["confusion"]), strict=True)
    }


def _columns(ledger):
    return [ledger.case.tolist(), *(ledger.columns[name].tolist() for name in ("truth", "predicted", "count"))]


def test_a_part_is_stored_and_read(count_cases, tmp_path):
    part = part_of(count_cases, {"p1": [("a", "b"), ("c", "c")], "p2": [("a", "a")]})
    parts.write(part, tmp_path)
    read = parts.read(tmp_path)
    assert (read.roster, read.tallies, read.ledgers, read.facts) == (
        part.roster,
        part.tallies,
        part.ledgers,
        part.facts,
    )


def test_a_part_may_hold_nothing_but_cases(tmp_path):
    part = Part(Roster(("ä b", "c"), ("g", "g"), {}, "room"), {}, {}, {"seen": ["ß", 1]})
    parts.write(part, tmp_path)
    assert parts.read(tmp_path) == part


def test_a_part_that_does_not_say_whose_it_is_is_damaged(tmp_path):
    write_npz(tmp_path / parts.FILE, {"values": np.zeros(3, np.uint8)})
    with pytest.raises(IntegrityError, match="the description of 'about' in a run's npz is damaged"):
        parts.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda about, values: {"about": about, "values": values[:3]}, r": \w+ of shape .* is not in its values"),
        (lambda about, values: {"about": about}, "'values'"),
        (lambda about, values: {"about": changed(about, b'"arrays"', b'"others"'), "values": values}, "'arrays'"),
        (lambda about, values: {"about": changed(about, b'"|u1"', b'"xu1"'), "values": values}, "xu1"),
        (lambda about, values: {"about": changed(about, b'"|u1"', b'"|S1"'), "values": values}, "not in its values"),
        (lambda about, values: {"about": changed(about, b'"<f8",[', b'"<f8",[-'), "values": values}, "not in its"),
    ],
)
def test_a_part_without_its_values_is_damaged(count_cases, tmp_path, change, said):
    part = part_of(count_cases, {"p1": [("a", "b")]})
    shares = Ledger(np.zeros(1, np.int64), {"share": np.array([0.5])}, {})
    parts.write(Part(part.roster, part.tallies, {**part.ledgers, "shares": shares}), tmp_path)
    held = read_npz(tmp_path / parts.FILE)
    write_npz(tmp_path / parts.FILE, change(held["about"], held["values"]))
    with pytest.raises(IntegrityError, match=rf"part\.npz: damaged \(.*{said}.*\); score the shard again"):
        parts.read(tmp_path)


def changed(about, before, after):
    """A description with one word replaced."""
    text = about.tobytes()
    assert before in text
    return np.frombuffer(text.replace(before, after), np.uint8)


@given(st.lists(st.tuples(st.sampled_from(["u1", "i4", "i8", "f4", "f8"]), st.integers(0, 9)), max_size=6))
def test_arrays_of_any_type_and_length_are_kept(tmp_path_factory, given_arrays):
    folder, rng = tmp_path_factory.mktemp("part"), np.random.default_rng(3)
    columns = [(rng.random(n) * 200).astype(kind) for kind, n in given_arrays]
    ledgers = {f"l{at}": Ledger(np.zeros(len(one), np.int64), {"x": one}, {}) for at, one in enumerate(columns)}
    parts.write(Part(Roster(("p",), ("p",), {}, "person"), {}, ledgers), folder)
    read = parts.read(folder).ledgers
    assert list(read) == list(ledgers)
    for name, ledger in ledgers.items():
        assert read[name].columns["x"].tolist() == ledger.columns["x"].tolist()
        assert read[name].columns["x"].flags.aligned


def test_one_case_belongs_to_one_group(count_cases):
    a, b = (part_of(count_cases, {"p1": [("a", "a")]}) for _ in range(2))
    other = Part(Roster(("p1",), ("somebody",), dict(b.roster.tags), "person"), b.tallies, b.ledgers)
    with pytest.raises(InputError, match=r"case 'p1' has group and tags .* one case belongs to one group"):
        parts.folded([a, other])


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["p1", "p2", "p10"]), unique=True), shard, st.randoms(use_true_random=False))
def test_parts_are_placed_as_they_are_folded(count_cases, apart, cases, order):
    """What is expected: folding at once, and moving rows to where the cases of the roster are."""
    shards = [{name: case} for name, case in cases.items() if name in apart]
    shards += [rest] if (rest := {name: case for name, case in cases.items() if name not in apart}) else []
    order.shuffle(shards)
    held = [part_of(count_cases, one) for one in shards]
    ids = ("p0", "p1", "p10", "p2")
    roster = Roster(ids, ids, {"room": tuple(f"r{name}" for name in ids)}, "person")
    found = parts.placed(lambda: iter(held), roster)
    whole = parts.folded(held)
    at = np.array([ids.index(name) for name in whole.roster.ids])
    wanted = whole.tallies["classification"].grouped(at, len(ids))
    assert found.roster == roster
    assert found.tallies["classification"] == wanted.relabel(found.tallies["classification"].axes)
    ledger = whole.ledgers["confusion"]
    rows = zip(*_columns(found.ledgers["confusion"]), strict=True)
    assert sorted(rows) == sorted(zip(at[ledger.case].tolist(), *_columns(ledger)[1:], strict=True))


def test_families_that_are_not_wanted_are_left_out(count_cases):
    held = [part_of(count_cases, {"p1": [("a", "b")]})]
    assert not parts.placed(lambda: held, held[0].roster, lambda name: name != "classification").tallies


def test_what_cannot_be_placed_is_refused(count_cases):
    held = [part_of(count_cases, {"p1": [("a", "b")]}), part_of(count_cases, {"p1": [("b", "b")], "p2": []})]
    with pytest.raises(GnomonError, match="classification: several parts hold something of one case"):
        parts.placed(lambda: held, held[1].roster)
    with pytest.raises(GnomonError, match="cases that are not on the roster: 'p2'"):
        parts.placed(lambda: held, held[0].roster)
