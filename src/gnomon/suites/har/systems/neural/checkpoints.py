"""Weights of modules: taken out, put back, compared, and kept as safetensors (never as pickles)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnomon.core.errors import IntegrityError
from gnomon.engine.torches import device, library

ABOUT = "about"


def parameters(*modules: Any) -> int:
    """Return how many numbers are learned in all."""
    return sum(weight.numel() for module in modules for weight in module.parameters())


def weights(modules: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of everything that modules hold, by ``module/name``."""
    return {
        f"{name}/{key}": value.detach().clone()
        for name, module in modules.items()
        for key, value in module.state_dict().items()
    }


def moved(modules: Mapping[str, Any], before: Mapping[str, Any]) -> float:
    """Return the largest change of a weight since `before`, which :func:`weights` gave."""
    now = weights(modules)
    return max(float((now[name] - value).abs().max()) for name, value in before.items() if value.is_floating_point())


def restore(modules: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Put into modules what :func:`weights` took out of such ones."""
    for name, module in modules.items():
        own = {key.partition("/")[2]: value for key, value in states.items() if key.partition("/")[0] == name}
        try:
            module.load_state_dict(own)
        except RuntimeError as error:
            said = " ".join(str(error).split())
            raise IntegrityError(f"weights of {name!r} do not fit the model: {said}; train it anew") from error


def write(path: Path, states: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write tensors by name and plain data beside them, as one safetensors file that is there whole or not at all."""
    own = {name: value.detach().cpu().contiguous().clone() for name, value in states.items()}
    part = path.with_name(f"{path.name}.part")
    library("safetensors.torch").save_file(own, part, metadata={ABOUT: json.dumps(about)})
    os.replace(part, path)


def read(path: Path) -> tuple[dict[str, Any], Any]:
    """Return what :func:`write` wrote: tensors, on the device in use, and plain data."""
    safetensors = library("safetensors")
    where = device()
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(ABOUT, "null"))
            names = list(file.keys())
            return {name: file.get_tensor(name).to("cpu" if _random(name) else where) for name in names}, about
    except safetensors.SafetensorError as error:
        raise IntegrityError(f"{path.name}: not a whole safetensors file ({error}); train it anew") from error


def _random(name: str) -> bool:
    """Say whether a tensor is the state of a generator, which torch wants on the CPU wherever that draws."""
    return name.startswith("random/")
