"""Suite ``events``: continuous recognition, and how it fails: late, early, fragmented, merged, inserted, missed.

A case is a recording with its evaluation window; a group is a subject where every recording names one, else the
recording itself.
"""

from gnomon.core.suite import Suite, Tuning, Verb
from gnomon.suites.events.options import RunOptions, ScoreOptions, SimulateOptions, TemplateOptions

SUITE = Suite(
    name="events",
    summary="continuous recognition: stretches of time with a class, against true ones",
    verbs={
        "score": Verb(ScoreOptions, "gnomon.suites.events.scoring:score", "score results against truth files"),
        "run": Verb(RunOptions, "gnomon.suites.events.running:run", "run recognisers over recordings and score them"),
        "template": Verb(TemplateOptions, "gnomon.suites.events.template:template", "write a small example"),
        "simulate": Verb(
            SimulateOptions, "gnomon.suites.events.simulate:simulate", "write generated recordings and their truth"
        ),
    },
    tables="gnomon.suites.events.views:tables",
    exhibit="gnomon.suites.events.exhibits:shown",
    opens={"scores.json": "gnomon.suites.events.legacy"},
    demo="gnomon.suites.events.demo:steps",
    tuning=Tuning(option="recognizers", systems="gnomon.suites.events.recognizers:SYSTEMS"),
)
