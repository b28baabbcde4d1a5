"""Words as a vector of 128 numbers: a signed, hashed bag of words of length 1.

Tokens are the runs of letters and digits of the lower-case text. The BLAKE2b hash of a token's UTF-8 (8 bytes, read as
a little-endian integer) gives its place (the remainder by 128) and its sign (minus where the highest bit is set). Signs
are added up over all tokens, repeated ones as often as they occur, and the sum is scaled to length 1 (Euclidean). Text
without tokens, or whose tokens cancel out, gives zeros. Hashing needs no vocabulary, so nothing is fitted to the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from gnomon.core.tallies import Array

DIM = 128
_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """Return the words of a text.

    >>> tokens("Coffee-cup, 2 spoons_A")
    ['coffee', 'cup', '2', 'spoons', 'a']
    """
    return _TOKEN.findall(text.lower())


def place(token: str) -> tuple[int, int]:
    """Return index and sign of a token.

    >>> place("cup")
    (44, -1)
    """
    number = int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")
    return number % DIM, -1 if number >> 63 else 1


def embed(texts: Iterable[str]) -> tuple[Array, bool]:
    """Return the vector of all texts together, ``(128,)``, and whether they have any word."""
    words = [word for text in texts for word in tokens(text)]
    vector = np.zeros(DIM)
    for index, sign in map(place, words):
        vector[index] += sign
    length = np.sqrt(np.square(vector).sum())
    return (vector / length if length > 0 else vector), bool(words)
