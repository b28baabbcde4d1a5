"""Drafts carry the number of the process that writes them, so that those of dead processes can be swept."""

from __future__ import annotations

import os


def is_alive(pid: str) -> bool:
    """Say whether a process is there."""
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
