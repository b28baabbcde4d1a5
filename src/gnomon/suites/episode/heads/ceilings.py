"""What can be reached at best: no figure can be judged without it.

Codes
    Nobody answers with a class that was never trained on. The best answers are right wherever the class was seen; the
    other rows go to a class that was seen but is not among the truth, where there is one, else to the most frequent
    true one, which loses least. Accuracy is the share of rows whose class was seen; macro-F1 over the classes of the
    truth (``present``) or of truth and answers (``union``) follows from these answers, and no others have more.
Sets
    The best answers are the true labels that were trained on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.episode.heads import given


def of_codes(truth: Array, seen: Array) -> dict[str, Any]:
    """Return what answers can reach at best with the classes that were trained on.

    Parameters
    ----------
    truth
        Codes ``(n,)`` of the rows that are tested, over all classes.
    seen
        Codes that occur among the rows that are trained on.

    Returns
    -------
    dict
        ``accuracy``, ``macro_f1_present``, ``macro_f1_union``; ``n``, ``unseen`` rows, ``unseen_classes`` as codes.

    >>> best = of_codes(np.array([0, 0, 1, 2]), np.array([0, 1]))
    >>> best["accuracy"], round(best["macro_f1_present"], 3), best["unseen_classes"]
    (0.75, 0.6, [2])
    """
    known = np.unique(seen)
    if not len(known):
        raise InputError("ceiling: got no class that was trained on; the part is empty")
    size = int(max(np.max(truth, initial=0), known.max())) + 1
    support = np.bincount(given.codes(truth, size), minlength=size)
    total, there = int(support.sum()), support > 0
    if not total:
        raise InputError("ceiling: got no rows that are tested; the part is empty")
    reached = np.isin(np.arange(size), known)
    right = int(support[reached].sum())
    wrong, classes, found = total - right, int(there.sum()), int((there & reached).sum())
    free = bool((reached & ~there).any())
    most = int(support[reached].max())
    loss = wrong / (2 * most + wrong) if wrong else 0.0
    beside = found / (classes + 1) if free and wrong else 0.0
    return {
        "accuracy": right / total,
        "macro_f1_present": (found if free else found - (loss if most else 0.0)) / classes,
        "macro_f1_union": max(beside, (found - loss) / classes if most else 0.0),
        "n": total,
        "unseen": wrong,
        "unseen_classes": np.flatnonzero(there & ~reached).tolist(),
    }


def of_sets(truth: Array, seen: Array) -> dict[str, Any]:
    """Return what answers can reach at best with the labels that were trained on.

    Parameters
    ----------
    truth
        Sets ``(n, k)`` of the rows that are tested.
    seen
        Which of the k labels occur among the rows that are trained on.

    Returns
    -------
    dict
        ``micro_f1``, ``macro_f1_present`` (None where no row has a label), ``exact``; ``n``, ``unseen_classes`` as
        columns, ``undefined`` with reasons.
    """
    sets = given.sets(truth, len(seen))
    if not len(sets):
        raise InputError("ceiling: got no rows that are tested; the part is empty")
    reached = np.asarray(seen, dtype=bool)
    support = sets.sum(axis=0)
    all_of_them, right, there = int(support.sum()), int(support[reached].sum()), support > 0
    why = "no row has a label"
    return {
        "micro_f1": 2 * right / (right + all_of_them) if all_of_them else None,
        "macro_f1_present": float(reached[there].mean()) if all_of_them else None,
        "exact": float((~sets[:, ~reached].any(axis=1)).mean()),
        "n": len(sets),
        "unseen_classes": np.flatnonzero(there & ~reached).tolist(),
        "undefined": {} if all_of_them else {"micro_f1": why, "macro_f1_present": why},
    }
