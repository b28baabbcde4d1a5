"""Which cases are tested: all that were given, those with some tags, or those of one part of the groups.

Groups are dealt into parts before cases are selected by their tags, so that a selection never moves a group from one
part to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.partition import ALL, TEST, VAL
from gnomon.suites.events import files, scoring
from gnomon.suites.events.options import RunOptions


@dataclass(frozen=True)
class Chosen:
    """The cases that are tested, those that recognisers are trained on for want of others, and how both came about."""

    cases: list[files.TruthCase]
    level: str
    """The tag whose values are resampled, and dealt into parts."""
    train: tuple[files.TruthCase, ...] = ()
    of: Mapping[str, str] = field(default_factory=dict)
    """The part of every group; empty where everything is tested."""
    split: Mapping[str, Any] = field(default_factory=dict)
    """The split as a protocol records it."""

    def check(self, given: Sequence[files.TruthCase], options: RunOptions) -> None:
        """Refuse training files with groups that are kept for the test while something is chosen on the val part."""
        held = [case.id for case in given if self.of.get(group_of(case, self.level)) == TEST]
        if options.part == VAL and held:
            raise InputError(
                f"--train: case {some(held)} is of a {self.level} of the test part, which nothing may see before the "
                "test: leave it out, or leave out --train to train on the train part"
            )


def choose(options: RunOptions) -> Chosen:
    """Read the truth and choose the cases that were asked for."""
    everything = files.read_truth(*options.truth)
    files.check_cases(everything, options.unit)
    level = scoring.find_level(everything, options.group)
    if options.part == ALL:
        return Chosen(selected(everything, options.select), level)
    of = options.parts((group_of(case, level) for case in everything), level)
    kept = selected(everything, options.select)
    cases, train = ([c for c in kept if of[group_of(c, level)] == part] for part in (options.part, "train"))
    if not cases:
        raise InputError(f"--part {options.part}: no case of it is left by --select {', '.join(options.select)}")
    return Chosen(cases, level, tuple(train), of, options.split_record(of, level))


def group_of(case: files.TruthCase, level: str) -> str:
    """Return the group of a case: the value of a tag, or the case itself where a recording is a group."""
    return case.tags.get(level, case.id)


def selected(cases: list[files.TruthCase], conditions: Sequence[str]) -> list[files.TruthCase]:
    """Return the cases with some tags; refuse conditions that leave none."""
    for condition in conditions:
        tag, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--select {condition!r}: expected TAG=VALUE")
        kept = [case for case in cases if case.tags.get(tag) == value]
        if not kept:
            known = sorted({case.tags[tag] for case in cases if tag in case.tags})
            tags = sorted({name for case in cases for name in case.tags})
            why = f"{tag!r} is {some(known)}" if known else f"no case has the tag {tag!r}; there are {some(tags)}"
            raise InputError(f"--select {condition!r} leaves no case; {why}")
        cases = kept
    return cases
