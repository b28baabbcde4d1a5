"""The part of ``gnomon demo`` that shows ``events``."""

from __future__ import annotations

from pathlib import Path

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Generate recordings, test recognisers of walking on people that they were not trained on, and one of places."""
    data = folder / "data"
    people = 4 if quick else 8
    size = {"subjects": people, "minutes": 3.0 if quick else 8.0, "hours": 6.0 if quick else 12.0}
    names = [f"s{index:02d}.json" for index in range(1, people + 1)]
    walking, visits = (tuple(str(data / kind / name) for name in names) for kind in ("walking", "visits"))
    walkers = {
        "recognizers": ("threshold-walker,spectral-walker,hmm-walker",),
        "leave_out": "subject",
        "truth": walking,
        "out": str(folder / "walking"),
    }
    places = {"recognizers": ("visit-detector",), "truth": visits, "variant": "both", "out": str(folder / "visits")}
    return [Step("simulate", {"directory": str(data), **size}), Step("run", walkers), Step("run", places)]
