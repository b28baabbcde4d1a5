"""Outlines of episodes add up to that of all of them.

Expected: all samples built at once, whose counts are made in the test or held against values by hand in test_tasks.
"""

from collections import Counter

import pytest

from gnomon.core.errors import GnomonError
from gnomon.suites.episode.tasks.declared import TASKS, VARIANTS
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.sampling import build
from gnomon.suites.episode.tasks.splitting import SPLITS

SAME = ("episodes", "tested", "ranked", "named", "samples", "dropped", "clamped", "cut", "invalid", "lacks", "facts")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("split", SPLITS)
def test_outlines_of_episodes_add_up(recorded, task, variant, split):
    held = None if split == SPLITS[0] else [recorded[variant][1].id]
    whole = build(TASKS[task], recorded[variant], variant, split, held=held)
    parts = [build(TASKS[task], [one], variant, split, held=held).outline for one in recorded[variant]]
    found = Outline.added(parts)
    assert {name: getattr(found, name) for name in SAME} == {name: getattr(whole.outline, name) for name in SAME}
    assert list(found.facts) == list(whole.facts), "in one order"


@pytest.mark.parametrize("task", TASKS)
def test_samples_are_counted(recorded, task):
    data = build(TASKS[task], recorded["strict"], "strict")
    found = data.outline
    assert found.samples == {"train": 0, "test": 0, "purged": 0} | Counter(data.part)
    assert found.asked == data.part.count("test")
    assert found.known == {*data.labels, *(name for one in data.sets for name in one)}
    assert set(found.episodes) == set(data.segment)
    assert found.tested == tuple(one.id for one in recorded["strict"] if "test" in _parts(data, one.id))
    test = tuple(name for name, part in zip(data.ids, data.part, strict=True) if part == "test")
    assert found.ranked == (test if TASKS[task].kind == "retrieval" else ())


def _parts(data, episode):
    return {part for part, name in zip(data.part, data.episode, strict=True) if name == episode}


def test_nothing_is_no_outline():
    with pytest.raises(GnomonError, match="no outline to add up: expected at least one"):
        Outline.added([])


def test_what_does_not_add_up_is_refused(recorded):
    one, two = (build(TASKS[task], recorded["strict"][:1], "strict").outline for task in list(TASKS)[:2])
    with pytest.raises(GnomonError, match="outlines of different tasks or variants do not add up"):
        Outline.added([one, two])
    with pytest.raises(GnomonError, match=f"{one.task.name}: an episode is in several outlines, and would count twice"):
        Outline.added([one, one])
