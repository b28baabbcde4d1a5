"""The recognisers that come with the suite: chunks change nothing, and they find what is there."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.core.systems import parse
from gnomon.measures.events import evaluate
from gnomon.suites.events import files, raw
from gnomon.suites.events.options import SimulateOptions
from gnomon.suites.events.recognizers import SYSTEMS
from gnomon.suites.events.simulate import simulate
from gnomon.suites.events.systems import hidden_markov
from gnomon.suites.events.systems._cells import BLOCK, MOST_GAP, RATE, Cells
from gnomon.suites.events.systems.hidden_markov import HiddenMarkovWalker, Model, Smoother
from gnomon.suites.events.systems.spectral import SpectralWalker
from gnomon.suites.events.systems.threshold import ThresholdWalker
from gnomon.suites.events.systems.visits import VisitDetector

pytestmark = pytest.mark.usefixtures("in_this_process")

WALKERS = ("threshold-walker", "spectral-walker", "hmm-walker")
TRIVIAL = ("never", "always")
LOOKING = [name for name in SYSTEMS.builtin if name not in TRIVIAL]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return simulate(
        build(SimulateOptions, {"directory": str(folder), "subjects": 4, "minutes": 8, "hours": 6, "seed": 7})
    )


@pytest.fixture(scope="module")
def data(made):
    """Cases with their records: those of walking, those of visits."""
    loaded = [(case, list(itertools.chain.from_iterable(raw.records(case)))) for case in files.read_truth(*made[:4])]
    visits = [(case, list(itertools.chain.from_iterable(raw.records(case)))) for case in files.read_truth(*made[4:])]
    return loaded, visits


def taught(cases):
    recognizer = HiddenMarkovWalker()
    for case, recs in cases:
        recognizer.train(iter(recs), [{"t1": s.start, "t2": s.end, "label": s.label} for s in case.stretches])
    return recognizer


@pytest.fixture(scope="module")
def ready(data):
    """Return each recogniser by its name, the trained one trained on others than the first."""
    trained = pickle.dumps(taught(data[0][1:]))
    return {name: SYSTEMS.find(name) for name in SYSTEMS.builtin} | {"hmm-walker": lambda: pickle.loads(trained)}


def accel(values, rate=50.0, first=0.0):
    return [
        {"time": first + i / rate, "type": "accel", "values": [0.0, 0.0, 9.81 + float(v)]} for i, v in enumerate(values)
    ]


def wave(seconds, hertz, size, rate=50.0):
    return size * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def run(recognizer, recs, chunk=None):
    for start in range(0, len(recs), chunk or len(recs)):
        recognizer.process(recs[start : start + (chunk or len(recs))])
    return recognizer.detected()


@pytest.mark.parametrize("name", LOOKING)
def test_chunks_never_change_a_result(data, ready, name):
    """Bit for bit, and iterators as well as lists; looking at results on the way changes nothing either."""
    recs = data[1 if name == "visit-detector" else 0][0][1]
    whole = run(ready[name](), recs)
    assert len(whole) >= 3
    assert run(ready[name](), recs, 1) == whole
    assert run(ready[name](), recs, 7) == whole
    recognizer = ready[name]()
    for start in range(0, len(recs), 5000):
        recognizer.process(iter(recs[start : start + 5000]))
        recognizer.detected()
    assert recognizer.detected() == whole


@pytest.mark.parametrize("name", LOOKING)
def test_results_are_ordered_inside_the_window_and_filtered(data, ready, name):
    case, recs = data[1 if name == "visit-detector" else 0][0]
    recognizer = ready[name]()
    found = run(recognizer, recs)
    assert all(a["t2"] <= b["t1"] for a, b in itertools.pairwise(found))
    assert all(case.window[0] <= r["t1"] < r["t2"] <= case.window[1] for r in found)
    assert {r["label"] for r in found} <= set(recognizer.labels())
    assert all(0 <= r.get("score", 0) <= 1 for r in found)
    middle = found[1]
    assert recognizer.detected((middle["t1"], middle["t2"])) == [middle]
    assert recognizer.detected((middle["t2"], middle["t2"] + 1e-6)) in ([], found[2:3])
    recognizer.reset()
    assert recognizer.detected() == []
    assert run(recognizer, recs) == found


@pytest.mark.parametrize("name", WALKERS)
def test_memory_does_not_grow(ready, name):
    """An hour of nothing leaves as much behind as ten minutes do; the rest of a minute may differ in records."""
    sizes = []
    for minutes in (10, 60):
        recognizer = ready[name]()
        for minute in range(minutes):
            recognizer.process(accel(np.zeros(1500), 25.0, 60.0 * minute))
        sizes.append(len(pickle.dumps(recognizer)))
    assert sizes[1] < 1.1 * sizes[0]


def by_definition(records):
    """Cells record by record, as the module says; returns pieces as a list of (first cell, list of means)."""
    pieces = []
    for record in records:
        cell = int(np.floor(record["time"] * RATE))
        if not pieces or cell - pieces[-1][2] > MOST_GAP:
            pieces.append([cell, {}, cell])
        pieces[-1][1].setdefault(cell, []).append(record["values"])
        pieces[-1][2] = cell
    found = []
    for first, cells, last in pieces:
        rows = []
        for cell in range(first, last + 1):
            rows.append(np.mean(cells[cell], axis=0) if cell in cells else rows[-1])
        found.append((first, np.array(rows)))
    return found


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([0.005, 0.02, 0.02, 0.02, 0.3, 1.9, 2.5, 70.0]), min_size=1, max_size=400),
    st.lists(st.integers(1, 90), min_size=1, max_size=20),
    st.floats(-1e5, 1e5),
)
def test_cells_are_means_whatever_the_chunks(steps, chunks, first):
    times = first + np.cumsum(steps)
    recs = [{"time": t, "type": "accel", "values": [i % 7, i % 3, 1.0]} for i, t in enumerate(times.tolist())]
    cells, blocks, start = Cells(), [], 0
    for size in itertools.cycle(chunks):
        blocks += cells.add(recs[start : start + size])
        start += size
        if start >= len(recs):
            break
    rest = cells.rest()
    assert [b.start for b in rest] == [b.start for b in cells.rest()]
    pieces = []
    for block in [*blocks, *rest]:
        assert 0 < len(block.values) <= BLOCK
        if block.fresh:
            pieces.append((block.start, [block.values]))
        else:
            assert block.start == pieces[-1][0] + sum(map(len, pieces[-1][1]))
            pieces[-1][1].append(block.values)
    expected = by_definition(recs)
    assert [start for start, _ in pieces] == [start for start, _ in expected]
    for (_, parts), (_, rows) in zip(pieces, expected, strict=True):
        np.testing.assert_allclose(np.concatenate(parts), rows, rtol=0, atol=1e-12)


def test_threshold_by_hand():
    """Still, then 20 s of a wave whose standard deviation is 1.4 m/s^2, then still: found within a second."""
    recs = accel(np.concatenate([np.zeros(1500), wave(20, 2.0, 2.0), np.zeros(1500)]))
    recs += [{"time": 81.0, "type": "gyro", "values": [1.0]}]
    (found,) = run(ThresholdWalker(), recs)
    assert found["t1"] == pytest.approx(30, abs=1)
    assert found["t2"] == pytest.approx(50, abs=1)
    assert run(ThresholdWalker(threshold=1.5), recs) == []


@pytest.mark.parametrize("rate", [25.0, 50.0, 100.0])
@pytest.mark.parametrize(("hertz", "count"), [(1.8, 1), (2.3, 1), (5.0, 0), (0.4, 0)])
def test_spectral_asks_for_the_pace_of_steps(rate, hertz, count):
    values = np.concatenate([np.zeros(int(20 * rate)), wave(20, hertz, 2.0, rate), np.zeros(int(20 * rate))])
    found = run(SpectralWalker(), accel(values, rate))
    assert len(found) == count
    if count:
        assert found[0]["t1"] == pytest.approx(20, abs=2)
        assert found[0]["t2"] == pytest.approx(40, abs=2)


def test_untrained_says_what_to_do():
    with pytest.raises(InputError, match="--train, or use --leave-out"):
        HiddenMarkovWalker().process(accel([0.0]))
    partly = HiddenMarkovWalker()
    partly.train(accel(np.zeros(1000)), [])
    with pytest.raises(InputError, match="some walking and some other time"):
        partly.process(accel([0.0]))


def test_training_adds_up(data):
    """Sums do not depend on the order of recordings, up to rounding; counts are hops, 0.4 s each, but for edges."""
    forth, back = taught(data[0]), taught(data[0][::-1])
    np.testing.assert_array_equal(forth.counts, back.counts)
    np.testing.assert_array_equal(forth.follows, back.follows)
    np.testing.assert_allclose(forth.model.means, back.model.means)
    assert forth.counts.sum() == pytest.approx(4 * 480 / 0.4, rel=0.01)
    walking = sum(s.end - s.start for case, _ in data[0] for s in case.stretches)
    assert forth.counts[hidden_markov.STATES // 2 :].sum() == pytest.approx(walking / 0.4, rel=0.02)


@pytest.mark.parametrize("lag", [0, 1, 10])
def test_fixed_lag_smoothing_against_forward_and_backward_in_loops(lag):
    """Independent, in the test: for every hop, a forward and backward pass over the hops up to its lag."""
    rng = np.random.default_rng(0)
    states, hops = hidden_markov.STATES, 60
    follows = rng.dirichlet(np.full(states, 0.3), size=states)
    shares = rng.dirichlet(np.ones(states))
    model = Model(np.zeros((states, 1)), np.ones((states, 1, 1)), np.zeros(states), follows, shares)
    evidence = rng.normal(0, 3, (hops, states))
    expected = []
    for hop in range(hops):
        forward = shares * np.exp(evidence[0])
        for index in range(1, hop + 1):
            forward = sum(forward[i] * follows[i] for i in range(states)) * np.exp(evidence[index])
        backward = np.ones(states)
        for index in range(min(hop + lag, hops - 1), hop, -1):
            weighted = np.exp(evidence[index]) * backward
            backward = np.array([(follows[i] * weighted).sum() for i in range(states)])
        both = forward * backward
        expected.append(both[states // 2 :].sum() / both.sum())
    smoother = Smoother(model, lag)
    found = [smoother.add(evidence[a : a + 13]) for a in range(0, hops, 13)]
    np.testing.assert_allclose(np.concatenate([*found, smoother.end()]), expected, rtol=1e-9)


def test_density_is_the_normal_one(data):
    """Against scipy, up to the constant that all states share."""
    from scipy.stats import multivariate_normal

    model = taught(data[0]).model
    points = model.means[:3] + 0.1
    expected = []
    for mean, whiten in zip(model.means, model.whiten, strict=True):
        expected.append(multivariate_normal(mean, np.linalg.inv(whiten.T @ whiten)).logpdf(points))
    shift = model.means.shape[1] / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(model.likelihood(points), np.array(expected).T + shift, rtol=1e-6)


def f1(pairs, label="walking"):
    """Event F1 (correct only) and time F1 of one class, pooled, from the published categories."""
    correct = events = hit = seconds = 0.0
    for case, found in pairs:
        truth = [(s.start, s.end, s.label) for s in case.stretches]
        result = evaluate(truth, [(r["t1"], r["t2"], r["label"]) for r in found], window=case.window)["classes"][label]
        durations = result["durations"]
        correct += 2 * result["counts"]["C"]
        events += len(result["truth_events"]) + len(result["returned_events"])
        hit += 2 * durations["TP"]
        seconds += 2 * durations["TP"] + sum(durations[name] for name in ("D", "F", "Us", "Ue", "I", "M", "Os", "Oe"))
    return correct / events, hit / seconds


@pytest.mark.slow
def test_the_trained_one_is_the_best_on_people_it_has_not_seen(tmp_path):
    options = {"directory": str(tmp_path), "subjects": 9, "minutes": 10, "hours": 1, "seed": 11, "format": "jsonl"}
    cases = files.read_truth(*simulate(build(SimulateOptions, options))[:9])
    data = [(case, list(itertools.chain.from_iterable(raw.records(case)))) for case in cases]
    plain = f1([(case, run(ThresholdWalker(), recs)) for case, recs in data])
    trained = f1([(case, run(taught([d for d in data if d[0] is not case]), recs)) for case, recs in data])
    assert plain[0] > 0.5
    assert plain[1] > 0.75
    assert trained[0] > plain[0] + 0.05
    assert trained[1] > plain[1] + 0.03


def fixes(spots, every=30.0, accuracy=10.0):
    """Records of spots in metres north of a place."""
    return [
        {"time": every * i, "type": "location", "values": [48.0 + north / 111_320, 11.0, accuracy]}
        for i, north in enumerate(spots)
    ]


STAY, GO = [0.0] * 40, np.linspace(0, 1200, 31).tolist()
"""20 minutes at a place, and 15 on foot to another one."""


@pytest.mark.parametrize(
    "spots",
    [
        [*STAY, *GO, *(n + 1200 for n in STAY)],
        [*([0.0] * 15 + [250.0] * 3 + [0.0] * 22), *GO, *(n + 1200 for n in STAY)],
        [*(25.0 * (-1) ** i for i in range(40)), *GO, *(n + 1200 for n in STAY)],
    ],
    ids=["clean", "burst", "jitter"],
)
def test_visits_by_hand(spots):
    found = run(VisitDetector(), fixes(spots))
    assert [r["label"] for r in found] == ["visit", "path", "visit"]
    edges = [found[0]["t1"], found[0]["t2"], found[1]["t2"], found[2]["t2"]]
    assert edges == pytest.approx([0, 1200, 2100, 3300], abs=95)
    assert found[0]["t2"] == found[1]["t1"]


def test_a_gap_during_a_stay_does_not_end_it():
    recs = [r for r in fixes([0.0] * 120) if not 600 < r["time"] < 2400]
    assert run(VisitDetector(), recs) == [{"t1": 0.0, "t2": 3570.0, "label": "visit"}]


def test_fixes_of_poor_accuracy_are_passed_over():
    recs = fixes([0.0] * 60)
    for record in recs[20:30]:
        record["values"] = [48.1, 11.0, 900.0]
    assert [r["label"] for r in run(VisitDetector(), recs)] == ["visit"]


def test_most_visits_are_found(data):
    pairs = [(case, run(VisitDetector(), recs)) for case, recs in data[1]]
    assert min(f1(pairs, "visit")) > 0.9
    assert min(f1(pairs, "path")) > 0.75


@pytest.mark.parametrize("name", ["threshold-walker", "visit-detector"])
def test_records_of_the_wrong_width_are_refused(name):
    kind = "location" if name == "visit-detector" else "accel"
    recs = [{"time": float(t), "type": kind, "values": [1.0]} for t in range(100)]
    with pytest.raises(InputError, match=r"record at 0\.0 s: 1 values, expected"):
        run(SYSTEMS.find(name)(), recs)


def test_short_names():
    assert SYSTEMS.find("threshold-walker") is ThresholdWalker
    name, _, source = SYSTEMS.identity(parse("hmm-walker"))["identity"].partition(":")
    assert (name, len(source)) == ("HiddenMarkovWalker", 64)
    assert not SYSTEMS.identity(parse("spectral-walker"))["identity"].endswith(source)
    with pytest.raises(InputError, match="built in are threshold-walker, spectral-walker, hmm-walker, visit-detector"):
        SYSTEMS.find("walker")


def test_they_run_through_the_engine(made):
    truth = tuple(map(str, made[:4]))
    result = gnomon.run(
        "events", truth=truth, recognizers=("threshold-walker,hmm-walker",), leave_out="subject", out="none"
    )
    assert result.complete
    assert set(result.scores) == {"threshold-walker", "hmm-walker"}
    assert all(scores["event_macro_f1"] > 0.3 for scores in result.scores.values())


def test_never_and_always_by_hand():
    recs = [{"time": t, "type": "gyro", "values": [0.0]} for t in (2.0, 3.0, 7.5)]
    never, always = (SYSTEMS.find(name)() for name in TRIVIAL)
    for recognizer in (never, always):
        assert recognizer.trivial is True
        assert recognizer.detected() == []
        for record in recs:
            recognizer.process(iter([record]))
    assert (never.detected(), never.labels()) == ([], [])
    assert always.detected() == [{"t1": 2.0, "t2": 7.5, "label": "walking", "score": 0.5}]
    assert always.detected((8.0, 9.0)) == []
    always.reset()
    assert always.detected() == []
    assert SYSTEMS.find("always")(label="visit").labels() == ["visit"]
    with pytest.raises(InputError, match="expected the name of a class"):
        SYSTEMS.find("always")(label="")


def test_a_table_with_never_and_always_lacks_no_baseline(made, tmp_path):
    def found(names):
        result = gnomon.run("events", recognizers=names, truth=[str(path) for path in made[:4]], out=tmp_path)
        return result, {row["finding"].value for row in gnomon.audit(result).tables["findings"].rows}

    _, without = found("threshold-walker,spectral-walker")
    assert "baseline-missing" in without
    result, whole = found("threshold-walker,spectral-walker,never,always")
    assert not {"baseline-missing", "same-predictions"} & whole
    assert all(run.complete and not run.findings for run in result.runs)
    assert result.scores["never"]["any_overlap_recall"] == 0.0
    assert result.scores["always"]["any_overlap_recall"] == 1.0
