"""Verb ``template``: a small prediction file, and the script that writes it, to be filled with one's own arrays."""

from __future__ import annotations

from pathlib import Path

from gnomon.suites.skeleton import example, files
from gnomon.suites.skeleton.options import TemplateOptions


def template(options: TemplateOptions) -> list[Path]:
    """Write ``predictions.npz`` and ``write_predictions.py``."""
    folder = Path(options.directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "predictions.npz", folder / "write_predictions.py"]
    files.write(paths[0], example.fields())
    paths[1].write_bytes(Path(example.__file__).read_bytes())
    return paths
