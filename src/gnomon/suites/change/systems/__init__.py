"""Systems for ``change``: what finds the differences between two scans of a room.

The interface, by structure: an object with ``detect(reference, comparison)``, each ``(N, 3)`` points in metres, which
returns a :class:`~gnomon.suites.change.systems.detection.Detection`: boxes with a class and a score each, in the
coordinates of the reference, and a label per point of both scans. A system sees nothing but the two scans. Its
parameters are the keywords of its constructor, so that ``multi_stage@eps=0.02@box_budget=false`` names one.

The built-in ones are frozen dataclasses; two of them are trivial and belong into every table: what is not better than
them is not good.
"""

from __future__ import annotations

from gnomon.core.systems import Systems

SYSTEMS = Systems(
    {
        "multi_stage": f"{__name__}.multi_stage:MultiStage",
        "distance": f"{__name__}.distance:Distance",
        "icp": f"{__name__}.icp:Icp",
        "dgcnn": f"{__name__}.dgcnn:Dgcnn",
        "nothing": f"{__name__}.trivial:Nothing",
        "everything": f"{__name__}.trivial:Everything",
    },
    ("detect",),
)
