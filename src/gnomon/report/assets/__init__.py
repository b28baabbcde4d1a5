"""Styles and scripts that the report and the dashboard share; read them with :func:`read`."""

from __future__ import annotations

from importlib.resources import files


def read(name: str) -> str:
    """Return the text of a file of this folder: ``style.css`` or ``report.js``."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
