"""Texts as TSFM reads them: states of their tokens by a frozen encoder, asked for once and kept with the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gnomon.core.errors import InputError, IntegrityError
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems.neural import text, training

TEMPLATES = ("{}", "a person {}", "the activity {}", "sensor data of {}")
"""Around the words of a label in training; asked for, a label stands for itself."""
PLAIN = tuple(f"{kind} {axis}-axis" for kind in ("accelerometer", "gyroscope") for axis in "xyz")
"""Of channels that a dataset says nothing of."""


def phrasings(label: str) -> tuple[str, ...]:
    """Return texts of a label: as it is, then its words in templates.

    >>> phrasings("nordic_walking")[:3]
    ('nordic_walking', 'nordic walking', 'a person nordic walking')
    """
    words = label.replace("_", " ")
    return (label, *(template.format(words) for template in TEMPLATES))


def of_channels(windows: Windows) -> tuple[str, ...]:
    """Return a text for each of the six channels."""
    return tuple(own or plain for own, plain in zip(windows.channels, PLAIN, strict=True))


class Texts:
    """Token states of texts.

    Parameters
    ----------
    weights
        Folder of the text encoder; empty is MiniLM.
    """

    def __init__(self, weights: str = "") -> None:
        self.weights = weights
        self.facts: dict[str, Any] = {}
        self.kept: dict[str, Any] = {}

    @property
    def width(self) -> int:
        """How many numbers a token has."""
        return int((self.facts or self._encoder().facts())["width"])

    def _encoder(self) -> Any:
        """Return the encoder; another one than the texts so far were read by is refused."""
        found = text.encoder(self.weights)
        own = found.facts()
        if self.facts and self.facts["sha256"] != own["sha256"]:
            raise IntegrityError(
                f"text encoder {own['name']} is another one than the model was trained with, {self.facts['name']}; "
                "train it anew, or give that one"
            )
        self.facts = own
        return found

    def add(self, texts: Iterable[str]) -> None:
        """Ask for the texts that are not known yet."""
        new = [own for own in dict.fromkeys(texts) if own not in self.kept]
        if any(not own.strip() for own in new):
            raise InputError("tsfm: an empty text has no meaning to compare with; give every label a name")
        if not new:
            return
        states, mask = self._encoder().tokens(new)
        for row, own in enumerate(new):
            self.kept[own] = states[row][mask[row]].detach().clone()

    def tokens(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return states ``(n, length, width)``, zeros beyond a text, and the mask ``(n, length)`` of what is there."""
        torch = training.torch()
        self.add(texts)
        own = [self.kept[one] for one in texts]
        states = torch.nn.utils.rnn.pad_sequence(own, batch_first=True)
        counts = torch.tensor([len(one) for one in own], device=states.device)
        return states, torch.arange(states.shape[1], device=states.device) < counts[:, None]

    def sentences(self, texts: Sequence[str]) -> Any:
        """Return unit vectors ``(n, width)``: the mean over tokens."""
        torch = training.torch()
        self.add(texts)
        return torch.nn.functional.normalize(torch.stack([self.kept[one].mean(dim=0) for one in texts]), dim=1)

    def states(self) -> tuple[dict[str, Any], list[str]]:
        """Return what is kept as tensors by number, and the texts in that order."""
        return {f"text/{place}": value for place, value in enumerate(self.kept.values())}, list(self.kept)

    def restore(self, states: Mapping[str, Any], names: Sequence[str], facts: Mapping[str, Any]) -> None:
        """Take what :meth:`states` gave, and the facts of the encoder that made it."""
        self.kept = {name: states[f"text/{place}"] for place, name in enumerate(names)}
        self.facts = dict(facts)
