"""Public weights of MOMENT from a local folder: ``config.json`` and ``model.safetensors``.

The layout is that of AutonLab/MOMENT-1-small, -base and -large. Nothing is fetched, and nothing but safetensors is
read, since other formats may hold code. Everything that the encoder needs has to be there in its shape; what it does
not need (the vocabulary of T5, the reconstruction head) is left aside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.core.canonical import digest
from gnomon.core.errors import InputError, counted, some
from gnomon.engine.torches import library, torch
from gnomon.intake.documents import read_json
from gnomon.intake.limits import check_file
from gnomon.runs.seal import hash_file_once
from gnomon.suites.har.systems.neural import t5
from gnomon.suites.har.systems.neural.patches import CONTEXT, PATCHES, SIZES, STEPS, network, positions
from gnomon.suites.har.systems.neural.t5 import Sizes

CONFIG, WEIGHTS = "config.json", "model.safetensors"
BACKBONES = {f"google/flan-t5-{name}": SIZES[name] for name in ("small", "base", "large")}
"""Sizes where a configuration names only what the encoder is made after."""
POSITIONS = "patch_embedding.position_embedding.pe"

_FIXED: Mapping[str, Any] = {"seq_len": CONTEXT, "patch_len": STEPS, "patch_stride_len": STEPS}
_FIXED_T5: Mapping[str, Any] = {
    "feed_forward_proj": "gated-gelu",
    "relative_attention_num_buckets": t5.BUCKETS,
    "relative_attention_max_distance": t5.FARTHEST,
    "layer_norm_epsilon": t5.EPSILON,
}
_SIZES = {"d": "d_model", "layers": "num_layers", "heads": "num_heads", "d_head": "d_kv", "d_inner": "d_ff"}
_MOST = {"layers": 256, "heads": 256, "d_head": 1024}
_BLOCK = {
    "q": "layer.0.SelfAttention.q",
    "k": "layer.0.SelfAttention.k",
    "v": "layer.0.SelfAttention.v",
    "o": "layer.0.SelfAttention.o",
    "attention_norm": "layer.0.layer_norm",
    "gate": "layer.1.DenseReluDense.wi_0",
    "value": "layer.1.DenseReluDense.wi_1",
    "out": "layer.1.DenseReluDense.wo",
    "forward_norm": "layer.1.layer_norm",
}


@dataclass(frozen=True)
class Public:
    """Weights that were read: the layers, how large they are, what they are called and the hash of their file."""

    layers: Any
    sizes: Sizes
    size: str
    sha256: str


def names(sizes: Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the public name of every weight by its own, and its shape."""
    d, heads, inner = sizes.d, sizes.heads * sizes.d_head, sizes.d_inner
    shapes = {
        **dict.fromkeys(("q", "k", "v"), (heads, d)),
        "o": (d, heads),
        **dict.fromkeys(("gate", "value"), (inner, d)),
        "out": (d, inner),
        **dict.fromkeys(("attention_norm", "forward_norm"), (d,)),
    }
    distances = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    found: dict[str, tuple[str, tuple[int, ...]]] = {
        "patch.weight": ("patch_embedding.value_embedding.weight", (d, STEPS)),
        "hidden.token": ("patch_embedding.mask_embedding", (d,)),
        "encoder.distances.weight": (distances, (t5.BUCKETS, sizes.heads)),
        "encoder.norm.weight": ("encoder.final_layer_norm.weight", (d,)),
    }
    for at in range(sizes.layers):
        for own, public in _BLOCK.items():
            found[f"encoder.blocks.{at}.{own}.weight"] = (f"encoder.block.{at}.{public}.weight", shapes[own])
    return found


def content(folder: str) -> str:
    """Return the hash of what a folder of weights holds."""
    return digest(_hash(_file(folder, name)).encode() for name in (CONFIG, WEIGHTS))


def read(folder: str) -> Public:
    """Read public weights; refuse what is not whole or has other shapes."""
    sizes = _sizes(_file(folder, CONFIG))
    path = _file(folder, WEIGHTS)
    known = names(sizes)
    found = _tensors(path, dict(known.values()), sizes)  # before any layer is made: a configuration may claim any size
    layers = network(sizes)
    layers.load_state_dict({own: found[public] for own, (public, _) in known.items()})
    size = next((name for name, known in SIZES.items() if known == sizes), f"{sizes.layers} layers of {sizes.d}")
    return Public(layers.eval(), sizes, size, _hash(path))


def _file(folder: str, name: str) -> Path:
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"weights {folder}: expected a folder with {CONFIG} and {WEIGHTS}, but there is none")
    if (place / name).is_file():
        return place / name
    others = sorted(path.name for path in place.iterdir() if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl"))
    if name == WEIGHTS and others:
        raise InputError(
            f"weights {folder}: there is {some(others)} and no {WEIGHTS}; such files may hold code and are not read: "
            f"convert it to {WEIGHTS}"
        )
    raise InputError(f"weights {folder}: no {name} in it; expected {CONFIG} and {WEIGHTS}")


def _hash(path: Path) -> str:
    check_file(path)
    return hash_file_once(path)


def _sizes(path: Path) -> Sizes:
    config = read_json(path)
    if not isinstance(config, dict):
        raise InputError(f"{path}: expected an object, but got {type(config).__name__}")
    _check(path, config, _FIXED)
    inner = config.get("t5_config")
    if inner is None:
        backbone = config.get("transformer_backbone")
        if not isinstance(backbone, str) or backbone not in BACKBONES:
            raise InputError(
                f"{path}: no t5_config, and transformer_backbone is {backbone!r}; expected one of {some(BACKBONES)}"
            )
        return BACKBONES[backbone]
    if not isinstance(inner, dict):
        raise InputError(f"{path}: t5_config is {type(inner).__name__}, expected an object")
    _check(path, inner, _FIXED_T5)
    values: dict[str, Any] = {own: inner.get(public) for own, public in _SIZES.items()}
    for own, value in values.items():
        most = _MOST.get(own, 16_384)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
            raise InputError(f"{path}: {_SIZES[own]} is {value!r}, expected a whole number from 1 to {most}")
    return Sizes(**values)


def _check(path: Path, config: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
    for key, value in fixed.items():
        if config.get(key, value) != value:
            raise InputError(f"{path}: {key} is {config[key]!r}, expected {value!r}; this is another model")


def _tensors(path: Path, wanted: Mapping[str, tuple[int, ...]], sizes: Sizes) -> dict[str, Any]:
    """Return the tensors that are wanted, in single precision; their shapes are looked at before they are read."""
    tensors, safetensors = torch(), library("safetensors")
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            there = set(file.keys())
            missing = [name for name in wanted if name not in there]
            if missing:
                raise InputError(
                    f"{path}: without {counted(len(missing), 'tensor')} that MOMENT needs: {some(missing)}"
                )
            for name, shape in wanted.items():
                if (got := tuple(file.get_slice(name).get_shape())) != shape:
                    raise InputError(f"{path}: {name} is {got}, expected {shape} by {CONFIG}")
            found = {name: file.get_tensor(name).to(tensors.float32) for name in wanted}
            own = file.get_tensor(POSITIONS) if POSITIONS in there else None
    except safetensors.SafetensorError as error:
        raise InputError(f"{path}: not a whole safetensors file ({error}); copy it again") from error
    strange = [name for name, value in found.items() if not bool(tensors.isfinite(value).all())]
    if strange:
        raise InputError(f"{path}: {some(strange)} holds numbers that are not finite; copy it again")
    if own is not None and not _same_positions(own, sizes):
        raise InputError(f"{path}: {POSITIONS} is not the sines and cosines of positions; this is another model")
    return found


def _same_positions(own: Any, sizes: Sizes) -> bool:
    if own.ndim != 3 or own.shape[1] < PATCHES or own.shape[2] != sizes.d:
        return False
    difference = own[0, :PATCHES].float() - positions(PATCHES, sizes.d)
    return bool(difference.abs().max() < 1e-2)  # they may have been kept in half precision
