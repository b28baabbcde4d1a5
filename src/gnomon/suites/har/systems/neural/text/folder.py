"""Text encoders of the BERT kind from a folder: configuration, weights and vocabulary.

The files are ``config.json``, ``model.safetensors``, and ``vocab.txt`` or ``tokenizer.json``. Nothing is fetched, and
weights are read from safetensors only, since other formats may hold code. Everything that the encoder needs has to be
there in its shape; pooling layers and heads are left aside. A folder that asks for another pooling than the mean over
tokens, or for layers after it, is refused.
"""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.engine.torches import library, torch
from gnomon.intake.documents import read_bytes, read_json
from gnomon.suites.har.systems.neural.text import bert
from gnomon.suites.har.systems.neural.text.wordpiece import SPECIAL, WordPiece

CONFIG, WEIGHTS, VOCABULARY, TOKENIZER = "config.json", "model.safetensors", "vocab.txt", "tokenizer.json"
NEEDED = f"{CONFIG}, {WEIGHTS} and {VOCABULARY} or {TOKENIZER}"
LIMIT, LIMITS, MODULES, POOLING = (
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "modules.json",
    "1_Pooling/config.json",
)
READ = (CONFIG, WEIGHTS, VOCABULARY, TOKENIZER, LIMIT, LIMITS, MODULES, POOLING)
"""Files that an encoder is read from, where they are there."""
MOST = 1 << 20
"""Largest number that a configuration may ask for."""

_FIXED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_AFTER = ("Transformer", "Pooling", "Normalize")
_OLD = ((r"^bert\.", ""), (r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias"))


def file(folder: Path, name: str) -> Path:
    """Return a file of the folder, which has to be there."""
    if not folder.is_dir():
        raise InputError(f"text encoder {folder}: expected a folder with {NEEDED}, but there is none")
    if not (folder / name).is_file():
        raise InputError(f"text encoder {folder}: no {name} in it; expected {NEEDED}")
    return folder / name


def sizes(folder: Path) -> bert.Sizes:
    """Return how large the encoder is; refuse another architecture."""
    path = file(folder, CONFIG)
    config = _object(path)
    for key, value in _FIXED.items():
        if config.get(key, value) != value:
            raise InputError(f"{path}: {key} is {config[key]!r}, expected {value!r}; only BERT encoders can be read")
    values: dict[str, Any] = {}
    for field in fields(bert.Sizes):
        found: Any = config.get(field.name, 1e-12 if field.name == "layer_norm_eps" else None)
        kind, most = (float, 1.0) if field.name == "layer_norm_eps" else (int, MOST)
        if isinstance(found, bool) or not isinstance(found, kind) or not 0 < found <= most:
            raise InputError(f"{path}: {field.name} is {found!r}, expected a number over 0 and at most {most:g}")
        values[field.name] = found
    own = bert.Sizes(**values)
    if own.hidden_size % own.num_attention_heads:
        raise InputError(
            f"{path}: hidden_size {own.hidden_size} cannot be shared by {own.num_attention_heads} attention heads"
        )
    _check_pooling(folder)
    return own


def longest(folder: Path, own: bert.Sizes) -> int:
    """Return how many tokens a text may have, its marks included."""
    limits = [own.max_position_embeddings]
    for name, key in ((LIMIT, "max_seq_length"), (LIMITS, "model_max_length")):
        if (path := folder / name).is_file():
            value = _object(path).get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 2:
                limits.append(value)
    return min(limits)


def vocabulary(folder: Path, own: bert.Sizes) -> tuple[WordPiece, Path]:
    """Return the vocabulary and the file that it was in."""
    path = folder / VOCABULARY
    if path.is_file():
        try:
            lines = read_bytes(path).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text; copy it again") from error
        pieces: dict[str, Any] = {piece: number for number, piece in enumerate(lines)}
    else:
        path = file(folder, TOKENIZER)
        model = _object(path).get("model")
        if not isinstance(model, dict) or model.get("type") != "WordPiece" or not isinstance(model.get("vocab"), dict):
            raise InputError(f"{path}: expected a WordPiece model with its vocabulary; only BERT encoders can be read")
        pieces = model["vocab"]
    missing = [piece for piece in SPECIAL if piece not in pieces]
    if missing:
        raise InputError(f"{path}: without {some(missing)}, which every text needs; this is another vocabulary")
    wrong = [piece for piece, number in pieces.items() if type(number) is not int or not 0 <= number < own.vocab_size]
    if wrong:
        raise InputError(f"{path}: {some(wrong)} beyond the {own.vocab_size} pieces of {CONFIG}; these do not fit")
    return WordPiece(pieces, _is_lower(folder)), path


def weights(path: Path, own: bert.Sizes) -> Any:
    """Return the encoder with its weights, in evaluation mode; shapes are looked at before anything is read."""
    tensors, safetensors = torch(), library("safetensors")
    with tensors.device("meta"):
        parts = bert.layers(own)
    wanted = {name: tuple(weight.shape) for name, weight in parts.state_dict().items()}
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            there = {_plain(name): name for name in list(file.keys())}
            if missing := [name for name in wanted if name not in there]:
                raise InputError(f"{path}: without {some(missing)}, which BERT needs; this is another model")
            for name, shape in wanted.items():
                if (got := tuple(file.get_slice(there[name]).get_shape())) != shape:
                    raise InputError(f"{path}: {name} is {got}, expected {shape} by {CONFIG}")
            found = {name: file.get_tensor(there[name]).to(tensors.float32) for name in wanted}
    except safetensors.SafetensorError as error:
        raise InputError(f"{path}: not a whole safetensors file ({error}); copy it again") from error
    if strange := [name for name, value in found.items() if not bool(tensors.isfinite(value).all())]:
        raise InputError(f"{path}: {some(strange)} holds numbers that are not finite; copy it again")
    parts.load_state_dict(found, assign=True)
    return parts.eval().requires_grad_(False)


def _plain(name: str) -> str:
    """Return the name of a weight without what older files have more or call otherwise."""
    for pattern, new in _OLD:
        name = re.sub(pattern, new, name)
    return name


def _object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected an object, but got {type(found).__name__}")
    return found


def _is_lower(folder: Path) -> bool:
    """Say whether texts are made lower-case: as the folder says, else yes."""
    if (path := folder / LIMITS).is_file() and isinstance(said := _object(path).get("do_lower_case"), bool):
        return said
    if (path := folder / TOKENIZER).is_file():
        rules = _object(path).get("normalizer")
        if isinstance(rules, dict) and isinstance(said := rules.get("lowercase"), bool):
            return said
    return True


def _check_pooling(folder: Path) -> None:
    if (path := folder / MODULES).is_file():
        stages = read_json(path)
        kinds = (
            [str(one.get("type", "")) for one in stages if isinstance(one, dict)] if isinstance(stages, list) else []
        )
        if other := [kind for kind in kinds if kind.rpartition(".")[2] not in _AFTER]:
            raise InputError(f"{path}: {some(other)} after the encoder; only pooling and unit length can follow it")
    if (path := folder / POOLING).is_file() and _object(path).get("pooling_mode_mean_tokens") is False:
        raise InputError(f"{path}: another pooling than the mean over tokens, which is the only one there is here")
