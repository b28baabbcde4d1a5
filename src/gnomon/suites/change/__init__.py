"""Suite ``change``: what changed between two indoor 3D scans of a room, by points, boxes and whole scenes.

A case is a scene (one comparison with the reference of its room); a group is a room.
"""

from gnomon.core.suite import Suite, Tuning, Verb
from gnomon.suites.change.options import RunOptions, ScoreOptions, SimulateOptions, TemplateOptions

SUITE = Suite(
    name="change",
    summary="change between two indoor 3D scans: points, boxes and scenes",
    verbs={
        "score": Verb(ScoreOptions, "gnomon.suites.change.scoring:score", "score boxes and points of scenes"),
        "run": Verb(RunOptions, "gnomon.suites.change.running:run", "run detectors over pairs of scans and score them"),
        "template": Verb(TemplateOptions, "gnomon.suites.change.template:template", "write a small example"),
        "simulate": Verb(
            SimulateOptions, "gnomon.suites.change.simulate:simulate", "write generated rooms, their scans and labels"
        ),
    },
    tables="gnomon.suites.change.views:tables",
    exhibit="gnomon.suites.change.exhibits:shown",
    demo="gnomon.suites.change.demo:steps",
    tuning=Tuning(option="systems", systems="gnomon.suites.change.systems:SYSTEMS"),
)
