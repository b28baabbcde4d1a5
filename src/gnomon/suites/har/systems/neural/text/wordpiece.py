"""Texts as BERT reads them: cleaned, cut into words, and every word into pieces of a vocabulary.

Conventions
-----------
- Control characters go, white space is one blank, Chinese characters stand by themselves; where the vocabulary is
  lower-case, accents go too (canonical decomposition without marks, then lower case). Every mark of punctuation, and
  every ASCII character that is neither letter nor digit, is a word of its own (Devlin et al., 2019).
- A word becomes the longest piece that it begins with, then the longest that continues (``##``), and so on; where that
  fails, or for more than 100 characters, it is unknown as a whole.
- A text becomes ``[CLS] pieces [SEP]``, cut so that all of it fits. Such names inside of a text are plain text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LONGEST_WORD = 100
"""Characters of a word; what is longer is unknown."""
CONTINUED = "##"
FIRST, LAST, UNKNOWN, PADDING = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
SPECIAL = (FIRST, LAST, UNKNOWN, PADDING)
"""Pieces that a vocabulary has to have."""

_CONTROL = ("Cc", "Cf", "Co", "Cs")
_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


@dataclass(frozen=True)
class WordPiece:
    """A vocabulary, piece -> number, and whether it is lower-case."""

    vocabulary: Mapping[str, int]
    lower: bool = True

    def numbers(self, text: str, most: int) -> list[int]:
        """Return the numbers of a text's pieces with the first and the last mark, at most so many."""
        inner = [self.vocabulary[piece] for word in words(text, lower=self.lower) for piece in self.pieces(word)]
        return [self.vocabulary[FIRST], *inner[: most - 2], self.vocabulary[LAST]]

    def pieces(self, word: str) -> list[str]:
        """Return the pieces of one word.

        >>> WordPiece({"vac": 0, "##uum": 1, "##u": 2}).pieces("vacuum")
        ['vac', '##uum']
        >>> WordPiece({"vac": 0, "##uum": 1, "##u": 2}).pieces("vacua")
        ['[UNK]']
        """
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        found: list[str] = []
        start = 0
        while start < len(word):
            head = CONTINUED if start else ""
            for end in range(len(word), start, -1):
                if (piece := head + word[start:end]) in self.vocabulary:
                    found.append(piece)
                    start = end
                    break
            else:
                return [UNKNOWN]
        return found


def words(text: str, *, lower: bool = True) -> Iterator[str]:
    """Yield the words of a text.

    >>> list(words("Jogging,  uphill_Éa"))
    ['jogging', ',', 'uphill', '_', 'ea']
    >>> list(words("Éa", lower=False))
    ['Éa']
    """
    spaced = "".join(_cleaned(text))
    if lower:
        plain = unicodedata.normalize("NFD", spaced)
        spaced = "".join(letter for letter in plain if unicodedata.category(letter) != "Mn").lower()
    for run in spaced.split():
        start = 0
        for place, letter in enumerate(run):
            if _is_punctuation(letter):
                if start < place:
                    yield run[start:place]
                yield letter
                start = place + 1
        if start < len(run):
            yield run[start:]


def _cleaned(text: str) -> Iterator[str]:
    for letter in text:
        if letter not in "\t\n\r" and (letter == "\ufffd" or unicodedata.category(letter) in _CONTROL):
            continue
        if letter.isspace():
            yield " "
        elif any(low <= ord(letter) <= high for low, high in _CHINESE):
            yield f" {letter} "
        else:
            yield letter


def _is_punctuation(letter: str) -> bool:
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    return unicodedata.category(letter).startswith("P")
