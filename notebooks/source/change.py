"""The notebook of ``change``; ``notebooks/make.py`` executes it."""

# %% [markdown]
# # `change`: what changed between two scans of a room
#
# Detectors say what was added and what was removed. Boxes, points and whole scenes are scored; rooms are resampled. The
# rooms are **simulated**. The page about the suite is `docs/change.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import exhibits

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate change rooms --rooms 8 --points 20000 2> progress.txt | tail -1

# %%
detectors = ("distance", "multi_stage", "nothing")
result = gnomon.run("change", data_path="rooms", part="all", systems=detectors, out="runs")
list(result.tables)

# %% [markdown]
# ## Boxes
#
# `nothing` returns no box. Where there is nothing to divide by, a score is undefined and says why.


# %%
def only(given: gnomon.Result, *names: str) -> gnomon.Result:
    """Show some tables of a result."""
    return gnomon.Result(given.runs, tuple(given.tables[name] for name in names))


only(result, "scores")

# %% [markdown]
# ## One score with its interval
#
# The order of matching and the threshold are part of a measure's name.

# %%
run = next(run for run in result.runs if run.system == "multi_stage")
score = run.scores[0]
score.name, [round(number, 4) for number in (score.value, score.low, score.high)], score.groups

# %% [markdown]
# ## Are they different?

# %%
gnomon.compare(result, against="multi_stage")

# %% [markdown]
# ## What the audit says, and what may be claimed

# %%
audit = gnomon.audit("runs")
audit.to_pandas("findings")[["severity", "finding", "evidence"]]

# %%
claims = [(item.statement, item.supported, "; ".join(item.missing)) for item in run.verdicts]
pd.DataFrame(claims, columns=["statement", "supported", "missing"])

# %% [markdown]
# ## The worst scenes
#
# A run keeps its worst scenes with both scans, thinned; `gnomon serve` shows them in three dimensions.

# %%
kept = exhibits.listed(run.path)
pd.DataFrame([{"case": entry.case, "note": entry.note} for entry in kept.entries[:3]])

# %%
exhibit = exhibits.read(run.path, kept.entries[0].case)
{name: array.shape for name, array in exhibit.arrays.items()}
