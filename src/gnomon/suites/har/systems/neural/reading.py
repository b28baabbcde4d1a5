"""How LanHAR reads texts: a frozen text encoder under a small trained map, or a text encoder that is trained itself.

A reader gives unit vectors ``(n, d)`` of texts, with gradients where they are asked for. ``layers`` is what is trained.

- :class:`Mapped` encodes every line of a text by itself, so that texts made of few different lines cost little, and
  takes the mean; then comes a linear map, which begins as the identity.
- :class:`Trained` encodes whole texts by a copy of the encoder, whose weights are trained (no dropout).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from gnomon.core.errors import IntegrityError
from gnomon.engine.torches import device
from gnomon.engine.torches import torch as library
from gnomon.suites.har.systems.neural.text import TextEncoder, bert, encoder


class Source:
    """A text encoder that is read when it is first needed; it has to be the one that was there before."""

    def __init__(self, weights: str, identity: str = "") -> None:
        self.weights, self.identity = weights, identity

    def __call__(self) -> TextEncoder:
        """Return the encoder."""
        found = encoder(self.weights)
        if self.identity and found.identity != self.identity:
            raise IntegrityError(
                f"text encoder {found.name}: SHA-256 {found.identity}, but the model was fitted with {self.identity}; "
                "put the old one back, or fit anew"
            )
        return found


class Mapped:
    """A frozen encoder under a linear map."""

    def __init__(self, source: Source, width: int) -> None:
        torch = library()
        self.source = source
        self.layers = torch.nn.Linear(width, width)
        torch.nn.init.eye_(self.layers.weight)
        torch.nn.init.zeros_(self.layers.bias)
        self.layers.to(device())
        self._place: dict[str, int] = {}
        self._frozen: Any = torch.zeros((0, width), device=device())

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts."""
        torch = library()
        new = [text for text in dict.fromkeys(texts) if text not in self._place]
        if new:
            self._place |= {text: len(self._place) + at for at, text in enumerate(new)}
            self._frozen = torch.cat([self._frozen, *(self._encode(text) for text in new)])
        rows = torch.tensor([self._place[text] for text in texts], dtype=torch.long, device=device())
        return torch.nn.functional.normalize(self.layers(self._frozen[rows]), dim=-1)

    def _encode(self, text: str) -> Any:
        lines = [line for line in text.splitlines() if line.strip()] or [text]
        return library().nn.functional.normalize(self.source().sentences(lines).mean(dim=0, keepdim=True), dim=-1)


class Trained:
    """An encoder whose weights are trained."""

    def __init__(self, source: Source, width: int) -> None:
        del width
        self.source = source
        self.layers = copy.deepcopy(source().layers).requires_grad_(True)

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts."""
        own = self.source()
        numbers, mask = own.numbers(texts)
        return bert.pooled(bert.run(self.layers, own.sizes, numbers, mask), mask)


Reader = Mapped | Trained


def read(reader: Reader, texts: Sequence[str], size: int = 64) -> Any:
    """Return the vectors of many texts without gradients, so many at a time."""
    torch = library()
    with torch.no_grad():
        parts = [reader(texts[start : start + size]) for start in range(0, len(texts), size)]
    return torch.cat(parts) if parts else reader([])
