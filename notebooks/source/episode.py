"""The notebook of ``episode``; ``notebooks/make.py`` executes it."""

# %% [markdown]
# # `episode`: tasks on first-person episodes
#
# A person with a headset works in a kitchen. Heads on window features, and baselines that look at nothing, answer some
# of the twelve tasks. The kitchens are **simulated**: a score on them says nothing about real ones. Files are read with
# the extra `episode`. The page about the suite is `docs/episode.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import exhibits

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate episode kitchens --episodes 1 --frames 500 --videos 16 --seed 5 2> progress.txt

# %%
tasks = ("timeline_action", "transition_detection", "hand_trajectory_forecast", "temporal_order")
result = gnomon.run(
    "episode", episodes=("kitchens",), tasks=tasks, systems=("minimal", "trivial"), variant="both", out="runs"
)
list(result.tables)

# %% [markdown]
# ## The tasks, as published and strict
#
# `published` cuts every task by itself, so that windows on both sides share frames; `strict` cuts all at one point in
# time and purges what reads across it. A baseline stands beside every head.


# %%
def only(given: gnomon.Result, *names: str) -> gnomon.Result:
    """Show some tables of a result."""
    return gnomon.Result(given.runs, tuple(given.tables[name] for name in names))


only(result, "scores", "scores_2")

# %% [markdown]
# ## One score with its interval
#
# Intervals are over annotated segments here, since one episode is tested; never over windows.

# %%
strict = [run for run in result.runs if run.manifest["protocol"]["variant"] == "strict"]
minimal = next(run for run in strict if run.manifest["system"] == "minimal")
score = minimal.find("macro_f1[transition_detection]")
[round(number, 4) for number in (score.value, score.low, score.high)], score.groups

# %% [markdown]
# ## Are they different?

# %%
guessed = next(run for run in strict if run.manifest["system"] == "random")
gnomon.compare(minimal, guessed, metrics="macro_f1[transition_detection]")

# %% [markdown]
# ## What leaked, by variant

# %%
audit = gnomon.audit("runs").to_pandas("findings")
audit[["severity", "finding", "where"]].drop_duplicates()

# %% [markdown]
# ## What may be claimed

# %%
pd.DataFrame([(item.statement, item.supported) for item in minimal.verdicts], columns=["statement", "supported"])

# %% [markdown]
# ## The worst episode
#
# A run keeps its tested episodes; `gnomon serve` draws them as timelines, with what was training and what was test.

# %%
kept = exhibits.listed(minimal.path)
pd.DataFrame([{"case": entry.case, "note": entry.note} for entry in kept.entries])
