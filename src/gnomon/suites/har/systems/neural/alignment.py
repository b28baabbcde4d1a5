"""Losses that bring texts, and signals and texts, together: those of LanHAR (Yan et al., 2025).

Vectors are unit vectors ``(n, d)``; codes are whole numbers of classes ``(n,)``.
"""

from __future__ import annotations

import math
from typing import Any

from gnomon.engine.torches import torch as library

TEMPERATURE = 0.1
SCALE = 30.0
"""Factor of cosines before the cross entropy over prototypes."""
MARGIN = 1.0
SHARES = (1.0, 0.3, 0.5, 0.5)
"""Weights of: contrast with the texts of classes, cross entropy, triplets of texts, triplets with label words."""
SHARPNESS, SNIPPETS = 0.07, 12
"""Of prototypes: how sharply snippets are weighed, and most of a class that count."""
MOST = math.log(100.0)
"""Largest logarithm of the learned factor of cosines in :func:`clip`."""


def prototypes(vectors: Any, classes: int) -> Any:
    """Return a prototype ``(classes, d)`` for every class from its snippets ``(classes * k, d)``, class by class.

    A snippet's margin is its cosine with the mean of its class less the largest with the mean of another. The
    :data:`SNIPPETS` largest of a class are averaged, weighed by the softmax of margin / :data:`SHARPNESS`.
    """
    torch = library()
    unit = torch.nn.functional.normalize
    own = vectors.view(classes, -1, vectors.shape[-1])
    with torch.no_grad():
        cosines = own @ unit(own.mean(dim=1), dim=-1).T
        mine = torch.eye(classes, dtype=torch.bool, device=vectors.device)[:, None, :]
        others = cosines.masked_fill(mine, -1.0).amax(dim=-1)
        margins = (cosines * mine).sum(dim=-1) - others
        best = margins.topk(min(SNIPPETS, margins.shape[1]), dim=1)
        weights = (best.values / SHARPNESS).softmax(dim=1)
    chosen = own.gather(1, best.indices[..., None].expand(-1, -1, own.shape[-1]))
    return unit((weights[..., None] * chosen).sum(dim=1), dim=-1)


def contrast(texts: Any, targets: Any, codes: Any, temperature: float = TEMPERATURE) -> Any:
    """Return the contrastive loss with all pairs of one class as positives, the mean of both directions."""
    logits = texts @ targets.T / temperature
    same = (codes[:, None] == codes[None, :]).to(logits.dtype)
    same = same / same.sum(dim=1, keepdim=True)
    forward = -(same * logits.log_softmax(dim=1)).sum(dim=1)
    backward = -(same * logits.T.log_softmax(dim=1)).sum(dim=1)
    return (forward + backward).mean() / 2


def triplets(anchors: Any, positives: Any, negatives: Any) -> Any:
    """Return how far positives are not nearer than negatives by :data:`MARGIN`, the mean over anchors."""
    near = (anchors - positives).square().sum(dim=1).clamp(min=1e-12).sqrt()
    far = (anchors - negatives).square().sum(dim=1).clamp(min=1e-12).sqrt()
    return (near - far + MARGIN).clamp(min=0.0).mean()


def stage_one(anchors: Any, others: tuple[Any, Any], centres: Any, names: Any, codes: tuple[Any, Any]) -> Any:
    """Return the loss of the alignment of texts.

    Parameters
    ----------
    anchors, others
        Texts of windows; a text of the same class and one of another class for each.
    centres, names
        A prototype, and the vector of the label's words, for every class.
    codes
        Classes of the anchors and of their negatives.
    """
    cross_entropy = library().nn.functional.cross_entropy
    own, foreign = codes
    parts = (
        contrast(anchors, centres[own], own),
        cross_entropy(SCALE * anchors @ centres.T, own),
        triplets(anchors, *others),
        triplets(anchors, names[own], names[foreign]),
    )
    return sum(share * part for share, part in zip(SHARES, parts, strict=True))


def clip(signals: Any, texts: Any, log_scale: Any) -> Any:
    """Return the symmetric contrastive loss of signals and their texts (Radford et al., 2021)."""
    torch = library()
    logits = log_scale.clamp(max=MOST).exp() * signals @ texts.T
    truth = torch.arange(len(logits), device=logits.device)
    cross_entropy = torch.nn.functional.cross_entropy
    return (cross_entropy(logits, truth) + cross_entropy(logits.T, truth)) / 2
