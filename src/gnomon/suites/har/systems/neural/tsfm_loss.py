"""How TSFM is trained: symmetric InfoNCE between windows and label texts, with soft targets and a queue.

Conventions
-----------
- Windows and texts are unit vectors ``(B, d)``. Candidates are those of the batch, then those of a first-in first-out
  queue of :data:`QUEUE` earlier pairs, which get no gradient.
- Two labels may mean nearly the same. So the target of a pair is not the pair alone but a distribution over all
  candidates: the softmax, by row, of the similarity of their texts, brought to mean 0 and spread 1 over the whole table
  (spread at least :data:`FLOOR`) and divided by :data:`SOFTNESS`. Similarity is the cosine of frozen text vectors: were
  it that of the vectors being trained, to make all texts alike would lower the loss.
- Loss: the mean of both cross entropies, windows to texts and texts to windows (van den Oord et al., 2018; Radford et
  al., 2021). Logits are cosines times a learned scale, 1 / 0.07 at first, kept within 1 to 50.
"""

from __future__ import annotations

import math
from typing import Any

from gnomon.suites.har.systems.neural import training

QUEUE = 256
SCALE, LOWEST, HIGHEST = 1 / 0.07, 1.0, 50.0
FLOOR, SOFTNESS = 0.1, 0.5


def contrast(d: int) -> Any:
    """Return what the loss learns and remembers: the logarithm of the scale, and an empty queue."""
    torch = training.torch()
    found = torch.nn.Module()
    found.log_scale = torch.nn.Parameter(torch.tensor(math.log(SCALE)))
    found.register_buffer("windows", torch.zeros(QUEUE, d))
    found.register_buffer("texts", torch.zeros(QUEUE, d))
    found.register_buffer("labels", torch.zeros(QUEUE, dtype=torch.long))
    found.register_buffer("pushed", torch.zeros((), dtype=torch.long))
    return found.to(training.device())


def scale(own: Any) -> Any:
    """Return the factor of cosines."""
    return own.log_scale.exp().clamp(LOWEST, HIGHEST)


def soft_targets(similarity: Any) -> Any:
    """Return the targets of similarities ``(B, candidates)`` of texts: rows that sum to 1."""
    torch = training.torch()
    spread, mean = torch.std_mean(similarity, correction=0)
    return torch.softmax((similarity - mean) / spread.clamp(min=FLOOR) / SOFTNESS, dim=1)


def info_nce(windows: Any, texts: Any, all_windows: Any, all_texts: Any, targets: Any, factor: Any) -> Any:
    """Return the mean of the cross entropies of both directions."""
    functional = training.torch().nn.functional
    there = functional.cross_entropy(factor * windows @ all_texts.T, targets)
    back = functional.cross_entropy(factor * texts @ all_windows.T, targets)
    return (there + back) / 2


def loss(own: Any, windows: Any, texts: Any, labels: Any, frozen: Any) -> Any:
    """Return the loss of a batch against itself and the queue, which it joins.

    Parameters
    ----------
    own
        What :func:`contrast` gave.
    windows, texts
        Unit vectors ``(B, d)``.
    labels, frozen
        Label of each pair ``(B,)``, as a row of the frozen unit vectors ``(labels, width)``.
    """
    torch = training.torch()
    kept = min(int(own.pushed), QUEUE)
    every = torch.cat([labels, own.labels[:kept]])
    found = info_nce(
        windows,
        texts,
        torch.cat([windows, own.windows[:kept]]),
        torch.cat([texts, own.texts[:kept]]),
        soft_targets(frozen[labels] @ frozen[every].T),
        scale(own),
    )
    push(own, windows, texts, labels)
    return found


def push(own: Any, windows: Any, texts: Any, labels: Any) -> None:
    """Put pairs into the queue, in the place of the oldest."""
    torch = training.torch()
    with torch.no_grad():
        count = len(labels)
        places = (own.pushed + torch.arange(count, device=labels.device))[-QUEUE:] % QUEUE
        own.windows.index_copy_(0, places, windows[-QUEUE:])
        own.texts.index_copy_(0, places, texts[-QUEUE:])
        own.labels.index_copy_(0, places, labels[-QUEUE:])
        own.pushed += count
