"""Suite ``har``: human activities from body-worn sensors, trained on some datasets and tested on others.

A case is a recording; a group is a subject of a dataset.
"""

from gnomon.core.suite import Suite, Verb
from gnomon.suites.har.options import RunOptions, ScoreOptions, SimulateOptions, TemplateOptions

SUITE = Suite(
    name="har",
    summary="human activities from body-worn sensors: zero-shot and few-shot, across datasets",
    verbs={
        "score": Verb(ScoreOptions, "gnomon.suites.har.scoring:score", "score labels of windows predicted elsewhere"),
        "run": Verb(RunOptions, "gnomon.suites.har.running:run", "train models on datasets, test them on others"),
        "template": Verb(TemplateOptions, "gnomon.suites.har.template:template", "write a small example pair"),
        "simulate": Verb(
            SimulateOptions,
            "gnomon.suites.har.simulate:simulate",
            "write generated recordings as the fourteen datasets",
        ),
    },
    tables="gnomon.suites.har.views:tables",
    board="gnomon.suites.har.board:board",
    demo="gnomon.suites.har.demo:steps",
    data="gnomon.suites.har.datasets.catalogue:catalogue",
)
