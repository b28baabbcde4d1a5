"""Leak and honesty checks that any suite can call.

A check is a function from plain data to findings (what, how bad, where, the evidence with its numbers, what to do);
no finding means that it saw nothing wrong, not that nothing is. Nothing here starts work by itself: passive checks
read :class:`~gnomon.core.samples.Samples`, tallies and declared facts, active ones are given a callable and call it.
No check knows the name of a suite or of a variant. What each needs and cannot see stands in its docstring.

The name is a verb too: ``gnomon.audit(*runs, fail_on=None)`` audits runs, as :func:`gnomon.api.audit` does.

Severities
----------
``error``
    The number is not what it says it is: something leaked, or the stored result cannot be true.
``warning``
    The number is what it says, but a reader may take it for more than it is.
``info``
    Part of the data could not be looked at.

Modules:

``registry``    every check by id, with what it finds (light: nothing numerical is imported)
``record``      :class:`~gnomon.audit.record.Audit`, what was checked and what was found
``split``       the two sides that checks compare
``ranges``      time ranges read by input and target
``duplicates``  equal and nearly equal inputs (``near``: the search)
``people``      shared subjects, sessions, devices; the same people in two datasets
``inputs``      input blocks by tag; what transforms were fitted on
``poison``      callables that must not see what is changed
``permuted``    permuted-label control
``targets``     targets without variety, classes that were never seen
``results``     trivial baselines, no-op arms, coverage, identities, selection
``quantities``  units, frames and scales
``sequences``   cuts of several tasks, clamped targets, invalid entries, overlapping units, tied ranks
"""

import sys
from types import ModuleType
from typing import Any

from gnomon.audit.record import Audit
from gnomon.audit.registry import CHECKS, Check
from gnomon.core.suite import load

__all__ = ["CHECKS", "Audit", "Check"]


class _Room(ModuleType):
    """A package that can be called: importing it puts it where a function of the same name would have to be."""

    def __call__(self, *runs: Any, fail_on: str | None = None) -> Any:
        """Check runs for leaks and other faults: each by itself, then those on the same data side by side.

        Parameters
        ----------
        runs
            Run directories, folders of runs, or results in memory.
        fail_on
            ``warning`` or ``error``: the severity from which on ``extra["audit"]["failed"]`` is true.

        Returns
        -------
        Result
            What :func:`gnomon.api.audit` returns, which this calls.
        """
        return load("gnomon.api:audit")(*runs, fail_on=fail_on)


sys.modules[__name__].__class__ = _Room
