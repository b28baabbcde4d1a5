"""The verbs ``search`` and ``ablate``: one system in many settings, through the verb ``run`` of its suite.

Every arm is a system with parameters (``NAME@key=value``), so that the engine stores, resumes and reports it as any
other. A search works on the validation part alone; what it chose is to be tested on the test part, once.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from gnomon.api import runs_of_verb
from gnomon.core import grids, registry
from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.metric_choice import split_names
from gnomon.core.partition import TEST, VAL, shares
from gnomon.core.stdout import divert_prints
from gnomon.core.suite import Suite, Tuning, load
from gnomon.core.systems import Spec, Value, checked, split
from gnomon.core.table import Table, View
from gnomon.intake.addresses import cleaned
from gnomon.result import Result

if TYPE_CHECKING:
    from gnomon.core.measure import Measure
    from gnomon.runs.arms import Arm
    from gnomon.runs.run import Run
    from gnomon.runs.searching import Search


@dataclass(frozen=True)
class Subject:
    """The one system that is searched or ablated, as it was given, and the options of ``run`` around it."""

    suite: Suite
    tuning: Tuning
    spec: Spec
    known: Mapping[str, Any]
    """Its parameters with their defaults."""
    given: Mapping[str, Any]

    def set(self, setting: Mapping[str, Value]) -> Spec:
        """Return the system in a setting; what equals its default is left out, so that a setting has one name."""
        spec = checked(self.spec.take(**setting), self.known)
        return Spec(spec.name, {key: value for key, value in spec.parameters.items() if value != self.known[key]})

    def resolved(self, spec: Spec) -> dict[str, Any]:
        """Return the value of every parameter; equal ones mean the same work."""
        return {**self.known, **spec.parameters}

    def runs(
        self,
        specs: Sequence[Spec],
        stream: IO[str] | None,
        fixed: Mapping[str, Any],
        purpose: Callable[[tuple[Measure, ...]], Mapping[str, Any]],
    ) -> tuple[dict[str, Run], dict[str, str]]:
        """Run the system in several settings; return the run of each by its text, and what is missing.

        Options that are `fixed` are not the user's to give; `purpose` sees the measures before the work, and returns
        what is recorded with the runs.
        """
        given = {**self.given, self.tuning.option: tuple(spec.text for spec in specs), **fixed}
        runs, missing = runs_of_verb(self.suite.name, "run", given, stream, purpose)
        return {str(run.manifest["system"]): run for run in runs}, missing


def search(suite: str, *, grid: Mapping[str, Any], metrics: Any, random: int = 0, **options: Any) -> Result:
    """Search a system's parameters on the validation part.

    Parameters
    ----------
    suite
        Name of a suite whose systems have parameters, for example ``events``.
    grid
        Values by parameter: ``{"threshold": (0.5, 0.9)}``; with `random` also ranges, as ``"0.1..2"`` or
        ``"0.1..2:log"``.
    metrics
        Names of metrics; the first decides, and its direction says what is better.
    random
        How many settings are drawn at random from the grid; 0 tries every combination.
    options
        Any option of ``gnomon run SUITE`` with underscores, with exactly one system, and without the part.

    Returns
    -------
    Result
        Tables ``search`` and ``winner`` (unless the default is the best), a view of the best so far, and in
        ``extra["search"]`` the winner, every arm, and the command that tests the winner on the test part.
    """
    axes = {key: grids.axis(key, values) for key, values in grid.items()}
    return perform_search(suite, {**options, "metrics": metrics}, axes, random).require_scored()


def ablate(suite: str, *, without: str | Sequence[str], **options: Any) -> Result:
    """Switch off parts of a system, one at a time.

    Parameters
    ----------
    suite
        Name of a suite whose systems have parameters, for example ``events``.
    without
        Parameters that are true or false, and true in the full system.
    options
        Any option of ``gnomon run SUITE`` with underscores, with exactly one system; the first of ``metrics`` is shown.
    """
    switches = (without,) if isinstance(without, str) else without
    return perform_ablation(suite, options, switches).require_scored()


@divert_prints()
def perform_search(
    suite: str,
    given: Mapping[str, Any],
    axes: Mapping[str, grids.Axis],
    random: int = 0,
    stream: IO[str] | None = None,
) -> Result:
    """Do a search; progress goes to ``stream``."""
    from gnomon.runs.searching import items

    subject = _subject(suite, given)
    if subject.tuning.part in given:
        raise InputError(f"search works on the part {VAL!r} alone: leave out the option {subject.tuning.part!r}")
    if not split_names(given.get("metrics")):
        raise InputError("a search needs a metric that decides: give --metrics NAME")
    specs = _arms(subject, axes, random)
    asked = {"part": VAL, "grid": grids.described(axes), "random": random, "arms": len(specs)}
    found, missing = _searched(subject, specs, axes, asked, stream)
    shown, findings = items(found)
    winner = None if found.winner is None else str(found.winner.run.manifest["system"])
    command = _command(subject, list(dict.fromkeys([winner, specs[0].text]))) if winner else ""
    if winner:
        shown += _next(subject, found, command)
    trials = [_trial(arm, arm.value(found.measure)) for arm in found.arms]
    record = {
        **asked,
        "metric": found.measure.name,
        "winner": winner,
        "default": specs[0].text,
        "trials": trials,
        "command": command,
    }
    extra = {"search": record, "findings": [finding.record() for finding in findings]}
    return _result(subject, [arm.run for arm in found.arms], shown, missing, extra)


def _next(subject: Subject, found: Search, command: str) -> list[View]:
    """Say how the winner is tested, or that no part is left to test it on."""
    if _held_out(subject) and not command:
        return []
    who = "the default" if found.winner is found.default else "the winner, and the default beside it,"
    title = f"to test {who} on the part that the search has not seen"
    lines = [f"  {command}"]
    if not command:
        title = "nothing is left to test on"
        split_up = _built(subject).split
        lines = [f"  --split {split_up} gives the part {TEST!r} no group: search again with other shares, or new data"]
    return [View("next", title, "lines", {"lines": lines})]


def _held_out(subject: Subject) -> bool:
    """Say whether the split leaves anything to test on."""
    return shares(_built(subject).split).test > 0


def _built(subject: Subject) -> Any:
    return opt.build(subject.suite.verb("run").options, subject.given)


def _searched(
    subject: Subject,
    specs: Sequence[Spec],
    axes: Mapping[str, grids.Axis],
    asked: Mapping[str, Any],
    stream: IO[str] | None,
) -> tuple[Search, dict[str, str]]:
    """Run every arm on the validation part."""
    from gnomon.runs.arms import Arm, with_same_gaps
    from gnomon.runs.searching import Search

    with _kept(subject) as store:
        fixed = {**_unseen(subject), subject.tuning.part: VAL, "store": store}
        runs, missing = subject.runs(
            specs, stream, fixed, lambda measures: {"search": {**asked, "metric": _deciding(subject, measures)}}
        )
    measure = runs[specs[0].text].measures[0]
    arms = [
        Arm(f"arm {number}", runs[spec.text], _setting(subject, spec, axes), number == 1)
        for number, spec in enumerate(specs, start=1)
    ]
    return Search(with_same_gaps(arms), measure, VAL), missing


def _deciding(subject: Subject, measures: Sequence[Measure]) -> str:
    """Return the name of the metric that decides: the first of the runs; as it was given where none are declared.

    A signed error is refused, since a lower one is not a better one.
    """
    asked = split_names(subject.given.get("metrics"))
    if not measures:
        return str(asked[0]) if asked else ""
    found = measures[0]
    if not found.direction:
        able = sorted((measure for measure in measures if measure.direction), key=lambda one: one.unit != found.unit)
        raise InputError(
            f"{found.name} is a signed error, of which neither higher nor lower is better: it cannot decide between "
            f"settings; choose another metric{f', for example {able[0].name}' if able else ''}"
        )
    return found.name


def _unseen(subject: Subject) -> dict[str, int]:
    """Arms of a search are many, and kept to be counted, not to be looked at: no exhibits unless they are asked for."""
    able = any(item.name == "exhibits" for item in opt.parameters(subject.suite.verb("run").options))
    return {"exhibits": 0} if able and "exhibits" not in subject.given else {}


@divert_prints()
def perform_ablation(
    suite: str, given: Mapping[str, Any], without: Sequence[str], stream: IO[str] | None = None
) -> Result:
    """Do an ablation; progress goes to ``stream``."""
    from gnomon.runs.ablation import FULL, Ablation, items
    from gnomon.runs.arms import Arm, with_same_gaps

    subject = _subject(suite, given)
    switches = [name.strip() for item in without for name in item.split(",") if name.strip()]
    _check_switches(subject, switches)
    specs = [subject.spec, *(subject.set({name: False}) for name in switches)]
    runs, missing = subject.runs(
        specs,
        stream,
        {},
        lambda measures: {"ablation": {"without": switches, "metric": _deciding(subject, measures)}},
    )
    full, *others = (runs[spec.text] for spec in specs)
    arms = [Arm(f"w/o {name}", run, {name: False}) for name, run in zip(switches, others, strict=True)]
    whole, *parts = with_same_gaps([Arm(FULL, full, default=True), *arms])
    ablation = Ablation(whole, tuple(parts), full.measures[0])
    shown, findings = items(ablation)
    rows = [_trial(arm, arm.value(ablation.measure)) for arm in (ablation.full, *ablation.arms)]
    record = {"without": switches, "metric": ablation.measure.name, "trials": rows}
    extra = {"ablation": record, "findings": [finding.record() for finding in findings]}
    return _result(subject, [full, *others], shown, missing, extra)


def _subject(name: str, given: Mapping[str, Any]) -> Subject:
    suite = registry.suite(name)
    tuning = suite.tuning
    if tuning is None:
        able = [other for other, found in sorted(registry.suites().items()) if found.tuning]
        raise InputError(f"the systems of suite {name!r} have no parameters; those of {some(able)} have")
    option = tuning.option
    listed = given.get(option, ())
    specs = split([listed] if isinstance(listed, str) else [os.fspath(item) for item in listed])
    if len(specs) != 1:
        got = f"{len(specs)}: {some([spec.text for spec in specs])}" if specs else f"none: give {_flag(option)} NAME"
        raise InputError(f"expected exactly one system in {option!r} ({_flag(option)}), but got {got}")
    # Everything else about the options is found out here, before any arm is made.
    built: Any = opt.build(suite.verb("run").options, {**given, option: (specs[0].text,)})
    if getattr(built, "variant", "") == "both":
        raise InputError("variant 'both' gives two runs per arm: choose one with --variant")
    known = load(tuning.systems).parameters(specs[0].name)
    return Subject(suite, tuning, checked(specs[0], known), known, given)


def _arms(subject: Subject, axes: Mapping[str, grids.Axis], random: int) -> list[Spec]:
    """Return the settings to try, the default first; those that mean the same are one."""
    from gnomon.core.seeds import generator

    if not axes:
        raise InputError("nothing to search: give --grid key=a,b,c at least once")
    options = _built(subject)
    drawn = grids.draw(axes, random, generator(options.seed, "search")) if random else grids.product(axes)
    specs = [subject.spec, *(subject.set(setting) for setting in drawn)]
    distinct: dict[tuple[Any, ...], Spec] = {}
    for spec in specs:
        distinct.setdefault(tuple(subject.resolved(spec).items()), spec)
    return list(distinct.values())


def _setting(subject: Subject, spec: Spec, axes: Mapping[str, grids.Axis]) -> dict[str, Value]:
    """Return the searched parameters of an arm, those of the default too where it has them."""
    values = subject.resolved(spec)
    return {key: values[key] for key in axes if isinstance(values[key], (bool, int, float, str))}


def _check_switches(subject: Subject, switches: Sequence[str]) -> None:
    values = subject.resolved(subject.spec)
    on = [name for name, value in values.items() if value is True]
    if not switches:
        raise InputError(f"nothing to switch off: give --without with some of {some(on, show=20) or 'no switch'}")
    twice = [name for name in switches if switches.count(name) > 1]
    if twice:
        raise InputError(f"--without {twice[0]!r} is given twice")
    wrong = [name for name in switches if name not in on]
    if wrong:
        name = wrong[0]
        why = "is off already" if values.get(name) is False else "is no switch" if name in values else "is unknown"
        can = f"can do without {some(on, show=20)}" if on else "has no switch that is on"
        raise InputError(f"--without {name!r} {why}; {subject.spec} {can}")


@contextlib.contextmanager
def _kept(subject: Subject) -> Iterator[str]:
    """Give the store that all arms share: that of the runs, or one that goes when nothing is kept."""
    options = _built(subject)
    if options.out != "none" or options.store:
        yield os.fspath(options.store_folder())
        return
    with tempfile.TemporaryDirectory(prefix="gnomon-") as folder:
        yield folder


def _command(subject: Subject, systems: Sequence[str]) -> str:
    """Return the command that tests systems on the test part; nothing where it is empty or an option is in memory."""
    if not _held_out(subject):
        return ""
    chosen = {**subject.given, subject.tuning.option: tuple(systems), subject.tuning.part: TEST}
    words = ["gnomon", "run", subject.suite.name]
    arguments: list[str] = []
    for parameter in opt.parameters(subject.suite.verb("run").options):
        value = chosen.get(parameter.name)
        if value is None or value is False or parameter.name == "fresh":
            continue
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, (str, int, float, os.PathLike)):
                return ""
            word = cleaned(os.fspath(item) if isinstance(item, os.PathLike) else str(item))
            if parameter.option.argument:
                arguments.append(word)
            else:
                words += [parameter.flag] if item is True else [parameter.flag, word]
    return shlex.join([*words, *arguments])


def _trial(arm: Arm, value: float | None) -> dict[str, Any]:
    return {
        "name": arm.name,
        "system": str(arm.run.manifest["system"]),
        "setting": dict(arm.setting),
        "value": value,
        "failure": arm.failure,
    }


def _result(
    subject: Subject,
    runs: Sequence[Run],
    items: Sequence[Table | View],
    missing: Mapping[str, str],
    extra: Mapping[str, Any],
) -> Result:
    return Result(tuple(runs), tuple(items), {"suites": [subject.suite.name], "missing": dict(missing), **extra})


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")
