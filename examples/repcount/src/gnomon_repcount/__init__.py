"""Suite ``repcount``: repetitions of an exercise, counted per set of repetitions by a wearable."""

from gnomon.core.suite import Suite, Verb
from gnomon_repcount.options import ScoreOptions

SUITE = Suite(
    name="repcount",
    summary="repetition counting: true and predicted counts per set",
    verbs={"score": Verb(ScoreOptions, "gnomon_repcount.scoring:score", "score predicted counts against true ones")},
    tables="gnomon_repcount.scoring:tables",
)
