"""Suite ``skeleton``: 3D skeletons in the frame of a sensor, from canonical joints and cameras.

A case is a sequence; a group is a subject where every sequence names one, else the sequence itself.
"""

from gnomon.core.suite import Suite, Verb
from gnomon.suites.skeleton.options import ScoreOptions, SimulateOptions, TemplateOptions

_SCORE = "gnomon.suites.skeleton.scoring:score"
_PUBLISHED = "gnomon.suites.skeleton.scoring:score_published"

SUITE = Suite(
    name="skeleton",
    summary="3D skeletons in a fixed sensor frame: joint errors where the sensor is",
    verbs={
        "score": Verb(ScoreOptions, _SCORE, "score poses as they are, or in the frame of the sensor with cameras"),
        "run": Verb(ScoreOptions, _PUBLISHED, "score prediction files by the published protocol"),
        "template": Verb(TemplateOptions, "gnomon.suites.skeleton.template:template", "write a small example"),
        "simulate": Verb(SimulateOptions, "gnomon.suites.skeleton.simulate:simulate", "write generated predictions"),
    },
    tables="gnomon.suites.skeleton.views:tables",
    exhibit="gnomon.suites.skeleton.exhibits:shown",
    demo="gnomon.suites.skeleton.demo:steps",
)
