"""What can be reached at best, and what chance reaches: no figure can be judged without both.

Codes
    Nobody answers with a class that was never trained on. The best answers are right wherever the class was seen; the
    other rows go to a class that was seen but is not among the truth, where there is one, else to the most frequent
    true one, which loses least. Accuracy is the share of rows whose class was seen; macro-F1 over the classes of the
    truth (``present``) or of truth and answers (``union``) follows from these answers, and no others have more.
Sets
    The best answers are the true labels that were trained on.
Retrieval
    Queries that are equal have the same order of candidates, and each of them finds another one right: the g right ones
    can do no better than take the first g places. So the mean over equal queries of 1 / rank is at most
    ``(1 + 1/2 + ... + 1/g) / g``, and the share of hits among the first k at most ``min(g, k) / g``. An oracle, whose
    candidates are the truth itself, reaches this on average over the order of its ties; ``mrr_mid_rank`` takes the
    mean rank of a tie instead, ``2 / (g + 1)``, as is also done. Queries without length (all zeros) have the same
    cosine with everything, so all candidates tie.
Chance
    Every order of n candidates has the same probability: 1 / rank is on average ``(1 + 1/2 + ... + 1/n) / n``.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def of_retrieval(queries: Array, ks: Sequence[int] = (1, 5, 10)) -> dict[str, Any]:
    """Return what retrieval can reach at best with queries ``(n, d)``, each of which has one candidate of its own.

    Returns
    -------
    dict
        ``mrr``, ``mrr_mid_rank``, ``top_k`` by k; ``n``, and how many queries are ``distinct``.

    >>> best = of_retrieval(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> round(best["mrr"], 3), round(best["mrr_mid_rank"], 3), round(best["top_k"][1], 3), best["distinct"]
    (0.833, 0.778, 0.667, 2)
    """
    found, _ = given.vectors(queries)
    n = len(found)
    if not n:
        raise InputError("ceiling: got no queries; the part that is tested is empty")
    plain = np.ascontiguousarray(found + 0.0)  # turns negative zeros into zeros, whose bytes differ
    _, groups = np.unique(plain.view(f"V{plain.itemsize * plain.shape[1]}")[:, 0], return_inverse=True)
    sizes = np.bincount(groups)
    empty = ~plain.any(axis=1)
    ties = np.where(empty, n, sizes[groups])
    return {
        "mrr": float(np.mean(_harmonic(n)[ties] / ties)),
        "mrr_mid_rank": float(np.mean(2.0 / (ties + 1.0))),
        "top_k": {k: float(np.mean(np.minimum(ties, k) / ties)) for k in ks},
        "n": n,
        "distinct": len(sizes),
    }


def chance(n: int, ks: Sequence[int] = (1, 5, 10)) -> dict[str, Any]:
    """Return what retrieval among n candidates, one of them right, reaches by chance.

    >>> found = chance(348)
    >>> round(found["mrr"], 4), round(found["top_k"][5], 4), found["median_rank"]
    (0.0185, 0.0144, 174.5)
    """
    if n < 1:
        raise InputError(f"chance: expected at least one candidate, but got {n}")
    return {
        "mrr": float(_harmonic(n)[n] / n),
        "top_k": {k: min(k, n) / n for k in ks},
        "median_rank": (n + 1) / 2,
        "n": n,
    }


def _harmonic(n: int) -> Array:
    """Return the sums 1 + 1/2 + ... + 1/g for g up to n."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n + 1))])
