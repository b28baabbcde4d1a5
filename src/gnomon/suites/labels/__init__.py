"""Suite ``labels``: plain classification results in, a defended table out.

A case is the set of rows of one group (split further by the tags that are sliced on); a group is a value
of the group column: whatever rows may depend on each other through, such as a subject or a recording.
"""

from gnomon.core.suite import Suite, Tuning, Verb
from gnomon.suites.labels.options import RunOptions, ScoreOptions, SimulateOptions, TemplateOptions

SUITE = Suite(
    name="labels",
    summary="plain classification results: a label per row, optionally grouped",
    verbs={
        "score": Verb(ScoreOptions, "gnomon.suites.labels.scoring:score", "score predicted labels against true ones"),
        "run": Verb(RunOptions, "gnomon.suites.labels.running:run", "fit and test systems by folds over groups"),
        "template": Verb(TemplateOptions, "gnomon.suites.labels.simulate:template", "write a small example pair"),
        "simulate": Verb(SimulateOptions, "gnomon.suites.labels.simulate:simulate", "write generated data"),
    },
    tables="gnomon.suites.labels.views:tables",
    demo="gnomon.suites.labels.demo:steps",
    tuning=Tuning(option="systems", systems="gnomon.suites.labels.systems:SYSTEMS"),
)
