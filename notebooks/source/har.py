"""The notebook of ``har``; ``notebooks/make.py`` executes it."""

# %% [markdown]
# # `har`: activities of people who were never seen
#
# Systems learn from some datasets and are tested on another one: without a label of it (`zs-closed`), then with 10 % of
# its labels (`sup-10`). All datasets here are **simulated**, in the native files of the real ones. The page about the
# suite is `docs/har.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import pictures

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate har data --datasets dsads,wisdm,motionsense --subjects 6 --minutes 2 2> progress.txt

# %% [markdown]
# What is in the folder, and whether it looks right:

# %%
# !gnomon data check data 2> progress.txt | head -10

# %%
result = gnomon.run(
    "har",
    data_root="data",
    train=("dsads", "wisdm"),
    test=("motionsense",),
    systems=("majority", "nearest_mean"),
    tasks=("zs-closed", "sup-10"),
    variant="both",
    folds=3,
    out="runs",
)
list(result.tables)

# %% [markdown]
# ## Published and strict
#
# The published split is one of overlapping windows, so that everybody is in training and in test. `strict` keeps people
# apart.


# %%
def only(given: gnomon.Result, *names: str) -> gnomon.Result:
    """Show some tables of a result."""
    return gnomon.Result(given.runs, tuple(given.tables[name] for name in names))


only(result, "variants")

# %% [markdown]
# ## One score with its interval

# %%
strict = [run for run in result.runs if run.manifest["protocol"]["variant"] == "strict"]
score = strict[-1].scores[0]
strict[-1].system, score.name, [round(number, 4) for number in (score.value, score.low, score.high)], score.groups

# %% [markdown]
# ## Are they different?

# %%
gnomon.compare(*strict)

# %% [markdown]
# ## What leaked
#
# Windows that overlap were on both sides of the published split; nobody had to tell the audit.

# %%
audit = gnomon.audit("runs", fail_on="error")
audit.extra["audit"]["failed"]

# %%
audit.to_pandas("findings")[["severity", "finding", "where"]].drop_duplicates()

# %% [markdown]
# ## The worst recordings

# %%
gnomon.Result(tuple(strict), (pictures.worst(strict[-1:]),)).to_pandas().head(5).round(3)
