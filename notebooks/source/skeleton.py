"""The notebook of ``skeleton``; ``notebooks/make.py`` executes it."""

# %% [markdown]
# # `skeleton`: joints in the frame of a sensor
#
# Two models predicted skeletons and cameras. Both sides are brought into the frame of the sensor and compared there.
# The data is **simulated**. The page about the suite is `docs/skeleton.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import exhibits

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate skeleton data --subjects 8 --frames 60

# %%
files = ("strong=data/strong.npz", "weak=data/weak.npz")
result = gnomon.run("skeleton", pred_file=files, variant="both", fps=30.0, out="runs")
list(result.tables)

# %% [markdown]
# ## Published and strict, side by side
#
# The published method takes the first camera of a sequence for all its frames; `strict` takes every frame in its own.


# %%
def only(given: gnomon.Result, *names: str) -> gnomon.Result:
    """Show some tables of a result."""
    return gnomon.Result(given.runs, tuple(given.tables[name] for name in names))


only(result, "variants")

# %% [markdown]
# ## One score with its interval
#
# Lengths are metres inside, millimetres in tables.

# %%
published = next(run for run in result.runs if "weak" in run.system)
score = published.find("mpjpe")
published.system, [round(number, 5) for number in (score.value, score.low, score.high)], score.n, score.groups

# %% [markdown]
# ## Where the error comes from

# %%
result.to_pandas("parts")[["system", "translation", "rotation", "shape"]].round(2)

# %% [markdown]
# ## Are they different?

# %%
strict = tuple(run for run in result.runs if run.manifest["protocol"]["variant"] == "strict")
gnomon.compare(*strict, metrics=("mpjpe", "pa_mpjpe"))

# %% [markdown]
# ## What the audit says
#
# True cameras that move mean that the frame follows the person: there is no fixed sensor to be in the frame of. And the
# two systems were not scored on the same samples, since each drops those without a camera: the audit calls that an
# error for whoever compares them.

# %%
audit = gnomon.audit("runs")
audit.to_pandas("findings")[["severity", "finding", "runs"]].head(4)

# %% [markdown]
# ## The worst clip
#
# A run keeps the sequences with the worst single sample, in millimetres; `gnomon serve` shows them as moving bodies.

# %%
kept = exhibits.listed(published.path)
pd.DataFrame([{"case": entry.case, "note": entry.note} for entry in kept.entries[:3]])

# %%
exhibit = exhibits.read(published.path, kept.entries[0].case)
{name: array.shape for name, array in exhibit.arrays.items()}
