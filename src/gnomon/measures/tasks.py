"""Measures of one task among several: the task is part of the name, and of that of the stored tallies."""

from __future__ import annotations

import hashlib


def family(stem: str, task: str) -> str:
    """Name the tallies of a task: letters, digits and underscores; other signs give way to a hash.

    >>> family("retrieval", ""), family("retrieval", "grounding")
    ('retrieval', 'retrieval__grounding')
    """
    if not task:
        return stem
    slug = "".join(c if c.isascii() and c.isalnum() else "_" for c in task)
    return f"{stem}__{slug if slug == task else f'{slug}_{hashlib.sha256(task.encode()).hexdigest()[:8]}'}"


def named(name: str, task: str) -> str:
    """Name a measure.

    >>> named("mrr", ""), named("mrr", "grounding")
    ('mrr', 'mrr[grounding]')
    """
    return f"{name}[{task}]" if task else name
