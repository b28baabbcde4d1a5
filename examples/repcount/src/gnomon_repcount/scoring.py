"""Verb ``score`` and the tables of its runs."""

import numpy as np

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.protocol import Protocol
from gnomon.core.tallies import Tallies
from gnomon.intake.memory import table_of
from gnomon.runs.content import column_digest
from gnomon.runs.run import Evaluation
from gnomon.runs.tables import leaderboard
from gnomon_repcount.measures import MEASURES, RepCounts

PROTOCOL = Protocol(name="repcount", version="1", measures=MEASURES, group="subject")


def score(options):
    """Tally every subject; gnomon does the rest: scores, intervals, the run, verification, comparison."""
    truth = table_of(options.truth, text=("id", "subject"), name="truth").sort_by("id")
    given = table_of(options.predictions, text=("id",), name="predictions").sort_by("id")
    if truth["id"].to_pylist() != given["id"].to_pylist():
        raise InputError("predictions: expected exactly the ids of the truth; predict every set once")
    subjects = np.array(truth["subject"].to_pylist())
    true, predicted = truth["count"].to_numpy(), given["count"].to_numpy()
    names = sorted(set(subjects.tolist()))
    measure = MEASURES[0]
    rows = [measure.tally(RepCounts(true[subjects == s]), RepCounts(predicted[subjects == s])) for s in names]
    return [
        Evaluation(
            protocol=PROTOCOL,
            suite="repcount",
            system=options.system,
            roster=Roster(tuple(names), tuple(names), level="subject"),
            tallies={measure.family: Tallies.stack(rows)},
            data=column_digest(truth["id"], truth["subject"], truth["count"]),
            table=given.select(["id", "count"]),
        )
    ]


def tables(runs):
    """One leaderboard."""
    return [leaderboard(runs, [measure.name for measure in MEASURES])]
