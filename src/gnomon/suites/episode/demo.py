"""The demonstration of ``episode``: a person in a kitchen is simulated; heads and baselines answer the twelve tasks."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gnomon.core.suite import Step

SEED = 5
"""Of a script with several actions and sub-tasks on both sides of the cut, short as it is."""
SOME = "timeline_action,transition_detection,hand_trajectory_forecast,object_relevance,caption_grounding,temporal_order"


def steps(folder: Path, quick: bool) -> list[Step]:
    """Return the commands: simulate, run as published and strict; none, and why, where files cannot be written."""
    lacking = [module for module in ("h5py", "av") if find_spec(module) is None]
    if lacking:
        told = f"episode: left out, since {' and '.join(lacking)} cannot be imported; pip install 'gnomon[episode]'\n"
        sys.stderr.write(told)
        return []
    data = str(folder / "data")
    size = {"episodes": 1, "frames": 300, "videos": 16 if quick else 48, "seed": SEED}
    tested: dict[str, Any] = {"episodes": (data,), "variant": "both", "out": str(folder / "runs")}
    if quick:
        tested |= {"tasks": (SOME,), "variant": "strict"}
    if quick or find_spec("torch") is None:  # the extra `models`: without it, what needs nothing and no workers
        tested |= {"systems": ("minimal,trivial",), "executor": "inline"}
    return [Step("simulate", {"directory": data, **size}), Step("run", tested)]
