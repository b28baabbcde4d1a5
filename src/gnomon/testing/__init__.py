"""Laws that every measure obeys, as a kit: for this project's tests and for those of plug-ins.

``check(measure, seed)`` draws cases of the measure's signal, tries every law on them and returns what is
broken, in words. A plug-in with a signal of its own registers how to draw it with ``generate``.
"""

from gnomon.testing.drawing import Drawer, drawer, generate
from gnomon.testing.laws import LAWS, check
from gnomon.testing.scans import DRAWERS
from gnomon.testing.vectors import DRAWERS as VECTOR_DRAWERS

__all__ = ["LAWS", "Drawer", "check", "drawer", "generate"]

for _signal, _drawer in (*DRAWERS.items(), *VECTOR_DRAWERS.items()):
    generate(_signal, _drawer)
