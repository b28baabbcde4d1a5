"""The notebook of ``labels``; ``notebooks/make.py`` executes it."""
# ruff: noqa: B018

# %% [markdown]
# # `labels`: two classifiers on the same people
#
# A table of true labels and a table of predicted ones, joined by `id`. Everything here runs on **simulated** data:
# forty people would be better, twelve are enough to see how the tables read. The page about the suite is
# `docs/labels.md`.

# %%
import pandas as pd

import gnomon
from gnomon.runs import pictures

pd.set_option("display.max_colwidth", None, "display.width", 160, "display.max_columns", 20)

# !gnomon simulate labels data --groups 12 --rows 100
# !head -4 data/truth.csv

# %% [markdown]
# ## Score two systems
#
# `group` (here: the person) is what rows depend on each other through. Intervals are over groups, never over rows.

# %%
systems = {"strong": "data/strong.csv", "weak": "data/weak.csv"}
result = gnomon.score("labels", "data/truth.csv", systems, slice=("placement",), out="runs")
result

# %% [markdown]
# ## Single numbers
#
# A score knows its interval, its count and, where it is undefined, why.

# %%
score = result.runs[0].find("macro_f1")
[round(number, 4) for number in (score.value, score.low, score.high)], score.n, score.groups

# %% [markdown]
# Tables are data frames too: `x_low` and `x_high` stand beside `x`.

# %%
result.to_pandas("slices")[["slice", "system", "n", "groups", "macro_f1", "macro_f1_low", "macro_f1_high"]].round(3)

# %% [markdown]
# ## Are they different?
#
# The interval of the difference is the one to look at. Both systems met the same people, so it is narrower than the two
# intervals above suggest.

# %%
gnomon.compare(result, metrics=("macro_f1", "accuracy"))

# %% [markdown]
# ## Fit and test systems here
#
# The truth table has the numeric columns `x1`, `x2`, `x3`. Each system is fitted on the people of four folds and tested
# on those of the fifth, until everybody was tested once. A system of your own is a class with `fit` and `predict`.

# %%
# !gnomon run labels --truth data/truth.csv --out built-in > tables.txt 2> progress.txt
built_in = gnomon.load("built-in")
built_in.to_pandas("scores")[["system", "n", "groups", "macro_f1", "macro_f1_low", "macro_f1_high"]].round(3)

# %% [markdown]
# ## Did anything leak?
#
# The audit looks at what was trained on and tested on, and at what the numbers themselves show.

# %%
audit = gnomon.audit("built-in", fail_on="error")
audit.extra["audit"]["failed"], audit.extra["audit"]["worst"], len(audit.to_pandas("findings"))

# %%
audit.to_pandas("audit")

# %% [markdown]
# What a run may be said to mean is part of it:

# %%
[(verdict.statement, verdict.supported) for verdict in built_in.runs[0].verdicts]

# %% [markdown]
# ## The worst case
#
# A case of `labels` is the rows of one person, cut where a slice would cut them. Each is scored from its own tallies;
# the worst come first.

# %%
worst = gnomon.Result(result.runs, (pictures.worst(result.runs),)).to_pandas()
worst.head(4).round(3)

# %% [markdown]
# What the weaker system said of that person, by true label:

# %%
answers = pd.read_csv("data/truth.csv").merge(pd.read_csv("data/weak.csv"), on="id", suffixes=("", "_predicted"))
person = answers[answers.group == worst.group[0]]
pd.crosstab(person.label, person.label_predicted)
