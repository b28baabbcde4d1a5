"""The notebook of ``events``; ``notebooks/make.py`` executes it."""

# %% [markdown]
# # `events`: how a recogniser fails
#
# Recognisers of walking run over long recordings. Each person is tested with a recogniser that was trained on the
# others. The recordings are **simulated**. The page about the suite is `docs/events.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import exhibits

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate events data --subjects 8 --minutes 4 --hours 1 | head -3

# %%
people = tuple(f"data/walking/s{number:02d}.json" for number in range(1, 9))
walkers = ("never", "threshold-walker", "hmm-walker")
result = gnomon.run("events", truth=people, recognizers=walkers, leave_out="subject", out="runs")
list(result.tables)

# %% [markdown]
# ## The first table
#
# Scores over all classes, intervals over people. `never` returns nothing: what is not better has recognised nothing.


# %%
def only(given: gnomon.Result, *names: str) -> gnomon.Result:
    """Show some tables of a result."""
    return gnomon.Result(given.runs, tuple(given.tables[name] for name in names))


only(result, "scores")

# %% [markdown]
# ## What became of the events
#
# C correct, D deleted, F fragmented, M merged; with a prime, the same seen from what was returned; I' inserted.

# %%
only(result, "outcomes")

# %% [markdown]
# ## One score with its interval

# %%
score = next(run for run in result.runs if run.system == "hmm-walker").find("time_macro_f1")
[round(number, 4) for number in (score.value, score.low, score.high)], score.groups

# %% [markdown]
# ## Is one recogniser better?
#
# Eight people are few. The last column of the second table says how large a difference would have to be to be found.

# %%
gnomon.compare(result, metrics="time_macro_f1", against="hmm-walker")

# %% [markdown]
# ## Did anything leak?

# %%
audit = gnomon.audit("runs", fail_on="error")
audit.extra["audit"]["failed"], audit.extra["audit"]["worst"]

# %%
audit.to_pandas("audit")

# %% [markdown]
# ## The worst recording
#
# A run keeps its worst recordings, with truth, results and signal; `gnomon serve` draws them as timelines.

# %%
run = next(run for run in result.runs if run.system == "threshold-walker")
kept = exhibits.listed(run.path)
pd.DataFrame([{"case": entry.case, "note": entry.note} for entry in kept.entries[:3]])
