"""Suite ``episode``: twelve tasks on multimodal first-person episodes, with controls against leaks.

A case is an annotated segment; a group is an episode, or a segment where only one episode is tested.
"""

from gnomon.core.suite import Suite, Verb
from gnomon.suites.episode.options import RunOptions, ScoreOptions, SimulateOptions, TemplateOptions

SUITE = Suite(
    name="episode",
    summary="multimodal first-person episodes: twelve tasks, purged splits, baselines and ceilings",
    verbs={
        "score": Verb(
            ScoreOptions, "gnomon.suites.episode.scoring:score", "score answers to tasks that were made elsewhere"
        ),
        "run": Verb(RunOptions, "gnomon.suites.episode.running:run", "features, heads and baselines on episodes"),
        "template": Verb(TemplateOptions, "gnomon.suites.episode.template:template", "write a small example"),
        "simulate": Verb(SimulateOptions, "gnomon.suites.episode.simulate:simulate", "write generated episodes"),
    },
    tables="gnomon.suites.episode.views:tables",
    exhibit="gnomon.suites.episode.exhibits:shown",
    demo="gnomon.suites.episode.demo:steps",
)
