"""Faults of targets and results: nothing to predict, trivial answers, no-op arms, gaps, units, impossible numbers."""

from __future__ import annotations

import numpy as np

from gnomon.audit.quantities import scales, units_and_frames
from gnomon.audit.results import coverage, identities, no_op_arms, same_predictions, selection, trivial_baselines
from gnomon.audit.targets import degenerate_targets, unseen_classes
from gnomon.core.canonical import digest
from gnomon.core.seeds import generator
from gnomon.core.signals import Labels
from gnomon.core.tallies import Array, Tallies
from gnomon.measures.classification import F1, Accuracy
from gnomon.testing.planted.case import Findings, Planted
from gnomon.testing.planted.splits import plain

ACTIVITIES = ("lie", "run", "sit", "walk")
CASES = tuple(f"room {i}" for i in range(12))


def answers(error: float = 0.2, seed: int = 1) -> list[tuple[Labels, Labels]]:
    """Return truth and prediction of 12 cases, wrong with the given probability."""
    rng = generator(seed, "planted", "answers")
    out = []
    for _ in CASES:
        truth = rng.integers(0, 4, 30)
        wrong = rng.random(30) < error
        prediction = np.where(wrong, (truth + 1) % 4, truth)
        out.append((Labels(truth, ACTIVITIES), Labels(prediction, ACTIVITIES)))
    return out


def tallied(pairs: list[tuple[Labels, Labels]]) -> Tallies:
    """Tally the cases."""
    return Tallies.stack([Accuracy().tally(truth, prediction) for truth, prediction in pairs])


def _labels() -> Array:
    return np.array([ACTIVITIES[i % 3] for i in range(100)], dtype=object)


def _one_class(leak: bool) -> Findings:
    labels = _labels()
    labels[60:] = "contact" if leak else labels[60:]
    return degenerate_targets(labels, plain())


def _constant(leak: bool) -> Findings:
    values = generator(2, "planted", "values").standard_normal((100, 4))
    if leak:
        values[:60, 2] = 0.0
    return degenerate_targets(values, plain())


def _unseen(leak: bool) -> Findings:
    labels = _labels()
    labels[90:95] = "fall" if leak else "sit"
    return unseen_classes(labels, plain())


def _persistence(leak: bool) -> Findings:
    """A walk forecast five steps ahead; the faulty system answers in the frame of another origin."""
    rng = generator(3, "planted", "walk")
    steps = 0.1 * rng.standard_normal(500)
    walk = np.cumsum(steps + 0.02 * np.sin(np.arange(500) / 30))
    truth, last = walk[5:], walk[:-5]
    drift = 5 * np.mean(np.diff(walk)) + 0.1 * np.sin((np.arange(495) + 2.5) / 30)
    system = last + drift + (0.8 if leak else 0.0)
    errors = {name: float(np.abs(answer - truth).mean()) for name, answer in (("system", system), ("last value", last))}
    constant = float(np.abs(walk[:250].mean() - truth).mean())
    baselines = {"last value": errors["last value"], "constant": constant}
    return trivial_baselines({"system": errors["system"]}, baselines, measure="mae", direction="down")


def _majority(leak: bool) -> Findings:
    """A system that guesses, where nine of ten labels are the same."""
    rng = generator(4, "planted", "majority")
    truth = np.where(rng.random(300) < 0.9, "walk", "run")
    guessed = np.where(rng.random(300) < 0.9, "walk", "run")
    right = np.where(rng.random(300) < 0.97, truth, "walk")
    scores = {"system": float(((guessed if leak else right) == truth).mean())}
    return trivial_baselines(scores, {"majority": float((truth == "walk").mean())}, measure="accuracy")


def _no_baseline(leak: bool) -> Findings:
    return trivial_baselines({"system": 0.9}, {} if leak else {"majority": 0.5}, measure="accuracy")


def _idle_arm(leak: bool) -> Findings:
    """An ablation of which one switch is not connected."""
    full = {"classification": tallied(answers())}
    other = full if leak else {"classification": tallied(answers(0.25, seed=2))}
    return no_op_arms(
        {"full": full, "without merging": other, "without budget": {"classification": tallied(answers(0.5))}}
    )


def _scored_twice(leak: bool) -> Findings:
    """A file of predictions that was given under two names."""
    said = {name: [p.codes.data for _, p in answers(seed=seed)] for seed, name in enumerate(("small", "large"))}
    prints = {name: digest(parts) for name, parts in said.items()}
    return same_predictions({**prints, "large": prints["small"]} if leak else prints)


def _gaps(leak: bool) -> Findings:
    kept = CASES[:9] if leak else CASES
    return coverage(CASES, {"a": kept}, {"a": {CASES[9]: "timeout", CASES[10]: "timeout"}})


def _other_gaps(leak: bool) -> Findings:
    return coverage(CASES, {"a": CASES[:9] if leak else CASES, "b": CASES[3:] if leak else CASES})


def _extra(leak: bool) -> Findings:
    return coverage(CASES, {"a": (*CASES, "room 99") if leak else CASES})


def _tags(frame: str = "camera", unit: str = "m") -> dict[str, str]:
    return {"unit": unit, "frame": frame}


def _frames(leak: bool) -> Findings:
    """Hands in the camera's frame minus a root in the world's."""
    hand = {case: _tags() for case in CASES}
    return units_and_frames({"hand": hand, "root": {case: _tags("world" if leak else "camera") for case in CASES}})


def _units(leak: bool) -> Findings:
    side = {case: _tags(unit="mm" if leak and i > 8 else "m") for i, case in enumerate(CASES)}
    return units_and_frames({"truth": side, "prediction": side})


def _unknown_units(leak: bool) -> Findings:
    side = {case: {} if leak and i == 3 else _tags() for i, case in enumerate(CASES)}
    return units_and_frames({"truth": side})


def _gravity(leak: bool) -> Findings:
    """Recordings at rest, three of them in multiples of gravity."""
    rng = generator(5, "planted", "rest")
    sizes = {case: float(np.median(9.81 + 0.2 * rng.standard_normal(200))) for case in CASES}
    return scales({case: size / 9.80665 if leak and i < 3 else size for i, (case, size) in enumerate(sizes.items())})


def _impossible(leak: bool) -> Findings:
    tallies = tallied(answers())
    hits = tallies.fields["tp"].copy()
    if leak:
        hits[0, 0] = tallies.fields["truth"][0, 0] + 1
    changed = Tallies(tallies.layout, tallies.axes, {**tallies.fields, "tp": hits})
    return identities([Accuracy()], {"classification": changed})


def _copied_by_hand(leak: bool) -> Findings:
    tallies = tallied(answers())
    derived = {m.name: float(m.score(tallies.total()).values) for m in (Accuracy(), F1("macro"))}
    stored = {**derived, "macro_f1": 0.273} if leak else derived
    return identities([Accuracy(), F1("macro")], {"classification": tallies}, scores=stored)


def _by_accuracy(leak: bool) -> Findings:
    return selection("val_accuracy" if leak else "macro_f1", ["macro_f1", "weighted_f1"])


def _on_test(leak: bool) -> Findings:
    samples = plain()
    return selection("macro_f1", ["macro_f1"], samples.ids[50:70] if leak else samples.ids[50:60], samples)


def _on_others(leak: bool) -> Findings:
    samples = plain()
    return selection("macro_f1", ["macro_f1"], (*samples.ids[50:60], *(["x1"] if leak else [])), samples)


NUMBERS: tuple[Planted, ...] = (
    Planted("degenerate-targets", "one-class-target", "every test label is the same", _one_class),
    Planted("degenerate-targets", "constant-target", "a target dimension without movement in training", _constant),
    Planted("unseen-classes", "unseen-test-classes", "5 test samples of a class that training lacks", _unseen),
    Planted(
        "trivial-baselines",
        "trivial-baseline-wins",
        "a forecast in the wrong frame against the last value",
        _persistence,
    ),
    Planted("trivial-baselines", "trivial-baseline-wins", "guesses against the majority class", _majority),
    Planted("trivial-baselines", "baseline-missing", "a table without a trivial baseline", _no_baseline),
    Planted("no-op-arms", "no-op-arm", "an ablation with a switch that is not connected", _idle_arm),
    Planted("same-predictions", "same-predictions", "a file that was scored under two names", _scored_twice),
    Planted("coverage", "partial-coverage", "3 of 12 cases dropped, one without a reason", _gaps),
    Planted("coverage", "coverage-differs", "two systems that dropped different cases", _other_gaps),
    Planted("coverage", "unexpected-cases", "a score for a case that was not asked for", _extra),
    Planted("units-and-frames", "tags-differ", "hands in the camera frame, root in the world frame", _frames),
    Planted("units-and-frames", "tags-mixed", "3 of 12 cases in millimetres", _units),
    Planted("units-and-frames", "tags-missing", "a case without unit and frame", _unknown_units),
    Planted("scales", "suspicious-scale", "3 of 12 recordings in g instead of m/s^2", _gravity),
    Planted("identities", "broken-identity", "more hits than samples of a class", _impossible),
    Planted("identities", "score-does-not-follow", "a macro-F1 that was typed in", _copied_by_hand),
    Planted(
        "selection", "selection-metric-not-reported", "early stopping on accuracy, macro-F1 reported", _by_accuracy
    ),
    Planted("selection", "selected-on-test", "a grid that looked at 10 test samples", _on_test),
    Planted("selection", "selected-elsewhere", "a grid that looked at an unknown sample", _on_others),
)
